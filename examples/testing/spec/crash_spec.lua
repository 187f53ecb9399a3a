local bank = require "bank"
local test = require "pawl.testing"

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
    test.crash_everywhere(payment "shop.pay", { load = { "pay.lua" } })
  end)

  it("would, where each attempt has a key of its own", function()
    local ok, why = pcall(test.crash_everywhere, payment "shop.hasty",
      { load = { "hasty.lua" } })
    assert.is_false(ok)
    assert.matches("'charge' is done 2 times in place of 1 by the handler "
      .. "charge of shop.hasty", why, 1, true)
  end)
end)
