-- A transfer of money whose beginning somebody waits for, and whose rest takes
-- its time: who asks is told as soon as it has begun, or why it has not.
--
--   local id = engine:start("peers.early_return", {}, { key = "7" })
--   local told = engine:ask(id, "transfer", { amount = 30 }, { event = "7" })
--
-- Temporal, samples-go, early-return/workflow.go: 87 lines.
local pawl = require "pawl"

local transfer = pawl.workflow { code = "peers.early_return" }

transfer:wait("asked", { event = "transfer", into = "request",
  accepts = { amount = "number" } })

transfer:step("begin", {
  retry = false, -- somebody waits: he is told at once
  run = function(ctx)
    if ctx.vars.request.amount <= 0 then
      error { code = "invalid_amount", message = "nothing to transfer" }
    end
    local begun = { id = ctx.idempotency_key(), status = "begun" }
    ctx.answer(begun)
    return begun
  end,
  on_error = { ["*"] = "cancel" },
})

transfer:step("complete", {
  run = function(ctx)
    return { id = ctx.output.begin.id, status = "completed" }
  end,
})

transfer:finish("done", {
  output = function(ctx) return ctx.output.complete end,
})

transfer:step("cancel", {
  run = function(ctx)
    ctx.answer { status = "cancelled", why = ctx.error.message }
  end,
})

transfer:finish("refused", { status = "failed" })

return transfer
