-- An application for credit, decided about by a person. When the loan cannot
-- be made, three times, somebody sees to that, and has it tried again or given
-- up. A preview is decided about in the same way, and nothing is lent. The
-- program lends `create_loan`.
--
-- nFlow, nflow-tests, CreditApplicationWorkflow.java: 102 lines.
local pawl = require "pawl"

local credit = pawl.workflow {
  code = "peers.credit_application",
  input = { customer = "string", amount = "number > 0",
    ["preview?"] = "boolean" },
}

credit:step("create", {
  into = "application",
  run = function(ctx) return "abc" .. ctx.input.customer end,
})

credit:task("decide", {
  title = "Decide about a credit",
  roles = "clerk",
  prepare = function(ctx) return { input = ctx.input } end,
  next = { accept = "is_preview", reject = "close" },
})

credit:choice("is_preview", {
  choose = function(ctx) return ctx.input.preview and "yes" or "no" end,
  next = { yes = "close", no = "grant" },
})

credit:step("grant", {
  retry = 3,
  into = "loan",
  run = function(ctx)
    return ctx.host.create_loan {
      application = ctx.vars.application, amount = ctx.input.amount,
      key = ctx.idempotency_key(),
    }
  end,
  on_error = { ["*"] = "repair" },
  next = "close",
})

credit:task("repair", {
  title = "A loan could not be made",
  roles = "operator",
  prepare = function(ctx) return { description = ctx.error.message } end,
  next = { again = "grant", give_up = "close" },
})

credit:step("close", {
  run = function(ctx)
    ctx.emit("credit.closed", { application = ctx.vars.application,
      granted = ctx.vars.loan ~= nil })
  end,
})

credit:finish("done", { output = function(ctx) return ctx.vars end })

return credit
