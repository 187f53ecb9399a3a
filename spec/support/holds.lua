--- What must hold of instances that play.lua plays: while they live, whenever
--- nothing moves by itself, and when they have ended. Each function raises
--- { what = the promise, text = what broke it }.
local graphs = require "spec.support.graphs"
local pawl = require "pawl"
local thrown = require "spec.support.torture.thrown"
local ways = require "spec.support.ways"

-- KEPT: rows that stay of a history with `keep_history`; these are short.
local holds = { KEPT = 3 }

local function broken(what, format, ...)
  error({ what = what, text = format:format(...) }, 0)
end

local function short(id) return id:sub(-8) end

local function given(value)
  if value == pawl.null then return nil end
  return value
end

--- What row 0 of its history tells of rows that went, of what is archived as
--- well; nil: all are there.
local function record_of(stage, id, data)
  if not given(data.trimmed) then return nil end
  for line in stage:must("export", id):gmatch "[^\n]+" do
    local row = pawl.json.decode(line)
    if row.is == "history" and row.seq == 0 then return row.output end
  end
end

--- Everything of an instance, its JSON exact.
local function read(stage, id)
  local one = {
    id = id,
    data = pawl.json.decode(stage:must("get", id, "json")),
    history = {},
    tokens = stage:must("tokens", id, { all = true }),
  }
  one.record = record_of(stage, id, one.data)
  for _, row in ipairs(pawl.json.decode(stage:must("history", id, nil,
    "json"))) do
    if row.type == "trimmed" then one.mark = row
    else one.history[#one.history + 1] = row end
  end
  one.upto = one.record and one.record.upto or 0
  return one
end

---- while it lives ----------------------------------------------------------

--- What the store has beside waiting tokens. Rows of rules that cancel have no
--- token.
local function rows_of(stage)
  local where = { wait = {}, task = {}, agenda = {}, leased = {},
    undoing = {} }
  local id = stage.backend.name == "sqlite" and "lower(hex(instance))"
    or "replace(instance::text, '-', '')"
  for _, row in ipairs(stage:sql("select " .. id .. " as id, token \
    from pawl.subscription where token > 0")) do
    where.wait[("%s %d"):format(row.id, row.token)] = row
  end
  for _, row in ipairs(stage:sql("select " .. id .. " as id, token, visit \
    from pawl.task where status in ('pending', 'running')")) do
    where.task[("%s %d %d"):format(row.id, row.token, row.visit)] = row
  end
  for _, row in ipairs(stage:sql("select " .. id .. " as id, (case when lease \
    is null then 0 else 1 end) as leased from pawl.agenda")) do
    where.agenda[row.id], where.leased[row.id] = true, row.leased == 1
  end
  for _, row in ipairs(stage:sql("select " .. id:gsub("instance", "id")
    .. " as id from pawl.instance where compensation is not null")) do
    where.undoing[row.id] = where.agenda[row.id]
  end
  return where
end

local can_move = {}

--- A row that belongs to a token that waits.
local function claim(rows, key)
  local row = rows[key]
  if row then row.is_used = true end
  return row ~= nil
end

--- It stands there as its condition does not hold, or somebody is to ask it.
local function is_shut(rows, id, vars, node)
  return rows.agenda[id] or not (vars["open_" .. node.name]
    or node.sees and (vars[node.sees] or 0) >= node.least)
end

function can_move.wait(rows, id, token, node, vars)
  if node.condition then return is_shut(rows, id, vars, node) end
  return claim(rows.wait, ("%s %d"):format(id, token.no))
end

--- What moves its time is heard by a number of its own.
local EAR <const> = 1 << 30

local function can_be_moved(rows, id, token)
  return claim(rows.wait, ("%s %d"):format(id, token.no + EAR))
end

function can_move.task(rows, id, token)
  return claim(rows.task, ("%s %d %d"):format(id, token.no, token.visit))
end

function can_move.call(_, _, token, _, children)
  local child = token.detail and token.detail.child
  return child and children[child]
end

--- Somebody else of the fork lives.
function can_move.join(_, _, token, tokens)
  local outermost = token.scope:match "^%d+"
  for _, other in ipairs(tokens) do
    if other.no ~= token.no and outermost
      and other.scope:match "^%d+" == outermost then
      return true
    end
  end
  return false
end

--- An item of it lives, here or as a child.
function can_move.each(_, _, token, tokens, _, waits_for)
  for _, other in ipairs(tokens) do
    for no in other.scope:gmatch "%d+" do
      if tonumber(no) == token.no then return true end
    end
  end
  return waits_for[token.node]
end

---- nobody waits unseen ------------------------------------------------------

local function plain(id) return (id:gsub("-", "")) end

local function means(pattern, name)
  if pattern:sub(-1) ~= "*" then return pattern == name end
  local first = pattern:sub(1, -2)
  return name:sub(1, #first) == first and not name:find(".", #first + 1, true)
end

--- What the store holds that a token may take, by instance: letters that were
--- not taken, and those that are known; events that were kept, by key.
local function news_of(stage)
  local id = stage.backend.name == "sqlite" and "lower(hex(instance))"
    or "replace(instance::text, '-', '')"
  local now = stage.backend.name == "sqlite"
    and ("%d"):format(stage.clock.us)
    or ("to_timestamp(%.6f)"):format(stage.clock:now())
  local news = { letters = {}, known = {}, kept = {}, wants = {} }
  for _, row in ipairs(stage:sql("select " .. id .. [[ as id, kind, name, key,
    event_id, (case when taken then 1 else 0 end) as taken,
    (case when addressed then 1 else 0 end) as addressed from pawl.inbox]])) do
    news.known[row.id .. (row.event_id or "")] = true
    if row.taken == 0 then
      news.letters[row.id] = news.letters[row.id] or {}
      table.insert(news.letters[row.id], row)
    end
  end
  local taker = id:gsub("instance", "taker")
  for _, row in ipairs(stage:sql("select source, id, name, key, "
    .. taker .. " as taker from pawl.event \
    where key is not null and expires_at > " .. now)) do
    news.kept[row.key] = news.kept[row.key] or {}
    table.insert(news.kept[row.key], row)
  end
  for _, row in ipairs(stage:sql("select " .. id .. " as id, token, pattern, \
    key from pawl.subscription where token > 0")) do
    news.wants[("%s %d"):format(row.id, row.token)] = row
  end
  return news
end

local function was_asked(token, event_id)
  for _, one in ipairs(token.detail and token.detail.asked or {}) do
    if one == event_id then return true end
  end
  return false
end

--- An event that a wait would take, and that nobody has shown it.
local function unseen_event(news, id, token, want, takes_one)
  for _, l in ipairs(news.letters[id] or {}) do
    local fits
    if want.key and l.key then fits = want.key == l.key
    else fits = l.addressed == 1 or not want.key and not l.key end
    if l.kind == "event" and fits and means(want.pattern, l.name)
      and not was_asked(token, l.event_id) then
      return l.event_id .. " in its inbox"
    end
  end
  for _, event in ipairs(news.kept[want.key or 0] or {}) do
    local event_id = event.source .. ":" .. event.id
    local is_others = takes_one and event.taker and event.taker ~= ""
      and event.taker ~= id
    if means(want.pattern, event.name) and not news.known[id .. event_id]
      and not is_others
      and not was_asked(token, event_id) then
      return event_id .. ", kept for its key"
    end
  end
end

local function unseen_items(token, node)
  local d = token.detail or {}
  local over = (d.done or 0) + (d.failed or 0)
  if over >= (d.total or 0) then return "that all its items have ended" end
  if (d.next or 0) < d.total and (d.live or 0) < node.window then
    return ("item %d of %d"):format(d.next or 0, d.total)
  end
end

--- Whoever waits has looked at what the store holds for it: nothing is due, so
--- nobody will look.
local function check_seen(stage, one, tokens, news)
  local id = plain(one.id)
  local function unseen(token, what)
    broken("nobody waits unseen", "token %d of %s at %s has not seen %s",
      token.no, short(one.id), token.node, what)
  end
  for _, token in ipairs(tokens) do
    local node = stage.nodes[one.flow][token.node]
    local what
    for _, no in ipairs { token.no, token.no + EAR } do
      local want = news.wants[("%s %d"):format(id, no)]
      if token.state == "waiting" and want then
        what = what or unseen_event(news, id, token, want,
          node.takes_one and no == token.no)
      end
    end
    if what then
      unseen(token, what)
    elseif token.state == "waiting" and node.kind == "each" then
      what = unseen_items(token, node)
    end
    if what then unseen(token, what) end
  end
  for _, l in ipairs(news.letters[id] or {}) do
    if l.kind ~= "event" then unseen(tokens[1], "a letter: " .. l.kind) end
  end
end

--- Nothing is due and no message is under way: each token stands where
--- something can still move it.
---@param stage spec.Stage
function holds.alive(stage)
  local rows, live, children = rows_of(stage), stage:live(), {}
  local news = news_of(stage)
  local waits_for, variables = {}, {}
  for _, one in ipairs(live) do
    local data = stage:must("get", one.id)
    children[one.id], variables[one.id] = true, data.variables
    if data.parent then
      waits_for[data.parent] = waits_for[data.parent] or {}
      waits_for[data.parent][data.parent_node] = true
    end
  end
  for _, one in ipairs(live) do
    local id = one.id:gsub("-", "")
    local tokens = stage:must("tokens", one.id)
    -- before its first decision an instance has none, nor while its first
    -- handler waits
    if #tokens == 0 and one.status ~= "suspended" and not rows.leased[id] then
      broken("no token is lost", "%s is %s and stands nowhere",
        short(one.id), one.status)
    end
    if one.status ~= "suspended" and not rows.leased[id] and #tokens > 0
      and not rows.undoing[id] then -- what comes meanwhile lies there
      check_seen(stage, one, tokens, news)
    end
    for _, token in ipairs(tokens) do
      local node = stage.nodes[one.flow][token.node]
      if not node then
        broken("no token is lost", "token %d of %s stands at '%s'", token.no,
          short(one.id), tostring(token.node))
      end
      local may
      if token.state == "active" or node.kind == "timer" then
        may = rows.agenda[id]
      else
        may = can_move[node.kind] and (node.kind == "wait"
          and can_move.wait(rows, id, token, node, variables[one.id])
          or node.kind ~= "wait" and can_move[node.kind](rows, id, token,
          tokens, children, waits_for[one.id] or {}))
          and (not token.due or rows.agenda[id])
      end
      if token.state == "waiting" and node.moved
        and (node.kind == "timer" or node.timeout) then
        may = can_be_moved(rows, id, token) and may
      end
      -- what has come meanwhile lies in its inbox, or with who holds it
      may = may or one.status == "suspended" or rows.leased[id]
        or rows.undoing[id]
      if not may then
        broken("no token is lost", "token %d of %s stands at %s, %s, and "
          .. "nothing will move it", token.no, short(one.id), token.node,
          token.state)
      end
    end
  end
  for _, kind in ipairs { "wait", "task" } do
    for key, row in pairs(rows[kind]) do
      if not row.is_used and not rows.leased[row.id] then
        broken("nothing remains of what waits no more", "a %s: %s", kind, key)
      end
    end
  end
end

---- when it has ended -------------------------------------------------------

local function check_store(stage)
  local row = stage:sql [[
    select (select count(*) from pawl.agenda) as agenda,
           (select count(*) from pawl.subscription) as subscription,
           (select count(*) from pawl.message) as message,
           (select count(*) from pawl.inbox b join pawl.instance i
                on i.shard = b.shard and i.id = b.instance
             where not b.taken
               and not (i.status = 'failed' and b.kind = 'event')) as inbox,
           (select count(*) from pawl.task
             where status in ('pending', 'running')) as task,
           (select count(*) from pawl.token
             where state in ('active', 'waiting')) as token]]
  for name, n in pairs(row[1]) do
    if n > 0 then
      broken("nothing remains of what has ended", "%d row%s of %s", n,
        n == 1 and "" or "s", name)
    end
  end
end

--- Events are told as gone only of an instance that will not take them: one
--- that has failed keeps them.
local function check_untaken(one)
  if one.data.status ~= "failed" then return end
  for _, row in ipairs(one.history) do
    if row.type == "untaken" and tostring(given(row.text)):find '^event "' then
      broken("what was accepted is not lost", "row %d of %s, which has "
        .. "failed: %s", row.seq, short(one.id), row.text)
    end
  end
end

local function check_tokens(one)
  for _, token in ipairs(one.tokens) do
    if token.state ~= "consumed" and token.state ~= "dropped" then
      broken("tokens end consumed or dropped", "token %d of %s is %s at %s",
        token.no, short(one.id), token.state, token.node)
    end
  end
end

--- Of what was trimmed there is what the record names, and what stays for ever;
--- and as many are gone as it says.
local function check_trimmed(one)
  local record, there, why = one.record, {}, "what is trimmed is told"
  if not record then return end
  for _, row in ipairs(one.history) do there[row.seq] = row end
  local named = {}
  for _, part in ipairs { "variables", "attributes" } do
    for name, seq in pairs(record[part]) do
      named[seq] = true
      if not there[seq] then
        broken(why, "%s of %s is held by row %d, which is gone", name,
          short(one.id), seq)
      end
    end
  end
  for _, open in ipairs(record.open) do
    named[open[1]] = true
    if not there[open[1]] then
      broken(why, "row %d of %s is kept, and gone", open[1], short(one.id))
    end
  end
  local kept = 0
  for seq, row in pairs(there) do
    if seq <= one.upto then kept = kept + 1 end
    if seq <= one.upto and not named[seq] and not row.request
      and row.type ~= "transferred" then
      broken(why, "row %d of %s is kept by nobody", seq, short(one.id))
    end
  end
  if record.rows ~= one.upto - kept
    or (one.mark ~= nil) ~= (record.rows > 0) then
    broken(why, "%d rows of %s are gone, not %d", one.upto - kept,
      short(one.id), record.rows)
  end
end

local function check_numbers(one)
  local next_one, there = 1, {}
  for i, row in ipairs(one.history) do
    if row.seq ~= next_one and not (row.seq > next_one
        and row.seq <= one.upto + 1) then
      broken("history is numbered without gaps", "row %d of %s is number %d",
        i, short(one.id), row.seq)
    end
    next_one, there[row.seq] = row.seq + 1, true
    local last = 0
    for _, seq in ipairs(given(row.previous) or {}) do
      if seq < last or seq >= row.seq then
        broken("what led to a row is listed in order", "row %d of %s: %s",
          i, short(one.id), pawl.json.encode(row.previous))
      end
      if not there[seq] and seq > one.upto then
        broken("what led to a row is there", "row %d of %s: row %d", row.seq,
          short(one.id), seq)
      end
      last = seq
    end
  end
end

local ENDS = { step = true, received = true, timer = true, task = true,
  child = true, each = true, timeout = true, condition = true }

--- What stands for a while says since when; nothing ends before it began.
local function check_times(one)
  for _, row in ipairs(one.history) do
    local began = given(row.started)
    if not began and ENDS[row.type] or began and began > row.completed then
      broken("a visit has its times", "row %d of %s: %s %s began %s, ended %s",
        row.seq, short(one.id), row.type, tostring(row.node),
        tostring(began), row.completed)
    end
  end
end

--- Completions of one visit, and what steps have counted in the variables.
local function check_visits(one)
  local seen, steps = {}, {}
  for _, row in ipairs(one.history) do
    if ENDS[row.type] then
      local visit = row.visit
      if seen[visit] then
        broken("a visit is recorded once", "rows %d and %d of %s: %s %s",
          seen[visit], row.seq, short(one.id), row.type, row.node)
      end
      seen[visit] = row.seq
    end
    if row.type == "step" then steps[row.node] = (steps[row.node] or 0) + 1 end
  end
  for node, n in pairs(steps) do
    local counted = one.data.variables[node]
    if counted ~= n and not (one.record and counted and counted > n) then
      broken("a step's effects happen once", "%s of %s is recorded %d times, "
        .. "and counted %s", node, short(one.id), n, tostring(counted))
    end
  end
end

--- What a handler noted tells of nothing but itself: the way onward and the
--- time due are its step's.
local function check_notes(one)
  for _, row in ipairs(one.history) do
    if row.type == "note" and (given(row.path) or given(row.due)) then
      broken("a note has no way onward", "row %d of %s: > %s, due %s", row.seq,
        short(one.id), tostring(given(row.path)), tostring(given(row.due)))
    end
  end
end

--- What is shown is what the last of the steps that show anything has shown.
local function check_shown(stage, one, nodes)
  local last
  for _, row in ipairs(one.history) do
    if row.type == "step" and nodes[row.node] and nodes[row.node].emits then
      last = row
    end
  end
  if not last then return end
  local shown = stage:must("published", one.id).ran or {}
  local wanted = last.changes.set[last.node]
  if shown[1] ~= last.node or shown[2] ~= wanted then
    broken("what is shown is the last that was", "%s shows %s, the last was "
      .. "%s %s", short(one.id), pawl.json.encode(shown), last.node,
      tostring(wanted))
  end
end

local DAY <const> = 24 * 3600

--- Answers are those of events that were taken or refused here; of the last
--- day, each that a wait with an `answer` took has one.
local function check_answers(stage, one, nodes)
  if given(one.data.archived) then return end -- its rows are put away
  local answers, events = {}, {}
  local id = stage.backend.name == "sqlite" and "lower(hex(instance))"
    or "replace(instance::text, '-', '')"
  for _, row in ipairs(stage:sql("select name from pawl.published "
    .. "where answers and " .. id .. " = '" .. plain(one.id) .. "'")) do
    answers[row.name] = true
  end
  for _, row in ipairs(one.history) do
    local event = given(row.changes) and row.changes.event
    if event then events[event.id] = true end
    local asks = event and (given(event.source) or "") == ""
    if asks and row.type == "received" and nodes[row.node]
      and nodes[row.node].into and not answers[event.id]
      and stage.clock:now() - pawl.time(row.completed) < DAY then
      broken("what was asked is answered", "row %d of %s took %s", row.seq,
        short(one.id), event.id)
    end
  end
  for name in pairs(answers) do
    -- what a child has told its parent is an event, too, of another id
    if name:find(stage.prefix .. "-", 1, true) == 1 and not events[name]
      and one.upto == 0 then
      broken("what is answered was asked", "%s of %s", name, short(one.id))
    end
  end
end

local function check_fold(one)
  local vars = {}
  for _, row in ipairs(one.history) do
    local changes = given(row.changes) or {}
    local is_whole = row.seq > one.upto
    for name, value in pairs(changes.set or {}) do
      if is_whole or one.record.variables[name] == row.seq then
        vars[name] = value
      end
    end
    for _, name in ipairs(is_whole and changes.unset or {}) do
      vars[name] = nil
    end
  end
  local folded = pawl.json.encode(vars)
  local stored = pawl.json.encode(one.data.variables)
  if next(vars) == nil then folded = "{}" end
  if next(one.data.variables) == nil then stored = "{}" end
  if folded ~= stored then
    broken("history folds back to the variables", "%s of %s, not %s", folded,
      short(one.id), stored)
  end
end

--- Nobody is dropped behind a join of all; arrivals are used once.
local function check_joins(stage, one, nodes)
  local used, by_seq = {}, {}
  for _, row in ipairs(one.history) do
    by_seq[row.seq] = row
    local node = row.node and nodes[row.node]
    if row.type == "dropped" and node and node.kind == "join"
      and not node.expect and tostring(row.text):find "too late" then
      broken("a join of all waits for all", "row %d of %s: %s came too late",
        row.seq, short(one.id), node.name)
    end
    -- what has halted is told before the row of what it was to be
    local previous = row.type ~= "halted" and given(row.previous) or {}
    if #previous > 1 and not stage.case.is_wild then
      for _, seq in ipairs(previous) do
        local path = by_seq[seq] and by_seq[seq].path
        local forks = path and path ~= pawl.null and path:find("(", 1, true)
        if used[seq] and by_seq[seq] and not forks then -- or it was trimmed
          broken("a join fires once", "row %d of %s led to rows %d and %d",
            seq, short(one.id), used[seq], row.seq)
        end
        used[seq] = row.seq
      end
    end
  end
  if stage.case.is_wild then return end
  local vars = one.data.variables
  for _, node in pairs(nodes) do
    local before, after = nodes[node.before], nodes[node.after]
    if before and after and nodes[node.whole]
      and (vars[node.after] or 0) > (vars[node.before] or 0) then
      broken("a join fires once", "%s of %s ran %s times, %s %s", node.after,
        short(one.id), vars[node.after], node.before,
        tostring(vars[node.before]))
    end
  end
end

local UNDOABLE = { step = true, received = true, task = true, child = true }

local function seqs(list)
  local out = {}
  for i, one in ipairs(list or {}) do
    out[i] = type(one) == "table" and one.seq or one
  end
  return out
end

local function same(a, b)
  return table.concat(a, ",") == table.concat(b, ",")
end

--- Is what a node gave, that can be undone?
local function is_undoable(row, node)
  return UNDOABLE[row.type] and node and node.undo and (row.type ~= "child"
    or (given(row.transition) or "completed") == "completed")
end

--- Does an undo node surely have that one undone? Of what is inside a fork that
--- it names the drawing does not tell.
local function is_meant(by, name)
  if not by.of then return true end
  for _, one in ipairs(by.of) do
    if one == name then return true end
  end
  return false
end

local UNDONE = "what was done is undone once, in reverse order"

--- What is left to undo in front of a row, the newest first; what nodes have
--- had undone before is gone, all that they mean and nothing twice.
local function left_to_undo(one, nodes, before)
  local done, last = {}, nil
  for _, row in ipairs(one.history) do
    local node = row.node and nodes[row.node]
    if row.seq >= before then break end
    if is_undoable(row, node) then
      table.insert(done, 1, row)
    elseif row.type == "undone" or row.type == "undo_failed" then
      local seq, at = row.previous[1], nil
      for i, was in ipairs(done) do if was.seq == seq then at = i end end
      if not at or last and seq >= last then
        broken(UNDONE, "row %d of %s undid row %d", row.seq, short(one.id),
          seq)
      end
      table.remove(done, at)
      last = seq
    elseif node and node.kind == "undo" and (row.type == "compensated"
        or row.type == "failed") then
      last = nil
      for _, was in ipairs(done) do
        if is_meant(node, was.node) then
          broken(UNDONE, "row %d of %s left row %d", row.seq, short(one.id),
            was.seq)
        end
      end
    end
  end
  return done
end

--- Each completed step that can be undone is, once, the newest first.
local function check_undone(one, nodes, flow)
  local undone, failed, killed = {}, {}, false
  local status, record = one.data.status, given(one.data.compensation)
  local since = record and given(record.since) or math.huge
  for _, row in ipairs(one.history) do
    if row.type == "undone" or row.type == "undo_failed" then
      local is_last = row.seq >= since
      if is_last then undone[#undone + 1] = row.previous[1] end
      if is_last and row.type == "undo_failed" then
        failed[#failed + 1] = row.seq
      end
    elseif row.type == "killed" then
      killed = true
    end
  end
  local done = seqs(left_to_undo(one, nodes, since))
  local cancelled = given(one.data.cancellation)
  if cancelled and cancelled.cleaning_since and not record then
    return -- an undo node has had its turn as it cleaned up
  end
  local expected = #done > 0 and status ~= "completed" and not killed
    and flow.options.compensate ~= false
  if not expected then
    if #undone > 0 and not killed then
      broken(UNDONE, "%s is %s, and rows %s were undone", short(one.id),
        status, table.concat(undone, ","))
    end
    return
  end
  if not record then
    broken(UNDONE, "%s is %s, and nothing was undone of rows %s",
      short(one.id), status, table.concat(done, ","))
  end
  if not same(done, undone) or not same(done, seqs(record.plan)) then
    broken(UNDONE, "%s: done in reverse %s, planned %s, undone %s",
      short(one.id), table.concat(done, ","),
      table.concat(seqs(record.plan), ","), table.concat(undone, ","))
  end
  local wanted = #failed > 0 and "completed_with_errors" or "completed"
  if record.status ~= wanted or #(given(record.failed) or {}) ~= #failed then
    broken(UNDONE, "%s: it ended %s, with %d errors", short(one.id),
      record.status, #failed)
  end
end

--- How many of so many may fail.
local function most_failed(node, total)
  local limit = node.tolerate
  if not limit then return node.on_failure == "stop" and 0 or total end
  local percent = type(limit) == "string" and tonumber(limit:sub(1, -2))
  return percent and total * percent // 100 or limit
end

--- The results of an each: the items' own, in order, and no more of them than
--- were enough.
local function check_each(stage, one, nodes)
  if stage.case.is_wild then return end
  for name, node in pairs(nodes) do
    local results = one.data.variables["got_" .. name]
    if node.kind == "each" and results then
      local n, done, failed = 0, 0, 0
      for i, result in ipairs(results) do
        n = i
        if type(result) == "table" and result.error then failed = failed + 1
        elseif result ~= pawl.null then done = done + 1 end
        local no = type(result) == "table" and not result.error
          and (result.index or result.item)
        if no and no ~= i then
          broken("results are in order", "%s of %s: item %d has %s", name,
            short(one.id), i, pawl.json.encode(result))
        end
      end
      if n ~= node.items then
        broken("results are in order", "%s of %s: %d for %d items", name,
          short(one.id), n, node.items)
      end
      if done > (node.enough or n) or failed > most_failed(node, n) then
        broken("enough is enough", "%s of %s: %d done, %d failed of %d", name,
          short(one.id), done, failed, n)
      end
    end
  end
end

--- What a step gave is the variable that its `into` names, with the row that
--- tells of it, unless it was that before.
local function check_into(one, nodes)
  local kept = {}
  for _, row in ipairs(one.history) do
    local changes = given(row.changes) or {}
    local node, output = nodes[row.node], given(row.output)
    if row.type == "step" and node and node.into and output ~= nil then
      local name = "got_" .. row.node
      local set = (changes.set or {})[name]
      if set == nil then set = kept[name] end
      if set ~= nil
        and pawl.json.encode(set) ~= pawl.json.encode(output) then
        broken("a step's output is where `into` says", "row %d of %s: %s",
          row.seq, short(one.id), pawl.json.encode(set))
      end
      kept[name] = output
    end
  end
end

--- What handlers have found by `ctx.output` some row of that node has.
local function check_reads(one, flow)
  local given_by = {}
  for _, row in ipairs(one.history) do
    local output = given(row.output)
    if row.node and type(output) == "table" then
      local list = given_by[row.node] or {}
      given_by[row.node] = list
      list[given(output.n) or 0] = true
    end
  end
  local variables = given(one.data.variables) or {}
  for _, node in ipairs(flow.nodes) do
    local saw = node.reads and variables["saw_" .. node.name]
    if saw and not (given_by[node.reads] or {})[saw] then
      broken("an output that was found was given", "%s of %s saw %s of %s",
        node.name, short(one.id), tostring(saw), node.reads)
    end
  end
end

--- A typed wait has taken nothing but what it accepts.
local function check_accepted(one, nodes)
  for _, row in ipairs(one.history) do
    local data = given(row.output)
    if row.type == "received" and nodes[row.node] and nodes[row.node].typed
      and not (type(data) == "table" and math.type(data.n) == "integer") then
      broken("a wait takes what it accepts", "row %d of %s: %s", row.seq,
        short(one.id), pawl.json.encode(data))
    end
    if row.type == "task" and nodes[row.node] and nodes[row.node].typed
      and type(data) == "table" and math.type(data.by) then
      broken("a task takes what it accepts", "row %d of %s: %s", row.seq,
        short(one.id), pawl.json.encode(data))
    end
  end
end

--- What handlers were told: of errors those that their record has, and of
--- progress their own visit's.
local function check_told(one)
  local failed = {}
  for _, row in ipairs(one.history) do
    local err = given(row.error)
    if err then
      failed[row.node or ""] = true
      if err.code == "not_mine" then
        broken("what a handler said is told to itself", "row %d of %s: %s",
          row.seq, short(one.id), err.message)
      end
    end
  end
  if one.upto > 0 then return end
  for name, node in pairs(given(one.data.variables) or {}) do
    if name:find "^caught_" and not failed[node] then
      broken("what was caught had failed", "%s of %s is %s", name,
        short(one.id), node)
    end
  end
end

--- By what visits were entered is told rightly, and in a page as in the whole.
local function check_entered(stage, one, flow)
  local why = "by what a visit was entered"
  local graph = stage:must("workflows:graph",
    graphs.code(stage.prefix, flow))
  local wrong = ways.wrong(one.history, ways.of { graph })
  if wrong then broken(why, "%s: %s", short(one.id), wrong) end
  local told, last = {}, one.history[#one.history]
  for _, row in ipairs(one.history) do told[row.seq] = row.transition_in end
  for _, page in ipairs { { after = last.seq // 2 },
    { node = given(last.node), type = last.type } } do
    for _, row in ipairs(pawl.json.decode(stage:must("history", one.id, page,
      "json"))) do
      if row.type ~= "trimmed" and row.transition_in ~= told[row.seq] then
        broken(why, "row %d of %s: %s; in a page %s", row.seq, short(one.id),
          tostring(told[row.seq]), tostring(row.transition_in))
      end
    end
  end
end

--- Everything that must hold when all has ended.
---@param stage spec.Stage
function holds.ended(stage)
  for _, listed in ipairs(stage:instances()) do
    local one, nodes = read(stage, listed.id), stage.nodes[listed.flow]
    check_tokens(one)
    check_untaken(one)
    check_trimmed(one)
    check_numbers(one)
    check_entered(stage, one, listed.flow)
    check_visits(one)
    check_notes(one)
    check_shown(stage, one, nodes)
    check_answers(stage, one, nodes)
    check_times(one)
    check_fold(one)
    check_joins(stage, one, nodes)
    check_each(stage, one, nodes)
    check_into(one, nodes)
    check_told(one)
    check_reads(one, stage.case.flows[listed.flow])
    check_accepted(one, nodes)
    check_undone(one, nodes, stage.case.flows[listed.flow])
  end
  check_store(stage)
end

--- Of those that were purged nothing is left, in any table.
---@param all table[]  as they were listed
function holds.gone(stage, all)
  local sqlite = stage.backend.name == "sqlite"
  local store = { dialect = sqlite and "sqlite" or "postgres",
    sql = function(text) return stage:sql(text) end }
  function store.rows(_, text)
    return stage:sql((text:gsub("%$id(%b())", sqlite and "lower(hex%1)"
      or "replace(cast(%1 as text), '-', '')")))
  end
  thrown.nothing_left(store, function(text)
    broken("nothing is left of what is gone", "%s", text)
  end)
  for i, one in ipairs(all) do
    local got, err = stage:ask("get", one.id)
    local is_as_asked = not got and err.code == "notfound"
    if i % 2 == 0 then is_as_asked = got and got.purged ~= nil end
    if not is_as_asked then
      broken("what is purged is gone", "%s is there", short(one.id))
    end
  end
end

---- for people --------------------------------------------------------------

--- What was recorded of each instance, and where it stands.
---@param stage spec.Stage
---@return string
function holds.trails(stage)
  local parts = {}
  local function put(format, ...) parts[#parts + 1] = format:format(...) end
  for _, listed in ipairs(stage:instances()) do
    local one = read(stage, listed.id)
    put("%s %s is %s", listed.workflow, short(listed.id), listed.status)
    for _, row in ipairs(one.history) do
      put("  %3d %-9s %-8s token %s visit %s%s%s%s", row.seq, row.type,
        tostring(given(row.node) or ""), tostring(given(row.token) or "-"),
        tostring(given(row.visit) or "-"),
        given(row.path) and "  > " .. row.path or "",
        given(row.previous) and "  after "
          .. pawl.json.encode(row.previous) or "",
        given(row.text) and "  " .. row.text or "")
    end
    for _, token in ipairs(one.tokens) do
      if token.state == "active" or token.state == "waiting" then
        put("  token %d is %s at %s, scope '%s' %s", token.no, token.state,
          token.node, token.scope,
          token.detail and pawl.json.encode(token.detail) or "")
      end
    end
  end
  return table.concat(parts, "\n")
end

return holds
