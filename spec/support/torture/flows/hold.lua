-- Waits until it is let go, having been edited and suspended.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.hold", start = "a" }
flow:step("a", { run = work.step, next = "hold" })
flow:wait("hold", { event = "t.go", next = "b" })
flow:step("b", { run = work.step, next = "c" })
flow:step("c", { run = work.step, next = "done" })
flow:finish "done"
return flow
