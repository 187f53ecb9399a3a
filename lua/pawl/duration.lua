--- Durations as people write them: seconds as numbers, or "1h30m", "2d",
--- "500ms". Inside pawl they are integer microseconds.
local duration = {}

local UNITS = { -- in microseconds
  ms = 1000,
  s = 1000000,
  m = 60 * 1000000,
  h = 3600 * 1000000,
  d = 86400 * 1000000,
  w = 7 * 86400 * 1000000,
}

--- The longest duration, a thousand years: adding one to a time of today
--- cannot pass 64 bits. src/defs/def.c has the same limit.
duration.MAX_US = 365250 * UNITS.d

local HINT = [[write seconds (90) or words like "90s", "1h30m", "2d"]]
local TOO_LONG = "is longer than 1000 years"

local function from_number(seconds)
  if seconds ~= seconds then return nil, "is not a duration" end
  if seconds < 0 then return nil, "is negative" end
  if seconds * 1e6 > duration.MAX_US then return nil, TOO_LONG end
  if math.type(seconds) == "integer" then return seconds * 1000000 end
  return math.floor(seconds * 1e6 + 0.5)
end

--- "1.5" hours: whole part and fraction apart, so that whole numbers stay
--- exact. nil when it passes the limit.
local function scaled(whole, fraction, unit)
  if tonumber(whole .. ".0") * unit > duration.MAX_US then return nil end
  local us = math.tointeger(tonumber(whole)) * unit
  if fraction ~= "" then
    us = us + math.floor(tonumber("0" .. fraction) * unit + 0.5)
  end
  return us
end

local function from_text(text)
  if text:find("^%d+%.?%d*$") then return from_number(tonumber(text)) end
  if not text:find("%S") then return nil, "is empty" end
  local total, at, seen = 0, text:match("^%s*()"), {}
  while at <= #text do
    local whole, fraction, unit, after =
      text:match("^(%d+)(%.?%d*)%s*(%a*)%s*()", at)
    if not whole or fraction == "." then return nil, "is not a duration" end
    if unit == "" then return nil, ("has no unit after %s"):format(whole) end
    if not UNITS[unit] then
      return nil, ("has an unknown unit '%s' (ms, s, m, h, d, w)"):format(unit)
    end
    if seen[unit] then return nil, ("names '%s' twice"):format(unit) end
    seen[unit] = true
    local us = scaled(whole, fraction, UNITS[unit])
    if not us or total + us > duration.MAX_US then return nil, TOO_LONG end
    total, at = total + us, after
  end
  return total
end

--- "nil", "null", "a table": null is a pointer to nothing.
local function named(value)
  if value == nil then return "nil" end
  if type(value) == "userdata" and ("%p"):format(value) == "(null)" then
    return "null"
  end
  return "a " .. type(value)
end

--- Reads a duration. Never raises.
---@param value any         seconds, or text such as "1h30m"
---@return integer? us      microseconds; nil when it is not a duration
---@return string? problem  "'1h30' has no unit after 30"
---@return string? hint     what to write instead
function duration.parse(value)
  local us, problem
  if type(value) == "number" then
    us, problem = from_number(value)
  elseif type(value) == "string" then
    us, problem = from_text(value)
    value = "'" .. value .. "'"
  else
    return nil, "a duration cannot be " .. named(value), HINT
  end
  if us then return us end
  return nil, ("%s %s"):format(value, problem), HINT
end

--- Two units, the smaller left out when it is nothing: "2 min 5 s".
local function two(big, big_name, small, small_name)
  if small == 0 then return ("%d %s"):format(big, big_name) end
  return ("%d %s %d %s"):format(big, big_name, small, small_name)
end

--- "12 ms", "1.5 s", "2 min 5 s", "3 h 20 min", "2 d 4 h": for people.
---@param seconds number
---@return string
function duration.show(seconds)
  local ms = math.floor(seconds * 1000 + 0.5)
  if ms < 1000 then return ms .. " ms" end
  if ms < 60000 then
    return (("%.1f s"):format(ms / 1000):gsub("%.0 s$", " s"))
  end
  local s = math.floor(seconds + 0.5)
  if s < 3600 then return two(s // 60, "min", s % 60, "s") end
  if s < 86400 then return two(s // 3600, "h", s % 3600 // 60, "min") end
  return two(s // 86400, "d", s % 86400 // 3600, "h")
end

return duration
