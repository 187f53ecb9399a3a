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
  { "instance_list", "standing", "reads one entry for each workflow" },
  { "agenda_claim", "left", "prefixes that are suspended: a few" },
  { "agenda_claim_suspect", "left", "the same" },
  { "agenda_routes", "left", "the same" },
  { "explain_suspension", ".", "the same" },
  { "suspension_list", ".", "all of what is suspended" },
  { "workflow_list", "workflow", "all versions, when somebody asks" },
  { "version_list", "version", "all migrations: a few" },
  { "executor_%a+", "executor", "a row for each process, not for each thing "
    .. "that runs" },
  { "explain_executor", "executor", "the same" },
  { "health_agenda", "executor", "the same, once a page" },
  { "workflow_get", "workflow_current by %(code", "versions of one code" },
  { "explain_workflow", "workflow_current by %(code", "the same" },
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
              and relname not in ('version', 'meta') loop
    names := ''; vals := '';
    for c in select attname as name, format_type(atttypid, -1) as type
               from pg_attribute
              where attrelid = t.oid and attnum > 0 and not attisdropped loop
      continue when t.name = 'attribute' and c.name <> 'text_value'
                and c.name like '%%_value';
      names := names || ', ' || quote_ident(c.name);
      vals := vals || ', ' || case
        when c.name = 'shard' then '0'
        when c.name in ('status', 'state', 'kind', 'workflow')
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
                                        'suspension', 'schedule')
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

--- What a session of ours is told of plans, as its source has it.
local function session()
  local source <close> = assert(io.open "src/store/postgres.c")
  local ways = assert(source:read("a"):match "#define PLANNER_WAYS(.-)\n#")
  local text = {}
  for name, value in ways:gmatch "%('([%w_]+)', '([%w_]+)'%)" do
    text[#text + 1] = ("set %s = %s;"):format(name, value)
  end
  assert(#text > 5)
  return table.concat(text)
end

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
    if name:find "^schema_" then statements[name] = nil end
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
  end
  script[#script + 1] = "select name, plan::text as plan from spec_plan"
  local found = {}
  for _, row in ipairs(backend.sql(url, table.concat(script, "\n"))) do
    found[row.name] = cjson.decode(row.plan)[1].Plan
  end
  return found
end

---- walks -----------------------------------------------------------------

--- Columns of each table's primary key.
local function keys(url)
  local found = {}
  for _, row in ipairs(backend.sql(url, [[
    select c.relname as name, a.attname as key from pg_index i
      join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
     where i.indisprimary and c.relnamespace = 'pawl'::regnamespace]])) do
    found[row.name] = found[row.name] or {}
    found[row.name][row.key] = true
  end
  return found
end

--- A column that the condition binds, out of `wanted`.
local function binds(cond, wanted)
  for left, right in (cond or ""):gmatch "%(+([%w_.]+) = ([%w_.$]+)" do
    for _, side in ipairs { left, right } do
      local column = side:match "([%w_]+)$"
      if wanted(column) then return column end
    end
  end
  return nil
end

--- How a scan walks, or nil: it reads all, or all of a shard, or looks at
--- rows whether they have the key that was asked for.
local function walk_of(node, key)
  local kind, cond = node["Node Type"], node["Index Cond"] or ""
  if kind == "Seq Scan" then return "all of " .. node["Relation Name"] end
  if not kind:find "Index" then return nil end
  local what = ("%s by %s"):format(node["Index Name"], cond)
  local others = cond:gsub("%(shard = [^()]+%)", "")
  if not others:find "[<>=]" then return what end
  if binds(node.Filter, function(c) return key and key[c] end) then
    return what .. ", looking for " .. node.Filter
  end
  return nil
end

local function walks(found, key)
  local list = {}
  local function visit(name, node)
    local relation = node["Relation Name"]
    local walk = walk_of(node, key[relation])
    if walk and (relation or ""):find "^pg_" then walk = nil end
    if not walk and node["Join Filter"] then
      -- what was found under a lock is looked at again
      walk = node["Join Filter"]:gsub("%b()", function(one)
        return one:find "%.version[%s)]" and not one:find "instance" and ""
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
    key = keys(url)
    backend.sql(url, "analyze")
    found.empty = plans(url, statements, session())
    backend.sql(url, FILL:format(1, 1, 1) .. "analyze")
    found.one = plans(url, statements, session())
    backend.sql(url, FILL:format(2, ROWS, ROWS))
    found.stale = plans(url, statements, session())
    backend.sql(url, "analyze")
    found.many = plans(url, statements, session())
    alone = plans(url, statements, UNTOLD)
  end)
  teardown(backend.cleanup)

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

  it("has no parallel workers, also where the session was told nothing",
    function()
      for name, plan in pairs(alone) do assert.is_false(helped(plan), name) end
    end)
end)
