--- Boundaries: what a node says as `on_timer` and `on_event`. Each becomes a
--- timer or a wait of its own, which stands beside the node for as long as that
--- waits or is tried; one with `run` has a step behind it. Plain Lua, as all
--- that builds workflows.
local problem = require "pawl.problem"
local shape = require "pawl.shape"

local boundary = {}

local fail = problem.fail

---@class pawl.Boundary
---@field name? string         the timer's or wait's; "approve.on_timer"
---@field interrupt? boolean   ends what it is on; false, where it begins a way
---                            of its own beside that, is implied by `every`.
---                            Else true
---@field run? fun(ctx: pawl.Ctx): any  a handler, as a step's
---@field retry? pawl.Retry|integer|false  of that, as a step's
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  as its
---                            too; 10 minutes
---@field on_error? table<string, string>|string|false  where a `run` that has
---                            failed leads: by error code, as a step's, or one
---                            node for any; false, of one that does not
---                            interrupt: nowhere, its failure is on record and
---                            what it is on goes on. Else the instance fails
---@field next? string         where it leads; may be left out behind a `run`
---                            that does not interrupt

---@class pawl.BoundaryTimer: pawl.Boundary
---@field after? number|string|fun(ctx: pawl.Ctx): number|string  how long after
---                             the node was come to
---@field every? number|string|fun(ctx: pawl.Ctx): number|string|nil  and again
---                             so much later each time; a function is asked
---                             each time, and none is the last
---@field at? fun(ctx: pawl.Ctx): number|string  when: seconds since 1970, or
---                             UTC as text
---@field reschedule? string|pawl.Reschedule  the event that has its next time
---                             worked out anew, by `after` or `at`

---@class pawl.BoundaryEvent: pawl.Boundary
---@field event string  a name, or a pattern: "order.*"
---@field key? string|fun(ctx: pawl.Ctx): any  what the event's key must equal:
---                        a name in variables or input, or a handler
---@field match? fun(event: pawl.Event, ctx: pawl.Ctx): any  false or nil: not
---                        this event
---@field accepts? pawl.Types  what the event's data must be: one that is not is
---                        refused
---@field answer? fun(event: pawl.Event, ctx: pawl.Ctx): any  what who asked by
---                        engine:ask is told; an error refuses the event
---@field into? string          the variable that takes the event's data

--- As a step's, or one node for any error, or false.
local function on_error(value, what)
  if value == false then return value end
  if type(value) == "string" then value = { ["*"] = value } end
  return shape.on_error(value, what)
end

local COMMON = {
  name = shape.name,
  interrupt = shape.boolean,
  run = shape.handler,
  retry = shape.retry,
  timeout = shape.asked_limit,
  on_error = on_error,
  next = shape.single_next,
}

--- What each may say, and what of that is the node's own.
local KINDS = {
  on_timer = {
    kind = "timer",
    own = { "after", "every", "at", "reschedule" },
    fields = shape.with(COMMON, { after = shape.asked_duration,
      every = shape.asked_limit, at = shape.handler,
      reschedule = shape.reschedule }),
    example = 'on_timer = { after = "1d", next = "remind", interrupt = false }',
  },
  on_event = {
    kind = "wait",
    own = { "event", "key", "match", "answer", "accepts", "into" },
    fields = shape.with(COMMON, { event = shape.pattern, key = shape.event_key,
      match = shape.handler, answer = shape.handler, accepts = shape.types,
      into = shape.name }),
    example = 'on_event = { event = "order.changed", next = "again" }',
  },
}

local function check_timer(one, what)
  if one.after and one.at then
    fail("keep one of them", "%s has both 'after' and 'at'", what)
  end
  if not (one.after or one.at or one.every) then
    fail('after = "1d"', "%s says no time", what)
  end
  if one.interrupt and one.every then
    fail("what is interrupted has no second time",
      "%s has both 'every' and 'interrupt'", what)
  end
end

local function check(one, what, said)
  if said.kind == "timer" then
    check_timer(one, what)
  elseif not one.event then
    fail('event = "order.changed"', "%s has no 'event'", what)
  end
  if one.interrupt == nil then one.interrupt = not one.every end
  if not one.next and not (one.run and not one.interrupt) then
    fail('next = "the_node_it_leads_to"', "%s has no 'next'", what)
  end
  for _, field in ipairs { "retry", "timeout", "on_error" } do
    if one[field] ~= nil and not one.run then
      fail("run = function(ctx) ... end", "%s has '%s' without 'run'", what,
        field)
    end
  end
  if one.on_error == false and one.interrupt then
    fail('on_error = "the_node_it_leads_to"', "%s has 'on_error = false', "
      .. "and interrupts: nothing would go on", what)
  end
end

--- A shape of `on_timer` or `on_event`: one of them, or a list.
local function shape_of(said)
  return function(value, what)
    if type(value) ~= "table" then
      fail(said.example, "%s must be a table, not %s", what,
        problem.given(value))
    end
    local list = value[1] ~= nil and value or { value }
    local out = {}
    for i, one in ipairs(list) do
      local which = #list > 1 and ("number %d in %s"):format(i, what) or what
      if type(one) ~= "table" then
        fail(said.example, "%s must be a table, not %s", which,
          problem.given(one))
      end
      out[i] = shape.read(one, said.fields, which)
      check(out[i], which, said)
    end
    return out
  end
end

boundary.on_timer = shape_of(KINDS.on_timer)
boundary.on_event = shape_of(KINDS.on_event)

--- The step behind one with `run`, and the finish behind that: where nothing
--- else comes, and where its failure is nothing to the rest.
local function add_step(out, one, base)
  if not one.run then return one.next end
  local name, over, routes = base .. ".run", base .. ".end", one.on_error
  if routes == false then routes = { ["*"] = over } end
  if not one.next or one.on_error == false then
    out[#out + 1] = { kind = "finish", name = over }
  end
  out[#out + 1] = { kind = "step", name = name, run = one.run,
    retry = one.retry, timeout = one.timeout, on_error = routes,
    next = one.next or over }
  return name
end

local function add_one(out, one, base, host, said)
  local node = { kind = said.kind, name = base, on = host,
    interrupt = one.interrupt, next = add_step(out, one, base) }
  for _, field in ipairs(said.own) do node[field] = one[field] end
  if said.kind == "timer" and not node.at then
    node.after = node.after or node.every
  end
  out[#out + 1] = node
end

--- Takes them out of what a node says.
---@param node table  as read by its kind's fields
---@param host string its name
---@return table[] nodes  to be added: `kind`, `name`, and what they say
function boundary.take(node, host)
  local out = {}
  for _, field in ipairs { "on_timer", "on_event" } do
    for i, one in ipairs(node[field] or {}) do
      local base = one.name or ("%s.%s%s"):format(host, field,
        i > 1 and "_" .. i or "")
      add_one(out, one, base, host, KINDS[field])
    end
    node[field] = nil
  end
  return out
end

return boundary
