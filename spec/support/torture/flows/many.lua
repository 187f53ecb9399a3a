-- Takes many events, one after the other.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.many", start = "next" }
flow:wait("next", { event = "t.item", next = "add" })
flow:step("add", {
  run = function(ctx)
    work.step(ctx)
    ctx.vars.sum = (ctx.vars.sum or 0) + ctx.event.data.n
    return ctx.vars.n_add < ctx.input.count and "more" or "enough"
  end,
  next = { more = "next", enough = "done" },
})
flow:finish "done"
return flow
