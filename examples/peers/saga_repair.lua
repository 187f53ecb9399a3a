-- What a person does about a trip that has failed: see saga.lua.
local pawl = require "pawl"

local repair = pawl.workflow { code = "peers.saga_repair" }

-- `pawl show ID` tells what was taken back, and what could not be.
repair:task("look", {
  title = "A trip has failed",
  roles = "operator",
  prepare = function(ctx)
    return { input = { trip = ctx.input.id, node = ctx.input.node },
      description = ctx.input.error.message }
  end,
  due = "1h",
  escalate = { roles = "manager", priority = "urgent" },
  next = "done",
})

repair:finish "done"

return repair
