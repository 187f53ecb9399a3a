--- What is said of an attribute: by --attr, one reading for what is started,
--- and for what is looked for; and in the lines of --many, as JSON.
local attribute = require "pawl.attribute"
local core = require "pawl.core"
local options = require "pawl.cli.options"
local pawl = require "pawl"

local attributes = {}

local function date(text)
  local ok, found = pcall(pawl.date, text)
  if ok then return found end
  options.usage("--attr: '%s' is not a time", 'write UTC: '
    .. '"@2026-01-31" or "@2026-01-31T10:00:00Z"', text)
end

local function quoted(text)
  local found = core.json_decode(text)
  if found then return found end
  options.usage("--attr: %s is not one text in quotes", "as in JSON; "
    .. "NAME:=TEXT takes any text as it is", text)
end

--- A number exactly: what no integer holds, and what has a point, is a
--- decimal. Digits that no number is written with, as a zip code's, are text.
local function number(text)
  if not (text:find "^%-?%d+$" or text:find "^%-?%d+%.%d+$") then return nil end
  local ok, exact = pcall(pawl.decimal, text)
  if not ok then return nil end
  local short = tonumber(text)
  return math.type(short) == "integer" and short or exact
end

local words = { ["true"] = true, ["false"] = false }

---@param text string  as it was typed
---@return string|number|boolean|pawl.Typed
function attributes.value(text)
  if words[text] ~= nil then return words[text] end
  if text:find "^@" then return date(text:sub(2)) end
  if text:find '^".*"$' then return quoted(text) end
  return number(text) or text
end

local texts = { date = true, decimal = true, binary = true }

--- {"type":"date","value":"2026-01-31"}; nil: it is none.
local function of_object(given)
  for name in pairs(given) do
    if name ~= "type" and name ~= "value" then return nil end
  end
  if not texts[given.type] then return given.value end
  if type(given.value) ~= "string" then return nil end
  local ok, found = pcall(attribute.from_json, given)
  if not ok then return nil end
  -- what no base64 is would be fewer bytes
  return (given.type ~= "binary" or core.base64(found.value) == given.value)
    and found or nil
end

--- As JSON has it: a text is that text, whatever it looks like; what JSON has
--- no values for is an object, as `pawl show --json` tells it.
---@param value any  as it was decoded
---@return string|number|boolean|pawl.Typed|nil
---@return string? why  it is none
function attributes.of_json(value)
  if value == core.null then return nil, "null is no value: leave it out" end
  if type(value) ~= "table" then return value end
  local found = of_object(value)
  local entry = found ~= nil and attribute.to_json(found)
  if entry and entry.type == value.type then return found end
  return nil, ("%s is no attribute"):format(core.json_encode(value))
end

--- NAME=VALUE, or with another comparison, taken apart; nil: it is none.
---@param text string
---@return string? name
---@return boolean? as_text  NAME:=TEXT
---@return string? how       = < <= > >=
---@return string? value     as it was typed
function attributes.split(text)
  local name, forced, how, value = text:match "^([^=:<>]+)(:?)([<>]?=?)(.*)$"
  if not name or how == "" then return nil end
  return name, forced ~= "", how, value
end

return attributes
