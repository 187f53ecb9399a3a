local stores = require "spec.stores"
local test = require "pawl.testing"

describe("a member", function()
  local engine, clock, charge, id

  before_each(function()
    engine, clock = stores.engine { load = { "member.lua" },
      host = { charge = true } }
    charge = engine:stub_host("charge", { returns = "R-1" })
    id = engine:start("shop.member", { name = "Ada" })
  end)
  after_each(function() engine:close() end)

  it("is charged twelve times in a year", function()
    engine:run_until_idle()
    clock:advance "360d"
    assert.completed(engine, id)
    assert.output(engine, id, 12)
    assert.equal(12, #charge.calls)
    assert.same({ name = "Ada", month = 12 }, charge.calls[12].input)
  end)

  it("quits when it likes", function()
    local looked = engine:spy "charge"
    engine:run_until_waiting(id, "month")
    clock:advance "30d"
    engine:signal { name = "member.quits", instance = id }
    engine:run_until_idle()
    assert.output(engine, id, 2)
    assert.equal(2, #looked.calls)
  end)

  it("is asked for another card", function()
    engine:stub_host("charge", { code = "card_expired", times = 1 })
    engine:fail("charge", { code = "bank_busy", times = 2 })
    engine:run_until_waiting(id, "card")
    assert.ran_times(engine, id, "charge", 3)
    assert.task_for(engine, id, "clerk")
  end)

  it("goes on for a year, and no longer", function()
    for months, to in pairs { [11] = "charge", [12] = "bye" } do
      local told = test.handler("member.lua", "year", {
        input = { name = "Ada" }, vars = { months = months } })
      assert.equal(to, told.to)
    end
  end)
end)
