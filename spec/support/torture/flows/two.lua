-- Two of three decide; the third is called off.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.two", start = "before" }
return work.fork(flow, { expect = 2, losers = "cancel", next = "after" })
