-- A shop's pages, driven by a workflow: each asks with what was filled in, and
-- is told which page comes next, or what is wrong. A page that is sent twice
-- has the same answer; one that comes too early has it when it is its turn.
--
--   pawl ask ID order.email --data '"ada@example.com"'
--   pawl ask ID order.size --data '"medium"'
--
-- Temporal, samples-go, synchronous-proxy/workflow.go: 126 lines, and 126 more
-- in activities.go and proxy/main.go.
local pawl = require "pawl"

local order = pawl.workflow { code = "peers.synchronous_proxy" }

order:wait("email", {
  event = "order.email", accepts = "string", into = "email",
})

-- This takes a service, and so a step, which answers when it is stored.
order:step("register", {
  run = function(ctx)
    if not ctx.vars.email:find "^[^@]+@[^@]+$" then
      error { code = "invalid_email", message = "this is no address" }
    end
    ctx.answer { page = "size" }
  end,
  on_error = { invalid_email = "refuse" },
})

-- What is not accepted is refused; who asked is told what was expected.
order:wait("size", {
  event = "order.size", into = "size",
  accepts = "one of small, medium, large",
  answer = function() return { page = "color" } end,
})

order:wait("color", {
  event = "order.color", into = "color",
  accepts = "one of red, blue, black",
  answer = function() return { page = "shipping" } end,
})

order:step("ship", {
  run = function(ctx)
    ctx.emit("delivery.scheduled", ctx.vars)
  end,
  next = "done",
})

order:step("refuse", {
  run = function(ctx)
    ctx.answer { page = "email", why = ctx.error.message }
  end,
  next = "email",
})

order:finish("done", { output = function(ctx) return ctx.vars end })

return order
