--- choice: takes one of its transitions by name.
local shape = require "pawl.shape"

---@class pawl.ChoiceOptions
---@field choose fun(ctx: pawl.Ctx): string  the transition; it changes nothing
---@field next table<string, string>  two transitions or more, by name

---@class pawl.Workflow
---@field choice fun(self: pawl.Workflow, name: string, options: pawl.ChoiceOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = { choose = shape.handler, next = shape.named_next },
  needs = {
    { "choose", 'choose = function(ctx) return "yes" end' },
    { "next", 'next = { yes = "a", no = "b" }' },
  },
  routes = true,
  mermaid = { "{", "}" },
  dot = "diamond",
}
