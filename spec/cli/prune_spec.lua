-- pawl prune, and pawl worker --retain.
local command = require "spec.support.command"
local pawl = require "pawl"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.mixed", start = "a" }
flow:step("a", { next = "z", retry = false, run = function(ctx)
  if ctx.input.fail then error "no" end
  if ctx.input.emit then ctx.emit("told", {}) end
end })
flow:finish "z"
return flow
]]

describe("pawl prune", function()
  after_each(tmp.cleanup)

  --- A folder whose store has one that completed, one that failed, and one
  --- that has emitted something.
  local function filled()
    local here = command.folder()
    here:write("flow.lua", FLOW)
    here:pawl("run", "flow.lua", "--quiet")
    here:pawl("run", "flow.lua", "--quiet", "--input", '{"fail":true}')
    here:pawl("run", "flow.lua", "--quiet", "--input", '{"emit":true}')
    assert.equal(3, #here:json "list")
    return here
  end

  it("takes nothing unless it is told for how long to keep it", function()
    local here = filled()
    local ran = here:pawl "prune"
    assert.equal(0, ran.code, ran.err)
    assert.equal("nothing is past its time\n", ran.out)
    assert.equal(3, #here:json "list")
  end)

  it("takes the words that it has beside times, and tells of them", function()
    local here = filled()
    for _, command_line in ipairs { { "prune" }, { "worker", "flow.lua" } } do
      local function refused(value)
        local words = table.move(command_line, 1, #command_line, 1, {})
        words[#words + 1], words[#words + 2] = "--retain", value
        local ran = here:pawl(table.unpack(words))
        assert.equal(2, ran.code)
        return ran.err
      end
      assert.matches("hint: known: archive, attributes, .*, keep_attributes, ",
        refused "gone=3d")
      assert.matches("did you mean 'archive'", refused "archve=3d", 1, true)
      assert.matches("takes 'archive' as it is, without a value",
        refused "completed=0s,archive=true")
      assert.matches("takes 'keep_attributes' as it is",
        refused "keep_attributes=1")
    end
    assert.equal(0, here:pawl("prune", "--retain", "archive").code)
    assert.equal(0, #here:json("list", "--archived"))
    assert.equal(0, here:pawl("prune", "--retain",
      "completed=0s,archive,keep_attributes").code)
    assert.equal(1, #here:json("list", "--archived"))
  end)

  it("tells what would go, what goes, and what stays", function()
    local here = filled()
    local ran = here:pawl("prune", "--retain", "0s", "--dry-run")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^WHAT +WOULD GO +STAYS\n"
      .. "instances +2 +1: not published\n$", ran.out)
    ran = here:pawl("prune", "--retain", "completed=0s,failed=1d")
    assert.equal(0, ran.code, ran.err)
    assert.matches("\ninstances +1 +1: not published\n", ran.out)
    local report = here:json("prune", "--retain", "0s", "--limit", "5")
    assert.same({ removed = 1, kept = { unpublished = 1 } }, report.instances)
    assert.is_true(report.finished)
    assert.equal(1, #here:json "list")
    here:pawl("prune", "--retain", "0s", "--by", "cleo") -- nothing goes
    local told = here:json("audit", "--type", "pruned")
    assert.same({ "instances 1", "instances 1" },
      { told[1].text, told[2] and told[2].text })
    assert.truthy(told[1].by)
    assert.equal(2, #told)
  end)

  it("says what went until a signal came, and goes on when asked", function()
    local here = filled()
    local function stopped(by, code, ...)
      local words = { "prune", "--retain", "0s", ... }
      words[#words + 1] = { env = { PAWL_FAULT = "engine.prune.step=" .. by } }
      local ran = here:pawl(table.unpack(words))
      assert.equal(code, ran.code, ran.err)
      assert.equal("stopped; the same again goes on\n", ran.err)
      return ran.out
    end
    assert.matches("\ninstances +1 .*\nthere may be more\n$",
      stopped("int@2", 130))
    local report = pawl.json.decode(stopped("term@3", 143, "--json"))
    assert.same({ 1, false }, { report.instances.removed, report.finished })
    assert.equal(0, here:pawl("prune", "--retain", "0s").code)
  end)

  it("says for whom it waits", function()
    local here = command.folder()
    here:pawl "migrate"
    local function take(host, pid)
      shell.output { "sqlite3", here.dir .. "/pawl.db", ([[
        insert into pawl_housekeeper (no, executor, host, boot, space, pid,
          begun, since, expires_at, due_at, place)
        select 1, randomblob(16), '%s', 'b', 's', %d, 1, t.now - 5000000,
          t.now + 4000000, t.now, ''
          from (select cast((julianday('now') - 2440587.5) * 86400000000
                       as integer) as now) t]]):format(host, pid) }
    end
    take("far", 4711)
    local ran = here:pawl "prune"
    assert.equal(0, ran.code, ran.err)
    assert.matches('^waiting, 40 s at most: process 4711 of host "far" is '
      .. "pruning this store now, since [67] s\n hint: ", ran.err)
    assert.matches("time would be over in %d s\n$", ran.err)
  end)

  it("says what is wrong with what it is given", function()
    local here = command.folder()
    here:pawl "migrate"
    local ran = here:pawl("prune", "--retain", "complete=7d")
    assert.equal(2, ran.code)
    assert.matches("knows no 'complete'", ran.err)
    assert.matches("did you mean 'completed'", ran.err)
    for _, text in ipairs { "30d,archive", "completed=7d,8d,published=1d" } do
      assert.equal(0, here:pawl("prune", "--retain", text).code)
    end
    ran = here:pawl("prune", "--retain", "completed=7d,8e")
    assert.equal(2, ran.code)
    assert.matches("takes 30d, or completed=7d,failed=90d", ran.err)
    ran = here:pawl("prune", "--retain", "soon")
    assert.equal(2, ran.code)
  end)

  it("gives the space of a SQLite file back", function()
    local here = command.folder()
    here:write("flow.lua", FLOW)
    local line = ('{"input":{"fill":"%s"}}\n'):format(("x"):rep(4000))
    here:write("many.jsonl", line:rep(500))
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    assert.equal(0, here:pawl("start", "t.mixed", "--many", "many.jsonl").code)
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    local report = here:json("prune", "--retain", "0s")
    assert.equal(500, report.instances.removed)
    assert.is_true(report.freed_bytes > 1e6, report.freed_bytes)
    local ran = here:pawl("prune", "--retain", "0s")
    assert.equal("nothing is past its time\n", ran.out)
  end)

  it("is done by a worker that is told for how long to keep it", function()
    local here = filled()
    local ran = here:pawl("worker", "flow.lua", "--until-idle",
      "--processes", "1", "--retain", "failed=0s")
    assert.equal(0, ran.code, ran.err)
    assert.equal(2, #here:json "list")
    assert.equal(0, #here:json("list", "--status", "failed"))
    ran = here:pawl("worker", "flow.lua", "--retain", "done=1d")
    assert.equal(2, ran.code)
    assert.matches("knows no 'done'", ran.err)
    ran = here:pawl("prune", "--retain", "failed=1d,failed=2d")
    assert.equal(2, ran.code)
    assert.matches("gives 'failed' twice", ran.err)
  end)
end)
