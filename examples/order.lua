-- An order: a flaky payment service that is tried again, a decision, a short
-- wait. Takes a few seconds; press Ctrl-C or kill it anywhere and run the same
-- command again: finished steps do not run twice.
--
--   pawl run examples/order.lua --input '{"item":"lamp","price":30,"count":4}'
local pawl = require "pawl"

local order = pawl.workflow {
  code = "example.order",
  version = 1,
  start = "reserve",
}

order:step("reserve", {
  run = function(ctx)
    local price, count = ctx.input.price or 25, ctx.input.count or 2
    ctx.vars.total = price * count
    -- The key is the same in every attempt: a service that gets it twice
    -- knows that it is one request.
    return nil, { hold = "hold-" .. ctx.idempotency_key() }
  end,
  next = "charge",
})

-- The bank does not answer at first. `ctx.attempt` counts.
order:step("charge", {
  retry = { max = 4, base = 0.5, factor = 2, jitter = 0.2 },
  run = function(ctx)
    if ctx.attempt < 3 then error "the bank does not answer" end
    if ctx.input.card == "stolen" then
      error { code = "card_declined", message = "the card is blocked",
        retry = false }
    end
    ctx.vars.paid = ctx.vars.total
  end,
  on_error = { card_declined = "refused" },
  next = "is_big",
})

order:choice("is_big", {
  choose = function(ctx)
    return ctx.vars.total >= 100 and "big" or "small"
  end,
  next = { big = "pack_with_care", small = "pack" },
})

order:step("pack", {
  run = function(ctx) ctx.vars.parcel = "envelope" end,
  next = "cool_off",
})

order:step("pack_with_care", {
  run = function(ctx) ctx.vars.parcel = "crate" end,
  next = "cool_off",
})

-- The customer may still change their mind: two seconds stand for two days.
order:timer("cool_off", { after = "2s", next = "ship" })

order:step("ship", {
  run = function(ctx)
    return nil, { label = ("%s to %s"):format(ctx.vars.parcel,
      ctx.input.to or "the customer") }
  end,
  next = "done",
})

order:finish("done", {
  output = function(ctx)
    return { total = ctx.vars.paid, parcel = ctx.vars.parcel }
  end,
})

order:finish("refused", { status = "failed" })

return order
