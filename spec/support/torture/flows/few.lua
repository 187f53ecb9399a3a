-- A branch for each item, until enough of them are done.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.few", start = "all" }
flow:each("all", {
  items = function(ctx) return ctx.input.items end,
  branch = "item", window = 6, into = "results", next = "sum",
  enough = function(ctx, so_far)
    local seen = (so_far.sum or 0) + 1
    return seen == ctx.input.enough, seen
  end,
})
flow:step("item", { run = work.item, retry = work.retry, next = "all" })
flow:step("sum", { run = work.sum, next = "done" })
flow:finish "done"
return flow
