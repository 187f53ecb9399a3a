-- One record of a batch: see sliding_window.lua.
local pawl = require "pawl"

local record = pawl.workflow { code = "peers.sliding_window_record" }

-- Drawn once, and kept: whoever goes on with it waits as long.
record:step("seconds", { run = function() return math.random(0, 9) end })

record:timer("process", { after = function(ctx) return ctx.output.seconds end })

record:finish("done", { output = function(ctx) return ctx.output.seconds end })

return record
