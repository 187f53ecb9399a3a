-- What throws instances away, changes many, or makes definitions known, in a
-- transaction of the user's own: as outside of one, and undone with it.
local emitted = require "spec.support.emitted"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local samples = require "spec.engine.samples"
local system = require "system"

local FORCE <const> = { force = true, by = "ann", reason = "old" }

--- Raises behind what `fn` does, so that it is rolled back.
local function undone(engine, fn)
  local ok, err = pcall(engine.transaction, engine, function(tx)
    fn(tx)
    error("undone", 0)
  end)
  assert.same({ false, "undone" }, { ok, err })
end

local function rich(backend)
  local engine, clock, url = backend.fresh()
  assert(engine:load(samples.rich()))
  return engine, samples.rich_ended(engine), url, clock
end

--- A statement's counts are of all: how many rows they are is not.
local function stored(backend, url)
  local found = kit.everything(backend, url)
  for _, row in ipairs(found.archive) do row.lease = nil end
  return found
end

--- So many that have ended, oldest first.
local function ended(backend, n, options)
  local engine, clock, url = backend.fresh(options)
  assert(engine:load(kit.one(function(ctx)
    if ctx.input.emits then ctx.emit("told", {}) end
  end)))
  local ids = {}
  for i = 1, n do
    ids[i] = assert(engine:start("t.one", { n = i }, { key = "k" .. i }))
  end
  assert(engine:run())
  return engine, ids, url, clock
end

local function waiting(backend, n)
  local engine, clock, url = backend.fresh()
  return engine, kit.waiting(engine, n), url, clock
end

local function counts(r)
  return { r.matched, r.done, r.asked, r.refused, r.more }
end

--- Somebody else holds it, for an hour.
local function lease(backend, url, id)
  backend.sql(url, ("update %s set lease = %s, ready = %s, due_at = %s "
    .. "where instance = %s"):format(kit.table(backend, "agenda"),
    kit.id_literal(backend, kit.draw_id()),
    backend.name == "postgres" and "false" or "0",
    backend.name == "postgres" and "now() + interval '100 years'"
      or "4000000000000000", kit.id_literal(backend, id)))
end

--- It has a history as long as that, so it is said.
local function long(backend, url, id, rows)
  backend.sql(url, ("update %s set seq = %d where id = %s"):format(
    kit.table(backend, "instance"), rows, kit.id_literal(backend, id)))
end

local function versions(engine)
  local found = {}
  for _, w in ipairs(assert(engine.workflows:list())) do
    found[#found + 1] = w.workflow .. " " .. w.version
  end
  table.sort(found)
  return found
end

--- One that leaves its word in its output.
local function says(word, version)
  local flow = pawl.workflow { code = "t.says", start = "a",
    version = version }
  flow:step("a", { run = function(ctx) ctx.vars.said = word end, next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.said end })
  return flow
end

--- The same as a file's text: other engines run it from the store.
local function says_text(word, version)
  return ([[local flow = require "pawl".workflow { code = "t.says",
    start = "a", version = %d }
  flow:step("a", { run = function(ctx) ctx.vars.said = "%s" end, next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.said end })
  return flow]]):format(version, word)
end

local function said(engine, id)
  assert(engine:run())
  return assert(engine:get(id)).output
end

kit.describe("in a transaction an archive", function(backend)
  after_each(function() probe.fault(nil) end)

  it("is as one outside, seen at once, and told behind the commit", function()
    local a, one, url = rich(backend)
    assert.same({ true, true }, { a:archive(one, FORCE) })
    local outside = stored(backend, url)
    local b, two, other, clock = rich(backend)
    local rival <close> = kit.rival(backend, other, clock)
    b:transaction(function(tx)
      assert.same({ true, true }, { tx:archive(two, FORCE) })
      assert.truthy(assert(tx:get(two)).archived)
      assert.same({ true, true }, { tx:archive(two, FORCE) })
      if backend.name == "postgres" then
        assert.is_nil(assert(rival:get(two)).archived)
      end
    end)
    assert.truthy(assert(rival:get(two)).archived)
    local inside = stored(backend, other)
    outside.event, inside.event = nil, nil -- ids that were drawn
    assert.same(outside, inside)
  end)

  it("is undone with it, and so are those of a level inside", function()
    local engine, id, url = rich(backend)
    local before = stored(backend, url)
    undone(engine, function(tx) assert(tx:archive(id, FORCE)) end)
    assert.same(before, stored(backend, url))
    assert.is_true(engine:transaction(function(tx)
      undone(tx, function(inner) assert(inner:archive(id, FORCE)) end)
      assert.is_nil(assert(tx:get(id)).archived)
    end))
    assert.same(before, stored(backend, url))
    assert(engine:archive(id, FORCE))
    before = stored(backend, url)
    undone(engine, function(tx)
      assert.same({ true, true }, { tx:unarchive(id, { by = "bob" }) })
      assert.is_nil(assert(tx:get(id)).archived)
    end)
    assert.same(before, stored(backend, url))
    engine:transaction(function(tx)
      assert(tx:unarchive(id))
      assert(tx:archive(id, FORCE))
      assert(tx:unarchive(id))
    end)
    assert.is_nil(assert(engine:get(id)).archived)
  end)

  --- Its rows do not fit in one unit.
  local function large()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      for i = 1, 400 do ctx.emit("told", { n = i }) end
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    return engine, id, url, clock
  end

  it("of a long one has its rows go behind the commit", function()
    local engine, id, url = large()
    local before, seen = stored(backend, url), nil
    undone(engine, function(tx) assert(tx:archive(id, FORCE)) end)
    assert.same(before, stored(backend, url))
    engine:transaction(function(tx)
      assert(tx:archive(id, FORCE))
      probe.fault("engine.purge.batch=call@1", function()
        seen = { kit.count(backend, url, "archive", "rest"),
          kit.count(backend, url, "instance"),
          kit.count(backend, url, "outbox") }
      end)
    end)
    assert.same({ 1, 0, 400 }, seen)
    assert.equal(1, kit.count(backend, url, "archive", "not rest"))
    assert.equal(0, kit.count(backend, url, "outbox"))
    assert(engine:unarchive(id))
    assert.equal(400, kit.count(backend, url, "outbox"))
  end)

  it("of a long one is gone on with when it is asked for again", function()
    local engine, id, url = large()
    local again = kit.refuse(backend, url, "outbox", "delete")
    engine:transaction(function(tx) assert(tx:archive(id, FORCE)) end)
    again()
    assert.same({ 1, 400 }, { kit.count(backend, url, "archive", "rest"),
      kit.count(backend, url, "outbox") })
    assert.truthy(assert(engine:get(id)).archived)
    undone(engine, function(tx) assert(tx:archive(id, FORCE)) end)
    assert.equal(400, kit.count(backend, url, "outbox"))
    engine:transaction(function(tx)
      assert.same({ true, true }, { tx:archive(id, FORCE) })
    end)
    assert.same({ 0, 0 }, { kit.count(backend, url, "archive", "rest"),
      kit.count(backend, url, "outbox") })
  end)

  it("is refused alone where something lies there for it", function()
    local engine, ids = ended(backend, 2)
    engine:transaction(function(tx)
      assert(tx:note(ids[1], { text = "wait" }))
      kit.refused("busy", "has letters that nobody has taken",
        "behind the transaction", tx:archive(ids[1]))
      kit.refused("busy", "has letters that nobody has taken",
        "behind the transaction", tx:purge(ids[1]))
      assert(tx:archive(ids[2]))
    end)
    assert.is_nil(assert(engine:get(ids[1])).archived)
    assert.truthy(assert(engine:get(ids[2])).archived)
    assert.same({ true, true }, { engine:archive(ids[1]) })
  end)

  it("leaves a key where it was, and gives it to who begins anew", function()
    local engine, ids = ended(backend, 1)
    undone(engine, function(tx)
      assert(tx:archive(ids[1]))
      local _, created = assert(tx:start("t.one", {}, { key = "k1" }))
      assert.is_false(created)
      _, created = assert(tx:start("t.one", {}, { key = "k1",
        reuse = "ended" }))
      assert.is_true(created)
    end)
    local id, created = assert(engine:start("t.one", {}, { key = "k1" }))
    assert.same({ ids[1], false }, { id, created })
    assert.is_nil(assert(engine:get(ids[1])).successor)
  end)
end)

kit.describe("in a transaction a purge", function(backend)
  after_each(function() probe.fault(nil) end)

  --- What is stored once one was purged, by whom it was.
  local function purged(deletes, options, inside)
    local engine, id, url = rich(backend)
    if deletes then
      assert(engine:delete(id, { by = "bob", reason = "slip" }))
    end
    if inside then
      engine:transaction(function(tx)
        assert.same({ true, true }, { tx:purge(id, options) })
      end)
    else
      assert.same({ true, true }, { engine:purge(id, options) })
    end
    local found = stored(backend, url)
    found.counter, found.event = nil, nil
    for _, row in ipairs(found.archive) do row.deletion = nil end
    return found
  end

  it("leaves what one outside leaves", function()
    for _, deletes in ipairs { false, true } do
      for _, options in ipairs { FORCE, { force = true },
        { force = true, by = "ann", keep_attributes = true } } do
        assert.same(purged(deletes, options, false),
          purged(deletes, options, true))
      end
    end
  end)

  it("is undone with it", function()
    local engine, id, url = rich(backend)
    for _ = 1, 2 do
      local before = stored(backend, url)
      undone(engine, function(tx)
        assert(tx:purge(id, FORCE))
        kit.refused("notfound", "", nil, tx:get(id))
        local _, created = assert(tx:start("t.rich", {}, { key = "k" }))
        assert.is_true(created)
      end)
      assert.same(before, stored(backend, url))
      assert(engine:transaction(function(tx)
        undone(tx, function(inner) assert(inner:purge(id, FORCE)) end)
        assert(tx:get(id))
      end))
      assert.same(before, stored(backend, url))
      if not assert(engine:get(id)).archived then
        assert(engine:archive(id, FORCE))
      end
    end
    engine:transaction(function(tx) assert(tx:purge(id)) end)
    kit.refused("notfound", "", nil, engine:get(id))
  end)

  it("goes on with one that was cut short", function()
    local engine, id, url = rich(backend)
    local again = kit.refuse(backend, url, "outbox", "delete")
    assert.is_nil((engine:purge(id, FORCE)))
    again()
    assert.equal(1, kit.count(backend, url, "instance",
      "purge_at is not null"))
    local before = stored(backend, url)
    undone(engine, function(tx) assert(tx:purge(id, FORCE)) end)
    assert.same(before, stored(backend, url))
    engine:transaction(function(tx)
      assert.same({ true, true }, { tx:purge(id, FORCE) })
    end)
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(1, #assert(engine:audit { type = "purged" }))
  end)

  it("takes no more than a transaction may hold, and says so", function()
    local engine, ids, url = ended(backend, 3)
    long(backend, url, ids[1], 9000)
    long(backend, url, ids[2], 9000)
    engine:transaction(function(tx)
      undone(tx, function(inner) assert(inner:purge(ids[2])) end)
      assert(tx:purge(ids[1]))
      kit.refused("limit", "purges at most 10000, and 9%d+ have gone",
        "behind the transaction", tx:purge(ids[2]))
      assert(tx:purge(ids[3]))
    end)
    assert.equal(1, kit.count(backend, url, "instance"))
    engine:transaction(function(tx) -- the next one begins anew
      assert(tx:purge(ids[2]))
    end)
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("knows what others need, and what went before it", function()
    local engine = backend.fresh()
    assert(engine:load(samples.waiting "t.child"))
    assert(engine:load(kit.parent "t.child"))
    local up = assert(engine:start "t.parent")
    assert(engine:run())
    local child = assert(engine:list { parent = up })[1].id
    assert(engine:kill(child))
    engine:transaction(function(tx)
      kit.refused("conflict", "cannot be purged", nil, tx:purge(child))
      kit.refused("conflict", "while it lives", nil, tx:purge(up))
      kit.refused("conflict", "while it lives", nil, tx:archive(up))
    end)
    assert(engine:run())
    undone(engine, function(tx)
      assert(tx:purge(up, { force = true }))
      assert(tx:purge(child, { force = true }))
      assert.same({}, assert(tx:list()))
    end)
    assert.equal(2, #assert(engine:list()))
    engine:transaction(function(tx)
      assert(tx:archive(child, { force = true }))
      assert(tx:purge(up, { force = true }))
    end)
    assert.same({}, assert(engine:list()))
    assert.truthy(assert(engine:get(child)).archived)
  end)
end)

kit.describe("in a transaction a bulk", function(backend)
  after_each(function() probe.fault(nil) end)

  it("asks, and is done behind the commit; or it was never asked", function()
    local engine, ids, url = waiting(backend, 60)
    local request = kit.draw_id()
    local before = stored(backend, url)
    local function cancel(tx)
      return assert(tx:bulk("cancel", { workflow = "t.timer" },
        { request = request, reason = "no" }))
    end
    undone(engine, function(tx)
      assert.same({ 60, 0, 60, 0, false }, counts(cancel(tx)))
    end)
    assert.same(before, stored(backend, url))
    assert.equal("waiting", kit.status(engine, ids[1]))
    local last
    engine:transaction(function(tx)
      assert.same({ 60, 0, 60, 0, false }, counts(cancel(tx)))
      assert.same({ 60, 0, 60, 0, false }, counts(cancel(tx))) -- once more
      undone(tx, function(inner)
        assert(inner:bulk("suspend", { workflow = "t.timer" }))
      end)
      last = assert(tx:start "t.timer")
      assert.equal("waiting", kit.status(tx, ids[60]))
    end)
    for _, id in ipairs(ids) do
      assert.equal("cancelled", kit.status(engine, id))
      local n = 0
      for _, row in ipairs(assert(engine:history(id))) do
        if row.type == "cancelled" then n = n + 1 end
        assert.is_not.equal("suspended", row.type)
      end
      assert.equal(1, n)
    end
    assert.equal("created", kit.status(engine, last))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("tells who is refused, each by itself, and goes on", function()
    local engine, ids, url = ended(backend, 4)
    local emits = assert(engine:start("t.one", { emits = true }))
    assert(engine:run())
    local before = stored(backend, url)
    for _, verb in ipairs { "archive", "purge" } do
      undone(engine, function(tx)
        assert(tx:note(ids[2], { text = "wait" }))
        local report = assert(tx:bulk(verb, { workflow = "t.one",
          sort = "oldest" }))
        assert.same({ 5, 3, 0, 2, false }, counts(report))
        local told = {}
        for i, one in ipairs(report.refusals) do
          told[i] = { one.code, one.count, one.id }
        end
        assert.same({ { "busy", 1, ids[2] }, { "conflict", 1, emits } },
          told)
        assert.equal(2, #assert(tx:list()))
      end)
      assert.same(before, stored(backend, url))
    end
    engine:transaction(function(tx)
      local report = assert(tx:bulk("delete", { workflow = "t.one" }))
      assert.same({ 5, 0, 5, 0, false }, counts(report))
      report = assert(tx:bulk("archive", { workflow = "t.one" },
        { dry_run = true, force = true }))
      assert.same({ 5, 5, 0, 0, false }, counts(report))
    end)
    assert.same({}, assert(engine:list()))
  end)

  it("is one thing, whatever stops it", function()
    local engine, ids, url = waiting(backend, 120)
    local again = kit.refuse(backend, url, "inbox", "insert")
    local before = stored(backend, url)
    engine:transaction(function(tx)
      local report, err = tx:bulk("cancel", { workflow = "t.timer" })
      if backend.name == "sqlite" then -- there it is no word about the data
        assert.is_nil(report)
        assert.is_nil(err.hint and err.hint:match "goes on where it ended")
      else
        assert.same({ 120, 0, 0, 120, false }, counts(report))
      end
      assert(tx:bulk("suspend", { workflow = "t.none" }))
      assert.equal(120, assert(tx:tally { workflow = "t.timer" }))
    end)
    again()
    assert.same(before, stored(backend, url))
    local n = 0
    engine:transaction(function(tx)
      local ok, err = pcall(tx.bulk, tx, "cancel", { workflow = "t.timer" },
        { progress = function() n = n + 1 error("enough", 0) end })
      assert.same({ false, "enough" }, { ok, err })
    end)
    assert.equal(1, n) -- what was seen to until then is asked
    assert.equal("cancelled", kit.status(engine, ids[1]))
    assert.equal("waiting", kit.status(engine, ids[120]))
  end)

  it("takes a thousand, says that there are more, and goes on there",
    function()
      local engine, ids = waiting(backend, 1003)
      local query = { workflow = "t.timer" }
      local report
      engine:transaction(function(tx)
        report = assert(tx:bulk("note", query, { text = "seen" }))
        assert.same({ 1000, 0, 1000, 0, true }, counts(report))
        assert.equal(ids[4], report.last)
      end)
      query.before = report.last
      engine:transaction(function(tx)
        report = assert(tx:bulk("note", query, { text = "seen" }))
        assert.same({ 3, 0, 3, 0, false }, counts(report))
        assert.is_nil(report.last)
      end)
      for _, i in ipairs { 1, 3, 4, 500, 1003 } do
        local notes = 0
        for _, row in ipairs(assert(engine:history(ids[i]))) do
          if row.type == "note" then notes = notes + 1 end
        end
        assert.equal(1, notes)
      end
    end)

  it("locks in the order of ids, whatever that of its list is", function()
    if backend.name ~= "postgres" then return end
    local engine, ids, url = waiting(backend, 120)
    for _, id in ipairs(ids) do lease(backend, url, id) end
    engine:transaction(function(tx)
      assert(tx:bulk("suspend", { workflow = "t.timer" }))
    end)
    local found = {}
    for i, row in ipairs(kit.select(url,
      "select instance from pawl.inbox order by ctid")) do
      found[i] = row.instance
    end
    assert.same(ids, found)
  end)

  it("reaches who is held, as it does outside", function()
    local engine, ids, url = waiting(backend, 3)
    lease(backend, url, ids[1])
    lease(backend, url, ids[2])
    engine:transaction(function(tx)
      assert.same({ true, false }, { tx:kill(ids[1], { by = "ann" }) })
      assert(tx:cancel(ids[2]))
      assert(tx:bulk("kill", { workflow = "t.timer", after = ids[2] }))
    end)
    assert.equal("cancelled", kit.status(engine, ids[1])) -- whoever holds it
    assert.equal("waiting", kit.status(engine, ids[2]))
    assert.equal(1, kit.count(backend, url, "inbox"))
    assert.equal("cancelled", kit.status(engine, ids[3]))
  end)

  it("reaches who waits in this very engine", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.await(3600) end)))
    local ids = {}
    for i = 1, 3 do ids[i] = assert(engine:start "t.one") end
    assert(engine:tick())
    undone(engine, function(tx)
      assert.same({ 3, 0, 3, 0, false },
        counts(assert(tx:bulk("cancel", { workflow = "t.one" }))))
    end)
    assert(engine:tick())
    assert.equal("running", kit.status(engine, ids[1]))
    engine:transaction(function(tx)
      assert(tx:bulk("cancel", { workflow = "t.one" }))
    end)
    assert(engine:tick())
    for _, id in ipairs(ids) do
      assert.equal("cancelled", kit.status(engine, id))
    end
  end)

  it("purges and archives what is there, all or nothing", function()
    local engine, ids, url = ended(backend, 70)
    local before = stored(backend, url)
    for _, verb in ipairs { "archive", "purge" } do
      undone(engine, function(tx)
        assert.same({ 70, 70, 0, 0, false },
          counts(assert(tx:bulk(verb, { workflow = "t.one" }))))
        assert.same({}, assert(tx:list()))
      end)
      assert.same(before, stored(backend, url))
    end
    engine:transaction(function(tx)
      assert(tx:bulk("archive", { key = "k1" }))
      assert(tx:bulk("purge", { workflow = "t.one" }, { by = "ann" }))
    end)
    assert.same({}, assert(engine:list()))
    assert.truthy(assert(engine:get(ids[1])).archived)
    assert.equal(69, #assert(engine:audit { type = "purged", limit = 100 }))
  end)
end)

kit.describe("in a transaction a definition", function(backend)
  after_each(function() probe.fault(nil) end)

  it("is known at once, and can be started", function()
    local engine, clock, url = backend.fresh()
    local rival <close> = kit.rival(backend, url, clock)
    local id = engine:transaction(function(tx)
      assert(tx:load(says "hello"))
      if backend.name == "postgres" then
        assert.same({}, versions(rival))
      end
      return assert(tx:start "t.says")
    end)
    assert.equal("hello", said(engine, id))
    assert.same({ "t.says 1" }, versions(rival))
  end)

  it("is unknown again when it is undone", function()
    local engine, _, url = backend.fresh()
    local before = stored(backend, url)
    undone(engine, function(tx)
      assert(tx:load(says("wrong", 2)))
      assert(tx:start "t.says")
    end)
    assert.same(before, stored(backend, url))
    kit.refused("notfound", "", nil, engine:start("t.says", {},
      { version = 2 }))
    assert(engine:load(says("right", 2)))
    assert.equal("right", said(engine, assert(engine:start "t.says")))
  end)

  it("is what it was before, also of a level inside", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(says("one", 1)))
    engine:transaction(function(tx)
      undone(tx, function(inner)
        assert(inner:load(says("other", 1))) -- nobody runs it yet
        assert(inner:load(says("two", 2)))
        undone(inner, function(third)
          assert(third:load(says("three", 3)))
        end)
      end)
      assert(tx:load(says("second", 2)))
      undone(tx, function(inner) assert(inner:load(says("two", 2))) end)
    end)
    assert.same({ "t.says 1", "t.says 2" }, versions(engine))
    local one = assert(engine:start("t.says", {}, { version = 1 }))
    local two = assert(engine:start("t.says", {}))
    assert.equal("one", said(engine, one))
    assert.equal("second", said(engine, two))
    -- nor does another's of the same number pass for it
    local rival <close> = kit.rival(backend, url, clock)
    undone(engine, function(tx) assert(tx:load(says("mine", 3))) end)
    assert(rival:load(says("its", 3)))
    local three = assert(rival:start("t.says", {}, { version = 3 }))
    assert(engine:run())
    assert.equal("created", kit.status(engine, three)) -- not ours to run
    assert.equal("its", said(rival, three))
  end)

  it("is deployed with what is done beside it, or not at all", function()
    local engine, clock, url = backend.fresh()
    local path = os.tmpname()
    local function write(text)
      local file <close> = assert(io.open(path, "w"))
      file:write(text)
    end
    write(says_text("one", 1))
    undone(engine, function(tx)
      assert.equal("new", assert(tx:deploy(path))[1].outcome)
      assert.same({ "t.says 1" }, versions(tx))
    end)
    assert.same({}, versions(engine))
    local id = engine:transaction(function(tx)
      assert(tx:deploy(path))
      write "nonsense"
      assert.is_nil((tx:deploy(path)))
      write(says_text("two", 2))
      undone(tx, function(inner) assert(inner:deploy(path)) end)
      return assert(tx:start "t.says")
    end)
    os.remove(path)
    assert.same({ "t.says 1" }, versions(engine))
    local rival <close> = kit.rival(backend, url, clock)
    assert.equal("one", said(rival, id))
  end)

  it("goes on as another one, and is switched, as all else", function()
    local engine = backend.fresh()
    assert(engine:load(samples.waiting()))
    local flow = says("one", 1)
    assert(engine:load(flow))
    local id = assert(engine:start "t.says")
    undone(engine, function(tx)
      assert(tx.workflows:hotfix(says("fixed", 1), { reason = "x" }))
      assert(tx.workflows:suspend { workflow = "t.says" })
      assert(tx.workflows:off "t.waiting")
      kit.refused("conflict", "no version of", nil, tx:start "t.waiting")
    end)
    assert(engine:start "t.waiting")
    assert.equal("one", said(engine, id))
    id = assert(engine:start "t.says")
    engine:transaction(function(tx)
      assert(tx.workflows:hotfix(says("fixed", 1), { reason = "x" }))
      assert(tx.workflows:deactivate("t.says", 1))
    end)
    assert.equal("fixed", said(engine, id))
    kit.refused("conflict", "no version of", nil, engine:start "t.says")
    assert(engine.workflows:suspend { workflow = "t.waiting" })
    local ok, err = pcall(engine.transaction, engine, function(tx)
      tx.workflows:resume { workflow = "t.waiting", shift = true }
    end)
    assert.is_false(ok)
    assert.matches("each instance is asked", err.message)
    engine:transaction(function(tx)
      assert(tx.workflows:resume { workflow = "t.waiting" })
    end)
  end)

  it("gives back what a tick has left, once it is known to all", function()
    local engine, clock, url = backend.fresh()
    local flow = kit.one(function()
      local over = system.monotime() + 0.031
      while system.monotime() < over do end
    end)
    assert(engine:load(flow))
    for _ = 1, 4 do assert(engine:start "t.one") end
    assert(engine:tick(0.03)) -- in which the first one alone has run
    local function leases()
      return kit.count(backend, url, "agenda", "lease is not null")
    end
    local before = leases()
    undone(engine, function(tx) assert(tx:load(says("two", 2))) end)
    assert.is_true(before > 0)
    assert.equal(before, leases())
    engine:transaction(function(tx) assert(tx:load(says("two", 2))) end)
    assert.equal(0, leases())
    local rival <close> = kit.rival(backend, url, clock)
    assert(rival:load(flow))
    assert(rival:run())
    assert.equal(4, assert(rival:tally { status = "completed" }))
  end)
end)

kit.describe("in a transaction whose commit was not answered",
  function(backend)
    if backend.name ~= "postgres" then return end
    after_each(function() probe.fault(nil) end)

    --- *happened: the server has committed it.
    local function lost(engine, point, fn)
      local ok, err = engine:transaction(function(tx)
        fn(tx)
        probe.fault(point .. "=drop")
      end)
      probe.fault(nil)
      assert.is_nil(ok)
      assert.equal("unreachable", err.code)
    end

    it("all can be asked again", function()
      for _, point in ipairs { "commit.sent", "commit.after" } do
        local engine, ids, url = ended(backend, 3)
        local request = kit.draw_id()
        lost(engine, point, function(tx)
          assert(tx:archive(ids[1]))
          assert(tx:purge(ids[2]))
          assert(tx:bulk("note", { key = "k3" },
            { text = "x", request = request }))
        end)
        engine:transaction(function(tx)
          assert.same({ true, true }, { tx:archive(ids[1]) })
          local ok, err = tx:purge(ids[2])
          assert(ok or err.code == "notfound")
          assert(tx:bulk("note", { key = "k3" },
            { text = "x", request = request }))
        end)
        assert.truthy(assert(engine:get(ids[1])).archived)
        local notes = 0
        for _, row in ipairs(assert(engine:history(ids[3]))) do
          if row.type == "note" then notes = notes + 1 end
        end
        assert.same({ 1, 1 }, { notes,
          kit.count(backend, url, "instance") })
      end
    end)

    it("what was loaded is to be loaded again", function()
      for _, point in ipairs { "commit.sent", "commit.after" } do
        local engine = backend.fresh()
        lost(engine, point, function(tx)
          assert(tx:load(says("one", 1)))
        end)
        assert(engine:load(says("one", 1)))
        assert.equal("one", said(engine, assert(engine:start "t.says")))
        assert.same({ "t.says 1" }, versions(engine))
      end
    end)
  end)

kit.describe("in a transaction what is refused half-way", function(backend)
  --- Goes on behind `fn`, of which nothing may be left.
  local function leaves_nothing(engine, url, fn)
    local before = stored(backend, url)
    engine:transaction(fn)
    assert.same(before, stored(backend, url))
  end

  it("is none of a list, whatever that is cut into", function()
    for shards, n in pairs { [1] = 20, [4] = 20, [3] = 1500 } do
      local engine, _, url = backend.fresh { shards = shards }
      assert(engine:load(kit.one()))
      assert(engine:start("t.one", {}, { key = "k" .. n }))
      local list = {}
      for i = 1, n do list[i] = { key = "k" .. i, on_existing = "fail" } end
      leaves_nothing(engine, url, function(tx)
        kit.refused("exists", "^item " .. n .. ": key", nil,
          tx:start_many("t.one", list))
      end)
      -- and the rest can go on
      list[n].key = "other"
      engine:transaction(function(tx)
        assert.is_nil((tx:start_many("t.one",
          { { key = "new" }, { key = "k" .. n, on_existing = "fail" } })))
        assert(tx:start_many("t.one", list))
      end)
      assert.equal(n + 1, kit.count(backend, url, "instance"))
    end
  end)

  it("is none of what was imported in front of it", function()
    local a = backend.fresh()
    local ids = kit.waiting(a, 2)
    local one, two = assert(a:export(ids[1])), assert(a:export(ids[2]))
    local engine, _, url = backend.fresh()
    leaves_nothing(engine, url, function(tx)
      kit.refused("invalid", "^line %d+: ", nil,
        tx:import(one .. '{"is":"nonsense"}\n' .. two))
      assert.same({}, assert(tx:list()))
    end)
    engine:transaction(function(tx)
      assert.is_nil((tx:import(one .. "{}")))
      assert.same({ ids[2] }, assert(tx:import(two)).imported)
    end)
    assert.equal(1, kit.count(backend, url, "instance"))
  end)

  it("is none of the rows of the outbox", function()
    local engine, _, url = backend.fresh { shards = 4 }
    assert(engine:load(kit.one(function(ctx) ctx.emit("told", {}) end)))
    for _ = 1, 20 do assert(engine:start "t.one") end
    assert(engine:run())
    for _ = 1, 2 do emitted.relay(engine, function() return false end) end
    local last = 0
    for _, row in ipairs(assert(engine.outbox:list { dead = true })) do
      last = math.max(last, kit.shard(row.instance, 4))
    end
    assert.is_true(last > 0)
    local again = kit.refuse(backend, url, "outbox", "update",
      "new.shard = " .. last)
    leaves_nothing(engine, url, function(tx)
      assert.is_nil((tx.outbox:retry()))
    end)
    again()
    assert.equal(20, engine.outbox:retry())
  end)
end)
