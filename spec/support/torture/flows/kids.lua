-- A child for each item; some of them fail.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.kids", start = "all" }
flow:each("all", {
  items = function(ctx) return ctx.input.kids end,
  workflow = "t.kid", window = 8, on_failure = "collect",
  parent_end = "cancel", into = "results", next = "sum",
})
flow:step("sum", { run = work.sum, next = "done" })
flow:finish "done"
return flow
