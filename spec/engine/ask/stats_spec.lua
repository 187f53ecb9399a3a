-- engine:stats, engine:problems: how a store stands, without a walk over it.
local counted = require "spec.support.counted"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

--- A step that does as it is told, then a wait, then a task.
local function flow(version)
  local w = pawl.workflow { code = "t.counted", version = version,
    start = "a" }
  w:step("a", { retry = false, on_exhausted = "fail", run = function(ctx)
    local how = ctx.input and ctx.input.how
    if how == "fail" then error { code = ctx.input.code, message = "no" } end
    return how == "end" and "stop" or "on"
  end, next = { on = "wait", stop = "z" } })
  w:wait("wait", { event = "go", next = "fork" })
  w:fork("fork", { next = { "left", "right" } })
  w:wait("left", { event = "left", next = "meet" })
  w:wait("right", { event = "right", next = "meet" })
  w:join("meet", { expect = "all", next = "ask" })
  w:task("ask", { title = "Yes?", role = "boss", due = "1h",
    next = { completed = "z" } })
  w:finish "z"
  return w
end

local function version_of(stats, version)
  for _, of in ipairs(stats.workflows) do
    if of.version == version then return of end
  end
end

--- As the store's tables are called.
local function ask(backend, url, text)
  if backend.name == "sqlite" then text = text:gsub("pawl%.", "pawl_") end
  return backend.sql(url, text)
end

kit.describe("counters", function(backend)
  after_each(function() probe.fault(nil) end)

  local function open(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(flow(1)))
    local function right()
      assert.same({}, ask(backend, url, counted.wrong))
      assert.same({}, ask(backend, url, counted.unlike))
    end
    return engine, right, clock, url
  end

  local function start(engine, input, options)
    local id = assert(engine:start("t.counted", input, options))
    assert(engine:run {})
    return id
  end

  it("are right wherever an instance goes", function()
    local engine, right = open()
    right()
    local id = assert(engine:start("t.counted", {}, { key = "k" }))
    right()
    assert(engine:start("t.counted", {}, { key = "k" })) -- the same one
    right()
    assert(engine:start_many("t.counted", { {}, {}, { key = "k" } }))
    right()
    assert(engine:run {})
    right()
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run {})
    right() -- it waits in two places
    assert(engine:suspend(id))
    right()
    assert(engine:resume(id))
    assert(engine:signal { name = "left", instance = id })
    assert(engine:signal { name = "right", instance = id })
    assert(engine:run {})
    right()
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", role = "boss" }))
    assert(engine:run {})
    assert.completed(engine, id)
    right()
    assert(engine:delete(id))
    right()
    assert(engine:undelete(id))
    right()
    assert(engine:delete(id))
    assert(engine:purge(id))
    right()
    for _, other in ipairs(assert(engine:list {})) do
      assert(engine:cancel(other.id))
      right()
    end
    local of = version_of(assert(engine:stats()), 1)
    assert.same({ cancelled = 2, purged = 1 }, of.statuses)
  end)

  it("are right of what fails, is retried, killed, moved and edited",
    function()
      local engine, right = open()
      local id = start(engine, { how = "fail", code = "x" })
      assert.failed(engine, id)
      right()
      assert(engine:note(id, { text = "seen" }))
      assert(engine:run {})
      right()
      assert(engine:retry(id))
      right()
      assert(engine:run {})
      right()
      assert(engine:delete(id))
      right()
      assert(engine:undelete(id))
      right()
      assert(engine:restart(id, { from = "wait" }))
      assert(engine:run {})
      right()
      assert(engine:move(id, { to = "ask" }))
      assert(engine:run {})
      right()
      assert(engine:kill(id))
      right()
    end)

  it("are right of what goes on in another version, and of what nobody knew",
    function()
      local engine, right, clock, url = open()
      local id = start(engine)
      assert(engine:load(flow(2)))
      assert.same({ id }, (assert(engine.workflows:transfer("t.counted", 1,
        2))))
      right()
      assert.equal(1, version_of(assert(engine:stats()), 2).statuses.waiting)
      assert.is_nil(version_of(assert(engine:stats()), 1).statuses.waiting)
      assert(engine:start "t.later")
      right()
      local rival = kit.rival(backend, url, clock)
      assert(rival:load(kit.one(nil, { code = "t.later" })))
      assert(rival:run {})
      right()
    end)

  for _, fault in ipairs { "engine.commit.plain=fail@1", "commit.after=drop@1",
    "commit.after=drop@2", "commit.after=drop@3" } do
    it("have nothing twice, and nothing of what was undone: " .. fault,
      function()
        local engine, right = open()
        local id = assert(engine:start("t.counted", { how = "end" }))
        probe.fault(fault)
        for _ = 1, 3 do engine:run {} end
        probe.fault(nil)
        assert(engine:run {})
        assert.completed(engine, id)
        right()
      end)
  end

  it("are folded, and say the same", function()
    local engine, right, clock, url = open()
    for i = 1, 40 do
      start(engine, { how = i % 2 == 0 and "end" or "wait" })
      if i % 10 == 0 then clock:advance(600) end
    end
    local function fold(least)
      backend.sql(url, kit.literal(
        kit.statements(backend.name).counter_fold, { shard = "0",
          least = tostring(least), max = "1000",
          before = backend.name == "sqlite" and "1767226800000000"
            or "'2026-01-01 00:20:00Z'::timestamptz" }))
    end
    local before = assert(engine:stats { minutes = 14 })
    local function rows()
      return #ask(backend, url, "select 1 from pawl.counter")
    end
    local n = rows()
    if backend.name == "postgres" then
      fold(n + 1)
      assert.equal(n, rows())
    end
    fold(1)
    assert.is_true(rows() < n)
    right()
    assert.same(before.workflows, assert(engine:stats { minutes = 14 })
      .workflows)
    fold(1)
    right()
  end)
end)

kit.describe("engine:stats", function(backend)
  it("tells how many there are, and where they stand", function()
    local engine, clock = backend.fresh()
    assert(engine:load(flow(1)))
    for _, how in ipairs { "end", "wait", "wait", "fail" } do
      assert(engine:start("t.counted", { how = how, code = "x" }))
    end
    clock:advance(5)
    local stats = assert(engine:stats())
    local since = "2026-01-01T00:00:00.000000Z"
    assert.same({ count = 4, more = false, since = since, versions = { {
      workflow = "t.counted", version = 1, group = "default", count = 4,
      more = false, since = since } } }, stats.ready)
    assert(engine:run {})
    stats = assert(engine:stats())
    local recent = { since = "2025-12-31T23:55:00.000000Z", started = 4,
      completed = 1, failed = 1, cancelled = 0 }
    assert.same({ { workflow = "t.counted", version = 1,
      statuses = { completed = 1, waiting = 2, failed = 1 },
      nodes = { { node = "wait", status = "waiting", count = 2 } },
      recent = recent } }, stats.workflows)
    assert.same(recent, stats.recent)
    assert.equal(0, stats.ready.count)
    clock:advance(3600)
    assert.equal(0, assert(engine:stats()).recent.started)
    assert.same({}, assert(engine:stats { workflow = "t.other" }).workflows)
  end)

  it("counts what happens, not who is brought back or goes elsewhere",
    function()
      local engine = backend.fresh()
      assert(engine:load(flow(1)))
      local ids = {}
      for i = 1, 3 do
        ids[i] = assert(engine:start("t.counted", { how = "fail",
          code = "x" }))
      end
      local waits = assert(engine:start "t.counted")
      assert(engine:run {})
      local recent = assert(engine:stats()).recent
      assert.same({ 4, 3 }, { recent.started, recent.failed })
      local function same()
        assert.same(recent, assert(engine:stats()).recent)
      end
      assert(engine:delete(ids[1]))
      assert(engine:undelete(ids[1]))
      same()
      assert(engine:archive(ids[2]))
      assert(engine:unarchive(ids[2]))
      same()
      assert(engine:load(flow(2)))
      assert.same(4, #assert(engine.workflows:transfer("t.counted", 1, 2)))
      recent = assert(engine:stats { workflow = "t.counted" }).recent
      assert.same({ 4, 3 }, { recent.started, recent.failed })
      assert.equal("waiting", kit.status(engine, waits))
      assert.equal(3, assert(engine:tally { status = "failed" }))
    end)

  it("tells what is due, and since when, whatever its priority", function()
    local engine, clock = backend.fresh()
    assert(engine:start("t.none", {}, { priority = 1 }))
    clock:advance(10)
    assert(engine:start("t.none", {}, { priority = 9 }))
    assert(engine:start("t.none", {}, { group = "night" }))
    assert(engine:start("t.none", {}, { delay = 30 }))
    assert(engine:start("t.none", {}, { delay = 90 }))
    local stats = assert(engine:stats())
    assert.equal(2, #stats.ready.versions)
    assert.equal("2026-01-01T00:00:00.000000Z", stats.ready.since)
    assert.same({ count = 1, more = false }, stats.soon)
    clock:advance(40)
    stats = assert(engine:stats())
    assert.same({ count = 1, more = false,
      since = "2026-01-01T00:00:40.000000Z" }, stats.late)
    assert.equal(1, stats.soon.count)
  end)

  it("tells who holds what", function()
    local engine, clock, url = backend.fresh()
    local rival = kit.rival(backend, url, clock)
    local seen
    assert(engine:load(kit.one(function()
      seen = assert(rival:stats { held = 5 })
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run {})
    assert.equal(1, seen.held.count)
    assert.equal(1, seen.held.executors)
    assert.equal(0, seen.held.takeovers)
    local one = seen.held.instances[1]
    assert.equal(id, one.instance)
    assert.equal("t.one", one.workflow)
    assert.equal(engine:executor_id(), one.executor)
    assert.equal("2026-01-01T00:00:00.000000Z", one.since)
    assert.same({}, assert(rival:stats()).held.instances)
  end)

  it("tells what waits to be published and to be done", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.emit("told", {}) end)))
    assert(engine:load(flow(1)))
    assert(engine:start "t.one")
    local id = assert(engine:start "t.counted")
    assert(engine:run {})
    assert(engine:move(id, { to = "ask" }))
    assert(engine:run {})
    local stats = assert(engine:stats())
    assert.same({ count = 1, more = false,
      since = "2026-01-01T00:00:00.000000Z",
      dead = { count = 0, more = false } }, stats.outbox)
    assert.same({ open = { count = 1, more = false },
      overdue = { count = 0, more = false } }, stats.tasks)
    clock:advance(3601)
    assert.equal(1, assert(engine:stats()).tasks.overdue.count)
  end)

  it("tells since when what was emitted waits, however often it was tried",
  function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.one(function(ctx)
      ctx.emit(ctx.input.type, {})
      ctx.emit("behind", {})
    end)))
    local function emit(kind)
      assert(engine:start("t.one", { type = kind }))
      assert(engine:run {})
    end
    local first = "2026-01-01T00:00:00.000000Z"
    local function outbox() return assert(engine:stats()).outbox end
    local function relay()
      return assert(engine.outbox:relay { publish = function(event)
        if event.type == "bad" then return false, "no" end
        if event.type == "late" then return nil, "not yet" end
        return true
      end })
    end
    emit "late"
    clock:advance(60)
    emit "young"
    assert.same({ 4, first }, { outbox().count, outbox().since })
    assert.equal(1, relay().failed)
    assert.same({ count = 2, more = false, since = first,
      dead = { count = 0, more = false } }, outbox())
    emit "bad"
    relay()
    clock:advance(600)
    relay()
    assert.same({ count = 2, more = false, since = first,
      dead = { count = 1, more = false } }, outbox())
  end)

  it("tells it also where more are due than are counted", function()
    local engine, _, url = backend.fresh()
    local pg = backend.name == "postgres"
    --- So many events, `age` seconds old, due `due` seconds from now.
    local function emitted(given)
      local text = pg and [[
        insert into pawl.outbox (shard, instance, seq, type, payload,
          created_at, attempts, due_at)
        select 0, lpad(to_hex($from + i), 32, '0')::uuid, 1, 'e', '{}',
          '2026-01-01Z'::timestamptz - interval '$age s', 1,
          '2026-01-01Z'::timestamptz + interval '$due s'
          from generate_series(1, $count) i]] or [[
        with recursive n (i) as (select 1 union all select i + 1 from n
          where i < $count)
        insert into pawl_outbox (shard, instance, seq, type, payload,
          created_at, attempts, due_at)
        select 0, cast(printf('%016d', $from + i) as blob), 1, 'e', '{}',
          1767225600000000 - $age * 1000000, 1,
          1767225600000000 + $due * 1000000 from n]]
      backend.sql(url, (text:gsub("%$(%l+)", given)))
    end
    emitted { from = 0, count = 10001, age = 10, due = -5 }
    emitted { from = 20000, count = 1, age = 600, due = 300 }
    local outbox = assert(engine:stats()).outbox
    assert.same({ 10000, true, "2025-12-31T23:50:00.000000Z" },
      { outbox.count, outbox.more, outbox.since })
  end)

  it("refuses what it does not know", function()
    local engine = backend.fresh()
    assert.error_matches(function() engine:stats { minuts = 1 } end, "minutes")
    kit.refused("invalid", "minutes", nil, engine:stats { minutes = 15 })
    assert.error_matches(function() engine:problems { limt = 1 } end, "limit")
  end)
end)

kit.describe("engine:problems", function(backend)
  it("groups what has failed, the most first", function()
    local engine, clock = backend.fresh({ shards = 2 })
    assert(engine:load(flow(1)))
    local last
    for _, code in ipairs { "x", "y", "x", "x" } do
      last = assert(engine:start("t.counted", { how = "fail", code = code }))
      assert(engine:run {})
      clock:advance(60)
    end
    local report = assert(engine:problems())
    assert.is_false(report.more)
    assert.equal(2, #report.problems)
    assert.same({ workflow = "t.counted", code = "x", node = "a", count = 3,
      more = false, first = "2026-01-01T00:00:00.000000Z",
      last = "2026-01-01T00:03:00.000000Z", example = last, message = "no" },
      report.problems[1])
    assert.equal(1, report.problems[2].count)
    local some = assert(engine:problems { limit = 1 })
    assert.same({ 1, true }, { #some.problems, some.more })
    assert.same({}, assert(engine:problems { workflow = "t.z" }).problems)
    assert.equal(2, #assert(engine:problems { workflow = "t.counted" })
      .problems)
    assert(engine:delete(last))
    assert.equal(2, assert(engine:problems()).problems[1].count)
  end)

  it("has what was suspended by an error, not by somebody", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function() error { code = "z" } end,
      { retry = false, on_exhausted = "suspend" })))
    assert(engine:load(flow(1)))
    local id = assert(engine:start "t.one")
    local other = assert(engine:start "t.counted")
    assert(engine:run {})
    assert(engine:suspend(other))
    assert.equal("suspended", kit.status(engine, id))
    local problems = assert(engine:problems()).problems
    assert.equal(1, #problems)
    assert.same({ "t.one", "z", "a" },
      { problems[1].workflow, problems[1].code, problems[1].node })
  end)
end)
