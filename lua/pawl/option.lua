--- Tables of options: what people write - "2h", a list of prefixes - checked
--- and turned into plain values, here microseconds and JSON-ready tables.
---
--- A shape says which options there are: { name = { kind, stored name } },
--- `kind` being a name in option.check, or a function that returns the value
--- to keep, or nil when it will not do (then with `wants`, the words for what
--- will). Raises nothing: whoever asks knows how its caller is told. Handlers
--- use it too (ctx.start), in Lua states without pawl.core: plain Lua only.
local duration = require "pawl.duration"
local nearest = require "pawl.nearest"

local option = {}

---- checks ------------------------------------------------------------------

local check = {}
option.check = check

function check.string(value)
  if type(value) == "string" then return value end
end

--- What a column for keys and names takes; src/engine/enter/start.c has the
--- limit.
function check.word(value)
  if type(value) == "string" and #value >= 1 and #value <= 255
    and not value:find("\0", 1, true) then
    return value
  end
end

function check.boolean(value)
  if type(value) == "boolean" then return value end
end

function check.integer(value)
  return type(value) == "number" and math.tointeger(value) or nil
end

function check.positive(value)
  value = check.integer(value)
  if value and value > 0 then return value end
end

function check.count(value)
  value = check.positive(value)
  if value and value <= 0x7fffffff then return value end
end

function check.shards(value)
  value = check.positive(value)
  if value and value <= 0x7fff then return value end
end

function check.table(value)
  if type(value) == "table" then return value end
end

function check.callable(value)
  local mt = getmetatable(value)
  if type(value) == "function" or type(mt) == "table" and mt.__call then
    return value
  end
end

function check.duration(value) return (duration.parse(value)) end

--- Seconds since 1970 to microseconds.
function check.instant(value)
  if type(value) == "number" and value >= 0 and value < 9e12 then
    if math.type(value) == "integer" then return value * 1000000 end
    return math.floor(value * 1e6 + 0.5)
  end
end

--- One that is empty is no choice: every code begins with it.
function check.prefixes(value)
  if type(value) == "string" then return value ~= "" and value or nil end
  if type(value) ~= "table" or #value == 0 then return nil end
  for _, prefix in ipairs(value) do
    if type(prefix) ~= "string" or prefix == "" then return nil end
  end
  return table.concat(value, ",")
end

local wants = {
  string = "a string", boolean = "a boolean", integer = "an integer",
  positive = "an integer above 0", table = "a table",
  count = "an integer above 0", shards = "an integer from 1 to 32767",
  callable = "a function", instant = "seconds since 1970",
  duration = 'seconds or words like "30s"',
  prefixes = 'a list of strings, or text like "billing.,media."',
}

--- A rule for one of some words.
---@param stored string  under which name it is kept
---@param ... string
---@return table rule
function option.choice(stored, ...)
  local names = { ... }
  local function test(value)
    for _, name in ipairs(names) do if name == value then return value end end
  end
  return { test, stored, wants = '"' .. table.concat(names, '" or "') .. '"' }
end

---- reading -----------------------------------------------------------------

local function shown(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) == "number" then return tostring(value) end
  return type(value)
end

--- Reads `given` by `shape` into a new table.
---@param where string    who asks, for messages: "start", "ctx.start"
---@param shape table
---@param given any       a table, or nil for none
---@return table? options  nil: it is wrong
---@return string? why
function option.read(where, shape, given)
  local out = {}
  if given == nil then return out end
  if type(given) ~= "table" then
    return nil, ("%s: options must be a table, got %s"):format(where,
      type(given))
  end
  for key, value in pairs(given) do
    local rule = shape[key]
    if not rule then
      return nil, ("%s: unknown option '%s' (%s)"):format(where,
        tostring(key), nearest.key_hint(tostring(key), shape))
    end
    local kind = rule[1]
    local test = type(kind) == "string" and check[kind] or kind
    local good = test(value)
    if good == nil then
      return nil, ("%s: option '%s' must be %s, got %s"):format(where, key,
        rule.wants or wants[kind], shown(value))
    end
    out[rule[2] or key] = good
  end
  return out
end

---- starting ----------------------------------------------------------------

-- By the shape in C (value/options.h): a row's rule, with its limits.
local EXACT = {}

function EXACT.text(row)
  return { function(value)
    if type(value) == "string" and #value >= row.low and #value <= row.high
      and not value:find("\0", 1, true) then
      return value
    end
  end, wants = ("a string of %d to %d bytes, none of them zero"):format(
    row.low, row.high) }
end

function EXACT.int(row)
  return { function(value)
    value = check.integer(value)
    if value and value >= row.low and value <= row.high then return value end
  end, wants = row.low == 1 and wants.positive
    or ("an integer from %d to %d"):format(row.low, row.high) }
end

function EXACT.span(row)
  return { function(value)
    local us = check.duration(value)
    if us and us <= row.high then return us end
  end, wants = ("%s, at most %d years"):format(wants.duration,
    row.high // (365 * 86400 * 1000000)) }
end

function EXACT.object() return { "table" } end

function EXACT.choice(row)
  return option.choice(row.name, table.unpack(row.names))
end

-- What of a start is not ctx.start's to say: both are the engine's.
local NOT_OF_CHILD = { id = true, at_us = true }

--- What ctx.start takes. Its handler will have ended when the child is stored,
--- so all that can be known is checked here.
---@param rows table  what a start takes (pawl_host_push_options)
---@return table shape
function option.child(rows)
  local shape = { track = { "boolean" },
    parent_end = option.choice("parent_end", "cancel", "leave") }
  for _, row in ipairs(rows) do
    if not NOT_OF_CHILD[row.name] then
      local rule = EXACT[row.shape](row)
      rule[2] = row.name
      shape[(row.name:gsub("_us$", ""))] = rule
    end
  end
  return shape
end

--- A function that reads the options of a ctx.start, and adds what is meant by
--- those left out.
---@param rows table  see option.child
---@return fun(given?: pawl.ChildOptions): table?, string?
function option.child_reader(rows)
  local shape = option.child(rows)
  return function(given)
    local out, why = option.read("ctx.start", shape, given)
    if not out then return nil, why end
    if out.track == nil then out.track = true end
    out.parent_end = out.parent_end or "leave"
    return out
  end
end

return option
