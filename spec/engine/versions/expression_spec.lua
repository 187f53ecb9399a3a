-- The condition of a breakpoint.
local explain = require "pawl.explain"
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"

kit.describe("a condition of a breakpoint", function(backend)
  local engine

  before_each(function() halts.ran = {} end)

  local function prepared(flow, options)
    engine = backend.fresh(options)
    assert(engine:load(flow))
  end

  local function words(id)
    return table.concat(explain.sentences(assert(engine:explain(id))), "\n")
  end

  it("holds where its condition is true", function()
    prepared(halts.chain())
    halts.set(engine, "b", { when = "vars.total > 100 and input.total ~= 7 "
      .. "and key ~= 'mine' -- big" })
    local passed = halts.begun(engine, { total = 7 })
    assert.completed(engine, passed)
    assert.equal("b", halts.at(engine, halts.begun(engine, { total = 200 })))
    passed = halts.begun(engine, { total = 200 }, { key = "mine" })
    assert.completed(engine, passed)
  end)

  it("holds where its condition fails, and says so", function()
    prepared(halts.chain())
    halts.set(engine, "b", { when = "vars.absent.total > 1" })
    local id = halts.begun(engine)
    assert.equal("b", halts.at(engine, id))
    assert.matches("condition failed: .*index a nil value", words(id))
    assert.matches("index a nil value", kit.last(engine, id).error.message)
    halts.set(engine, "b", { when = "(function() while true do end end)()" })
    id = halts.begun(engine)
    assert.equal("b", halts.at(engine, id))
    assert.matches("condition failed", words(id))
    assert(engine:continue(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)
