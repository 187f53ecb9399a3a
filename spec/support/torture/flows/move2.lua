-- What was b is b2 here; a move that is applied twice would do b2 again.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.move", version = 2, start = "a" }
flow:step("a", { run = work.step, next = "hold" })
flow:wait("hold", { event = "t.go", next = "b2" })
flow:step("b2", { run = work.step, next = "b" })
flow:step("b", { run = work.step, next = "c" })
flow:step("c", { run = work.step, next = "done" })
flow:finish "done"
return flow
