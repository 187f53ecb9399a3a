-- pawl backup, beside a worker.
local command = require "spec.support.command"
local process = require "spec.support.process"

local FLOW = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.count", start = "a" }
for i, name in ipairs { "a", "b", "c", "d" } do
  flow:step(name, {
    run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + i
      if i > 1 then ctx.await(0.01) end
    end,
    next = ({ "b", "c", "d", "z" })[i],
  })
end
flow:finish("z", { output = function(ctx) return ctx.vars.n end })
return flow
]]

describe("pawl backup", function()
  after_each(process.stop_all)

  local N <const> = 300

  --- A folder where a worker is at work on many instances.
  local function busy()
    local here = command.folder()
    here:write("flow.lua", FLOW)
    assert.equal(0, here:pawl("worker", "flow.lua", "--until-idle").code)
    here:write("many.jsonl", ("{}\n"):rep(N))
    local ran = here:pawl("start", "t.count", "--many", "many.jsonl")
    assert.equal(0, ran.code, ran.err)
    return here, here:start("worker", "flow.lua", "--lease", "2s")
  end

  local function outputs(here, file)
    local found = {}
    for _, row in ipairs(here:json("list", "--limit", "1000", "--store",
      file)) do
      found[row.status] = (found[row.status] or 0) + 1
    end
    return found
  end

  it("copies a store at work, and the copy goes on where that was", function()
    local here, worker = busy()
    assert.truthy(worker:wait_for("done", 10), worker:errors())
    local info, ran = here:json("backup", "copy.db")
    assert.equal(0, ran.code, ran.err)
    assert.equal("copy.db", info.file)
    local left = outputs(here, "copy.db")
    assert.is_true((left.completed or 0) < N)
    worker:kill "TERM"
    assert.equal(0, worker:wait(20), worker:errors())
    ran = here:pawl("worker", "--until-idle", "--store", "copy.db")
    assert.equal(0, ran.code, ran.err)
    assert.same({ completed = N }, outputs(here, "copy.db"))
    for _, row in ipairs(here:json("list", "--limit", "20", "--store",
      "copy.db")) do
      assert.equal(10, here:json("show", row.id, "--store", "copy.db").output)
    end
    assert.is_true(here:json("health", "--store", "copy.db").sound)
    -- the original knows nothing of it
    assert.equal(0, here:pawl("worker", "--until-idle").code)
    assert.same({ completed = N }, outputs(here, "pawl.db"))
  end)

  it("makes no store of a slip, and overwrites nothing", function()
    local here = command.folder()
    local ran = here:pawl("backup", "copy.db")
    assert.equal(3, ran.code)
    assert.matches("notfound: pawl.db: there is no store", ran.err)
    assert.equal(2, here:pawl("backup").code)
    assert.equal(0, here:pawl("migrate").code)
    ran = here:pawl("backup", "copy.db")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^copied pawl.db to copy.db: %d+ bytes\n$", ran.out)
    ran = here:pawl("backup", "copy.db")
    assert.equal(4, ran.code)
    assert.matches("exists: copy.db: is there already", ran.err)
  end)

  it("leaves nothing when it is stopped", function()
    local here = command.folder()
    assert.equal(0, here:pawl("migrate").code)
    local ran = here:pawl("backup", "copy.db",
      { env = { PAWL_FAULT = "backup.step=kill@1" } })
    assert.equal(137, ran.code)
    local files = {}
    for name in assert(io.popen("ls " .. here.dir)):lines() do
      files[name] = true
    end
    assert.is_nil(files["copy.db"])
    assert.equal(0, here:pawl("backup", "copy.db").code)
  end)

  it("fails where no file may get so large, and leaves nothing", function()
    local here = command.folder()
    assert.equal(0, here:pawl("migrate").code)
    local ran = here:pawl("backup", "copy.db", { under =
      { "bash", "-c", 'ulimit -f 100; exec "$@"', "bash" } })
    assert.equal(1, ran.code, ran.err)
    assert.matches("^pawl: ", ran.err)
    assert.is_nil(io.open(here.dir .. "/copy.db"))
    assert.is_nil(io.open(here.dir .. "/copy.db-pawl-part"))
  end)

  it("is taken back by pawl restore, once nobody is at work", function()
    local here, worker = busy()
    assert.truthy(worker:wait_for("done", 10), worker:errors())
    local info, ran = here:json("backup", "copy.db")
    assert.equal(0, ran.code, ran.err)
    ran = here:pawl("restore", "copy.db")
    assert.equal(4, ran.code)
    assert.matches("conflict: 1 worker is at work", ran.err)
    worker:kill "TERM"
    assert.equal(0, worker:wait(20), worker:errors())
    assert.equal(0, here:pawl("worker", "--until-idle").code)
    assert.same({ completed = N }, outputs(here, "pawl.db"))
    local back = here:json("restore", "copy.db")
    assert.same({ file = "copy.db", bytes = info.bytes }, back)
    assert.same(outputs(here, "copy.db"), outputs(here, "pawl.db"))
    assert.equal(0, here:pawl("worker", "--until-idle").code)
    assert.same({ completed = N }, outputs(here, "pawl.db"))
  end)

  it("takes a path for FILE, in either form, and nothing else", function()
    local here = command.folder()
    local function files()
      local list = {}
      for name in assert(io.popen("ls " .. here.dir)):lines() do
        list[#list + 1] = name
      end
      return list
    end
    assert.equal(0, here:pawl("migrate").code)
    local before = files()
    for _, file in ipairs { "postgres://h/db", "postgresql://h/db",
      "postgres:dbname=x", ":memory:", "mysql://h/db", "sqlite:", "" } do
      for _, name in ipairs { "backup", "restore" } do
        local ran = here:pawl(name, file)
        assert.equal(2, ran.code, name .. file .. ran.err)
        assert.matches("^pawl: usage: ", ran.err)
        assert.not_matches("dbname", ran.err)
        assert.same(before, files())
      end
    end
    local info = here:json("backup", "sqlite:copy.db")
    assert.equal("copy.db", info.file)
    assert.equal(0, here:pawl("list", "--store", "copy.db").code)
    assert.same({ file = "copy.db", bytes = info.bytes },
      here:json("restore", "sqlite:copy.db"))
    assert.equal(0, here:pawl("restore", "sqlite:copy.db", "--store",
      "new.db").code)
    assert.equal(0, here:pawl("backup", "sqlite:postgres:x").code)
    assert.equal(0, here:pawl("restore", "sqlite:postgres:x").code)
    assert.equal(0, here:pawl("restore", "./postgres:x", "--store",
      "two.db").code)
    assert.equal(2, here:pawl("restore", "postgres:x").code)
  end)

  it("is restored where no store is yet, and from stores alone", function()
    local here = command.folder()
    assert.equal(0, here:pawl("migrate").code)
    local ran = here:pawl("restore", "copy.db")
    assert.equal(3, ran.code)
    assert.matches("notfound: copy.db: there is no store", ran.err)
    here:write("text.db", ("text"):rep(1000))
    ran = here:pawl("restore", "text.db")
    assert.equal(5, ran.code)
    assert.matches("not_a_store: text.db", ran.err)
    assert.equal(0, here:pawl("backup", "copy.db").code)
    assert.equal(0, here:pawl("backup", "--replace", "copy.db").code)
    ran = here:pawl("restore", "copy.db", "--store", "new.db")
    assert.equal(0, ran.code, ran.err)
    assert.matches("^restored new.db from copy.db: %d+ bytes\n$", ran.out)
    assert.equal(0, here:pawl("list", "--store", "new.db").code)
  end)
end)
