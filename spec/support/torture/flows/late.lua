-- An event that comes in time, too late, or never.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.late", start = "hope" }
flow:wait("hope", { event = "t.hope", key = "key", into = "hope",
  timeout = 0.8, next = { received = "glad", timeout = "sad" } })
flow:step("glad", { run = work.step, next = "done" })
flow:step("sad", { run = work.step, next = "done" })
flow:finish "done"
return flow
