-- A year of membership: charged each month by a function of the program,
-- until the member quits.
local pawl = require "pawl"

local flow = pawl.workflow { code = "shop.member", input = { name = "string" } }

flow:step("charge", {
  run = function(ctx)
    ctx.vars.months = (ctx.vars.months or 0) + 1
    return ctx.host.charge { name = ctx.input.name, month = ctx.vars.months }
  end,
  into = "receipt",
  retry = { max = 4, base = "1d", never = "card_expired" },
  on_error = { card_expired = "card" },
  next = "month",
})
flow:wait("month", {
  event = "member.quits",
  timeout = "30d",
  next = { received = "bye", timeout = "year" },
})
flow:choice("year", {
  choose = function(ctx) return ctx.vars.months < 12 and "more" or "over" end,
  next = { more = "charge", over = "bye" },
})
flow:task("card", { title = "The card has expired", roles = { "clerk" },
  next = { renewed = "charge", none = "bye" } })
flow:finish("bye", { output = function(ctx) return ctx.vars.months end })

return flow
