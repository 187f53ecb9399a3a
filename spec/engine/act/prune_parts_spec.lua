-- What goes beside instances that have ended: rows of the outbox, tasks, the
-- audit, events, revisions, executors.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local pruning = require "spec.engine.pruning"
local samples = require "spec.engine.samples"

local mixed, run, removed = pruning.mixed, pruning.run, pruning.removed

kit.describe("pruning what is beside instances", function(backend)
  it("takes rows of the outbox that were published long ago", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    run(engine, "t.mixed", { emit = true })
    backend.sql(url, ("update %s set published_at = created_at"):format(
      kit.table(backend, "outbox")))
    run(engine, "t.mixed", { emit = true })
    clock:advance "6d"
    assert.same({}, removed(assert(engine:prune())))
    assert.same({ outbox = 1 }, removed(assert(engine:prune {
      published = "5d", dry_run = true })))
    assert.same({ outbox = 1 }, removed(assert(engine:prune {
      published = "5d" })))
    assert.equal(1, kit.count(backend, url, "outbox"))
    clock:advance "365d"
    assert.same({}, removed(assert(engine:prune())))
  end)

  it("takes tasks that are over, of instances that go on", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.asks", start = "ask" }
    flow:task("ask", { title = "Yes?", role = "boss",
      next = { completed = "again" } })
    flow:task("again", { title = "Sure?", role = "boss",
      next = { completed = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = run(engine, "t.asks")
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine:suspend(id))
    assert(engine.tasks:complete(task.id, { by = "ann", role = "boss" }))
    clock:advance "2d"
    local report = assert(engine:prune { tasks = "1d" })
    assert.same({ removed = 0, kept = { needed = 1 } }, report.tasks)
    assert(engine:resume(id))
    assert(engine:run())
    assert.same({ tasks = 1 }, removed(assert(engine:prune {
      tasks = "1d" })))
    assert.equal(1, kit.count(backend, url, "task"))
    assert.equal(1, kit.count(backend, url, "owner"))
    assert.equal(1, #assert(engine.tasks:list { instance = id }))
  end)

  it("takes tasks that failed once their instance has gone on", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.asks", start = "ask" }
    flow:task("ask", { title = "Yes?", role = "boss",
      on_error = { no_way = "hold" }, next = { completed = "z" } })
    flow:wait("hold", { event = "never", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local tasks = {}
    for i, code in ipairs { "again", "no_way" } do
      local id = run(engine, "t.asks")
      tasks[i] = assert(engine.tasks:list { instance = id })[1].id
      assert(engine.tasks:fail(tasks[i], { by = "ann", role = "boss",
        error = { code = code } }))
    end
    assert(engine:run())
    clock:advance "2d"
    local report = assert(engine:prune { tasks = "1d" })
    assert.same({ removed = 1, kept = { needed = 1 } }, report.tasks)
    assert.equal(1, kit.count(backend, url, "task"))
    assert.equal(1, kit.count(backend, url, "owner"))
    assert(engine.tasks:retry(tasks[1], { by = "boss" }))
    local ok, err = engine.tasks:get(tasks[2])
    assert.same({ nil, "notfound" }, { ok, err.code })
  end)

  --- So many that have left their attributes, each ten of them.
  local function left(n, options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one(function(ctx)
      for i = 1, 10 do ctx.attrs["a" .. i] = ctx.input.n end
    end)))
    local items = {}
    for i = 1, n do items[i] = { input = { n = i } } end
    local ids = assert(engine:start_many("t.one", items))
    assert(engine:run())
    assert(engine:bulk("purge", { workflow = "t.one" },
      { keep_attributes = true, by = "ann" }))
    assert.equal(10 * n, kit.count(backend, url, "attribute"))
    return engine, clock, url, ids
  end

  it("takes attributes that outlived their instance, when asked to", function()
    local engine, clock, url, ids = left(30, { shards = 2 })
    clock:advance "3650d"
    assert.same({}, removed(assert(engine:prune()))) -- for ever
    local live = run(engine, "t.one", { n = 0 })
    assert(engine:start("t.one", { n = 31 }))
    assert(engine:run())
    local archived = assert(engine:list { limit = 1 })[1].id
    assert(engine:archive(archived))
    local young = assert(engine:start("t.one", { n = 32 }))
    assert(engine:run())
    assert(engine:purge(young, { keep_attributes = true }))
    local ask = { attributes = "9d", dry_run = true }
    assert.same({ attributes = 30 }, removed(assert(engine:prune(ask))))
    ask.dry_run, ask.limit = nil, 7
    local report = assert(engine:prune(ask))
    assert.same({ { attributes = 7 }, false },
      { removed(report), report.finished })
    ask.limit = nil
    assert.same({ attributes = 23 }, removed(assert(engine:prune(ask))))
    assert.same({}, removed(assert(engine:prune(ask))))
    kit.refused("notfound", "no instance", nil, engine:get(ids[1]))
    assert.truthy(assert(engine:get(young)).purged)
    assert.truthy(assert(engine:get(archived)).archived)
    assert.equal(0, assert(engine:get(live)).attributes.a1)
    assert.equal(30, kit.count(backend, url, "attribute")) -- of three
    assert.equal(2, kit.count(backend, url, "archive"))
    assert.equal(ids[1], (assert(engine:start("t.one", { n = 1 },
      { id = ids[1] })))) -- its id is free
    assert.equal(30, #assert(engine:audit { type = "purged", by = "ann" }))
  end)

  it("takes attributes as workers are told to, and as nobody else", function()
    local told = { retain = { attributes = "30d" } }
    local engine, clock, url = left(5, told)
    clock:advance "29d"
    assert.same({}, removed(assert(engine:prune { retain = 0 })))
    clock:advance "1d"
    local rival = kit.rival(backend, url, clock)
    assert.same({}, removed(assert(rival:prune { retain = 0 })))
    assert(rival:tick())
    assert.equal(50, kit.count(backend, url, "attribute"))
    assert(kit.rival(backend, url, clock, told):tick()) -- a piece of it
    assert.equal(0, kit.count(backend, url, "attribute"))
  end)

  it("takes attributes once, beside somebody who purges them", function()
    local engine, clock, url = left(60)
    local rival = kit.rival(backend, url, clock)
    clock:advance "1d"
    local pruned
    local report = assert(engine:bulk("purge", { archived = true },
      { progress = function()
        pruned = pruned or assert(rival:prune { attributes = 0 })
      end, limit = 20 }))
    assert.same({ 20, 20 }, { report.matched, report.done })
    assert.same({ attributes = 40 }, removed(pruned))
    assert.equal(0, kit.count(backend, url, "archive"))
    assert.equal(0, kit.count(backend, url, "attribute"))
  end)

  it("takes what the audit alone has when that is asked for", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.waiting()))
    local id = run(engine, "t.waiting", {}, { by = "ann" })
    local function switch(kind)
      assert(engine.workflows[kind](engine.workflows, "t.waiting", 1,
        { by = "bob" }))
    end
    switch "deactivate"
    local old = kit.count(backend, url, "audit")
    clock:advance "400d"
    switch "activate"
    assert.same({}, removed(assert(engine:prune { retain = 0 })))
    local ask = { audit = "365d", dry_run = true }
    assert.same({ audit = old }, removed(assert(engine:prune(ask))))
    ask.dry_run = nil
    assert.same({ audit = old }, removed(assert(engine:prune(ask))))
    local list = assert(engine:audit { by = "bob" })
    assert.equal(1, #list)
    assert.equal("ann", assert(engine:audit { instance = id })[1].by)
    assert.same({ audit = 1 }, removed(assert(engine:prune { audit = 0 })))
    assert.equal(0, kit.count(backend, url, "audit"))
  end)

  it("takes expired events, executors long gone, and revisions", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(mixed "t.mixed"))
    assert(engine:signal { name = "x", key = "k", ttl = "1h" })
    local file = require "spec.support.tmp".file
    local flow = [[local pawl = require "pawl"
      local f = pawl.workflow { code = "t.file", start = "a" }
      f:step("a", { run = function() return nil, %d end, next = "z" })
      f:finish "z" return f]]
    assert(engine:load(file("one.lua", flow:format(1))))
    assert(engine.workflows:hotfix(file("two.lua", flow:format(2)),
      { reason = "two" }))
    clock:advance "8d"
    local ask = { revisions = "7d", executors = "7d", dry_run = true }
    local would = removed(assert(engine:prune(ask)), true)
    ask.dry_run = nil
    local did = removed(assert(engine:prune(ask)), true)
    assert.same(would, did)
    assert.same({ events = 1, executors = did.executors, revisions = 1 }, did)
    assert.equal(0, kit.count(backend, url, "event"))
    assert.equal(1, #assert(engine.workflows:get "t.file").revisions)
  end)
end)
