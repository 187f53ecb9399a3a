--- What a definition's fields may hold. A shape is a function (value, what):
--- it returns the value to keep, or raises what is wrong with it (problem.lua);
--- `what` names the field: "'next' of step \"reserve\"".
local duration = require "pawl.duration"
local nearest = require "pawl.nearest"
local problem = require "pawl.problem"

local shape = {}

local fail = problem.fail

local function must_be(want, value, what, hint)
  fail(hint, "%s must be %s, not %s", what, want, problem.given(value))
end

function shape.boolean(value, what)
  if type(value) ~= "boolean" then must_be("a boolean", value, what) end
  return value
end

--- A function, or an object that is called like one, as busted's spies are.
function shape.is_called(value)
  local mt = debug.getmetatable(value)
  return type(value) == "function" or (mt and rawget(mt, "__call")) ~= nil
end

function shape.handler(value, what)
  if not shape.is_called(value) then
    must_be("a function", value, what)
  end
  return value
end

function shape.text(value, what)
  if type(value) ~= "string" then
    must_be("a string", value, what)
  end
  if not utf8.len(value) then fail(nil, "%s is not valid UTF-8", what) end
  return value
end

function shape.duration(value, what)
  local us, wrong, hint = duration.parse(value)
  if not us then fail(hint, "%s: %s", what, wrong) end
  return us
end

function shape.limit(value, what)
  local us = shape.duration(value, what)
  if us == 0 then fail(nil, "%s must be longer than nothing", what) end
  return us
end

--- One of the two above, or a handler that says it.
local function or_handler(check)
  return function(value, what)
    if shape.is_called(value) then return value end
    return check(value, what)
  end
end

shape.asked_duration = or_handler(shape.duration)
shape.asked_limit = or_handler(shape.limit)

function shape.count(value, what)
  if math.type(value) ~= "integer" then
    must_be("an integer", value, what)
  end
  if value < 1 then fail(nil, "%s must be at least 1", what) end
  return value
end

--- Of many: so many, or "10%" of them; as src/defs/node.c reads it.
function shape.share(value, what)
  local example = 'tolerate = 3, or tolerate = "10%"'
  if type(value) ~= "string" then
    if math.type(value) ~= "integer" then
      must_be("an integer or a share", value, what, example)
    end
    return shape.count(value, what)
  end
  local percent = tonumber(value:match "^(%d+)%%$"
    or value:match "^(%d+%.%d%d?)%%$")
  if not percent or #value > 10 or percent <= 0 or percent > 100 then
    fail(example, "%s cannot be '%s'", what, value)
  end
  return value
end

--- A number from `low` on, up to `high`.
function shape.number(low, high)
  return function(value, what)
    if type(value) ~= "number" then
      must_be("a number", value, what)
    end
    if not (value >= low and value <= high) then
      fail(high < math.huge and ("between %g and %g"):format(low, high)
        or ("at least %g"):format(low), "%s cannot be %s", what, value)
    end
    if value == math.huge then fail(nil, "%s is infinite", what) end
    return value * 1.0
  end
end

function shape.one_of(...)
  local words = { ... }
  return function(value, what)
    for _, word in ipairs(words) do
      if value == word then return value end
    end
    if type(value) ~= "string" then
      must_be("a string", value, what,
        "one of: " .. table.concat(words, ", "))
    end
    fail(nearest.hint(value, words), "%s cannot be '%s'", what, value)
  end
end

--- When what is committed has to be on disk.
shape.durability = shape.one_of("every", "grouped", "save")

--- Names of nodes, transitions and error codes.
function shape.name(value, what)
  if type(value) ~= "string" then
    must_be("a string", value, what)
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
  shape.text(value, what)
  if #value > 200 then fail(nil, "%s is longer than 200 bytes", what) end
  for word in (words .. "."):gmatch("([^.]*)%.") do
    if not word:find("^[%w_-]+$") then
      fail(hint, "%s is not well formed", what)
    end
  end
  return value
end

function shape.code(value, what)
  shape.text(value, what)
  return check_dotted(value, what, value, DOTTED
    .. ', such as "order.fulfil"')
end

function shape.event(value, what)
  shape.text(value, what)
  return check_dotted(value, what, value, DOTTED
    .. ', such as "payment.received"')
end

--- What ctx.emit may be given as a type.
function shape.event_type(value, what)
  shape.text(value, what)
  if #value < 1 or #value > 200 then
    fail('emit = "order.failed"', "%s must have 1 to 200 bytes", what)
  end
  return value
end

--- An event's name, whose last word may be "*": exactly one word, any.
function shape.pattern(value, what)
  shape.text(value, what)
  local words = value == "*" and "x" or value:gsub("%.%*$", ".x")
  return check_dotted(value, what, words, DOTTED
    .. ', the last may be "*": "payment.*"')
end

--- Where an event's key is looked up, or what works it out.
function shape.event_key(value, what)
  if shape.is_called(value) then return value end
  if type(value) ~= "string" then
    fail([["order_id", or function(ctx) ... end]],
      "%s must be a name or a function, not %s", what, problem.given(value))
  end
  return shape.name(value, what)
end

--- { name = node, ... }, copied.
function shape.routes(value, what)
  local routes = {}
  for name, target in pairs(value) do
    if type(name) ~= "string" then
      fail('name them: { yes = "a", no = "b" }',
        "%s has %s where a name is expected", what, problem.given(name))
    end
    shape.name(name, "a name in " .. what)
    routes[name] = shape.name(target, ("'%s' in %s"):format(name, what))
  end
  if not next(routes) then fail(nil, "%s is empty", what) end
  return routes
end

function shape.next(value, what)
  if type(value) == "table" then return shape.routes(value, what) end
  if type(value) ~= "string" then
    must_be("a string or a table", value, what,
      'a node: "b", or named transitions: { yes = "a", no = "b" }')
  end
  return shape.name(value, what)
end

function shape.single_next(value, what)
  if type(value) == "table" then
    fail('a node: "b"', "%s is a single node", what)
  end
  return shape.next(value, what)
end

function shape.named_next(value, what)
  if type(value) ~= "table" then
    fail('{ yes = "a", no = "b" }', "%s names transitions", what)
  end
  return shape.routes(value, what)
end

--- Are its keys 1, 2, 3 and so on?
---@param value table
function shape.is_list(value)
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > #value then
      return false
    end
  end
  return true
end

--- The branches of a fork, as a list of nodes or by name; with `order`, which
--- is theirs in a list and that of their names otherwise.
function shape.branches(value, what)
  local hint = '{ "ship", "bill" } or { shipping = "ship", billing = "bill" }'
  if type(value) ~= "table" then
    must_be("a table", value, what, hint)
  end
  local branches, order = {}, {}
  if #value == 0 then
    branches = shape.routes(value, what)
    for name in pairs(branches) do order[#order + 1] = name end
    table.sort(order)
    return { next = branches, order = order }
  end
  if not shape.is_list(value) then
    fail(hint, "%s is neither a list nor named throughout", what)
  end
  for i, target in ipairs(value) do
    shape.name(target, ("branch %d in %s"):format(i, what))
    if branches[target] then
      fail(('name them: { first = "%s", second = "%s" }')
        :format(target, target), "%s names '%s' twice", what, target)
    end
    branches[target], order[i] = target, target
  end
  return { next = branches, order = order }
end

function shape.on_error(value, what)
  if type(value) ~= "table" then
    must_be("a table", value, what,
      '{ card_declined = "ask_again", ["*"] = "other" }')
  end
  return shape.routes(value, what)
end

--- What many say, and what one says besides, or in its own way: a new table.
function shape.with(fields, more)
  local out = {}
  for name, is in pairs(fields) do out[name] = is end
  for name, is in pairs(more) do out[name] = is end
  return out
end

--- Checks `options` against `fields` ({ name = checker }) and returns a copy
--- of what was given. `whose` is the thing in errors: 'step "reserve"'.
--- `meant`: the field meant by a word that looks like none, { word = name }.
function shape.read(options, fields, whose, meant)
  local out = {}
  for name, value in pairs(options) do
    if type(name) ~= "string" then
      fail("options are written name = value",
        "%s has a value without a name (%s)", whose, tostring(value))
    end
    local check = fields[name]
    if not check then
      local other = meant and meant[name]
      fail(other and ("did you mean '%s'?"):format(other)
        or nearest.key_hint(name, fields), "unknown field '%s' of %s", name,
        whose)
    end
    out[name] = check(value, ("'%s' of %s"):format(name, whose))
  end
  return out
end

--- A value, or a list of them: a list. `one` and `all`: what they are called;
--- `example` of a list; `check` takes one, and what it is in.
local function one_or_more(one, all, example, check)
  return function(value, what)
    local list = type(value) == "table" and value or { value }
    local out = {}
    if type(value) ~= "table" and type(value) ~= "string" then
      must_be(("a %s, or a list of them"):format(one), value, what, example)
    end
    if not shape.is_list(list) then
      fail(example, "%s must be a list of %s", what, all)
    end
    for i, item in ipairs(list) do
      out[i] = check(item, #list > 1 and ("%s %d in %s"):format(one, i, what)
        or what, what)
    end
    if #out == 0 then fail(nil, "%s is empty", what) end
    return out
  end
end

--- Error codes; "*" is any other.
local codes = one_or_more("code", "error codes", '{ "timeout", "busy" }',
  shape.name)

--- Names of nodes.
shape.nodes = one_or_more("node", "nodes", '{ "book", "pay" }', shape.name)

local RETRY = {
  on = codes,
  never = codes,
  max = shape.count,
  base = shape.duration,
  cap = shape.duration,
  factor = shape.number(1, math.huge),
  jitter = shape.number(0, 1),
  delay = shape.handler,
}

--- What says when the next attempt is: a handler, or these.
local DELAYS = { "base", "cap", "factor", "jitter" }

--- `retry` where something says some of it, and what is around it the rest.
function shape.retry_over(around, own)
  local out = shape.with(around, own)
  for _, name in ipairs(DELAYS) do
    if own[name] then out.delay = own.delay end
  end
  return out
end

--- A workflow's: what its steps say for themselves comes on top. retry = 5
--- means five attempts, retry = false one. Whether a base and a cap from
--- different places go together is checked with the graph.
function shape.retry_around(value, what)
  if value == false then return { max = 1 } end
  if type(value) == "number" then return { max = shape.count(value, what) } end
  if type(value) ~= "table" then
    must_be("a table", value, what,
      "{ max = 5, base = 1 }, a number of attempts, or false")
  end
  local retry = shape.read(value, RETRY, what)
  if retry.base and retry.cap and retry.cap < retry.base then
    fail("'cap' is the longest delay, 'base' the first",
      "'cap' of %s is shorter than its 'base'", what)
  end
  for _, name in ipairs(DELAYS) do
    if retry.delay and retry[name] then
      fail("keep one of them", "%s has both 'delay' and '%s'", what, name)
    end
  end
  for _, code in ipairs(retry.on or {}) do
    for _, other in ipairs(retry.never or {}) do
      if code == other then
        fail("a code is tried again, or never", "'on' and 'never' of %s both "
          .. "name '%s'", what, code)
      end
    end
  end
  return retry
end

--- A node's.
function shape.retry(value, what)
  local retry = shape.retry_around(value, what)
  if retry.max == 1 and retry.on then
    fail("max is how many attempts there are in all, the first among them",
      "'on' of %s says what is tried again, and its 'max' is 1", what)
  end
  return retry
end

--- Names of persons, roles or groups.
shape.people = one_or_more("name", "names", '{ "ann", "bob" }',
  function(name, which, what)
    shape.text(name, which)
    if name == "" then fail(nil, "%s has an empty name", what) end
    return name
  end)

function shape.person(value, what)
  shape.text(value, what)
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

function shape.table(value, what)
  if type(value) ~= "table" then
    must_be("a table", value, what)
  end
  return copied(value, {})
end

local RESCHEDULE = {
  event = shape.pattern, key = shape.event_key, into = shape.name,
}

--- The event that moves the time of what waits.
function shape.reschedule(value, what)
  local example = 'reschedule = { event = "timer.moved", into = "when" }'
  if type(value) == "string" then value = { event = value } end
  if type(value) ~= "table" then
    must_be("an event or a table", value, what, example)
  end
  local given = shape.read(value, RESCHEDULE, what)
  if not given.event then fail(example, "%s has no 'event'", what) end
  return given
end

--- What an event moves has to be there.
---@param moves string[]  options, either of which will do
function shape.moved(node, whose, moves)
  if not node.reschedule then return end
  for _, name in ipairs(moves) do
    if node[name] then return end
  end
  fail(moves[1] .. ' = "7d"', "%s has 'reschedule', which moves %s, but none",
    whose, "a '" .. table.concat(moves, "' or a '") .. "'")
end

--- Declared types; what they say is read when the graph is checked
--- (src/value/types.h).
function shape.types(value, what)
  if type(value) == "string" then return shape.text(value, what) end
  if type(value) ~= "table" then
    must_be("a type", value, what,
      '{ price = "number", count = "integer > 0", note = "string?" }')
  end
  return copied(value, {})
end

function shape.input(value, what)
  if shape.is_called(value) then return value end
  if type(value) ~= "table" then
    must_be("a table or a function", value, what,
      "{ order = 1 }, or function(ctx) ... end")
  end
  return copied(value, {})
end

--- Of children: the group that runs them, and how soon, as engine:start takes
--- them; or functions.
function shape.group(value, what)
  if shape.is_called(value) then return value end
  if type(value) ~= "string" then
    must_be("a string or a function", value, what,
      '"gpu", or function(ctx) ... end')
  end
  shape.text(value, what)
  if #value < 1 or #value > 255 or value:find("\0", 1, true) then
    fail(nil, "%s must have 1 to 255 bytes, none of them zero", what)
  end
  return value
end

function shape.start_priority(value, what)
  if shape.is_called(value) then return value end
  if math.type(value) ~= "integer" then
    must_be("an integer or a function", value, what,
      "5, or function(ctx) ... end")
  end
  if value < -32768 or value > 32767 then
    fail(nil, "%s must be between -32768 and 32767", what)
  end
  return value
end

shape.priority = shape.one_of("low", "normal", "high", "urgent")
shape.parent_end = shape.one_of("cancel", "leave")
shape.on_exhausted = shape.one_of("fail", "suspend")

---- people -------------------------------------------------------------------

--- Fields that say for whom something is, with those of `more`.
---@param more table<string, function>
---@return table<string, function>
function shape.for_people(more)
  for _, one in ipairs { "user", "role", "group" } do
    more[one], more[one .. "s"] = shape.people, shape.people
  end
  return more
end

--- `role` and `roles` are one thing: keeps it as a list under the latter.
function shape.gather_people(from, to, whose)
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

---- several fields together --------------------------------------------------

--- What is needed, each with how it is written.
---@param needs string[][]
function shape.needs(node, whose, needs)
  for _, need in ipairs(needs) do
    if node[need[1]] == nil then
      fail(need[2], "%s has no '%s'", whose, need[1])
    end
  end
end

--- One of two, and not both.
---@param either string[]  the two, how each is written, and what both are told
function shape.either(node, whose, either)
  local one, other, hint, both = table.unpack(either)
  if node[one] and node[other] then
    fail(both or "keep one of them", "%s has both '%s' and '%s'", whose, one,
      other)
  end
  if not node[one] and not node[other] then
    fail(hint, "%s says neither '%s' nor '%s'", whose, one, other)
  end
end

local function contains(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

--- Named transitions are among those that the kind knows, the first of which
--- must be there: a single `next` stands for it.
---@param known string[]
function shape.transitions(node, whose, known)
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
function shape.cause(node, whose, transition, option, is_there)
  if is_there or type(node.next) ~= "table" or not node.next[transition] then
    return
  end
  fail(('add %s = "2d", or leave the transition out'):format(option),
    "'next' of %s has '%s', but there is no '%s'", whose, transition, option)
end

return shape
