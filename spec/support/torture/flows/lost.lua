-- Fails, with an event in its inbox that nobody took; past its time as soon as
-- that is so: it is purged, and the event with it.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.lost", start = "a",
  retain = { failed = "0s" } }
flow:step("a", { next = "done", run = function(ctx)
  work.step(ctx)
  error { code = "lost", retry = false }
end })
flow:finish "done"
return flow
