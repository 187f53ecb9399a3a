-- One instance that takes event after event, a step each.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.inbox", start = "wait" }

flow:wait("wait", { event = "bench.put", next = "apply" })
flow:step("apply", {
  run = function(ctx)
    ctx.vars.taken = (ctx.vars.taken or 0) + 1
    return ctx.vars.taken < ctx.input.events and "more" or "enough"
  end,
  next = { more = "wait", enough = "done" },
})
flow:finish("done")

return flow
