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
---               output = f, key = f, match = f, prepare = f, input = f,
---               items = f } }; `true` stays behind in the graph
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
local function is_called(value)
  local mt = debug.getmetatable(value)
  return type(value) == "function" or (mt and rawget(mt, "__call")) ~= nil
end

local function is_function(value, what)
  if not is_called(value) then
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

local DOTTED = 'dotted words of letters, digits, "_" and "-"'

local function check_dotted(value, what, words, hint)
  is_text(value, what)
  if #value > 200 then fail(nil, "%s is longer than 200 bytes", what) end
  for word in (words .. "."):gmatch("([^.]*)%.") do
    if not word:find("^[%w_-]+$") then
      fail(hint, "%s is not well formed", what)
    end
  end
  return value
end

local function is_code(value, what)
  is_text(value, what)
  return check_dotted(value, what, value, DOTTED
    .. ', such as "order.fulfil"')
end

local function is_event(value, what)
  is_text(value, what)
  return check_dotted(value, what, value, DOTTED
    .. ', such as "payment.received"')
end

--- An event's name, whose last word may be "*": exactly one word, any.
local function is_pattern(value, what)
  is_text(value, what)
  local words = value == "*" and "x" or value:gsub("%.%*$", ".x")
  return check_dotted(value, what, words, DOTTED
    .. ', the last may be "*": "payment.*"')
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

--- The branches of a fork, as a list of nodes or by name; with `order`, which
--- is theirs in a list and that of their names otherwise.
local function is_branches(value, what)
  local hint = '{ "ship", "bill" } or { shipping = "ship", billing = "bill" }'
  if type(value) ~= "table" then
    fail(hint, "%s must be a table, not %s", what, a_kind(value))
  end
  local branches, order = {}, {}
  if #value == 0 then
    branches = is_routes(value, what)
    for name in pairs(branches) do order[#order + 1] = name end
    table.sort(order)
    return { next = branches, order = order }
  end
  for name in pairs(value) do
    if math.type(name) ~= "integer" or name < 1 or name > #value then
      fail(hint, "%s is neither a list nor named throughout", what)
    end
  end
  for i, target in ipairs(value) do
    is_name(target, ("branch %d in %s"):format(i, what))
    if branches[target] then
      fail(('name them: { first = "%s", second = "%s" }')
        :format(target, target), "%s names '%s' twice", what, target)
    end
    branches[target], order[i] = target, target
  end
  return { next = branches, order = order }
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

--- A name of a person, role or group, or a list of them: a list.
local function is_people(value, what)
  local list = type(value) == "table" and value or { value }
  local people = {}
  for key in pairs(list) do
    if math.type(key) ~= "integer" or key < 1 or key > #list then
      fail('{ "ann", "bob" }', "%s must be a list of names", what)
    end
  end
  for i, name in ipairs(list) do
    is_text(name, #list > 1 and ("name %d in %s"):format(i, what) or what)
    if name == "" then fail(nil, "%s has an empty name", what) end
    people[i] = name
  end
  if #people == 0 then fail(nil, "%s is empty", what) end
  return people
end

local function is_person(value, what)
  is_text(value, what)
  if value == "" then fail(nil, "%s is empty", what) end
  return value
end

--- A copy of what goes into the graph as it is. What cannot be stored is said
--- when the graph is made: its path is known there.
local function copied(value, seen)
  if type(value) ~= "table" or seen[value] then return value end
  seen[value] = true
  local out = setmetatable({}, debug.getmetatable(value))
  for key, inner in next, value do out[key] = copied(inner, seen) end
  return out
end

local function is_table(value, what)
  if type(value) ~= "table" then
    fail(nil, "%s must be a table, not %s", what, a_kind(value))
  end
  return copied(value, {})
end

local function is_input(value, what)
  if is_called(value) then return value end
  if type(value) ~= "table" then
    fail("{ order = 1 }, or function(ctx) ... end",
      "%s must be a table or a function, not %s", what, a_kind(value))
  end
  return copied(value, {})
end

--- A wait's key: where it is looked up, or what works it out.
local function is_key(value, what)
  if is_called(value) then return value end
  if type(value) ~= "string" then
    fail([["order_id", or function(ctx) ... end]],
      "%s must be a name or a function, not %s", what, a_kind(value))
  end
  return is_name(value, what)
end

local function is_expect(value, what)
  if value == "all" or value == "any" then return value end
  if math.type(value) == "integer" and value >= 1 then return value end
  fail('"all", "any", or a number', "%s cannot be %s", what,
    type(value) == "string" and "'" .. value .. "'" or tostring(value))
end

local is_priority = one_of("low", "normal", "high", "urgent")

local ESCALATE = {
  user = is_people, users = is_people,
  role = is_people, roles = is_people,
  group = is_people, groups = is_people,
  priority = is_priority,
}

--- `role` and `roles` are one thing: keeps it as a list under the latter.
local function gather_people(from, to, whose)
  for _, one in ipairs { "user", "role", "group" } do
    local many = one .. "s"
    if from[one] and from[many] then
      fail("keep one of them", "%s has both '%s' and '%s'", whose, one, many)
    end
    to[many] = from[one] or from[many]
    from[one] = nil
    if from ~= to then from[many] = nil end
  end
end

local function is_escalate(value, what)
  if type(value) ~= "table" then
    fail('{ role = "manager", priority = "urgent" }',
      "%s must be a table, not %s", what, a_kind(value))
  end
  local escalate = checked(value, ESCALATE, what)
  gather_people(escalate, escalate, what)
  if not next(escalate) then fail(nil, "%s is empty", what) end
  return escalate
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
          a_kind(rule))
      end
      rules[i] = checked(rule, fields, which)
      if not rules[i].event then fail(example, "%s has no 'event'", which) end
    end
    return rules
  end
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
  deadline = is_limit,
  busy_limit = is_count,
  compensate = is_boolean,
  trigger = is_rules({ event = is_pattern }, '"order.placed"'),
  cancel_on = is_rules({ event = is_pattern, key = is_name },
    '{ event = "order.withdrawn", key = "order_id" }'),
}

local function contains(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

--- Named transitions are among those that the kind knows, the first of which
--- must be there: a single `next` stands for it.
local function check_transitions(node, whose, known)
  if type(node.next) ~= "table" then return end
  for name in pairs(node.next) do
    if not contains(known, name) then
      fail(nearest.hint(name, known), "'next' of %s has no transition '%s'",
        whose, name)
    end
  end
  if not node.next[known[1]] then
    fail(('next = "a", or next = { %s = "a", ... }'):format(known[1]),
      "'next' of %s has no '%s'", whose, known[1])
  end
end

--- A transition that only an option can bring about.
local function check_cause(node, whose, transition, option, is_there)
  if is_there or type(node.next) ~= "table" or not node.next[transition] then
    return
  end
  fail(('add %s = "2d", or leave the transition out'):format(option),
    "'next' of %s has '%s', but there is no '%s'", whose, transition, option)
end

local function check_timer(node, whose)
  if node.after and node.at then
    fail("keep one of them", "%s has both 'after' and 'at'", whose)
  end
  if not node.after and not node.at then
    fail('after = "1h", or at = function(ctx) ... end',
      "%s says neither 'after' nor 'at'", whose)
  end
end

local function check_wait(node, whose)
  check_transitions(node, whose, { "received", "timeout" })
  check_cause(node, whose, "timeout", "timeout", node.timeout)
end

--- What the inbox item is made of: kept apart from the node's own fields.
local OF_TASK = {
  "title", "description", "form", "input", "priority", "due", "assignee",
  "signal",
}

local OVERRIDES = {
  title = is_text, description = is_text, form = is_text, input = is_table,
  priority = is_priority, due = is_duration, assignee = is_person,
  user = is_people, users = is_people,
  role = is_people, roles = is_people,
  group = is_people, groups = is_people,
}

--- What `prepare` returns is written like the task itself, and put into the
--- graph's units like that. What is no table, the host refuses.
local function overriding(prepare, whose)
  whose = ("what 'prepare' of %s returned"):format(whose)
  return function(ctx)
    local own = prepare(ctx)
    if type(own) ~= "table" then return own end
    own = checked(own, OVERRIDES, whose)
    gather_people(own, own, whose)
    return own
  end
end

--- Not for people to take: the engine does.
local NO_OUTCOME = { overdue = true, timeout = true, failed = true }

local function check_outcomes(node, whose)
  if type(node.next) ~= "table" then return end
  for name in pairs(node.next) do
    if not NO_OUTCOME[name] then return end
  end
  fail('next = { approved = "a", rejected = "b", ... }',
    "'next' of %s has no outcome that a person can take", whose)
end

local function check_task(node, whose)
  local may_be_due = node.due or node.prepare
  if node.title == "" then fail(nil, "'title' of %s is empty", whose) end
  check_outcomes(node, whose)
  check_cause(node, whose, "overdue", "due", may_be_due)
  check_cause(node, whose, "timeout", "timeout", node.timeout)
  if node.escalate and not may_be_due then
    fail('due = "2d"', "%s has 'escalate', which is for a task that is "
      .. "overdue, but no 'due'", whose)
  end
  local task = {}
  for _, field in ipairs(OF_TASK) do
    task[field], node[field] = node[field], nil
  end
  gather_people(node, task, whose)
  node.task = task
  if node.prepare then node.prepare = overriding(node.prepare, whose) end
end

local function check_fork(node, whose)
  node.order, node.next = node.next.order, node.next.next
  if #node.order == 1 then
    fail('next = { "ship", "bill" }', "%s has only one branch", whose)
  end
end

local function name_version(node)
  node.workflow_version, node.version = node.version, nil
end

local function check_call(node, whose)
  check_transitions(node, whose,
    { "completed", "failed", "cancelled", "timeout" })
  check_cause(node, whose, "timeout", "timeout", node.timeout)
  name_version(node)
end

local function check_each(node, whose)
  if node.branch and node.workflow then
    fail("keep one of them", "%s has both 'branch' and 'workflow'", whose)
  end
  if not node.branch and not node.workflow then
    fail('branch = "the_first_node", or workflow = "code"',
      "%s says neither 'branch' nor 'workflow'", whose)
  end
  for _, field in ipairs { "version", "parent_end" } do
    if node.branch and node[field] then
      fail("it is for: workflow = \"code\"", "%s has '%s' with a 'branch'",
        whose, field)
    end
  end
  name_version(node)
end

---@class pawl.Kind
---@field fields table<string, function>  what may be said
---@field needs string[]                  what must be
---@field check? fun(node: table, whose: string)  the fields together

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
    check = check_timer,
  },
  finish = {
    fields = {
      status = one_of("completed", "failed"),
      terminate = is_boolean,
      output = is_function,
    },
    needs = {},
  },
  wait = {
    fields = {
      event = is_pattern,
      key = is_key,
      match = is_function,
      timeout = is_limit,
      into = is_name,
      undo = is_function,
      next = is_next,
      on_error = is_on_error,
      retry = is_retry,
    },
    needs = { "event", "next" },
    check = check_wait,
  },
  task = {
    fields = {
      title = is_text, description = is_text, form = is_text,
      input = is_table,
      priority = is_priority,
      due = is_duration,
      assignee = is_person,
      user = is_people, users = is_people,
      role = is_people, roles = is_people,
      group = is_people, groups = is_people,
      signal = is_event,
      timeout = is_limit,
      escalate = is_escalate,
      prepare = is_function,
      into = is_name,
      undo = is_function,
      next = is_next,
      on_error = is_on_error,
      retry = is_retry,
    },
    needs = { "title", "next" },
    check = check_task,
  },
  fork = {
    fields = { next = is_branches },
    needs = { "next" },
    check = check_fork,
  },
  join = {
    fields = {
      expect = is_expect,
      losers = one_of("run", "cancel"),
      next = is_single_next,
    },
    needs = { "next" },
  },
  call = {
    fields = {
      workflow = is_code,
      version = is_count,
      input = is_input,
      parent_end = one_of("cancel", "leave"),
      timeout = is_limit,
      into = is_name,
      undo = is_function,
      next = is_next,
      on_error = is_on_error,
      retry = is_retry,
    },
    needs = { "workflow", "next" },
    check = check_call,
  },
  each = {
    fields = {
      items = is_function,
      branch = is_name,
      workflow = is_code,
      version = is_count,
      parent_end = one_of("cancel", "leave"),
      window = is_count,
      on_failure = one_of("stop", "collect"),
      timeout = is_limit,
      into = is_name,
      next = is_single_next,
      on_error = is_on_error,
    },
    needs = { "items", "next" },
    check = check_each,
  },
}

--- Their names, as they are listed for people.
local KIND_NAMES = {
  "step", "choice", "timer", "finish", "wait", "task", "fork", "join", "call",
  "each",
}

local HANDLERS = {
  "run", "undo", "choose", "at", "output", "key", "match", "prepare", "input",
  "items",
}

local MISSING = {
  run = "run = function(ctx) ... end",
  choose = 'choose = function(ctx) return "yes" end',
  next = 'next = "the_next_node"',
  ["choice.next"] = 'next = { yes = "a", no = "b" }',
  ["fork.next"] = 'next = { "ship", "bill" }',
  event = 'event = "payment.*"',
  title = 'title = "Approve the order"',
  workflow = 'workflow = "order.ship"',
  items = "items = function(ctx) return ctx.vars.list end",
}

-- The object ----------------------------------------------------------------

--- Moves the functions of a node to the handlers; `true` stays behind. A key
--- or an input may be a plain value, which stays itself.
local function split_handlers(node)
  local handlers = {}
  for _, name in ipairs(HANDLERS) do
    if is_called(node[name]) then
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
      fail(MISSING[kind .. "." .. field] or MISSING[field],
        "%s has no '%s'", whose, field)
    end
  end
  if KINDS[kind].check then KINDS[kind].check(node, whose) end
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
    deadline = options.deadline,
    busy_limit = options.busy_limit,
    compensate = options.compensate,
    trigger = options.trigger,
    cancel_on = options.cancel_on,
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

---@class pawl.EventRule
---@field event string  a name, or a pattern: "order.*"
---@field key? string   cancel_on: the variable, or the input's field, that has
---                     to equal the event's key

---@alias pawl.EventRules string|pawl.EventRule|(string|pawl.EventRule)[]

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
---@field deadline? number|string     from the start; then it fails
---@field busy_limit? integer         immediate steps in a row
---@field compensate? boolean         on failure and cancel; default true
---@field trigger? pawl.EventRules    events that start an instance; their
---                                   data is its input
---@field cancel_on? pawl.EventRules  events that cancel those under way

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
