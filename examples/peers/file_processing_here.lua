-- What has to be done on one machine: see file_processing.lua.
local pawl = require "pawl"

local here = pawl.workflow { code = "peers.file_processing_here" }

here:step("fetch", {
  run = function(ctx)
    local path = os.tmpname()
    local copy <close> = assert(io.open(path, "w"))
    copy:write("what is in ", ctx.input.file)
    return path
  end,
})

here:step("transform", {
  run = function(ctx)
    local copy <close> = assert(io.open(ctx.output.fetch))
    return copy:read("a"):upper()
  end,
})

here:step("send", {
  run = function(ctx)
    ctx.emit("file.processed", { file = ctx.input.file,
      text = ctx.output.transform })
    os.remove(ctx.output.fetch)
  end,
})

here:finish("sent", { output = function(ctx) return ctx.output.transform end })

return here
