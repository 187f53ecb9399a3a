-- Work for a person.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.task", start = "ask" }
flow:step("ask", { run = work.step, next = "approve" })
flow:task("approve", { title = "Approve it", due = 0.5,
  escalate = { priority = "urgent" }, into = "answer",
  next = { approved = "yes", rejected = "no" } })
flow:step("yes", { run = work.step, next = "done" })
flow:step("no", { run = work.step, next = "done" })
flow:finish "done"
return flow
