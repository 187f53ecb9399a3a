-- An expense is entered in another system, decided about there, and paid if it
-- was approved. Nobody is called who might be down: a relay hands over what is
-- emitted (`pawl relay --http URL`), and that system sends what was decided.
--
--   pawl signal expense.decided --key 17 --data '"approved"'
--
-- Temporal, samples-go, expense/workflow.go: 40 lines, and 75 in
-- activities.go.
local pawl = require "pawl"

local expense = pawl.workflow {
  code = "peers.expense",
  input = { expense = "string" },
}

expense:step("enter", {
  run = function(ctx) ctx.emit("expense.entered", ctx.input) end,
})

expense:wait("decision", {
  event = "expense.decided",
  key = "expense",
  accepts = "one of approved, rejected",
  timeout = "10m",
  into = "decision",
})

expense:choice("is_approved", {
  choose = function(ctx)
    return ctx.vars.decision == "approved" and "yes" or "no"
  end,
  next = { yes = "pay", no = "refused" },
})

expense:step("pay", {
  run = function(ctx) ctx.emit("expense.payable", ctx.input) end,
})

expense:finish("paid", { output = function() return "paid" end })
expense:finish("refused", { output = function() return "refused" end })

return expense
