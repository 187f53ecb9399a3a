local bank = require "bank"
local stores = require "spec.stores"
local test = require "pawl.testing"

local ORDER <const> = { item = "lamp", price = 30 }

describe("an order", function()
  local engine, clock

  before_each(function()
    engine, clock = stores.engine { load = { "pay.lua", "order.lua" } }
  end)
  after_each(function() engine:close() end)

  local function sent()
    engine:stub_workflow "shop.pay"
    local id = engine:start("shop.order", ORDER)
    engine:run_until_waiting(id, "parcel")
    return id
  end

  it("is done when the parcel arrives", function()
    local id = sent()
    assert.emitted(engine, id, "parcel.sent")
    assert.due_in(engine, id, "21d", "parcel")
    engine:signal { name = "parcel.delivered", key = "P-" .. id }
    engine:run_until_idle()
    assert.completed(engine, id)
    assert.path(engine, id, { "reserve", "pay", "ship", "parcel" })
  end)

  it("is looked for after three weeks", function()
    local id = sent()
    clock:advance "21d"
    assert.waiting_at(engine, id, "search")
    assert.task_for(engine, id, "clerk")
    local task = engine.tasks:list { instance = id }[1]
    engine.tasks:complete(task.id, { by = "ann", roles = "clerk",
      take = "gone" })
    engine:run_until_idle()
    assert.failed(engine, id)
    assert.compensated(engine, id, { "reserve" })
    assert.history(engine, id, "spec/order_gone.txt")
  end)

  it("is refused when it is not paid", function()
    engine:stub_workflow("shop.pay", { code = "card_declined" })
    local id = engine:start("shop.order", ORDER)
    engine:run_until_idle()
    assert.failed(engine, id)
    assert.emitted(engine, id, "stock.released", { item = "lamp" })
  end)

  it("is paid for, and not objected to, before anything is sent", function()
    bank.charge = engine:effect("charge", { returns = "R-1" })
    local id = engine:start("shop.order", ORDER)
    engine:run_until_idle()
    assert.is_not.emitted(engine, id, "parcel.sent")
    clock:advance "14d"
    assert.emitted(engine, id, "parcel.sent")
  end)
end)

describe("a parcel that arrives as it is given up", function()
  it("is either done or searched for, whoever is first", function()
    test.interleave {
      load = { "pay.lua", "order.lua" }, store = stores.url,
      max = stores.times(100, 5),
      setup = function(engine)
        engine:stub_workflow "shop.pay"
        local id = engine:start("shop.order", ORDER)
        engine:run_until_waiting(id, "parcel")
        return id
      end,
      parties = {
        carrier = function(engine, _, id)
          engine:signal { name = "parcel.delivered", key = "P-" .. id }
          engine:run_until_idle()
        end,
        time = function(_, clock) clock:advance "21d" end,
      },
      check = function(engine, _, id)
        local searched = #engine.tasks:list { instance = id } == 1
        if not searched then assert.completed(engine, id) end
      end,
    }
  end)
end)
