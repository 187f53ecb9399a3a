-- A child: gives twice its number, or fails.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.kid", start = "one",
  on_failure = work.on_failure }
flow:step("one", { run = work.step, next = "two" })
flow:step("two", {
  retry = false,
  run = function(ctx)
    work.step(ctx)
    if ctx.input.bad then error { code = "bad_kid", message = "as told" } end
  end,
  next = "done",
})
flow:finish("done", { output = function(ctx) return 2 * ctx.input.n end })
return flow
