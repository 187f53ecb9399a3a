-- Answers what it is asked, by turns by its wait and by the step behind that;
-- and says in which turn, which no second answer would give again. What is bad
-- the wait refuses that answers, and the other leaves it to that.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.desk", start = "who" }
flow:choice("who", {
  choose = function(ctx)
    return (ctx.vars.n_add or 0) % 2 == 0 and "wait" or "step"
  end,
  next = { wait = "ask", step = "hear" },
})
flow:wait("ask", {
  event = "t.ask",
  answer = function(event, ctx)
    if event.data.bad then error { code = "as_told" } end
    return { n = event.data.n, turn = (ctx.vars.n_add or 0) + 1 }
  end,
  next = "add",
})
flow:wait("hear", {
  event = "t.ask", next = "add",
  match = function(event) return not event.data.bad end,
})
flow:step("add", {
  retry = work.retry,
  run = function(ctx)
    work.step(ctx)
    if ctx.vars.n_add % 2 == 0 then
      ctx.answer { n = ctx.event.data.n, turn = ctx.vars.n_add }
    end
    return ctx.vars.n_add < ctx.input.count and "more" or "enough"
  end,
  next = { more = "who", enough = "done" },
})
flow:finish "done"
return flow
