local bank = require "bank"
local stores = require "spec.stores"
local test = require "pawl.testing"

describe("a payment", function()
  local engine, clock, charge, refund

  before_each(function()
    engine, clock = stores.engine { load = { "pay.lua" } }
    charge = engine:effect("charge", { returns = "R-1" })
    refund = engine:effect "refund"
    bank.charge, bank.refund = charge, refund
  end)
  after_each(function() engine:close() end)

  it("is made, and closed after two weeks", function()
    local id = engine:start("shop.pay", { price = 30 })
    engine:run_until_waiting(id, "objection")
    assert.vars(engine, id, { receipt = "R-1" })
    assert.emitted(engine, id, "payment.made", { receipt = "R-1" })
    assert.due_in(engine, id, "14d")
    clock:advance "14d"
    assert.completed(engine, id)
    assert.path(engine, id, { "charge", "tell", "objection" })
    assert.is_true(charge.calls[1].covered) -- by the idempotency key
  end)

  it("is tried again while the bank is busy", function()
    engine:fail("charge", { times = 3, code = "busy" })
    local id = engine:start("shop.pay", { price = 30 })
    engine:run_until_waiting(id, "objection")
    assert.ran_times(engine, id, "charge", 4)
    assert.equal(1, #charge.calls)
  end)

  it("is declined at once", function()
    engine:fail("charge", { code = "card_declined" })
    local id = engine:start("shop.pay", { price = 30 })
    engine:run_until_idle()
    assert.failed(engine, id)
    assert.emitted(engine, id, "payment.declined")
    assert.is_not.emitted(engine, id, "payment.made")
  end)

  it("is given back when a clerk says so", function()
    local id = engine:start("shop.pay", { price = 30 })
    engine:run_until_waiting(id, "objection")
    engine:signal { name = "payment.objected", instance = id }
    engine:run_until_waiting(id, "look")
    assert.task_for(engine, id, "clerk")
    local task = engine.tasks:list { instance = id }[1]
    assert(engine.tasks:complete(task.id, { by = "ann", roles = "clerk",
      take = "refund" }))
    engine:run_until_idle()
    assert.failed(engine, id, "objected")
    assert.compensated(engine, id, { "charge" })
    assert.equal("R-1", refund.calls[1].arguments[1])
  end)

  it("asks the bank by the price that it is given", function()
    bank.charge = function(price) return "R-" .. price end
    local told = test.handler("pay.lua", "charge", { input = { price = 7 } })
    assert.same({ receipt = "R-7" }, told.changes.set)
  end)
end)
