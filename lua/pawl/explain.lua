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

--- A word of a command, as the shell reads it back.
local function word(text)
  text = tostring(text)
  if text:find("^[%w@%%+=:,./_-]+$") then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
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

--- What may be done about one that failed: nothing says where it stood when it
--- ended at a finish, or what it had done was undone.
local function again(data)
  if data.status ~= "failed" then return "" end
  if not data.can_retry then
    return (" `pawl restart %s --from NODE` lets it go on."):format(data.id)
  end
  return (" `pawl retry %s` lets it try again where it failed, `pawl restart "
    .. "%s --from NODE` from another node."):format(data.id, data.id)
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
  return text .. (err and ": " .. err or "") .. "." .. again(data)
end

local function headline(data)
  if data.completed then return ended(data) end
  if data.status == "created" then
    return ("%s was created %s and has not begun."):format(identity(data),
      when(data, data.created))
  end
  if not data.started and data.lease then
    return ("%s is %s; it was created %s, and taken up %s."):format(
      identity(data), data.status, when(data, data.created),
      when(data, data.lease.since))
  end
  return ("%s is %s; it began %s."):format(identity(data), data.status,
    when(data, data.started or data.created))
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
  return ("Nothing moves: %s %s suspended since %s%s. `pawl resume --%s %s` "
    .. "lets %s go on."):format(
    s.prefix and "all workflows that begin with " .. quoted(s.code)
    or "the workflow " .. quoted(s.code), s.prefix and "are" or "is",
    when(data, s.since), who_why(s.by, s.reason),
    s.prefix and "prefix" or "workflow", word(s.code),
    s.prefix and "them" or "it")
end

function blocked.unknown_workflow(data)
  return ("Nothing moves: no worker has ever loaded %s. It waits for one of "
    .. "the group %s that has its file: `pawl worker FILE`."):format(
    identity(data), quoted(data.group))
end

function blocked.unseen(data)
  return ("Nothing moves: %s. `pawl wake %s` has it looked at, and `pawl "
    .. "health --repair` all that stand like it."):format(data.unseen, data.id)
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

--- While it is suspended no worker would take it: one is not missed.
local function is_told(data, reason)
  return reason ~= "no_worker"
    or not data.suspended and not data.workflow_suspended
end

--- "worker 28570 on host".
local function holder(l)
  return l.pid and ("worker %d on %s"):format(l.pid, l.host)
    or "executor " .. tostring(l.executor)
end

local function lease(data)
  local l = data.lease
  local name = "The " .. holder(l)
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
  local planned = plural(c.planned or 0, "step")
  local failures = failed > 0 and (", %d of which failed"):format(failed)
    or ""
  if c.status == "planning" then
    return ("%s; what it had done is about to be undone, newest first.")
      :format(c["end"] == "cancelled" and "It was cancelled"
      or "It has failed" .. (error_text(c.error) and " with "
      .. error_text(c.error) or ""))
  elseif c.status == "stopped" then
    return ("Undoing what it had done was stopped after %d of %s%s."):format(
      undone + failed, planned, failures)
  elseif c.status ~= "running" then
    return ("What it had done was undone: %s%s."):format(
      plural(undone + failed, "step"), failures)
  end
  local next_one = data.tokens[1]
  return ("What it has done is being undone, newest first: %d of %s "
    .. "done%s%s."):format(undone + failed, planned,
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

--- How long the holder has had this token at its node: the handler cannot
--- have run for longer. The first token is there with its step's record.
local function held_for(data, token)
  local from = core.time_parse(data.lease.since)
  local since = token and token.since and core.time_parse(token.since)
  if since then from = math.max(from, since) end
  return duration.show(math.max(core.time_parse(data.now) - from, 0) / 1e6)
end

--- Whether its handler has begun is known when it has told of itself; one of
--- many that were taken together may come after others.
local function under_way(data, token)
  local l = data.lease
  if data.progress ~= nil and #data.tokens < 2 then
    local text = core.json_encode(data.progress)
    return ("it runs in the %s, which has had it for %s; it last told: %s.")
      :format(holder(l), held_for(data, token), text)
  end
  return ("it runs in the %s, which has had it for %s, or is next there.")
    :format(holder(l), held_for(data, token))
end

function waits.worker(data, token, w)
  if data.lease and not data.lease.lapsed and not data.suspended then
    return under_way(data, token)
  end
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
local function signal_command(w, id)
  return ("`pawl signal %s%s%s`"):format((w.event:gsub("%*$", "NAME")),
    w.key and " --key " .. word(w.key) or "",
    w.key and "" or " --instance " .. id)
end

local function judged(w)
  local failed = w.match_failed or 0
  local declined = w.turned_down - failed
  local text = ""
  if declined > 0 then
    text = (" %s turned down by its `match`."):format(declined == 1
      and "One event was" or declined .. " events were")
  end
  if failed > 0 then
    text = ("%s Its `match` failed for %s%s."):format(text,
      plural(failed, "event"), w.error and ", with " .. error_text(w.error)
      or "")
  end
  return text
end

function waits.event(data, token, w)
  local to = way_of(token, "event").to
  local text = ("it waits for the event %s%s%s; %s moves it%s."):format(
    quoted(w.event), w.key and " with the key " .. quoted(w.key) or "",
    w.match and ", if its `match` agrees" or "",
    signal_command(w, data.id), to and " to " .. quoted(to) or "")
  return text .. judged(w) .. timeout_of(data, token)
end

local function person(who)
  if who.kind == "anybody" then return "anybody" end
  return who.kind .. " " .. quoted(who.id)
end

--- Those who may do a task; who has to resume it first is no one of them.
local function people_of(token)
  local people = {}
  for _, who in ipairs(token.may) do
    if who.kind ~= "operator" then people[#people + 1] = person(who) end
  end
  return any_of(people)
end

--- Who it may be, as options: a user by name, else one of a role or a group.
local function as_whom(token)
  local by = {}
  for _, who in ipairs(token.may) do by[who.kind] = by[who.kind] or who.id end
  if by.user then return "--user " .. word(by.user) end
  if by.role then return "--user NAME --role " .. word(by.role) end
  if by.group then return "--user NAME --group " .. word(by.group) end
  return "--user NAME"
end

--- The command that completes a task, and what else may be taken.
local function completion(token, w)
  local names = way_of(token, "person").outcomes or {}
  local others = {}
  for i = 2, #names do others[i - 1] = "`--take " .. word(names[i]) .. "`" end
  return ("`pawl task complete %s %s%s` moves it%s"):format(w.task,
    w.claimed_by and "--user " .. word(w.claimed_by) or as_whom(token),
    names[1] and " --take " .. word(names[1]) or "",
    #others > 0 and " (or " .. any_of(others) .. ")" or "")
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
  local people = people_of(token)
  if w.status == "failed" then
    text = ("the task %s has failed%s; `pawl task retry %s` opens it again.")
      :format(quoted(w.title), w.error and " with " .. error_text(w.error)
      or "", w.task)
  elseif w.claimed_by then
    text = ("it waits for %s, who has claimed the task %s; %s."):format(
      quoted(w.claimed_by), quoted(w.title), completion(token, w))
  else
    text = ("it waits for %s to do the task %s; %s."):format(people,
      quoted(w.title), completion(token, w))
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
  if way_of(token, "resume").what then
    text = text .. " First an operator has to resume the instance."
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

--- Events that no wait wanted stay; of one that is not due, all are such.
local function inbox(data)
  local asked, new = 0, data.lease or data.idle_since
  for _, l in ipairs(data.inbox) do new = new or l.kind ~= "event" end
  for _, token in ipairs(data.tokens) do
    asked = asked + (token.waiting_for.turned_down or 0)
  end
  local said = not new and "Has come in and is kept for a wait that takes it"
    or asked > 0 and "Has come in and is not taken"
    or "Has come in and is still to be looked at"
  return ("%s: %s."):format(said,
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

--- What holds it as a whole, though it could go on.
---@param data pawl.Explanation
---@return string[]
function explain.held(data)
  local out = {}
  if data.suspended then out[1] = blocked.suspended(data) end
  if data.workflow_suspended then
    out[#out + 1] = blocked.workflow_suspended(data)
  end
  return out
end

--- Where one of its tokens stands and what would move it.
---@param data pawl.Explanation
---@param token pawl.ExplainedToken  of data.tokens
---@return string
function explain.token(data, token)
  return token_sentence(data, token, #data.tokens > 1)
end

--- The sentences, most important first. Plain text, times in UTC.
---@param data pawl.Explanation
---@return string[]
function explain.sentences(data)
  local out = {}
  local function add(text) if text then out[#out + 1] = text end end
  add(headline(data))
  for _, reason in ipairs(data.blocked) do
    if is_told(data, reason) then add(blocked[reason](data)) end
  end
  if data.lease then add(lease(data)) end
  if data.compensation then add(compensation(data)) end
  if data.status == "running" and not data.started and data.lease
    and not data.lease.lapsed then
    add((under_way(data):gsub("^i", "I")))
  end
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
