-- The plan of every statement on PostgreSQL, made when its tables had been
-- counted empty, with one row or with very many: rows are found by their keys,
-- never by walking what a shard holds, and nothing asks for parallel workers.
--
-- A plan is made once and kept for a while (0016), by the numbers that were
-- counted last. On an empty table all ways cost the same: a statement is right
-- when no way to walk is open to it, or another one always costs less.
local cjson = require "cjson"
local kit = require "spec.engine.kit"

local ROWS = 100000

local backend
for _, b in ipairs(kit.backends) do
  if b.name == "postgres" then backend = b end
end

-- Walks that are meant: a statement, what it walks, and why.
local MEANT = {
  { "agenda_next", "agenda_due", "reads the first entry" },
  { "outbox_list", "outbox_unpublished", "a page, in the order of the index" },
  { "outbox_dead", "outbox_dead", "the same" },
  { "outbox_next", "outbox_unpublished", "the first entry" },
  { "outbox_claim", "outbox_unpublished by .*due_at <=",
    "what is due: a batch" },
  { "outbox_park", "outbox_unpublished by .*due_at <=", "the same" },
  { "list_status", "standing_pkey by %(shard = ", "one entry for each "
    .. "workflow" },
  { "list_status", "standing_pkey by .*workflow >", "the same" },
  { "list_status", "standing_pkey by .*instance >", "a page of a status" },
  { "archive_left", "archive_rest", "what was cut short" },
  { "list_archived", "archive_pkey by .*id >", "a page of the archive" },
  { "list_archived", "archive_workflow by .*workflow = .*id >",
    "the same of a workflow" },
  { "list_archived_found", "attribute_value by .*>=.*<",
    "what is in a range" },
  { "list_archived_found", "business_key by .*>=.*<", "those that begin so" },
  { "list_archived_?%a*", "suspension_pkey by .*left",
    "prefixes that are suspended: a few" },
  { "list_told", "instance_cancelled by .*id >", "a page of what one has "
    .. "cancelled" },
  { "list_group", "instance_group by .*id >", "a page of a group" },
  { "list_told", "instance_undone by .*id >", "a page of what was undone" },
  { "list_found", "attribute_value by .*>=.*<", "what is in a range" },
  { "list_found", "failure_code by .*workflow >", "one entry for each "
    .. "workflow" },
  { "list_found", "failure_code by .*code >=.*<", "what has the code" },
  { "list_due", "agenda_due by .*due_at >=.*<=", "a page, in order" },
  { "list_found", "business_key by .*>=.*<", "those that begin so" },
  { "list_found", "agenda_due by .*due_at <", "what is due, or leased" },
  { "list_found", "deadline_due by .*deadline_at <", "what is before a "
    .. "deadline" },
  { "list_found", "agenda_ready", "what nobody has taken" },
  { "list_found", "agenda_suspect", "what was taken over" },
  { "audit_list", "completed_at <=.*ROW", "a page of what was asked for" },
  { "audit_list", "created_at <=.*ROW", "a page of what was started" },
  { "audit_list", "audit_pkey by .*at <=.*ROW", "a page of all of it" },
  { "audit_by", "by = .*ROW", "a page of somebody's" },
  { "audit_of", "audit_instance by .*instance =", "what is told of one" },
  { "audit_of", "history_told by .*instance =", "a page of that" },
  { "archive_untell", "audit_instance by .*instance =", "the same" },
  { "archive_untask", "archived_task_instance by .*instance =",
    "those of one" },
  { "audit_request", "audit_request by .*request =", "one entry" },
  { "export_audit", "audit_instance by .*instance =", "what is told of one" },
  { "audit_request", "audit_instance by .*instance =", "the same" },
  { "audit_deleted", "audit_instance by .*instance =", "the same" },
  { "audit_hidden", "audit_instance by .*instance =", "the same" },
  { "audit_purge", "audit_instance by .*instance =", "the same" },
  { "audit_purged", "audit_instance by .*instance =", "the same" },
  { "purge_audit", "audit_instance by .*instance =", "the same" },
  { "purge_held_audit", "audit_instance by .*instance =", "the same" },
  { "list_deleted", "instance_deleted", "a page of what was deleted" },
  { "agenda_claim", "left", "prefixes that are suspended: a few" },
  { "agenda_claim_one", "left", "the same" },
  { "agenda_claim_these", "left", "the same" },
  { "agenda_claim_suspect", "left", "the same" },
  { "agenda_offers", "left", "the same" },
  { "agenda_aside", "left", "the same" },
  { "workflow_list", "left", "the same" },
  { "list_%a+", "suspension_pkey by .*left", "the same" },
  { "subscription_free", "suspension_pkey by .*left", "the same" },
  { "workflow_show", "left", "the same" },
  { "agenda_claim", "agenda_ready by .*version = ",
    "the first of each version" },
  { "agenda_claim_suspect", "agenda_suspect by .*version = ",
    "the same" },
  { "agenda_offers", "agenda_ready", "the first of the next version" },
  { "agenda_offers", "agenda_suspect", "the same" },
  { "agenda_claim_due", "left", "prefixes that are suspended: a few" },
  { "agenda_claim_due", "agenda_due by .*due_at <=", "what is due: a batch" },
  { "agenda_promote", "agenda_due by .*due_at <=", "what is due: a batch" },
  { "agenda_orphan", "agenda_due by .*due_at <=", "what may be leased" },
  { "agenda_unclaim_lease", "agenda_due by .*due_at <=", "the same" },
  { "agenda_unclaim_all", "agenda_due by .*due_at <=", "the same" },
  { "instance_load", "agenda_due by .*due_at >=.*due_at <=",
    "leases with one end" },
  { "ending_next", "ending_due by .*due_at <=", "the first that is due" },
  { "ending_take", "ending_due by .*due_at <=", "what is due: a batch" },
  { "event_prune", "event_expires by .*<=", "what has expired: a batch" },
  { "event_unposted", "event_unposted by .*<=", "what is late: a batch" },
  { "event_assigned", "event_assigned by .*<=", "what is late: a batch" },
  { "event_assigned_first", "event_assigned by", "the first" },
  { "explain_assigned", "event_assigned by", "a hundred, the newest first" },
  { "explain_assigned", "^join by", "those, with what an instance waits for" },
  { "agenda_free", "all of agenda", "a draft of SQLite's, once a restore" },
  { "agenda_of", "agenda_pkey by .*instance >", "a page of the agenda" },
  { "breakpoint_halted", "agenda_pkey by .*instance >", "the same" },
  { "breakpoint_leased", "agenda_due by .*due_at <=", "what may be leased, as "
    .. "a person sets one" },
  { "instance_load", "breakpoint_change", "one row" },
  { "breakpoint_%a+", "breakpoint", "those that are set: a few" },
  { "health_agenda", "agenda_pkey by .*instance >", "the same" },
  { "health_page", "standing_pkey by .*instance >", "a page of a status" },
  { "repair_live", "standing_pkey by .*instance >", "the same" },
  { "health_workflow", "standing_pkey by .*workflow >", "the next workflow" },
  { "workflow_count", "standing_pkey by .*status =", "all of it, unfinished" },
  { "workflow_in_use", "standing_pkey by .*status =", "until one is found" },
  { "message_list", "message_pkey by .*ROW", "a page, in order" },
  { "subscription_match", "subscription_match by .*ROW.*key <=",
    "a page of one key, as a range" },
  { "subscription_match_open", "subscription_open by .*ROW.*pattern <=",
    "a page of one pattern, as a range" },
  { "instance_find", "pkey by .*id >=.*id <=", "two, by an id's beginning" },
  { "task_find", "pkey by .*id >=.*id <=", "the same" },
  { "task_list", "task_status by .*status =", "a page of a status" },
  { "task_list_workflow", "task_workflow by .*status = .*id >", "the same of a "
    .. "workflow" },
  { "task_list_key", "business_key by .*>=.*<", "those that begin so" },
  { "task_list_due", "task_due by .*due_at >=.*ROW", "a page of what is due" },
  { "inbox_known", "inbox_event by .*ROW", "the first, as a range" },
  { "health_page", "inbox_event by .*ROW", "the same" },
  { "prune_audit", "audit_pkey by .*at <=", "a batch, the oldest first" },
  { "prune_audited", "audit_pkey by .*at <=", "what is that old" },
  { "prune_left", "archive_purged by .*purged_at <=", "a batch, the oldest "
    .. "first" },
  { "prune_left_count", "archive_purged by .*purged_at <=", "what is that "
    .. "old" },
  { "prune_deleted", "instance_deleted", "a page of what was deleted" },
  { "prune_ended", "standing_pkey by .*instance >", "a page of a status" },
  { "prune_expired", "event_expires by .*<=", "what has expired" },
  { "prune_published", "outbox_pkey by .*ROW", "a page, in order" },
  { "prune_tasks", "task_status by .*id >", "a page of a status" },
  { "prune_revisions", "workflow", "all versions, once a sweep" },
  { "prune_retains", "workflow_current by %(code", "versions of one code" },
  { "prune_wanted", "workflow_retains", "the first entry" },
  { "prune_executors", "executor", "a row for each process" },
  { "housekeeper_%a+", "housekeeper", "one row" },
  { ".*", "^waiter_pkey by $", "is there any?: the first one" },
  { "waiter_prune", "waiter_pkey by %(shard = %$1%)", "those who wait now" },
  { "trigger_%a+", "trigger", "a row for each pattern of a workflow" },
  { "explain_suspension", ".", "all of what is suspended" },
  { "workflow_list", "workflow", "all versions, when somebody asks" },
  { "migration_list", "migration", "all migrations: a few" },
  { "executor_%a+", "executor", "a row for each process, not for each thing "
    .. "that runs" },
  { "executor_leases", "agenda", "asked by a person; rows that are not ready "
    .. "until a lease's longest time" },
  { "explain_executor", "executor", "the same" },
  { "health_agenda", "executor", "the same, once a page" },
  { "health_tables", "all of migration", "a few" },
  { "health_store", "datid = ", "who is connected" },
  { "health_store", "migration_pkey", "the last entry" },
  { "workflow_get", "workflow_current by %(code", "versions of one code" },
  { "explain_workflow", "workflow_current by %(code", "the same" },
  { "counter_%a+", "all of counter", "a narrow table, folded now and then" },
  { "prune_busy", "all of counter", "the same, until one is found" },
  { "quota_prune", "quota_pkey by", "a few minutes of each limited workflow" },
  { "problem_list", "failure_code by .*>", "one entry for each kind" },
  { "problem_list", "failure_code by .*node = ", "one kind, as many as are "
    .. "counted" },
  { "stats_ready", "agenda_ready by .*ROW", "one entry for each version" },
  { "stats_ready", "agenda_ready by", "the first, or as many as are counted" },
  { "stats_shard", "agenda_due by .*due_at <=", "as many as are counted" },
  { "stats_shard", "agenda_suspect", "the same" },
  { "stats_shard", "outbox_unpublished", "the same" },
  { "stats_shard", "outbox_dead", "the same" },
  { "stats_shard", "outbox_delayed", "the first entry" },
  { "stats_shard", "task_", "the same" },
  { "stats_held", "agenda_due by .*due_at >.*due_at <=", "as many as are "
    .. "asked for" },
  { "instance_step", "count", "no join with a table" },
  { "instance_find_end", ".", "a page of the newest, as many as it says" },
  { "agenda_busy", "agenda", "asked by --until-idle, when nothing is left to "
    .. "do; rows that are not ready until a lease's longest time" },
}

local function is_meant(name, walk)
  for _, m in ipairs(MEANT) do
    if name:find("^" .. m[1] .. "$") and walk:find(m[2]) then return true end
  end
  return false
end

---- rows ------------------------------------------------------------------

-- Rows %d to %d of every table, fewer where nobody has so many. A word's column
-- has three values where many rows share one, else each its own.
local FILL = [[
do $fill$
declare t record; c record; names text; vals text;
begin
  for t in select oid, relname as name from pg_class
            where relnamespace = 'pawl'::regnamespace and relkind = 'r'
              and relname not in ('migration', 'meta', 'secret',
                'housekeeper', 'breakpoint_change') loop
    names := ''; vals := '';
    for c in select attname as name, format_type(atttypid, -1) as type
               from pg_attribute
              where attrelid = t.oid and attnum > 0 and not attisdropped loop
      continue when t.name = 'attribute' and c.name <> 'text_value'
                and c.name like '%%_value';
      names := names || ', ' || quote_ident(c.name);
      vals := vals || ', ' || case
        when c.name = 'shard' then '0'
        when t.name in ('instance', 'standing', 'counter')
             and c.name in ('status', 'was')
          then $$ (array['running', 'waiting', 'failed'])[1 + i %% 3] $$
        when t.name = 'archive' and c.name = 'status'
          then $$'completed'$$
        when t.name = 'task' and c.name = 'status'
          then $$ (array['pending', 'running', 'failed'])[1 + i %% 3] $$
        when t.name = 'task' and c.name = 'priority' then $$ 'normal' $$
        when t.name = 'owner' and c.name = 'kind'
          then $$ (array['user', 'role', 'group'])[1 + i %% 3] $$
        when c.name = 'token_state' or t.name = 'token' and c.name = 'state'
          then $$ (array['active', 'waiting'])[1 + i %% 2] $$
        when t.name = 'item' and c.name = 'state'
          then $$ (array['open', 'started', 'done'])[1 + i %% 3] $$
        when c.name in ('status', 'state', 'kind', 'workflow', 'tenant')
          then $$ 'w' || i %% 3 $$
        when c.type in ('smallint', 'integer', 'bigint') then '1'
        when c.type = 'uuid' then $$ lpad(to_hex(i), 32, '0')::uuid $$
        when c.type = 'text' then $$ 'w' || i $$
        when c.type = 'boolean' then 'i %% 2 = 0'
        when c.type = 'json' then $$ '{}' $$
        when c.type like 'timestamp%%' then $$ now() + i * interval '1 s' $$
        else '1' end;
    end loop;
    execute format('insert into pawl.%%I (%%s) select %%s'
                   ' from generate_series(%d, %%s) i', t.name,
                   substr(names, 3), substr(vals, 3),
                   case when t.name in ('workflow', 'trigger', 'executor',
                                        'suspension', 'breakpoint')
                        then least(%d, 500) else %d end);
  end loop;
end $fill$;]]

-- Nobody else counts them meanwhile.
local ALONE = [[
do $alone$
declare t record;
begin
  for t in select tablename as name from pg_tables
            where schemaname = 'pawl' loop
    execute format('alter table pawl.%I set (autovacuum_enabled = false)',
                   t.name);
  end loop;
end $alone$;]]

---- plans -----------------------------------------------------------------

--- A session that was told nothing, where workers cost nothing.
local UNTOLD = [[set plan_cache_mode = force_generic_plan;
  set parallel_setup_cost = 0; set parallel_tuple_cost = 0;
  set min_parallel_table_scan_size = 0; set min_parallel_index_scan_size = 0;
  set max_parallel_workers_per_gather = 8;]]

local EXPLAIN = [[
  create temp table spec_plan (name text, plan json);
  create function pg_temp.spec_explain(given text, query text) returns void
    language plpgsql as $f$
  declare plan json;
  begin
    execute 'explain (format json) ' || query into plan;
    insert into spec_plan values (given, plan);
  end $f$;]]

--- Every statement, and those that the schema itself sends.
local function catalogue()
  local statements = kit.statements "postgres"
  for name in pairs(statements) do -- reads what a store is before it is one
    if name:find "^schema_" or name:find "^savepoint" then -- has no plan
      statements[name] = nil
    end
  end
  statements.task_open = { args = { "open", "shard", "task" },
    types = { "boolean", "smallint", "uuid" },
    text = "update pawl.owner set open = @open "
      .. "where shard = @shard and task = @task" }
  return statements
end

--- The plan of each, for any arguments.
local function plans(url, statements, settings)
  local script = { settings, EXPLAIN }
  for name, s in pairs(statements) do
    if name:find "^savepoint" then goto next end -- has no plan
    local text, nulls = s.text:gsub(";%s*$", ""), {}
    for i, arg in ipairs(s.args) do
      text = text:gsub("@" .. arg .. "%f[^%w_]", "$" .. i)
      nulls[i] = "null"
    end
    local function list(words)
      return #words > 0 and "(" .. table.concat(words, ", ") .. ")" or ""
    end
    script[#script + 1] = ("prepare spec_%s %s as %s; do $d$ begin perform "
      .. "pg_temp.spec_explain('%s', 'execute spec_%s%s'); end $d$;")
      :format(name, list(s.types), text, name, name, list(nulls))
    ::next::
  end
  script[#script + 1] = "select name, plan::text as plan from spec_plan"
  local found = {}
  for _, row in ipairs(backend.sql(url, table.concat(script, "\n"))) do
    found[row.name] = cjson.decode(row.plan)[1].Plan
  end
  return found
end

---- walks -----------------------------------------------------------------

-- Columns that very many rows of a shard share: what is bound by them alone is
-- walked.
local SHARED = {}
for _, name in ipairs { "shard", "status", "state", "kind", "type", "open",
  "ready", "taken", "posted", "current", "priority", "executor_group",
  "workflow", "version", "name", "pattern", "source", "takeovers",
  "latch" } do SHARED[name] = true end

--- Of each table its indexes by name: their columns in order, `unique`.
local function indexes(url)
  local found = {}
  for _, row in ipairs(backend.sql(url, [[
    select t.relname as name, c.relname as index,
           indisunique and indpred is null as only,
           pg_get_indexdef(i.indexrelid, n, true) as col
      from pg_index i
      join pg_class c on c.oid = i.indexrelid
      join pg_class t on t.oid = i.indrelid
     cross join generate_series(1, i.indnkeyatts) n
     where c.relnamespace = 'pawl'::regnamespace
     order by c.relname, n]])) do
    local of = found[row.name] or {}
    found[row.name] = of
    of[row.index] = of[row.index]
      or { unique = row.only == "t" or row.only == true }
    table.insert(of[row.index], row.col)
  end
  return found
end

--- Adds to `bound` the columns that must be equal to something. A row's own
-- columns are told without its table's name.
local function equals(cond, bound)
  cond = (cond or ""):match "^%((.*)%)$" or ""
  local depth, from = 0, 1
  local function one(text)
    local left, right = text:match "^%((.-) = (.*)%)$"
    if not left then left, right = text:match "^(.-) = (.*)$" end
    for _, side in ipairs { left, right } do
      if side:find "^[%a_][%w_]*$" then bound[side] = true end
    end
  end
  local at = 1
  while at <= #cond do
    local c = cond:sub(at, at)
    depth = depth + (c == "(" and 1 or c == ")" and -1 or 0)
    if depth == 0 and cond:find("^ OR ", at) then return bound end
    if depth == 0 and cond:find("^ AND ", at) then
      one(cond:sub(from, at - 1))
      from = at + 5
    end
    at = at + 1
  end
  one(cond:sub(from))
  return bound
end

--- Columns at an index's beginning that are bound.
local function prefix_of(index, bound)
  local found, n = {}, 1
  while index[n] and bound[index[n]] do
    found[index[n]] = true
    n = n + 1
  end
  return found
end

--- Are all columns of one of the keys among these?
local function is_key(indexes_of, bound)
  for _, index in pairs(indexes_of) do
    local all = index.unique
    for _, column in ipairs(index) do all = all and bound[column] end
    if all then return true end
  end
  return false
end

--- How a scan walks, or nil: it reads all, or all that share what many share,
--- or looks at rows whether they have the key that was asked for.
local function walk_of(node, indexes_of)
  local kind, cond = node["Node Type"], node["Index Cond"] or ""
  if kind == "Seq Scan" then return "all of " .. node["Relation Name"] end
  if not kind:find "Index" then return nil end
  local what = ("%s by %s"):format(node["Index Name"], cond)
  local bound = equals(cond, {})
  local prefix = prefix_of(indexes_of[node["Index Name"]], bound)
  if is_key(indexes_of, prefix) then return nil end
  local asked = equals(node.Filter, equals(cond, {}))
  for name, index in pairs(indexes_of) do
    local found
    for column in pairs(prefix_of(index, asked)) do
      found = found or not SHARED[column] and not prefix[column]
    end
    if found then
      return ("%s, not %s, looking for %s"):format(what, name,
        node.Filter or "")
    end
  end
  for column in pairs(prefix) do
    if not SHARED[column] then return nil end
  end
  return what
end

local function walks(found, key)
  local list = {}
  local function visit(name, node)
    local relation = node["Relation Name"]
    local walk
    if not (relation or ""):find "^pg_" then
      walk = walk_of(node, key[relation])
    end
    if not walk and node["Join Filter"] then
      -- what was found under a lock is looked at again
      walk = node["Join Filter"]:gsub("%b()", function(one)
        return one:find "%.commits[%s)]" and not one:find "instance" and ""
          or one:find "lease" and not one:find "instance" and "" or one
      end)
      walk = walk:find "%S" and "join by " .. walk
    end
    if walk and not is_meant(name, walk) then
      list[#list + 1] = name .. ": " .. walk
    end
    for _, child in ipairs(node.Plans or {}) do visit(name, child) end
  end
  for name, plan in pairs(found) do visit(name, plan) end
  table.sort(list)
  return table.concat(list, "\n")
end

local function helped(node)
  if node["Node Type"]:find "Gather" then return true end
  for _, child in ipairs(node.Plans or {}) do
    if helped(child) then return true end
  end
  return false
end

if not backend then return end

describe("the plan of a statement, on postgres,", function()
  local statements, found, key, alone = catalogue(), {}, nil, nil

  setup(function()
    local url = backend.url()
    backend.open(url)
    backend.sql(url, ALONE)
    key = indexes(url)
    backend.sql(url, "analyze")
    found.empty = plans(url, statements, kit.planner_ways())
    backend.sql(url, FILL:format(1, 1, 1) .. "analyze")
    found.one = plans(url, statements, kit.planner_ways())
    backend.sql(url, FILL:format(2, ROWS, ROWS))
    found.stale = plans(url, statements, kit.planner_ways())
    backend.sql(url, "analyze")
    found.many = plans(url, statements, kit.planner_ways())
    alone = plans(url, statements, UNTOLD)
  end)
  teardown(backend.cleanup)

  it("leaves no index unread", function()
    local used, idle = {}, {}
    local function visit(node)
      if node["Index Name"] then used[node["Index Name"]] = true end
      for _, name in ipairs(node["Conflict Arbiter Indexes"] or {}) do
        used[name] = true -- it tells what is there already
      end
      for _, child in ipairs(node.Plans or {}) do visit(child) end
    end
    for _, made in pairs(found) do
      for _, plan in pairs(made) do visit(plan) end
    end
    for _, of in pairs(key) do
      for name in pairs(of) do
        if not used[name] then idle[#idle + 1] = name end
      end
    end
    table.sort(idle)
    assert.same({}, idle)
  end)

  local function check(state)
    local n = 0
    for _ in pairs(found[state]) do n = n + 1 end
    assert.is_true(n > 130, n .. " statements")
    assert.equal("", walks(found[state], key))
  end

  it("walks nothing, made on empty tables", function() check "empty" end)
  it("walks nothing, made on tables of one row", function() check "one" end)
  it("walks nothing, made on tables of very many rows", function()
    check "many"
  end)
  it("walks nothing, made on tables that have grown since they were counted",
    function() check "stale" end)

  it("finds what an instance is asked beside very many events", function()
    local function uses(node)
      if node["Index Name"] == "inbox_request" then return true end
      for _, child in ipairs(node.Plans or {}) do
        if uses(child) then return true end
      end
      return false
    end
    for _, name in ipairs { "inbox_cancel", "inbox_load", "health_agenda" } do
      for state, plans_of in pairs(found) do
        assert.is_true(uses(plans_of[name]), name .. " " .. state)
      end
    end
  end)

  it("has no parallel workers, also where the session was told nothing",
    function()
      -- they read the server's catalog, which we cannot tell
      for _, name in ipairs { "health_tables", "health_store",
        "doctor_settings" } do
        alone[name] = nil
      end
      for name, plan in pairs(alone) do assert.is_false(helped(plan), name) end
    end)
end)
