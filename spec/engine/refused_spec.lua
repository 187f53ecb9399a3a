--- What the store refuses for now is sent again: nobody loses by it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

--- PostgreSQL refuses the next two commits that write history, with this
--- SQLSTATE.
local TWICE = [[
create sequence public.spec_refusals;
create function public.spec_refuse() returns trigger language plpgsql as $f$
begin
  if nextval('public.spec_refusals') <= 2 then
    raise exception 'spec: not yet' using errcode = '%s';
  end if;
  return null;
end $f$;
create constraint trigger spec_refuse after insert on pawl.history
 deferrable initially deferred
 for each row execute function public.spec_refuse()]]

local WAYS = { sqlite = { "busy" }, postgres = { "40001", "40P01" } }

kit.describe("a commit that is refused twice", function(backend)
  after_each(function() probe.fault() end)

  local function refuse_next(url, way)
    if way == "busy" then
      probe.fault "commit.busy=fail@2,commit.busy=fail@3" -- 1 is the claim's
    else
      backend.sql(url, TWICE:format(way))
    end
  end

  --- The sequence counts what was refused, too; a fault has been passed.
  local function assert_refused(url, way)
    if way == "busy" then return end
    assert.is_true(tonumber(kit.select(url,
      "select last_value as n from public.spec_refusals")[1].n) > 2)
  end

  --- Runs two instances of the flow to their end while the next commit is
  --- refused; what their handlers saw.
  local function run(flow, way)
    local said, lost = {}, 0
    local engine, _, url = backend.fresh { log = function(level, message)
      if level ~= "debug" then said[#said + 1] = message end
    end }
    assert(engine:load(flow))
    if backend.name == "postgres" then
      backend.sql(url, "create table public.done (id uuid)")
    else
      backend.sql(url, "create table done (id text)")
    end
    local ids = {}
    for i = 1, 2 do ids[i] = assert(engine:start(flow.code)) end
    assert(engine:tick()) -- registered, and what it knows of is loaded
    refuse_next(url, way)
    for _ = 1, 5 do lost = lost + assert(engine:tick()).lost end
    assert.equal(0, lost)
    assert.same({}, said)
    assert_refused(url, way)
    for _, id in ipairs(ids) do
      assert.completed(engine, id)
    end
    assert.equal(0, kit.count(backend, url, "agenda"))
    return engine, ids, url
  end

  local function attempts_of(ran, ids)
    for _, id in ipairs(ids) do
      for _, attempt in ipairs(ran[id]) do assert.equal(1, attempt) end
    end
  end

  local function note(ran, ctx)
    ran[ctx.id] = ran[ctx.id] or {}
    table.insert(ran[ctx.id], ctx.attempt)
  end

  for _, way in ipairs(WAYS[backend.name]) do
    it("(" .. way .. ") runs no handler of plain steps again", function()
      local ran = {}
      local flow = kit.chain { function() end,
        function(ctx) note(ran, ctx) end }
      local engine, ids = run(flow, way)
      for _, id in ipairs(ids) do
        assert.same({ 1 }, ran[id])
        assert.equal("step a, step b", kit.trail(engine, id))
      end
    end)

    it("(" .. way .. ") runs none of others again", function()
      local ran = {}
      local flow = kit.chain { function() end, function(ctx)
        note(ran, ctx)
        ctx.emit("e", {})
        ctx.attrs.place = "here"
      end }
      local engine, ids, url = run(flow, way)
      for _, id in ipairs(ids) do
        assert.same({ 1 }, ran[id])
        assert.equal("step a, step b", kit.trail(engine, id))
      end
      assert.equal(2, kit.count(backend, url, "outbox"))
    end)

    it("(" .. way .. ") counts no attempt of a transactional step", function()
      local ran = {}
      local flow = pawl.workflow { code = "t.chain", start = "a" }
      flow:step("a", { run = function() end, next = "b" })
      flow:step("b", { transactional = true, retry = { max = 1 },
        run = function(ctx)
          note(ran, ctx)
          ctx.db:query(backend.name == "postgres"
            and "insert into public.done (id) values ($1::uuid)"
            or "insert into done (id) values (?)", ctx.id)
        end, next = "z" })
      flow:finish "z"
      local engine, ids, url = run(flow, way)
      attempts_of(ran, ids)
      local runs = 0
      for _, id in ipairs(ids) do
        runs = runs + #ran[id]
        assert.equal("step a, step b", kit.trail(engine, id))
      end
      assert.equal(4, runs) -- what it did went with the transaction
      assert.equal(2, tonumber(kit.select(url, "select count(*) as n from "
        .. (backend.name == "postgres" and "public." or "") .. "done")[1].n))
    end)
  end
end)

kit.describe("a transactional step whose commit is refused each time",
  function(backend)
    if backend.name ~= "postgres" then return end -- one writes at a time

    it("fails by its policy", function()
      local runs = 0
      local engine, _, url = backend.fresh()
      assert(engine:load(kit.one(function(ctx)
        runs = runs + 1
        ctx.db:query("insert into public.done values ($1)", runs)
      end, { transactional = true, retry = { max = 1 } })))
      backend.sql(url, [[
        create table public.done (n bigint);
        create function public.spec_refuse() returns trigger
          language plpgsql as $f$ begin
          raise exception 'spec: never' using errcode = '40001';
        end $f$;
        create constraint trigger spec_refuse after insert on public.done
          deferrable initially deferred
          for each row execute function public.spec_refuse()]])
      local id = assert(engine:start "t.one")
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.matches("spec: never", instance.error.message, 1, true)
      assert.is_true(runs > 1 and runs < 20, runs)
    end)
  end)

kit.describe("a claim whose answer was lost", function(backend)
  local LOST = { sqlite = "commit.after=drop", postgres = "commit.sent=drop" }

  after_each(function() probe.fault(nil) end)

  --- Whichever unit it is whose answer is lost; the clock stands still, so no
  --- lease ends.
  it("is undone and made anew, at once", function()
    for unit = 1, 6 do
      local engine, _, url = backend.fresh()
      local ran = 0
      assert(engine:load(kit.one(function() ran = ran + 1 end)))
      local id = assert(engine:start "t.one")
      probe.fault(LOST[backend.name] .. "@" .. unit)
      engine:run()
      probe.fault(nil)
      assert(engine:run())
      local why = "unit " .. unit
      assert.equal("completed", kit.status(engine, id), why)
      assert.equal("step a", kit.trail(engine, id), why)
      assert.equal(1, ran, why)
      assert.equal(0, kit.count(backend, url, "agenda"), why)
    end
  end)

  it("is given back to the place it had", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local first = assert(engine:start "t.one")
    clock:advance(1)
    local second = assert(engine:start "t.one")
    clock:advance(1)
    local store = kit.store(url, clock)
    local place = kit.agenda(store, first).due_at
    local lease = kit.claim(store, first)
    assert.is_true(kit.agenda(store, first).due_at > place)
    kit.run(store, "agenda_unclaim_lease", { shard = 0, lease = lease,
      horizon_us = 3600 * 1000000, now = store:now() })
    local row = kit.agenda(store, first)
    assert.equal(place, row.due_at)
    assert.is_true(row.due_at < kit.agenda(store, second).due_at)
    assert.is_true(row.ready)
    assert.is_nil(row.lease)
  end)
end)
