-- Two who have its token complete it: what the first one tells counts.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.token", start = "ask" }
flow:step("ask", { retry = work.retry, next = "job", run = function(ctx)
  ctx.vars.token = ctx.callback "t.job"
  work.step(ctx)
end })
flow:wait("job", { event = "t.job", key = "token", into = "result",
  next = "last" })
flow:step("last", { run = work.step, next = "done" })
flow:finish "done"
return flow
