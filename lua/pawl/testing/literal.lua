--- Values as Lua writes them, for specs that are written by a program and read
--- by people: what fits stands in a line, the rest below each other.
local core = require "pawl.core"
local keys = require "pawl.keys"

local literal = {}

local WIDTH <const> = 79
local DEEPEST <const> = 40 -- Lua's reader has a limit of its own

local ESCAPES <const> = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n",
  ["\t"] = "\\t", ["\r"] = "\\r" }

local RESERVED <const> = {}
for word in ([[and break do else elseif end false for function goto if in local
  nil not or repeat return then true until while]]):gmatch "%l+" do
  RESERVED[word] = true
end

--- Text between quotes; what is no UTF-8 comes byte by byte.
---@param text string
---@return string
function literal.text(text)
  local rest = utf8.len(text) and "[%c\\\"]" or "[%c\\\"\x80-\xff]"
  return '"' .. text:gsub(rest, function(c)
    return ESCAPES[c] or ("\\%03d"):format(c:byte())
  end) .. '"'
end

local function number(value)
  if math.type(value) == "integer" then
    return value == math.mininteger and "math.mininteger"
      or ("%d"):format(value)
  end
  local text = ("%.15g"):format(value)
  if tonumber(text) ~= value then text = ("%.17g"):format(value) end
  return text:find "[%.einEIN]" and text or text .. ".0"
end

local function name(key)
  if key:find "^[%a_][%w_]*$" and not RESERVED[key] then return key end
  return "[" .. literal.text(key) .. "]"
end

local function depth_of(value)
  local deepest = 0
  if type(value) ~= "table" then return 0 end
  for _, inner in pairs(value) do
    deepest = math.max(deepest, depth_of(inner))
  end
  return deepest + 1
end

local write

--- The pieces of a table; nil: it is empty.
local function pieces_of(value, indent)
  local list = {}
  if #value > 0 then
    for i = 1, #value do list[i] = write(value[i], indent + 2, 0) end
  else
    for _, key in ipairs(keys(value)) do
      local front = name(key) .. " = "
      list[#list + 1] = front .. write(value[key], indent + 2, #front)
    end
  end
  return #list > 0 and list or nil
end

--- Below each other, as many in a line as fit.
local function below(list, indent)
  local lines, line = {}, ""
  for _, piece in ipairs(list) do
    local more = line == "" and piece or line .. " " .. piece
    if line ~= "" and (more:find "\n" or indent + 2 + #more + 1 > WIDTH) then
      lines[#lines + 1] = line
      more = piece
    end
    line = more .. ","
  end
  lines[#lines + 1] = line
  local margin = "\n" .. (" "):rep(indent + 2)
  return "{" .. margin .. table.concat(lines, margin) .. "\n"
    .. (" "):rep(indent) .. "}"
end

--- Text that is written as it stands: a call, or a name.
local raw = {}

---@param text string
function literal.raw(text) return setmetatable({ text = text }, raw) end

function write(value, indent, taken)
  if value == core.null then return "pawl.null" end
  if getmetatable(value) == raw then return value.text end
  if type(value) == "string" then return literal.text(value) end
  if type(value) == "number" then return number(value) end
  if type(value) ~= "table" then return tostring(value) end
  local list = pieces_of(value, indent)
  if not list then
    return core.json_encode(value) == "[]" and "pawl.array {}" or "{}"
  end
  local line = "{ " .. table.concat(list, ", ") .. " }"
  if not line:find "\n" and indent + taken + #line + 2 <= WIDTH then
    return line
  end
  return below(list, indent)
end

--- A value as an expression of Lua's that gives it.
---@param value any       as pawl.json.decode gives it
---@param indent? integer  blanks in front of its line
---@param taken? integer   what stands in front of it in its line
---@return string
function literal.of(value, indent, taken)
  if depth_of(value) > DEEPEST then
    return ("pawl.json.decode(%s)"):format(
      literal.text((core.json_encode(value))))
  end
  return write(value, indent or 0, taken or 0)
end

--- `what(first, ...)` with values, as a line of a spec: the last one below it,
--- if need be.
---@param what string
---@param ... any
---@return string
function literal.call(what, ...)
  local given = table.pack(...)
  local front = "    " .. what .. "("
  for i = 1, given.n do
    local last = front:match "[^\n]*$"
    front = front .. (i > 1 and ", " or "")
      .. literal.of(given[i], 4, #last - 4 + 2)
  end
  return front .. ")"
end

return literal
