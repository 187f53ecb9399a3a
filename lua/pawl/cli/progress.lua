--- What happened, in one line: for `pawl run` and `pawl worker`.
local duration = require "pawl.duration"
local format = require "pawl.cli.format"
local term = require "pawl.cli.term"

local progress = {}

local function quote(detail) return term.brief(detail) end

local function arrow(detail)
  return detail ~= "" and " -> " .. quote(detail) or ""
end

-- Outcomes that no handler took time for: a wait's event, a time that came.
local moved = { fired = true, received = true, met = true, timeout = true,
  overdue = true, rescheduled = true }

--- Without a time: the instance's deadline comes before it.
local function again(t, now)
  if not t.due then return "not again: its deadline comes first" end
  return "again in " .. duration.show(math.max(0, t.due - now))
end

--- "done in 12 ms -> approve", "failed in 3 ms: no; again in 1 s".
function progress.outcome(t, now)
  local word = t.outcome
  local took = duration.show(t.elapsed or 0)
  if word == "done" then
    return ("done in %s%s"):format(took, arrow(t.detail))
  elseif moved[word] then
    return word .. arrow(t.detail)
  elseif word == "retry" then
    return ("failed in %s: %s; %s"):format(took, quote(t.detail),
      again(t, now))
  end
  return ("%s in %s%s"):format(word, took,
    t.detail ~= "" and ": " .. quote(t.detail) or "")
end

local function attempt_of(t)
  if t.kind ~= "step" then return "" end
  return (" attempt %d"):format(t.attempt)
end

--- For pipes and logs: "step reserve attempt 1 done in 12 ms -> approve".
function progress.line(t, now)
  if t.kind == "instance" then
    return ("instance %s %s%s"):format(t.instance, t.outcome,
      t.detail ~= "" and ": " .. quote(t.detail) or "")
  end
  return ("%s %s%s %s"):format(t.kind, quote(t.node), attempt_of(t),
    progress.outcome(t, now))
end

local marks = {
  done = { "✓", "ok", "green" }, fired = { "✓", "ok", "green" },
  received = { "✓", "ok", "green" }, met = { "✓", "ok", "green" },
  rescheduled = { "✓", "ok", "green" },
  undone = { "↶", "undone", "yellow" },
  retry = { "↻", "again", "yellow" }, failed = { "✗", "failed", "red" },
}

local function what_of(t, now)
  local word, took = t.outcome, duration.show(t.elapsed or 0)
  if moved[word] then
    return (word == "fired" and "" or word .. " ") .. arrow(t.detail):sub(2)
  elseif word == "done" then
    return took .. (" " .. arrow(t.detail)):gsub("%s+$", "")
  elseif word == "retry" then
    return ("%s  %s; %s"):format(took, quote(t.detail), again(t, now))
  end
  return ("%s  %s"):format(took, quote(t.detail))
end

--- For terminals, to be coloured and cut: the mark's colour, the mark, and
--- "reserve  attempt 2  12 ms  -> approve". Of a first attempt nothing is said.
---@return string color
---@return string mark
---@return string text
function progress.parts(t, now)
  local mark = marks[t.outcome] or { "!", "!", "yellow" }
  local shown = term.mark(mark[1], mark[2])
  if t.kind == "instance" then
    return mark[3], shown, t.outcome .. (t.detail ~= ""
      and ": " .. quote(t.detail) or "")
  end
  local again_ = t.kind == "step" and t.attempt > 1
    and "  attempt " .. t.attempt or ""
  return mark[3], shown, ("%s%s  %s"):format(quote(t.node), again_,
    what_of(t, now))
end

--- For terminals: "✓ reserve  attempt 1  12 ms  -> approve".
function progress.pretty(t, now)
  local mark = marks[t.outcome] or { "!", "!", "yellow" }
  return ("%s %s%s  %s"):format(
    term.paint(mark[3], term.mark(mark[1], mark[2])), quote(t.node),
    t.kind == "step" and "  attempt " .. t.attempt or "", what_of(t, now))
end

-- What an executor does that runs it; other rows come from outside too.
local deeds = { step = true, failed = true, timer = true, received = true,
  condition = true, timeout = true, task = true, child = true, each = true,
  undone = true, undo_failed = true, recovered = true, rescheduled = true }

--- Is this row of the history what somebody did who runs the instance?
function progress.is_deed(entry) return deeds[entry.type] or false end

local words = { step = "done", failed = "failed", timer = "fired",
  condition = "met", started = "started", routed = "routed",
  recovered = "recovered", suspended = "suspended", cancelled = "cancelled" }

--- A row of the history, for an instance that another process runs.
function progress.entry(entry)
  local took = format.between(entry.started, entry.completed)
  local parts = { words[entry.type] or entry.type }
  if took then parts[#parts + 1] = "in " .. duration.show(took) end
  local why = format.error(entry.error)
    or type(entry.text) == "string" and entry.text
  local text = table.concat(parts, " ")
  if why then text = text .. ": " .. term.brief(why) end
  if type(entry.path) == "string" then text = text .. arrow(entry.path) end
  local attempt = entry.type == "step" or entry.type == "failed"
  return ("%s %s%s %s"):format(entry.type == "timer" and "timer" or "step",
    type(entry.node) == "string" and quote(entry.node) or "-",
    attempt and (" attempt %d"):format(entry.attempt or 1) or "", text)
end

return progress
