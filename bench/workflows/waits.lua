-- Instances that wait for an event, beside which a worker's memory is
-- measured.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.waits", start = "wait" }

flow:wait("wait", { event = "bench.never", next = "done" })

flow:finish("done")

return flow
