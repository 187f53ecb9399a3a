-- Breakpoints: which are set, for how long, and what stands there.
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"

kit.describe("a list of breakpoints", function(backend)
  local engine, clock

  before_each(function() halts.ran = {} end)

  local function prepared(flow, options)
    engine, clock = backend.fresh(options)
    assert(engine:load(flow))
  end

  it("is found by lists, and many are let go on at once", function()
    prepared(halts.chain())
    halts.set(engine, "b")
    local ids = { halts.begun(engine), halts.begun(engine) }
    halts.set(engine, "c")
    engine.breakpoints:remove { workflow = "t.chain", node = "b" }
    assert(engine:run())
    local found = assert(engine:list { halted = true, waits = true })
    assert.equal(2, #found)
    assert.equal("breakpoint", found[1].waits.what)
    assert.equal(0, #assert(engine:list { halted = true, node = "b" }))
    local report = assert(engine:bulk("continue", { halted = true }))
    assert.equal(2, report.done)
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.completed(engine, id)
    end
    assert.equal(0, #assert(engine:list { halted = true }))
  end)

  it("is gone by itself, and what has halted goes on then", function()
    prepared(halts.chain())
    halts.set(engine, "b", { lasts = "5m" })
    local id = halts.begun(engine)
    clock:advance "4m"
    assert(engine:run())
    assert.equal("b", halts.at(engine, id))
    assert.equal(1, #assert(engine.breakpoints:list()))
    clock:advance "1m"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("step a, halted b, continued b, step b, step c",
      kit.trail(engine, id))
    assert.same({}, assert(engine.breakpoints:list()))
    assert.equal("completed", kit.status(engine, halts.begun(engine)))
  end)

  it("holds for an hour where nobody says for how long", function()
    prepared(halts.chain())
    local info = halts.set(engine, "b")
    local listed = assert(engine.breakpoints:list())[1]
    assert.equal(info.expires, listed.expires)
    local id = halts.begun(engine)
    clock:advance(3599)
    assert(engine:run())
    assert.equal("b", halts.at(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)
