-- The archive: what has ended goes out of the tables of those that live, is
-- read as before, found, not changed there, and comes back as it was.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local samples = require "spec.engine.samples"

local FORCE <const> = { force = true, by = "ann", reason = "old" }

--- What a store has, but for what tells that something was archived, and the
--- last lease, which is nobody's.
local function everything(backend, url)
  local found = {}
  for _, name in ipairs { "instance", "history", "token", "item", "task",
    "owner", "variable", "outbox", "published", "inbox", "agenda", "failure",
    "attribute", "subscription", "message", "ending", "archive",
    backend.name == "postgres" and "standing" or nil } do
    found[name] = kit.select(url, ("select * from %s order by 1, 2, 3"):format(
      kit.table(backend, name)))
    for _, row in ipairs(found[name]) do row.lease = nil end
  end
  return found
end

--- All that can be asked of one.
local function answers(engine, id)
  local got = assert(engine:get(id))
  local history = assert(engine:history(id))
  local explained = assert(engine:explain(id))
  got.archived, explained.archived = nil, nil
  got.lease, explained.now, explained.sentences = nil, nil, nil
  explained.workers = nil -- who could move it
  return { got = got, history = history, explained = explained,
    large = assert(engine:history(id, { variable = "large" })),
    tokens = assert(engine:tokens(id, { all = true })),
    tasks = assert(engine.tasks:list { instance = id }) }
end

local function statuses(engine)
  local all = assert(engine:stats()).workflows
  return all[1].statuses
end

local function ids(list)
  local found = {}
  for i, row in ipairs(list) do found[i] = row.id end
  return found
end

kit.describe("the archive", function(backend)
  after_each(function() probe.fault(nil) end)

  local function rich()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.rich()))
    return engine, samples.rich_ended(engine), url, clock
  end

  local function plain(run)
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(run, { retry = false })))
    local id = assert(engine:start("t.one", { a = 1 }, { key = "k" }))
    assert(engine:run())
    return engine, id, url, clock
  end

  it("leaves nothing where those are that live, but attributes", function()
    local engine, id, url = rich()
    assert.same({ true, true }, { engine:archive(id, FORCE) })
    for _, name in ipairs { "instance", "history", "token", "item", "task",
      "owner", "variable", "outbox", "inbox", "agenda", "failure" } do
      assert.equal(0, kit.count(backend, url, name), name)
    end
    assert.equal(1, kit.count(backend, url, "attribute"))
    assert.equal(1, kit.count(backend, url, "archive", "not rest"))
  end)

  it("answers as before, and says since when", function()
    local engine, id = rich()
    local before = answers(engine, id)
    assert(engine:archive(id, FORCE))
    local shown = assert(engine:get(id:sub(-8)))
    assert.same({ "ann", "old" }, { shown.archived.by,
      shown.archived.reason })
    assert.matches("^%d%d%d%d%-", shown.archived.at)
    assert.same(shown.archived, assert(engine:explain(id)).archived)
    assert.same(before, answers(engine, id))
  end)

  it("gives all rows back, as they were", function()
    local engine, id, url = rich()
    local before, counted = everything(backend, url), statuses(engine)
    local recent = assert(engine:stats()).recent
    assert(engine:archive(id, FORCE))
    assert.same({ archived = 1 }, statuses(engine))
    assert.same({ true, true }, { engine:unarchive(id, { by = "bob" }) })
    assert.same(before, everything(backend, url))
    assert.same(counted, statuses(engine))
    recent.since = nil
    local now = assert(engine:stats()).recent
    now.since = nil
    assert.same(recent, now)
    assert.is_nil(assert(engine:get(id)).archived)
    local told = {}
    for i, entry in ipairs(assert(engine:audit { instance = id })) do
      if entry.type:find "archived" then
        told[#told + 1] = { entry.type, entry.by, entry.text, i }
      end
    end
    assert.same({ { "unarchived", "bob", nil, told[1][4] },
      { "archived", "ann", "old", told[2][4] } }, told)
  end)

  it("is in lists of what is archived, and in no others", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.attrs.amount = ctx.input.amount
      ctx.attrs.colour = "red"
    end)))
    local made = {}
    for i = 1, 6 do
      made[i] = assert(engine:start("t.one", { amount = i * 50 },
        { business_key = "b" .. i, correlation = "c" .. i % 2,
          key = "k" .. i }))
      clock:advance(10)
    end
    assert(engine:run())
    for i = 1, 4 do assert(engine:archive(made[i])) end
    local function archived(query)
      query.archived = true
      return ids(assert(engine:list(query)))
    end
    assert.same({ made[6], made[5] }, ids(assert(engine:list())))
    assert.same({ made[4], made[3], made[2], made[1] }, archived {})
    assert.same({ made[2], made[1] }, archived { before = made[3] })
    assert.same({ made[1], made[2] }, archived { sort = "oldest",
      limit = 2 })
    assert.same({ made[4], made[3], made[2] }, archived {
      attributes = { amount = { ">=", 100 }, colour = "red" } })
    assert.same({ made[3] }, archived { attributes = { amount = 150 } })
    assert.same({ made[4], made[2] }, archived { correlation = "c0" })
    assert.same({ made[2] }, archived { business_key = "b2" })
    assert.same({ made[1] }, archived { key = "k1" })
    assert.same({ made[4], made[3], made[2], made[1] },
      archived { workflow = "t.one", status = "completed" })
    assert.same({}, archived { workflow = "t.two" })
    assert.same({}, archived { status = "failed" })
    assert.same({}, ids(assert(engine:list {
      attributes = { amount = { "<=", 100 } } })))
    assert.equal(4, assert(engine:tally { archived = true }))
    local row = assert(engine:list { archived = true, limit = 1 })[1]
    assert.truthy(row.archived.at)
    kit.refused("invalid", "exclude each other", nil,
      engine:list { archived = true, deleted = true })
  end)

  it("is found there by all that a list is asked for", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.two", start = "a" }
    flow:step("a", { next = "t", run = function() end, undo = function() end })
    flow:timer("t", { after = "100h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(kit.one(function(ctx)
      ctx.attrs.amount = 7
      error { code = "card_declined", message = "no money", retry = false }
    end)))
    local parent = pawl.workflow { code = "t.parent", start = "c" }
    parent:call("c", { workflow = "t.one", next = "z",
      on_error = { card_declined = "z" } })
    parent:finish "z"
    assert(engine:load(parent))
    local failed = assert(engine:start("t.one", nil, { tenant = "a",
      group = "default", correlation = "c", business_key = "b", key = "k" }))
    assert(engine:run())
    clock:advance "1h"
    local undone = assert(engine:start "t.two")
    assert(engine:run())
    assert(engine:cancel(undone, { by = "ann" }))
    assert(engine:run())
    clock:advance "1h"
    local up = assert(engine:start "t.parent")
    assert(engine:run())
    local child = assert(engine:list { parent = up })[1].id
    local all = { { "failed", failed }, { "undone", undone }, { "up", up },
      { "child", child } }
    local of = {}
    for _, one in ipairs(all) do of[one[2]] = one[1] end
    local HOUR <const>, BEGAN <const> = 3600, 1767225600
    local queries = { {}, { workflow = "t.one" }, { version = 1 },
      { version = 2 }, { status = "failed" },
      { status = { "completed", "cancelled" } }, { tenant = "a" },
      { correlation = "c" }, { business_key = "b*" }, { key = "k" },
      { group = "default" }, { group = "other" }, { node = "one" },
      { error = "card_*" }, { error = "no money" },
      { error_code = "card_declined" }, { error_code = "card_*" },
      { error_code = "card" },
      { error_code = "card_declined", workflow = "t.one" },
      { error_code = "card_declined", correlation = "c" },
      { error_code = "card_*", attributes = { amount = { ">", 5 } } },
      { cancelled_by = "ann" }, { compensation = "completed" },
      { leased = false }, { created_after = BEGAN + HOUR },
      { created_before = BEGAN + HOUR }, { started_after = BEGAN + HOUR },
      { started_before = BEGAN + HOUR }, { updated_after = BEGAN + HOUR },
      { updated_before = BEGAN + HOUR },
      { completed_after = BEGAN + 2 * HOUR },
      { completed_before = BEGAN + HOUR }, { attributes = { amount = 7 } },
      { parent = up }, { root = up } }
    local function asked()
      local found = {}
      for i, query in ipairs(queries) do
        for _, sort in ipairs { "newest", "created", "updated",
          "completed" } do
          query.sort = sort
          local rows = assert(engine:list(query))
          local seen = {}
          for k, row in ipairs(rows) do seen[k] = of[row.id] end
          found[#found + 1] = ("%d %s: %s"):format(i, sort,
            table.concat(seen, " "))
        end
        query.sort = nil
        found[#found + 1] = tostring(engine:tally(query))
      end
      return found
    end
    local before = asked()
    assert.equal("6 updated: up undone", before[28])
    for _, one in ipairs(all) do
      assert(engine:archive(one[2], { force = true }))
    end
    for _, query in ipairs(queries) do query.archived = true end
    assert.same(before, asked())
    for _, query in ipairs { { leased = true }, { due_before = BEGAN * 2 },
      { deadline_before = BEGAN * 2 }, { status = "waiting" } } do
      query.archived = true
      assert.same({}, assert(engine:list(query)))
    end
    local page = assert(engine:list { archived = true, sort = "updated",
      limit = 2 })
    local rest = assert(engine:list { archived = true, sort = "updated",
      before = page[2].cursor })
    assert.equal(4, #page + #rest)
    assert.truthy(page[1].archived.at)
  end)

  it("is not changed there, and says why", function()
    local engine, id = plain(function() error { code = "bad" } end)
    assert(engine:archive(id))
    local WHY <const>, HINT <const> = "is archived", "unarchive it first"
    for _, verb in ipairs { "retry", "delete", "undelete", "cancel",
      "suspend", "resume" } do
      kit.refused("conflict", WHY, HINT, engine[verb](engine, id))
    end
    kit.refused("conflict", WHY, HINT, engine:note(id, { text = "a" }))
    kit.refused("conflict", WHY, HINT, engine:restart(id, { from = "a" }))
    kit.refused("conflict", WHY, HINT,
      engine:signal { name = "go", instance = id })
    assert(engine:unarchive(id))
    assert(engine:retry(id))
    assert.equal("running", kit.status(engine, id))
  end)

  it("takes what has ended alone, and what nobody needs", function()
    local engine = backend.fresh()
    assert(engine:load(samples.waiting()))
    assert(engine:load(kit.one(function(ctx) ctx.emit("told", {}) end)))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    kit.refused("conflict", "cannot be archived while it lives",
      "cancel it first", engine:archive(id))
    local told = assert(engine:start "t.one")
    assert(engine:run())
    kit.refused("conflict", "cannot be archived: it has emitted", "force",
      engine:archive(told))
    kit.refused("conflict", "is not archived", nil, engine:unarchive(told))
    kit.refused("notfound", "no instance", nil,
      engine:archive(kit.draw_id()))
    assert(engine:delete(told))
    kit.refused("conflict", "is deleted", "undelete it first",
      engine:archive(told, FORCE))
    assert(engine:undelete(told))
    assert.same({ true, false }, { engine:archive(told,
      { dry_run = true, force = true }) })
    assert.equal(0, #assert(engine:list { archived = true }))
  end)

  it("done twice is done, and is not undone twice", function()
    local engine, id = plain()
    assert(engine:archive(id))
    local at = assert(engine:get(id)).archived.at
    assert.same({ true, true }, { engine:archive(id) })
    assert.equal(at, assert(engine:get(id)).archived.at)
    assert(engine:unarchive(id))
    kit.refused("conflict", "is not archived", nil, engine:unarchive(id))
  end)

  it("keeps its key and its id", function()
    local engine, id = plain()
    assert(engine:archive(id))
    local got, created = assert(engine:start("t.one", {}, { key = "k" }))
    assert.same({ id, false }, { got, created })
    got, created = assert(engine:start("t.one", {}, { id = id }))
    assert.same({ id, false }, { got, created })
    local many, fresh = assert(engine:start_many("t.one", { { key = "k" },
      { key = "l" } }))
    assert.same({ id, false, true }, { many[1], fresh[1], fresh[2] })
    kit.refused("exists", "which has ended", nil, engine:start("t.one", {},
      { key = "k", on_existing = "fail" }))
    local second
    second, created = assert(engine:start("t.one", {},
      { key = "k", reuse = "ended" }))
    assert.is_true(created)
    assert.is_not.equal(id, second)
    assert.equal(second, (assert(engine:start("t.one", {}, { key = "k" }))))
    assert(engine:unarchive(id))
    assert.equal(second, assert(engine:get(id)).successor)
    kit.refused("conflict", "its key is that of", nil,
      engine:restart(id, { from = "a" }))
  end)

  it("is purged there", function()
    local engine, id, url = rich()
    assert(engine:archive(id, FORCE))
    assert.same({ true, true }, { engine:purge(id, { by = "bob" }) })
    kit.refused("notfound", "no instance", nil, engine:get(id))
    kit.refused("notfound", "no instance", nil, engine:purge(id))
    for _, name in ipairs { "archive", "attribute", "history" } do
      assert.equal(0, kit.count(backend, url, name), name)
    end
    assert.same({ purged = 1 }, statuses(engine))
    local told = assert(engine:audit { instance = id })
    assert.same({ 1, "purged", "bob" }, { #told, told[1].type, told[1].by })
    local _, created = assert(engine:start("t.rich", {}, { key = "k" }))
    assert.is_true(created)
  end)

  it("has what has ended, and nothing else", function()
    local engine, id, url = plain()
    assert(engine:archive(id))
    local set = "update " .. kit.table(backend, "archive")
      .. " set status = '%s'"
    for _, status in ipairs { "running", "waiting", "suspended", "" } do
      assert.is_false(pcall(backend.sql, url, set:format(status)), status)
    end
    backend.sql(url, set:format "cancelled")
    assert.equal("cancelled", assert(engine:list { archived = true })[1]
      .status)
  end)

  it("takes many by a query, and gives them back", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    for _ = 1, 5 do assert(engine:start "t.one") end
    assert(engine:run())
    local report = assert(engine:bulk("archive", { workflow = "t.one" }))
    assert.same({ 5, 5 }, { report.matched, report.done })
    assert.equal(0, #assert(engine:list()))
    report = assert(engine:bulk("unarchive", { workflow = "t.one",
      limit = 3 }))
    assert.same({ 3, 3 }, { report.matched, report.done })
    assert.equal(3, #assert(engine:list()))
    report = assert(engine:bulk("purge", { workflow = "t.one",
      archived = true }))
    assert.same({ 2, 2 }, { report.matched, report.done })
    assert.same({ completed = 3, purged = 2 }, statuses(engine))
  end)

  it("has attributes go, or stay, with all that a query finds", function()
    local engine, made = backend.fresh(), {}
    assert(engine:load(kit.one(function(ctx) ctx.attrs.colour = "red" end)))
    for i = 1, 4 do
      made[i] = assert(engine:start("t.one", nil, { correlation = "c" }))
    end
    assert(engine:run())
    for i = 1, 3 do assert(engine:archive(made[i])) end
    assert(engine:purge(made[1], { keep_attributes = true }))
    assert(engine:purge(made[4], { keep_attributes = true }))
    for _, query in ipairs { { workflow = "t.one" }, { correlation = "c" },
      { attributes = { colour = "red" } } } do
      query.archived = true
      assert.equal(4, assert(engine:tally(query)))
      assert.equal(4, assert(engine:bulk("purge", query,
        { dry_run = true })).matched)
      assert.equal(2, assert(engine:bulk("purge", query,
        { dry_run = true, keep_attributes = true })).matched)
      assert.equal(2, assert(engine:bulk("unarchive", query,
        { dry_run = true })).matched)
    end
    local report = assert(engine:bulk("purge", { workflow = "t.one",
      archived = true }, { keep_attributes = true }))
    assert.same({ 2, 2 }, { report.matched, report.done })
    assert.equal("red", assert(engine:get(made[1])).attributes.colour)
    assert.equal("red", assert(engine:get(made[4])).attributes.colour)
    assert(engine:purge(made[1]))
    kit.refused("notfound", "no instance", nil, engine:get(made[1]))
  end)

  --- More rows than one transaction takes away.
  local function lengthen(url, id)
    backend.sql(url, ([[insert into %s (shard, instance, seq, type,
      completed_at) with recursive n (i) as (
        select 1 union all select i + 1 from n where i < 2500)
      select 0, %s, 1000 + i, 'note', %s from n]]):format(
      kit.table(backend, "history"), kit.id_literal(backend, id),
      backend.name == "postgres" and "now()" or "1"))
  end

  --- As if it had been cut short.
  local function set_rest(url)
    backend.sql(url, ("update %s set rest = %s"):format(
      kit.table(backend, "archive"),
      backend.name == "postgres" and "true" or "1"))
  end

  --- Brought back by another process while a batch is to begin.
  local function brought_back(engine, id, url, clock, at, act)
    local rival <close> = kit.rival(backend, url, clock)
    local before, back = everything(backend, url), nil
    probe.fault("engine.purge.batch=call@" .. at, function()
      back = { rival:unarchive(id) }
    end)
    act()
    probe.fault(nil)
    assert.same({ true, true }, back)
    assert.is_nil(assert(engine:get(id)).archived)
    return before, everything(backend, url)
  end

  for _, at in ipairs { 1, 2, 4 } do
    it("takes no row of one that is back before batch " .. at, function()
      local engine, id, url, clock = plain()
      lengthen(url, id)
      local before, after = brought_back(engine, id, url, clock, at,
        function() assert(engine:archive(id)) end)
      assert.same(before, after)
    end)
  end

  it("takes no row of one that is back while a prune is at it", function()
    local engine, id, url, clock = plain()
    local before = everything(backend, url)
    assert(engine:archive(id))
    set_rest(url)
    local _, after = brought_back(engine, id, url, clock, 1, function()
      assert(engine:prune())
    end)
    assert.same(before, after)
  end)

  it("takes the rest of a long one in batches, hidden already", function()
    local engine, id, url, clock = plain()
    lengthen(url, id)
    local before = answers(engine, id)
    local rival = kit.rival(backend, url, clock)
    local seen, left
    probe.fault("engine.purge.batch=call@2", function()
      left = kit.count(backend, url, "history")
      seen = answers(rival, id)
    end)
    assert(engine:archive(id))
    probe.fault(nil)
    assert.truthy(left > 0 and left < 2500, left)
    assert.same(before, seen)
    assert.equal(0, kit.count(backend, url, "history"))
    assert.equal(0, kit.count(backend, url, "archive", "rest"))
    assert(engine:unarchive(id))
    assert.same(before, answers(engine, id))
  end)

  --- One that has ended, and is to be looked at.
  local function waked()
    local engine, id, url, clock = plain()
    local store = kit.store(url, clock)
    kit.run(store, "agenda_revive", { shard = 0, id = id,
      now = store:now(), completed = true, cancelled = true,
      deleted = false })
    return engine, id, store
  end

  it("leaves it alone while somebody holds it", function()
    local engine, id, store = waked()
    kit.claim(store, id)
    kit.refused("busy", "held by a worker", "in a moment",
      engine:archive(id))
    assert.is_nil(assert(engine:get(id)).archived)
  end)

  it("looks at what nobody has looked at before", function()
    local engine, id = waked()
    assert(engine:archive(id))
    assert.truthy(assert(engine:get(id)).archived)
  end)

  ---- purged but for attributes ----

  local function shown_purged(engine, id)
    local got = assert(engine:get(id))
    assert.same({ "red", nil, nil }, { got.attributes.colour, got.history,
      got.input })
    kit.refused("notfound", "was purged", "by whom", engine:history(id))
    kit.refused("notfound", "was purged", nil, engine:export(id))
    kit.refused("notfound", "no instance", nil, engine:unarchive(id))
    kit.refused("notfound", "no instance", nil, engine:archive(id))
    kit.refused("notfound", "no instance", nil, engine:retry(id))
    return got.purged
  end

  it("has attributes of what was purged, and says by whom", function()
    local engine, id, url = rich()
    assert(engine:purge(id, { force = true, by = "ann", reason = "old",
      keep_attributes = true }))
    local purged = shown_purged(engine, id)
    assert.same({ "ann", "old" }, { purged.by, purged.reason })
    for _, name in ipairs { "instance", "history", "token", "item", "task",
      "variable", "outbox", "inbox" } do
      assert.equal(0, kit.count(backend, url, name), name)
    end
    local found = assert(engine:list { archived = true,
      attributes = { colour = { "prefix", "r" } } })
    assert.same({ id, purged }, { found[1].id, found[1].purged })
    assert.is_nil(found[1].archived)
    assert.same({}, assert(engine:list()))
    assert.same({ purged = 1 }, statuses(engine))
  end)

  it("has nothing of it any more when it is purged again", function()
    local engine, id, url = rich()
    local KEEP <const> = { force = true, keep_attributes = true, by = "ann" }
    assert(engine:purge(id, KEEP))
    KEEP.by = "eve"
    assert.same({ true, true }, { engine:purge(id, KEEP) })
    assert.equal("ann", shown_purged(engine, id).by)
    assert.same({ true, true }, { engine:purge(id, { by = "bob" }) })
    kit.refused("notfound", "no instance", nil, engine:get(id))
    kit.refused("notfound", "no instance", nil, engine:purge(id))
    for _, name in ipairs { "archive", "attribute", "history" } do
      assert.equal(0, kit.count(backend, url, name), name)
    end
    assert.same({ purged = 1 }, statuses(engine))
    assert.equal("bob", assert(engine:audit { instance = id })[1].by)
    local second = assert(engine:start("t.rich", {}, { id = id }))
    assert.equal(id, second)
    assert.same({}, assert(engine:get(id)).attributes)
  end)

  it("has nothing of all that a query finds when that is purged", function()
    local engine, _, url = backend.fresh { shards = 2 }
    assert(engine:load(kit.one(function(ctx) ctx.attrs.n = ctx.input.n end)))
    local items = {}
    for i = 1, 230 do items[i] = { input = { n = i } } end
    assert(engine:start_many("t.one", items))
    assert(engine:run())
    local QUERY <const> = { archived = true, workflow = "t.one" }
    local function purge(query, options)
      local report = assert(engine:bulk("purge", query, options))
      return { report.matched, report.done, report.refused, report.skipped }
    end
    local KEEP <const> = { keep_attributes = true }
    assert.same({ 230, 230, 0, 0 }, purge({ workflow = "t.one" }, KEEP))
    assert.same({ 0, 0, 0, 0 }, purge(QUERY, KEEP)) -- they have stayed
    assert.equal(230, kit.count(backend, url, "attribute"))
    local first = { archived = true, attributes = { n = { "<=", 10 } } }
    assert.same({ 10, 10, 0, 0 }, purge(first, { dry_run = true }))
    assert.same({ 10, 10, 0, 0 }, purge(first))
    assert.same({ 0, 0, 0, 0 }, purge(first))
    assert.same({ 220, 220, 0, 0 }, purge(QUERY, { by = "ann" }))
    for _, name in ipairs { "archive", "attribute" } do
      assert.equal(0, kit.count(backend, url, name), name)
    end
    assert.same({ purged = 230 }, statuses(engine))
    local told = 0
    for _, entry in ipairs(assert(engine:audit { by = "ann",
      type = "purged", limit = 1000 })) do told = told + (entry and 1 or 0) end
    assert.equal(220, told)
  end)

  it("never has them of somebody else", function()
    local engine, id = rich()
    assert(engine:purge(id, { force = true, keep_attributes = true }))
    local second, created = assert(engine:start("t.rich", {}, { key = "k" }))
    assert.is_true(created)
    assert.is_not.equal(id, second)
    assert.same({}, assert(engine:get(second)).attributes)
    local got
    got, created = assert(engine:start("t.rich", {}, { id = id }))
    assert.same({ id, false }, { got, created })
    assert.truthy(shown_purged(engine, id).at)
  end)

  it("keeps them of what was archived first, or deleted", function()
    local engine, id = rich()
    assert(engine:archive(id, FORCE))
    assert(engine:purge(id, { by = "bob", keep_attributes = true }))
    assert.equal("bob", shown_purged(engine, id).by)
    assert.same({ purged = 1 }, statuses(engine))
    local other = samples.rich_ended(engine, "l")
    assert(engine:delete(other, { by = "eve" }))
    assert(engine:purge(other, { by = "bob", force = true,
      keep_attributes = true }))
    assert.equal("bob", shown_purged(engine, other).by)
  end)

  it("has them of one whose purge was cut short", function()
    local engine, id, url, clock = rich()
    local rival = kit.rival(backend, url, clock)
    probe.fault("engine.purge.last=call", function()
      assert(rival:purge(id)) -- asked again without a word of it
    end)
    assert(engine:purge(id, { force = true, by = "ann",
      keep_attributes = true }))
    probe.fault(nil)
    assert.equal("ann", shown_purged(engine, id).by)
  end)

  ---- past their time ----

  --- Forty that have ended, an hour ago.
  local function past(retain, options)
    local engine, clock, url = backend.fresh(options)
    local flow = pawl.workflow { code = "t.one", start = "a",
      retain = retain }
    flow:step("a", { next = "z", run = function(ctx)
      ctx.attrs.colour = "red"
    end })
    flow:finish "z"
    assert(engine:load(flow))
    for _ = 1, 40 do assert(engine:start "t.one") end
    assert(engine:run())
    clock:advance "1h"
    return engine, url, clock, flow
  end

  it("takes what is past its time, where a workflow says so", function()
    local engine, url = past { completed = "30m", archive = true }
    local dry = assert(engine:prune { dry_run = true })
    assert.same({ 0, 40 }, { dry.instances.removed, dry.instances.archived })
    local report = assert(engine:prune { limit = 5 })
    assert.same({ 5, false }, { report.instances.archived,
      report.finished })
    report = assert(engine:prune())
    assert.same({ 0, 35, true }, { report.instances.removed,
      report.instances.archived, report.finished })
    assert.same({}, assert(engine:list()))
    local found = assert(engine:list { archived = true,
      attributes = { colour = "red" } })
    assert.equal(40, #found)
    assert.equal("past its time", found[1].archived.reason)
    assert.equal(0, kit.count(backend, url, "history"))
    assert.is_nil(assert(engine:prune()).instances.archived)
  end)

  it("goes on behind one that cannot be archived, and says so", function()
    local told = {}
    local engine, url = past({ completed = "30m", archive = true },
      { log = function(level, message)
        if message:find "cannot be archived" then told[#told + 1] = level end
      end })
    local bad = assert(engine:list { limit = 40 })[39].id
    backend.sql(url, ("update %s set output = '\"\\ud800\"' where id = %s")
      :format(kit.table(backend, "instance"), kit.id_literal(backend, bad)))
    kit.refused("corrupt", "damaged JSON", "restore it", engine:archive(bad))
    for _ = 1, 2 do
      local report = assert(engine:prune())
      assert.same({ refused = 1 }, report.instances.kept)
      assert.is_true(report.finished)
    end
    assert.same({ "warn", "warn" }, told)
    assert.equal(39, #assert(engine:list { archived = true }))
    assert.equal(1, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  --- What others do to one that has ended, between its being read and its
  --- going into the archive.
  local between = {
    note = function(rival, id) assert(rival:note(id, { text = "late" })) end,
    relay = function(rival)
      assert(rival.outbox:relay { publish = function() return true end })
    end,
    drop = function(rival, id)
      assert(rival.outbox:drop { instance = id, seq = 1, by = "bob" })
    end,
    prune = function(rival) assert(rival:prune { tasks = 0 }) end,
  }
  for name, change in pairs(between) do
    it("has what has changed since it was read: " .. name, function()
      local engine, id, url, clock = rich()
      local rival = kit.rival(backend, url, clock)
      local after
      probe.fault("engine.archive.read=call@1,engine.archive.read=call@2",
        function()
          if after then return end
          clock:advance(1)
          change(rival, id)
          after = everything(backend, url)
        end)
      assert(engine:archive(id, FORCE))
      probe.fault(nil)
      assert(engine:unarchive(id, { by = "ann" }))
      assert.same(after, everything(backend, url))
    end)
  end

  it("is read while others wait when it changes again and again", function()
    local engine, id, url, clock = plain()
    local rival = kit.rival(backend, url, clock)
    local reads = 0
    probe.fault("engine.archive.read=call@1,engine.archive.read=call@2,"
      .. "engine.archive.read=call@3,engine.archive.read=call@4", function()
        reads = reads + 1
        if reads == 4 then return end
        assert(rival:note(id, { text = "note " .. reads }))
      end)
    assert(engine:archive(id))
    probe.fault(nil)
    assert.equal(4, reads)
    local notes = {}
    for _, row in ipairs(assert(engine:history(id))) do
      if row.type == "note" then notes[#notes + 1] = row.text end
    end
    assert.same({ "note 1", "note 2", "note 3" }, notes)
  end)

  it("leaves it alone when it has gone on since it was read", function()
    local engine, id, url, clock = plain(function() error "no" end)
    local rival = kit.rival(backend, url, clock)
    probe.fault("engine.archive.read=call@1", function()
      assert(rival:retry(id))
    end)
    local ok, err = engine:archive(id)
    probe.fault(nil)
    assert.same({ nil, "busy" }, { ok, err and err.code })
    assert.is_nil(assert(engine:get(id)).archived)
    assert.equal(0, kit.count(backend, url, "archive"))
  end)

  it("says how long others may have waited for it", function()
    local engine = past { completed = "30m", archive = true }
    assert.equal(0, assert(engine:prune { dry_run = true }).longest_us)
    probe.fault("engine.archive.rows=call", function()
      local until_ = os.clock() + 0.12
      while os.clock() < until_ do end
    end)
    local report = assert(engine:prune { limit = 1 })
    assert.equal(1, report.instances.archived)
    assert.is_true(report.longest_us >= 120000, report.longest_us)
  end)

  it("takes it by a worker's pieces, too", function()
    local engine, url, clock, flow = past { completed = "30m",
      archive = true }
    for _ = 1, 40 do -- one piece of each
      local worker <close> = kit.rival(backend, url, clock)
      assert(worker:load(flow))
      assert(worker:tick())
      if #assert(engine:list()) == 0 then break end
    end
    assert.equal(40, #assert(engine:list { archived = true }))
  end)

  it("is told to for once, or not to", function()
    local engine = past { completed = "30m", archive = true }
    local report = assert(engine:prune { archive = false, limit = 10 })
    assert.same({ 10, nil }, { report.instances.removed,
      report.instances.archived })
    report = assert(engine:prune())
    assert.equal(30, report.instances.archived)
  end)

  it("has attributes of what a prune has purged", function()
    local engine, url = past { completed = "30m", keep_attributes = true }
    assert.equal(40, assert(engine:prune()).instances.removed)
    local found = assert(engine:list { archived = true,
      attributes = { colour = "red" } })
    assert.same({ 40, "past its time" }, { #found, found[1].purged.reason })
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.same({ purged = 40 }, statuses(engine))
    local other = past { completed = "30m" }
    assert.equal(40, assert(other:prune { retain = "1m",
      keep_attributes = true }).instances.removed)
    assert.equal(40, #assert(other:list { archived = true }))
  end)

  it("has a worker stop at what was cut short when its time is over",
  function()
    local engine, id, url, clock = plain()
    assert(engine:archive(id))
    lengthen(url, id)
    set_rest(url)
    local batches = 0
    local POINT <const> = "engine.purge.batch=call@"
    probe.fault(POINT .. "1," .. POINT .. "2," .. POINT .. "3", function()
      batches = batches + 1
      local until_ = os.clock() + 0.12
      while os.clock() < until_ do end
    end)
    local worker <close> = kit.rival(backend, url, clock, { retain = "1d" })
    assert(worker:tick())
    probe.fault(nil)
    assert.equal(1, batches)
    local now = kit.count(backend, url, "history")
    assert.is_true(now > 0 and now < 2500, now)
    assert.equal(1, kit.count(backend, url, "archive", "rest"))
    assert(engine:prune())
    assert.equal(0, kit.count(backend, url, "history"))
    assert.equal(0, kit.count(backend, url, "archive", "rest"))
  end)

  it("has what was cut short taken away by the next prune", function()
    local engine, id, url = plain()
    assert(engine:archive(id))
    set_rest(url)
    assert(engine:prune { dry_run = true })
    assert.equal(1, kit.count(backend, url, "archive", "rest"))
    assert(engine:prune())
    assert.equal(0, kit.count(backend, url, "archive", "rest"))
  end)
end)
