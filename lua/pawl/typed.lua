--- Attribute values that plain Lua cannot tell apart: exact decimal numbers,
--- points in time, bytes. Each is a small table { type =, value = } that
--- ctx.attrs and start's `attributes` understand. The C side knows them by
--- their metatable's __name, "pawl.typed".
local typed = {}

---@class pawl.Typed
---@field type "decimal"|"date"|"binary"
---@field value string  decimal: digits; date: "2026-01-31T10:00:00.000000Z";
---                     binary: the bytes

local mt = { __name = "pawl.typed" }

function mt.__tostring(self)
  if self.type == "binary" then
    return ("binary (%d bytes)"):format(#self.value)
  end
  return self.value
end

function mt.__eq(a, b)
  return getmetatable(b) == mt and a.type == b.type and a.value == b.value
end

local function new(kind, value)
  return setmetatable({ type = kind, value = value }, mt)
end

--- An exact decimal number, kept digit by digit: pawl.decimal "12.50".
---@param value string|integer
---@return pawl.Typed
function typed.decimal(value)
  local text = math.type(value) == "integer" and tostring(value) or value
  if type(text) ~= "string" then
    error(("pawl.decimal takes text such as \"12.50\" or an integer, not a %s")
      :format(math.type(value) or type(value)), 2)
  end
  local digits = text:gsub("^%+", "")
  local whole, fraction = digits:match("^%-?(%d+)(.*)$")
  if not whole or whole:find("^0%d") or #digits > 1000
    or fraction ~= "" and not fraction:find("^%.%d+$") then
    error(("pawl.decimal: '%s' is not a plain decimal number like -12.50")
      :format(#text > 40 and text:sub(1, 40) .. "..." or text), 2)
  end
  return new("decimal", digits)
end

local function is_leap(year)
  return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
end

local DAYS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function date_problem(year, month, day)
  if month < 1 or month > 12 then return true end
  local days = (month == 2 and is_leap(year)) and 29 or DAYS[month]
  return day < 1 or day > days
end

--- "2026-01-31", "2026-01-31T10:00:00Z", with or without a fraction.
local function date_from_text(text)
  local y, mo, d, rest = text:match("^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$")
  if not y or date_problem(tonumber(y), tonumber(mo), tonumber(d)) then
    return nil
  end
  if rest == "" then rest = "T00:00:00Z" end
  local h, mi, s, fraction = rest:match("^[T ](%d%d):(%d%d):(%d%d)(%.?%d*)Z$")
  if not h or tonumber(h) > 23 or tonumber(mi) > 59 or tonumber(s) > 59
     or fraction == "." then
    return nil
  end
  fraction = (fraction:sub(2) .. "000000"):sub(1, 6)
  return ("%s-%s-%sT%s:%s:%s.%sZ"):format(y, mo, d, h, mi, s, fraction)
end

local LAST <const> = 253402300799 -- of the year 9999

local function date_from_seconds(seconds)
  -- not by math.abs, which the least integer has none of
  if not (seconds >= -LAST and seconds <= LAST) then return nil end
  local us = math.floor(seconds * 1e6 + 0.5)
  if math.type(seconds) == "integer" then us = seconds * 1000000 end
  local ok, day = pcall(os.date, "!%Y-%m-%dT%H:%M:%S", us // 1000000)
  if not ok or not day:find("^%d%d%d%d%-") then return nil end
  return ("%s.%06dZ"):format(day, us % 1000000)
end

--- Days from 1970-01-01 to a date.
local function days_to(y, m, d)
  if m <= 2 then y, m = y - 1, m + 12 end
  return 365 * y + y // 4 - y // 100 + y // 400 + (153 * (m - 3) + 2) // 5 + d
    - 719469
end

--- The seconds since 1970 of a time as the engine tells it; nil: it is none.
---@param value string|pawl.Typed
---@return number? seconds
function typed.time(value)
  local text = type(value) == "string" and date_from_text(value)
    or getmetatable(value) == mt and value.type == "date" and value.value
  if not text then return nil end
  local y, mo, d, h, mi, s, us = text:match(
    "^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)%.(%d+)Z$")
  local whole = days_to(tonumber(y), tonumber(mo),
    tonumber(d)) * 86400 + tonumber(h) * 3600
    + tonumber(mi) * 60 + tonumber(s)
  us = tonumber(us)
  return us == 0 and whole or whole + us / 1e6
end

--- A point in time: text in UTC, or seconds since 1970.
---@param value string|number
---@return pawl.Typed
function typed.date(value)
  local text
  if type(value) == "string" then
    text = date_from_text(value)
  elseif type(value) == "number" then
    text = date_from_seconds(value)
  else
    error(("pawl.date takes text or seconds since 1970, not a %s")
      :format(type(value)), 2)
  end
  if not text then
    error(("pawl.date: '%s' is not a time; write \"2026-01-31\" or "
      .. "\"2026-01-31T10:00:00Z\""):format(value), 2)
  end
  return new("date", text)
end

--- Bytes that need not be UTF-8.
---@param bytes string
---@return pawl.Typed
function typed.binary(bytes)
  if type(bytes) ~= "string" then
    error(("pawl.binary takes a string, not a %s"):format(type(bytes)), 2)
  end
  return new("binary", bytes)
end

return typed
