-- A lock on a resource, for instances of any workflow: one for each resource.
-- It goes to those who want it in the order in which they said so. What they
-- do is in mutex_user.lua.
--
-- Temporal, samples-go, mutex/mutex_workflow.go: 175 lines, its user among
-- them.
local pawl = require "pawl"

local mutex = pawl.workflow {
  code = "peers.mutex",
  input = { resource = "string" },
  keep_history = 1000,
}

mutex:wait("free", {
  event = "mutex.wanted",
  key = "resource",
  into = "holder",
  next = "lock",
  on_event = { event = "mutex.needless", next = "gone" },
})

mutex:step("lock", {
  run = function(ctx)
    ctx.signal { name = "mutex.locked", instance = ctx.vars.holder }
  end,
})

-- Its key is who holds it: nobody unlocks it for somebody else. One who is
-- gone does not keep it for ever.
mutex:wait("held", {
  event = "mutex.unlocked",
  key = "holder",
  timeout = "10m",
  next = { received = "free", timeout = "free" },
})

mutex:finish "gone"

return mutex
