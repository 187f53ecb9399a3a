-- A join of all.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.all", start = "before" }
return work.fork(flow, { expect = "all", next = "after" })
