-- Cancelled by an event with its key.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow {
  code = "t.recalled", start = "a",
  cancel_on = { { event = "t.recall", key = "key" } },
}
flow:step("a", { run = work.step, undo = work.undo, next = "hold" })
flow:wait("hold", { event = "t.never", next = "b" })
flow:step("b", { run = work.step, next = "done" })
flow:finish "done"
return flow
