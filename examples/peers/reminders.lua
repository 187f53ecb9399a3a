-- Somebody says which device he needs, the finance team decides, and is
-- reminded each day until it has. What nobody takes up in time is for others
-- as well.
--
--   pawl task list --group finance
--   pawl task complete TASK --by fay --group finance --take approved
--
-- LittleHorse, examples/java/user-tasks, UserTasksExample.java: 93 lines, 37
-- of them the workflow itself.
local pawl = require "pawl"

local request = pawl.workflow { code = "peers.reminders" }

local function mail(to, text)
  return function(ctx)
    ctx.emit("mail.wanted", { to = to or ctx.input.user, text = text })
  end
end

request:task("ask", {
  title = "Which device do you need?",
  form = "it-request",
  prepare = function(ctx) return { assignee = ctx.input.user } end,
  due = "1h",
  escalate = { groups = "support" },
  into = "request",
  next = { sent = "decide", failed = "tell_support" },
})

request:task("decide", {
  title = "Approve a device",
  form = "approve-it-request",
  groups = "finance",
  prepare = function(ctx) return { input = ctx.vars.request } end,
  on_timer = { every = "1d", run = mail("finance", "A request waits for you") },
  due = "7d",
  escalate = { users = "boss" },
  next = { approved = "tell_approved", denied = "tell_denied" },
})

request:step("tell_approved", { run = mail(nil, "approved"), next = "done" })
request:step("tell_denied", { run = mail(nil, "denied"), next = "done" })
request:step("tell_support", { run = mail("support", "nobody knows") })
request:finish "done"

return request
