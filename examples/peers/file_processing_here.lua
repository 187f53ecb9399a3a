-- What has to be done on one machine: see file_processing.lua.
local pawl = require "pawl"

local here = pawl.workflow { code = "peers.file_processing_here" }

here:step("fetch", {
  run = function(ctx)
    ctx.vars.path = os.tmpname()
    local copy <close> = assert(io.open(ctx.vars.path, "w"))
    copy:write("what is in ", ctx.input.file)
  end,
})

here:step("transform", {
  run = function(ctx)
    local copy <close> = assert(io.open(ctx.vars.path))
    ctx.vars.text = copy:read("a"):upper()
  end,
})

here:step("send", {
  run = function(ctx)
    os.remove(ctx.vars.path)
    ctx.emit("file.processed", { file = ctx.input.file, text = ctx.vars.text })
  end,
})

here:finish("sent", { output = function(ctx) return ctx.vars.text end })

return here
