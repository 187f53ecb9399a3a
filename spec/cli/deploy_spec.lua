-- pawl deploy: files for workers that have none.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local flows = require "spec.support.flows"

for _, backend in ipairs(backends) do
  describe("pawl deploy on " .. backend.name, function()
    after_each(backend.cleanup)

    local function folder()
      local here = command.folder()
      os.execute("mkdir " .. here.dir .. "/flows")
      for _, name in ipairs { "hello", "timer" } do
        here:write("flows/" .. name .. ".lua", flows[name])
      end
      return here, { env = { PAWL_STORE = backend.url() } }
    end

    it("registers a folder, for a worker without files", function()
      local here, env = folder()
      local ran = here:pawl("deploy", "flows", env)
      assert.equal(0, ran.code, ran.err)
      assert.equal("flows/hello.lua: deployed t.hello 1\n"
        .. "flows/timer.lua: deployed t.timer 1\n", ran.out)
      ran = here:pawl("deploy", "flows/hello.lua", env)
      assert.equal("flows/hello.lua: t.hello 1 is there already, as it is\n",
        ran.out)
      local id = here:json("start", "t.hello", env).id
      assert.equal(0, here:pawl("worker", "--until-idle", env).code)
      assert.equal("completed", here:json("show", id, env).status)
    end)

    it("registers nothing when one is wrong, and says which", function()
      local here, env = folder()
      here:write("flows/bad.lua", flows.broken)
      local ran = here:pawl("deploy", "flows", env)
      assert.equal(1, ran.code)
      assert.matches("flows/bad.lua:%d+: definition: ", ran.out)
      assert.matches("flows/hello.lua: nothing is wrong with it\n", ran.out)
      assert.matches("definition: nothing is deployed: 1 of 3 files cannot be",
        ran.err)
      assert.matches("pawl: notfound: ", here:pawl("workflow", env).err)
      assert.equal(0, here:pawl("deploy", "flows/timer.lua", env).code)
      assert.equal(1, here:pawl("deploy", "flows", env).code)
      local known = here:pawl("workflow", env).out
      assert.matches("t.timer", known, 1, true)
      assert.not_matches("t.hello", known, 1, true)
      assert.equal(3, here:pawl("deploy", "nowhere.lua", env).code)
      assert.equal(2, here:pawl("deploy", env).code)
    end)

    it("makes no store for files that are wrong", function()
      if backend.name == "postgres" then return end
      local here = command.folder()
      here:write("bad.lua", flows.broken)
      here:write("good.lua", flows.hello)
      local ran = here:pawl("deploy", "bad.lua", "good.lua",
        { env = { PAWL_STORE = here.dir .. "/new.db" } })
      assert.equal(1, ran.code)
      assert.not_matches("made a new store", ran.err)
      assert.is_nil(io.open(here.dir .. "/new.db"))
      ran = here:pawl("deploy", "good.lua",
        { env = { PAWL_STORE = here.dir .. "/new.db" } })
      assert.equal(0, ran.code, ran.err)
      assert.matches("made a new store", ran.err)
      assert.matches("good.lua: deployed t.hello 1", ran.out)
    end)

    it("refuses a version in use, for programs too", function()
      local here, env = folder()
      assert.equal(0, here:pawl("deploy", "flows", env).code)
      here:json("start", "t.timer", env)
      here:write("flows/timer.lua", flows.timer .. "-- new\n")
      local report, ran = here:json("deploy", "flows", env)
      assert.equal(4, ran.code)
      assert.is_false(report.stored)
      assert.equal("same", report.files[1].outcome)
      assert.equal("exists", report.files[2].error.code)
    end)
  end)
end
