--- Checks what a store holds after a torture, by plain SQL over its tables,
--- and by the model's expectations. It shares no code with Pawl (JSON is read
--- by lua-cjson), so that it can only believe what is stored.
---
--- Each check has a name, and gives what it finds as lines of text. All of
--- them hold of a store at rest: nothing runs, and nobody has anything to do.
local cjson = require "cjson"
local stored = require "spec.support.counted"
local thrown = require "spec.support.torture.thrown"

local checker = {}

local ENDED = "('completed', 'failed', 'cancelled')"

-- Rows with which a visit of a node ends.
local COMPLETIONS = "('step', 'received', 'timer', 'task', 'child', 'each', "
  .. "'timeout', 'condition')"

---- a store as it was read ----------------------------------------------------

---@class torture.Store
---@field sql fun(text: string): table[]
---@field cases torture.Case[]
---@field dialect "sqlite"|"postgres"
local Store = {}
Store.__index = Store

--- An id as text; the dialects keep it differently.
function Store:id(column)
  return self.dialect == "sqlite" and ("lower(hex(%s))"):format(column)
    or ("replace(%s::text, '-', '')"):format(column)
end

--- The node of a child's place in its parent.
function Store:node(column)
  return (self.dialect == "sqlite" and "json_extract(%s, '$.node')"
    or "(%s ->> 'node')"):format(column)
end

--- Rows of a query in which $id(x) is an id as text, $node(x) that of a place.
function Store:rows(text)
  return self.sql((text:gsub("%$(%l+)(%b())", function(what, column)
    return self[what](self, column:sub(2, -2))
  end)))
end

--- { ["INSTANCE NODE"] = number } of a query with id, node and n.
function Store:counts(text)
  local counts = {}
  for _, row in ipairs(self:rows(text)) do
    counts[row.id .. " " .. row.node] = tonumber(row.n)
  end
  return counts
end

--- How often each node stands in the history in this way; read once.
function Store:recorded(kind)
  self.records = self.records or {}
  self.records[kind] = self.records[kind] or self:counts(([[
    select $id(instance) as id, node, count(*) as n from pawl.history
     where type = '%s' group by instance, node]]):format(kind))
  return self.records[kind]
end

function Store:steps() return self:recorded "step" end

function Store:undone() return self:recorded "undone" end

local function decode(text) return text and cjson.decode(text) or nil end

--- Values as text, to be compared: objects in the order of their keys.
local function canon(value)
  if type(value) ~= "table" then return cjson.encode(value) end
  local parts = {}
  for key, member in pairs(value) do
    parts[#parts + 1] = ("%s:%s"):format(key, canon(member))
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

local function cut(text)
  return #text > 120 and text:sub(1, 120) .. "..." or text
end

--- Every instance, with its variables whichever way they are stored.
function Store:instances()
  if self.read then return self.read end
  local members, read = {}, {}
  for _, row in ipairs(self:rows [[select $id(instance) as id, members
    from pawl.variable where members <> '']]) do
    members[row.id] = members[row.id] or {}
    table.insert(members[row.id], row.members)
  end
  for _, row in ipairs(self:rows [[select $id(id) as id, workflow, status,
    key, $id(parent) as parent, variables, parts, seq
    from pawl.instance]]) do
    local text = row.variables
    if tonumber(row.parts) > 0 then
      text = "{" .. table.concat(members[row.id] or {}, ",") .. "}"
    end
    row.variables = decode(text) or {}
    read[#read + 1] = row
  end
  self.read = read
  return read
end

---- the checks ----------------------------------------------------------------

-- In the order in which they are made; each a name and a function that is
-- given the store and a function to tell what it found.
local checks = {}

local function check(name, fn)
  checks[#checks + 1] = { name = name, fn = fn }
end

--- A check that is a query: each row that it gives is told, its columns in the
--- places of the format, "%{column}".
local function none(name, format, text)
  check(name, function(store, tell)
    for _, row in ipairs(store:rows(text)) do
      tell((format:gsub("%%{(%w+)}", function(column)
        return tostring(row[column])
      end)))
    end
  end)
end

for _, one in ipairs(thrown.checks) do check(one[1], one[2]) end

--- Who is gone, whatever others have kept of it.
function Store:gone()
  self.is_gone = self.is_gone or thrown.gone(self.cases)
  return self.is_gone
end

--- Counts by instance and node, but for those that are gone.
function Store:of_those_here(counts)
  local here = {}
  for place, n in pairs(counts) do
    if not self:gone()[place:match "^%S+"] then here[place] = n end
  end
  return here
end

--- Two counts by instance and node must be the same.
local function compare(tell, format, one, other)
  for place, n in pairs(one) do
    if n ~= (other[place] or 0) then
      tell(format:format(place, n, other[place] or 0))
    end
  end
  for place, n in pairs(other) do
    if not one[place] then tell(format:format(place, 0, n)) end
  end
end

local function is_within(n, wanted)
  if type(wanted) == "table" then return n >= wanted[1] and n <= wanted[2] end
  return n == wanted
end

local function show(wanted)
  return type(wanted) == "table" and ("%d to %d"):format(table.unpack(wanted))
    or tostring(wanted)
end

--- What the store has of an instance, in the words of the model.
local function seen_of(store, row)
  local seen = { status = row.status, vars = row.variables, steps = {},
    done = {}, rows = store.types[row.id] or {},
    children = store.children[row.id] or 0 }
  for place, n in pairs(store.steps_by[row.id] or {}) do
    seen.steps[place], seen.done[place] = n, true
  end
  for node in pairs(store.called[row.id] or {}) do seen.done[node] = true end
  return seen
end

local function nested(counts)
  local by = {}
  for place, n in pairs(counts) do
    local id, name = place:match "(%S+) (.*)"
    by[id] = by[id] or {}
    by[id][name] = n
  end
  return by
end

local function read_for_model(store)
  store.steps_by = nested(store:steps())
  store.types = nested(store:counts [[
    select $id(instance) as id, type as node, count(*) as n from pawl.history
     group by instance, type]])
  store.called = nested(store:counts [[
    select $id(instance) as id, node, count(*) as n from pawl.history
     where type = 'child' and (transition is null or transition = 'completed')
     group by instance, node]])
  store.children = {}
  for _, row in ipairs(store:rows [[select $id(parent) as id, count(*) as n
    from pawl.instance where parent is not null group by parent]]) do
    store.children[row.id] = tonumber(row.n)
  end
end

local function differs(expect, seen)
  local is_allowed = false
  for _, status in ipairs(expect.status) do
    is_allowed = is_allowed or status == seen.status
  end
  if not is_allowed then
    return ("is %s, not %s"):format(seen.status,
      table.concat(expect.status, " or "))
  end
  for node, wanted in pairs(expect.steps or {}) do
    local n = seen.steps[node] or 0
    if not is_within(n, wanted) then
      return ("has done %s %d times, not %s"):format(node, n, show(wanted))
    end
  end
  for node in pairs(seen.steps) do
    if not expect.steps[node] then return "has done " .. node end
  end
  for kind, wanted in pairs(expect.rows or {}) do
    local n = seen.rows[kind] or 0
    if not is_within(n, wanted) then
      return ("has %d rows of %s, not %s"):format(n, kind, show(wanted))
    end
  end
  for name, wanted in pairs(expect.vars or {}) do
    if canon(seen.vars[name]) ~= canon(wanted) then
      return ("has %s = %s, not %s"):format(name, canon(seen.vars[name]),
        canon(wanted))
    end
  end
  if expect.children and not is_within(seen.children, expect.children) then
    return ("has %d children, not %s"):format(seen.children,
      show(expect.children))
  end
  return expect.also and expect.also(seen)
end

--- Those that are to be there, by key; of heirs and those before them by id.
local function expected(store)
  local cases = {}
  local function expect(name, key, case)
    cases[name] = { key = key, expect = case.expect }
  end
  for _, case in ipairs(store.cases) do
    if case.heir then
      expect(thrown.plain(case.heir), case.key .. "'s heir", case)
    end
    if not case.id then
      expect(case.key, case.key, case)
    elseif case.place == "hot" or case.place == "deleted" then
      expect(thrown.plain(case.id), case.key, case)
    end
  end
  return cases
end

check("ends as modelled", function(store, tell)
  local cases, met = expected(store), {}
  read_for_model(store)
  for _, row in ipairs(store:instances()) do
    local name = cases[row.id] and row.id or row.key
    local case = name and cases[name]
    if not row.parent or row.parent == "" then
      if row.workflow == "t.mend" then
        if row.status ~= "completed" then
          tell(("handler %s is %s"):format(row.id, row.status))
        end
      elseif not case then
        tell(("%s %s is nobody's case"):format(row.workflow, row.id))
      elseif met[name] then
        tell(("%s is there twice"):format(row.key))
      else
        met[name] = true
        local difference = differs(case.expect, seen_of(store, row))
        if difference then
          tell(("%s (%s) %s"):format(case.key, row.id, difference))
        end
      end
    elseif row.status ~= "completed" and row.status ~= "failed"
      and row.status ~= "cancelled" then
      tell(("child %s is %s"):format(row.id, row.status))
    end
  end
  for name, case in pairs(cases) do
    if not met[name] then tell(case.key .. " is not there") end
  end
end)

none("a visit ends once", "%{id}: visit %{visit} of %{node} has %{n} rows",
  ([[select $id(instance) as id, visit, min(node) as node, count(*) as n
    from pawl.history where type in %s
    group by instance, visit having count(*) > 1]]):format(COMPLETIONS))

none("history has no gaps", "%{id}: %{n} rows, numbered %{low} to %{high}",
  [[select $id(instance) as id, count(*) as n, min(seq) as low,
           max(seq) as high
      from pawl.history group by instance
    having min(seq) <> 1 or max(seq) <> count(*)]])

none("history ends where the instance says",
  "%{id}: its last row is %{high}, it says %{seq}",
  [[select $id(i.id) as id, i.seq as seq, coalesce(h.high, 0) as high
      from pawl.instance i left join (select shard, instance,
             max(seq) as high from pawl.history group by shard, instance) h
        on h.shard = i.shard and h.instance = i.id
     where i.seq <> coalesce(h.high, 0)]])

--- What the changes in a history, one after the other, come to.
local function fold(store)
  local folded = {}
  for _, row in ipairs(store:rows [[select $id(instance) as id, changes
    from pawl.history where changes is not null order by instance, seq]]) do
    local changes = cjson.decode(row.changes)
    local vars = folded[row.id] or {}
    folded[row.id] = vars
    for name, value in pairs(changes.set or {}) do vars[name] = value end
    for _, name in ipairs(changes.unset or {}) do vars[name] = nil end
  end
  return folded
end

check("history folds to the variables", function(store, tell)
  local folded = fold(store)
  for _, row in ipairs(store:instances()) do
    local is, was = canon(row.variables), canon(folded[row.id] or {})
    if is ~= was then
      tell(("%s: %s, folded %s"):format(row.id, cut(is), cut(was)))
    end
  end
end)

--- Handlers count in the variables how often they were stored.
check("a step's variables change once", function(store, tell)
  local counted, undone = {}, {}
  for _, row in ipairs(store:instances()) do
    for name, n in pairs(row.variables) do
      local kind, node = name:match "^([nu])_(.*)"
      local counts = kind == "n" and counted or undone
      if kind then counts[row.id .. " " .. node] = n end
    end
  end
  compare(tell, "%s: recorded %d times, counted %d", store:steps(), counted)
  compare(tell, "%s: undone %d times, counted %d", store:undone(), undone)
end)

check("the ledger is exact", function(store, tell)
  local booked, ledger = {}, store:counts [[
    select replace(instance, '-', '') as id, node, count(*) as n from ledger
     group by instance, node]]
  for place, n in pairs(store:steps()) do
    if place:find " book%d$" then booked[place] = n end
  end
  compare(tell, "%s: recorded %d times, in the ledger %d", booked,
    store:of_those_here(ledger))
end)

check("the outbox is exact", function(store, tell)
  local function sent(kind)
    return store:counts(([[
      select $id(instance) as id, payload->>'node' as node, count(*) as n
        from pawl.outbox where type = '%s'
       group by instance, payload->>'node']]):format(kind))
  end
  compare(tell, "%s: recorded %d times, sent %d", store:steps(),
    sent "t.step")
  compare(tell, "%s: undone %d times, sent %d", store:undone(),
    sent "t.undo")
end)

none("a note is left once for a request", "%{id}: %{request} %{n} times",
  [[select $id(instance) as id, $id(request) as request, count(*) as n
    from pawl.history where type = 'note' and request is not null
    group by instance, request having count(*) > 1]])

none("a mark is left once", "%{mark} of %{type}: %{n} times",
  [[select type, payload->>'mark' as mark, count(*) as n from pawl.outbox
     where type <> 't.failed'
     group by type, payload->>'mark' having count(*) > 1]])

--- Where each event came first, by "INSTANCE/SEQ"; what nobody emitted.
local function received_first(store)
  local first = {}
  for at, line in ipairs(store.heard.received) do
    local event = cjson.decode(line)
    local place = event.id:gsub("-", "")
    first[place] = first[place] or at
  end
  return first
end

--- At least once, an instance's in order, and none is settled that did not
--- come.
check("what was emitted was received", function(store, tell)
  local first, last = received_first(store), {}
  for _, row in ipairs(store:rows [[
    select $id(instance) as id, seq,
           case when published_at is null then 0 else 1 end as published
      from pawl.outbox order by instance, seq]]) do
    local place = ("%s/%d"):format(row.id, math.tointeger(tonumber(row.seq)))
    local at = first[place]
    first[place] = nil
    if tonumber(row.published) ~= 1 then tell(place .. " is not published") end
    if not at then
      tell(place .. " was never received")
    else
      if at < (last[row.id] or 0) then
        tell(place .. " came before what was emitted before it")
      end
      last[row.id] = at
    end
  end
  for place in pairs(first) do
    if not store:gone()[place:match "^%x+"] then
      tell(place .. " was received of nobody")
    end
  end
end)

--- By commit: an event, and a handler whose key names it; and who has failed
--- and was not retried has told of just that.
check("a failure is told once", function(store, tell)
  local events, handlers = store:counts [[
    select $id(instance) as id, payload->>'commits' as node, count(*) as n
      from pawl.outbox where type = 't.failed'
     group by instance, payload->>'commits']], {}
  local function add(place)
    handlers[place] = (handlers[place] or 0) + 1
  end
  for _, row in ipairs(store:instances()) do
    if row.workflow == "t.mend" then
      local id, commits = row.key:match "^(.*)/(%d+)$"
      add(id:gsub("-", "") .. " " .. commits)
    end
  end
  compare(tell, "%s: told %d times, handled %d", events,
    store:of_those_here(handlers))
  for place, n in pairs(events) do
    if n ~= 1 then tell(("%s: told %d times"):format(place, n)) end
  end
  local said = nested(events)
  for _, row in ipairs(store:instances()) do
    if row.status == "failed" and not said[row.id]
      and (row.workflow == "t.saga" or row.workflow == "t.kid") then
      tell(("%s has failed and told nobody"):format(row.id))
    end
  end
end)

none("nobody is leased", "%{id} is held by %{executor}",
  [[select $id(instance) as id, $id(executor) as executor from pawl.agenda
     where lease is not null]])

none("nothing of the ended is scheduled", "%{id} is %{status}",
  ([[select $id(a.instance) as id, coalesce(i.status, 'gone') as status
      from pawl.agenda a left join pawl.instance i
        on i.shard = a.shard and i.id = a.instance
     where i.id is null or i.status in %s]]):format(ENDED))

--- One that has failed keeps its events, so none is told as gone.
none("what is kept is not said to be untaken", "%{id}: %{text}",
  [[select $id(h.instance) as id, h.text as text
      from pawl.history h join pawl.instance i
        on i.shard = h.shard and i.id = h.instance
     where h.type = 'untaken' and i.status = 'failed'
       and h.text like 'event "%']])

--- One that has failed keeps its events: a retry or a restart takes them.
none("nothing lies in the inbox of the ended",
  "%{id}, %{status}: %{kind} %{name}",
  ([[select $id(b.instance) as id, coalesce(i.status, 'gone') as status,
           b.kind as kind, b.name as name
      from pawl.inbox b left join pawl.instance i
        on i.shard = b.shard and i.id = b.instance
     where i.id is null
        or i.status in %s and not (i.status = 'failed' and b.kind = 'event')
    ]]):format(ENDED))

none("the ended wait for nothing", "%{id}: %{pattern}",
  ([[select $id(s.instance) as id, s.pattern as pattern
      from pawl.subscription s left join pawl.instance i
        on i.shard = s.shard and i.id = s.instance
     where i.id is null or i.status in %s]]):format(ENDED))

none("the ended stand nowhere", "%{id}: token %{no} at %{node}, %{state}",
  ([[select $id(t.instance) as id, t.no as no, t.node as node,
           t.state as state
      from pawl.token_view t join pawl.instance i
        on i.shard = t.shard and i.id = t.instance
     where i.status in %s and t.state in ('active', 'waiting')]])
  :format(ENDED))

none("messages are delivered", "%{id}: %{kind} to %{target}",
  [[select $id(instance) as id, kind, $id(target) as target
      from pawl.message]])

none("events are posted", "%{source} %{id}",
  [[select source, id from pawl.event where not posted]])

-- What an instance that waits, and is not on the agenda, has not seen. Every
-- wait here takes what its pattern and key fit.
local WAITS = ([[from pawl.instance i where i.status not in %s
  and i.status <> 'suspended' and not exists (select 1 from pawl.agenda a
    where a.shard = i.shard and a.instance = i.id) and ]]):format(ENDED)

local FITS = "%s.name like replace(s.pattern, '*', '%%')"

none("nobody waits unseen: it is to run", "%{id} is %{status}",
  "select $id(i.id) as id, i.status as status " .. WAITS
  .. [[(i.status <> 'waiting' or exists (select 1 from pawl.token_view t
        where t.shard = i.shard and t.instance = i.id
          and t.state = 'active'))]])

none("nobody waits unseen: a letter", "%{id}",
  "select $id(i.id) as id " .. WAITS .. [[exists (select 1 from pawl.inbox b
     where b.shard = i.shard and b.instance = i.id and not b.taken
       and (b.kind <> 'event' or exists (select 1 from pawl.subscription s
             where s.shard = b.shard and s.instance = b.instance
               and ]] .. FITS:format "b" .. [[
               and (b.addressed or coalesce(b.key, '') =
                    coalesce(s.key, '')))))]])

none("nobody waits unseen: an event", "%{id}",
  "select $id(i.id) as id " .. WAITS .. [[exists (select 1
      from pawl.subscription s join pawl.event e
        on e.key = s.key and ]] .. FITS:format "e" .. [[
     where s.shard = i.shard and s.instance = i.id
       and (s.free is null or e.taker is null)
       and not exists (select 1 from pawl.inbox b
         where b.shard = i.shard and b.instance = i.id
           and b.event_id = e.id and b.source = e.source))]])

-- Of an event that one takes for all it is told no more.
none("nobody waits unseen: as if it had something", "%{id}",
  "select $id(i.id) as id " .. WAITS .. [[exists (select 1
      from pawl.subscription s
     where s.shard = i.shard and s.instance = i.id and not s.free)]])

none("nobody waits unseen: children", "%{id}",
  "select $id(i.id) as id " .. WAITS .. ([[exists (select 1
      from pawl.token_view t join pawl.instance c
        on c.parent = t.instance and $node(c.parent_place) = t.node
     where t.shard = i.shard and t.instance = i.id and t.state = 'waiting'
       and not exists (select 1 from pawl.instance o
         where o.parent = i.id and $node(o.parent_place) = t.node
           and o.status not in %s))]]):format(ENDED))

-- One may be completed when what calls it off has come before: it is dropped
-- with its answer, and keeps it.
none("tasks are done once",
  "task of %{id}, visit %{visit}: %{status}, %{n} answers",
  [[select $id(t.instance) as id, t.visit as visit, t.status as status,
           (select count(*) from pawl.history h where h.shard = t.shard
             and h.instance = t.instance and h.visit = t.visit
             and h.type = 'task') as n
      from pawl.task t
     where (select count(*) from pawl.history h where h.shard = t.shard
             and h.instance = t.instance and h.visit = t.visit
             and h.type = 'task')
           <> (case when t.status = 'completed' and not exists (
                 select 1 from pawl.history h where h.shard = t.shard
                   and h.instance = t.instance and h.visit = t.visit
                   and h.type = 'dropped') then 1 else 0 end)]])

none("nobody is asked by the ended", "task of %{id}: %{status}",
  ([[select $id(t.instance) as id, t.status as status
      from pawl.task t join pawl.instance i
        on i.shard = t.shard and i.id = t.instance
     where i.status in %s and t.status in ('pending', 'running')]])
  :format(ENDED))

none("a task's answer is that of who completed it",
  "task of %{id}: %{who}, %{output}",
  [[select $id(instance) as id, completed_by as who, output from pawl.task
     where status = 'completed'
       and coalesce(output->>'by', '') <> coalesce(completed_by, '?')]])

none("a job is taken by one", "job %{job} is taken %{n} times",
  [[select h.changes->'event'->>'id' as job, count(*) as n
      from pawl.history h join pawl.instance i
        on i.shard = h.shard and i.id = h.instance
     where h.type = 'received' and i.workflow = 't.taker'
     group by h.changes->'event'->>'id' having count(*) > 1]])

--- What is stored as answers, by "INSTANCE EVENT".
local function answers_of(store)
  local answers = {}
  for _, row in ipairs(store:rows [[select $id(instance) as id, name, value
    from pawl.published where answers]]) do
    answers[row.id .. " " .. row.name] = cjson.decode(row.value)
  end
  return answers
end

--- It is what all who asked were told, however often.
check("an answer stays as it was told", function(store, tell)
  local answers, here = answers_of(store), {}
  for _, row in ipairs(store:instances()) do here[row.id] = true end
  for _, line in ipairs(store.heard.answers) do
    local told = cjson.decode(line)
    local id = told.instance:gsub("-", "")
    local is = told.event and answers[id .. " " .. told.event]
    local now = is and (is.error and is.error.code or canon(is.value))
    local then_ = told.error or canon(told.value)
    if told.event and here[id] and now ~= then_ then
      tell(("%s, %s: told %s, stored is %s"):format(id, told.event, then_,
        tostring(now)))
    end
  end
end)

--- Who was told that it is done by what he tells, of a token.
check("who completes it first counts", function(store, tell)
  local first = {}
  for _, line in ipairs(store.heard.answers) do
    local told = cjson.decode(line)
    local id = told.instance:gsub("-", "")
    if told.first and first[id] then tell(id .. " was done twice") end
    first[id] = told.first or first[id]
  end
  for _, row in ipairs(store:instances()) do
    local wanted, result = first[row.id], row.variables.result
    if wanted and (not result or result.by ~= wanted) then
      tell(("%s: %s was told so, it has %s"):format(row.id, wanted,
        canon(result)))
    end
  end
end)

none("what is moved is over at its new time", "timer %{node} of %{id}",
  [[select $id(t.instance) as id, t.node as node
      from pawl.history t join pawl.history m
        on m.shard = t.shard and m.instance = t.instance
       and m.visit = t.visit and m.type = 'rescheduled'
     where t.type = 'timer' and t.completed_at < m.due_at
       and not exists (select 1 from pawl.history n
         where n.shard = m.shard and n.instance = m.instance
           and n.visit = m.visit and n.type = 'rescheduled'
           and n.seq > m.seq)]])

--- Each in its turn, as it was received, and none besides.
check("what was received is answered in its turn", function(store, tell)
  local answers, turn = answers_of(store), {}
  for _, row in ipairs(store:rows [[
    select $id(h.instance) as id, h.changes->'event'->>'id' as event
      from pawl.history h join pawl.instance i
        on i.shard = h.shard and i.id = h.instance
     where h.type = 'received' and i.workflow = 't.desk'
     order by h.instance, h.seq]]) do
    local place = row.id .. " " .. row.event
    turn[row.id] = (turn[row.id] or 0) + 1
    local value = (answers[place] or {}).value or {}
    local n = tonumber(row.event:match "/ask(%d+)$")
    if value.turn ~= turn[row.id] or value.n ~= n then
      tell(("%s: turn %d is answered %s"):format(place, turn[row.id],
        canon(value)))
    end
    answers[place] = nil
  end
  for place, answer in pairs(answers) do
    if not answer.error then tell(place .. " was not received") end
  end
end)

none("what is counted is there", "%{workflow} %{version} %{status} %{node}: "
  .. "%{told} are told, %{there} are there", stored.wrong)

none("what has failed or has a deadline is told so", "%{id} is %{wrong}",
  (stored.unlike:gsub("select id,", "select $id(id) as id,")
    :gsub("select f.instance,", "select $id(f.instance) as id,")))

check("the list agrees with the instances", function(store, tell)
  if store.dialect == "sqlite" then return end -- which has one table for both
  for _, row in ipairs(store:rows [[
    select $id(coalesce(i.id, s.instance)) as id, i.status as status,
           s.status as listed
      from pawl.instance i full join pawl.standing s
        on s.shard = i.shard and s.instance = i.id
     where i.status is distinct from s.status]]) do
    tell(("%s is %s, and listed as %s"):format(row.id, row.status,
      row.listed))
  end
end)

---- all of them ---------------------------------------------------------------

local MOST = 8 -- lines of one check; then how many there are

local function make(one, store, found)
  local n = 0
  one.fn(store, function(text)
    n = n + 1
    if n <= MOST then found[#found + 1] = one.name .. ": " .. text end
  end)
  if n > MOST then
    found[#found + 1] = ("%s: %d in all"):format(one.name, n)
  end
end

--- The names of all checks, in order.
---@return string[]
function checker.names()
  local names = {}
  for i, one in ipairs(checks) do names[i] = one.name end
  return names
end

---@param sql fun(text: string): table[]  tables as in PostgreSQL
---@param cases torture.Case[]  all that the store has been given
---@param dialect "sqlite"|"postgres"
---@param heard { received: string[], answers: string[] }  lines: events, in the
---              order in which they came; what was told to those who asked
---@param only string?  the name of one check
---@return string[] found  "the check: what"; none when all is well
function checker.check(sql, cases, dialect, heard, only)
  local store = setmetatable({ sql = sql, cases = cases, dialect = dialect,
    heard = heard }, Store)
  local found = {}
  for _, one in ipairs(checks) do
    if not only or only == one.name then make(one, store, found) end
  end
  return found
end

return checker
