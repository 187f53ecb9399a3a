-- Work for a person; notes that come meanwhile, reminders, and an event that
-- calls it off.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.beside", start = "ask" }
flow:step("ask", { run = work.step, next = "approve" })
flow:task("approve", { title = "Approve it", next = { approved = "yes" },
  on_timer = { name = "remind", every = 0.4, run = work.step,
    retry = work.retry },
  on_event = {
    { name = "note", event = "t.note", interrupt = false, run = work.step,
      retry = work.retry },
    { name = "withdraw", event = "t.withdraw", key = "key", next = "gone" },
  } })
flow:step("yes", { run = work.step, next = "done" })
flow:step("gone", { run = work.step, next = "done" })
flow:finish "done"
return flow
