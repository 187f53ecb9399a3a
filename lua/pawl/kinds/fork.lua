--- fork: makes a token for each of its branches.
local problem = require "pawl.problem"
local shape = require "pawl.shape"

---@class pawl.ForkOptions
---@field next string[]|table<string, string>  nodes, or by the branch's name

---@class pawl.Workflow
---@field fork fun(self: pawl.Workflow, name: string, options: pawl.ForkOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = { next = shape.branches },
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
