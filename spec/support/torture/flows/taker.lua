-- A child that takes so many of its queue's jobs, each for all who are after
-- it; gives their sum.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.taker", start = "next" }
flow:wait("next", { event = "t.job", key = "queue", take = "one",
  next = "do" })
flow:step("do", {
  retry = work.retry,
  run = function(ctx)
    work.step(ctx)
    ctx.vars.sum = (ctx.vars.sum or 0) + ctx.event.data.n
    return ctx.vars.n_do < ctx.input.count and "more" or "enough"
  end,
  next = { more = "next", enough = "done" },
})
flow:finish("done", { output = function(ctx) return ctx.vars.sum end })
return flow
