local stores = require "spec.stores"
local test = require "pawl.testing"
local theatre = require "theatre"

--- A theatre with so many seats, which knows who has one by the key.
local function open_house(engine, seats)
  local taken = {}
  theatre.free = engine:effect("free", { reads = true,
    run = function(_, key)
      return seats - #taken + (taken[key] and 1 or 0)
    end })
  theatre.take = engine:effect("take", { run = function(_, key)
    if not taken[key] then
      taken[#taken + 1] = key
      taken[key] = "A" .. #taken
    end
    return taken[key]
  end })
  return taken
end

describe("a seat", function()
  it("is booked, as long as one is free", function()
    local engine <close> = stores.engine { load = { "seat.lua" } }
    local taken = open_house(engine, 1)
    local ada = engine:start("shop.seat", { show = "Faust" })
    engine:run_until_idle()
    local bob = engine:start("shop.seat", { show = "Faust" })
    engine:run_until_idle()
    assert.completed(engine, ada)
    assert.emitted(engine, ada, "ticket.sent", { seat = "A1" })
    assert.failed(engine, bob)
    assert.emitted(engine, bob, "ticket.refused")
    assert.equal(1, #taken)
  end)

  --- Two workers, each with somebody who wants the last seat.
  local function last_seat(options)
    options.load, options.store = { "seat.lua" }, stores.url
    options.setup = function(engine) return open_house(engine, 1) end
    options.parties = {}
    for _, name in ipairs { "ada", "bob" } do
      options.parties[name] = function(engine)
        engine:start("shop.seat", { show = "Faust" })
        engine:run_until_idle()
      end
    end
    options.check = function(_, _, taken)
      assert(#taken <= 1, "the seat is taken by two")
    end
    return test.interleave(options)
  end

  it("is taken twice, when two look before either books", function()
    local ok, why = pcall(last_seat, {})
    assert.is_false(ok)
    assert.matches("the seat is taken by two", why, 1, true)
    assert.matches("with 1 change by chance", why, 1, true)
    local again = why:match 'schedule = "([^"]+)"'
    assert.is_false((pcall(last_seat, { schedule = again })))
  end)

  it("is not, when one waits for the other", function()
    last_seat { changes = 0 }
  end)
end)
