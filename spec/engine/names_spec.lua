-- How names resolve in Pawl's session on PostgreSQL, and what a user's own
-- statements leave behind in it.
local backends = require "spec.support.backends"
local decoys = require "spec.support.decoys"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local testing = require "pawl.testing"
local watch = require "spec.support.watch"

local backend = backends[2]
local OURS = "pg_catalog, pg_temp"

-- Notes the path under which any row of a table of ours is written.
local WATCH = watch("pg_catalog.current_setting('search_path')")

--- One of most things that a workflow does.
local function flow()
  local w = pawl.workflow { code = "t.all", start = "split" }
  w:fork("split", { next = { "a", "b", "c" } })
  w:step("a", { next = "items", retry = { base = 1 }, run = function(ctx)
    ctx.vars.list = { 1, 2 }
    ctx.emit("t.emitted", { n = 1 })
    if ctx.attempt == 1 then error "again" end
  end })
  w:each("items", { items = function(ctx) return ctx.vars.list end,
    branch = "item", next = "end" })
  w:step("item", { run = function(ctx) return nil, ctx.token.data.item end,
    next = "items" })
  w:wait("b", { event = "t.go", key = function() return "k" end,
    next = { received = "end" } })
  w:task("c", { title = "Do", role = "r", next = { done = "nap" } })
  w:timer("nap", { after = "1m", next = "end" })
  w:join("end", { expect = "all", next = "z" })
  w:finish "z"
  return w
end

local function play(engine, clock)
  local id = assert(engine:start("t.all"))
  local other = assert(engine:start("t.all"))
  assert(engine:run())
  assert(engine:signal { name = "t.go", key = "k", data = { n = 1 } })
  for _, task in ipairs(assert(engine.tasks:list())) do
    assert(engine.tasks:claim(task.id, { by = "ann", role = "r" }))
    assert(engine.tasks:complete(task.id, { by = "ann", role = "r" }))
  end
  assert(engine:suspend(other))
  assert(engine:run())
  assert(engine:resume(other))
  assert(engine:cancel(other, { reason = "enough" }))
  for _ = 1, 4 do
    clock:advance "2m"
    assert(engine:run())
  end
  assert.completed(engine, id)
  assert.equal("cancelled", kit.status(engine, other))
  assert(engine:history(id))
  assert(engine:explain(id))
  assert(engine:list {})
end

describe("a name in a statement on postgres", function()
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local url
  after_each(function()
    if url then
      backend.sql(url, [[set client_min_messages = error;
        drop schema if exists watch cascade; select 1 as done]])
    end
    url = nil
    backend.cleanup()
  end)

  for _, pooler in ipairs { false, true } do
    local how = pooler and " behind a pooler" or ""

    it("is looked up in PostgreSQL's catalogue and in ours alone" .. how,
      function()
        url = backend.url()
        backend.sql(url, decoys.sql())
        local clock = testing.clock()
        local engine = backend.open(url, { clock = clock, pooler = pooler })
        backend.sql(url, WATCH)
        assert(engine:load(flow()))
        play(engine, clock)
        assert.same({ { name = OURS } },
          backend.sql(url, "select value as name from watch.seen"))
      end)

    it("is looked up on the user's path in the user's own" .. how,
      function()
        local engine, _, store = backend.fresh { pooler = pooler }
        local seen = {}
        backend.sql(store, [[
          create table public.noted (path text);
          create function public.note_path() returns trigger
            language plpgsql as $f$ begin
            insert into noted values (current_setting('search_path'));
            return null;
          end $f$;
          create table public.mine (id integer);
          create constraint trigger late after insert on public.mine
            deferrable initially deferred for each row
            execute function note_path();
          select 1 as done]])
        assert(engine:load(kit.one(function(ctx)
          ctx.db:query "insert into mine values (1)"
          seen[1] = ctx.db:query
            "select current_setting('search_path') as path"[1].path
        end, { transactional = true })))
        local id = assert(engine:start "t.one")
        assert(engine:run())
        assert.completed(engine, id)
        assert.equal('"$user", public', seen[1])
        assert.same({ { path = '"$user", public' } },
          backend.sql(store, "select path from noted"))
      end)
  end

  it("is looked up there in views and functions, whoever asks", function()
    local _, _, store = backend.fresh()
    assert.same({}, backend.sql(store, [[
      select p.proname from pg_proc p
       where p.pronamespace = 'pawl'::regnamespace
         and not coalesce('search_path=pg_catalog, pg_temp'
                          = any (p.proconfig), false)]]))
  end)

  it("is not taken from a schema that somebody else has made", function()
    local place = backend.url()
    backend.sql(place, [[
      drop role if exists pawl_spec_other; create role pawl_spec_other;
      drop role if exists pawl_spec_app; create role pawl_spec_app login;
      create schema pawl authorization pawl_spec_other;
      grant usage, create on schema pawl to public;
      select 1 as done]])
    local engine, err = pawl.open((place:gsub("user=%S+",
      "user=pawl_spec_app")))
    backend.sql(place, [[drop schema pawl; drop role pawl_spec_other;
      drop role pawl_spec_app; select 1 as done]])
    assert.is_nil(engine)
    assert.equal("not_a_store", err.code)
  end)
end)

describe("what a step's own SQL sets on postgres", function()
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  after_each(backend.cleanup)

  -- In ways that its text does not show.
  local SNEAK = [[
    drop role if exists pawl_spec_weak; create role pawl_spec_weak;
    create function public.sneak() returns void language plpgsql as $f$ begin
      perform set_config('work_mem', '77MB', false);
      perform set_config('statement_timeout', '1h', false);
      perform set_config('search_path', 'public', false);
      perform pg_advisory_lock(77);
      execute 'create temp table left_over (id integer)';
      execute 'set ' || 'role pawl_spec_weak';
    end $f$;
    select 1 as done]]
  local LOOK = [[select current_setting('work_mem') as work_mem,
    current_setting('search_path') as path, current_user::text as who,
    to_regclass('pg_temp.left_over')::text as temp,
    (select count(*) from pg_locks where locktype = 'advisory'
       and pid = pg_backend_pid()) as locks]]

  for _, case in ipairs { { "recorded", false }, { "undone", true } } do
    for _, pooler in ipairs { false, true } do
      it(("ends with it when it is %s%s"):format(case[1],
        pooler and " behind a pooler" or ""), function()
        local engine, clock, url = backend.fresh { pooler = pooler }
        backend.sql(url, SNEAK)
        local before, after
        local w = pawl.workflow { code = "t.sneak", start = "a" }
        w:step("a", { transactional = true, next = "b",
          retry = { max = 2, base = 1 },
          run = function(ctx)
            if ctx.attempt > 1 then return end
            before = ctx.db:query(LOOK)[1]
            ctx.db:query "select sneak()"
            if case[2] then error "undone" end
          end })
        w:step("b", { transactional = true, next = "z",
          run = function(ctx) after = ctx.db:query(LOOK)[1] end })
        w:finish "z"
        assert(engine:load(w))
        local id = assert(engine:start "t.sneak")
        assert(engine:run())
        clock:advance "1m"
        assert(engine:run())
        assert.completed(engine, id)
        assert.equal("postgres", before.who)
        assert.same(before, after)
        if not pooler then
          local store = probe.open(url)
          assert(store:begin "open")
          store:limit(0)
          assert.equal("1min", assert(store:query
            "select current_setting('statement_timeout') as t")[1].t)
          store:rollback()
          store:close()
        end
      end)
    end
  end
end)
