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

local SIZES <const> = { small = true, medium = true, large = true }
local COLORS <const> = { red = true, blue = true, black = true }

--- What a page is told: what is wrong, or which one comes next.
local function check(what, values, next_page)
  return function(event)
    if not values[event.data] then
      error { code = "invalid_" .. what,
        message = ("there is no %s %s"):format(what, event.data) }
    end
    return { page = next_page }
  end
end

order:wait("email", { event = "order.email", into = "email" })

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

order:wait("size", {
  event = "order.size", into = "size", answer = check("size", SIZES, "color"),
})

order:wait("color", {
  event = "order.color", into = "color",
  answer = check("color", COLORS, "shipping"),
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
