--- `pawl worker` on a terminal: a line for each event, cut to its width, and
--- at the bottom one that says what runs and how much was done.
--
-- All of it is known from what the engine tells anyway: the store is asked
-- nothing. The line at the bottom is the terminal's alone (sys.live): what
-- handlers print, and logs, appear above it, and a signal takes it away.
local core = require "pawl.core"
local format = require "pawl.cli.format"
local progress = require "pawl.cli.progress"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

---@class pawl.cli.Screen
---@field since string    when it began, for people
---@field began number    the same, of a clock that is not set
---@field nodes table<string, integer>  how many handlers run there
---@field begun table<string, integer>  the same by instance and node
---@field steps integer
---@field ended integer
---@field failed integer  instances
---@field samples table[] of the last seconds
---@field still boolean   there is no line at the bottom
local screen = {}
screen.__index = screen

local SPAN <const> = 5 -- seconds that "a second" is reckoned from
local LONGEST <const> = 250 -- bytes that the line at the bottom may have

--- From now on what handlers print goes above the line. Before the engine
--- makes their state.
---@param now number  seconds since 1970
---@return pawl.cli.Screen
function screen.open(now)
  sys.own_output()
  io.stdout:setvbuf("line")
  local began = core.mono()
  return setmetatable({ since = os.date("%H:%M:%S", now // 1), began = began,
    nodes = {}, begun = {}, steps = 0, ended = 0, failed = 0,
    samples = { { at = began, steps = 0, ended = 0 } },
    still = os.getenv "TERM" == "dumb" }, screen)
end

---- lines of events ---------------------------------------------------------

---@param now number  seconds since 1970
---@param room? integer  other than the terminal's
local function say(self, now, pieces, room)
  table.insert(pieces, 1, { os.date("%H:%M:%S ", now // 1), "dim" })
  sys.live(nil)
  term.say(term.fit(pieces, room or term.width()))
  self:draw()
end

--- Words, as they stand.
---@param color? string
---@param whole? boolean  of any length
function screen:line(now, text, color, whole)
  say(self, now, { { term.clean(text), color } }, whole and math.huge)
end

--- A long code's end is what tells it from others.
local function brief_code(code)
  return term.cut(term.clean(code), math.max(12, term.width() // 5), true)
end

local function whose(instance) return { instance:sub(-8) .. " ", "dim" } end

local log_colors = { warn = "yellow", error = "red" }

--- What a handler says by ctx.log; false: it is not a handler's.
---@return boolean
function screen:log(now, level, message, fields)
  if type(fields.instance) ~= "string" or type(fields.node) ~= "string" then
    return false
  end
  local more = type(fields.fields) == "table" and next(fields.fields)
    and " " .. format.json(fields.fields) or ""
  say(self, now, { whose(fields.instance),
    { ("%s %s: "):format(term.clean(fields.node), level), log_colors[level] },
    { term.clean(message .. more) } })
  return true
end

---@param t pawl.Trace
local function tell(self, now, t)
  local color, mark, text = progress.parts(t, now)
  local pieces = { whose(t.instance), { brief_code(t.workflow) .. " " },
    { mark .. " ", color }, { text } }
  if t.ended and t.ended ~= t.outcome then
    pieces[#pieces + 1] = { "  " .. t.ended, format.color(t.ended) }
  end
  say(self, now, pieces)
end

---- the line at the bottom --------------------------------------------------

local function add(counts, key, n)
  local left = (counts[key] or 0) + n
  counts[key] = left > 0 and left or nil
end

---@param t pawl.Trace
local function note(self, t)
  local node = term.clean(t.node or "")
  local key = t.instance .. " " .. node
  if not t.outcome then
    add(self.begun, key, 1)
    add(self.nodes, node, 1)
  elseif self.begun[key] then -- what no handler did has not begun
    add(self.begun, key, -1)
    add(self.nodes, node, -1)
  end
  if t.outcome and t.kind == "step" then self.steps = self.steps + 1 end
  if t.ended then self.ended = self.ended + 1 end
  if t.ended == "failed" then self.failed = self.failed + 1 end
end

--- A handler begins or has ended; or something moved without one.
---@param now number  seconds since 1970
---@param t pawl.Trace
function screen:event(now, t)
  note(self, t)
  if t.outcome then tell(self, now, t) else self:draw() end
end

--- What ticks have counted so far: also what was not told of by itself. A tick
--- may be long, so that in between it is what was told. `waiting`: handlers
--- that were begun and have not ended; of others that began there is no end to
--- be told any more.
function screen:count(steps, ended, waiting)
  self.steps = math.max(self.steps, steps)
  self.ended = math.max(self.ended, ended)
  if waiting == 0 then self.begun, self.nodes = {}, {} end
end

--- Steps and ends a second, of the last seconds.
local function rates(self)
  local now, samples = core.mono(), self.samples
  local last = samples[#samples]
  if now - last.at >= 0.5 then
    samples[#samples + 1] = { at = now, steps = self.steps,
      ended = self.ended }
  end
  while #samples > 2 and now - samples[2].at >= SPAN do
    table.remove(samples, 1)
  end
  local first = samples[1]
  local span = math.max(now - first.at, 1)
  return (self.steps - first.steps) / span, (self.ended - first.ended) / span
end

local function running(self)
  local names, n = {}, 0
  for node, count in pairs(self.nodes) do
    n = n + count
    names[#names + 1] = count > 1 and ("%s x%d"):format(node, count) or node
  end
  if n == 0 then return "idle" end
  table.sort(names)
  return ("running %d: %s"):format(n, table.concat(names, ", "))
end

--- "0.2", "12", "3400": as precise as its size asks for.
local function rate(n)
  return (n > 0 and n < 10 and "%.1f" or "%.0f"):format(n)
end

--- What runs is cut first, since when is left out where it leaves no room.
local function status(self, width)
  local steps, ended = rates(self)
  local totals = ("  %s steps/s  %s ended/s  %d failed"):format(rate(steps),
    rate(ended), self.failed)
  if width >= 72 then totals = totals .. "  since " .. self.since end
  local runs = term.cut(running(self), math.max(width - #totals, 4))
  return term.cut(runs .. totals, width)
end

--- Draws it as things are now.
function screen:draw()
  if self.still then return end
  local width = math.min(term.width() - 1, 200) -- a full row would be two
  local text = status(self, width)
  while #text > LONGEST do
    width = width - 10
    text = status(self, width)
  end
  sys.live(text, term.columns(text))
end

--- Takes it away.
function screen:close()
  self.still = true
  sys.live(nil)
end

return screen
