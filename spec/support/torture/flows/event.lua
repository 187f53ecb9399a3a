-- Waits for one event by key and for one that is sent to it.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.event", start = "begin" }
flow:step("begin", { run = work.step, next = "first" })
flow:wait("first", { event = "t.first", key = "key", into = "first",
  timeout = "1h", next = "between" })
flow:step("between", { run = work.step, retry = work.retry, next = "second" })
flow:wait("second", { event = "t.second.*", into = "second", next = "last" })
flow:step("last", { run = work.step, next = "done" })
flow:finish "done"
return flow
