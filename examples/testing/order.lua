-- An order: paid for by a child, sent, and looked for when it does not arrive.
local pawl = require "pawl"

local flow = pawl.workflow {
  code = "shop.order",
  input = { item = "string", price = "number > 0" },
}

flow:step("reserve", {
  run = function(ctx) ctx.vars.parcel = "P-" .. ctx.id end,
  undo = function(ctx)
    ctx.emit("stock.released", { item = ctx.input.item })
  end,
})
flow:call("pay", {
  workflow = "shop.pay",
  input = function(ctx) return { price = ctx.input.price } end,
  on_error = { ["*"] = "refused" },
})
flow:step("ship", {
  run = function(ctx)
    ctx.emit("parcel.sent", { parcel = ctx.vars.parcel })
  end,
})
flow:wait("parcel", {
  event = "parcel.delivered",
  key = "parcel",
  timeout = "21d",
  next = { received = "done", timeout = "search" },
})
flow:task("search", { title = "Where is it?", roles = { "clerk" },
  next = { found = "done", gone = "gone" } })
flow:finish "done"
flow:finish("gone", { status = "failed" })
flow:finish("refused", { status = "failed" })

return flow
