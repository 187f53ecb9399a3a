-- What the record is filled with, by bench/record.lua: instances that complete,
-- fail, wait for an event or for somebody; with attributes and an event for
-- others.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.record", start = "begin" }

flow:step("begin", {
  retry = false,
  run = function(ctx)
    ctx.vars.customer = ctx.input.customer
    ctx.attrs.customer = ctx.input.customer
    ctx.attrs.amount = 1
    if ctx.input.way == "fail" then
      error { code = "bank.timeout", message = "the bank does not answer" }
    end
    ctx.emit("record.begun", { customer = ctx.input.customer })
    return ctx.input.way
  end,
  next = { finish = "done", wait = "wait", ask = "ask" },
})

flow:wait("wait", { event = "bench.never", next = "done" })

flow:task("ask", {
  title = "Approve it", roles = "manager", due = "1h", next = "done",
})

flow:finish("done")

return flow
