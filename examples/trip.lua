-- A trip of three bookings, all or nothing: when one cannot be had, those that
-- were made are cancelled, the newest first. Kill it anywhere, also while it
-- cancels: it goes on where it was.
--
--   pawl run examples/trip.lua --input '{"to":"Oslo"}'
--   pawl run examples/trip.lua --input '{"to":"Oslo","no_car":true}'
local pawl = require "pawl"

local trip = pawl.workflow { code = "example.trip", start = "flight" }

-- Each service is told a key that is the same in every attempt, so that asking
-- twice books once. What a step returns as its output is what its undo gets.
local function book(what)
  return function(ctx)
    if what == "car" and ctx.input.no_car then
      error { code = "sold_out", message = "no car is left", retry = false }
    end
    ctx.vars.booked = ctx.vars.booked or pawl.array {}
    table.insert(ctx.vars.booked, what)
    return nil, { booking = what .. "-" .. ctx.idempotency_key() }
  end
end

local function cancel(what)
  return function(ctx)
    ctx.vars.cancelled = ctx.vars.cancelled or pawl.array {}
    table.insert(ctx.vars.cancelled, what)
    ctx.log("info", "cancelled", { booking = ctx.output.booking })
  end
end

trip:step("flight", {
  run = book "flight", undo = cancel "flight", next = "hotel",
})

trip:step("hotel", {
  run = book "hotel", undo = cancel "hotel", next = "car",
})

-- Nothing routes its error: a failure here fails the instance, and that undoes
-- what was done before.
trip:step("car", {
  run = book "car", undo = cancel "car", next = "booked",
})

trip:finish("booked", {
  output = function(ctx)
    return { to = ctx.input.to, booked = ctx.vars.booked }
  end,
})

return trip
