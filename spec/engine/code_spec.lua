-- Code out of the store: loaded by who runs instances, never by who only acts
-- on them, and never when it is not what was recorded.
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local FLOW = [[
local pawl = require "pawl"
local file <close> = assert(io.open(%q, "a"))
file:write "loaded\n"
local w = pawl.workflow { code = "t.stored", start = "a" }
w:step("a", { next = "w", run = function(ctx) ctx.vars.k = "k" end,
  undo = function() end })
w:wait("w", { event = "go", key = "k",
  match = function(event) return event.data.n == 1 end,
  next = { received = "t" } })
w:timer("t", { at = function(ctx) return ctx.now() + 60 end, next = "z" })
w:finish "z"
return w
]]

kit.describe("code out of the store", function(backend)
  local mark, clock, url

  --- An instance of it waits at w; no engine has loaded it any more.
  local function fresh()
    local engine
    mark = tmp.path("mark")
    engine, clock, url = backend.fresh { state = "private" }
    assert(engine:load(tmp.file("flow.lua", FLOW:format(mark))))
    local id = assert(engine:start "t.stored")
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    engine:close()
    assert(os.remove(mark))
    return id
  end

  local function other()
    return kit.rival(backend, url, clock, { state = "private" })
  end

  it("is not loaded by who acts on an instance", function()
    local acts = {
      function(e, id) return e:suspend(id) end,
      function(e, id) return e:resume(id) end,
      function(e, id) return e:edit(id, { set = { x = 1 } }) end,
      function(e, id) return e:wake(id) end,
      function(e, id) return e:signal { name = "go", instance = id,
        data = { n = 1 } } end,
      function(e) return e:signal { name = "go", key = "k",
        data = { n = 1 } } end,
      function(e, id) return e:cancel(id) end,
      function(e, id) return e:kill(id) end,
    }
    local id = fresh()
    for i, act in ipairs(acts) do
      local engine = other()
      assert(act(engine, id))
      engine:close()
      assert.is_nil(tmp.read(mark), "act " .. i)
    end
    assert.equal("cancelled", kit.status(other(), id))
  end)

  it("is left for whoever runs instances", function()
    local id = fresh()
    local acting = other()
    assert(acting:signal { name = "go", key = "k", data = { n = 1 } })
    assert.equal("waiting", kit.status(acting, id))
    assert.is_nil(tmp.read(mark))
    -- The same engine may run it afterwards.
    assert(acting:run())
    assert.matches("loaded", tmp.read(mark))
    clock:advance "2m"
    assert(acting:run())
    assert.completed(acting, id)
  end)

  it("is not run when it is not what was recorded", function()
    local id = fresh()
    local name = backend.name == "sqlite" and "pawl_workflow"
      or "pawl.workflow"
    backend.sql(url, "update " .. name .. [[
      set source = 'local changed = true ' || source; select 1 as done]])
    local said = {}
    local engine = kit.rival(backend, url, clock, { state = "private",
      log = function(level, message, fields)
        said[#said + 1] = ("%s %s %s"):format(level, message,
          fields and fields.error or "")
      end })
    assert(engine:signal { name = "go", key = "k", data = { n = 1 } })
    assert(engine:run())
    assert.is_nil(tmp.read(mark))
    assert.equal("waiting", kit.status(engine, id))
    assert.matches("SHA%-256", table.concat(said, "\n"))
    -- A hand that has the file goes on with the instance.
    local owner = other()
    assert(owner:load(tmp.file("flow.lua", FLOW:format(mark))))
    assert(owner:run())
    clock:advance "2m"
    assert(owner:run())
    assert.completed(owner, id)
  end)
end)
