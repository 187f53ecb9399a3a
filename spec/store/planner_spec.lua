-- How Pawl's statements are planned on PostgreSQL, in a session of its own and
-- behind a pooler, where each transaction may meet another session: without
-- ways to walk a table; and what they are read by, whatever the database says.
-- A step's own SQL is planned as the server would, and read as that says.
local backends = require "spec.support.backends"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local testing = require "pawl.testing"
local watch = require "spec.support.watch"

local backend = backends[2]

local SETTINGS = [[pg_catalog.concat_ws(' ',
  pg_catalog.current_setting('enable_seqscan'),
  pg_catalog.current_setting('enable_bitmapscan'),
  pg_catalog.current_setting('enable_hashjoin'),
  pg_catalog.current_setting('enable_mergejoin'),
  pg_catalog.current_setting('enable_material'),
  pg_catalog.current_setting('enable_sort'),
  pg_catalog.current_setting('jit'),
  pg_catalog.current_setting('max_parallel_workers_per_gather'),
  pg_catalog.current_setting('plan_cache_mode'))]]
local OURS = "off off off off off off off 0 force_generic_plan"

-- Notes them whenever a row of a table of ours is written.
local WATCH = watch(SETTINGS)

local function three_steps()
  local w = pawl.workflow { code = "t.three", start = "a" }
  w:step("a", { next = "b", run = function() end })
  w:step("b", { next = "c", run = function() end })
  w:step("c", { next = "z", run = function() end })
  w:finish "z"
  return w
end

local function waits()
  local w = pawl.workflow { code = "t.waits", start = "a" }
  w:wait("a", { event = "t.never", next = "z" })
  w:finish "z"
  return w
end

local function list_of(n)
  local items = {}
  for i = 1, n do items[i] = {} end
  return items
end

describe("statements on postgres", function()
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local url, clock
  before_each(function()
    url, clock = backend.url(), testing.clock()
  end)
  after_each(function()
    backend.sql(url, [[set client_min_messages = error;
      drop schema if exists watch cascade; select 1 as done]])
    backend.cleanup()
  end)

  local function open(pooler)
    return backend.open(url, { clock = clock, pooler = pooler })
  end

  --- Index entries read so far, of the tables that claims and commits look
  --- into, by index. A session counts its own for a while, at the latest until
  --- its end.
  local function entries_read()
    for _ = 1, 600 do
      local others = backend.sql(url, [[select count(*) as n
        from pg_stat_activity where datname = current_database()
         and backend_type = 'client backend' and pid <> pg_backend_pid()]])
      if others[1].n == "0" then break end
      os.execute "sleep 0.05"
    end
    local read = {}
    for _, row in ipairs(backend.sql(url, [[
      select indexrelname as index, idx_tup_read as n
        from pg_stat_user_indexes where schemaname = 'pawl'
         and relname in ('agenda', 'instance')]])) do
      read[row.index] = tonumber(row.n)
    end
    return read
  end

  --- How many a hundred instances of three steps read, and of which index.
  local function entries_of_a_hundred(pooler)
    local before = entries_read()
    local engine = open(pooler)
    assert(engine:load(three_steps()))
    for _ = 1, 100 do
      assert(engine:start "t.three")
      assert(engine:run())
    end
    engine:close()
    local sum, told = 0, ""
    for index, n in pairs(entries_read()) do
      sum = sum + n - before[index]
      told = ("%s %s %d"):format(told, index, n - before[index])
    end
    return sum, sum .. " entries read:" .. told
  end

  for _, pooler in ipairs { false, true } do
    local how = pooler and " behind a pooler" or ""

    it("are planned without walks, a step's own as usual" .. how, function()
      local engine = open(pooler)
      backend.sql(url, WATCH)
      local usual = backend.sql(url, "select " .. SETTINGS .. " as s")[1].s
      local seen = {}
      assert(engine:load(three_steps()))
      assert(engine:load(kit.one(function(ctx)
        for i = 1, 2 do
          seen[i] = ctx.db:query("select " .. SETTINGS .. " as s")[1].s
        end
        ctx.vars.done = true
      end, { transactional = true })))
      assert(engine:start "t.three")
      local id = assert(engine:start "t.one")
      assert(engine:run())
      assert.equal("completed", kit.status(engine, id))
      assert.same({ usual, usual }, seen)
      assert.not_equal(OURS, usual)
      assert.same({ { settings = OURS } },
        backend.sql(url, "select value as settings from watch.seen"))
    end)

    it("are read as they are meant, a step's own as is said" .. how, function()
      backend.sql(url, [[do $$ begin
        execute format('alter database %I set array_nulls = off',
                       current_database()); end $$;
        create schema watch; create table watch.deferred (value text);
        create table watch.row (no integer);
        create function watch.note() returns trigger language plpgsql as $f$
        begin
          insert into watch.deferred values (current_setting('array_nulls'));
          return null;
        end $f$;
        create constraint trigger noted after insert on watch.row
          deferrable initially deferred for each row
          execute function watch.note(); select 1 as done]])
      finally(function()
        backend.sql(url, [[do $$ begin
          execute format('alter database %I reset array_nulls',
                         current_database()); end $$; select 1 as done]])
      end)
      local engine = open(pooler)
      local seen
      assert(engine:load(kit.one(function(ctx)
        seen = ctx.db:query(
          "select current_setting('array_nulls') as nulls")[1].nulls
        ctx.db:query "insert into watch.row values (1)"
      end, { transactional = true })))
      for _ = 1, 2 do
        local id = assert(engine:start("t.one", {},
          { attributes = { a = "x" } }))
        assert(engine:run())
        assert.equal("completed", kit.status(engine, id))
        assert.same({ a = "x" }, assert(engine:get(id)).attributes)
        assert.equal("off", seen)
      end
      assert.same({ { value = "off" }, { value = "off" } },
        backend.sql(url, "select value from watch.deferred"))
    end)

    it("walk no tables that were counted with one row" .. how,
      function()
        local engine = open(pooler)
        assert(engine:load(waits()))
        assert(engine:load(three_steps()))
        assert(engine:start "t.waits")
        assert(engine:run())
        backend.sql(url, [[do $$ declare t record; begin
          for t in select tablename as name from pg_tables
                    where schemaname = 'pawl' loop
            execute format('alter table pawl.%I set '
                           '(autovacuum_enabled = false)', t.name);
          end loop; end $$; analyze; select 1 as done]])
        assert(engine:start_many("t.waits", list_of(2000)))
        assert(engine:run())
        assert(engine:start_many("t.three", list_of(2000),
          { at = clock:now() + 86400 }))
        engine:close()
        -- Entries of rows that are gone count too: 4,000, and a hundred times
        -- that while a transaction which is as old keeps them, in whatever
        -- database of the server. That passes; walks, a million, do not.
        local sum, told
        for _ = 1, 5 do
          sum, told = entries_of_a_hundred(pooler)
          if sum < 300000 then break end
          os.execute "sleep 1"
        end
        assert.is_true(sum < 300000, told)
      end)
  end
end)
