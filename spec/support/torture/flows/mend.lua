-- What a failure starts: one step, and its input is what was told.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.mend", start = "look" }
flow:step("look", { run = work.step, retry = work.retry, next = "done" })
flow:finish "done"
return flow
