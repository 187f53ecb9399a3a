-- What 01a19b7c-a680-7668-9854-bb7180021590, an instance of shop.order
--   (version 1), went through from 2026-11-02T09:00Z on; written by `pawl
--   spec`.
-- Handlers of steps, undos and children do not run: what they gave is
--   replayed. What else runs, runs as it is: choices, keys, matches, times,
--   outputs. What steps emitted, started and signalled is in no history.
-- The source that ran: `pawl workflow show shop.order 1 --source > order.lua`.
local pawl = require "pawl"
local test = require "pawl.testing"

describe("an instance of shop.order", function()
  it("completes as bb7180021590", function()
    local engine <close>, clock = test.engine {
      load = "order.lua",
      clock = test.clock "2026-11-02T09:00:00Z",
    }
    engine:replay("reserve", {
      { vars = { parcel = "P-01a19b7c-a680-7668-9854-bb7180021590" } },
    })
    engine:replay("ship", {
      {},
    })
    engine:replay_workflow("shop.pay", {
      { at = "2026-11-16T09:00:00Z", output = pawl.null },
    })

    local id = assert(engine:start("shop.order", {
      item = "lamp", price = 30,
    }, { business_key = "4711" }))
    engine:run_until_idle()
    engine:run_at("2026-11-16T09:00:00Z", "2026-12-07T09:00:00Z")
    assert(engine.tasks:claim(engine:task_at(id, "search"), {
      by = "ann", roles = { "clerk" },
    }))
    clock:jump_to "2026-12-07T11:00:00Z"
    assert.waiting_at(engine, id, "search")
    assert(engine.tasks:complete(engine:task_at(id, "search"), {
      by = "ann", output = { at = "at the neighbour's" }, roles = { "clerk" },
      take = "found",
    }))
    engine:run_until_idle()

    assert.completed(engine, id)
    assert.path(engine, id, { "reserve", "pay", "ship", "parcel", "search" })
    assert.vars(engine, id, {
      parcel = "P-01a19b7c-a680-7668-9854-bb7180021590",
    })
  end)
end)
