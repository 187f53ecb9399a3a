-- A timer that would stand for a day, if no event moved it.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.moved", start = "a" }
flow:step("a", { run = work.step, next = "wait" })
flow:timer("wait", { next = "b",
  after = function(ctx) return ctx.vars.seconds or 86400 end,
  reschedule = { event = "t.moved", into = "seconds" } })
flow:step("b", { run = work.step, next = "done" })
flow:finish "done"
return flow
