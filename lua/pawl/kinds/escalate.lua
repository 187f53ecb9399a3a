--- escalate: tells whoever is around it, the nearest boundary alone, and goes on.
local shape = require "pawl.shape"

---@class pawl.EscalateOptions
---@field event string           its name: "stock.low". The nearest `on_event` for
---                              it around this node takes it: of a fork, an
---                              each, or the call that has started the instance
---@field data? fun(ctx: pawl.Ctx): any  the event's data; it changes nothing
---@field next? string  a node; left out: the node written behind it
---@field retry? pawl.Retry|integer|false  when `data` fails, as a step
---@field on_error? table<string, string>  by error code; "*" any other

---@class pawl.Workflow
---@field escalate fun(self: pawl.Workflow, name: string, options: pawl.EscalateOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    event = shape.event,
    data = shape.handler,
    next = shape.single_next,
    retry = shape.retry,
    on_error = shape.on_error,
  },
  needs = { { "event", 'event = "stock.low"' } },
  follows = true,
  mermaid = { ">", "]" },
  dot = "rarrow",
  detail = function(node) return "escalates " .. node.event end,
}
