--- The definition builder: pawl.workflow { code = ... }, then one method call
--- for each node. Checks every option where it is written; whether the graph
--- as a whole makes sense is checked when it is loaded (src/defs/check.c). What
--- each kind of node may say is in lua/pawl/kinds.
---
--- What the host (src/host) relies on: a workflow is a table whose
--- metatable has __name == "pawl.workflow" and a field
---   definition = function(object) -> graph, handlers, bundle, file
---     graph     plain tables in the format of src/defs/def.h, durations in
---               microseconds
---     handlers  { [node] = { run = f, undo = f, ... } }: a node's fields that
---               are functions; `true` stays behind in the graph
---     bundle    list of module names
---     file      chunk name of the code that made it, for messages
local boundary = require "pawl.boundary"
local kinds = require "pawl.kinds"
local nearest = require "pawl.nearest"
local problem = require "pawl.problem"
local shape = require "pawl.shape"

-- seen: while pawl.testing loads, takes the graph and the handlers of each
-- workflow, and gives handlers in their place; else nil
local workflow = {}

local fail = problem.fail

--- What each workflow object holds; the object itself is an empty table, so
--- that its fields cannot be confused with its methods.
---@class pawl.WorkflowState
---@field options table
---@field nodes table[]          in the order written
---@field beside table[]         boundaries, and what is made for them
---@field by_name table<string, table>
---@field handlers table<string, table<string, function>>
---@field file string            where it was made
---@field line integer
---@field last_line integer      of the newest node
---@type table<table, pawl.WorkflowState>
local states = setmetatable({}, { __mode = "k" })

---- what a workflow may say ---------------------------------------------------

local function is_bundle(value, what)
  if type(value) ~= "table" then
    fail('{ "billing.rates" }', "%s must be a list of module names, not %s",
      what, problem.given(value))
  end
  local modules, seen = {}, {}
  if not shape.is_list(value) then
    fail('{ "billing.rates" }', "%s must be a list of module names", what)
  end
  for i, name in ipairs(value) do
    shape.name(name, ("module %d in %s"):format(i, what))
    if seen[name] then fail(nil, "%s names '%s' twice", what, name) end
    seen[name] = true
    modules[i] = name
  end
  return modules
end

--- A number, or "auto": the store's newest, or the one behind it.
local function is_version(value, what)
  if value == "auto" then return value end
  if type(value) == "string" then
    fail('version = 2, or version = "auto"', "%s cannot be %s", what,
      problem.given(value))
  end
  return shape.count(value, what)
end

--- Events that start or cancel instances: a name, { event = ... }, or a list
--- of these.
local function is_rules(fields, example)
  return function(value, what)
    if type(value) == "string" or (type(value) == "table" and value.event) then
      value = { value }
    end
    if type(value) ~= "table" or #value == 0 then
      fail(example, "%s must be an event, or a list of them", what)
    end
    local rules = {}
    for i, rule in ipairs(value) do
      local which = #value > 1 and ("event %d in %s"):format(i, what) or what
      if type(rule) == "string" then rule = { event = rule } end
      if type(rule) ~= "table" then
        fail(example, "%s must be a name or a table, not %s", which,
          problem.given(rule))
      end
      rules[i] = shape.read(rule, fields, which)
      if not rules[i].event then fail(example, "%s has no 'event'", which) end
    end
    return rules
  end
end

local RETAIN = {
  completed = shape.duration,
  failed = shape.duration,
  cancelled = shape.duration,
  deleted = shape.duration,
  archive = shape.boolean,
  keep_attributes = shape.boolean,
}

--- How long instances that have ended are kept: one time for all ways to end,
--- or one for each.
local function is_retain(value, what)
  if type(value) == "table" then
    if not next(value) then
      fail('{ completed = "7d", failed = "90d" }', "%s is empty", what)
    end
    return shape.read(value, RETAIN, what)
  end
  local us = shape.duration(value, what)
  return { completed = us, failed = us, cancelled = us }
end

--- As `PAWL_LEAST_HISTORY` and `PAWL_MOST_HISTORY` say in src/defs/def.h.
local function is_keep_history(value, what)
  local hint = "how many rows of history stay: keep_history = 1000"
  if math.type(value) ~= "integer" then
    fail(hint, "%s must be an integer, not %s", what, problem.given(value))
  end
  if value < 100 or value > 1000000 then
    fail(hint, "%s must be from 100 to 1000000", what)
  end
  return value
end

local ON_FAILURE = { emit = shape.event_type, start = shape.code }

--- Who is told of a failure: an event, a workflow, or both.
local function is_on_failure(value, what)
  local example = 'on_failure = { emit = "order.failed" }'
  if type(value) ~= "table" then
    fail(example, "%s must be a table, not %s", what, problem.given(value))
  end
  local given = shape.read(value, ON_FAILURE, what)
  if not next(given) then fail(example, "%s is empty", what) end
  return given
end

local WORKFLOW = {
  code = shape.code,
  version = is_version,
  start = shape.name,
  name = shape.text,
  description = shape.text,
  input = shape.types,
  variables = shape.types,
  bundle = is_bundle,
  retry = shape.retry_around,
  timeout = shape.asked_limit,
  on_exhausted = shape.on_exhausted,
  deadline = shape.asked_limit,
  busy_limit = shape.count,
  compensate = shape.boolean,
  endless = shape.boolean,
  retain = is_retain,
  keep_history = is_keep_history,
  durability = shape.durability,
  on_failure = is_on_failure,
  on_cancel = shape.name,
  trigger = is_rules({ event = shape.pattern }, '"order.placed"'),
  cancel_on = is_rules({ event = shape.pattern, key = shape.name },
    '{ event = "order.withdrawn", key = "order_id" }'),
}

---- the object ---------------------------------------------------------------

--- Moves the functions of a node to the handlers; `true` stays behind. A key
--- or an input may be a plain value, which stays itself.
local function split_handlers(node)
  local handlers = {}
  for name, value in pairs(node) do
    if shape.is_called(value) then
      handlers[name] = value
      node[name] = true
    end
  end
  return handlers
end

--- Those of what the workflow says for its steps, and within an option: copies
--- of both.
local function with_handlers(node, own)
  local handlers = {}
  for name, handler in pairs(own) do handlers[name] = handler end
  if shape.is_called(node.timeout) then
    handlers.timeout, node.timeout = node.timeout, true
  end
  if node.retry and node.retry.delay then
    handlers.delay = node.retry.delay
    node.retry = shape.with(node.retry, { delay = true })
  end
  local moved = node.reschedule
  if moved and shape.is_called(moved.key) then
    handlers.reschedule = moved.key
    node.reschedule = shape.with(moved, { key = true })
  end
  return node, handlers
end

--- The fields together; each by itself is right.
local function check_node(node, whose, kind)
  if kind.needs then shape.needs(node, whose, kind.needs) end
  if kind.either then shape.either(node, whose, kind.either) end
  if kind.transitions then
    local other = kind.other_transitions and node[kind.either[2]] ~= nil
    shape.transitions(node, whose, other and kind.other_transitions
      or kind.transitions)
  end
  if kind.receives then
    shape.cause(node, whose, "timeout", "timeout", node.timeout)
  end
  if kind.check then kind.check(node, whose) end
end

--- Into a list of the state's; its name is the only one of its kind.
local function put(state, list, kind, name, node)
  local earlier = state.by_name[name]
  if earlier then
    fail(("the first is in line %d"):format(earlier.line),
      '%s "%s" is defined twice', kind, name)
  end
  state.handlers[name] = split_handlers(node)
  node.name, node.kind = name, kind
  node.line = select(2, problem.caller())
  list[#list + 1] = node
  state.by_name[name] = node
end

local function add(self, kind, name, options)
  local state = states[self]
  problem.building(state)
  if not state then
    fail(("call it with a colon: order:%s(...)"):format(kind),
      "'%s' was called on something that is not a workflow", kind)
  end
  shape.name(name, ("the name of a %s"):format(kind))
  local whose = ('%s "%s"'):format(kind, name)
  if options == nil then options = {} end
  if type(options) ~= "table" then
    fail(nil, "the options of %s must be a table, not %s", whose,
      problem.given(options))
  end
  local shaped = kinds[kind]
  local node = shape.read(options, shaped.fields, whose, shaped.meant)
  local beside = boundary.take(node, name)
  check_node(node, whose, shaped)
  put(state, state.nodes, kind, name, node)
  state.last_line = node.line
  for _, one in ipairs(beside) do
    put(state, state.beside, one.kind, one.name, one)
  end
end

---@class pawl.Workflow
---@field code string
---@field version integer|"auto"
local methods = {}

for _, kind in ipairs(kinds.names) do
  methods[kind] = function(self, name, options)
    add(self, kind, name, options) -- no tail call: see problem.caller()
    return self
  end
end

--- A finish for what leads on and has nothing written behind it.
local function add_end(state, nodes, handlers)
  local name, n = "end", 1
  while state.by_name[name] do
    n = n + 1
    name = "end_" .. n
  end
  nodes[#nodes + 1] = { name = name, kind = "finish", line = state.last_line }
  handlers[name] = {}
  return name
end

--- The workflow's own settings where a step says nothing, and `next`.
local function with_defaults(node, options, behind)
  local out = {}
  for name, value in pairs(node) do out[name] = value end
  if kinds[node.kind].follows then out.next = out.next or behind end
  if node.kind ~= "step" then return out end
  out.timeout = node.timeout or options.timeout
  out.on_exhausted = node.on_exhausted or options.on_exhausted
  if options.retry or node.retry then
    out.retry = shape.retry_over(options.retry or {}, node.retry or {})
  end
  return out
end

--- What a workflow says itself, and is asked as an instance begins: among the
--- handlers of the node where that is.
local function begin_with(handlers, name, value)
  if not shape.is_called(value) then return value end
  if handlers then handlers[name] = value end
  return true
end

local mt = { __name = "pawl.workflow", __metatable = "pawl.workflow" }

--- The plain definition of a workflow object; see the top of this file.
function mt.definition(object)
  local state = states[object]
  local options, nodes, handlers = state.options, {}, {}
  for i, node in ipairs(state.nodes) do
    local behind = state.nodes[i + 1]
    nodes[i], handlers[node.name] = with_handlers(
      with_defaults(node, options, behind and behind.name),
      state.handlers[node.name])
  end
  local last = nodes[#nodes]
  if last and kinds[last.kind].follows and not last.next then
    last.next = add_end(state, nodes, handlers)
  end
  for _, node in ipairs(state.beside) do
    nodes[#nodes + 1], handlers[node.name] = with_handlers(
      with_defaults(node, options), state.handlers[node.name])
  end
  if #nodes == 0 then
    problem.raise(("%s:%d"):format(state.file, state.line),
      'add them: order:step("reserve", { ... })',
      'workflow "%s" has no nodes', options.code)
  end
  local start = options.start or nodes[1].name
  local graph = {
    code = options.code,
    version = options.version,
    name = options.name,
    description = options.description,
    input = options.input,
    variables = options.variables,
    start = start,
    deadline = begin_with(handlers[start], "deadline", options.deadline),
    busy_limit = options.busy_limit,
    compensate = options.compensate,
    endless = options.endless,
    retain = options.retain,
    keep_history = options.keep_history,
    durability = options.durability,
    on_failure = options.on_failure,
    on_cancel = options.on_cancel,
    trigger = options.trigger,
    cancel_on = options.cancel_on,
    line = state.line,
    nodes = nodes,
  }
  if workflow.seen then handlers = workflow.seen(graph, handlers) end
  return graph, handlers, options.bundle or {}, state.file
end

function mt.__index(object, name)
  local method = methods[name]
  if method then return method end
  if name == "code" or name == "version" then
    return states[object].options[name]
  end
  fail(nearest.hint(tostring(name), kinds.names),
    "a workflow has no method '%s'", tostring(name))
end

function mt.__newindex(_, name)
  fail("use its methods: " .. table.concat(kinds.names, ", "),
    "a workflow's field '%s' cannot be set", tostring(name))
end

function mt.__tostring(object)
  local options = states[object].options
  return ("workflow %s %s"):format(options.code, options.version)
end

---@class pawl.EventRule
---@field event string  a name, or a pattern: "order.*"
---@field key? string   cancel_on: the variable, or the input's field, that has
---                     to equal the event's key

---@class pawl.Retain
---@field completed? number|string  since it ended so
---@field failed? number|string  the same of those that have failed
---@field cancelled? number|string  and of those that were cancelled
---@field deleted? number|string    since it was deleted
---@field archive? boolean          it is archived then, and not purged
---@field keep_attributes? boolean  what is purged is still found by them

---@class pawl.OnFailure
---@field emit? string   the type of the event that tells of it
---@field start? string  the code of the workflow that is started with the same

--- Declared types of JSON: "string", "integer > 0", "one of a, b", "number?",
--- "string[]", { name = type, ... } or { type }; see docs/workflows.md.
---@alias pawl.Types string|table

---@alias pawl.EventRules string|pawl.EventRule|(string|pawl.EventRule)[]

---@class pawl.WorkflowOptions
---@field code string          dotted: "order.fulfil"
---@field version? integer|"auto"  from 1; default 1. "auto": the store's
---                                newest when the content is the same, else
---                                the next number
---@field start? string        where it begins; default: the node written first
---@field name? string  as which people see it; its code
---@field description? string  what it is for
---@field input? pawl.Types    what it is to be started with
---@field variables? table<string, pawl.Types>  what its variables are, as far
---                                   as they are there
---@field bundle? string[]     modules stored with the workflow
---@field retry? pawl.Retry|integer|false  for steps that say nothing themselves
---@field timeout? number|string|fun(ctx: pawl.Ctx): number|string|nil  the same
---@field on_exhausted? "fail"|"suspend"  the same
---@field deadline? number|string|fun(ctx: pawl.Ctx): number|string|nil  from
---                                   the start; then it fails
---@field busy_limit? integer         immediate steps in a row, then it is
---                                   suspended; default: any number
---@field compensate? boolean         on failure and cancel; default true
---@field endless? boolean            it need not lead to a finish
---@field retain? number|string|pawl.Retain  how long an instance is kept when
---                                   it has ended; default: the engine's
---@field keep_history? integer       rows of history that stay, 100 or more, of
---                                   a long instance; default: all
---@field durability? "every"|"grouped"|"save"  when what its handlers did is on
---                                   disk; default: as the engine says
---@field on_failure? pawl.OnFailure  when it fails, or an error suspends it
---@field on_cancel? string           where it cleans up when it
---                                   is cancelled, behind what is undone
---@field trigger? pawl.EventRules    events that start an instance; their
---                                   data is its input
---@field cancel_on? pawl.EventRules  events that cancel those under way

--- Begins a workflow.
---@param options pawl.WorkflowOptions
---@return pawl.Workflow
function workflow.new(options)
  if type(options) ~= "table" then
    fail('pawl.workflow { code = "order.fulfil", start = "reserve" }',
      "a workflow is made from a table, not %s", problem.given(options))
  end
  problem.building(nil)
  local whose = "the workflow"
  if type(options.code) == "string" then
    whose = ('workflow "%s"'):format(options.code)
  end
  local given = shape.read(options, WORKFLOW, whose)
  if not given.code then
    fail('code = "order.fulfil"', "%s has no 'code'", whose)
  end
  given.version = given.version or 1
  local object = setmetatable({}, mt)
  local file, line = problem.caller()
  states[object] = {
    options = given, nodes = {}, beside = {}, by_name = {}, handlers = {},
    file = file or "?", line = line, last_line = line,
  }
  return object
end

--- Is it a workflow made here?
---@param value any
---@return boolean
function workflow.is(value)
  return states[value] ~= nil
end

workflow.definition = mt.definition

return setmetatable(workflow, {
  __call = function(_, options)
    local object = workflow.new(options) -- no tail call: see problem.caller()
    return object
  end,
})