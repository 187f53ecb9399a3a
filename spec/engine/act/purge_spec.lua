-- Purging: an instance that has ended goes with all its rows, in batches; what
-- is cut short is hidden, and goes on when it is asked for again.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"
local samples = require "spec.engine.samples"

--- All that is stored; but that an event came is known by its id, without its
--- data, as long as it would be told from another. And it stays counted.
local function everything(backend, url)
  local found = kit.everything(backend, url)
  found.event, found.counter = nil, nil
  return found
end

local function gone(engine, id)
  local ok, err = engine:get(id)
  assert.same({ nil, "notfound" }, { ok, err and err.code })
end

--- What is there but for the entry that somebody has purged.
local function without_purge(all, by)
  local last = table.remove(all.audit)
  assert.same({ "purged", by }, { last.type, last.by })
  return all
end

kit.describe("purging", function(backend)
  after_each(function() probe.fault(nil) end)

  it("leaves no row of an instance, and all of another", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(samples.rich()))
    local empty = everything(backend, url)
    local id = samples.rich_ended(engine)
    local full = 0
    for name, rows in pairs(everything(backend, url)) do
      if #rows > #empty[name] then full = full + 1 end
    end
    assert(full >= 9, full)
    assert.is_true(select(2, assert(engine:purge(id, { force = true,
      by = "ann", reason = "old" }))))
    assert.same(empty, without_purge(everything(backend, url), "ann"))
    gone(engine, id)
    local second, created = assert(engine:start("t.rich", {}, { key = "k" }))
    assert.is_true(created)
    kit.refused("notfound", "there is no instance", nil, engine:purge(id))
    assert.truthy(assert(engine:get(second)))
  end)

  it("takes no row of one that was brought back meanwhile", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.rich()))
    local id = samples.rich_ended(engine)
    local lines = assert(engine:export(id))
    local rival <close> = kit.rival(backend, url, clock)
    local before
    probe.fault("engine.purge.batch=call@1", function()
      assert(rival:purge(id, { force = true }))
      assert(rival:import(lines, { release = true }))
      before = everything(backend, url)
    end)
    assert.is_true(select(2, assert(engine:purge(id, { force = true }))))
    probe.fault(nil)
    assert.same(before, everything(backend, url))
    assert.truthy(assert(engine:get(id)).attributes.colour)
  end)

  it("leaves what others have", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(samples.rich()))
    local kept = samples.rich_ended(engine)
    local before = kit.everything(backend, url)
    assert(engine:delete(kept))
    assert(engine:undelete(kept))
    local other = samples.rich_ended(engine, "l")
    assert(engine:delete(other))
    assert(engine:purge(other, { force = true }))
    local after = kit.everything(backend, url)
    for _, name in ipairs { "token", "item", "task", "owner", "attribute",
      "variable", "outbox", "inbox" } do
      assert.equal(#before[name], #after[name], name)
    end
    assert.same({ kept }, { assert(engine:list())[1].id })
  end)

  it("is refused while it lives", function()
    local engine = backend.fresh()
    assert(engine:load(samples.waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    kit.refused("conflict", "while it lives; it is waiting", "cancel it first",
      engine:purge(id))
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("is refused while what it emitted is not published", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.emit("told", {}) end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    kit.refused("conflict", "has emitted what nobody has published", "force",
      engine:purge(id))
    assert.is_nil(assert(engine:get(id)).deleted)
    assert.equal(1, #assert(engine.outbox:list()))
    assert(engine:purge(id, { force = true }))
    assert.equal(0, #assert(engine.outbox:list()))
  end)

  it("goes without force once that is published", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.emit("told", {}) end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    backend.sql(url, ("update %s set published_at = created_at"):format(
      kit.table(backend, "outbox")))
    assert(engine:purge(id))
    assert.equal(0, kit.count(backend, url, "outbox"))
  end)

  it("is refused while its parent lives", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.parent "t.one"))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local child = assert(engine:children(id))[1].id
    assert.completed(engine, child)
    kit.refused("conflict", "its parent lives", "when that has ended",
      engine:purge(child))
    assert(engine:cancel(id))
    assert.equal("cancelled", kit.status(engine, id))
    assert(engine:purge(child))
    gone(engine, child)
  end)

  local function calling(code)
    local parent = pawl.workflow { code = "t.parent", start = "c" }
    parent:call("c", { workflow = code, next = "z" })
    parent:finish "z"
    return parent
  end

  --- A message of an instance that nobody has delivered.
  local function say(url, from, to)
    backend.sql(url, ("insert into %s (shard, instance, seq, kind, target, "
      .. "created_at) values (0, %s, 99, 'result', %s, %s)"):format(
      kit.table(backend, "message"), kit.id_literal(backend, from),
      kit.id_literal(backend, to),
      backend.name == "postgres" and "now()" or "1"))
  end

  it("is refused while what it or its parent says is not delivered", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(calling "t.one"))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local child = assert(engine:children(id))[1].id
    say(url, id, child)
    kit.refused("conflict", "its parent has messages", "a worker delivers",
      engine:purge(child))
    kit.refused("conflict", "it has messages", "a worker delivers",
      engine:purge(id))
    backend.sql(url, "delete from " .. kit.table(backend, "message"))
    assert(engine:purge(id))
    assert(engine:purge(child))
    gone(engine, child)
    gone(engine, id)
  end)

  it("is refused while children live that end with it", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.waiting()))
    assert(engine:load(calling "t.waiting"))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local child = assert(engine:children(id))[1].id
    local store = kit.store(url, clock)
    assert(engine:wake(child))
    kit.run(store, "agenda_wake", { shard = 0, id = child,
      now = store:now() })
    kit.claim(store, child) -- held, so that its letter is not taken
    assert(engine:kill(id))
    assert.equal("waiting", kit.status(engine, child))
    kit.refused("conflict", "children live", "when they have ended",
      engine:purge(id))
    clock:advance "1h"
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, child))
    assert(engine:purge(id))
    gone(engine, id)
    assert(engine:purge(child))
  end)

  it("goes on where it was cut short, and hides what is left", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.rich()))
    local empty = everything(backend, url)
    local id = samples.rich_ended(engine)
    local rival = kit.rival(backend, url, clock)
    local seen, undeleted
    probe.fault("engine.purge.last=call", function()
      seen = assert(rival:get(id)).deleted
      undeleted = select(2, rival:undelete(id))
      -- another who purges it is done with it first
      assert(rival:purge(id))
    end)
    local _, err = engine:purge(id, { force = true, by = "ann" })
    assert.is_true(err)
    probe.fault(nil)
    assert.truthy(seen.at and seen.purge_at)
    assert.equal("ann", seen.by)
    assert.equal("conflict", undeleted.code)
    assert.matches("being purged", undeleted.message)
    assert.same(empty, without_purge(everything(backend, url), "ann"))
  end)

  it("leaves attributes that are kept to who comes behind", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.rich()))
    local id = samples.rich_ended(engine)
    local rival = kit.rival(backend, url, clock)
    local before = assert(engine:get(id)).attributes
    assert.truthy(next(before))
    probe.fault("engine.purge.batch=call@1", function()
      assert(rival:purge(id)) -- to its end, while the first is at the history
    end)
    assert(engine:purge(id, { force = true, keep_attributes = true,
      by = "ann" }))
    probe.fault(nil)
    local got = assert(engine:get(id))
    assert.same({ "ann", before }, { got.purged.by, got.attributes })
  end)

  it("is told by whoever ends it, if he who began did not", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert(engine:delete(id, { by = "bob" }))
    local rival = kit.rival(backend, url, clock)
    probe.fault("engine.purge.batch=call@1", function()
      -- as if he had been killed before he could tell
      backend.sql(url, "delete from " .. kit.table(backend, "audit"))
      assert(rival:prune())
    end)
    assert(engine:purge(id, { by = "ann", reason = "old" }))
    probe.fault(nil)
    gone(engine, id)
    local told = assert(engine:audit { instance = id, type = "purged" })
    assert.same({ 1, "ann", "old" }, { #told, told[1].by, told[1].text })
    told = assert(engine:audit { instance = id, type = "deleted" })
    assert.same({ 1, "bob" }, { #told, told[1].by })
  end)

  it("takes a long history in batches", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    backend.sql(url, ([[insert into %s (shard, instance, seq, type,
      completed_at) with recursive n (i) as (
        select 1 union all select i + 1 from n where i < 3500)
      select 0, %s, 1000 + 2 * i, 'note', %s from n]]):format(
      kit.table(backend, "history"), kit.id_literal(backend, id),
      backend.name == "postgres" and "now()" or "1"))
    local batches, most = {}, 0
    local POINT <const> = "engine.purge.batch=call@"
    probe.fault(POINT .. "1," .. POINT .. "2," .. POINT .. "3," .. POINT
      .. "4," .. POINT .. "5", function()
      batches[#batches + 1] = kit.count(backend, url, "history")
    end)
    assert(engine:purge(id))
    probe.fault(nil)
    for i = 2, #batches do
      most = math.max(most, batches[i - 1] - batches[i])
    end
    -- less, where a transaction took long
    assert.is_true(most > 0 and most <= 1000, most)
    assert.equal(0, kit.count(backend, url, "history"))
    gone(engine, id)
  end)

  it("is listed as deleted while it is half done, and then goes", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.rich()))
    local id = samples.rich_ended(engine)
    local rival = kit.rival(backend, url, clock)
    local listed, shown
    probe.fault("engine.purge.batch=call@3", function()
      listed = { #assert(rival:list()), #assert(rival:list { deleted = true }) }
      shown = assert(rival:explain(id)).sentences
    end)
    assert(engine:purge(id, { force = true }))
    probe.fault(nil)
    assert.same({ 0, 1 }, listed)
    assert.matches("parts of it are gone", table.concat(shown, " "))
  end)

  it("says whom to ask when a worker holds the instance", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local store = kit.store(url, clock)
    kit.run(store, "agenda_revive", { shard = 0, id = id, now = store:now(),
      completed = true, cancelled = false, deleted = false })
    kit.claim(store, id)
    kit.refused("busy", "is held by a worker", "again", engine:purge(id))
    assert(engine:get(id))
  end)
end)

describe("the statements of a purge", function()
  it("are there for each table that has rows of an instance", function()
    local tmp = require "spec.support.tmp"
    local schema = tmp.read "sql/shared/migrations/0001_first.sql"
    local purge, n = tmp.read "sql/shared/purge.sql", 0
    -- what is refused while there are any; what is gone when it has ended
    local none = { message = true, agenda = true,
      archived_task = true, -- goes with the archive's row
      waiter = true } -- whose time is over soon
    for name, body in schema:gmatch "create table pawl%.([%l_]+) (%b())" do
      if body:find "\n  instance uuid" and not none[name] then
        n = n + 1
        assert(purge:find("purge_first " .. name .. ";", 1, true)
          or purge:find("delete_listed " .. name .. ";", 1, true)
          or purge:find("delete from pawl." .. name .. "[ \n]"), name)
        assert(purge:find("name: purge_held_" .. name .. "\n", 1, true)
          or name == "standing" or name == "deadline", name) -- of those alive
      end
    end
    assert.equal(15, n)
  end)
end)
