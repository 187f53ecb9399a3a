--- An explanation (pawl_explain in pawl.h) in sentences: where an instance
--- stands, what each token waits for, what would move it, why nothing moves.
local core = require "pawl.core"
local duration = require "pawl.duration"

local explain = {}

---- words --------------------------------------------------------------------

local function quoted(text) return '"' .. tostring(text) .. '"' end

local function clock(text) return (text:sub(1, 19):gsub("T", " ")) end

--- "2026-11-21 07:38:00 (in 5 min)", seen from the explanation's own time.
local function when(data, text)
  local at, now = core.time_parse(text), core.time_parse(data.now)
  local seconds = (at - now) / 1e6
  if math.abs(seconds) < 1 then return clock(text) .. " (now)" end
  local span = duration.show(math.abs(seconds))
  return ("%s (%s)"):format(clock(text),
    seconds > 0 and "in " .. span or span .. " ago")
end

--- "", ' by ann', ': "stuck"', ' by ann: "stuck"'.
local function who_why(by, reason)
  return (by and " by " .. by or "")
    .. (reason and reason ~= "" and ": " .. reason or "")
end

local function plural(n, one, many)
  return ("%d %s"):format(n, n == 1 and one or many or one .. "s")
end

--- "a", "a or b", "a, b or c".
local function any_of(words)
  if #words < 2 then return words[1] or "nobody" end
  return table.concat(words, ", ", 1, #words - 1) .. " or " .. words[#words]
end

local function mapped(list, fn)
  local out = {}
  for i, value in ipairs(list) do out[i] = fn(value) end
  return out
end

local function error_text(err)
  if type(err) ~= "table" then return nil end
  local code = err.reason or err.code
  local message = tostring(err.message or "")
  return code and code ~= "script" and code .. ": " .. message or message
end

---- the instance as a whole --------------------------------------------------

local function identity(data)
  return data.version and data.version > 0
    and ("%s %d"):format(data.workflow, data.version) or data.workflow
end

local function ended(data)
  local text = ("%s is %s since %s"):format(identity(data), data.status,
    when(data, data.completed))
  -- after undoing the node is the last that was undone
  if data.node and not data.compensation then
    text = ("%s, at %s"):format(text, quoted(data.node))
  end
  if data.status == "cancelled" and data.cancellation then
    return text .. who_why(data.cancellation.who or data.cancellation.by,
      data.cancellation.reason) .. "."
  end
  local err = error_text(data.error)
  return text .. (err and ": " .. err or "") .. "."
end

local function headline(data)
  if data.completed then return ended(data) end
  if data.status == "created" then
    return ("%s was created %s and has not begun."):format(identity(data),
      when(data, data.created))
  end
  return ("%s is %s; it began %s."):format(identity(data), data.status,
    data.started and when(data, data.started) or when(data, data.created))
end

local blocked = {}

function blocked.suspended(data)
  local s = data.suspended
  local err = error_text(data.error)
  return ("Nothing moves: it is suspended%s%s. `pawl resume %s` lets it go "
    .. "on."):format(s.since and " since " .. when(data, s.since) or "",
    who_why(s.by, s.reason or err), data.id)
end

function blocked.workflow_suspended(data)
  local s = data.workflow_suspended
  return ("Nothing moves: %s %s suspended since %s%s."):format(
    s.prefix and "all workflows that begin with " .. quoted(s.code)
    or "the workflow " .. quoted(s.code), s.prefix and "are" or "is",
    when(data, s.since), who_why(s.by, s.reason))
end

function blocked.unknown_workflow(data)
  return ("Nothing moves: no worker has ever loaded %s. Start one that has "
    .. "its file."):format(identity(data))
end

function blocked.no_worker(data)
  return ("It is due since %s, but no worker of the group %s is running: "
    .. "`pawl worker` starts one."):format(when(data, data.idle_since),
    quoted(data.group))
end

function blocked.not_taken(data)
  return ("It is due since %s, but none of the %s of the group %s has taken "
    .. "it: they are busy, or serve other workflows."):format(
    when(data, data.idle_since), plural(data.workers, "running worker"),
    quoted(data.group))
end

local function lease(data)
  local l = data.lease
  local name = l.pid and ("The worker %d on %s"):format(l.pid, l.host)
    or "The executor " .. tostring(l.executor)
  if l.lapsed then
    return ("%s held it until %s; the next worker takes it over."):format(
      name, when(data, l["until"]))
  end
  return ("%s holds it, until %s if it does not renew that."):format(name,
    when(data, l["until"]))
end

local function compensation(data)
  local c = data.compensation
  local undone, failed = c.undone or 0, c.undo_failed or 0
  if c.status ~= "running" then
    return ("What it had done was undone: %s%s."):format(
      plural(undone + failed, "step"),
      failed > 0 and (", %d of which failed"):format(failed) or "")
  end
  local next_one = data.tokens[1]
  return ("What it has done is being undone, newest first: %d of %s "
    .. "done%s%s."):format(undone + failed, plural(c.planned or 0, "step"),
    failed > 0 and (", %d of them failed"):format(failed) or "",
    next_one and "; next is " .. quoted(next_one.node) or "")
end

---- what a token waits for ---------------------------------------------------

local function goes(to) return to and " and goes to " .. quoted(to) or "" end

local function timeout_of(data, token)
  for _, move in ipairs(token.would_move) do
    if move.what == "timeout" then
      return (" At %s it gives up%s."):format(when(data, move.at),
        move.to and goes(move.to) or " and fails with \"timeout\"")
    end
  end
  return ""
end

local function way_of(token, what)
  for _, move in ipairs(token.would_move) do
    if move.what == what then return move end
  end
  return {}
end

local waits = {}

function waits.worker(_, _, w)
  local err = error_text(w.error)
  return ("it is its turn: it runs when a worker takes it%s."):format(
    err and " (the attempt before failed with " .. err .. ")" or "")
end

function waits.retry(data, _, w)
  local err = error_text(w.error)
  return ("attempt %d of %d failed%s; it is tried again at %s."):format(
    w.failed, w.attempts, err and " with " .. err or "", when(data, w.at))
end

function waits.time(data, token, w)
  if not w.at then return "it waits for its time." end
  return ("it waits until %s%s."):format(when(data, w.at),
    goes(way_of(token, "time").to))
end

--- The command that would do it; of a pattern the last word is open.
local function signal_command(w)
  return ("`pawl signal %s%s`"):format((w.event:gsub("%*$", "NAME")),
    w.key and " --key " .. w.key or "")
end

function waits.event(data, token, w)
  local to = way_of(token, "event").to
  local text = ("it waits for the event %s%s%s; %s moves it%s."):format(
    quoted(w.event), w.key and " with the key " .. quoted(w.key) or "",
    w.match and ", if its `match` agrees" or "",
    signal_command(w) .. (w.key and "" or " --instance " .. data.id),
    to and " to " .. quoted(to) or "")
  if w.turned_down > 0 then
    text = text .. (" %s turned down by its `match`."):format(
      w.turned_down == 1 and "One event was"
      or w.turned_down .. " events were")
  end
  return text .. timeout_of(data, token)
end

local function person(who)
  if who.kind == "anybody" then return "anybody" end
  return who.kind .. " " .. quoted(who.id)
end

local function outcomes(token)
  local names = way_of(token, "person").outcomes or {}
  return #names == 0 and "" or " --take " .. table.concat(names, "|")
end

function waits.person(data, token, w)
  if not w.task then
    for _, letter in ipairs(data.inbox) do
      if letter.kind == "task" then
        return "its task has been dealt with; a worker takes that up next."
      end
    end
    return "its task is about to be created."
  end
  local text
  local people = any_of(mapped(token.may, person))
  if w.status == "failed" then
    text = ("the task %s has failed%s; `pawl task retry %s` opens it again.")
      :format(quoted(w.title), w.error and " with " .. error_text(w.error)
      or "", w.task)
  elseif w.claimed_by then
    text = ("it waits for %s, who has claimed the task %s; `pawl task "
      .. "complete %s --user %s%s` moves it."):format(quoted(w.claimed_by),
      quoted(w.title), w.task, w.claimed_by, outcomes(token))
  else
    text = ("it waits for %s to do the task %s; `pawl task complete %s "
      .. "--user NAME%s` moves it."):format(people, quoted(w.title), w.task,
      outcomes(token))
  end
  if w.due then
    text = text .. (w.overdue and " It is overdue since %s"
      or " It is due at %s"):format(when(data, w.due))
    local to = way_of(token, "overdue").to
    text = text .. (to and " and then goes to " .. quoted(to) or "") .. "."
  end
  if w.escalated then
    text = text .. (" It was escalated %s."):format(when(data, w.escalated))
  end
  return text .. timeout_of(data, token)
end

local function place(s)
  return ("token %d at %s%s"):format(s.no, quoted(s.node),
    s.branch and " (branch " .. quoted(s.branch) .. ")" or "")
end

function waits.siblings(_, token, w)
  local to = way_of(token, "siblings").to
  local wanted = w.expect == 0 and "all that can still come"
    or plural(w.expect, "token") .. " in all"
  local text = ("it waits for %s: %s here"):format(wanted,
    plural(w.arrived, "is", "are"))
  local names = mapped(w.siblings, place)
  if #names > 0 then
    text = text .. ", missing " .. (#names == 1 and "is " or "are ")
      .. table.concat(names, ", ")
  end
  return text .. (to and "; then it goes to " .. quoted(to) or "") .. "."
end

function waits.child(data, token, w)
  local state = not w.status and "is about to be started"
    or (w.status == "completed" or w.status == "failed"
      or w.status == "cancelled") and "is " .. w.status
      .. "; its result is on the way"
    or "is " .. w.status .. " (`pawl explain " .. w.child .. "` tells more)"
  return ("it waits for its child, an instance of %s, which %s.%s"):format(
    w.workflow, state, timeout_of(data, token))
end

function waits.items(data, token, w)
  local text = ("it waits for its items: %d of %d are done"):format(w.done,
    w.total)
  if w.failed > 0 then text = ("%s, %d failed"):format(text, w.failed) end
  return ("%s, %d under way (%d at most).%s"):format(text, w.under_way,
    w.window, timeout_of(data, token))
end

local function token_sentence(data, token, several)
  local who = "It stands at "
  if several then
    who = ("Token %d%s stands at "):format(token.no,
      token.branch and (" (branch %s of %s)"):format(quoted(token.branch),
      quoted(token.fork)) or "")
  end
  local text = waits[token.waiting_for.what](data, token, token.waiting_for)
  return ("%s%s%s%s: %s"):format(who, token.kind and token.kind .. " " or "",
    quoted(token.node),
    token.since and " since " .. when(data, token.since) or "", text)
end

---- what comes and goes ------------------------------------------------------

local function letter(l)
  return l.kind .. (l.name and " " .. quoted(l.name) or "")
    .. (l.by and " by " .. l.by or "")
end

local function inbox(data)
  return ("Has come in and is still to be looked at: %s."):format(
    table.concat(mapped(data.inbox, letter), ", "))
end

local function children(data)
  local function child(c)
    return ("%s of %s, %s"):format(c.id, c.workflow, c.status)
  end
  return ("Its living children: %s."):format(
    table.concat(mapped(data.children, child), "; "))
end

local function next_look(data)
  if data.lease then return nil end
  if not data.next_look then
    return "Nothing is scheduled: only something from outside moves it."
  end
  return ("It is looked at next at %s."):format(when(data, data.next_look))
end

--- The sentences, most important first. Plain text, times in UTC.
---@param data pawl.Explanation
---@return string[]
function explain.sentences(data)
  local out = {}
  local function add(text) if text then out[#out + 1] = text end end
  add(headline(data))
  for _, word in ipairs(data.blocked) do add(blocked[word](data)) end
  if data.lease then add(lease(data)) end
  if data.compensation then add(compensation(data)) end
  for _, token in ipairs(data.tokens) do
    add(token_sentence(data, token, #data.tokens > 1))
  end
  if #data.children > 0 then add(children(data)) end
  if #data.inbox > 0 then add(inbox(data)) end
  if data.undelivered > 0 then
    add(("%s to other instances still to be delivered."):format(
      plural(data.undelivered, "message is", "messages are")))
  end
  if data.completed then return out end
  if data.deadline then
    add("Its deadline is " .. when(data, data.deadline) .. ".")
  end
  if data.parent then
    add(("It was started by %s%s."):format(data.parent,
      data.parent_node and ", at " .. quoted(data.parent_node) or ""))
  end
  if not data.suspended then add(next_look(data)) end
  return out
end

return explain
