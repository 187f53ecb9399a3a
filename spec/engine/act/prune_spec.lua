-- Pruning: what is past its time goes, in short units, one housekeeper at a
-- time; what somebody still needs stays, and is told.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"
local pruning = require "spec.engine.pruning"
local samples = require "spec.engine.samples"

local mixed, run, removed = pruning.mixed, pruning.run, pruning.removed

local function gone(engine, id)
  local ok, err = engine:get(id)
  assert.same({ nil, "notfound" }, { ok, err and err.code })
end

--- Rows of instances, in any table.
local function left(backend, url)
  local found = {}
  for _, name in ipairs { "instance", "history", "token", "item", "variable",
    "subscription", "attribute", "outbox", "inbox", "task", "owner", "ending",
    "failure", "agenda" } do
    local n = kit.count(backend, url, name)
    if n > 0 then found[name] = n end
  end
  if backend.name == "postgres" then
    local n = kit.count(backend, url, "standing")
    if n > 0 then found.standing = n end
  end
  return found
end

kit.describe("pruning", function(backend)
  after_each(function() probe.fault(nil) end)

  it("leaves no event of what failed with one in its inbox", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local _, info = assert(engine:signal { name = "go", id = "e-1",
      start = { workflow = "t.mixed", key = "k", input = { fail = true } } })
    assert(engine:run())
    assert.failed(engine, info.instance)
    assert.equal(1, kit.count(backend, url, "inbox"))
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      retain = 0 })))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("takes nothing when nobody has said for how long it is kept", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local id = run(engine, "t.mixed")
    clock:advance "3650d"
    local report = assert(engine:prune())
    assert.same({}, removed(report))
    assert.is_true(report.finished)
    assert.truthy(assert(engine:get(id)))
  end)

  it("takes what ended longer ago, and leaves no row of it", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local old = run(engine, "t.mixed")
    clock:advance "2d"
    local young = run(engine, "t.mixed")
    clock:advance "1d"
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      retain = "2d" })))
    gone(engine, old)
    assert.truthy(assert(engine:get(young)))
    assert(engine:prune { retain = 0 })
    gone(engine, young)
    assert.same({}, left(backend, url))
  end)

  it("heeds what a workflow says whose texts have a zero in them", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.zero", start = "a", retain = "1d" }
    flow:task("a", { title = "a", role = "x", input = { text = "a\0b" },
      timeout = 1, next = { completed = "z", timeout = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    assert.equal(2, assert(engine.workflows:list {})[1].nodes)
    local id = assert(engine:start "t.zero")
    assert(engine:run())
    clock:advance "1d"
    assert(engine:run())
    clock:advance "2d"
    assert.same({ instances = 1 }, removed(assert(engine:prune {})))
    gone(engine, id)
  end)

  it("goes by when it ended, not by when it began", function()
    local engine, clock = backend.fresh()
    assert(engine:load(samples.waiting()))
    local id = run(engine, "t.waiting")
    clock:advance "30d"
    assert(engine:cancel(id))
    clock:advance "1d"
    assert.same({}, removed(assert(engine:prune { retain = "2d" })))
    clock:advance "1d"
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      retain = "2d" })))
  end)

  it("tells one end from another", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    assert(engine:load(samples.waiting()))
    local completed = run(engine, "t.mixed")
    local failed = run(engine, "t.mixed", { fail = true })
    local cancelled = run(engine, "t.waiting")
    assert(engine:cancel(cancelled))
    local waiting = run(engine, "t.waiting")
    clock:advance "10d"
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      completed = "7d", failed = "90d" })))
    gone(engine, completed)
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      retain = "90d", failed = "7d" })))
    gone(engine, failed)
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      retain = "1d" })))
    gone(engine, cancelled)
    assert.truthy(assert(engine:get(waiting)))
  end)

  it("does as a definition says, of the version that ran", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed("t.mixed", { retain = "7d" })))
    assert(engine:load(mixed("t.mixed", { version = 2,
      retain = { failed = "1d" } })))
    assert(engine:load(mixed "t.other"))
    local first = run(engine, "t.mixed", {}, { version = 1 })
    local kept = run(engine, "t.mixed")
    local failed = run(engine, "t.mixed", { fail = true })
    local other = run(engine, "t.other")
    clock:advance "8d"
    assert.same({ instances = 2 }, removed(assert(engine:prune())))
    gone(engine, first)
    gone(engine, failed)
    assert.truthy(assert(engine:get(kept)))
    assert.truthy(assert(engine:get(other)))
  end)

  it("has a definition's word before the engine's, the caller's before both",
  function()
    local engine, clock, url = backend.fresh { retain = { completed = "5d",
      cancelled = "1d" } }
    assert(engine:load(mixed("t.mixed", { retain = "7d" })))
    assert(engine:load(mixed "t.other"))
    local own = run(engine, "t.mixed")
    local other = run(engine, "t.other")
    local rival = kit.rival(backend, url, clock)
    clock:advance "6d"
    assert(rival:prune())
    assert.truthy(assert(engine:get(other)))
    assert(engine:prune())
    gone(engine, other)
    assert.truthy(assert(engine:get(own)))
    assert(engine:prune { retain = "6d" })
    gone(engine, own)
  end)

  it("counts without taking", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    for _ = 1, 3 do run(engine, "t.mixed") end
    run(engine, "t.mixed", { emit = true })
    clock:advance "1d"
    local before = kit.everything(backend, url)
    local report = assert(engine:prune { retain = 0, dry_run = true })
    assert.same({ instances = 3 }, removed(report))
    assert.same({ unpublished = 1 }, report.instances.kept)
    assert.is_true(report.dry_run)
    assert.same(before, kit.everything(backend, url))
  end)

  it("takes no more than its limit, and says that there may be more", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    for _ = 1, 5 do run(engine, "t.mixed") end
    clock:advance "1d"
    local report = assert(engine:prune { retain = 0, limit = 2 })
    assert.same({ instances = 2 }, removed(report))
    assert.is_false(report.finished)
    assert.equal(3, #assert(engine:list()))
    report = assert(engine:prune { retain = 0 })
    assert.same({ instances = 3 }, removed(report))
    assert.is_true(report.finished)
  end)

  it("is told once, in numbers, where somebody asks by name", function()
    local engine, clock, url = backend.fresh()
    local function told()
      local list = {}
      for i, e in ipairs(assert(engine:audit { type = "pruned" })) do
        assert.same({}, { e.instance, e.workflow, e.version })
        list[i] = { e.by, e.text }
      end
      return list
    end
    assert(engine:load(mixed "t.mixed"))
    for _ = 1, 5 do run(engine, "t.mixed") end
    local last = run(engine, "t.mixed")
    assert(engine:delete(last, { by = "ann" }))
    clock:advance "1d"
    assert(engine:prune { by = "ann" })
    assert(engine:prune { by = "ann", retain = 0, dry_run = true })
    assert.same({}, told())
    assert(engine:prune { by = "ann", retain = 0, limit = 2 })
    assert.same({ { "ann", "instances 2" } }, told())
    clock:advance "1s"
    assert(engine:prune { by = "bob", completed = 0, deleted = 0,
      archive = true })
    assert.same({ { "bob", "instances archived 3, deleted 1" },
      { "ann", "instances 2" } }, told())
    run(engine, "t.mixed")
    assert(engine:prune { retain = 0 }) -- by nobody who has a name
    assert.equal(2, #told())
    assert.same({}, kit.rival(backend, url, clock, { tenant = "a" })
      :audit { type = "pruned" })
  end)

  it("is told as far as it came, where it is cut short", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    for _ = 1, 3 do run(engine, "t.mixed") end
    clock:advance "1d"
    local allow = kit.refuse(backend, url, "audit", "delete")
    assert.is_nil((engine:prune { by = "ann", retain = 0, audit = 0 }))
    allow()
    local list = assert(engine:audit { type = "pruned" })
    assert.same({ 1, "ann", "instances 3" },
      { #list, list[1].by, list[1].text })
  end)

  it("is told of no piece that workers take", function()
    local engine, clock = backend.fresh { retain = 0 }
    assert(engine:load(mixed "t.mixed"))
    local id = run(engine, "t.mixed")
    clock:advance "1d"
    for _ = 1, 3 do assert(engine:run()) end
    gone(engine, id)
    assert.same({}, assert(engine:audit { type = "pruned" }))
  end)

  it("leaves what is not published, delivered, or held", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local told = run(engine, "t.mixed", { emit = true })
    local held = run(engine, "t.mixed")
    local other = run(engine, "t.mixed")
    local store = kit.store(url, clock)
    kit.run(store, "agenda_revive", { shard = 0, id = held, now = store:now(),
      completed = true, cancelled = false, deleted = false })
    kit.claim(store, held)
    clock:advance(1)
    local report = assert(engine:prune { retain = 0 })
    assert.same({ removed = 1, kept = { unpublished = 1, leased = 1 } },
      report.instances)
    gone(engine, other)
    assert.truthy(assert(engine:get(told)) and assert(engine:get(held)))
    backend.sql(url, ("update %s set published_at = created_at"):format(
      kit.table(backend, "outbox")))
    assert.same({ instances = 1 }, removed(assert(engine:prune {
      retain = 0 })))
    gone(engine, told)
  end)

  it("leaves what was carried to another store", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local away = run(engine, "t.mixed")
    local hidden = run(engine, "t.mixed")
    local other = run(engine, "t.mixed")
    assert(engine:carry(away))
    assert(engine:carry(hidden))
    assert(engine:delete(hidden))
    clock:advance "2d"
    for _, ask in ipairs { { archive = true }, {} } do
      ask.retain, ask.deleted = 0, 0
      local report = assert(engine:prune(ask))
      assert.same({ away = 1 }, report.instances.kept)
      assert.same({ removed = 0, kept = { away = 1 } }, report.deleted)
      if ask.archive then assert.equal(1, report.instances.archived) end
    end
    assert.truthy(assert(engine:get(other)).archived)
    assert(engine:reclaim(away))
    clock:advance(1)
    assert.equal(1, assert(engine:prune { retain = 0 }).instances.removed)
    gone(engine, away)
    assert(engine:purge(hidden))
    gone(engine, hidden)
  end)

  it("leaves a child while its parent lives, and takes both after", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    assert(engine:load(kit.parent("t.mixed", {})))
    local id = run(engine, "t.parent")
    local child = assert(engine:children(id))[1].id
    assert.completed(engine, child)
    clock:advance "1d"
    local report = assert(engine:prune { retain = 0 })
    assert.same({ removed = 0, kept = { parent = 1 } }, report.instances)
    assert(engine:cancel(id))
    clock:advance(1)
    assert.same({ instances = 2 }, removed(assert(engine:prune {
      retain = 0 })))
    assert.same({}, left(backend, url))
  end)

  it("takes what was deleted when its time is over, if that is sooner",
  function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local id = run(engine, "t.mixed")
    local kept = run(engine, "t.mixed")
    clock:advance "1d"
    assert(engine:delete(id))
    clock:advance "2d"
    assert.same({}, removed(assert(engine:prune { deleted = "3d" })))
    assert.same({ deleted = 1 }, removed(assert(engine:prune {
      deleted = "2d" })))
    gone(engine, id)
    assert(engine:delete(kept))
    clock:advance(1)
    assert.same({ deleted = 1 }, removed(assert(engine:prune {
      retain = "3d", deleted = "30d" })))
    assert.same({}, left(backend, url))
  end)

  it("goes on with a purge that was cut short, whatever is kept", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local id = run(engine, "t.mixed")
    backend.sql(url, ("update %s set deleted_at = created_at, "
      .. "purge_at = created_at"):format(kit.table(backend, "instance")))
    clock:advance(1)
    assert.same({ deleted = 1 }, removed(assert(engine:prune())))
    gone(engine, id)
    assert.same({}, left(backend, url))
  end)

  it("takes a long history in batches, as a purge does", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local id = run(engine, "t.mixed")
    local short = run(engine, "t.mixed")
    backend.sql(url, ([[insert into %s (shard, instance, seq, type,
      completed_at) with recursive n (i) as (
        select 1 union all select i + 1 from n where i < 2500)
      select 0, %s, 1000 + i, 'note', %s from n]]):format(
      kit.table(backend, "history"), kit.id_literal(backend, id),
      backend.name == "postgres" and "now()" or "1"))
    backend.sql(url, ("update %s set seq = 3500 where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, id)))
    clock:advance(1)
    local batches, most = {}, 0
    local POINT <const> = "engine.purge.batch=call@"
    probe.fault(POINT .. "1," .. POINT .. "2," .. POINT .. "3", function()
      batches[#batches + 1] = kit.count(backend, url, "history")
    end)
    local report = assert(engine:prune { retain = 0 })
    probe.fault(nil)
    for i = 2, #batches do
      most = math.max(most, batches[i - 1] - batches[i])
    end
    -- less, where a transaction took long
    assert.is_true(most > 0 and most <= 1000, most)
    assert.same({ instances = 1, deleted = 1 }, removed(report))
    gone(engine, id)
    gone(engine, short)
    assert.same({}, left(backend, url))
  end)

  it("takes in batches what has emitted very much, too", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.loud", start = "a" }
    flow:step("a", { next = "z", run = function(ctx)
      for i = 1, 400 do ctx.emit("told", { i = i }) end
    end })
    flow:finish "z"
    assert(engine:load(flow))
    run(engine, "t.loud")
    backend.sql(url, ("update %s set published_at = created_at"):format(
      kit.table(backend, "outbox")))
    clock:advance(1)
    local report = assert(engine:prune { retain = 0 })
    assert.same({ deleted = 1 }, removed(report))
    assert.same({}, left(backend, url))
  end)

  it("takes very many, in order, and nothing twice", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    assert(engine:load(mixed "t.other"))
    local items = {}
    for i = 1, 450 do items[i] = { input = { fail = i % 3 == 0 or nil } } end
    assert(engine:start_many("t.mixed", items))
    assert(engine:start_many("t.other", items))
    assert(engine:run())
    clock:advance(1)
    local report = assert(engine:prune { retain = 0 })
    assert.same({ removed = 900, kept = {} }, report.instances)
    assert.same({}, left(backend, url))
    for _, of in ipairs(assert(engine:stats()).workflows) do
      assert.same({ purged = 450 }, of.statuses)
    end
  end)

  it("says how long its longest transaction was", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    run(engine, "t.mixed")
    clock:advance "30d"
    assert.is_true(assert(engine:prune { retain = 0, executors = "365d" })
      .longest_us > 0)
    assert.equal(0, assert(engine:prune { retain = 0, dry_run = true })
      .longest_us)
  end)

  it("has one housekeeper at a time, and the next when one has died",
  function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    run(engine, "t.mixed")
    clock:advance(1)
    local rival = kit.rival(backend, url, clock)
    local code, dry
    probe.fault("engine.prune.step=call", function()
      code = select(2, rival:prune { retain = 0 }).code
      dry = rival:prune { retain = 0, dry_run = true }
    end)
    assert(engine:prune { retain = 0 })
    probe.fault(nil)
    assert.equal("busy", code)
    assert.equal(1, dry.instances.removed)
    assert(rival:prune { retain = 0 })
    -- one that was killed: his time has to pass
    local store = kit.store(url, clock)
    local other = kit.draw_id()
    kit.run(store, "housekeeper_take", { executor = other, dead = other,
      host = "far", boot = "b", space = "s", pid = 4711, begun = 1,
      ttl_us = 30000000, asked = true, now = store:now() })
    clock:advance(5)
    kit.refused("busy",
      '^process 4711 of host "far" is pruning this store now, since 5 s$',
      "over in 26 s", engine:prune { retain = 0 })
    clock:advance(26)
    assert(engine:prune { retain = 0 })
  end)

  it("has the next housekeeper at once when one of this host has died",
  function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local rival = kit.rival(backend, url, clock)
    --- As if the process had been another, or had died.
    local function now_of(change)
      local dead
      probe.fault("engine.prune.step=call@1", function()
        backend.sql(url, ("update %s set %s"):format(
          kit.table(backend, "housekeeper"), change))
        dead = select(2, rival:prune { retain = 0 })
      end)
      engine:prune { retain = 0 }
      probe.fault(nil)
      return dead and dead.code
    end
    assert.equal("busy", now_of "begun = begun")
    for _, field in ipairs { "host", "boot", "space" } do
      assert.equal("busy", now_of(("begun = begun - 1, %s = 'x'"):format(
        field)))
    end
    assert.is_nil(now_of "begun = begun - 1")
    assert(engine:prune { retain = 0 })
  end)

  it("is done by ticks where a workflow says `retain`", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed("t.mixed", { retain = "1d" })))
    local id = run(engine, "t.mixed")
    clock:advance "2d"
    local worker = kit.rival(backend, url, clock)
    assert(worker:load(mixed("t.mixed", { retain = "1d" })))
    assert(worker:tick())
    gone(worker, id)
    assert.same({}, left(backend, url))
  end)

  it("is done by ticks where only a stored one says so, which is asked seldom",
  function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed("t.kept")))
    local kept = run(engine, "t.kept")
    local early = kit.rival(backend, url, clock)
    assert(early:tick())
    assert(engine:load(mixed("t.mixed", { retain = "1d" })))
    local id = run(engine, "t.mixed")
    clock:advance "2d"
    for _ = 1, 20 do assert(early:tick()) end
    assert.truthy(assert(early:get(id))) -- it has asked just now
    local worker = kit.rival(backend, url, clock)
    assert(worker:tick())
    gone(worker, id)
    assert.truthy(assert(worker:get(kept)))
  end)

  it("is done by ticks of an engine that was told to", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local id = run(engine, "t.mixed")
    clock:advance "2d"
    local worker = kit.rival(backend, url, clock, { retain = "1d" })
    assert(worker:tick())
    gone(worker, id)
  end)

  it("leaves its place to the next, piece by piece", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    local items = {}
    for i = 1, 300 do items[i] = { input = {} } end
    assert(engine:start_many("t.mixed", items))
    assert(engine:run())
    clock:advance "2d"
    local pieces = 0
    for _ = 1, 40 do
      -- each piece is one step long
      probe.fault("engine.prune.step=call", function()
        local until_ = os.clock() + 0.12
        while os.clock() < until_ do end
      end)
      local worker <close> = kit.rival(backend, url, clock, { retain = "1d" })
      assert(worker:tick())
      pieces = pieces + 1
      if kit.count(backend, url, "instance") == 0 then break end
    end
    assert.is_true(pieces > 3, pieces)
    assert.same({}, left(backend, url))
  end)

  it("says what is wrong with what it is asked for", function()
    local engine = backend.fresh()
    local ok, why = pcall(engine.prune, engine, { retian = "1d" })
    assert.is_false(ok)
    assert.matches("did you mean 'retain'", why)
    ok, why = pcall(engine.prune, engine, { retain = "soon" })
    assert.is_false(ok)
    assert.matches("option 'retain' must be", why)
    ok, why = pcall(pawl.open, ":memory:", { retain = { finished = "1d" } })
    assert.is_false(ok)
    assert.matches("unknown option 'finished'", why)
  end)
end)
