-- A branch for each item.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.each", start = "all" }
flow:each("all", {
  items = function(ctx) return ctx.input.items end,
  branch = "item", window = 10, into = "results", next = "sum",
})
flow:step("item", { run = work.item, retry = work.retry, next = "all" })
flow:step("sum", { run = work.sum, next = "done" })
flow:finish "done"
return flow
