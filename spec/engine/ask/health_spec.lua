--- What is wrong in a store is found, told, and put right. Such stores are made
--- by hand here: agenda rows are taken away, events slipped past their wait.
local command = require "spec.support.command"
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("a store's health", function(backend)
  local function fresh(flow)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    return engine, clock, url
  end

  local function forget(url, id)
    backend.sql(url, ("delete from %s where instance = %s"):format(
      kit.table(backend, "agenda"), kit.id_literal(backend, id)))
  end

  --- What is said of it, once it was looked at: "event at paid".
  local function said(engine)
    local report = assert(engine:health())
    local words = {}
    for i, p in ipairs(report.problems) do
      words[i] = p.what .. (p.node and " at " .. p.node or "")
    end
    assert.equal(#words == 0, report.sound)
    return table.concat(words, ", ")
  end

  local function repaired(engine, n)
    assert.equal(n, assert(engine:health { repair = true }).repaired)
    assert(engine:run())
    assert.equal("", said(engine))
  end

  it("counts what is suspended among what lives, and misses nothing", function()
    local engine, _, url = fresh(kit.timer "1h")
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:suspend(id))
    assert(engine:run())
    forget(url, id) -- its time is due again when it is resumed
    assert.equal("suspended", engine:get(id).status)
    local report = assert(engine:health())
    assert.equal(1, report.instances)
    assert.same({}, report.problems)
  end)

  local function waits()
    local flow = pawl.workflow { code = "t.wait", start = "paid" }
    flow:wait("paid", { event = "paid.*", key = "order", next = "z" })
    flow:finish "z"
    return flow
  end

  --- An event that is kept for a wait, which does not get it.
  local function slip(url, engine, clock, signal)
    local name = kit.table(backend, "subscription")
    backend.sql(url, "update " .. name .. " set pattern = 'x' || pattern")
    assert(engine:signal(signal))
    backend.sql(url, "update " .. name .. " set pattern = substr(pattern, 2)")
    clock:advance(6)
  end

  it("is sound where all is in order", function()
    local engine = fresh(waits())
    assert(engine:load(kit.timer()))
    assert(engine:load(kit.one()))
    for i = 1, 3 do assert(engine:start("t.wait", { order = "o" .. i })) end
    assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:start "t.one")
    local report = assert(engine:health())
    report.store, report.warnings = nil, nil
    assert.same({ sound = true, instances = 5, unseen = 0, stray = 0,
      unserved = 0, repaired = 0, problems = {},
      agenda = { rows = 2, due = 1, held = 0 } }, report)
  end)

  it("shows an event that was kept and that its wait has not seen", function()
    local engine, clock, url = fresh(waits())
    local id = assert(engine:start("t.wait", { order = "17" }))
    assert(engine:start("t.wait", { order = "18" }))
    assert(engine:run())
    for _, other in ipairs { "sent", "paid.card.twice" } do
      slip(url, engine, clock, { name = other, key = "17" })
    end
    assert.equal("", said(engine))
    slip(url, engine, clock, { name = "paid.card", key = "17" })
    assert.equal("event at paid", said(engine))
    repaired(engine, 1)
    assert.completed(engine, id)
  end)

  it("is mended for one instance by waking it", function()
    local engine, clock, url = fresh(waits())
    local id = assert(engine:start("t.wait", { order = "17" }))
    assert(engine:run())
    slip(url, engine, clock, { name = "paid.card", key = "17" })
    assert(engine:wake(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("shows a letter that nobody has read", function()
    local engine, _, url = fresh(waits())
    local id = assert(engine:start("t.wait", { order = "17" }))
    assert(engine:run())
    assert(engine:signal { name = "paid.card", instance = id })
    forget(url, id)
    assert.equal("event at paid", said(engine))
    repaired(engine, 1)
    assert.completed(engine, id)
  end)

  it("shows an event among the branches of a fork", function()
    local flow = pawl.workflow { code = "t.fork", start = "split" }
    flow:fork("split", { next = { "left", "right" } })
    for _, side in ipairs { "left", "right" } do
      flow:wait(side, { event = side, key = "order", next = "both",
        match = function(event) return event.data end })
    end
    flow:join("both", { next = "z" })
    flow:finish "z"
    local engine, clock, url = fresh(flow)
    local id = assert(engine:start("t.fork", { order = "17" }))
    assert(engine:run())
    for _, wanted in ipairs { false, true } do
      assert(engine:signal { name = "left", key = "17", data = wanted })
      assert(engine:run())
      clock:advance(6)
      assert.equal("", said(engine)) -- what `match` refused was seen
    end
    slip(url, engine, clock, { name = "right", key = "17", data = true })
    assert.matches("^event", said(engine))
    repaired(engine, 1)
    assert.completed(engine, id)
  end)

  it("shows an each that nobody goes on with", function()
    local flow = pawl.workflow { code = "t.each", start = "all" }
    flow:each("all", { branch = "it", window = 1, next = "z",
      items = function() return { 1, 2, 3 } end })
    flow:timer("it", { after = 1, next = "all" })
    flow:finish "z"
    local engine, _, url = fresh(flow)
    local id = assert(engine:start "t.each")
    assert(engine:run())
    assert.equal("", said(engine))
    -- as if the commit of its first item's end had told nobody to look
    local token, cast = kit.table(backend, "token"),
      backend.name == "postgres" and "::json" or ""
    backend.sql(url, ("delete from %s where node = 'it'"):format(token))
    backend.sql(url, ([[update %s set detail = (replace(%s, '"live":1',
      '"live":0'))%s where node = 'all']]):format(token,
      cast == "" and "detail" or "detail::text", cast))
    forget(url, id)
    assert.matches("^items", said(engine))
    repaired(engine, 1)
    local nodes = {}
    for k, one in ipairs(assert(engine:tokens(id))) do nodes[k] = one.node end
    assert.same({ "all", "it" }, nodes)
  end)

  it("shows who should run, or waits for a time, and is not on the agenda",
    function()
      local engine, clock, url = fresh(kit.timer())
      assert(engine:load(kit.one()))
      local late = assert(engine:start "t.timer")
      assert(engine:run())
      local new = assert(engine:start "t.one")
      forget(url, late)
      forget(url, new)
      assert.matches("run", said(engine))
      assert.matches("time at t", said(engine))
      repaired(engine, 2)
      assert.completed(engine, new)
      clock:advance "2h"
      assert(engine:run())
      assert.completed(engine, late)
    end)

  it("shows agenda rows that lead to nothing", function()
    local engine, _, url = fresh(kit.one())
    local id = assert(engine:start "t.one")
    backend.sql(url, ("delete from %s where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, id)))
    local report = assert(engine:health())
    assert.equal(1, report.stray)
    assert.equal(id, report.problems[#report.problems].instance)
    assert(engine:health { repair = true })
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("names the one that waits among several tokens", function()
    local flow = pawl.workflow { code = "t.fork", start = "split" }
    flow:fork("split", { next = { "left", "middle", "late", "right" } })
    for _, side in ipairs { "left", "middle", "right" } do
      flow:wait(side, { event = side, key = "order", next = "all" })
    end
    flow:timer("late", { after = "1h", next = "all" })
    flow:join("all", { next = "z" })
    flow:finish "z"
    local engine, clock, url = fresh(flow)
    local id = assert(engine:start("t.fork", { order = "17" }))
    assert(engine:run())
    slip(url, engine, clock, { name = "middle", key = "17" })
    assert.equal("event at middle", said(engine))
    repaired(engine, 1)
    forget(url, id)
    assert.equal("time at late", said(engine))
    repaired(engine, 1)
    assert(engine:signal { name = "left", instance = id })
    backend.sql(url, ("update %s set due_at = null where node = 'late'")
      :format(kit.table(backend, "token")))
    forget(url, id)
    assert.equal("event at left", said(engine))
  end)

  it("takes what another instance has for no event that is missed", function()
    local flow = pawl.workflow { code = "t.wait", start = "pause" }
    flow:timer("pause", { after = function(ctx) return ctx.input.after end })
    flow:wait("paid", { event = "paid.*", key = "order", take = "one" })
    flow:finish "z"
    local other = pawl.workflow { code = "t.other" }
    other:wait("told", { event = "paid.*", key = "order" })
    other:finish "z"
    local engine, clock, url = fresh(flow)
    assert(engine:load(other))
    for _, after in ipairs { 0, 60 } do
      assert(engine:start("t.wait", { order = "17", after = after }))
    end
    assert(engine:run())
    assert(engine:signal { name = "paid.card", key = "17", ttl = "1h" })
    kit.pass(engine, clock, 70)
    assert.equal(1, #assert(engine:list { status = "waiting" }))
    assert.equal("", said(engine))
    -- others are told of it besides, and one that nobody has is missed
    local id = assert(engine:start("t.other", { order = "18" }))
    assert(engine:run())
    backend.sql(url, ("update %s set key = '18'"):format(
      kit.table(backend, "event")))
    assert.equal("event at told", said(engine))
    assert(engine:kill(id))
    slip(url, engine, clock, { name = "paid.card", key = "17" })
    assert.equal("event at paid", said(engine))
    -- or that is under way to another one
    backend.sql(url, ("update %s set assigned_at = received_at"):format(
      kit.table(backend, "event")))
    assert.equal("", said(engine))
    backend.sql(url, ("update %s set assigned_at = null"):format(
      kit.table(backend, "event")))
    repaired(engine, 1)
  end)

  local function explained(engine, id)
    return table.concat(assert(engine:explain(id)).sentences, "\n")
  end

  it("is what the explanation of an instance points to", function()
    local engine, clock, url = fresh(waits())
    local id = assert(engine:start("t.wait", { order = "17" }))
    local other = assert(engine:start("t.wait", { order = "18" }))
    assert(engine:run())
    slip(url, engine, clock, { name = "paid.card", key = "17" })
    assert.matches("pawl health %-%-repair", explained(engine, id))
    assert.same({ "unseen" }, assert(engine:explain(id)).blocked)
    assert.is_nil(explained(engine, other):find("pawl health", 1, true))
    repaired(engine, 1)
    assert.is_nil(explained(engine, id):find("pawl health", 1, true))
    local new = assert(engine:start("t.wait", { order = "19" }))
    forget(url, new)
    assert.matches("it can run, and is not on the agenda",
      explained(engine, new))
  end)

  it("shows what is due in a group that no worker serves", function()
    local engine, clock, url = fresh(kit.one())
    local id = assert(engine:start("t.one", nil, { group = "dead" }))
    assert(engine:run())
    assert.equal("", said(engine))
    clock:advance(61)
    assert(engine:run())
    assert.equal("unserved", said(engine))
    local report = assert(engine:health { repair = true })
    assert.same({ 1, 0, 0 }, { report.unserved, report.unseen,
      report.repaired })
    assert.equal("dead", report.problems[1].group)
    assert.equal(id, report.problems[1].instance)
    assert.equal("t.one", report.problems[1].workflow)
    local own = kit.rival(backend, url, clock, { group = "dead" })
    assert(own:load(kit.timer()))
    assert(own:run()) -- it serves the group, though not this workflow
    assert.equal("", said(engine))
  end)

  it("takes what is asked of one that no worker serves", function()
    local engine, clock, url = fresh(kit.one())
    local id = assert(engine:start("t.one", nil, { group = "dead" }))
    local store = kit.store(url, clock)
    assert(store:begin "batch")
    assert(store:send("agenda_wake", { shard = 0, id = id,
      now = store:now() }))
    assert(store:send("inbox_insert", { shard = 0, id = id,
      no = kit.draw_id(), kind = "cancel", event_id = "parent:1",
      source = "system", data = '{"reason":null}', now = store:now() }))
    assert(store:commit())
    clock:advance(61)
    assert.equal("unserved", said(engine))
    assert.equal(1, assert(engine:health { repair = true }).repaired)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("", said(engine))
  end)

  --- Answered, in a group that no worker serves any more; two minutes ago.
  local function answered()
    local flow = pawl.workflow { code = "t.ask", start = "ask" }
    flow:task("ask", { title = "Ask", role = "all", next = "z" })
    flow:finish "z"
    local engine, clock, url = fresh(kit.one())
    local own = kit.rival(backend, url, clock, { group = "dead" })
    assert(own:load(flow))
    local id = assert(own:start("t.ask", nil, { group = "dead" }))
    assert(own:run())
    own:close()
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", roles = { "all" } }))
    clock:advance(120)
    assert.equal("unserved", said(engine))
    return engine, clock, url, id
  end

  local function serve(url, clock)
    local own = kit.rival(backend, url, clock, { group = "dead" })
    local flow = pawl.workflow { code = "t.ask", start = "ask" }
    flow:task("ask", { title = "Ask", role = "all", next = "z" })
    flow:finish "z"
    assert(own:load(flow))
    assert(own:run())
  end

  it("does not say that a person's answer was put right", function()
    local engine, clock, url, id = answered()
    for _ = 1, 2 do
      local report = assert(engine:health { repair = true })
      assert.same({ 1, 0 }, { report.unserved, report.repaired })
      assert.equal("unserved", said(engine))
    end
    serve(url, clock)
    assert.completed(engine, id)
    assert.equal("", said(engine))
  end)

  it("knows how long the rest has been due when it took a request", function()
    local engine, clock, url, id = answered()
    local store = kit.store(url, clock)
    assert(store:begin "batch")
    assert(store:send("inbox_insert", { shard = 0, id = id,
      no = kit.draw_id(), kind = "edit", event_id = "spec:1",
      source = "system", data = '{"set":{"a":1},"reason":"r"}',
      now = store:now() }))
    assert(store:commit())
    assert.equal(1, assert(engine:health { repair = true }).repaired)
    assert.equal("unserved", said(engine))
    assert.equal(0, assert(engine:health { repair = true }).repaired)
    assert.equal("unserved", said(engine))
    serve(url, clock)
    assert.completed(engine, id)
  end)

  it("is told, and mended, by the command", function()
    local here = command.folder()
    local engine, clock, url = fresh(waits())
    clock.us = math.floor(os.time() * 1e6) -- the command's time
    local id = assert(engine:start("t.wait", { order = "17" }))
    assert(engine:run())
    assert(engine:signal { name = "paid.card", instance = id })
    local function health(...)
      return here:pawl("health", "--store", url, ...)
    end
    assert.equal(0, health().code)
    forget(url, id)
    local ran = health()
    assert.equal(1, ran.code)
    assert.matches(id, ran.out, 1, true)
    assert.matches("pawl health --repair", ran.out, 1, true)
    ran = health "--json"
    assert.equal(1, ran.code)
    assert.equal(1, pawl.json.decode(ran.out).unseen)
    ran = health "--repair"
    assert.equal(0, ran.code)
    assert.matches("1 was put right", ran.out)
    clock.us = math.max(clock.us, math.floor(os.time() * 1e6) + 1000000)
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)

kit.describe("an engine", function(backend)
  it("says whether anybody holds something", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert.is_false(assert(engine:busy() ~= nil) and engine:busy())
    kit.claim(kit.store(url, clock), id)
    assert.is_true(engine:busy())
    clock:advance(60)
    assert(engine:run())
    assert.is_false(engine:busy())
  end)
end)
