--- Times, values and errors for people.
local core = require "pawl.core"
local safe = require "pawl.cli.safe"
local term = require "pawl.cli.term"

local format = {}

--- "2026-11-21T07:38:00.123456Z" as "2026-11-21 08:38:00 CET": where the reader
--- is (TZ), with the zone's name, as another reader may be elsewhere.
function format.time(text)
  local us = type(text) == "string" and core.time_parse(text)
  return us and os.date("%Y-%m-%d %H:%M:%S %Z", us // 1000000) or nil
end

--- The same, and how long ago or in how long: "... CET (5m ago)".
---@param now number  seconds since 1970
function format.when(text, now)
  local shown = format.time(text)
  if not shown then return nil end
  local seconds = core.time_parse(text) / 1e6 - now
  return ("%s (%s)"):format(shown, seconds > 0
    and "in " .. format.age(seconds) or format.age(-seconds) .. " ago")
end

--- Seconds since 1970 the same way.
function format.instant(seconds)
  return format.time(core.time_format(math.floor(seconds * 1e6 + 0.5)))
end

--- "07:38:05 CET" when it is today, else with the date.
function format.due(seconds, now)
  local due, today = format.instant(seconds), format.instant(now)
  if due:sub(1, 10) == today:sub(1, 10) then return due:sub(12) end
  return due
end

local units = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } }

--- "5s", "12m", "3h", "40d": how long it is since, where room is short.
function format.age(seconds)
  for _, unit in ipairs(units) do
    if seconds >= unit[1] then
      return ("%d%s"):format(seconds // unit[1], unit[2])
    end
  end
  return "0s"
end

--- How long ago that was, as format.age has it.
---@param now number  seconds since 1970
function format.since(text, now)
  local at = core.time_parse(text)
  return at and format.age(math.max(now - at / 1e6, 0))
end

--- "shop.order@2"; the code alone where no worker has begun it yet: it takes
--- its version then.
function format.workflow(code, version)
  return version and version > 0 and ("%s@%d"):format(code, version) or code
end

function format.json(value)
  local text, err = core.json_encode(value)
  if not text then error(err, 0) end
  return safe.json(text)
end

--- Seconds between two ISO times.
function format.between(from, to)
  local a = type(from) == "string" and core.time_parse(from)
  local b = type(to) == "string" and core.time_parse(to)
  return a and b and (b - a) / 1e6 or nil
end

local function text(value) return type(value) == "string" and value or nil end

--- "card_declined: the bank said no": an error object from the store, without
--- its place.
function format.message(err)
  if type(err) ~= "table" then return nil end
  local code = text(err.raised) or text(err.code)
  local message = tostring(err.message or "")
  return term.clean(code and code ~= "script" and code .. ": " .. message
    or message)
end

--- "order.lua:12: card_declined: the bank said no": with its place in front,
--- as the engine tells it of a step.
function format.error(err)
  local message = format.message(err)
  local where = message and text(err.where)
  if not where or message:find(where, 1, true) then return message end
  return term.clean(where) .. ": " .. message
end

--- The same behind a word of its own, which is not said twice.
function format.under(word, err)
  local said, front = format.error(err), word .. ": "
  return said:sub(1, #front) == front and said or front .. said
end

--- "price=9.9, note removed": what was done to the variables.
---@param changes? { set?: table, unset?: string[] }
function format.changes(changes)
  if type(changes) ~= "table" then return nil end
  local parts = {}
  for name, value in pairs(changes.set or {}) do
    parts[#parts + 1] = ("%s=%s"):format(name, format.json(value))
  end
  for _, name in ipairs(changes.unset or {}) do
    parts[#parts + 1] = name .. " removed"
  end
  table.sort(parts)
  return #parts > 0 and term.clean(table.concat(parts, ", ")) or nil
end

local colors = { completed = "green", failed = "red", cancelled = "yellow",
  suspended = "yellow", waiting = "cyan" }

--- The colour that a status has; nil: none.
function format.color(status) return colors[status] end

function format.status(status)
  return colors[status] and term.paint(colors[status], status) or status
end

return format
