-- What was done is undone on the way, by a node; then it waits, some of them
-- for ever. One that is cancelled tidies up behind all that is undone.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.back", start = "a",
  on_cancel = "tidy" }
for _, way in ipairs { { "a", "b" }, { "b", "back" }, { "c", "rest" } } do
  flow:step(way[1], { run = work.step, undo = work.undo, next = way[2],
    retry = work.retry })
end
flow:undo("back", { next = "c" })
flow:choice("rest", {
  choose = function(ctx) return ctx.input.is_held and "hold" or "pause" end,
  next = { hold = "hold", pause = "pause" },
})
flow:wait("hold", { event = "t.never", next = "done" })
flow:timer("pause", { after = 0.3, next = "done" })
flow:step("tidy", { retry = work.retry, next = "tidied",
  run = function(ctx)
    work.step(ctx)
    ctx.vars.undone = (ctx.vars.undone or "") .. "!"
  end })
flow:finish "tidied"
flow:finish "done"
return flow
