--- finish: ends its token, and the instance when it was the last.
local shape = require "pawl.shape"

---@class pawl.FinishOptions
---@field status? "completed"|"failed"  "failed" ends the instance at once
---@field terminate? boolean  ends the instance at once: other tokens are
---                              dropped
---@field output? fun(ctx: pawl.Ctx): any  what came of the instance

---@class pawl.Workflow
---@field finish fun(self: pawl.Workflow, name: string, options?: pawl.FinishOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    status = shape.one_of("completed", "failed"),
    terminate = shape.boolean,
    output = shape.handler,
  },
  mermaid = { "((", "))" },
  dot = "doublecircle",
}
