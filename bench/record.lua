--- A record as it is after some years, and how long questions to it take.
---
--- To 100 finished ones 10 wait, each with an event in the outbox that nobody
--- has published; one has failed, and one stands at a task and has a deadline.
--- They were created over the last 60 days, and what finished did so as it was
--- created. Each has keys of its own; two were cancelled, two deleted, two
--- archived.
local copies = require "copies"
local mono = require("pawl.core").mono
local pawl = require "pawl"
local report = require "report"

local record = {}

local DAYS = 60
local HOUR, DAY, YEAR = 3600, 86400, 365 * 86400
local TIMES = 7 -- each question is asked; the median counts
local SLOW_MS = 300 -- what takes longer is asked thrice

--- What ended longer ago is half of what has completed.
record.HALF = (DAYS // 2) .. "d"

---- filling -----------------------------------------------------------------

--- A number as it sorts: src/engine/common/sortable.h.
local SORTABLE = "'n2' || (50000 + length(cast(x.i as text)))"
  .. " || rtrim(cast(x.i as text), '0')"

--- What tells copies apart beside their ids: their keys, times and attributes.
---@param way string  of which kind they are
---@param also table<string, table<string, string>>
local function apart(way, also)
  local other = {
    instance = { business_key = "'order-' || x.i",
      key = "'" .. way .. "-' || x.i", correlation = "'paper-' || x.i",
      created_at = "x.at", started_at = "x.at", updated_at = "x.at",
      entered_at = "x.at",
      completed_at = "case when t.completed_at is not null then x.at end" },
    history = { completed_at = "x.at", started_at = "x.at" },
    outbox = { created_at = "x.at", due_at = "x.at" },
    attribute = { updated_at = "x.at",
      number_value = "case when t.name = 'amount' then x.i end",
      text_value = "case when t.name = 'customer' then 'c-' || x.i end",
      sortable = "case when t.name = 'amount' then " .. SORTABLE
        .. " else 's' || 'c-' || x.i end" },
    failure = { failed_at = "x.at" },
    task = { created_at = "x.at", updated_at = "x.at", due_at = "x.at" },
  }
  for name, columns in pairs(also) do
    for column, what in pairs(columns) do other[name][column] = what end
  end
  return other
end

--- The template's error, with another code for each of five.
local function errors(store)
  local text = "replace(cast(t.error as text), 'bank.timeout',"
    .. " 'bank.' || (x.i % 5))"
  return store.name == "postgres" and text .. "::json" or text
end

--- A deadline that nobody has missed.
local function in_a_year(store)
  return store.name == "postgres"
    and ("x.at + interval '%d s'"):format(YEAR)
    or ("x.at + %d"):format(YEAR * 1000000)
end

--- Of each kind: how it goes, of how many finished ones it is one, and what
--- differs from the others.
local function kinds(store)
  return {
    { way = "finish", one_of = 1,
      other = { outbox = { published_at = "x.at" } } },
    { way = "fail", one_of = 100,
      other = { instance = { error = errors(store) },
        failure = { code = "'bank.' || (x.i % 5)" } } },
    { way = "wait", one_of = 10, other = {} },
    { way = "ask", one_of = 100,
      other = { instance = { deadline_at = in_a_year(store) } } },
  }
end

--- Copies were not counted as they came. (In SQLite triggers do.)
local COUNT = [[
  truncate pawl.counter;
  insert into pawl.counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  select shard, workflow, version, '', '', status,
         case when status = 'waiting' then node else '' end,
         to_timestamp(0), count(*)
    from pawl.instance group by shard, workflow, version, status, 7]]

--- The template has none that copies could have.
local DEADLINES = [[
  insert into %sdeadline (shard, instance, deadline_at)
  select shard, id, deadline_at from %sinstance
   where deadline_at is not null]]

--- What few have, whatever there is.
local function make_few(store)
  local engine <close> = assert(pawl.open(store.url))
  local function two(status)
    return ipairs(assert(engine:list { status = status, sort = "oldest",
      limit = 2 }))
  end
  for _, one in two "waiting" do
    assert(engine:cancel(one.id, { by = "ann" }))
  end
  for _, act in ipairs { "delete", "archive" } do
    for _, one in two "completed" do
      assert(engine[act](engine, one.id, { by = "ann" }))
    end
  end
end

--- Into an empty store.
---@param finished integer  instances that have completed
function record.fill(bench, store, finished)
  for kind, of in ipairs(kinds(store)) do
    local id = copies.template(bench, store, "record.lua",
      { way = of.way, customer = "c-0" })
    copies.multiply(store, id,
      copies.of_days(kind, finished // of.one_of, DAYS),
      apart(of.way, of.other))
  end
  local place = store.name == "postgres" and "pawl." or "pawl_"
  store:ask(DEADLINES:format(place, place))
  if store.name == "postgres" then store:ask(COUNT) end
  store:settle()
end

---- asking ------------------------------------------------------------------

--- What finds nothing, and how many of each there are.
local function found(...) return { assert(...) } end

--- Where pages begin, and one that has finished.
---@class bench.Places
---@field id string
---@field middle string            far from both ends
---@field now number
---@field first number             when the record begins
---@field task string              in the middle of those by due time
---@field cursors table<string, string>  by a sort

--- A list of what few have, or nobody.
---@param query fun(at: bench.Places): pawl.Query
local function few(query)
  return function(engine, at) return found(engine:list(query(at))) end
end

--- Each is asked of an engine, by name.
---@type table<string, fun(engine: pawl.Engine, at: bench.Places): any, any>
record.questions = {
  list = function(engine) return engine:list {} end,
  list_oldest = function(engine) return engine:list { sort = "oldest" } end,
  list_before = few(function(at) return { before = at.middle } end),
  list_after = few(function(at) return { after = at.middle } end),
  list_failed = function(engine)
    return engine:list { status = "failed", workflow = "bench.record" }
  end,
  list_node = function(engine)
    return engine:list { status = "waiting", node = "wait" }
  end,
  list_no_node = few(function()
    return { status = "waiting", node = "nowhere" }
  end),
  list_version = few(function() return { version = 7 } end),
  list_group = few(function() return { group = "night" } end),
  list_tenant = few(function() return { tenant = "nobody" } end),
  list_key = few(function() return { key = "finish-77" } end),
  list_correlation = few(function() return { correlation = "paper-77" } end),
  list_business_key = few(function()
    return { business_key = "order-77" }
  end),
  list_key_prefix = few(function()
    return { business_key = "order-77777*" }
  end),
  list_parent = few(function(at) return { parent = at.id } end),
  list_root = few(function(at) return { root = at.id } end),

  list_attribute = function(engine)
    return engine:list { attributes = { customer = "c-77" } }
  end,
  list_range = function(engine)
    return engine:list { attributes = { amount = { ">=", 70, "<", 80 } } }
  end,
  list_decimals = function(engine)
    return engine:list { attributes = { amount = {
      ">=", pawl.decimal "70.5", "<", pawl.decimal "79.5" } } }
  end,
  list_set = function(engine)
    return engine:list { attributes = { customer = { "in", "c-7", "c-70",
      "c-77", "nobody" } } }
  end,
  list_prefix = few(function()
    return { attributes = { customer = { "prefix", "c-77777" } } }
  end),
  list_two = few(function()
    return { status = "waiting", attributes = { customer = "c-77" } }
  end),

  list_error = few(function()
    return { status = "failed", error_code = "bank.3" }
  end),
  list_message = few(function()
    return { status = "failed", error = "the bank does*" }
  end),
  list_no_message = few(function()
    return { status = "failed", error = "no bank*" }
  end),
  list_cancelled = few(function() return { cancelled_by = "ann" } end),
  list_undone = few(function() return { compensation = "running" } end),
  list_leased = few(function() return { leased = true } end),
  list_deleted = few(function() return { deleted = true } end),
  list_archived = few(function() return { archived = true } end),

  list_due = few(function(at) return { due_before = at.now } end),
  list_deadline = few(function(at)
    return { deadline_before = at.first + YEAR + DAY }
  end),
  list_created_after = few(function(at)
    return { created_after = at.now - HOUR }
  end),
  list_created_before = few(function(at)
    return { created_before = at.first + HOUR }
  end),
  list_started_after = few(function(at)
    return { started_after = at.now - HOUR }
  end),
  list_started_before = few(function(at)
    return { started_before = at.first + HOUR }
  end),
  list_updated_after = few(function(at)
    return { updated_after = at.now - HOUR }
  end),
  list_none_updated = few(function(at)
    return { updated_after = at.now + HOUR }
  end),
  list_untouched = few(function(at)
    return { status = "waiting", updated_before = at.first + HOUR }
  end),
  list_completed_after = few(function(at)
    return { completed_after = at.now - HOUR }
  end),
  list_completed_before = few(function(at)
    return { completed_before = at.first + HOUR }
  end),

  tally_status = function(engine)
    return engine:tally { group_by = "status" }
  end,
  tally_workflow = function(engine)
    return engine:tally { group_by = "workflow" }
  end,
  tally_node = function(engine) return engine:tally { group_by = "node" } end,
  tally_error = function(engine)
    return engine:tally { group_by = "error" }
  end,

  tasks = function(engine) return engine.tasks:list { role = "manager" } end,
  tasks_workflow = function(engine)
    return found(engine.tasks:list { workflow = "bench.record", node = "ask" })
  end,
  tasks_key = function(engine)
    return found(engine.tasks:list { business_key = "order-7777*" })
  end,
  tasks_one_key = function(engine)
    return found(engine.tasks:list { key = "ask-77" })
  end,
  tasks_version = function(engine)
    return found(engine.tasks:list { version = 7 })
  end,
  tasks_due_before = function(engine, at)
    return found(engine.tasks:list { due_before = at.now, before = at.task })
  end,
  tasks_due_after = function(engine, at)
    return found(engine.tasks:list { due_before = at.now, after = at.task })
  end,
  tasks_due = function(engine, at)
    return found(engine.tasks:list { due_before = at.first + DAY })
  end,
  tasks_created = function(engine, at)
    return found(engine.tasks:list { created_after = at.now - DAY })
  end,
  tasks_nobody = function(engine)
    return found(engine.tasks:list { assignee = "nobody" })
  end,
  tasks_tally = function(engine)
    return { assert(engine.tasks:tally { status = "pending" }) }
  end,

  audit = function(engine) return found(engine:audit { by = "nobody" }) end,
  audit_since = function(engine, at)
    return found(engine:audit { since = at.now - HOUR })
  end,
  audit_between = function(engine, at)
    return found(engine:audit { since = at.first, ["until"] = at.first
      + HOUR })
  end,
  executors = function(engine) return found(engine.executors:list {}) end,
  get = function(engine, at) return engine:get(at.id) end,
  history = function(engine, at) return engine:history(at.id) end,
  outbox = function(engine) return engine.outbox:list {} end,
  stats = function(engine) return engine:stats {} end,
  problems = function(engine) return engine:problems {} end,
}

--- Of what is sorted by a time: by when it is due any number, else few.
local SORTED = { created = { error_code = "bank.3" },
  updated = { error_code = "bank.3" }, completed = { error_code = "bank.3" },
  due = { status = "waiting" } }

local function sorted(sort, more)
  local query = { sort = sort }
  for _, members in ipairs { SORTED[sort], more or {} } do
    for name, value in pairs(members) do query[name] = value end
  end
  return query
end

--- By when they are due, of what another word finds.
record.questions.list_by_due_found = few(function()
  return { sort = "due", business_key = "order-777*" }
end)

for sort in pairs(SORTED) do
  local name = "list_by_" .. sort
  record.questions[name] = few(function() return sorted(sort) end)
  for _, side in ipairs { "before", "after" } do
    record.questions[name .. "_" .. side] = few(function(at)
      return sorted(sort, { [side] = at.cursors[sort] })
    end)
  end
end

---@return bench.Places
local function places(engine)
  local now = engine:now()
  local first = now - DAYS * DAY
  local at = { now = now, first = first, cursors = {},
    id = assert(engine:list { status = "completed", limit = 1 })[1].id,
    middle = assert(engine:list { sort = "oldest", limit = 1,
      created_after = first + DAYS * DAY // 2 })[1].id }
  local tasks = assert(engine.tasks:list {
    due_before = first + DAYS * DAY // 2 })
  at.task = tasks[1] and tasks[#tasks].id
  for sort in pairs(SORTED) do
    local rows = assert(engine:list(sorted(sort)))
    at.cursors[sort] = rows[1] and rows[#rows].cursor
  end
  return at
end

--- How long it takes, in the middle of several times.
local function time(question, engine, at, name)
  local times = {}
  repeat
    local began = mono()
    local answer = assert(question(engine, at))
    assert(next(answer), name)
    times[#times + 1] = (mono() - began) * 1e3
  until #times == TIMES or #times == 3 and times[1] > SLOW_MS
  return report.median(times)
end

---@return table<string, number>  milliseconds, by question
local function ask(store)
  local engine <close> = assert(pawl.open(store.url))
  local out = {}
  local at = places(engine)
  assert(assert(engine:health {}).sound, "what was filled in is not sound")
  for name, question in pairs(record.questions) do
    out[name] = time(question, engine, at, name)
  end
  return out
end

--- Half of it is past its time. How long others waited for the housekeeper at
--- most: his longest transaction, from its first statement to its commit.
local function prune(store)
  local engine <close> = assert(pawl.open(store.url))
  local began = mono()
  local gone = assert(engine:prune { retain = record.HALF,
    published = record.HALF })
  return { instances = gone.instances.removed, seconds = mono() - began,
    longest_ms = gone.longest_us / 1e3 }
end

---@return table  milliseconds by question, how long the filling took, of how
---              many finished ones, and how half of them went
function record.measure(bench, store, size)
  local full <close> = store:another "record"
  local began = mono()
  record.fill(bench, full, size.record)
  make_few(full)
  local filled = mono() - began
  return { finished = size.record, fill_seconds = filled, ms = ask(full),
    pruned = prune(full) }
end

return record
