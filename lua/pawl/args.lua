--- What the engine's methods are given: options by their shapes, names, texts.
--- A wrong one is the caller's bug and raises, naming method and option.
local core = require "pawl.core"
local option = require "pawl.option"

local args = {}

--- Raises at the caller's caller.
---@param where string  the method
---@param shape table   see pawl.option
---@param options any
---@return table
function args.read(where, shape, options)
  local out, why = option.read(where, shape, options)
  if not out then error(why, 3) end
  return out
end

--- The same, or nil where nothing was given.
function args.query(where, shape, options)
  local out, why = option.read(where, shape, options)
  if not out then error(why, 3) end
  return next(out) and out or nil
end

---@param method string
---@param value any
---@param arg? integer  1
function args.text(method, value, arg)
  if type(value) ~= "string" then
    error(("bad argument #%d to '%s' (string expected, got %s)"):format(
      arg or 1, method, value == nil and "no value" or type(value)), 3)
  end
end

--- A store's name, or nil for the default one.
---@param method string
---@param value any
function args.url(method, value)
  if value == nil then return end
  if type(value) ~= "string" then
    error(("bad argument #1 to '%s' (string expected, got %s)"):format(method,
      type(value)), 3)
  elseif value:find("\0", 1, true) then
    error(("bad argument #1 to '%s' (it has a zero byte)"):format(method), 3)
  end
end

---- what a verb takes ---------------------------------------------------------

local function list_of_names(value)
  if type(value) ~= "table" then return nil end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
  end
  return core.array(table.move(value, 1, #value, 1, {}))
end

--- A name, or a list of at least one.
local function names(value)
  if type(value) == "string" then return value end
  return type(value) == "table" and #value > 0 and list_of_names(value) or nil
end

args.names = names

--- The same, or an empty list: a user may be in no role at all.
local function some_names(value)
  if type(value) == "table" and next(value) == nil then return core.array {} end
  return names(value)
end

--- Names as a list, also where there is one or none.
local function name_list(value)
  if type(value) == "string" then return core.array { value } end
  return list_of_names(value)
end

--- A list is no object, and would be stored as one that is empty.
function args.object(value)
  if type(value) == "table" and #value == 0 then return value end
end

--- Seconds since 1970, or a time as the engine tells it, to microseconds.
local function instant(value)
  local text = type(value) == "table" and value.type == "date" and value.value
    or value
  if type(text) == "string" then return core.time_parse(text) end
  return option.check.instant(value)
end

local function commits(value)
  value = option.check.integer(value)
  if value and value >= 0 then return value end
end

-- By the shape in C (value/options.h): how Lua writes it, who checks the rest.
local RULES = {
  text = { "string" }, id = { "string" }, choice = { "string" },
  bool = { "boolean" },
  time = { instant,
    wants = 'seconds since 1970, or a time like "2026-01-31T10:00:00Z"' },
  span = { "duration" },
  any = { function(value) return value end },
  object = { args.object, wants = "a table with names" },
  list = { name_list, wants = "a name or a list of names" },
  texts = { some_names, wants = "a string or a list of strings" },
  choices = { names, wants = "a string or a list of strings" },
}
local LONGER_THAN_NONE = { function(value)
  local us = option.check.duration(value)
  return us and us > 0 and us or nil
end, wants = 'seconds or words like "30s", longer than 0' }
local COMMITS = { commits, wants = "an integer, 0 or more" }

local function rule_of(row)
  if row.shape == "int" then
    return row.low > 0 and { "positive" } or row.low == 0 and COMMITS
      or { "integer" }
  elseif row.shape == "span" and row.low > 0 then
    return LONGER_THAN_NONE
  elseif row.shape == "text" and row.names then
    return option.choice(row.name, table.unpack(row.names))
  end
  return RULES[row.shape]
end

-- Inside a workflow file there is no engine, and none of its methods.
local verbs = core.options and core.options() or {}

--- The kinds of a verb's requests.
---@param verb string
---@return string[]
function args.kinds(verb) return verbs[verb] and verbs[verb].kinds or {} end

--- In C times are microseconds, and their names say so; in Lua they are seconds
--- or words.
local function name_of(row) return (row.name:gsub("_us$", "")) end

local function stored_as(rule, name)
  return { rule[1], name, wants = rule.wants }
end

--- The shape of what a verb of pawl.h takes, as its table in C has it.
---@param verb string
---@param kind? string  of its requests
---@param own? table    rules of Lua's own; false: what Lua gives otherwise
---@return table shape
function args.of(verb, kind, own)
  local shape, bit = {}, 1
  for i, name in ipairs(args.kinds(verb)) do
    if name == kind then bit = 1 << i - 1 end
  end
  for _, row in ipairs(verbs[verb] or {}) do
    if not row.kinds or row.kinds & bit ~= 0 then
      shape[name_of(row)] = stored_as(rule_of(row), row.name)
    end
  end
  for name, rule in pairs(own or {}) do shape[name] = rule or nil end
  return shape
end

local function row_of(verb, name)
  for _, row in ipairs(verbs[verb] or {}) do
    if row.name == name then return row end
  end
end

--- A rule of a verb's, under another name.
---@param verb string
---@param name string
---@return table rule
function args.like(verb, name)
  local row = row_of(verb, name)
  local rule = row and rule_of(row) or {}
  return { rule[1], name, wants = rule.wants }
end

--- What of a verb's options stands among others, as a command line's do.
---@param verb string
---@param others table
---@return table
function args.among(verb, others)
  local given = {}
  for _, row in ipairs(verbs[verb] or {}) do
    given[name_of(row)] = others[name_of(row)]
  end
  return given
end

--- The names of a verb's options of one shape, sorted.
---@param verb string
---@param shape string  as C calls it: "text", "object"
---@return string[]
function args.shaped(verb, shape)
  local list = {}
  for _, row in ipairs(verbs[verb] or {}) do
    if row.shape == shape then list[#list + 1] = name_of(row) end
  end
  table.sort(list)
  return list
end

--- The words that an option may be, in their order.
---@param verb string
---@param name string
---@return string[]
function args.words(verb, name)
  local row = row_of(verb, name)
  return row and row.names or {}
end

return args
