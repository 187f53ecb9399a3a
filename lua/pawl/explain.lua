--- An explanation (pawl_explain in pawl.h) in sentences: where an instance
--- stands, what each token waits for, what would move it, why nothing moves.
local core = require "pawl.core"
local duration = require "pawl.duration"
local kinds = require "pawl.kinds"
local words = require "pawl.words"

local explain = {}

---- the instance as a whole --------------------------------------------------

local function identity(data)
  return data.version and data.version > 0
    and ("%s %d"):format(data.workflow, data.version) or data.workflow
end

--- What may be done about one that failed: nothing says where it stood when it
--- ended at a finish, or what it had done was undone.
local function again(data)
  if data.status ~= "failed" or data.deleted or data.archived then
    return ""
  end
  if not data.can_retry then
    return (" `pawl restart %s --from NODE` lets it go on."):format(data.id)
  end
  return (" `pawl retry %s` lets it try again where it failed, `pawl restart "
    .. "%s --from NODE` from another node."):format(data.id, data.id)
end

local function ended(data)
  local text = ("%s is %s since %s"):format(identity(data), data.status,
    words.when(data, data.completed))
  -- after undoing the node is the last that was undone
  if data.node and not data.compensation then
    text = ("%s, at %s"):format(text, words.quoted(data.node))
  end
  if data.status == "cancelled" and data.cancellation then
    return text .. words.who_why(data.cancellation.who or data.cancellation.by,
      data.cancellation.reason) .. "."
  end
  local err = words.error(data.error)
  return text .. (err and ": " .. err or "") .. "." .. again(data)
end

local function headline(data)
  if data.completed then return ended(data) end
  if data.status == "created" then
    return ("%s was created %s and has not begun."):format(identity(data),
      words.when(data, data.created))
  end
  if not data.started and data.lease then
    return ("%s is %s; it was created %s, and taken up %s."):format(
      identity(data), data.status, words.when(data, data.created),
      words.when(data, data.lease.since))
  end
  return ("%s is %s; it began %s."):format(identity(data), data.status,
    words.when(data, data.started or data.created))
end

--- Whether it is hidden, and how it comes back.
local function put_away(data)
  local deleted, archived = data.deleted, data.archived
  if archived then
    return ("It was archived %s%s. `pawl unarchive %s` brings it back."):format(
      words.when(data, archived.at),
      words.who_why(archived.by, archived.reason), data.id)
  end
  if not deleted then return end
  local by = words.who_why(deleted.by, deleted.reason)
  if not deleted.at then
    return ("It is to be deleted when it has ended, as was asked%s."):format(by)
  elseif deleted.purge_at then
    return ("It was being purged %s, and parts of it are gone%s. `pawl purge "
      .. "%s` takes the rest."):format(words.when(data, deleted.purge_at), by,
      data.id)
  end
  return ("It was deleted %s%s. `pawl undelete %s` takes it back."):format(
    words.when(data, deleted.at), by, data.id)
end

local blocked = {}

--- It goes on elsewhere, and stands still here.
local function carried(data)
  return ("It was carried to another store %s%s, and stands still here. `pawl "
    .. "reclaim %s` takes it back, if nobody has imported it."):format(
    words.when(data, data.away.at),
    words.who_why(data.away.by, data.away.reason), data.id)
end

function blocked.suspended(data)
  if data.away then return carried(data) end
  local s = data.suspended
  local err = words.error(data.error)
  return ("Nothing moves: it is suspended%s%s. `pawl resume %s` lets it go "
    .. "on."):format(s.since and " since " .. words.when(data, s.since) or "",
    words.who_why(s.by, s.reason or err), data.id)
end

function blocked.workflow_suspended(data)
  local s = data.workflow_suspended
  return ("Nothing moves: %s %s suspended since %s%s. `pawl workflow "
    .. "resume %s%s` lets %s go on."):format(
    s.prefix and "all workflows that begin with " .. words.quoted(s.code)
    or "the workflow " .. words.quoted(s.code), s.prefix and "are" or "is",
    words.when(data, s.since), words.who_why(s.by, s.reason),
    s.prefix and "--prefix " or "", words.word(s.code),
    s.prefix and "them" or "it")
end

function blocked.unknown_workflow(data)
  return ("Nothing moves: no worker has ever loaded %s. It waits for one of "
    .. "the group %s that has its file: `pawl worker FILE`."):format(
    identity(data), words.quoted(data.group))
end

function blocked.unseen(data)
  return ("Nothing moves: %s. `pawl wake %s` has it looked at, and `pawl "
    .. "health --repair` all that stand like it."):format(data.unseen, data.id)
end

function blocked.no_worker(data)
  return ("It is due since %s, but no worker of the group %s is running: "
    .. "`pawl worker` starts one."):format(words.when(data, data.idle_since),
    words.quoted(data.group))
end

function blocked.not_taken(data)
  return ("It is due since %s, but none of the %s of the group %s has taken "
    .. "it: they are busy, or serve other workflows."):format(
    words.when(data, data.idle_since),
    words.plural(data.workers, "running worker"), words.quoted(data.group))
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
      name, words.when(data, l["until"]))
  end
  return ("%s holds it, until %s if no heartbeat comes."):format(name,
    words.when(data, l["until"]))
end

--- It was cancelled, and goes on to clean up.
local function cleaning(data)
  local c = data.cancellation
  if data.completed or not c or not c.cleaning_since then return nil end
  return ("It was cancelled%s, and cleans up since %s; then it is cancelled.")
    :format(words.who_why(c.who or c.by, c.reason),
      words.when(data, c.cleaning_since))
end

--- The token at what is undone next; beside others, where a node has it undone.
local function undone_next(data)
  local c = data.compensation
  if not c.by then return data.tokens[1] end
  for _, token in ipairs(data.tokens) do
    if token.no == c.token then return token end
  end
end

local function compensation(data)
  local c = data.compensation
  local undone, failed = c.undone or 0, c.undo_failed or 0
  local planned = words.plural(c.planned or 0, "step")
  local failures = failed > 0 and (", %d of which failed"):format(failed)
    or ""
  if c.by and c.status == "planning" then
    return ("%s is about to undo what was done, newest first."):format(
      words.quoted(c.node))
  elseif c.status == "planning" then
    return ("%s; what it had done is about to be undone, newest first.")
      :format(c["end"] == "cancelled" and "It was cancelled"
      or "It has failed" .. (words.error(c.error) and " with "
      .. words.error(c.error) or ""))
  elseif c.status == "stopped" then
    return ("Undoing what it had done was stopped after %d of %s%s."):format(
      undone + failed, planned, failures)
  elseif c.status ~= "running" then
    return ("What it had done was undone: %s%s."):format(
      words.plural(undone + failed, "step"), failures)
  end
  local next_one = undone_next(data)
  return ("%s, newest first: %d of %s done%s%s."):format(
    c.by and words.quoted(c.node) .. " undoes what was done"
      or "What it has done is being undone", undone + failed, planned,
    failed > 0 and (", %d of them failed"):format(failed) or "",
    next_one and "; next is " .. words.quoted(next_one.node) or "")
end

---- what a token waits for ---------------------------------------------------

--- By `waiting_for.what`: its turn and a delay may be any node's, the others
--- are a kind's own.
local waits = {}

for _, name in ipairs(kinds.names) do
  local kind = kinds[name]
  if kind.waits_for then waits[kind.waits_for] = kind.sentence end
  for what, sentence in pairs(kind.also or {}) do waits[what] = sentence end
end

--- How long the holder has had this token at its node: the handler cannot
--- have run for longer. The first token is there with its step's record.
local function held_for(data, token)
  local from = core.time_parse(data.lease.since)
  local since = token and token.since and core.time_parse(token.since)
  if since then from = math.max(from, since) end
  return duration.show(math.max(core.time_parse(data.now) - from, 0) / 1e6)
end

--- The store is not told when a handler waits: only its worker knows.
local RUNS <const> = "it runs, or waits in `ctx.await`, in the"

--- Whether its handler has begun is known when it has told of itself; one of
--- many that were taken together may come after others.
local function under_way(data, token)
  local l = data.lease
  if data.progress ~= nil and #data.tokens < 2 then
    local text = core.json_encode(data.progress)
    return ("%s %s, which has had it for %s; it last told: %s."):format(RUNS,
      holder(l), held_for(data, token), text)
  end
  return ("%s %s, which has had it for %s, or is next there."):format(RUNS,
    holder(l), held_for(data, token))
end

function waits.worker(data, token, w)
  if data.lease and not data.lease.lapsed and not data.suspended then
    return under_way(data, token)
  end
  local err = words.error(w.error)
  return ("it is its turn: it runs when a worker takes it%s."):format(
    err and " (the attempt before failed with " .. err .. ")" or "")
end

function waits.retry(data, _, w)
  local err = words.error(w.error)
  local told = data.progress ~= nil and #data.tokens < 2
    and (" It had told: %s; the next one is given that."):format(
      core.json_encode(data.progress)) or ""
  -- what passes, as short memory does, has attempts beside the node's own
  local most = w.failed < w.attempts and (" of %d"):format(w.attempts) or ""
  return ("attempt %d%s failed%s; it is tried again at %s.%s"):format(w.failed,
    most, err and " with " .. err or "", words.when(data, w.at), told)
end

--- Who has set it, or stepped here; and how it goes on.
function waits.breakpoint(data, token, w)
  local err = words.error(w.error)
  local one = #data.tokens > 1 and " --token " .. token.no or ""
  return ("it has halted since %s, %s%s%s. `pawl continue %s%s` lets it go "
    .. "on, `pawl step %s%s` to its next node; it goes on by itself at %s.")
    :format(words.when(data, w.since),
    w.steps and "behind a step" or "at a breakpoint",
    words.who_why(w.by, w.reason),
    err and " (the breakpoint's condition failed: " .. err .. ")" or "",
    data.id, one, data.id, one, words.when(data, w["until"]))
end

local function token_sentence(data, token, several)
  local who = "It stands at "
  if several then
    who = ("Token %d%s stands at "):format(token.no,
      token.branch and (" (branch %s of %s)"):format(words.quoted(token.branch),
      words.quoted(token.fork)) or "")
  end
  local text = data.away
    and "it stands still until `pawl reclaim` takes the instance back."
    or waits[token.waiting_for.what](data, token, token.waiting_for)
  return ("%s%s%s%s%s: %s"):format(who, token.kind and token.kind .. " " or "",
    words.quoted(token.node),
    token.beside and ", beside " .. words.quoted(token.beside) or "",
    token.since and " since " .. words.when(data, token.since) or "", text)
end

---- what comes and goes ------------------------------------------------------

local function letter(l)
  return l.kind .. (l.name and " " .. words.quoted(l.name) or "")
    .. words.who_why(l.by)
end

--- What is done while handlers of the instance wait, and what comes to a node:
--- all else waits until they are back, and the other branches with it.
local BESIDE = { event = true, child = true, task = true, edit = true,
  wake = true, note = true, continue = true, step = true, heed = true }

local function waits_for_handler(data)
  local runs, asked = false, nil
  for _, token in ipairs(data.tokens) do
    runs = runs or token.waiting_for.what == "worker"
  end
  for _, l in ipairs(data.inbox) do
    if not BESIDE[l.kind] then asked = asked or l.kind end
  end
  return runs and data.lease and not data.lease.lapsed and asked
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
  local more = data.inbox_total - #data.inbox
  local behind = waits_for_handler(data)
  return ("%s: %s%s.%s"):format(said,
    table.concat(words.mapped(data.inbox, letter), ", "),
    more > 0 and (", and %d more"):format(more) or "",
    behind and (" What is to %s waits for the handler that runs, and so do "
      .. "other branches meanwhile."):format(behind) or "")
end

local function children(data)
  local function child(c)
    return ("%s of %s, %s"):format(c.id, c.workflow, c.status)
  end
  return ("Its living children: %s."):format(
    table.concat(words.mapped(data.children, child), "; "))
end

local function next_look(data)
  if data.lease then return nil end
  if not data.next_look then
    return "Nothing is scheduled: only something from outside moves it."
  end
  return ("It is looked at next at %s."):format(
    words.when(data, data.next_look))
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
  add(put_away(data))
  for _, reason in ipairs(data.blocked) do
    if is_told(data, reason) then add(blocked[reason](data)) end
  end
  if data.lease then add(lease(data)) end
  if data.compensation then add(compensation(data)) end
  add(cleaning(data))
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
      words.plural(data.undelivered, "message is", "messages are")))
  end
  if data.completed then return out end
  if data.deadline then
    add("Its deadline is " .. words.when(data, data.deadline) .. ".")
  end
  if data.parent then
    add(("It was started by %s%s."):format(data.parent,
      data.parent_node and ", at " .. words.quoted(data.parent_node) or ""))
  end
  if not data.suspended then add(next_look(data)) end
  return out
end

return explain
