-- An expense claim that a person decides. Nobody answers for two days: the
-- finance team is asked too. Nobody answers for a week: it is turned down.
--
--   pawl start -i '{"who":"Ada","amount":120}' example.approval
--   pawl worker examples/approval.lua         leave it running
--   pawl task list --role manager
--   pawl task complete TASK --by bob --role manager --take approved
local pawl = require "pawl"

local approval = pawl.workflow {
  code = "example.approval",
  start = "is_small",
}

-- What is small is paid without asking.
approval:choice("is_small", {
  choose = function(ctx)
    return ctx.input.amount <= 50 and "small" or "large"
  end,
  next = { small = "pay", large = "decide" },
})

-- The task is made once, and stays until somebody has dealt with it, however
-- often workers are restarted meanwhile.
approval:task("decide", {
  title = "Decide about an expense claim",
  form = "expense",
  roles = "manager",
  prepare = function(ctx)
    return {
      title = ("%s wants %d EUR back"):format(ctx.input.who,
        ctx.input.amount),
      input = { who = ctx.input.who, amount = ctx.input.amount },
    }
  end,
  due = "2d",
  escalate = { groups = "finance", priority = "urgent" },
  timeout = "7d",
  into = "decision",
  next = { approved = "pay", rejected = "turn_down", timeout = "turn_down" },
})

approval:step("pay", {
  run = function(ctx)
    ctx.emit("expense.paid", { who = ctx.input.who,
      amount = ctx.input.amount })
  end,
  next = "paid",
})

approval:step("turn_down", {
  run = function(ctx)
    local note = ctx.vars.decision and ctx.vars.decision.note
    ctx.emit("expense.turned_down", { who = ctx.input.who,
      why = note or "nobody answered" })
    ctx.vars.why = note or "nobody answered"
  end,
  next = "turned_down",
})

approval:finish("paid", {
  output = function(ctx) return { paid = ctx.input.amount } end,
})

approval:finish("turned_down", {
  output = function(ctx) return { paid = 0, why = ctx.vars.why } end,
})

return approval
