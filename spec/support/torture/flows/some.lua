-- A branch for each item, of which some may fail for good.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.some", start = "all",
  variables = { sum = "integer", failed = "integer >= 0",
    counted = "integer", results = "array", n_item = "integer",
    n_sum = "integer", n_sorry = "integer" } }
flow:each("all", {
  items = function(ctx) return ctx.input.items end,
  branch = "item", window = 8, into = "results", next = "sum",
  tolerate = "25%", on_error = { ["*"] = "sorry" },
})
flow:step("item", { run = work.item, next = "all",
  retry = { max = 20, base = 0.02, factor = 1, cap = 0.05, jitter = 0,
    never = { "t.bad" } } })
flow:step("sum", { run = work.sum, next = "done" })
flow:step("sorry", { run = work.step, next = "done" })
flow:finish "done"
return flow
