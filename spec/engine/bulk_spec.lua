-- One change of all instances that a list would have.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

--- Fails, is suspended or waits, as its input says.
local function mixed()
  local flow = pawl.workflow { code = "t.mixed", start = "a" }
  flow:step("a", { retry = false, next = { ok = "t", ended = "z" },
    run = function(ctx)
      if ctx.input.fails then error { code = ctx.input.fails } end
      return ctx.input.ends and "ended" or "ok"
    end })
  flow:timer("t", { after = "100h", next = "u" })
  flow:timer("u", { after = "100h", next = "z" })
  flow:finish "z"
  return flow
end

local waiting = kit.waiting

local function counts(r)
  return { r.matched, r.done, r.asked, r.refused }
end

local function status_of(engine, ids)
  local found = {}
  for i, id in ipairs(ids) do found[i] = kit.status(engine, id) end
  return found
end

--- Rows of that type which answer a request.
local function answers(engine, id, kind, request)
  local n = 0
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == kind and row.request == request then n = n + 1 end
  end
  return n
end

kit.describe("a bulk", function(backend)
  after_each(function() probe.fault(nil) end)

  it("purges what was archived long ago, and nothing else", function()
    local engine, clock = backend.fresh()
    assert(engine:load(mixed()))
    local ids = {}
    for i = 1, 3 do
      ids[i] = assert(engine:start("t.mixed", { ends = true }))
      assert(engine:run())
      if i < 3 then assert(engine:archive(ids[i])) end
      clock:advance "200d"
    end
    local query = { archived = true,
      completed_before = clock:now() - 500 * 86400 }
    assert.same({ 1, 1, 0, 0 }, counts(assert(engine:bulk("purge", query,
      { dry_run = true }))))
    assert.truthy(assert(engine:get(ids[1])))
    assert.same({ 1, 1, 0, 0 }, counts(assert(engine:bulk("purge", query))))
    assert.equal("notfound", select(2, engine:get(ids[1])).code)
    for i = 2, 3 do assert.truthy(assert(engine:get(ids[i]))) end
  end)

  it("changes what the query finds, and nothing else", function()
    local engine = backend.fresh { shards = 2 }
    assert(engine:load(mixed()))
    local a, b, c = assert(engine:start("t.mixed", { fails = "bank_down" })),
      assert(engine:start("t.mixed", { fails = "bank_slow" })),
      assert(engine:start("t.mixed", { fails = "other" }))
    local d = assert(engine:start("t.mixed", {}))
    assert(engine:run())
    local report = assert(engine:bulk("cancel", { workflow = "t.mixed" },
      { by = "ann", reason = "over" }))
    assert.same({ 1, 1, 0, 0 }, counts(report)) -- those that live
    assert.equal("cancel", report.kind)
    assert.same({ "failed", "failed", "failed", "cancelled" },
      status_of(engine, { a, b, c, d }))
    local row = kit.last(engine, d)
    assert.same({ "cancelled", "ann", "over", report.request },
      { row.type, row.by, row.text, row.request })
    report = assert(engine:bulk("delete", { error = "bank*" }))
    assert.same({ 2, 2, 0, 0 }, counts(report))
    assert.equal(2, #assert(engine:list { deleted = true }))
    report = assert(engine:bulk("undelete", { workflow = "t.mixed" }))
    assert.same({ 2, 2, 0, 0 }, counts(report))
    report = assert(engine:bulk("purge", { error = "bank_down" }))
    assert.same({ 1, 1, 0, 0 }, counts(report))
    local got, err = engine:get(a)
    assert.same({ nil, "notfound" }, { got, err.code })
    assert.truthy(engine:get(b))
  end)

  it("changes more than an engine holds at once", function()
    local engine = backend.fresh { batch = 1, concurrency = 1 }
    assert(engine:load(mixed()))
    for _ = 1, 70 do assert(engine:start("t.mixed", {})) end
    while assert(engine:tally { status = "created" }) > 0 do
      assert(engine:tick(1))
    end
    local report = assert(engine:bulk("cancel", { workflow = "t.mixed" }))
    assert.same({ 70, 70, 0, 0 }, counts(report))
    assert.equal(70, engine:tally { status = "cancelled" })
  end)

  it("has the options of the method, for each", function()
    local engine = backend.fresh()
    assert(engine:load(mixed()))
    local id = assert(engine:start("t.mixed", {}))
    assert(engine:run())
    assert.same({ 1, 1, 0, 0 }, counts(assert(engine:bulk("move",
      { node = "t" }, { to = "u" }))))
    assert.same({ 1, 1, 0, 0 }, counts(assert(engine:bulk("edit",
      { workflow = "t.mixed" }, { set = { x = 1 } }))))
    assert.equal(1, assert(engine:get(id)).variables.x)
    assert.same({ 1, 1, 0, 0 }, counts(assert(engine:bulk("note",
      { workflow = "t.mixed" }, { text = "seen" }))))
    assert.error_matches(function()
      engine:bulk("move", { node = "t" }, { too = "u" })
    end, "'to'")
    assert.error_matches(function()
      engine:bulk("cancl", { node = "t" })
    end, "'cancel'")
    assert.error_matches(function()
      engine:bulk("cancel", { nod = "t" })
    end, "'node'")
    kit.refused("invalid", "needs `to`", nil,
      engine:bulk("move", { node = "t" }))
    kit.refused("invalid", "which instances", "workflow",
      engine:bulk("cancel", {}))
    kit.refused("invalid", "which instances", nil,
      engine:bulk("cancel", { sort = "oldest", limit = 5 }))
    kit.refused("invalid", "request", "drawn",
      engine:bulk("cancel", { node = "t" }, { request = "again" }))
  end)

  it("tells what was refused: how many by reason, and one of them",
  function()
    local engine = backend.fresh()
    assert(engine:load(mixed()))
    local ids = {}
    for i = 1, 5 do
      ids[i] = assert(engine:start("t.mixed", i < 4 and { fails = "x" }
        or { ends = true }))
    end
    assert(engine:run())
    local report = assert(engine:bulk("retry", { workflow = "t.mixed",
      status = { "failed", "completed" } }, { by = "ann" }))
    assert.same({ 5, 3, 0, 2 }, counts(report))
    assert.equal(1, #report.refusals)
    local one = report.refusals[1]
    assert.same({ "already_finished", 2, ids[5] },
      { one.code, one.count, one.id })
    assert.matches("has ended already: completed", one.message)
  end)

  it("tells one reason from another, whichever ids they name", function()
    local engine = backend.fresh()
    assert(engine:load(kit.parent "t.one"))
    assert(engine:load(kit.one(function(ctx)
      if ctx.input.emits then ctx.emit("told", {}) end
    end)))
    for _ = 1, 2 do assert(engine:start "t.parent") end
    local emits = assert(engine:start("t.one", { emits = true }))
    assert(engine:run())
    local report = assert(engine:bulk("purge", { workflow = "t.one" }))
    assert.same({ 3, 0, 0, 3 }, counts(report))
    local by = {}
    for _, r in ipairs(report.refusals) do by[r.count] = r end
    assert.same({ 2, "conflict", "conflict", emits },
      { #report.refusals, by[1].code, by[2].code, by[1].id })
    assert.matches(emits .. " cannot be purged: it has emitted",
      by[1].message, 1, true)
    assert.matches(by[2].id .. " cannot be purged: its parent lives",
      by[2].message, 1, true)
  end)

  it("counts what is refused for more reasons than it tells", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.many", start = "e" }
    flow:each("e", { items = function(ctx) return ctx.input.list end,
      branch = "w", window = 30, next = "z" })
    flow:wait("w", { event = "go", next = "e" })
    flow:finish "z"
    assert(engine:load(flow))
    local list = pawl.array {}
    for i = 1, 24 do
      list[i] = i
      if i > 1 then assert(engine:start("t.many", { list = list })) end
    end
    assert(engine:run())
    local report = assert(engine:bulk("move", { workflow = "t.many" },
      { to = "z" }))
    assert.same({ 23, 0, 0, 23 }, counts(report))
    assert.equal(21, #report.refusals)
    local first, others = report.refusals[1], report.refusals[21]
    assert.same({ 1, nil }, { first.count, first.others })
    assert.same({ "conflict", 3, true },
      { others.code, others.count, others.others })
  end)

  it("only looks, when it is to run dry", function()
    local engine, _, url = backend.fresh()
    local ids = waiting(engine, 3)
    assert(engine:suspend(ids[1]))
    local before = kit.everything(backend, url)
    local report = assert(engine:bulk("suspend", { workflow = "t.timer",
      status = { "waiting", "suspended" } }, { dry_run = true }))
    assert.same({ 3, 2, 0, 1 }, counts(report))
    assert.is_true(report.dry_run)
    assert.equal(ids[1], report.refusals[1].id)
    local ok, done = engine:cancel(ids[2], { dry_run = true })
    assert.same({ true, false }, { ok, done })
    kit.refused("conflict", "need not be suspended", nil,
      engine:suspend(ids[1], { dry_run = true }))
    assert.same(before, kit.everything(backend, url))
  end)

  it("goes as far as its limit, in the list's order", function()
    local engine = backend.fresh { shards = 3 }
    local ids = waiting(engine, 10)
    local function suspended()
      local found = {}
      for i, status in ipairs(status_of(engine, ids)) do
        if status == "suspended" then found[#found + 1] = i end
      end
      return table.concat(found, " ")
    end
    local query = { workflow = "t.timer" }
    assert.equal(2, assert(engine:bulk("suspend", query,
      { limit = 2 })).matched)
    assert.equal("9 10", suspended())
    query.sort = "oldest"
    assert.equal(3, assert(engine:bulk("suspend", query,
      { limit = 3 })).matched)
    assert.equal("1 2 3 9 10", suspended())
    query.limit = 1
    assert.equal(1, assert(engine:bulk("suspend", query)).matched)
    assert.equal("1 2 3 4 9 10", suspended())
    assert.equal(4, assert(engine:bulk("suspend", { workflow = "t.timer" },
      { limit = 20000 })).matched)
  end)

  it("ends behind the instance that it is at when it is interrupted",
    function()
      local engine = backend.fresh { shards = 2 }
      waiting(engine, 120)
      local QUERY <const> = { workflow = "t.timer" }
      local function interrupted(point, verb)
        probe.fault(point, function() engine:interrupt() end)
        local report = assert(engine:bulk(verb, QUERY))
        probe.fault(nil)
        return { report.matched, report.done, report.stopped }
      end
      assert.same({ 100, 100, true }, -- fifty go together
        interrupted("engine.act.send=call@60", "cancel"))
      local report = assert(engine:bulk("cancel", QUERY))
      assert.same({ 20, 20, false },
        { report.matched, report.done, report.stopped })
      engine:interrupt() -- before it does anything
      report = assert(engine:bulk("purge", QUERY))
      assert.same({ 0, true }, { report.matched, report.stopped })
      local told = interrupted("engine.purge.some=call@2", "purge")
      assert.equal(told[1], told[2]) -- a unit of several, of a shard
      assert.is_true(told[3] and told[1] > 1 and told[1] <= 50, told[1])
      assert.equal(120 - told[1], assert(engine:bulk("purge", QUERY)).done)
    end)

  --- What a purge of so many ends with, and how many commits that took.
  local function purged(engine, query, options)
    local commits = 0
    local function arm()
      probe.fault(backend.name == "sqlite" and "commit.before=call"
        or "commit.after=call", function()
        commits = commits + 1
        arm()
      end)
    end
    arm()
    local report = assert(engine:bulk("purge", query, options))
    probe.fault(nil)
    return { report.matched, report.done, report.refused }, commits
  end

  it("purges short ones in units of several", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.attrs.n = ctx.input.n end)))
    local items = {}
    for i = 1, 200 do items[i] = { input = { n = i } } end
    assert(engine:start_many("t.one", items))
    assert(engine:run())
    local QUERY <const> = { workflow = "t.one" }
    local counts_of, commits = purged(engine, { workflow = "t.one",
      limit = 100 }, { by = "ann", reason = "old" })
    assert.same({ 100, 100, 0 }, counts_of)
    assert.is_true(commits <= 25, commits) -- and those that only read
    for _, name in ipairs { "instance", "history", "attribute" } do
      assert.equal(100, kit.count(backend, url, name,
        name == "history" and "type = 'step'" or nil), name)
    end
    assert.equal(0, kit.count(backend, url, "agenda"))
    local told = assert(engine:audit { type = "purged", limit = 1000 })
    assert.same({ 100, "ann", "old" }, { #told, told[1].by, told[1].text })
    local held = assert(engine:list { limit = 1 })[1].id
    kit.run(kit.store(url, clock), "agenda_revive", { shard = 0, id = held,
      now = kit.store(url, clock):now(), completed = true, cancelled = true,
      deleted = true }) -- somebody is about to ask something of it
    counts_of = purged(engine, QUERY, { keep_attributes = true })
    assert.same({ 100, 100, 0 }, counts_of)
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(100, kit.count(backend, url, "attribute"))
    local left = assert(engine:list { archived = true, limit = 1000 })
    assert.same({ 100, held }, { #left, left[1].id })
  end)

  it("purges apart what is long, needed, or has not been published",
    function()
      local engine, _, url = backend.fresh()
      local flow = pawl.workflow { code = "t.far", start = "a" }
      flow:step("a", { next = { again = "a", done = "z" },
        run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
          if ctx.input.emits then ctx.emit("told", {}) end
          return ctx.vars.n < (ctx.input.steps or 1) and "again" or "done"
        end })
      flow:finish "z"
      assert(engine:load(flow))
      for _, input in ipairs { {}, { steps = 250 }, { emits = true }, {} } do
        assert(engine:start("t.far", input))
      end
      assert(engine:run())
      local QUERY <const> = { workflow = "t.far" }
      local report = assert(engine:bulk("purge", QUERY))
      assert.same({ 4, 3, 0, 1 }, counts(report))
      assert.matches("published", report.refusals[1].message)
      assert.same({ 1, 1, 0, 0 },
        counts(assert(engine:bulk("purge", QUERY, { force = true }))))
      for _, name in ipairs { "instance", "history", "outbox" } do
        assert.equal(0, kit.count(backend, url, name), name)
      end
    end)

  it("counts as done what was purged when the answer was lost", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _ = 1, 10 do assert(engine:start "t.one") end
    assert(engine:run())
    probe.fault("engine.purge.some=call", function()
      probe.fault "commit.after=drop"
    end)
    local report = assert(engine:bulk("purge", { workflow = "t.one" }))
    probe.fault(nil)
    assert.same({ 10, 10, 0, 0 }, counts(report))
    assert.equal(0, report.skipped)
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("passes by what is being cancelled already", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { run = function() end, next = "t",
      retry = { max = 3, base = 3600 }, undo = function() error "no" end })
    flow:timer("t", { after = "1h", next = "b" })
    flow:step("b", { run = function() error "no" end, next = "z",
      retry = false })
    flow:finish "z"
    assert(engine:load(flow))
    for _ = 1, 3 do assert(engine:start "t.undo") end
    assert(engine:run())
    local failing = assert(engine:list { limit = 1 })[1].id
    assert(engine:wake(failing))
    assert(engine:run()) -- it is undone, as it has failed
    local QUERY <const> = { workflow = "t.undo" }
    local report = assert(engine:bulk("cancel", QUERY))
    assert.same({ 3, 0, 3, 0 }, counts(report)) -- handlers are to undo
    assert(engine:run())
    report = assert(engine:bulk("cancel", QUERY))
    assert.equal(2, report.skipped)
    assert.same({ 3, 0, 1, 0 }, counts(report)) -- that is refused when taken
  end)

  it("tells how far it is, and ends there when told to", function()
    local engine = backend.fresh { shards = 2 }
    waiting(engine, 250)
    local told = {}
    local report = assert(engine:bulk("suspend", { status = "waiting" },
      { progress = function(p)
        told[#told + 1] = p.matched
        assert.equal(p.matched, p.done + p.asked + p.refused)
      end }))
    assert.same({ 100, 200, 250 }, told)
    assert.is_false(report.stopped)
    report = assert(engine:bulk("resume", { workflow = "t.timer" },
      { progress = function() return false end }))
    assert.same({ 100, true }, { report.done, report.stopped })
    assert.equal(150, engine:tally { status = "suspended" })
    assert.error_matches(function()
      engine:bulk("resume", { status = "suspended" },
        { progress = function() error "enough" end })
    end, "enough")
    assert.equal(50, engine:tally { status = "suspended" })
    assert.error_matches(function()
      engine:bulk("suspend", { status = "waiting" },
        { progress = function() return engine:tally {} end })
    end, "from inside")
  end)

  it("is one request: asked again, what was done is not done again",
    function()
      local engine = backend.fresh { shards = 2 }
      local ids = waiting(engine, 5)
      local request = kit.draw_id()
      local query, given = { workflow = "t.timer" },
        { request = request, by = "ann", limit = 3 }
      local report = assert(engine:bulk("suspend", query, given))
      assert.same({ request, 3 }, { report.request, report.done })
      assert(engine:resume(ids[5]))
      given.limit = nil
      query.status = { "waiting", "suspended" }
      report = assert(engine:bulk("suspend", query, given))
      assert.same({ 5, 5, 0, 0 }, counts(report))
      assert.same({ "suspended", "suspended", "suspended", "suspended",
        "waiting" }, status_of(engine, ids))
      for _, id in ipairs(ids) do
        assert.equal(1, answers(engine, id, "suspended", request))
      end
    end)

  it("is asked of who holds an instance, and counted so", function()
    local rival, clock, reports
    local engine, url
    engine, clock, url = backend.fresh()
    rival = kit.rival(backend, url, clock)
    local request = kit.draw_id()
    local flow = kit.chain {
      function()
        reports = {}
        for i = 1, 2 do
          reports[i] = assert(rival:bulk("suspend", { workflow = "t.chain" },
            { request = request }))
        end
      end,
      function() end,
    }
    assert(engine:load(flow))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    assert.same({ 1, 0, 1, 0 }, counts(reports[1]))
    assert.same({ 1, 0, 1, 0 }, counts(reports[2]))
    assert.equal("suspended", kit.status(engine, id))
    assert.equal(1, answers(engine, id, "suspended", request))
    assert.same({ 1, 1, 0, 0 }, counts(assert(rival:bulk("suspend",
      { status = "suspended" }, { request = request }))))
  end)

  it("meets each once, while they change and others come", function()
    local engine = backend.fresh()
    local ids = waiting(engine, 450)
    local rounds = 0
    -- what was moved matches again, and so do those that come
    local report = assert(engine:bulk("move", { node = "t",
      sort = "oldest" }, { to = "t", progress = function()
        rounds = rounds + 1
      end }))
    assert.same({ 450, 450, 0, 0 }, counts(report))
    assert.equal(5, rounds)
    for i = 1, 450, 90 do
      assert.equal(1, answers(engine, ids[i], "moved", report.request))
    end
  end)

  it("does not find what comes while it goes on", function()
    local engine, clock, url = backend.fresh()
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(kit.timer "100h"))
    waiting(engine, 300)
    local report = assert(engine:bulk("suspend", { workflow = "t.timer",
      sort = "oldest" }, { progress = function()
        clock:advance "1m"
        for _ = 1, 100 do assert(rival:start "t.timer") end
      end }))
    assert.equal(300, report.matched)
  end)

  it("costs less than a third of what each by itself would", function()
    for _, shards in ipairs { 1, 3 } do
      local engine = backend.fresh { shards = shards }
      local ids = waiting(engine, 200)
      local before = engine:count()
      for i = 1, 20 do
        assert(engine:note(ids[i], { text = "x", request = kit.draw_id() }))
      end
      local singly = (engine:count().transactions - before.transactions) / 20
      for _, verb in ipairs { "suspend", "resume", "cancel" } do
        before = engine:count()
        assert.equal(200, assert(engine:bulk(verb, {
          workflow = "t.timer" })).done)
        local cost = (engine:count().transactions - before.transactions) / 200
        assert.is_true(cost <= singly / 3,
          ("%s: %.2f transactions, %.2f by itself"):format(verb, cost, singly))
      end
    end
  end)

  it("costs no more on several shards, where nothing was held", function()
    local costs = {}
    for i, shards in ipairs { 1, 3 } do
      local engine, clock, url = backend.fresh { shards = shards }
      waiting(engine, 200)
      local rival = kit.rival(backend, url, clock)
      local before = rival:count()
      assert.equal(200, assert(rival:bulk("suspend", {
        workflow = "t.timer" })).done)
      costs[i] = rival:count().transactions - before.transactions
    end
    assert.is_true(costs[2] < 1.3 * costs[1], table.concat(costs, ", "))
  end)

  it("settles each by itself among those that it asks together", function()
    local engine, clock, url = backend.fresh { shards = 2 }
    local rival = kit.rival(backend, url, clock)
    local request = kit.draw_id()
    local report
    assert(engine:load(kit.chain({ function()
      report = assert(rival:bulk("move", { status = { "waiting", "running" } },
        { to = "t", request = request }))
    end }, "t.held")))
    local ids = waiting(engine, 60)
    -- one was asked before, one has ended, one has no such node
    assert(engine:move(ids[7], { to = "t", request = request }))
    assert(engine:cancel(ids[20]))
    local held = assert(engine:start "t.held")
    assert(engine:run())
    assert.same({ 60, 59, 0, 1 }, counts(report))
    assert.equal(held, report.refusals[1].id)
    for i, id in ipairs(ids) do
      assert.equal(i == 20 and 0 or 1, answers(engine, id, "moved", request))
    end
  end)

  it("is left by a dead executor what it takes alone", function()
    local engine, _, url = backend.fresh()
    local ids = waiting(engine, 5)
    backend.sql(url, ("update %s set ready = %s, takeovers = 1 where "
      .. "instance = %s"):format(kit.table(backend, "agenda"),
      backend.name == "sqlite" and "1" or "true",
      kit.id_literal(backend, ids[3])))
    assert.same({ 5, 5, 0, 0 }, counts(assert(engine:bulk("suspend", {
      workflow = "t.timer" }))))
  end)

  it("goes on where the store was lost", function()
    local engine = backend.fresh()
    waiting(engine, 20)
    local n = 0
    probe.fault("engine.act.send=call", function()
      n = n + 1
      if n == 8 then
        probe.fault(backend.name == "sqlite" and "commit.busy=fail"
          or "commit.before_send=drop")
      end
    end)
    local request = kit.draw_id()
    local report, err = engine:bulk("suspend", { workflow = "t.timer" },
      { request = request })
    probe.fault(nil)
    if not report then
      assert.matches(request, err.hint, 1, true)
      report = assert(engine:bulk("suspend", { workflow = "t.timer" },
        { request = request }))
    end
    assert.truthy(report.matched >= 13)
    assert.equal(20, engine:tally { status = "suspended" })
  end)

  for n = 1, 2 do
    it("says to how many it was seen before that: " .. n, function()
      local engine, _, url = backend.fresh()
      waiting(engine, 3)
      local inbox = kit.table(backend, "inbox")
      -- from beside the engine, where there is such a place
      backend.sql(url, "delete from " .. inbox)
      probe.fault("engine.act.send=call@" .. n + 1, function()
        backend.sql(url, ("alter table %s rename to gone"):format(inbox))
      end)
      local report, err = engine:bulk("kill", { workflow = "t.timer" })
      probe.fault(nil)
      backend.sql(url, ("alter table %s rename to %s"):format(
        inbox:gsub("inbox", "gone"):gsub("pawl_", ""), inbox:match "[%w_]+$"))
      assert.is_nil(report)
      assert.matches(n == 1 and "^1 instance was seen to; with the request "
        or "^2 instances were seen to; with the request ", err.hint)
    end)
  end
end)
