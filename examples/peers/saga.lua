-- A trip is reserved, paid and confirmed, or all of it is taken back, the
-- newest first, each three times if need be. However that goes, it is told,
-- and a person is given what has failed (saga_repair.lua). The program lends
-- `travel`.
--
-- AWS Step Functions, step-functions-workflows-collection,
-- saga-pattern-cdk/lib/stateMachine.ts: 139 lines, and the functions that it
-- calls.
local pawl = require "pawl"

local trip = pawl.workflow {
  code = "peers.saga",
  input = { trip = "string" },
  on_failure = { emit = "trip.failed", start = "peers.saga_repair" },
}

-- A service is told a key that is the same in every attempt.
local function call(action)
  return function(ctx)
    return ctx.host.travel { action = action, trip = ctx.input.trip,
      key = ctx.idempotency_key() }
  end
end

-- What a step gave is what its undo has.
local function undo(action)
  return function(ctx)
    ctx.host.travel { action = action, trip = ctx.input.trip, of = ctx.output,
      key = ctx.idempotency_key() }
  end
end

trip:step("flight", { run = call "reserve_flight",
                      undo = undo "cancel_flight" })
trip:step("rental", { run = call "reserve_rental",
                      undo = undo "cancel_rental" })
trip:step("payment", { run = call "pay", undo = undo "refund" })
trip:step("confirm_flight", { run = call "confirm_flight" })
trip:step("confirm_rental", { run = call "confirm_rental" })

trip:step("tell", {
  run = function(ctx) ctx.emit("trip.booked", { trip = ctx.input.trip }) end,
})

return trip
