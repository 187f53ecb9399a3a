-- A branch waits until the other has counted so far, and until somebody has
-- edited a variable.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.met", start = "both" }
flow:fork("both", { next = { "hear", "enough" } })
flow:wait("hear", { event = "t.offer", next = "add" })
flow:step("add", { retry = work.retry, run = function(ctx)
  work.step(ctx)
  return ctx.vars.n_add < ctx.input.count and "more" or "last"
end, next = { more = "hear", last = "meet" } })
flow:wait("enough", { next = "b",
  condition = function(ctx)
    return (ctx.vars.n_add or 0) >= ctx.input.enough
  end })
flow:step("b", { run = work.step, next = "told" })
flow:wait("told", { next = "c",
  condition = function(ctx) return ctx.vars.is_told end })
flow:step("c", { run = work.step, next = "meet" })
flow:join("meet", { next = "done" })
flow:finish "done"
return flow
