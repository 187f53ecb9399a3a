--- Times and durations at the ends of their ranges: refused before anything is
--- stored, or the last that there is.
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("times that are too large", function(backend)
  it("leave a healthy instance as it was", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.far", start = "t",
      deadline = "30d" }
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.far")
    assert(engine:run())
    local before = assert(engine:get(id, "json"))
    for _, us in ipairs { math.maxinteger, math.mininteger, -1,
      31557600000000001 } do
      local ok, err = core.change(engine, id,
        { kind = "shift", for_us = us })
      assert.is_nil(ok)
      assert.equal("invalid", err.code)
      ok, err = core.change(engine, id, { kind = "wake", at_us = us < 0
        and us or math.maxinteger })
      assert.is_nil(ok)
      assert.equal("invalid", err.code)
    end
    assert.equal(before, assert(engine:get(id, "json")))
    assert.equal("t", assert(engine:get(id)).tokens[1].node)
  end)

  it("end with the year 9999 when they add up", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    for _ = 1, 10 do
      assert(core.change(engine, id,
        { kind = "shift", for_us = 31557600000000000 }))
    end
    assert(engine:run())
    assert.equal("9999-12-31T23:59:59.999999Z",
      assert(engine:get(id)).tokens[1].due)
    clock:advance "1h"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("are no time for a timer", function()
    local engine = backend.fresh()
    for i, at in ipairs { math.maxinteger, 1e18, 253402300800, 1 / 0, -1 } do
      local flow = pawl.workflow { code = "t.at" .. i, start = "t" }
      flow:timer("t", { at = function() return at end, next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start("t.at" .. i))
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.equal("value", instance.error.code)
    end
    local flow = pawl.workflow { code = "t.last", start = "t" }
    flow:timer("t", { at = function() return "9999-12-31T23:59:59Z" end,
      next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.last")
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("are no date for an attribute", function()
    local engine = backend.fresh()
    local function start(us)
      return core.start(engine, "t.one", nil, {
        attributes = { due = { type = "date", value = us } } })
    end
    assert(engine:load(kit.one()))
    for _, us in ipairs { math.maxinteger, math.mininteger,
      253402300800000000 } do
      local id, err = start(us)
      assert.is_nil(id)
      assert.equal("value", err.code)
    end
    assert(start(253402300799999999))
    assert(start(-62167219200000000))
  end)
end)

kit.describe("a clock that calls the engine back", function(backend)
  it("cannot close or run it", function()
    local engine, armed
    local said = {}
    engine = backend.fresh { clock = function()
      if armed then
        armed = false
        for _, f in ipairs { engine.close, engine.run, engine.list } do
          local ok, err = pcall(f, engine, {})
          said[#said + 1] = ok and "done" or err.code
        end
      end
      return 1800000000
    end }
    armed = true
    assert.equal(1800000000, engine:now())
    assert.same({ "misuse", "misuse", "misuse" }, said)
    assert(engine:load(kit.one(function()
      armed = true
      engine:now()
    end)))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(6, #said)
    assert.equal("misuse", said[4])
    assert.equal(1, #assert(engine:list {}))
  end)
end)
