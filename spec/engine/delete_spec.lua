-- Deleting: hidden from lists, found by its id, taken back by undelete; only
-- what has ended, or as it ends.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local function done(backend, options)
  local engine, clock, url = backend.fresh()
  assert(engine:load(kit.one()))
  local id = assert(engine:start("t.one", nil, options))
  assert(engine:run())
  return engine, id, clock, url
end

local function ids(list)
  local out = {}
  for i, one in ipairs(list) do out[i] = one.id end
  return out
end

--- A step that can be undone, then one that waits.
local function undoable(undo)
  local flow = pawl.workflow { code = "t.undoable", start = "a" }
  flow:step("a", { run = function() end, undo = undo, next = "w" })
  flow:wait("w", { event = "go", key = function() return "k" end,
    next = "z" })
  flow:finish "z"
  return flow
end

kit.describe("an instance that is deleted", function(backend)
  it("is hidden from lists, and listed among the deleted", function()
    local engine, id = done(backend, { business_key = "b", tenant = "t",
      attributes = { colour = "red" } })
    local other = assert(engine:start("t.one", nil, { business_key = "b" }))
    local ok, made = assert(engine:delete(id, { by = "ann", reason = "old" }))
    assert.same({ true, true }, { ok, made })
    for _, query in ipairs { {}, { workflow = "t.one" }, { tenant = "t" },
      { business_key = "b" }, { status = "completed" } } do
      for _, found in ipairs(ids(assert(engine:list(query)))) do
        assert.equal(other, found)
      end
    end
    for _, query in ipairs { {}, { tenant = "t" }, { business_key = "b" },
      { attributes = { colour = "red" } }, { sort = "oldest" },
      { workflow = "t.one" }, { status = "completed" } } do
      query.deleted = true
      local list = assert(engine:list(query))
      assert.same({ id }, ids(list))
      assert.equal("ann", list[1].deleted.by)
    end
    assert.same({}, assert(engine:list { deleted = true, status = "failed" }))
    assert.same({ other }, ids(assert(engine:list { deleted = false })))
  end)

  it("hides its tasks, but from who names them or it", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.ask", start = "t" }
    flow:task("t", { title = "Yes?", role = "boss", form = "f", due = "1h",
      next = { completed = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start("t.ask", nil, { business_key = "b",
      tenant = "a" }))
    assert(engine:run())
    local task = assert(engine.tasks:list {})[1].id
    assert(engine.tasks:complete(task, { by = "ann", role = "boss" }))
    assert(engine:run())
    local function found(query) return #assert(engine.tasks:list(query)) end
    local function seen()
      local n = assert(engine.tasks:tally {})
      for _, query in ipairs { {}, { role = "boss" }, { workflow = "t.ask" },
        { form = "f" }, { status = "completed" }, { business_key = "b" },
        { tenant = "a" }, { due_before = "2030-01-01" } } do
        n = n + found(query)
      end
      return n
    end
    assert.equal(9, seen())
    assert(engine:delete(id))
    assert.equal(0, seen())
    assert.equal(1, found { instance = id })
    assert.equal("completed", assert(engine.tasks:get(task)).status)
    assert(engine:undelete(id))
    assert.equal(9, seen())
  end)

  it("is published still, and audited", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.emit("told", {}) end)))
    local id = assert(engine:start("t.one", nil, { by = "ann" }))
    assert(engine:run())
    assert(engine:delete(id, { by = "bob" }))
    assert.equal(id, assert(engine.outbox:list {})[1].instance)
    local got = {}
    assert(engine.outbox:relay { publish = function(event)
      got[#got + 1] = event.type
      return true
    end })
    assert.same({ "told" }, got)
    local deeds = {}
    for _, row in ipairs(assert(engine:audit {})) do
      deeds[row.type] = row.by
    end
    assert.same({ "ann", "bob" }, { deeds.started, deeds.deleted })
  end)

  it("is found by its id, with when, by whom and why", function()
    local engine, id = done(backend)
    local now = assert(engine:get(id)).times.completed
    assert.is_nil(assert(engine:get(id)).deleted)
    assert(engine:delete(id, { by = "ann", reason = "old" }))
    local got = assert(engine:get(id:sub(-12)))
    assert.equal("completed", got.status)
    assert.same({ at = now, by = "ann", reason = "old" }, got.deleted)
    local row = kit.last(engine, id)
    assert.same({ "deleted", "ann", "old" }, { row.type, row.by, row.text })
    assert.truthy(table.concat(assert(engine:explain(id)).sentences, " ")
      :find("deleted", 1, true))
  end)

  it("frees its key for a new one", function()
    local engine, id = done(backend, { key = "k" })
    assert.equal(id, assert(engine:start("t.one", nil, { key = "k" })))
    assert(engine:delete(id))
    local second, created = assert(engine:start("t.one", nil, { key = "k" }))
    assert.is_true(created)
    assert.not_equal(id, second)
    local list, news = assert(engine:start_many("t.one",
      { { input = 1, key = "k" } }))
    assert.same({ { second }, { false } }, { list, news })
  end)

  it("is undeleted, with its key, and goes on when asked to", function()
    local engine, id = done(backend, { key = "k" })
    assert(engine:delete(id))
    assert(engine:undelete(id, { by = "bob", reason = "slip" }))
    assert.is_nil(assert(engine:get(id)).deleted)
    assert.same({ id }, ids(assert(engine:list())))
    assert.same({}, assert(engine:list { deleted = true }))
    assert.equal(id, assert(engine:start("t.one", nil, { key = "k" })))
    local row = kit.last(engine, id)
    assert.same({ "undeleted", "bob", "slip" }, { row.type, row.by, row.text })
    assert(engine:restart(id, { from = "a" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("stays deleted while another has its key", function()
    local engine, id = done(backend, { key = "k" })
    assert(engine:delete(id))
    local second = assert(engine:start("t.one", nil, { key = "k" }))
    local _, err = engine:undelete(id)
    assert.equal("conflict", err.code)
    assert.truthy(err.message:find(second, 1, true), err.message)
    assert.truthy(assert(engine:get(id)).deleted)
  end)

  it("stays so when its key is taken just behind the check", function()
    local probe = require "spec.support.probe"
    local engine, id, clock, url = done(backend, { key = "k" })
    local rival = kit.rival(backend, url, clock)
    assert(engine:delete(id))
    local second
    probe.fault("engine.act.send=call", function()
      probe.fault(nil)
      second = assert(rival:start("t.one", nil, { key = "k" }))
    end)
    local ok, err = engine:undelete(id)
    probe.fault(nil)
    assert.same({ nil, "conflict" }, { ok, err and err.code })
    assert.truthy(assert(engine:get(id)).deleted)
    assert.completed(engine, id)
    assert.equal(second, assert(engine:start("t.one", nil, { key = "k" })))
  end)

  it("refuses what would set it going, and being deleted again", function()
    local engine, id = done(backend)
    assert(engine:delete(id))
    local before = #assert(engine:history(id))
    for name, options in pairs { restart = { from = "a" }, retry = {},
      cancel = {}, suspend = {}, edit = { set = { a = 1 } }, delete = {},
      kill = {} } do
      local ok, err = engine[name](engine, id, options)
      assert.same({ nil, "conflict" }, { ok, err.code }, name)
      assert.truthy(err.message:find("is deleted", 1, true), err.message)
      assert.truthy(err.hint:find("undelete", 1, true))
    end
    assert.equal(before, #assert(engine:history(id)))
    local ok, err = engine:signal { name = "go", instance = id }
    assert.is_nil(ok)
    assert.equal("already_finished", err.code)
  end)

  it("refuses a restart that was asked for at the same time", function()
    local probe = require "spec.support.probe"
    local engine, id, clock, url = done(backend)
    local rival = kit.rival(backend, url, clock)
    probe.fault("engine.act.send=call", function()
      probe.fault(nil)
      assert(rival:delete(id))
    end)
    local ok, err = engine:restart(id, { from = "a" })
    probe.fault(nil)
    assert.same({ nil, "conflict" }, { ok, err.code })
    assert(engine:run())
    assert.completed(engine, id)
    assert.truthy(assert(engine:get(id)).deleted)
  end)

  it("does not lend its id to another", function()
    local given = kit.draw_id()
    local engine, id = done(backend, { id = given })
    assert(engine:delete(id))
    local ok, err = engine:start("t.one", nil, { id = id })
    assert.same({ nil, "conflict" }, { ok, err.code })
    ok, err = engine:start_many("t.one", { { input = 1, id = id } })
    assert.same({ nil, "conflict" }, { ok, err.code })
  end)

  it("may be of a workflow that nobody knows", function()
    local engine = backend.fresh()
    local id = assert(engine:start "t.nowhere")
    assert(engine:cancel(id))
    assert.equal("cancelled", kit.status(engine, id))
    assert.is_true(select(2, assert(engine:delete(id))))
    assert.is_true(select(2, assert(engine:undelete(id))))
    assert.is_nil(assert(engine:get(id)).deleted)
  end)
end)

kit.describe("an instance that lives", function(backend)
  local function waiting()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    return engine, id, clock, url
  end

  it("is not deleted, and says what to do", function()
    local engine, id = waiting()
    local ok, err = engine:delete(id)
    assert.same({ nil, "conflict" }, { ok, err.code })
    assert.truthy(err.hint:find("cancel", 1, true))
    assert.truthy(err.message:find("it is waiting", 1, true))
    ok, err = engine:undelete(id)
    assert.same({ nil, "conflict" }, { ok, err.code })
    assert.is_nil(engine:delete(id, { cancel = false }))
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("is cancelled first when that is asked for", function()
    local engine, id = waiting()
    assert.is_true(select(2, assert(engine:delete(id,
      { cancel = true, by = "ann", reason = "twice" }))))
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "ann", "twice" },
      { got.status, got.deleted.by, got.cancellation.reason })
    local row = kit.last(engine, id)
    assert.same({ "deleted", "ann", "twice" }, { row.type, row.by, row.text })
  end)

  it("is deleted when what it did has been undone", function()
    local undone = 0
    local engine = backend.fresh()
    assert(engine:load(undoable(function() undone = undone + 1 end)))
    local id = assert(engine:start "t.undoable")
    assert(engine:run())
    assert.is_false(select(2, assert(engine:delete(id,
      { cancel = true, by = "ann" }))))
    assert.same({ by = "ann" }, assert(engine:get(id)).deleted)
    assert.same({ id }, ids(assert(engine:list())))
    assert(engine:run())
    assert.equal(1, undone)
    local got = assert(engine:get(id))
    assert.equal("cancelled", got.status)
    assert.truthy(got.deleted.at)
    assert.same({}, assert(engine:list()))
  end)

  it("is not deleted any more when that is taken back", function()
    local engine = backend.fresh()
    assert(engine:load(undoable(function() end)))
    local id = assert(engine:start "t.undoable")
    assert(engine:run())
    assert(engine:delete(id, { cancel = true, compensate = true }))
    assert(engine:undelete(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.is_nil(assert(engine:get(id)).deleted)
  end)

  it("is deleted by its holder, as one that is cancelled", function()
    local a, b, made
    local flow = pawl.workflow { code = "t.held", start = "a" }
    flow:step("a", { next = "b", run = function(ctx)
      made = select(2, assert(b:delete(ctx.id, { cancel = true })))
    end })
    flow:step("b", { next = "z", run = function() error "not reached" end })
    flow:finish "z"
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.held")
    assert(a:run())
    assert.is_false(made)
    assert.equal("cancelled", kit.status(a, id))
    assert.truthy(assert(a:get(id)).deleted.at)
  end)

  it("is deleted though it ended by itself meanwhile", function()
    local a, b
    local flow = pawl.workflow { code = "t.last", start = "a" }
    flow:step("a", { next = "z", run = function(ctx)
      assert(b:delete(ctx.id, { cancel = true }))
    end })
    flow:finish "z"
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.last")
    assert(a:run())
    assert.equal("cancelled", kit.status(a, id))
    assert.truthy(assert(a:get(id)).deleted.at)
    local n = 0
    for _, row in ipairs(assert(a:history(id))) do
      if row.type == "deleted" then n = n + 1 end
    end
    assert.equal(1, n)
  end)
end)
