--- step: runs a handler.
local shape = require "pawl.shape"

---@class pawl.StepOptions
---@field run fun(ctx: pawl.Ctx): string?, any  the handler; it returns the
---                              transition, nothing for a single one, and an
---                              output
---@field next string|table<string, string>  a node, or transitions by name
---@field undo? fun(ctx: pawl.Ctx)  takes back what `run` did
---@field retry? table|integer|false  `{ max=, base=, cap=, factor=, jitter= }`,
---                              the attempts in all, or false for one; 3
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_exhausted? "fail"|"suspend"  when no attempt is left; "fail"
---@field timeout? number|string  of one attempt; 10 minutes
---@field transactional? boolean  `ctx.db` writes in the transaction that
---                              records the step

---@class pawl.Workflow
---@field step fun(self: pawl.Workflow, name: string, options: pawl.StepOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    run = shape.handler,
    next = shape.next,
    undo = shape.handler,
    retry = shape.retry,
    on_error = shape.on_error,
    on_exhausted = shape.on_exhausted,
    timeout = shape.limit,
    transactional = shape.boolean,
  },
  needs = {
    { "run", "run = function(ctx) ... end" },
    { "next", 'next = "the_next_node"' },
  },
  mermaid = { "[", "]" },
  dot = "box",
}
