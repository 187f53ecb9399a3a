-- A payment: charged, told to the shop, and closed after two weeks unless
-- somebody objects. Its specs are in spec/; run them here:
--
--   pawl test
local pawl = require "pawl"

-- What reaches the bank; a spec puts its own in place of it.
local bank = require "bank"

local flow = pawl.workflow {
  code = "shop.pay",
  input = { price = "number > 0" },
}

flow:step("charge", {
  run = function(ctx)
    return bank.charge(ctx.input.price, ctx.idempotency_key())
  end,
  undo = function(ctx) bank.refund(ctx.output, ctx.idempotency_key()) end,
  into = "receipt",
  retry = { max = 5, base = "1m", never = "card_declined" },
  on_error = { card_declined = "tell_declined" },
})
flow:step("tell", {
  run = function(ctx)
    ctx.emit("payment.made", { receipt = ctx.vars.receipt })
  end,
})
flow:wait("objection", {
  event = "payment.objected",
  timeout = "14d",
  next = { received = "look", timeout = "done" },
})
flow:task("look", { title = "An objection", roles = { "clerk" },
  next = { refund = "refund", keep = "done" } })
flow:step("refund", {
  run = function() -- and what was done is undone
    error { code = "objected", retry = false }
  end,
  next = "done",
})
flow:step("tell_declined", {
  run = function(ctx) ctx.emit("payment.declined", {}) end,
  next = "declined",
})
flow:finish "done"
flow:finish("declined", { status = "failed" })

return flow
