-- Forks, a child and a timer inside each branch of an each.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.nest", start = "all" }
flow:each("all", {
  items = function(ctx) return ctx.input.items end,
  branch = "split", window = 3, into = "results", next = "sum",
})
flow:fork("split", { next = { "inner", "child", "pause" } })
flow:step("inner", { run = work.step, retry = work.retry, next = "meet" })
flow:call("child", {
  workflow = "t.kid", next = "meet",
  input = function(ctx)
    return { n = ctx.token.data.item, pace = ctx.input.pace }
  end,
})
flow:timer("pause", { after = 0.05, next = "meet" })
flow:join("meet", { next = "item" })
flow:step("item", { run = work.item, retry = work.retry, next = "all" })
flow:step("sum", { run = work.sum, next = "done" })
flow:finish "done"
return flow
