--- fork: makes a token for each of its branches.
local boundary = require "pawl.boundary"
local problem = require "pawl.problem"
local shape = require "pawl.shape"

---@class pawl.ForkOptions
---@field next string[]|table<string, string>  nodes, or by the branch's name
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

---@class pawl.Workflow
---@field fork fun(self: pawl.Workflow, name: string, options: pawl.ForkOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    next = shape.branches,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  needs = { { "next", 'next = { "ship", "bill" }' } },
  routes = true,
  mermaid = { "[/", "\\]" },
  dot = "trapezium",
  check = function(node, whose)
    node.order, node.next = node.next.order, node.next.next
    if #node.order > 1 then return end
    problem.fail('next = { "ship", "bill" }', "%s has only one branch", whose)
  end,
}
