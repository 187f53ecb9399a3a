--- call: starts another workflow, and waits for its end.
local boundary = require "pawl.boundary"
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.CallOptions
---@field workflow string  the child's code
---@field next? string|table<string, string>  a node, or `completed`, `failed`,
---                              `cancelled` and `timeout`;
---                              left out: the node written behind it
---@field version? integer  of that workflow; default: the newest
---@field input? table|fun(ctx: pawl.Ctx): any  what the child is given
---@field parent_end? "cancel"|"leave"  what becomes of the child when the
---                              parent ends first; "cancel"
---@field group? string|fun(ctx: pawl.Ctx): string?  of executors, that runs
---                              the child; default: the parent's
---@field priority? integer|fun(ctx: pawl.Ctx): integer?  of the child: a higher
---                              one is claimed first; 0
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  how long
---                              it waits; without a `timeout` transition it
---                              then fails with that code
---@field reschedule? string|pawl.Reschedule  an event that has `timeout`
---                              worked out anew: a name, a pattern, or
---                              `{ event=, key=, into= }`
---@field into? string  the variable that takes the child's output
---@field undo? fun(ctx: pawl.Ctx)  takes back what the child did
---@field retry? pawl.Retry|integer|false  when it fails, as a step; default: once
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

---@class pawl.Workflow
---@field call fun(self: pawl.Workflow, name: string, options: pawl.CallOptions): pawl.Workflow

local function state_of(w)
  if not w.status then return "is about to be started" end
  if w.status == "completed" or w.status == "failed"
    or w.status == "cancelled" then
    return "is " .. w.status .. "; its result is on the way"
  end
  return ("is %s (`pawl explain %s` tells more)"):format(w.status, w.child)
end

---@type pawl.Kind
return {
  fields = {
    workflow = shape.code,
    next = shape.next,
    version = shape.count,
    input = shape.input,
    parent_end = shape.parent_end,
    group = shape.group,
    priority = shape.start_priority,
    timeout = shape.asked_limit,
    reschedule = shape.reschedule,
    into = shape.name,
    undo = shape.handler,
    retry = shape.retry,
    on_error = shape.on_error,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  needs = { { "workflow", 'workflow = "order.ship"' } },
  follows = true,
  transitions = { "completed", "failed", "cancelled", "timeout" },
  check = function(node, whose)
    shape.moved(node, whose, { "timeout" })
  end,
  receives = true,
  waits_for = "child",
  mermaid = { "[[", "]]" },
  dot = "box3d",
  detail = words.child,
  sentence = function(data, token, w)
    return ("it waits for its child, an instance of %s, which %s.%s%s"):format(
      w.workflow, state_of(w), words.timeout_of(data, token),
      words.moved_by(data, w))
  end,
}
