-- A bad neighbour: twenty steps, which block when they are told to.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.slow", start = "more" }
flow:step("step", { run = work.step, next = "more" })
flow:choice("more", {
  choose = function(ctx)
    return (ctx.vars.n_step or 0) < 20 and "yes" or "no"
  end,
  next = { yes = "step", no = "done" },
})
flow:finish "done"
return flow
