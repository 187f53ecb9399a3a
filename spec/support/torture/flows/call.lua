-- Calls a child between two steps.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.call", start = "before" }
flow:step("before", { run = work.step, undo = work.undo, next = "child" })
flow:call("child", {
  workflow = "t.kid", into = "answer",
  input = function(ctx) return ctx.input.kid end,
  next = { completed = "after", failed = "sorry" },
})
flow:step("after", { run = work.step, next = "done" })
flow:step("sorry", { run = work.step, next = "done" })
flow:finish "done"
return flow
