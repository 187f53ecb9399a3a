--- A record as it is after some years, and how long questions to it take.
---
--- To 100 finished ones 10 wait, each with an event in the outbox that nobody
--- has published; one has failed, and one stands at a task. They were created
--- over the last 60 days, and what finished did so as it was created.
local copies = require "copies"
local mono = require("pawl.core").mono
local pawl = require "pawl"
local report = require "report"

local record = {}

local DAYS = 60
local TIMES = 7 -- each question is asked; the median counts

--- What ended longer ago is half of what has completed.
record.HALF = (DAYS // 2) .. "d"

---- filling -----------------------------------------------------------------

--- A number as it sorts: src/engine/common/sortable.h.
local SORTABLE = "'n2' || (50000 + length(cast(x.i as text)))"
  .. " || rtrim(cast(x.i as text), '0')"

--- What tells copies apart beside their ids: their times and attributes.
---@param also table<string, table<string, string>>
local function apart(also)
  local other = {
    instance = { created_at = "x.at", started_at = "x.at", updated_at = "x.at",
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
    .. " 'bank.' || x.i % 5)"
  return store.name == "postgres" and text .. "::json" or text
end

--- Of each kind: how it goes, of how many finished ones it is one, and what
--- differs from the others.
local function kinds(store)
  return {
    { way = "finish", one_of = 1,
      other = { outbox = { published_at = "x.at" } } },
    { way = "fail", one_of = 100,
      other = { instance = { error = errors(store) },
        failure = { code = "'bank.' || x.i % 5" } } },
    { way = "wait", one_of = 10, other = {} },
    { way = "ask", one_of = 100, other = {} },
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

--- Into an empty store.
---@param finished integer  instances that have completed
function record.fill(bench, store, finished)
  for kind, of in ipairs(kinds(store)) do
    local id = copies.template(bench, store, "record.lua",
      { way = of.way, customer = "c-0" })
    copies.multiply(store, id,
      copies.of_days(kind, finished // of.one_of, DAYS), apart(of.other))
  end
  if store.name == "postgres" then store:ask(COUNT) end
  store:settle()
end

---- asking ------------------------------------------------------------------

--- What finds nothing, and how many of each there are.
local function found(...) return { assert(...) } end

--- Each is asked of an engine, by name.
---@type table<string, fun(engine: pawl.Engine, some: string): any, any>
record.questions = {
  list = function(engine) return engine:list {} end,
  list_failed = function(engine)
    return engine:list { status = "failed", workflow = "bench.record" }
  end,
  list_attribute = function(engine)
    return engine:list { attributes = { customer = "c-77" } }
  end,
  list_range = function(engine)
    return engine:list { attributes = { amount = { ">=", 70, "<", 80 } } }
  end,
  list_node = function(engine)
    return engine:list { status = "waiting", node = "wait" }
  end,
  list_no_node = function(engine)
    return found(engine:list { status = "waiting", node = "nowhere" })
  end,
  list_error = function(engine)
    return found(engine:list { status = "failed", error_code = "bank.3" })
  end,
  list_due = function(engine)
    return found(engine:list { due_before = engine:now() })
  end,
  list_correlation = function(engine)
    return found(engine:list { correlation = "nobody's" })
  end,
  list_business_key = function(engine)
    return found(engine:list { business_key = "nobody*" })
  end,
  list_tenant = function(engine)
    return found(engine:list { tenant = "nobody" })
  end,
  tally_status = function(engine)
    return engine:tally { group_by = "status" }
  end,
  tally_error = function(engine)
    return engine:tally { group_by = "error" }
  end,
  audit = function(engine) return found(engine:audit { by = "nobody" }) end,
  executors = function(engine) return found(engine.executors:list {}) end,
  get = function(engine, some) return engine:get(some) end,
  history = function(engine, some) return engine:history(some) end,
  tasks = function(engine) return engine.tasks:list { role = "manager" } end,
  outbox = function(engine) return engine.outbox:list {} end,
  stats = function(engine) return engine:stats {} end,
  problems = function(engine) return engine:problems {} end,
}

---@return table<string, number>  milliseconds, by question
local function ask(store)
  local engine <close> = assert(pawl.open(store.url))
  local out = {}
  local some = assert(engine:list { limit = 1 })[1].id
  assert(assert(engine:health {}).sound, "what was filled in is not sound")
  for name, question in pairs(record.questions) do
    local times = {}
    for i = 1, TIMES do
      local began = mono()
      local answer = assert(question(engine, some))
      assert(next(answer), name)
      times[i] = (mono() - began) * 1e3
    end
    out[name] = report.median(times)
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
  local filled = mono() - began
  return { finished = size.record, fill_seconds = filled, ms = ask(full),
    pruned = prune(full) }
end

return record
