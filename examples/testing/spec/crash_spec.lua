local bank = require "bank"
local stores = require "spec.stores"
local test = require "pawl.testing"
local theatre = require "theatre"

--- Options of a scenario that dies everywhere.
local function with(file)
  return { load = { file }, store = stores.url,
    every = stores.times(1, 8) }
end

--- A payment from its beginning to its end, with a bank that only notes.
local function payment(code)
  return function(engine, clock)
    bank.charge = engine:effect("charge", { returns = "R-1" })
    local id = assert(engine:start(code, { price = 30 }))
    engine:run_until_idle()
    clock:advance "15d"
    assert.completed(engine, id)
  end
end

describe("a worker that dies anywhere", function()
  it("charges nobody twice", function()
    test.crash_everywhere(payment "shop.pay", with "pay.lua")
  end)

  it("would, where each attempt has a key of its own", function()
    local options = with "hasty.lua"
    options.every = nil
    local ok, why = pcall(test.crash_everywhere, payment "shop.hasty", options)
    assert.is_false(ok)
    assert.matches("'charge' is done 2 times in place of 1 by the handler "
      .. "charge of shop.hasty", why, 1, true)
  end)

  it("takes one seat", function()
    test.crash_everywhere(function(engine)
      theatre.free = engine:effect("free", { returns = 1, reads = true })
      theatre.take = engine:effect("take", { returns = "A1" })
      local id = engine:start("shop.seat", { show = "Faust" })
      engine:run_until_idle()
      assert.completed(engine, id)
    end, with "seat.lua")
  end)
end)
