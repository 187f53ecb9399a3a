--- step: runs a handler.
local boundary = require "pawl.boundary"
local shape = require "pawl.shape"

---@class pawl.StepOptions
---@field run fun(ctx: pawl.Ctx): any, any  the handler; it returns the
---                              transition and an output, or, where `next` is
---                              one node, the output
---@field next? string|table<string, string>  a node, or transitions by name;
---                              left out: the node written behind it
---@field into? string  the variable that takes the output
---@field undo? fun(ctx: pawl.Ctx)  takes back what `run` did
---@field retry? pawl.Retry|integer|false  `{ max=, base=, cap=, factor=, jitter=,
---                              delay=, on=, never= }`, the attempts in all,
---                              or false for one; 3
---@field on_error? table<string, string>  by error code, at once; "*" any other,
---                              when no attempt is left
---@field on_exhausted? "fail"|"suspend"  when no attempt is left; "fail"
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  of one
---                              attempt; 10 minutes
---@field transactional? boolean  `ctx.db` writes in the transaction that
---                              records the step
---@field durability? "every"|"grouped"|"save"  when what it did is on disk; as
---                              the workflow says
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

---@class pawl.Retry
---@field max? integer           attempts in all; 3, of what waits for somebody
---                              else 1
---@field base? number|string    the delay behind the first; 1 s
---@field cap? number|string     the longest delay; 5 minutes, and at least twice
---                              a longer `base`
---@field factor? number         how delays grow; 2
---@field jitter? number         0 to 1: how far they are spread; 0.5
---@field delay? fun(ctx: pawl.Ctx, attempt: integer, error: pawl.Caught): number|string|nil
---                              in place of those four: how long until the
---                              next attempt, behind so many that have failed
---                              and the last one's error; none: by those
---@field on? string|string[]    error codes that are tried again, and no others;
---                              "*" any other
---@field never? string|string[]  those that are not

---@class pawl.Workflow
---@field step fun(self: pawl.Workflow, name: string, options: pawl.StepOptions): pawl.Workflow

---@type pawl.Kind
return {
  fields = {
    run = shape.handler,
    next = shape.next,
    into = shape.name,
    undo = shape.handler,
    retry = shape.retry,
    on_error = shape.on_error,
    on_exhausted = shape.on_exhausted,
    timeout = shape.asked_limit,
    transactional = shape.boolean,
    durability = shape.durability,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  needs = { { "run", "run = function(ctx) ... end" } },
  follows = true,
  mermaid = { "[", "]" },
  dot = "box",
}
