-- A timer that may be moved while it runs, to an earlier time as well as to a
-- later one, and that shows when it will fire.
--
-- Temporal, samples-go, updatabletimer/workflow.go: 55 lines.
local pawl = require "pawl"

local alarm = pawl.workflow { code = "peers.updatable_timer" }

alarm:step("set", {
  run = function(ctx)
    ctx.vars.wake_up = ctx.vars.wake_up or ctx.input.wake_up
    ctx.publish("wake_up", ctx.vars.wake_up)
  end,
})

-- What is due in the past fires at once.
alarm:wait("sleep", {
  event = "alarm.moved",
  into = "wake_up",
  timeout = function(ctx) return math.max(0, ctx.vars.wake_up - ctx.now()) end,
  next = { received = "set", timeout = "awake" },
})

alarm:finish("awake", { output = function(ctx) return ctx.vars.wake_up end })

return alarm
