-- A branch for each item, which waits for an event of its own.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.asked", start = "all" }
flow:each("all", {
  items = function(ctx) return ctx.input.items end,
  branch = "ask", window = 5, into = "results", next = "sum",
})
flow:wait("ask", {
  event = "t.reply",
  key = function(ctx) return ctx.input.key .. ":" .. ctx.token.data.item end,
  next = "item",
})
flow:step("item", { run = work.item, retry = work.retry, next = "all" })
flow:step("sum", { run = work.sum, next = "done" })
flow:finish "done"
return flow
