-- Who runs what: a workflow that nobody knows waits for who does.
local kit = require "spec.engine.kit"

kit.describe("a workflow that nobody knows", function(backend)
  it("fails its instance, saying so, where that was chosen", function()
    local engine = backend.fresh { unknown = "fail" }
    local id = assert(engine:start "no.such")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("no_handler_registered", instance.error.code)
    assert.matches("no.such", instance.error.message, 1, true)
  end)

  it("waits for who knows it, and each worker says so once", function()
    local said = {}
    local engine, clock, url = backend.fresh {
      log = function(_, message, fields)
        said[#said + 1] = message .. ": " .. tostring(fields.error)
      end,
    }
    local id = assert(engine:start "no.such")
    assert(engine:start "no.such")
    for _ = 1, 3 do
      assert.equal(0, assert(engine:run()).claimed)
      clock:advance(60)
    end
    assert.equal("created", kit.status(engine, id))
    assert.same({ "instances wait for a workflow that nobody has loaded: "
      .. 'no worker has loaded workflow "no.such"' }, said)
    local why = assert(engine:explain(id))
    assert.same({ "unknown_workflow", "no_worker" }, why.blocked)
    local other = kit.rival(backend, url, clock, { unknown = "fail" })
    assert.equal(2, assert(other:run()).ended)
    assert.failed(engine, id)
  end)

  it("waits too when it is asked for by its id, with letters or without",
    function()
      local engine, clock, url = backend.fresh()
      local id = assert(engine:start "no.such")
      assert(engine:tick_instance(id))
      assert(engine:signal { name = "hint", instance = id })
      assert(engine:tick_instance(id))
      assert.equal("created", kit.status(engine, id))
      assert(engine:suspend(id))
      assert(engine:resume(id))
      assert(engine:run())
      assert.equal("created", kit.status(engine, id))
      local other = kit.rival(backend, url, clock)
      assert(other:load(kit.one(nil, { code = "no.such" })))
      assert(other:run())
      assert.completed(engine, id)
    end)

  it("can be cancelled although nobody knows it", function()
    local engine = backend.fresh()
    local id = assert(engine:start "no.such")
    assert(engine:cancel(id))
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("runs once somebody knows it, on the version that is then the newest",
    function()
      local engine, clock, url = backend.fresh()
      local id = assert(engine:start "t.one")
      assert(engine:run())
      local other = kit.rival(backend, url, clock)
      assert(other:load(kit.one(nil, { version = 4 })))
      assert(other:run())
      local instance = assert(engine:get(id))
      assert.equal("completed", instance.status)
      assert.equal(4, instance.version)
    end)

  it("is not theirs to fail who do not serve its prefix", function()
    local engine = backend.fresh { prefixes = "my." }
    local id = assert(engine:start "no.such")
    assert.equal(0, assert(engine:run()).claimed)
    assert.equal("created", kit.status(engine, id))
  end)
end)
