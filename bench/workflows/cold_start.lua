-- What bench/latency.lua starts a process for. Two steps, because the second
-- one begins when the first one is on disk.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.cold_start", start = "first" }

local function run() return nil, { ok = true } end

flow:step("first", { run = run, next = "second" })
flow:step("second", { run = run, next = "done" })

flow:finish("done")

return flow
