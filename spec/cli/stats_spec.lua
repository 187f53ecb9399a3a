-- pawl stats, pawl problems, pawl top: how a store stands.
local command = require "spec.support.command"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "shop.order", start = "a" }
flow:step("a", { retry = false, run = function(ctx)
  if ctx.input.fails then
    error { code = "bank.timeout", message = "the bank does not answer" }
  end
  return "wait"
end, next = { wait = "wait" } })
flow:wait("wait", { event = "go", next = "z" })
flow:finish "z"
return flow
]]

-- Its handler says that it has begun, and waits to be let go on.
local SLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "shop.slow", version = 1, start = "wait" }
flow:step("wait", {
  run = function()
    os.execute "touch began; while [ ! -e go ]; do sleep 0.02; done"
  end,
  next = "done",
})
flow:finish "done"
return flow
]]

describe("a store that has failures", function()
  local here

  before_each(function()
    here = command.folder()
    here:write("flow.lua", FLOW)
    here:pawl("worker", "flow.lua", "--until-idle", "--quiet")
    here:pawl("start", "shop.order", "--input", '{"fails":true}')
    here:pawl("start", "shop.order", "--input", "{}")
    here:pawl("worker", "flow.lua", "--until-idle", "--quiet")
    here:pawl("start", "shop.order", "--input", "{}")
  end)
  after_each(tmp.cleanup)

  it("is told in numbers", function()
    local ran = here:pawl "stats"
    assert.equal(0, ran.code, ran.err)
    assert.matches("^1 ready for %d+s, 0 due soon, 0 held by 0\n", ran.out)
    assert.matches("\nshop.order@1 +1 +1 +1\n", ran.out)
    assert.matches("\nshop.order@1 wait +waiting +1\n", ran.out)
    local told = here:json "stats"
    assert.same({ running = 1, waiting = 1, failed = 1 },
      told.workflows[1].statuses)
    assert.equal(1, told.ready.count)
  end)

  it("is told by what fails", function()
    local ran = here:pawl "problems"
    assert.equal(0, ran.code, ran.err)
    assert.matches("\n +1 +shop.order +a +bank.timeout +%d+s +%d+s +%x[%x-]+ +"
      .. "the bank does not answer\n$", ran.out)
    local told = here:json "problems"
    assert.equal("bank.timeout", told.problems[1].code)
    assert.is_false(told.more)
  end)

  it("is of no workflow that nobody knows, as other lists are not", function()
    for _, words in ipairs { { "stats" }, { "problems" }, { "list" },
      { "task", "list" } } do
      words[#words + 1] = "--workflow"
      for code, hint in pairs { nope = "`pawl workflow list` has",
        ["shop.ordr"] = "did you mean 'shop.order'?" } do
        for _, json in ipairs { false, true } do
          local line = { table.unpack(words) }
          line[#line + 1] = code
          if json then line[#line + 1] = "--json" end
          local ran = here:pawl(table.unpack(line))
          assert.equal(3, ran.code, table.concat(line, " "))
          assert.equal("", ran.out)
          assert.matches(('there is no workflow "%s"'):format(code), ran.err,
            1, true)
          assert.matches(hint, ran.err, 1, true)
        end
      end
      words[#words + 1] = "shop.order"
      assert.equal(0, here:pawl(table.unpack(words)).code)
    end
  end)

  it("has one screen of both", function()
    local ran = here:pawl("top", "--once")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^1 ready", ran.out)
    assert.matches("shop.order a +bank.timeout", ran.out)
    for line in ran.out:gmatch "[^\n]+" do assert.is_true(#line <= 80) end
    local told = here:json("top", "--once")
    assert.equal(1, told.stats.ready.count)
    assert.equal(1, #told.problems.problems)
  end)

  it("is told by code alone of what nobody has loaded yet", function()
    here:pawl("start", "shop.other")
    for _, words in ipairs { { "stats" }, { "top", "--once" } } do
      local out = here:pawl(table.unpack(words)).out
      assert.matches("\nshop.other +1 ", out)
      assert.matches("\nshop.order@1 +1 ", out)
    end
  end)

  it("says who holds what is held", function()
    here:write("slow.lua", SLOW)
    here:pawl("start", "shop.slow")
    local worker = here:start("worker", "slow.lua", "--processes", "1",
      "--until-idle", "--quiet")
    assert(process.poll(20, function()
      return io.open(here.dir .. "/began")
    end)):close()
    local row = here:json("executors")[1]
    local who = ("%s:%d"):format(row.host, row.pid)
    local stats, top = here:pawl("stats").out, here:pawl("top", "--once").out
    here:write("go", "")
    assert.equal(0, worker:wait(20))
    assert.matches("\nheld by " .. who .. " " .. row.holds .. "\n", stats, 1,
      true)
    assert.matches("EXECUTOR +SINCE", top)
    assert.matches("  " .. who .. "  ", top, 1, true)
    assert.is_nil(here:pawl("stats").out:find("\nheld by", 1, true))
  end)

  it("tells of what cannot be published how long it waits", function()
    here:write("emits.lua", [[
local flow = require "pawl".workflow { code = "shop.emits", start = "a" }
flow:step("a", { run = function(ctx) ctx.emit("told", {}) end, next = "z" })
flow:finish "z"
return flow
]])
    local function emit(exec)
      here:pawl("start", "shop.emits")
      here:pawl("worker", "emits.lua", "--until-idle", "--quiet")
      here:pawl("relay", "--exec", exec, "--base", "1h", "--once")
      return here:pawl("stats").out
    end
    assert.matches("\n1 events for %d+s to be published, tasks: 0 open",
      emit "exit 1")
    assert.matches("\n1 events for %d+s to be published, 1 dead, tasks: 0",
      emit "exit 65")
  end)

  it("has executors, also called workers", function()
    assert.equal("no executor is alive\n", here:pawl("workers").out)
  end)
end)

for _, backend in ipairs(require "spec.support.backends") do
  describe("pawl health on " .. backend.name, function()
    after_each(backend.cleanup)
    after_each(tmp.cleanup)

    it("shows the largest tables, where their sizes are known", function()
      local here = command.folder()
      local _, _, url = backend.fresh { clock = false }
      local at = { env = { PAWL_STORE = url } }
      local out = here:pawl("health", at).out
      local tables = here:json("health", at).store.tables
      assert.equal(#tables > 0, out:find "\nTABLE +SIZE +ROWS +DEAD\n" ~= nil)
      assert.equal(backend.name == "postgres", #tables > 0)
      for i, one in ipairs(tables) do
        local shown = out:find("\n" .. one.table .. "  ", 1, true)
        assert.equal(i <= 5, shown ~= nil)
      end
    end)
  end)
end
