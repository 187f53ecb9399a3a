--- The definition builder: pawl.workflow { code = ... }, then one method call
--- for each node. Checks every option where it is written; whether the graph
--- as a whole makes sense is checked when it is loaded (src/defs/check.c).
---
--- What the host (src/host/host.c) relies on: a workflow is a table whose
--- metatable has __name == "pawl.workflow" and a field
---   definition = function(object) -> graph, handlers, bundle, file
---     graph     plain tables in the format of src/defs/def.h, durations in
---               microseconds
---     handlers  { [node] = { run = f, undo = f, choose = f, at = f,
---               output = f } }
---     bundle    list of module names
---     file      chunk name of the code that made it, for messages
local duration = require "pawl.duration"
local nearest = require "pawl.nearest"

local workflow = {}

local SELF = debug.getinfo(1, "S").source

--- What each workflow object holds; the object itself is an empty table, so
--- that its fields cannot be confused with its methods.
---@class pawl.WorkflowState
---@field options table
---@field nodes table[]          in the order written
---@field by_name table<string, table>
---@field handlers table<string, table<string, function>>
---@field file string            where it was made
---@field line integer
---@field last_line integer      of the newest node
---@type table<table, pawl.WorkflowState>
local states = setmetatable({}, { __mode = "k" })

-- Errors --------------------------------------------------------------------

local Problem = { __name = "pawl.definition_error" }

function Problem.__tostring(self)
  local text = self.message
  if self.where then text = self.where .. ": " .. text end
  if self.hint then text = text .. " (" .. self.hint .. ")" end
  return text
end

--- The workflow that is being added to: its last known line stands in for a
--- caller that has gone.
---@type pawl.WorkflowState?
local building

--- File and line of the code that called into this module. A tail call, as in
--- `return order:finish("done")`, leaves no trace of its own: then the line
--- before it, or else whoever called that code.
local function caller()
  local level, gone = 2, false
  while true do
    local info = debug.getinfo(level, "Slt")
    if not info then return nil, 0 end
    if info.source == SELF then
      gone = info.istailcall
    elseif gone and building then
      return building.file, building.last_line
    elseif info.currentline > 0 then
      return (info.short_src:gsub("^%./", "")), info.currentline
    end
    level = level + 1
  end
end

local function fail(hint, message, ...)
  local file, line = caller()
  error(setmetatable({
    code = "definition",
    message = message:format(...),
    hint = hint,
    where = file and ("%s:%d"):format(file, line),
  }, Problem), 0)
end

-- Checking options ----------------------------------------------------------

local function kind_of(value)
  return math.type(value) or type(value)
end

local function a_kind(value)
  local kind = kind_of(value)
  if kind == "nil" then return "nothing" end
  return (kind:find("^[aeiou]") and "an " or "a ") .. kind
end

--- A checker takes (value, what) and returns the value to keep; `what` names
--- the field in errors: "`next` of step \"reserve\"".
local function typed(kind)
  return function(value, what)
    if type(value) ~= kind then
      fail(nil, "%s must be a %s, not %s", what, kind, a_kind(value))
    end
    return value
  end
end

local is_boolean = typed("boolean")

--- A function, or an object that is called like one, as busted's spies are.
local function is_function(value, what)
  local mt = debug.getmetatable(value)
  if type(value) ~= "function" and not (mt and rawget(mt, "__call")) then
    fail(nil, "%s must be a function, not %s", what, a_kind(value))
  end
  return value
end

local function is_text(value, what)
  if type(value) ~= "string" then
    fail(nil, "%s must be a string, not %s", what, a_kind(value))
  end
  if not utf8.len(value) then fail(nil, "%s is not valid UTF-8", what) end
  return value
end

local function is_duration(value, what)
  local us, problem, hint = duration.parse(value)
  if not us then fail(hint, "%s: %s", what, problem) end
  return us
end

local function is_limit(value, what)
  local us = is_duration(value, what)
  if us == 0 then fail(nil, "%s must be longer than nothing", what) end
  return us
end

local function is_count(value, what)
  if math.type(value) ~= "integer" then
    fail(nil, "%s must be an integer, not %s", what, a_kind(value))
  end
  if value < 1 then fail(nil, "%s must be at least 1", what) end
  return value
end

--- A number from `low` on, up to `high`.
local function is_number(low, high)
  return function(value, what)
    if type(value) ~= "number" then
      fail(nil, "%s must be a number, not %s", what, a_kind(value))
    end
    if not (value >= low and value <= high) then
      fail(high < math.huge and ("between %g and %g"):format(low, high)
        or ("at least %g"):format(low), "%s cannot be %s", what, value)
    end
    if value == math.huge then fail(nil, "%s is infinite", what) end
    return value * 1.0
  end
end

local function one_of(...)
  local words = { ... }
  return function(value, what)
    for _, word in ipairs(words) do
      if value == word then return value end
    end
    if type(value) ~= "string" then
      fail("one of: " .. table.concat(words, ", "),
        "%s must be a string, not %s", what, a_kind(value))
    end
    fail(nearest.hint(value, words), "%s cannot be '%s'", what, value)
  end
end

--- Names of nodes, transitions and error codes.
local function is_name(value, what)
  if type(value) ~= "string" then
    fail(nil, "%s must be a string, not %s", what, a_kind(value))
  end
  if value == "" then fail(nil, "%s is empty", what) end
  if #value > 64 then fail(nil, "%s is longer than 64 bytes", what) end
  if value:find("%c") or not utf8.len(value) then
    fail(nil, "%s has characters that cannot be printed", what)
  end
  return value
end

local function is_code(value, what)
  is_text(value, what)
  local hint = 'dotted words of letters, digits, "_" and "-", such as '
    .. '"order.fulfil"'
  if #value > 200 then fail(nil, "%s is longer than 200 bytes", what) end
  for word in (value .. "."):gmatch("([^.]*)%.") do
    if not word:find("^[%w_-]+$") then
      fail(hint, "%s is not well formed", what)
    end
  end
  return value
end

--- { name = node, ... }, copied.
local function is_routes(value, what)
  local routes = {}
  for name, target in pairs(value) do
    if type(name) ~= "string" then
      fail('name them: { yes = "a", no = "b" }',
        "%s has %s where a name is expected", what, a_kind(name))
    end
    is_name(name, "a name in " .. what)
    routes[name] = is_name(target, ("'%s' in %s"):format(name, what))
  end
  if not next(routes) then fail(nil, "%s is empty", what) end
  return routes
end

local function is_next(value, what)
  if type(value) == "table" then return is_routes(value, what) end
  if type(value) ~= "string" then
    fail('a node: "b", or named transitions: { yes = "a", no = "b" }',
      "%s must be a string or a table, not %s", what, a_kind(value))
  end
  return is_name(value, what)
end

local function is_single_next(value, what)
  if type(value) == "table" then
    fail('a node: "b"', "%s is a single node", what)
  end
  return is_next(value, what)
end

local function is_named_next(value, what)
  if type(value) ~= "table" then
    fail('{ yes = "a", no = "b" }', "%s names transitions", what)
  end
  return is_routes(value, what)
end

local function is_on_error(value, what)
  if type(value) ~= "table" then
    fail('{ card_declined = "ask_again", ["*"] = "other" }',
      "%s must be a table, not %s", what, a_kind(value))
  end
  return is_routes(value, what)
end

local function keys(of)
  local names = {}
  for name in pairs(of) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Checks `options` against `fields` ({ name = checker }) and returns a copy
--- of what was given. `whose` is the thing in errors: 'step "reserve"'.
local function checked(options, fields, whose)
  local out = {}
  for name, value in pairs(options) do
    if type(name) ~= "string" then
      fail("options are written name = value",
        "%s has a value without a name (%s)", whose, tostring(value))
    end
    local check = fields[name]
    if not check then
      fail(nearest.hint(name, keys(fields)), "unknown field '%s' of %s",
        name, whose)
    end
    out[name] = check(value, ("'%s' of %s"):format(name, whose))
  end
  return out
end

local RETRY = {
  max = is_count,
  base = is_duration,
  cap = is_duration,
  factor = is_number(1, math.huge),
  jitter = is_number(0, 1),
}

--- retry = 5 means five attempts, retry = false one. Whether a base and a
--- cap from different places go together is checked with the graph.
local function is_retry(value, what)
  if value == false then return { max = 1 } end
  if type(value) == "number" then return { max = is_count(value, what) } end
  if type(value) ~= "table" then
    fail("{ max = 5, base = 1 }, a number of attempts, or false",
      "%s must be a table, not %s", what, a_kind(value))
  end
  local retry = checked(value, RETRY, what)
  if retry.base and retry.cap and retry.cap < retry.base then
    fail("'cap' is the longest delay, 'base' the first",
      "'cap' of %s is shorter than its 'base'", what)
  end
  return retry
end

local function is_bundle(value, what)
  if type(value) ~= "table" then
    fail('{ "billing.rates" }', "%s must be a list of module names, not %s",
      what, a_kind(value))
  end
  local modules, seen = {}, {}
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > #value then
      fail('{ "billing.rates" }', "%s must be a list of module names", what)
    end
  end
  for i, name in ipairs(value) do
    is_name(name, ("module %d in %s"):format(i, what))
    if seen[name] then fail(nil, "%s names '%s' twice", what, name) end
    seen[name] = true
    modules[i] = name
  end
  return modules
end

-- What each kind of node may say --------------------------------------------

local on_exhausted = one_of("fail", "suspend")

local WORKFLOW = {
  code = is_code,
  version = is_count,
  start = is_name,
  name = is_text,
  description = is_text,
  bundle = is_bundle,
  retry = is_retry,
  timeout = is_limit,
  on_exhausted = on_exhausted,
}

---@class pawl.Kind
---@field fields table<string, function>  what may be said
---@field needs string[]                  what must be

---@type table<string, pawl.Kind>
local KINDS = {
  step = {
    fields = {
      run = is_function,
      undo = is_function,
      next = is_next,
      retry = is_retry,
      on_error = is_on_error,
      on_exhausted = on_exhausted,
      timeout = is_limit,
      transactional = is_boolean,
    },
    needs = { "run", "next" },
  },
  choice = {
    fields = { choose = is_function, next = is_named_next },
    needs = { "choose", "next" },
  },
  timer = {
    fields = {
      after = is_duration,
      at = is_function,
      next = is_single_next,
    },
    needs = { "next" },
  },
  finish = {
    fields = {
      status = one_of("completed", "failed"),
      terminate = is_boolean,
      output = is_function,
    },
    needs = {},
  },
}

--- Their names, as they are listed for people.
local KIND_NAMES = { "step", "choice", "timer", "finish" }

--- Kinds of the language that this version does not run yet.
local LATER = { "task", "wait", "fork", "join", "call", "each" }

local HANDLERS = { "run", "undo", "choose", "at", "output" }

local MISSING = {
  run = "run = function(ctx) ... end",
  choose = 'choose = function(ctx) return "yes" end',
  next = 'next = "the_next_node"',
}

local function check_timer(node, whose)
  if node.after and node.at then
    fail("keep one of them", "%s has both 'after' and 'at'", whose)
  end
  if not node.after and not node.at then
    fail('after = "1h", or at = function(ctx) ... end',
      "%s says neither 'after' nor 'at'", whose)
  end
end

-- The object ----------------------------------------------------------------

--- Moves the functions of a node to the handlers; `true` stays behind.
local function split_handlers(node)
  local handlers = {}
  for _, name in ipairs(HANDLERS) do
    if node[name] then
      handlers[name] = node[name]
      node[name] = true
    end
  end
  return handlers
end

local function add(self, kind, name, options)
  local state = states[self]
  building = state
  if not state then
    fail(("call it with a colon: order:%s(...)"):format(kind),
      "'%s' was called on something that is not a workflow", kind)
  end
  is_name(name, ("the name of a %s"):format(kind))
  local whose = ('%s "%s"'):format(kind, name)
  local earlier = state.by_name[name]
  if earlier then
    fail(("the first is in line %d"):format(earlier.line),
      "%s is defined twice", whose)
  end
  if options == nil then options = {} end
  if type(options) ~= "table" then
    fail(nil, "the options of %s must be a table, not %s", whose,
      a_kind(options))
  end
  local node = checked(options, KINDS[kind].fields, whose)
  for _, field in ipairs(KINDS[kind].needs) do
    if node[field] == nil then
      fail(MISSING[field], "%s has no '%s'", whose, field)
    end
  end
  if kind == "timer" then check_timer(node, whose) end
  state.handlers[name] = split_handlers(node)
  node.name, node.kind = name, kind
  node.line = select(2, caller())
  state.last_line = node.line
  state.nodes[#state.nodes + 1] = node
  state.by_name[name] = node
end

---@class pawl.Workflow
---@field code string
---@field version integer
local methods = {}

for _, kind in ipairs(KIND_NAMES) do
  methods[kind] = function(self, name, options)
    add(self, kind, name, options) -- no tail call: see caller()
    return self
  end
end

for _, kind in ipairs(LATER) do
  methods[kind] = function()
    fail("kinds: " .. table.concat(KIND_NAMES, ", "),
      "this version of pawl has no node kind '%s'", kind)
  end
end

--- The workflow's own settings where a step says nothing.
local function with_defaults(node, options)
  local out = {}
  for name, value in pairs(node) do out[name] = value end
  if node.kind ~= "step" then return out end
  out.timeout = node.timeout or options.timeout
  out.on_exhausted = node.on_exhausted or options.on_exhausted
  if options.retry or node.retry then
    out.retry = {}
    for name, value in pairs(options.retry or {}) do
      out.retry[name] = value
    end
    for name, value in pairs(node.retry or {}) do out.retry[name] = value end
  end
  return out
end

local mt = { __name = "pawl.workflow", __metatable = "pawl.workflow" }

--- The plain definition of a workflow object; see the top of this file.
function mt.definition(object)
  local state = states[object]
  local options, nodes, handlers = state.options, {}, {}
  for i, node in ipairs(state.nodes) do
    nodes[i] = with_defaults(node, options)
    handlers[node.name] = state.handlers[node.name]
  end
  if #nodes == 0 then
    error(setmetatable({
      code = "definition",
      message = ("workflow \"%s\" has no nodes"):format(options.code),
      where = ("%s:%d"):format(state.file, state.line),
      hint = 'add them: order:step("reserve", { ... })',
    }, Problem), 0)
  end
  local graph = {
    code = options.code,
    version = options.version,
    name = options.name,
    description = options.description,
    start = options.start,
    line = state.line,
    nodes = nodes,
  }
  return graph, handlers, options.bundle or {}, state.file
end

function mt.__index(object, name)
  local method = methods[name]
  if method then return method end
  if name == "code" or name == "version" then
    return states[object].options[name]
  end
  fail(nearest.hint(tostring(name), KIND_NAMES),
    "a workflow has no method '%s'", tostring(name))
end

function mt.__newindex(_, name)
  fail("use its methods: " .. table.concat(KIND_NAMES, ", "),
    "a workflow's field '%s' cannot be set", tostring(name))
end

function mt.__tostring(object)
  local options = states[object].options
  return ("workflow %s %d"):format(options.code, options.version)
end

---@class pawl.WorkflowOptions
---@field code string          dotted: "order.fulfil"
---@field version? integer     from 1; default 1
---@field start string         the first node
---@field name? string
---@field description? string
---@field bundle? string[]     modules stored with the workflow
---@field retry? table|integer|false  for steps that say nothing themselves
---@field timeout? number|string      the same
---@field on_exhausted? "fail"|"suspend"  the same

--- Begins a workflow.
---@param options pawl.WorkflowOptions
---@return pawl.Workflow
function workflow.new(options)
  if type(options) ~= "table" then
    fail('pawl.workflow { code = "order.fulfil", start = "reserve" }',
      "a workflow is made from a table, not %s", a_kind(options))
  end
  building = nil
  local whose = "the workflow"
  if type(options.code) == "string" then
    whose = ('workflow "%s"'):format(options.code)
  end
  local given = checked(options, WORKFLOW, whose)
  if not given.code then
    fail('code = "order.fulfil"', "%s has no 'code'", whose)
  end
  if not given.start then
    fail('start = "the_first_node"', "%s has no 'start'", whose)
  end
  given.version = given.version or 1
  local object = setmetatable({}, mt)
  local file, line = caller()
  states[object] = {
    options = given, nodes = {}, by_name = {}, handlers = {},
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
    local object = workflow.new(options) -- no tail call: see caller()
    return object
  end,
})
