--- Typed attributes as the engine stores them: { type =, value = }.
local core = require "pawl.core"
local typed = require "pawl.later" "pawl.typed"

local attribute = {}

local function plain_type(value)
  local kind = type(value)
  if kind == "number" then kind = math.type(value) end
  if kind == "string" or kind == "integer" or kind == "float"
    or kind == "boolean" then
    return kind
  end
end

--- Binary travels as base64 text, a date as microseconds since 1970.
---@param value string|number|boolean|pawl.Typed
---@return { type: string, value: any }? entry
---@return string? why
function attribute.to_json(value)
  local mt = getmetatable(value)
  if type(mt) == "table" and mt.__name == "pawl.typed" then
    if value.type == "binary" then
      return { type = "binary", value = core.base64(value.value) }
    elseif value.type == "date" then
      return { type = "date", value = core.time_parse(value.value) }
    end
    return { type = value.type, value = value.value }
  end
  local kind = plain_type(value)
  if kind then return { type = kind, value = value } end
  return nil, ("a %s cannot be an attribute: give a string, number, boolean, "
    .. "pawl.decimal, pawl.date or pawl.binary"):format(type(value))
end

--- The value as it went in.
---@param entry { type: string, value: any }
---@return string|number|boolean|pawl.Typed
function attribute.from_json(entry)
  if entry.type == "decimal" or entry.type == "date" then
    return typed()[entry.type](entry.value)
  elseif entry.type == "binary" then
    return typed().binary(core.unbase64(entry.value))
  end
  return entry.value
end

return attribute
