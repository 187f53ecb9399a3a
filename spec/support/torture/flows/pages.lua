-- A step of many pages, whose next attempt goes on from the last that it told.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.pages", start = "read" }
flow:step("read", { run = work.read, retry = work.retry, next = "last" })
flow:step("last", { run = work.step, retry = work.retry, next = "done" })
flow:finish "done"
return flow
