-- A seat for tonight, with a mistake that neither an ordinary spec nor a crash
-- finds: what was free a moment ago need not be free any more, as others book
-- at the same time.
local pawl = require "pawl"
local theatre = require "theatre"

local flow = pawl.workflow { code = "shop.seat", input = { show = "string" } }

flow:step("book", {
  run = function(ctx)
    local key = ctx.idempotency_key()
    if theatre.free(ctx.input.show, key) == 0 then
      error { code = "sold_out", retry = false }
    end
    return theatre.take(ctx.input.show, key)
  end,
  into = "seat",
  on_error = { sold_out = "regret" },
})
flow:step("ticket", {
  run = function(ctx) ctx.emit("ticket.sent", { seat = ctx.vars.seat }) end,
  next = "done",
})
flow:step("regret", {
  run = function(ctx) ctx.emit("ticket.refused", {}) end,
  next = "sorry",
})
flow:finish "done"
flow:finish("sorry", { status = "failed" })

return flow
