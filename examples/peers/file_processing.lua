-- A file is fetched, transformed and sent on by one machine, whichever is
-- free, since it lies on that one's disk. When that dies, another begins anew.
--
-- Each machine serves the group "default", and one of its own for what it has
-- begun; its program lends `machine`, which tells that group's name.
--
-- Temporal, samples-go, fileprocessing/workflow.go: 54 lines, and 90 in
-- activities.go.
local pawl = require "pawl"

local file = pawl.workflow { code = "peers.file_processing" }

-- Whoever runs this has the rest to do.
file:step("pick", {
  run = function(ctx)
    ctx.vars.tries = (ctx.vars.tries or 0) + 1
    ctx.vars.machine = ctx.host.machine()
    return ctx.vars.tries > 4 and "give_up" or "go"
  end,
  next = { go = "process", give_up = "lost" },
})

file:call("process", {
  workflow = "peers.file_processing_here",
  input = function(ctx) return ctx.input end,
  group = function(ctx) return ctx.vars.machine end,
  timeout = "1m",
  into = "sent",
  next = { completed = "done", failed = "pick", timeout = "pick" },
})

file:finish("done", { output = function(ctx) return ctx.vars.sent end })
file:finish("lost", { status = "failed" })

return file
