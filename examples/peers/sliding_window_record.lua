-- One record of a batch: see sliding_window.lua.
local pawl = require "pawl"

local record = pawl.workflow { code = "peers.sliding_window_record" }

-- Drawn once, and kept: whoever goes on with it waits as long.
record:step("begin", {
  run = function(ctx) ctx.vars.seconds = math.random(0, 9) end,
})

record:timer("process", { after = function(ctx) return ctx.vars.seconds end })

record:finish("done", { output = function(ctx) return ctx.vars.seconds end })

return record
