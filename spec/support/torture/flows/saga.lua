-- Steps that can be undone; then it fails, or waits to be cancelled.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.saga", start = "a",
  on_failure = work.on_failure }
for _, way in ipairs { { "a", "b" }, { "b", "child" }, { "c", "hold" } } do
  flow:step(way[1], { run = work.step, undo = work.undo, next = way[2] })
end
flow:call("child", {
  workflow = "t.kid", undo = work.undo, next = "c",
  input = function(ctx) return { n = 1, pace = ctx.input.pace } end,
})
flow:wait("hold", { event = "t.go", next = "last" })
flow:step("last", {
  retry = false,
  run = function(ctx)
    work.step(ctx)
    error { code = "saga_failed", message = "as told" }
  end,
  next = "done",
})
flow:finish "done"
return flow
