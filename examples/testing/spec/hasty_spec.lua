local bank = require "bank"
local stores = require "spec.stores"

describe("a payment in a hurry", function()
  it("is made", function()
    local engine <close> = stores.engine { load = { "hasty.lua" } }
    bank.charge = engine:effect("charge", { returns = "R-1" })
    local id = engine:start("shop.hasty", { price = 30 })
    engine:run_until_idle()
    assert.completed(engine, id)
    assert.vars(engine, id, { receipt = "R-1" })
    assert.equal(1, #bank.charge.calls)
  end)
end)
