-- The first decides; the others go on and are dropped.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.any", start = "before" }
return work.fork(flow, { expect = "any", next = "after" })
