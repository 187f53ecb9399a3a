--- What the kit's functions are given: checked in one place, and told where it
--- was written, however many calls of the kit's are between.
local duration = require "pawl.duration"
local nearest = require "pawl.nearest"
local option = require "pawl.option"
local shape = require "pawl.shape"

local caller = {}

---- where it was written ------------------------------------------------------

-- The chunk names of our own modules begin with this.
local OURS = debug.getinfo(1, "S").source:gsub("testing[/.]caller.*$", "")

local function is_between(source)
  return source:sub(1, #OURS) == OURS
    or source:find "[/\\]luassert[/\\]" ~= nil
end

--- File and line of whoever called into the kit, as an error begins.
local function place()
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return "" end
    if info.currentline > 0 and not is_between(info.source) then
      return ("%s:%d: "):format(info.short_src, info.currentline)
    end
    level = level + 1
  end
end

--- Raises it where the kit was called.
---@param message string  a format
function caller.fail(message, ...)
  error(place() .. message:format(...), 0)
end

--- The same, of what a function that the kit has called has raised, which names
--- itself and a place of the kit's.
---@param err any
---@param own string  its name
---@param who string  the kit's function, as it is called
function caller.pass_on(err, own, who)
  local text = tostring(err):gsub("^%S-:%d+: ", "")
  if text:sub(1, #own) == own then text = who .. text:sub(#own + 1) end
  caller.fail("%s", text)
end

---- arguments -----------------------------------------------------------------

local function is_list(value)
  if type(value) ~= "table" or not shape.is_list(value) then return false end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return false end
  end
  return true
end

--- Of a metatable that is kept to itself only the name is told.
local function is_named(value, name)
  local mt = getmetatable(value)
  return mt == name or type(mt) == "table" and mt.__name == name
end

local function is_engine(value) return is_named(value, "pawl.engine") end

local function is_text(value) return type(value) == "string" end

-- What an argument may be: whether it is, and in words.
local KINDS <const> = {
  string = { is_text, "string" },
  callable = { option.check.callable, "function" },
  engine = { is_engine, "engine" },
  flow = { function(value)
    return is_text(value) or is_named(value, "pawl.workflow")
  end, "file or workflow" },
  recorded = { function(value) return is_text(value) or is_engine(value) end,
    "engine, or lines that were exported" },
  instance = { is_text, "instance's id" },
  node = { is_text, "node's name" },
  nodes = { is_list, "list of nodes' names" },
  variables = { function(value)
    return type(value) == "table" and #value == 0
  end, "table of variables by their names" },
  value = { function(value) return value ~= nil end, "value; pawl.null: none" },
  times = { function(value)
    return math.type(value) == "integer" and value >= 0
  end, "integer, 0 or more" },
  time = { duration.parse, 'seconds, or words like "2h"' },
  file = { function(value)
    return type(value) == "string" and value ~= ""
  end, "file's path" },
  options = { function(value) return type(value) == "table" end,
    "table of options" },
}

--- Raises where an argument is not of its kind; one that ends in "?" may be
--- left out.
---@param who string   the function, as it is called
---@param i integer    which argument
---@param kind string
---@param value any
---@param hint? string what to write instead
function caller.check(who, i, kind, value, hint)
  local name, may_miss = kind:match "^(%a+)(%??)$"
  if value == nil and may_miss == "?" then return end
  local rule = KINDS[name]
  if rule[1](value) then return end
  caller.fail("bad argument #%d to '%s' (%s expected, got %s)%s", i, who,
    rule[2], type(value), hint and ": " .. hint or "")
end

--- What most functions begin with.
function caller.instance(who, engine, id)
  caller.check(who, 1, "engine", engine)
  caller.check(who, 2, "instance", id)
end

--- Reads options, see pawl.option.
---@param who string
---@param rules table
---@param options any
---@return table
function caller.read(who, rules, options)
  local read, why = option.read(who, rules, options)
  if not read then caller.fail("%s", why) end
  return read
end

--- A method of an engine that is among `known`: one called by a dot has
--- something else in front.
---@param known table<table, any>
---@param name string
---@param method function
---@return function
function caller.method(known, name, method)
  return function(self, ...)
    if not known[self] then
      caller.fail("engine.%s is a method: call it by a colon, engine:%s(...)",
        name, name)
    end
    return method(self, ...)
  end
end

---- names ---------------------------------------------------------------------

--- Raises that there is no such node, and which there are.
---@param who string
---@param name string
---@param known table<string, any>
function caller.no_node(who, name, known)
  caller.fail("%s: there is no node '%s' (%s)", who, tostring(name),
    nearest.key_hint(tostring(name), known))
end

return caller
