-- A timer that may be moved while it runs, to an earlier time as well as to a
-- later one. `pawl explain ID` tells when it will fire.
--
-- Temporal, samples-go, updatabletimer/workflow.go: 55 lines.
local pawl = require "pawl"

local alarm = pawl.workflow {
  code = "peers.updatable_timer",
  input = { wake_up = "number" },
}

alarm:timer("sleep", {
  at = function(ctx) return ctx.vars.wake_up or ctx.input.wake_up end,
  reschedule = { event = "alarm.moved", into = "wake_up" },
})

return alarm
