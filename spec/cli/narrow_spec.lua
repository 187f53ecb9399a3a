--- Lists on narrow terminals: all rows fit, and what they show of an id is
--- enough to name it.
local command = require "spec.support.command"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow {
  code = "t.a.rather.long.code", version = 1, start = "ask",
}
flow:task("ask", {
  title = "Is this order, which is a large one, to be shipped at once?",
  roles = { "manager of the warehouse" }, due = 86400,
  next = { yes = "done", no = "stop" },
})
flow:step("stop", {
  retry = { max = 1 }, run = function() error "no" end, next = "done",
})
flow:finish "done"
return flow
]]

--- What a terminal of that width is shown, by lines.
local function shown(here, width, ...)
  local words = table.concat({ command.path, ... }, " ")
  local code, out = process.run({ "script", "-qec", words, "/dev/null" }, {
    cwd = here.dir, stdin = "", env = { TERM = "xterm", LANG = "C.UTF-8",
      LC_ALL = "C.UTF-8", COLUMNS = tostring(width), PAWL_STORE = "" } })
  assert.equal(0, code, out)
  local lines = {}
  for line in out:gsub("\r", ""):gsub("\27%[%d*m", ""):gmatch "([^\n]+)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

describe("a narrow terminal", function()
  local here, tasks

  before_each(function()
    here = command.folder()
    here:write("flow.lua", FLOW)
    for i = 1, 3 do
      here:pawl("start", "t.a.rather.long.code", "--business-key",
        "order-of-somebody-" .. i)
    end
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    tasks = here:json("task", "list")
  end)

  after_each(tmp.cleanup)

  it("has room for a history, with the ways", function()
    here:pawl("task", "complete", tasks[1].id, "--take", "no",
      "--override")
    here:pawl("worker", "flow.lua", "--until-idle")
    for _, width in ipairs { 80, 140 } do
      local lines = shown(here, width, "history " .. tasks[1].instance)
      for _, line in ipairs(lines) do
        assert.is_true(utf8.len(line) <= width, line)
      end
      assert.matches(width == 80 and " stop .* via .*…$"
        or " stop .* via no; ", table.concat(lines, "\n"))
    end
  end)

  it("has room for tasks, workflows and totals", function()
    here:pawl("task", "complete", tasks[1].id, "--take", "no",
      "--override")
    here:pawl("task", "complete", tasks[2].id, "--take", "yes",
      "--override")
    here:pawl("worker", "flow.lua", "--until-idle")
    here:pawl("suspend", tasks[3].instance)
    for i = 4, 7 do here:pawl("start", "t.other" .. i) end
    here:pawl("cancel", "-w", "t.other4", "--yes")
    for _, width in ipairs { 60, 80, 140 } do
      for _, words in ipairs { "task list --all", "workflow list", "list" } do
        local lines = shown(here, width, words)
        assert(#lines > 1, words)
        for _, line in ipairs(lines) do
          assert(utf8.len(line) <= width, words .. "\n" .. line)
        end
      end
    end
    local lines = shown(here, 60, "list")
    assert.matches("^7 instances: .*…$", lines[#lines])
    assert.is_nil(shown(here, 140, "list")[8 + 1]:find("…", 1, true))
  end)

  it("shows of tasks what tells them apart", function()
    for _, width in ipairs { 60, 80, 140 } do
      local lines = shown(here, width, "task list")
      assert.matches("^ID +TITLE +WORKFLOW +", lines[1])
      assert.matches("AGE$", lines[1])
      assert.equal(width == 140, lines[1]:find("DUE", 1, true) ~= nil)
      assert.matches("^" .. tasks[1].id:sub(-8) .. " .*code@1 ", lines[2])
    end
    assert.matches("somebody-3", shown(here, 140, "task list")[2], 1, true)
    assert.matches(tasks[1].id, here:pawl("task", "list").out, 1, true)
  end)

  it("refuses an end that several have, and names them", function()
    local code, _, err = process.run({ "sqlite3", here.dir .. "/pawl.db",
      "update pawl_task set id = "
        .. "cast(substr(id, 1, 12) || x'c0ffee11' as blob)" })
    assert.equal(0, code, err)
    local ran = here:pawl("task", "claim", "c0ffee11", "--by", "ann",
      "--override")
    assert.equal(2, ran.code)
    assert.matches("several tasks' ids end with", ran.err, 1, true)
    for _, task in ipairs(here:json("task", "list")) do
      assert.matches(task.id, ran.err, 1, true)
      assert.equal("pending", task.status)
    end
  end)
end)

for _, backend in ipairs(require "spec.support.backends") do
  describe("the end of a task's id on " .. backend.name, function()
    after_each(backend.cleanup)
    after_each(tmp.cleanup)

    it("is what task takes", function()
      local here = command.folder()
      local _, _, url = backend.fresh { clock = false }
      local at = { env = { PAWL_STORE = url } }
      local function pawl(...)
        local words = { ... }
        words[#words + 1] = at
        return here:pawl(table.unpack(words))
      end
      local function json(...)
        local words = { ... }
        words[#words + 1] = at
        return (here:json(table.unpack(words)))
      end
      here:write("flow.lua", FLOW)
      for _ = 1, 3 do pawl("start", "t.a.rather.long.code") end
      assert.equal(0, pawl("worker", "flow.lua", "--until-idle").code)
      local id = json("task", "list")[2].id
      local ends = id:sub(-8)
      assert.equal(id, json("task", "show", ends).id)
      assert.equal(id, json("task", "show", ends:upper()).id)
      assert.equal(0, pawl("task", "claim", ends, "--by", "ann",
        "--override").code)
      assert.equal("ann", json("task", "show", id).claimed_by)
      assert.equal(1, #json("task", "list", "--before", ends))
      assert.equal(1, #json("task", "list", "--after", ends))
      for _, none in ipairs { "0000000f", id:sub(-7) } do
        local ran = pawl("task", "show", none)
        assert.equal(3, ran.code)
        assert.matches("no task's id begins with", ran.err, 1, true)
      end
    end)
  end)
end
