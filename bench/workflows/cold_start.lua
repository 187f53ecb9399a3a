-- What bench/latency.lua starts a process for.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.cold_start", start = "only" }

flow:step("only", { run = function() return nil, { ok = true } end,
  next = "done" })

flow:finish("done")

return flow
