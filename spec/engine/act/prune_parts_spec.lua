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
