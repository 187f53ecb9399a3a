-- What may go wrong, and when, drawn by lot: `pawl test --seed 7` begins there.
local bank = require "bank"
local stores = require "spec.stores"
local test = require "pawl.testing"

local function simulate(options)
  options.store = stores.url
  options.seeds = options.seeds or stores.times(40, 3)
  return test.simulate(options)
end

describe("whatever goes wrong", function()
  it("leaves an order paid and sent, or neither", function()
    simulate {
      load = { "pay.lua", "order.lua" },
      scenario = function(engine)
        bank.charge = engine:effect("charge", { returns = "R-1" })
        bank.refund = engine:effect "refund"
        return engine:start("shop.order", { item = "lamp", price = 30 })
      end,
      check = function(engine, _, id)
        local sent = false
        for _, row in ipairs(engine.outbox:list { instance = id }) do
          sent = sent or row.type == "parcel.sent"
        end
        local pay = engine:list { workflow = "shop.pay" }[1]
        if sent then assert.completed(engine, pay.id) end
      end,
    }
  end)

  it("lets no member pay for more than a year", function()
    simulate {
      load = { "member.lua" }, host = { charge = true },
      scenario = function(engine)
        engine:stub_host("charge", { returns = "R-1" })
        return engine:start("shop.member", { name = "Ada" })
      end,
      always = function(engine, _, id)
        assert((engine:get(id).variables.months or 0) <= 12)
      end,
    }
  end)

  it("is found where a key is missing", function()
    local ok, why = pcall(simulate, {
      load = { "hasty.lua" }, seeds = 100,
      scenario = function(engine)
        bank.charge = engine:effect("charge", { returns = "R-1" })
        engine:start("shop.hasty", { price = 30 })
      end,
    })
    assert.is_false(ok)
    assert.matches("'charge' is done again in one visit of charge of "
      .. "shop.hasty", why, 1, true)
    assert.matches("with 1 of %d+ things that were drawn", why)
  end)
end)
