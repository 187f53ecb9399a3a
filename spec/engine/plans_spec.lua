-- What a claim and a commit cost: it must not grow with what is finished,
-- waiting, due later, or not this executor's to run.
local kit = require "spec.engine.kit"
local shell = require "spec.support.shell"

local ROWS = 20000
local NOW = 1767225600000000 -- the virtual clock's beginning
local EXECUTOR = kit.draw_id()

-- Statements that nobody sends often, on tables that stay small.
local RARE = { "^executor_", "^explain_suspension$", "^explain_executor$",
  "^health_agenda$", "^health_store$", "^counter_", "^prune_busy$",
  "^prune_executors$", "^prune_revisions$", "^prune_wanted$", "^migration_",
    "^meta_",
    "^workflow_list$", "^savepoint", "^wake$", "^quota_prune$",
    "^agenda_free$", "^breakpoint_list$", "^breakpoint_tidy$" }

local function is_rare(name)
  for _, pattern in ipairs(RARE) do
    if name:find(pattern) then return true end
  end
  return false
end

local backends = {}
for _, backend in ipairs(kit.backends) do backends[backend.name] = backend end

---- SQLite: what the planner says -----------------------------------------

--- The plan of a statement, one line each.
local function plan_of(url, text)
  return shell.output { "sqlite3", "-batch", url,
    "explain query plan " .. text }
end

-- Columns that very many rows of a shard share.
local SHARED = {}
for _, name in ipairs { "shard", "status", "state", "kind", "type", "open",
  "ready", "taken", "posted", "priority", "executor_group", "workflow",
  "version", "name", "pattern", "source", "is_prefix", "tenant" } do
  SHARED[name] = true
end

-- Searches by such columns alone that are meant: a statement, its index and
-- condition, and why.
local MEANT = {
  { "agenda_next", "due %(shard=%?%)", "the first entry" },
  { "agenda_busy", "due .*due_at<", "asked by --until-idle, when nothing is "
    .. "left to do: leases" },
  { "agenda_claim", "ready .*version=", "the first of each version" },
  { "agenda_claim_suspect", "suspect .*version=", "the same" },
  { "agenda_claim_due", "due .*due_at<", "what is due: a batch" },
  { "agenda_offers", "ready", "the first of the next version" },
  { "agenda_offers", "agenda_suspect", "the same" },
  { "agenda_promote", "due .*due_at<", "what is due: a batch" },
  { "agenda_orphan", "due .*due_at<", "what may be leased" },
  { "agenda_unclaim_lease", "due .*due_at<", "the same" },
  { "agenda_unclaim_all", "due .*due_at<", "the same" },
  { "executor_leases", "due .*due_at<", "the same, counted" },
  { "agenda_of", "instance>", "a page of the agenda" },
  { "breakpoint_halted", "instance>", "the same" },
  { "breakpoint_leased", "due .*due_at<", "what may be leased" },
  { "counter_fold", "shard", "a narrow table" },
  { "problem_list", "failure_code", "one entry for each kind" },
  { "stats_ready", "agenda_ready", "the first, or as many as are counted" },
  { "stats_shard", "agenda_due .*due_at<", "as many as are counted" },
  { "stats_shard", "agenda_suspect", "the same" },
  { "stats_shard", "outbox_unpublished", "the same" },
  { "stats_shard", "outbox_dead .*dead_at>", "the same" },
  { "stats_shard", "outbox_delayed %(shard=%?%)", "the first entry" },
  { "stats_shard", "task_%a+ .*status=", "the same" },
  { "stats_held", "agenda_due .*due_at<", "the same" },
  { "health_agenda", "instance>", "the same" },
  { "ending_next", "due .*due_at<", "the first that is due" },
  { "ending_take", "due .*due_at<", "what is due: a batch" },
  { "event_prune", "expires .*expires_at<", "what has expired: a batch" },
  { "event_unposted", "unposted .*received_at<", "what is late: a batch" },
  { "event_assigned", "assigned .*assigned_at<", "what is late: a batch" },
  { "event_assigned_first", "assigned .*assigned_at>", "the first" },
  { "explain_assigned", "assigned .*assigned_at>", "a hundred" },
  { "message_list", "instance,seq%)>", "a page, in order" },
  { "outbox_list", "unpublished", "a page, in the order of the index" },
  { "outbox_list_tenant", "tenant=%?", "a page of a tenant, in that order" },
  { "outbox_dead", "dead", "the same" },
  { "outbox_next", "unpublished", "the first entry" },
  { "outbox_claim", "unpublished .*due_at<", "what is due: a batch" },
  { "outbox_park", "unpublished .*due_at<", "the same" },
  { "subscription_match_open", "open .*instance>", "a page of one pattern" },
  { "health_page", "workflow .*id>", "a page of a status" },
  { "health_workflow", "workflow .*workflow>", "the next workflow" },
  { "repair_live", "workflow .*id>", "a page of a status" },
  { "workflow_count", "workflow .*status=", "all of it, unfinished" },
  { "workflow_in_use", "workflow .*status=", "until one is found" },
  { "instance_find", "id>%? AND id<", "two, by an id's beginning" },
  { "task_find", "id>%? AND id<", "the same" },
  { "instance_find_tenant", "tenant=%? AND id>%? AND id<", "the same" },
  { "task_find_tenant", "status=%? AND id>%? AND id<", "the same" },
  { "task_find_tenant", "archived_task_tenant %(shard=%? AND tenant=%? AND id>",
    "the same" },
  { "instance_find_end", "id<%?%)", "a page, from the newest on" },
  { "instance_find_end_tenant", "tenant=%? AND id<%?%)", "the same" },
  { "list_tenant", "tenant=%? AND id>%? AND id<%?%)", "a page of a tenant" },
  { "list_group", "executor_group=%? AND id>%? AND id<%?%)",
    "a page of a group" },
  { "list_status", "status=%? AND id>%? AND id<%?%)", "a page of a status" },
  { "list_status", "%(shard=%? AND workflow>%?%)", "the next workflow" },
  { "list_status", "workflow %(shard=%?%)", "the first of them" },
  { "list_found", "sortable>%? AND sortable<%?%)", "what is in a range" },
  { "list_found", "failure_code .*workflow>%?", "one entry for each workflow" },
  { "list_found", "failure_code .*code>%? AND code<%?%)", "what has the code" },
  { "list_told", "cancelled .*<expr>=%? AND id>%? AND id<%?%)", "a page" },
  { "list_told", "undone .*<expr>=%? AND id>%? AND id<%?%)", "a page" },
  { "list_due", "due .*due_at>%? AND due_at<%?%)", "a page, in order" },
  { "list_found", "business_key>%? AND business_key<%?%)", "those that begin "
    .. "so" },
  { "list_found", "due .*due_at<", "what is due, or leased" },
  { "list_found", "deadline_due .*deadline_at<", "what is before a deadline" },
  { "list_found", "agenda_ready", "what nobody has taken" },
  { "list_found", "agenda_suspect", "what was taken over" },
  { "audit_list", "_at[<>]", "a page, in the order of the index" },
  { "audit_list", "PRIMARY KEY %(shard=%? AND at", "the same" },
  { "archive_left", "archive_rest", "what was cut short" },
  { "list_archived", "id>%? AND id<%?%)", "a page of the archive, of a tenant "
    .. "or a workflow" },
  { "list_archived_found", "sortable>%? AND sortable<%?%)", "what is in a "
    .. "range" },
  { "list_archived_found", "business_key>%? AND business_key<%?%)", "those "
    .. "that begin so" },
  { "list_deleted", "deleted %(<expr>=%?", "a page of what was deleted" },
  { "task_list", "status=%? AND id>%? AND id<%?%)", "a page of a status" },
  { "task_list_tenant", "status=%? AND id>%? AND id<%?%)", "of a tenant's" },
  { "task_list_workflow", "status=%? AND id>%? AND id<%?%)", "a workflow's" },
  { "task_list_key", "business_key>%? AND business_key<%?%)", "those that "
    .. "begin so" },
  { "task_list_due", "due .*due_at<", "a page of what is due" },
  { "prune_audit", "PRIMARY KEY %(shard=%? AND at<", "a batch, the oldest" },
  { "prune_audited", "PRIMARY KEY %(shard=%? AND at<", "what is that old" },
  { "prune_left", "archive_purged .*purged_at<", "the same" },
  { "prune_left_count", "archive_purged .*purged_at<", "the same" },
  { "prune_deleted", "deleted %(<expr>=%? AND id>", "the same" },
  { "prune_ended", "workflow .*status=%? AND id>%? AND id<%?%)", "a page of a "
    .. "status" },
  { "prune_expired", "expires .*expires_at<", "what has expired" },
  { "prune_published", "instance,seq%)>", "a page, in order" },
  { "prune_tasks", "status=%? AND id>%? AND id<%?%)", "a page of a status" },
  { "secret_get", "secret_1 %(name=%?%)", "the only one of that name" },
  { "trigger_%a+", "trigger", "a row for each pattern of a workflow" },
  { ".*", "suspension_1 %(is_prefix=%?%)", "prefixes that are suspended: a "
    .. "few" },
}

local function is_meant(name, search)
  for _, m in ipairs(MEANT) do
    if name:find("^" .. m[1] .. "$") and search:find(m[2]) then return true end
  end
  return false
end

--- What a search binds besides what many rows share.
local function finds(search)
  for column in search:match("%(.*"):gmatch "([%w_]+)=%?" do
    if not SHARED[column] then return true end
  end
  return false
end

describe("the plan of a statement that is sent often, on sqlite,", function()
  local backend = backends.sqlite
  local statements = kit.statements "sqlite"
  after_each(backend.cleanup)

  --- Names that stand for pawl's tables in a statement.
  local function tables_of(text)
    local names = {}
    for name, alias in text:gmatch "(pawl_[%w_]+)%s+([%w_]*)" do
      if name ~= "pawl_token_view" then -- a view: its parts show in the plan
        names[name] = true
        names[alias] = true
      end
    end
    return names
  end

  it("searches and never scans", function()
    local _, _, url = backend.fresh()
    local checked = 0
    for name, statement in pairs(statements) do
      if is_rare(name) then goto continue end
      checked = checked + 1
      local plan = plan_of(url, kit.literal(statement, {}))
      local tables = tables_of(statement.text)
      for line in plan:gmatch "[^\n]+" do
        local scanned = line:match "SCAN ([%w_]+)"
        if scanned and not line:find "VIRTUAL TABLE" then
          assert.is_nil(tables[scanned], name .. " scans " .. scanned
            .. ":\n" .. plan)
        end
        assert.is_nil(line:find "AUTOMATIC", name .. ":\n" .. plan)
      end
      ::continue::
    end
    assert.is_true(checked > 30)
  end)

  --- The plans of all statements, by name, in one session that has counted
  --- before (`counts`, rows of sqlite_stat1) and forgotten that, as the library
  --- does: how long its tables are the session keeps in mind.
  local function plans_after(url, counts)
    local names, script = {}, { "begin;" }
    if counts then
      script[#script + 1] = "analyze sqlite_master; delete from sqlite_stat1;"
      for _, row in ipairs(counts) do
        script[#script + 1] = ("insert into sqlite_stat1 values "
          .. "('%s', %s, '%s');"):format(row[1], row[2], row[3])
      end
      script[#script + 1] = "analyze sqlite_master; delete from sqlite_stat1;"
        .. "analyze sqlite_master;"
    end
    for name in pairs(statements) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      script[#script + 1] = ".print == " .. name .. "\nexplain query plan "
        .. kit.literal(statements[name], {}) .. ";"
    end
    script[#script + 1] = "rollback;"
    local file = require "spec.support.tmp".file("plans.sql",
      table.concat(script, "\n"))
    local told = shell.output { "sqlite3", "-batch", url, ".read " .. file }
    local plans = {}
    local name
    for line in told:gmatch "[^\n]+" do
      name = line:match "^== ([%w_]+)$" or name
      plans[name] = (plans[name] or "") .. line .. "\n"
    end
    return plans
  end

  it("is the same whatever was counted before", function()
    local _, _, url = backend.fresh()
    backend.sql(url, "create table x (a); insert into x values (1); "
      .. "analyze x;") -- which makes the table of counts
    local wanted, n = plans_after(url), 0
    for _ in pairs(wanted) do n = n + 1 end
    assert.is_true(n > 200, n)
    -- a table without rowid is its own index there
    local indexes = {}
    for name, of in shell.output { "sqlite3", "-batch", url,
      "select name, tbl_name from sqlite_master where name glob 'pawl_*' "
      .. "or tbl_name glob 'pawl_*'" }:gmatch "([%w_]+)|([%w_]+)" do
      indexes[#indexes + 1] = { name, of }
    end
    assert.is_true(#indexes > 80)
    math.randomseed(7)
    local others = {}
    for _ = 1, 40 do
      local rows, counts = {}, {}
      for _, index in ipairs(indexes) do
        local of = index[2]
        rows[of] = rows[of] or ("%d"):format(10 ^ math.random(2, 7))
        if math.random(2) == 1 then -- of one that is empty nothing is known
          counts[#counts + 1] = { of, "'" .. index[1] .. "'", rows[of] }
        end
      end
      local plans = plans_after(url, counts)
      for name, plan in pairs(wanted) do
        if plans[name] ~= plan then
          others[name] = ("%s:\n%s\nthen:\n%s"):format(name, plan,
            tostring(plans[name]))
        end
      end
    end
    local list = {}
    for _, text in pairs(others) do list[#list + 1] = text end
    table.sort(list)
    assert.equal("", table.concat(list, "\n"))
  end)

  it("leaves no index unread", function()
    local _, _, url = backend.fresh()
    local used, idle = {}, {}
    for _, plan in pairs(plans_after(url)) do
      for name in plan:gmatch "USING [%u ]*INDEX ([%w_]+)" do
        used[name] = true
      end
    end
    for name in shell.output { "sqlite3", "-batch", url,
      "select name from sqlite_master where type = 'index' and sql is not null "
      .. "order by name" }:gmatch "[%w_]+" do
      if not used[name] then idle[#idle + 1] = name end
    end
    assert.same({}, idle)
  end)

  it("searches by more than what very many rows share", function()
    local _, _, url = backend.fresh()
    local checked, walks = 0, {}
    for name, statement in pairs(statements) do
      local plan = plan_of(url, statement.text)
      for search in plan:gmatch "SEARCH ([^\n]*%([^\n]*)" do
        checked = checked + 1
        if not finds(search) and not is_meant(name, search) then
          walks[#walks + 1] = name .. ": " .. search
        end
      end
    end
    table.sort(walks)
    assert.equal("", table.concat(walks, "\n"))
    assert.is_true(checked > 200)
  end)

  it("finds what an instance is asked beside very many events", function()
    local _, _, url = backend.fresh()
    for _, name in ipairs { "inbox_cancel", "inbox_load", "health_agenda" } do
      assert.matches("USING INDEX pawl_inbox_request %(shard=%? AND "
        .. "instance=%?%)", plan_of(url, statements[name].text), nil, nil, name)
    end
  end)

  it("reads ready rows in order, from their own index", function()
    local _, _, url = backend.fresh()
    for name, index in pairs { agenda_claim = "pawl_agenda_ready",
      agenda_claim_suspect = "pawl_agenda_suspect" } do
      local plan = plan_of(url, kit.literal(statements[name], {}))
      assert.matches("SEARCH b USING [%a ]*INDEX " .. index .. " %(shard=%? "
        .. "AND executor_group=%? AND workflow=%? AND version=%?%)",
        plan)
      -- one sort: of what all workflows together offer, not of all rows
      local _, sorts = plan:gsub("TEMP B%-TREE FOR ORDER BY", "")
      assert.equal(1, sorts, plan)
    end
  end)
end)

---- both: what it costs ---------------------------------------------------

local SQLITE = {
  fill = [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %d)
    insert into pawl_agenda (shard, instance, workflow, version,
      executor_group, priority, ready, due_at, takeovers, latch)
    select 0, randomblob(16), '%s', 1, '%s', i %% 7, %d, %d + i, 0, 0 from n;]],
  instances = [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %d)
    insert into pawl_instance (shard, id, status, workflow, version,
      priority, executor_group, visit, attempt, commits, seq, created_at,
      updated_at)
    select 0, randomblob(16), '%s', 't.one', 1, 0, 'default', 1, 0, 1, 1, %d,
      %d from n;]],
}

local POSTGRES = {
  fill = [[
    insert into pawl.agenda (shard, instance, workflow, version,
      executor_group, priority, ready, due_at, takeovers, latch)
    select 0, gen_random_uuid(), '%2$s', 1, '%3$s', i %% 7, %4$d = 1,
      to_timestamp(%5$d / 1000000) + i * interval '1 microsecond', 0, 0
      from generate_series(1, %1$d) i;]],
  instances = [[
    with new as (
    insert into pawl.instance (shard, id, status, workflow, version,
      priority, executor_group, visit, attempt, commits, seq, created_at,
      updated_at)
    select 0, gen_random_uuid(), '%2$s', 't.one', 1, 0, 'default', 1, 0, 1, 1,
      to_timestamp(%3$d / 1000000), to_timestamp(%4$d / 1000000)
      from generate_series(1, %1$d) i
    returning id, workflow, status)
    insert into pawl.standing (shard, workflow, status, instance)
    select 0, workflow, status, id from new;]],
}

--- string.format with numbered directives: "%2$s".
local function numbered(text, ...)
  local given = { ... }
  return (text:gsub("%%(%d)%$([sd])", function(n, _)
    return tostring(given[tonumber(n)])
  end):gsub("%%%%", "%%"))
end

local function fill(backend, ...)
  return backend.name == "sqlite" and SQLITE.fill:format(...)
    or numbered(POSTGRES.fill, ...)
end

local function instances(backend, ...)
  return backend.name == "sqlite" and SQLITE.instances:format(...)
    or numbered(POSTGRES.instances, ...)
end

--- What must make no difference.
local function noise(backend, url)
  local later = NOW + 3600 * 1000000
  backend.sql(url, table.concat {
    fill(backend, ROWS, "t.one", "default", 0, later), -- due later
    -- other groups' and not served, on both sides of ours in the index
    fill(backend, ROWS, "t.one", "another", 1, NOW - ROWS),
    fill(backend, ROWS, "t.one", "other", 1, NOW - ROWS),
    fill(backend, ROWS, "t.a", "default", 1, NOW - ROWS),
    fill(backend, ROWS, "t.two", "default", 1, NOW - ROWS),
    instances(backend, ROWS, "completed", NOW, NOW),
    instances(backend, ROWS, "waiting", NOW, NOW),
  })
end

local LEASE = kit.draw_id()

local function values(backend)
  local pg = backend.name == "postgres"
  local function id(text) return kit.id_literal(backend, text)
    .. (pg and "::uuid" or "") end
  local now = pg and ("to_timestamp(%d)"):format(NOW // 1000000)
    or ("%d"):format(NOW)
  return {
    shard = "0", executor_group = "'default'", now = now, max = "64",
    workflow = pg and "array['t.one']" or "'[\"t.one\"]'",
    version = pg and "array[1]" or "'[1]'", lease = id(LEASE),
    executor = id(EXECUTOR), lease_us = "30000000",
    tenant = "''", pattern = "'e.one'", key = "'k'", source = "''",
    age_us = "5000000",
    events = "16", others = "256",
    after = id "00000000-0000-0000-0000-000000000000",
  }
end

--- Page visits of a statement, in a transaction that is undone.
local function postgres_cost(backend, url, statement, mode, given)
  local text, own, number = statement.text, given or {}, 0
  -- `every: row`: its rows are not there
  text = text:gsub("%(count%(%*%) = cardinality%(@id%)%)::integer", "1")
  local args = {}
  given = given or values(backend)
  for i, name in ipairs(statement.args) do
    number = i
    text = text:gsub("@" .. name .. "%f[^%w_]", "$" .. i)
    args[i] = given[name] or "null"
    if own[name] then
      args[i] = own[name]
    elseif statement.types[i] == "uuid[]" then
      args[i] = ("array['%s', '%s']::uuid[]"):format(LEASE, EXECUTOR)
    elseif statement.types[i]:find "%[%]$"
      and not (given[name] or ""):find "^array" then
      args[i] = "array[null, null]::" .. statement.types[i]
    elseif name == "id" then
      args[i] = ("'%s'"):format(LEASE)
    elseif name == "version" and statement.types[i] == "integer" then
      args[i] = "1"
    end
  end
  assert(number > 0)
  local rows = backend.sql(url, ([[
    %s begin; set local plan_cache_mode = %s;
    prepare spec (%s) as %s;
    explain (analyze, buffers, costs off, timing off, summary off)
      execute spec (%s);
    rollback; deallocate spec]]):format(kit.planner_ways(), mode,
      table.concat(statement.types, ", "), text, table.concat(args, ", ")))
  local pages
  for _, row in ipairs(rows) do
    local line = row["QUERY PLAN"] or ""
    if line:find "^Planning:" then -- what the planner read comes behind
      pages = pages or 0
    elseif not pages and line:find "Buffers: shared" then
      pages = tonumber(line:match "hit=(%d+)" or 0)
        + tonumber(line:match "read=(%d+)" or 0)
    end
  end
  return assert(pages, "no buffers in the plan")
end

--- Steps of SQLite's virtual machine.
local function sqlite_cost(backend, url, statement, given)
  local text = kit.literal(statement, given or values(backend))
  local output = shell.output { "sqlite3", "-batch", "-cmd", ".stats vmstep",
    url, "begin immediate; " .. text .. "; rollback;" }
  local steps = 0
  for n in output:gmatch "VM%-steps: (%d+)" do steps = steps + n end
  assert(steps > 0, output)
  return steps
end

-- The claim comes last: undone, it leaves dead rows behind.
local LOOKS = { "agenda_next", "agenda_offers", "agenda_promote",
  "agenda_claim_suspect", "instance_load", "agenda_claim" }

kit.describe("the cost of a claim", function(backend)
  local statements = kit.statements(backend.name)
  local modes = backend.name == "sqlite" and { "" }
    or { "force_generic_plan", "force_custom_plan" }

  --- Of each statement, on a fresh store with a hundred ready rows and
  --- what `more` puts beside them.
  local function costs(more)
    local _, _, url = backend.fresh()
    backend.sql(url, fill(backend, 100, "t.one", "default", 1, NOW - 1000))
    if more then more(url) end
    local found = {}
    for _, name in ipairs(LOOKS) do
      for _, mode in ipairs(modes) do
        found[name .. " " .. mode] = backend.name == "sqlite"
          and sqlite_cost(backend, url, statements[name])
          or postgres_cost(backend, url, statements[name], mode)
      end
    end
    return found
  end

  --- Deeper indexes cost a little more; a plan that walks through other rows
  --- costs tens of times as much.
  local function compare(few, many)
    for name, cost in pairs(few) do
      assert.is_true(many[name] <= 3 * cost + 150,
        ("%s: %d, and %d among many rows"):format(name, cost, many[name]))
    end
  end

  --- Before the database has counted its rows, and after.
  local function check(more)
    local few = costs()
    compare(few, costs(more))
    compare(few, costs(function(url)
      more(url)
      backend.sql(url, "analyze")
    end))
  end

  it("does not grow with what is not this executor's, not yet due, waiting "
    .. "or finished", function()
    check(function(url) noise(backend, url) end)
  end)

  it("does not grow with what is ready for this executor", function()
    check(function(url)
      backend.sql(url, fill(backend, ROWS, "t.one", "default", 1,
        NOW - ROWS))
    end)
  end)

  it("is shared by a batch, and so is a commit's", function()
    local engine = backend.fresh { batch = 64 }
    assert(engine:load(kit.one()))
    assert(engine:run())
    local function cost_of(n)
      for _ = 1, n do assert(engine:start "t.one") end
      local before = engine:count()
      local stats = assert(engine:tick())
      local after = engine:count()
      assert.equal(n, stats.ended)
      assert.equal(1, stats.commits)
      assert(engine:tick()) -- looks, if this one has not
      return { after.transactions - before.transactions,
        after.trips - before.trips }
    end
    cost_of(1)
    local one = cost_of(1)
    assert.same(one, cost_of(16))
    assert.is_true(one[1] <= 4, one[1] .. " transactions")
  end)

  it("is a look at most when nothing is due", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer()))
    for _ = 1, 10 do assert(engine:start "t.timer") end
    assert(engine:run())
    local before = engine:count()
    assert(engine:tick())
    local after = engine:count()
    assert.is_true(after.transactions - before.transactions <= 1)
  end)
end)

kit.describe("the cost of a commit's statements", function(backend)
  local statements = kit.statements(backend.name)

  --- Those that take what is under a lease, one way or another.
  local function names()
    local found = { "inbox_load" }
    for name, statement in pairs(statements) do
      local takes = {}
      for _, arg in ipairs(statement.args) do takes[arg] = true end
      if takes.id and takes.lease and not name:find "^agenda_claim" then
        found[#found + 1] = name
      end
    end
    table.sort(found)
    assert(#found > 12)
    return found
  end

  it("does not grow with what else there is", function()
    local function costs(more)
      local _, _, url = backend.fresh()
      backend.sql(url, fill(backend, 10, "t.one", "default", 1, NOW - 1000))
      if more then noise(backend, url) end
      local found = {}
      for _, name in ipairs(names()) do
        found[name] = backend.name == "sqlite"
          and sqlite_cost(backend, url, statements[name])
          or postgres_cost(backend, url, statements[name],
            "force_generic_plan")
      end
      return found
    end
    local few, many = costs(false), costs(true)
    for name, cost in pairs(few) do
      assert.is_true(many[name] <= 2 * cost + 50,
        ("%s: %d, and %d among many rows"):format(name, cost, many[name]))
    end
  end)
end)

kit.describe("the cost of a relay's claim", function(backend)
  local statements = kit.statements(backend.name)
  local pg = backend.name == "postgres"

  -- Rows of instances of their own, `each` of one: due at, published at.
  local FILL = pg and [[
    insert into pawl.outbox (shard, instance, seq, type, payload, created_at,
      attempts, due_at, published_at)
    select 0, lpad(to_hex(%d + i / %d), 32, '0')::uuid, i, 'e', '{}',
      to_timestamp(%d / 1000000), 0, to_timestamp(%s / 1000000.0), %s
      from generate_series(1, %d) i;]] or [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %6$d)
    insert into pawl_outbox (shard, instance, seq, type, payload, created_at,
      attempts, due_at, published_at)
    select 0, cast(printf('%%016d', %1$d + i / %2$d) as blob), i, 'e', '{}',
      %3$d, 0, %4$s, %5$s from n;]]

  local function fill_outbox(from, each, due, published, n)
    return pg and FILL:format(from, each, NOW, due, published, n)
      or numbered(FILL, from, each, NOW, due, published, n)
  end

  local published = pg and "now()" or ("%d"):format(NOW)
  local never = pg and "253402300799000000" or "253402300799999999"

  local function cost(more)
    local _, _, url = backend.fresh()
    backend.sql(url, fill_outbox(0, 2, NOW - 1000, "null", 100))
    for _, text in ipairs(more or {}) do backend.sql(url, text) end
    if more then backend.sql(url, "analyze") end
    local found = {}
    for _, name in ipairs { "outbox_next", "outbox_claim", "outbox_park" } do
      local given = values(backend)
      given.walk, given.max = "256", "64"
      found[name] = pg and postgres_cost(backend, url, statements[name],
        "force_generic_plan", given)
        or sqlite_cost(backend, url, statements[name], given)
    end
    return found
  end

  it("does not grow with what is published, waits for its next attempt, or "
    .. "stands behind that", function()
    local later = tostring(NOW + 3600 * 1000000)
    local few = cost()
    local many = cost {
      fill_outbox(1000000, 1, later, published, ROWS),
      fill_outbox(2000000, ROWS, later, published, ROWS),
      fill_outbox(3000000, 1, later, "null", ROWS),
      fill_outbox(4000000, 10, never, "null", ROWS),
    }
    for name, n in pairs(few) do
      assert.is_true(many[name] <= 3 * n + 150,
        ("%s: %d, and %d among many rows"):format(name, n, many[name]))
    end
  end)

  it("is, of a list of one instance's, that of its own rows", function()
    local one = pg and "'00000000-0000-0000-0000-000000000001'::uuid"
      or "cast('0000000000000001' as blob)"
    local function cost_of(more)
      local _, _, url = backend.fresh()
      backend.sql(url, fill_outbox(0, 2, NOW - 1000, "null", 100))
      for _, text in ipairs(more) do backend.sql(url, text) end
      backend.sql(url, "analyze")
      local found = {}
      for i, dead in ipairs { "false", "true" } do
        local given = { shard = pg and "array[0]" or "0", instance = one,
          dead = dead, max = "100" }
        found[i] = pg and postgres_cost(backend, url, statements.outbox_of,
          "force_generic_plan", given)
          or sqlite_cost(backend, url, statements.outbox_of, given)
      end
      return found
    end
    local dead = pg and "update pawl.outbox set dead_at = now()"
      or "update pawl_outbox set dead_at = 1"
    local few = cost_of {}
    local many = cost_of { fill_outbox(1000000, 1, NOW, "null", ROWS),
      fill_outbox(2000000, ROWS, NOW, "null", ROWS), dead }
    for i, n in ipairs(few) do
      assert.is_true(many[i] <= 3 * n + 150,
        ("%d, and %d among many rows"):format(n, many[i]))
    end
  end)

  it("is that of what it looks at, where all stand behind one", function()
    local one = cost { fill_outbox(5000000, 300, NOW - 2000, "null", 300) }
    local very = cost { fill_outbox(5000000, ROWS, NOW - 2000, "null", ROWS) }
    for name, n in pairs(one) do
      assert.is_true(very[name] <= 3 * n + 150,
        ("%s: %d, and %d behind one"):format(name, n, very[name]))
    end
  end)
end)

kit.describe("the cost of the newest that happened to an instance",
function(backend)
  local statements = kit.statements(backend.name)
  local pg = backend.name == "postgres"

  -- Rows of one history behind the `from`th, of somebody or of nobody.
  local FILL = pg and [[
    insert into pawl.history (shard, instance, seq, type, node, by,
      completed_at)
    select 0, %1$s, %2$d + i, 'note', 'a', %3$s,
      to_timestamp(%4$d / 1000000 + i) from generate_series(1, %5$d) i;]] or [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %5$d)
    insert into pawl_history (shard, instance, seq, type, node, by,
      completed_at)
    select 0, %1$s, %2$d + i, 'note', 'a', %3$s, %4$d + i * 1000000 from n;]]

  --- Of what was done to it, and of its newest rows.
  local function costs(of_nobody, of_ann)
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local function add(by, from, n)
      backend.sql(url, numbered(FILL, kit.id_literal(backend, id), from, by,
        NOW, n))
    end
    add("'ann'", 10, of_ann)
    add("null", 10 + of_ann, of_nobody)
    backend.sql(url, "analyze")
    local found = {}
    local ever = pg and "now() + interval '1000 years'" or "253402300799999999"
    local told = { shard = pg and "array[0]" or "0",
      instance = kit.id_literal(backend, id),
      since = pg and "to_timestamp(0)" or "1", ["until"] = ever,
      before = kit.id_literal(backend,
        "00000000-0000-0000-0000-000000000000"),
      before_seq = "0", max = "5" }
    local back = { shard = "0", id = kit.id_literal(backend, id),
      below = "9223372036854775807", changing = "false", max = "5" }
    for name, given in pairs { audit_of = told, history_back = back } do
      found[name] = pg and postgres_cost(backend, url, statements[name],
        "force_generic_plan", given)
        or sqlite_cost(backend, url, statements[name], given)
    end
    return found
  end

  it("does not grow with its history, nor with what else was done", function()
    local few = costs(10, 10)
    for _, many in ipairs { costs(ROWS, 10), costs(10, ROWS) } do
      for name, n in pairs(few) do
        assert.is_true(many[name] <= 3 * n + 150,
          ("%s: %d, and %d of many rows"):format(name, n, many[name]))
      end
    end
  end)
end)

kit.describe("the cost of finding a letter", function(backend)
  local statements = kit.statements(backend.name)
  local pg = backend.name == "postgres"

  local function list(kind, value)
    return pg and ("array[%s]::%s[]"):format(value, kind) or value
  end

  --- By the name alone, by a pattern, and by a key.
  local function cost(url, name, prefix, key)
    local function id(text) return kit.id_literal(backend, text) end
    local given = { shard = "0", no = list("integer", "1"),
      id = list("uuid", id(EXECUTOR)), name = list("text", name),
      prefix = list("text", prefix), key = list("text", key or "null"),
      after_at = list("timestamptz", pg and "to_timestamp(0)" or "0"),
      after_no = list("uuid", id "00000000-0000-0000-0000-000000000000"),
      max = list("integer", "16") }
    return pg and postgres_cost(backend, url, statements.inbox_find,
      "force_generic_plan", given)
      or sqlite_cost(backend, url, statements.inbox_find, given)
  end

  --- Of the first look at an inbox.
  local function cost_of_load(url)
    local given = { shard = "0", events = "16", others = "256",
      id = list("uuid", kit.id_literal(backend, EXECUTOR)) }
    return pg and postgres_cost(backend, url, statements.inbox_load,
      "force_generic_plan", given)
      or sqlite_cost(backend, url, statements.inbox_load, given)
  end

  --- So many of each name, one name behind the other; `keyed`: each with a key
  --- of its own.
  local function letters(url, names, n, keyed)
    local key = keyed and "'k' || i" or "null"
    local id = kit.id_literal(backend, EXECUTOR)
    for i, name in ipairs(names) do
      backend.sql(url, pg and ([[
        insert into pawl.inbox (shard, instance, no, kind, name, event_id, data,
          received_at, addressed, key)
        select 0, %s, lpad(to_hex(%d + i * 8), 32, '0')::uuid, 'event', '%s',
          '%s' || i, 'null', to_timestamp(1700000000 + %d * 100000 + i), true,
          %s from generate_series(1, %d) i;]])
          :format(id, i, name, name, i, key, n)
        or ([[
        with recursive n (i) as (select 1 union all select i + 1 from n
          where i < %d)
        insert into pawl_inbox (shard, instance, no, kind, name, event_id, data,
          received_at, addressed, key)
        select 0, %s, cast(printf('%%016d', %d + i * 8) as blob), 'event', '%s',
          '%s' || i, 'null', 1700000000000000 + %d * 100000 + i, 1, %s
          from n;]])
          :format(n, id, i, name, name, i, key))
    end
  end

  it("does not grow with those of the same name, nor with others", function()
    local function costs(n)
      local _, _, url = backend.fresh()
      letters(url, { "a", "pay.two.of", "z", "pay.one", "pay.two" }, n)
      return { cost(url, "'pay.one'", "null"), cost(url, "null", "'pay.'"),
        cost_of_load(url) }
    end
    local few, many = costs(32), costs(ROWS)
    for i, what in ipairs { "a name", "a pattern", "all that came" } do
      assert.is_true(many[i] <= 2 * few[i] + 50,
        ("%s: %d, and %d among many"):format(what, few[i], many[i]))
    end
  end)

  it("with its key does not grow with those of other keys", function()
    local function costs(n)
      local _, _, url = backend.fresh()
      letters(url, { "pay.one" }, n, true)
      return cost(url, "'pay.one'", "null", "'k7'")
    end
    local few, many = costs(32), costs(ROWS)
    assert(many <= 2 * few + 50, ("%d, and %d among many"):format(few, many))
  end)
end)

---- lists -----------------------------------------------------------------

-- What is asked for, and by which statement it is found.
local LISTS <const> = {
  none = { "list_status" },
  few = { "list_status", { tenant = "'x'", statuses = "'failed '",
    attributes = [=['[{"name":"r","ranges":[["sz","sz~"]]}]']=] } },
  workflow = { "list_status", { workflow = "'t.one'" } },
  tenant = { "list_tenant", { tenant = "'x'" } },
  group = { "list_group", { executor_group = "'x'" } },
  correlation = { "list_found", { correlation = "'x'" } },
  key = { "list_found", { key = "'x1'" } },
  business_key = { "list_found", { business_from = "'x'",
    business_to = "'y'" } },
  equal = { "list_attribute", { name = "'r'", sortable = "'sx'" } },
  attribute = { "list_found", { name = "'r'",
    ranges = [=['[["sx","sy"]]']=],
    attributes = [=['[{"name":"r","ranges":[["sx","sy"]]}]']=] } },
  code = { "list_found", { code_from = "'c'", code_to = "'d'",
    error_code = [['{"code":"c"']] } },
  cancelled = { "list_told", { cancelled_by = [[',"by":"ann",']] } },
  undone = { "list_told", { compensation = [['{"status":"running", ']] } },
  due_first = { "list_due", { statuses = "'waiting '" } },
  due = { "list_found" },
  leased = { "list_found" },
  deadline = { "list_found" },
  parent = { "list_found" },
  root = { "list_found" },
  deleted = { "list_deleted" },
  archived_workflow = { "list_archived", { by = "'workflow'",
    workflow = "'t.one'" } },
  archived_tenant = { "list_archived", { by = "'tenant'", tenant = "'x'" } },
  archived_correlation = { "list_archived_found", { by = "'correlation'",
    correlation = "'x'" } },
  archived_key = { "list_archived_found", { by = "'key'", key = "'x1'" } },
  archived_parent = { "list_archived_found", { by = "'parent'" } },
  archived_root = { "list_archived_found", { by = "'root'" } },
  -- compared beside: the walk ends with those of the statuses that are asked
  -- for, however many there are of others
  version = { "list_status", { version = "2" } },
  node = { "list_status", { node = "'n'" } },
  message = { "list_status", { error = [['{"code":"no"']],
    message = [[',"message":"no"']] } },
  started = { "list_status", "started_after" },
  updated = { "list_status", "updated_after" },
  completed = { "list_status", "completed_after" },
}

-- Of whom no index tells, as a column changes with each commit or few ask for
-- it: those that the walk compares one by one.
local BESIDE <const> = { "version", "node", "message", "started", "updated",
  "completed" }

-- What very many have, and nobody asks for.
local BY_BOB <const> = [[{"reason":null,"by":"bob","source":"",]]
  .. [["requested_at":"2026-01-01T00:00:00Z"}]]
local UNDONE <const> = [[{"status":"completed","end":"failed"}]]

kit.describe("the cost of a list", function(backend)
  local statements = kit.statements(backend.name)
  local pg = backend.name == "postgres"

  local function id(text)
    return kit.id_literal(backend, text) .. (pg and "::uuid" or "")
  end

  local function cost(url, name, up)
    local statement = statements[LISTS[name][1]]
    local given = { max = "10", version = "null", brief = pg and "false" or "0",
      up = pg and tostring(up) or up and "abs(1)" or "abs(0)",
      low = id "00000000-0000-0000-0000-000000000000",
      high = id "ffffffff-ffff-ffff-ffff-ffffffffffff",
      shard = pg and "array[0]::smallint[]" or "0", by = ("'%s'"):format(name),
      status = pg and "array['failed']" or "'failed'",
      statuses = name ~= "none" and "'failed '" or nil,
      from_id = id "00000000-0000-0000-0000-000000000000",
      to_id = id "ffffffff-ffff-ffff-ffff-ffffffffffff",
      from_at = pg and "timestamptz '2026-01-01'" or "0",
      to_at = pg and "timestamptz '9999-01-01'" or tostring(1 << 62),
      ["until"] = pg and "timestamptz '2026-01-01'" or tostring(NOW) }
    local own = LISTS[name][2] or {}
    if type(own) == "string" then own = { [own] = given.to_at } end
    for arg, value in pairs(own) do given[arg] = value end
    local is_of = name:match "parent$" or name:match "root$"
    if is_of then given[is_of] = id(EXECUTOR) end
    given.whole = pg and "false" or "0"
    local told = given.cancelled_by or [['{"status":"running",']]
    given.told = pg and ("array[%s]"):format(told) or told
    -- as arguments are: what stands there itself SQLite would work out first
    for arg, value in pairs(pg and {} or given) do
      given[arg] = ("coalesce(%s, null)"):format(value)
    end
    for _, arg in ipairs(statement.args) do
      given[arg] = given[arg] or "null"
    end
    if not pg then return sqlite_cost(backend, url, statement, given) end
    return postgres_cost(backend, url, statement, "force_generic_plan", given)
  end

  local function costs(more, analyze)
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for i = 1, 5 do
      local word = i % 2 == 0 and "y" or "x"
      assert(engine:start("t.one", nil, { correlation = word, tenant = word,
        business_key = word, key = word .. i,
        attributes = { r = word } }))
    end
    do -- a page of each, or very many
      local rows = more and ROWS or 20
      backend.sql(url, instances(backend, rows, "completed", NOW, NOW)
        .. instances(backend, rows, "waiting", NOW, NOW)
        .. ([[insert into %s (shard, instance, name, type, text_value,
                sortable, updated_at)
              select 0, id, 'r', 'string', 'z', 'sz', created_at
                from %s where status <> 'running';]]):format(
          kit.table(backend, "attribute"), kit.table(backend, "instance"))
        .. ([[insert into %s (shard, instance, workflow, version,
                executor_group, priority, ready, due_at, takeovers, latch)
              select 0, id, workflow, version, executor_group, priority,
                     %s, %s, 0, 0 from %s where status = 'waiting';]]):format(
          kit.table(backend, "agenda"), pg and "false" or "0",
          pg and "timestamptz '2027-01-01' + random() * interval '1 day'"
            or ("%d + abs(random() %% 1000000000)"):format(NOW + 1000000),
          kit.table(backend, "instance"))
        .. ("update %s set cancellation = '%s', compensation = '%s'"
          .. " where status = 'waiting';"):format(
          kit.table(backend, "instance"), BY_BOB, UNDONE)
        .. ([[insert into %s (shard, instance, workflow, code, node,
                failed_at)
              select 0, id, workflow, 'e', 'n', created_at
                from %s where status = 'waiting';]]):format(
          kit.table(backend, "failure"), kit.table(backend, "instance"))
        .. ([[insert into %s (shard, instance, deadline_at)
              select shard, instance, due_at from %s where not ready;]])
          :format(kit.table(backend, "deadline"), kit.table(backend, "agenda"))
        .. ("update %s set parent = %s, root = %s where %s;"):rep(2):format(
          kit.table(backend, "instance"), id(EXECUTOR), id(EXECUTOR),
          "key = 'x1'", kit.table(backend, "instance"), id(LEASE), id(LEASE),
          "status = 'waiting'")
        .. ("update %s set deleted_at = created_at where key = 'y2';"):format(
          kit.table(backend, "instance"))
        .. ([[insert into %s (shard, id, workflow, version, tenant, priority,
                executor_group, correlation, key, parent, root, status,
                created_at, updated_at, archived_at, rest)
              select 0, id, case when key is null then 't.many' else workflow
                     end, 1, coalesce(tenant, 'z'), 0, 'default',
                     coalesce(correlation, 'z' || cast(id as text)), key,
                     coalesce(parent, id), coalesce(root, id), 'completed',
                     created_at, updated_at, created_at, %s
                from %s where status <> 'waiting';]]):format(
          kit.table(backend, "archive"), pg and "false" or "0",
          kit.table(backend, "instance")))
    end
    if analyze then backend.sql(url, "analyze") end
    local found = {}
    -- beside an autovacuum the server may read its catalog anew
    local function least(name, oldest)
      local pages = cost(url, name, oldest)
      if pages <= 100 then return pages end
      local again = cost(url, name, oldest)
      return math.min(pages, again)
    end
    for name in pairs(LISTS) do
      found[name .. ", newest"] = least(name, false)
      found[name .. ", oldest"] = least(name, true)
    end
    return found
  end

  it("is that of all of a status where it is compared beside", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:start "t.one")
    local function all()
      local found = {}
      for _, name in ipairs(BESIDE) do found[name] = cost(url, name, true) end
      return found
    end
    backend.sql(url, instances(backend, 100, "failed", NOW, NOW))
    local few = all()
    backend.sql(url, instances(backend, 2000, "failed", NOW, NOW))
    for name, many in pairs(all()) do
      assert.is_true(many > 2 * few[name], name .. " has an index by now: "
        .. "say so among LISTS, and what it is found by in pawl.h")
      assert.is_true(many <= 40 * few[name] + 150, name)
    end
  end)

  it("does not grow with those that others have, or another status",
    function()
      local few = costs(false)
      for _, analyze in ipairs { false, true } do
        for filter, many in pairs(costs(true, analyze)) do
          assert.is_true(many <= 2 * few[filter] + 150,
            ("%s: %d, and %d among many rows"):format(filter, few[filter],
              many))
        end
      end
    end)
end)

---- events ----------------------------------------------------------------

local SUBSCRIBE = {
  sqlite = [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %d)
    insert into pawl_subscription (shard, instance, token, pattern, key, tenant,
      since, free)
    select 0, randomblob(16), 1, '%s', %s, '%s', i, nullif(i %% 2, 1) + 1
      from n;]],
  postgres = [[
    insert into pawl.subscription (shard, instance, token, pattern, key, tenant,
      since, free)
    select 0, gen_random_uuid(), 1, '%2$s', %3$s, '%4$s', to_timestamp(i),
      case when i %% 2 = 0 then true end
      from generate_series(1, %1$d) i;]],
}
local EVENTS = {
  sqlite = [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %d)
    insert into pawl_event (shard, source, id, name, key, posted, received_at,
      expires_at)
    select 0, '%s', 'e' || i, 'e.one', 'k' || i, 1, %d, %d from n;]],
  postgres = [[
    insert into pawl.event (shard, source, id, name, key, posted, received_at,
      expires_at)
    select 0, '%2$s', 'e' || i, 'e.one', 'k' || i, true,
      to_timestamp(%3$d / 1000000), to_timestamp(%4$d / 1000000)
      from generate_series(1, %1$d) i;]],
}

kit.describe("the cost of routing an event", function(backend)
  local statements = kit.statements(backend.name)
  local pg = backend.name == "postgres"
  local routing = { "subscription_match", "subscription_match_open",
    "subscription_free", "subscription_assign", "event_assign",
    "event_get", "event_posted", "event_unposted", "event_prune",
    "agenda_wake_many", "inbox_insert_many" }

  local given = values(backend)
  given.since = pg and "to_timestamp(0)" or "0"

  local function write(templates, ...)
    return pg and numbered(templates.postgres, ...)
      or templates.sqlite:format(...)
  end

  --- A few that wait for it, and, with `more`, very many for other things.
  local function costs(more, analyze)
    local _, _, url = backend.fresh()
    backend.sql(url, write(SUBSCRIBE, 5, "e.one", "'k'", "")
      .. write(SUBSCRIBE, 5, "e.one", "null", ""))
    if more then
      backend.sql(url, write(SUBSCRIBE, ROWS, "e.one", "'k' || i", "")
        .. write(SUBSCRIBE, ROWS, "e.two", "'k'", "")
        .. write(SUBSCRIBE, ROWS, "e.two", "null", "")
        .. write(SUBSCRIBE, ROWS, "e.one", "'k'", "another")
        .. write(SUBSCRIBE, ROWS, "e.one", "null", "another")
        .. write(EVENTS, ROWS, "s", NOW, NOW + 86400 * 1000000))
    end
    if analyze then backend.sql(url, "analyze") end
    local found = {}
    for _, name in ipairs(routing) do
      for _, mode in ipairs(pg and { "force_generic_plan",
        "force_custom_plan" } or { "" }) do
        found[name .. " " .. mode] = pg
          and postgres_cost(backend, url, statements[name], mode, given)
          or sqlite_cost(backend, url, statements[name], given)
      end
    end
    return found
  end

  it("does not grow with what waits for others, or another tenant's", function()
    local few = costs(false)
    for _, analyze in ipairs { false, true } do
      for name, many in pairs(costs(true, analyze)) do
        assert.is_true(many <= 2 * few[name] + 50,
          ("%s: %d, and %d among many rows"):format(name, few[name], many))
      end
    end
  end)

  it("grows with a batch, not with all that wait for it", function()
    local function cost(rows, analyze)
      local _, _, url = backend.fresh()
      backend.sql(url, write(SUBSCRIBE, rows, "e.one", "'k'", "")
        .. write(SUBSCRIBE, rows, "e.one", "null", ""))
      if analyze then backend.sql(url, "analyze") end
      local found = {}
      for i = 1, 3 do
        found[i] = pg and postgres_cost(backend, url, statements[routing[i]],
          "force_generic_plan", given)
          or sqlite_cost(backend, url, statements[routing[i]], given)
      end
      return found
    end
    local few = cost(100)
    for _, analyze in ipairs { false, true } do
      local many = cost(ROWS, analyze)
      for i = 1, 3 do
        -- a page of 64, each in another place
        assert.is_true(many[i] <= 2 * few[i] + 120,
          ("%s: %d, and %d of many"):format(routing[i], few[i], many[i]))
      end
    end
  end)
end)

---- tasks -----------------------------------------------------------------

local TASKS = {
  sqlite = [[
    with recursive n (i) as (select %d union all select i + 1 from n
      where i < %d)
    insert into pawl_task (shard, id, instance, token, node, visit,
      form, title, status, priority, due_at, assignee, claimed_by, tenant,
      workflow, created_at, updated_at)
    select 0, unhex(printf('%%032x', i)), unhex(printf('%%032x', i)), 1, 'n',
      1, 'f', 't', '%s', 'normal', %d + i, '%s', '%s', '%s', '%s', 0, 0
      from n;
    insert into pawl_owner (shard, task, kind, id, open)
    select 0, id, 'role', '%s', status = 'pending' from pawl_task t
      where not exists (select 1 from pawl_owner o
        where o.shard = 0 and o.task = t.id);]],
  postgres = [[
    insert into pawl.task (shard, id, instance, token, node, visit,
      form, title, status, priority, due_at, assignee, claimed_by, tenant,
      workflow, created_at, updated_at)
    select 0, lpad(to_hex(i), 32, '0')::uuid, lpad(to_hex(i), 32, '0')::uuid,
      1, 'n', 1, 'f', 't', '%3$s', 'normal',
      to_timestamp(%4$d / 1000000) + i * interval '1 microsecond', '%5$s',
      '%6$s', '%6$s', '%6$s', now(), now()
      from generate_series(%1$d, %2$d) i;
    insert into pawl.owner (shard, task, kind, id, open)
    select 0, id, 'role', '%7$s', status = 'pending' from pawl.task t
      where not exists (select 1 from pawl.owner o
        where o.shard = 0 and o.task = t.id);]],
}

kit.describe("the cost of finding tasks", function(backend)
  local statements = kit.statements(backend.name)
  local pg = backend.name == "postgres"

  local function add(url, from, to, status, due, who)
    local text = TASKS[backend.name]
    if pg then
      text = numbered(text, from, to, status, due, who, who, who)
    else -- older shells of SQLite have no unhex
      text = text:gsub("unhex%(printf%('%%%%032x', i%)%)",
        "cast(printf('%%%%016d', i) as blob)")
        :format(from, to, status, due, who, who, who, who, who)
    end
    backend.sql(url, text)
  end

  local function given(name)
    local function list(value, kind)
      return pg and ("array[%s]::%s[]"):format(value, kind) or value
    end
    local id = pg and "'00000000-0000-0000-0000-000000000003'::uuid"
      or "cast('0000000000000003' as blob)"
    local instance = name:find "instance" and id or nil
    local form = name:find "form" and "'f'" or nil
    return {
      shard = list("0", "smallint"), status = list("'pending'", "text"),
      kind = list("'role'", "text"), max = "100",
      owner = name:find "owner" and list("'ann'", "text") or "'ann'",
      instance = instance, form = form,
      due = name:find "due" and (pg and "to_timestamp(1000)"
        or "1000000000") or nil,
      tenant = name:find "tenant" and "'ann'" or nil,
      workflow = name:find "workflow" and "'ann'" or nil,
      low = pg and "'00000000-0000-0000-0000-000000000000'::uuid"
        or "x'00'",
      high = pg and "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"
        or "x'ff'",
      up = pg and "false" or "0",
      from_at = pg and "to_timestamp(0)" or "0",
      from_id = pg and "'00000000-0000-0000-0000-000000000000'::uuid"
        or "x'00'",
      to_at = pg and "to_timestamp(1000)" or "1000000000",
      to_id = pg and "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"
        or "x'ff'",
    }
  end

  --- Ten that are open, Ann's and due; with `more`, very many that are done,
  --- somebody else's or due later.
  local function costs(more, analyze)
    local _, _, url = backend.fresh()
    add(url, 1, 10, "pending", 0, "ann")
    if more then
      add(url, 100, ROWS, "completed", 0, "ann")
      add(url, ROWS + 1, 2 * ROWS, "pending", 9000000000, "bob")
    end
    if analyze then backend.sql(url, "analyze") end
    local found = {}
    for _, name in ipairs { "task_list_owner", "task_list_assignee",
      "task_list_claimed", "task_list_instance", "task_list_due",
      "task_list_tenant", "task_list_workflow" } do
      for _, mode in ipairs(pg and { "force_generic_plan",
        "force_custom_plan" } or { "" }) do
        found[name .. " " .. mode] = pg and postgres_cost(backend, url,
          statements[name], mode, given(name))
          or sqlite_cost(backend, url, statements[name], given(name))
      end
    end
    return found
  end

  it("does not grow with what is done, another's, or due later", function()
    local few = costs(false)
    for _, analyze in ipairs { false, true } do
      for name, many in pairs(costs(true, analyze)) do
        assert.is_true(many <= 2 * few[name] + 50,
          ("%s: %d, and %d among many rows"):format(name, few[name], many))
      end
    end
  end)
end)

---- fairness --------------------------------------------------------------

kit.describe("a claim among many workflows", function(backend)
  it("serves them all, whatever each has waiting", function()
    local engine, clock = backend.fresh { batch = 8 }
    local ran = {}
    for i = 1, 12 do
      local code = ("t.w%02d"):format(i)
      assert(engine:load(kit.one(function()
        ran[code] = (ran[code] or 0) + 1
      end, { code = code })))
    end
    for _ = 1, 200 do assert(engine:start "t.w01") end
    clock:advance(0.001)
    for i = 2, 12 do assert(engine:start(("t.w%02d"):format(i))) end
    assert.equal(211, assert(engine:run()).ended)
    for i = 2, 12 do assert.equal(1, ran[("t.w%02d"):format(i)]) end
  end)

  it("is not held up by a workflow that none of its workers can run",
    function()
      local engine, clock, url = backend.fresh { batch = 8 }
      local owner = kit.rival(backend, url, clock)
      assert(owner:load(kit.one(nil, { code = "t.foreign" }))) -- inline
      for _ = 1, 50 do
        assert(owner:start("t.foreign", nil, { priority = 9 }))
      end
      assert(engine:load(kit.one()))
      for _ = 1, 10 do assert(engine:start "t.one") end
      local stats = assert(engine:run())
      assert.equal(10, stats.ended)
      assert.equal(10, stats.claimed)
      assert.equal(50, assert(owner:run()).ended)
    end)
end)
