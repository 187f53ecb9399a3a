--- wait: waits for an event, or until a condition holds.
local boundary = require "pawl.boundary"
local problem = require "pawl.problem"
local shape = require "pawl.shape"
local words = require "pawl.words"

---@class pawl.WaitOptions
---@field event? string  "payment.received", or a pattern: "payment.*"; this or
---                       `condition`
---@field condition? fun(ctx: pawl.Ctx): any  it waits until this is true: asked
---                       as it is come to, and whenever variables have changed.
---                       It changes nothing
---@field next? string|table<string, string>  a node, or `received` (`met`, of a
---                       condition) and `timeout`;
---                              left out: the node written behind it
---@field key? string|fun(ctx: pawl.Ctx): any  what the event's key must equal:
---                              a name in variables or input, or a handler
---@field take? "all"|"one"  whether an event with its key goes to all that wait
---                              for it, or to one of them; "all"
---@field match? fun(event: pawl.Event, ctx: pawl.Ctx): any  false or nil: not
---                              this event. It may be asked more than once
---@field answer? fun(event: pawl.Event, ctx: pawl.Ctx): any  what who asked by
---                              engine:ask is told as this wait takes the
---                              event; an error refuses it, and the wait goes on
---@field accepts? pawl.Types  what the event's data must be: one that is not is
---                              refused, and the wait goes on
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  how long
---                              it waits; without a `timeout` transition it
---                              then fails with that code
---@field reschedule? string|pawl.Reschedule  another event, which has `timeout`
---                              worked out anew: a name, a pattern, or
---                              `{ event=, key=, into= }`
---@field into? string  the variable that takes the event's data
---@field undo? fun(ctx: pawl.Ctx)  takes back what the event brought about
---@field retry? pawl.Retry|integer|false  when it fails, as a step; default: once
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_timer? pawl.BoundaryTimer|pawl.BoundaryTimer[]  what happens at a
---                              time, while it stands there: `{ after=, every=,
---                              at=, run=, next=, interrupt=, name= }`
---@field on_event? pawl.BoundaryEvent|pawl.BoundaryEvent[]  the same of events:
---                              `{ event=, key=, match=, answer=, into=, ... }`

---@class pawl.Workflow
---@field wait fun(self: pawl.Workflow, name: string, options: pawl.WaitOptions): pawl.Workflow

local function judged(w)
  local failed, refused = w.match_failed or 0, w.refused or 0
  local declined = w.turned_down - failed - refused
  local why = w.error and ", with " .. words.error(w.error) or ""
  local text = w.accepts and (" It accepts %s."):format(words.types(w.accepts))
    or ""
  if declined > 0 then
    text = ("%s %s turned down by its `match`."):format(text, declined == 1
      and "One event was" or declined .. " events were")
  end
  if failed > 0 then
    text = ("%s Its `match` failed for %s%s."):format(text,
      words.plural(failed, "event"), refused == 0 and why or "")
  end
  if refused > 0 then
    text = ("%s It has refused %s%s."):format(text,
      words.plural(refused, "event"), why)
  end
  return text
end

--- What is of events has nothing to be of where a condition is waited for.
local function check_condition(node, whose)
  for _, field in ipairs { "key", "take", "match", "answer", "accepts", "into",
    "undo" } do
    if node[field] ~= nil then
      problem.fail("leave it out", "%s has '%s', which is of a wait for an "
        .. "event, and a 'condition'", whose, field)
    end
  end
end

local function check(node, whose)
  if node.condition then check_condition(node, whose) end
  if node.take == "one" and not node.key then
    problem.fail('key = "order"', "%s has 'take', which is of events with a "
      .. "key, but no 'key'", whose)
  end
  shape.moved(node, whose, { "timeout" })
end

local function until_met(data, token, w)
  return ("it waits until its `condition` holds%s; that is looked at %s.%s%s")
    :format(words.goes(words.way_of(token, "condition").to), w.due
      and "when a worker takes it, as variables have changed"
      or "whenever variables change", words.timeout_of(data, token),
      words.moved_by(data, w))
end

---@type pawl.Kind
return {
  fields = {
    event = shape.pattern,
    condition = shape.handler,
    next = shape.next,
    key = shape.event_key,
    take = shape.one_of("all", "one"),
    match = shape.handler,
    answer = shape.handler,
    accepts = shape.types,
    timeout = shape.asked_limit,
    reschedule = shape.reschedule,
    into = shape.name,
    undo = shape.handler,
    retry = shape.retry,
    on_error = shape.on_error,
    on_timer = boundary.on_timer,
    on_event = boundary.on_event,
  },
  either = { "event", "condition",
    'event = "payment.*", or condition = function(ctx) ... end',
    "an event is looked at by `match`: keep one of them" },
  follows = true,
  transitions = { "received", "timeout" },
  other_transitions = { "met", "timeout" },
  check = check,
  receives = true,
  waits_for = "event",
  mermaid = { "{{", "}}" },
  dot = "hexagon",
  detail = function(node) return node.event or "condition" end,
  sentence = function(data, token, w)
    local to = words.way_of(token, "event").to
    local text = ("it waits for the event %s%s%s; %s moves it%s."):format(
      words.quoted(w.event),
      w.key and " with the key " .. words.quoted(w.key) or "",
      w.match and ", if its `match` agrees" or "",
      words.signal(w, data.id), to and " to " .. words.quoted(to) or "")
    if w.take then text = text .. " One of those that wait takes it." end
    if w.assigned then
      text = text .. (" %s was assigned to another: if that does not take it, "
        .. "it goes to more within seconds."):format(words.quoted(w.assigned))
    end
    return text .. judged(w) .. words.timeout_of(data, token)
      .. words.moved_by(data, w)
  end,
  also = { condition = until_met },
}
