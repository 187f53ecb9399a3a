-- Waits for times, and has one that never comes.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.timer", start = "short",
  deadline = "9d" }
flow:timer("short", { after = 0.2, next = "a" })
flow:step("a", { run = work.step, retry = work.retry, next = "soon" })
flow:timer("soon", { at = function(ctx) return ctx.now() + 0.1 end,
  next = "b" })
flow:step("b", { run = work.step, next = "done" })
flow:finish "done"
return flow
