-- Moved to version 2 while it runs.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.move", version = 1, start = "a" }
flow:step("a", { run = work.step, next = "hold" })
flow:wait("hold", { event = "t.go", next = "b" })
flow:step("b", { run = work.step, next = "c" })
flow:step("c", { run = work.step, next = "done" })
flow:finish "done"
return flow
