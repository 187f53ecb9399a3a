--- Why an instance stands as it does, in the few words that a list has room
--- for: `pawl explain` has the sentences.
local core = require "pawl.core"
local format = require "pawl.cli.format"
local term = require "pawl.cli.term"
local words = require "pawl.words"

local why = {}

--- Rows of a page that say too little of themselves: one look at each.
local most_asked = 100

--- An error's first line, as far as a list has room for it.
local function headline(err)
  if type(err) ~= "table" then return nil end
  local text = format.message { raised = err.raised, code = err.code,
    message = tostring(err.message or ""):match "[^\r\n]+" }
  return text and term.brief(text)
end

--- A reason, unless it is empty.
local function given(reason) return reason ~= "" and reason or nil end

local function span(data, text)
  local at, now = core.time_parse(text), core.time_parse(data.now)
  return at > now and "in " .. format.age((at - now) / 1e6) or "now"
end

--- "; gives up in 2d": when it stops waiting, if ever.
local function limit(data, at)
  return at and "; gives up " .. span(data, at) or ""
end

local waits = {}

function waits.event(data, w)
  return ("event %s%s%s"):format(w.event, w.key and " key " .. w.key or "",
    limit(data, w["until"]))
end

function waits.person(data, w)
  if not w.task and not w.title then return "a task is to be made" end
  return ("task %s%s%s"):format(w.title or w.task,
    w.claimed_by and " by " .. w.claimed_by or "",
    w.due and (w.overdue and "; overdue" or "; due " .. span(data, w.due))
    or limit(data, w["until"]))
end

function waits.time(data, w)
  return w.at and "due " .. span(data, w.at) or "its time"
end

function waits.retry(data, w)
  local err = headline(w.error)
  return ("attempt %d%s failed; again %s%s"):format(w.failed,
    w.attempts and " of " .. w.attempts or "", span(data, w.at),
    err and ": " .. err or "")
end

function waits.breakpoint(data, w)
  return ("halted at a breakpoint%s; goes on %s"):format(
    w.by and " by " .. w.by or "", span(data, w["until"]))
end

function waits.siblings(_, w)
  if not w.expect then return "join" end
  return w.expect == 0 and ("join: %d here"):format(w.arrived)
    or ("join: %d of %d here"):format(w.arrived, w.expect)
end

function waits.child(_, w) return "child " .. (w.workflow or w.child) end

function waits.items(_, w)
  return ("items: %d of %d done"):format(w.done, w.total)
end

function waits.worker(_, w) return headline(w.error) end

local held = {}

function held.suspended(data)
  local s = data.suspended
  return given(s.reason) or headline(data.error)
    or s.by and "suspended by " .. s.by
end

function held.workflow_suspended() return "its workflow is suspended" end

function held.unknown_workflow() return "no worker has loaded its workflow" end

function held.no_worker(data)
  return ("no worker of group %s runs"):format(data.group)
end

function held.not_taken() return "no worker has taken it" end

function held.unseen() return "unseen: `pawl health --repair`" end

--- Of a list's row, which says of itself what it waits for.
local of_row = setmetatable({}, { __index = waits })

function of_row.resume(data, w)
  return given(w.reason) or headline(data.error)
    or w.by and "suspended by " .. w.by
end

function of_row.workflow() return held.workflow_suspended() end

function of_row.person(data, w)
  w.overdue = w.due and w.due <= data.now
  return waits.person(data, w)
end

--- Of several the first says it, but what has halted is told before any other:
--- that waits for nothing but somebody.
local function of_tokens(data)
  local first, halted, n = nil, nil, 0
  for _, token in ipairs(data.tokens) do
    local w = token.waiting_for
    local text = waits[w.what] and waits[w.what](data, w)
    n = n + (text and 1 or 0)
    first = first or text
    if w.what == "breakpoint" then halted = halted or text end
  end
  first = halted or first
  return n > 1 and ("%s (+%d)"):format(first, n - 1) or first
end

---@param data table  what engine:explain gives
---@return string?
function why.of(data)
  local c = data.cancellation
  if data.status == "cancelled" and c then
    return given(words.who_why(c.who or c.by, c.reason):gsub("^[ :]+", ""))
  end
  for _, reason in ipairs(data.blocked) do
    local text = held[reason] and held[reason](data)
    if text then return text end
  end
  return of_tokens(data)
end

local told_by_itself = { failed = true, completed = true }

--- Puts `why` into the rows of a list. What failed says so itself, and most of
--- what waits; others are asked about, as far as somebody may read that many.
---@param engine pawl.Engine
---@param rows table[]  as engine:list gives them, with `waits`
function why.add(engine, rows)
  local asked, now = 0, core.time_format(math.floor(engine:now() * 1e6))
  for _, row in ipairs(rows) do
    if told_by_itself[row.status] then
      row.why = headline(row.error)
    elseif row.away then
      row.why = "carried to another store"
        .. words.who_why(nil, row.away.reason)
    elseif row.waits then
      row.why = of_row[row.waits.what]({ now = now, error = row.error },
        row.waits)
    elseif asked < most_asked then
      asked = asked + 1
      local data = engine:explain(row.id)
      row.why = data and why.of(data) -- nil: it is gone by now
    end
  end
end

return why
