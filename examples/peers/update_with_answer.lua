-- A counter that is told what to add, and answers with what it was before.
-- What is less than nothing is refused, and changes nothing.
--
--   pawl ask ID counter.add --data 5
--
-- Temporal, samples-go, update/update.go: 37 lines.
local pawl = require "pawl"

local counter = pawl.workflow { code = "peers.update_with_answer" }

counter:wait("counting", {
  event = "counter.add",
  accepts = "integer >= 0",
  into = "addend",
  answer = function(_, ctx) return ctx.vars.count or 0 end,
  on_event = { event = "counter.done", next = "done" },
})

counter:step("add", {
  run = function(ctx)
    ctx.vars.count = (ctx.vars.count or 0) + ctx.vars.addend
  end,
  next = "counting",
})

counter:finish("done", {
  output = function(ctx) return ctx.vars.count or 0 end,
})

return counter
