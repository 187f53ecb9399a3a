-- Children that take their work from one queue; see taker.lua.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.queue", start = "all" }
flow:each("all", {
  items = function(ctx) return ctx.input.kids end,
  workflow = "t.taker", window = 10, into = "results", next = "sum",
})
flow:step("sum", { run = work.sum, next = "done" })
flow:finish "done"
return flow
