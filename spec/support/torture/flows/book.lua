-- Writes a table of the user's in the transactions of its steps.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.book", start = "book1" }
flow:step("book1", { run = work.book, transactional = true,
  retry = work.retry, next = "between" })
flow:step("between", { run = work.step, next = "book2" })
flow:step("book2", { run = work.book, transactional = true,
  retry = work.retry, next = "done" })
flow:finish "done"
return flow
