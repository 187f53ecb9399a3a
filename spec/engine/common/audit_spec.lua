-- What is done to workflows, as the audit tells it.
local audits = require "spec.engine.audits"
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local audit, told = audits.asked, audits.told

kit.describe("what is done to a workflow", function(backend)
  it("is told, with who and why", function()
    local engine, clock = backend.fresh()
    assert(engine:load(samples.waiting()))
    clock:advance(1)
    assert(engine.workflows:suspend { workflow = "t.waiting", by = "ann",
      reason = "it burns" })
    kit.refused("conflict", "suspended already", nil,
      engine.workflows:suspend { workflow = "t.waiting", by = "bob" })
    clock:advance(1)
    assert(engine.workflows:resume { workflow = "t.waiting", by = "bob" })
    clock:advance(1)
    assert(engine.workflows:suspend { prefix = "t.", by = "eve" })
    assert.equal("t.*", audit(engine)[1].workflow)
    assert(engine.workflows:resume { prefix = "t." }) -- nobody says who
    clock:advance(1)
    assert(engine.workflows:deactivate("t.waiting", 1, { by = "ann" }))
    clock:advance(1)
    assert(engine.workflows:activate("t.waiting", 1, { by = "ann" }))
    local list = audit(engine)
    assert.same({ "ann activated", "ann deactivated" },
      told { list[1], list[2] })
    assert.same({ "bob resumed", "ann suspended (it burns)" },
      told { list[5], list[6] })
    assert.same({ "t.waiting", 1 }, { list[1].workflow, list[1].version })
    assert.is_nil(list[1].instance)
    local registered = assert(engine:audit { type = "registered" })
    assert.same({ 1, "t.waiting" }, { #registered, registered[1].workflow })
    assert.matches(":%d+$", registered[1].by) -- this process
    assert.same({ "ann suspended (it burns)" },
      told(audit(engine, { workflow = "t.waiting", type = "suspended" })))
  end)
end)
