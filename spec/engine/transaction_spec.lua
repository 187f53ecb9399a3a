-- A transaction of the user's own: calls of the engine, and SQL, together.
local pawl = require "pawl"
local probe = require "spec.support.probe"
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local function fresh(backend, options)
  local engine, clock, url = backend.fresh(options)
  assert(engine:load(kit.one(function(ctx) ctx.vars.ran = true end)))
  local flow = pawl.workflow { code = "t.wait", start = "w" }
  flow:wait("w", { event = "go", key = function() return "k" end,
    into = "got", next = "z" })
  flow:finish "z"
  assert(engine:load(flow))
  assert(engine:transaction(function(tx)
    assert(tx:query "create table orders (id integer primary key, note text)")
  end))
  return engine, clock, url
end

local function orders(engine)
  return engine:transaction(function(tx)
    local out = {}
    for i, row in ipairs(assert(tx:query "select id from orders order by id"))
    do out[i] = row.id end
    return out
  end)
end

--- What takes no part, with what it is called with.
local function alone(id)
  local function publish() return true end
  return { tick = {}, tick_instance = { id }, run = {}, wait = { 0 },
    result = { id }, ask = { id, "go" }, fd = {}, save = {},
    next_due = {}, ["workflows:transfer"] = { "t.one", 1, 2 },
    ["workflows:resume"] = { { workflow = "t.one", shift = true } },
    export = { id, { move = true } },
    ["outbox:relay"] = { { publish = publish } }, health = {}, prune = {},
    backup = { "x.db" }, backup_bytes = {}, restore = { "x.db" },
    restore_bytes = { "x" } }
end

local P = { sqlite = "?", postgres = "$1" }

kit.describe("a transaction", function(backend)
  local insert = ("insert into orders (id) values (%s)"):format(
    P[backend.name] or "$1")

  it("commits the engine's calls and the user's SQL together", function()
    local engine, clock, url = fresh(backend)
    local rival = kit.rival(backend, url, clock)
    local ids = {}
    local a, b = engine:transaction(function(tx)
      local rows, changed = assert(tx:query(insert, 17))
      assert.same({ {}, 1 }, { rows, changed })
      ids[1] = assert(tx:start("t.one", { n = 1 }, { key = "k" }))
      ids[2] = assert(engine:start("t.one", { n = 2 })) -- it takes part, too
      for i, id in ipairs(assert(tx:start_many("t.one", { {}, {} }))) do
        ids[i + 2] = id
      end
      assert.equal("created", assert(tx:get(ids[1])).status)
      assert.equal(4, #assert(tx:list { workflow = "t.one" }))
      assert.same({ ids[1], false },
        { assert(tx:start("t.one", nil, { key = "k" })) })
      if backend.name ~= "sqlite" then
        assert.equal(0, #assert(rival:list()))
      end
      return "a", nil, "c"
    end)
    assert.same({ "a" }, { a, b })
    assert.same({ 17 }, orders(engine))
    assert.equal(4, #assert(rival:list()))
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.completed(engine, id)
    end
  end)

  it("is rolled back when its function raises, with that value", function()
    local engine, _, url = fresh(backend)
    for _, value in ipairs { "text", { code = "mine" }, 17, false } do
      local ok, err = pcall(engine.transaction, engine, function(tx)
        assert(tx:query(insert, 17))
        assert(tx:start("t.one"))
        assert(tx:signal { name = "go", key = "k" })
        error(value, 0)
      end)
      assert.is_false(ok)
      assert.equal(value, err)
    end
    assert.same({}, orders(engine))
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "event"))
    assert(engine:run())
  end)

  it("is rolled back when its function yields, which it cannot", function()
    local engine = fresh(backend)
    local id
    local co = coroutine.create(function()
      return engine:transaction(function()
        id = assert(engine:start "t.one")
        coroutine.yield()
      end)
    end)
    local ok, err = coroutine.resume(co)
    assert.is_false(ok)
    assert.matches("attempt to yield", tostring(err))
    assert.is_nil((engine:get(id)))
    id = assert(engine:start "t.one") -- nothing is open
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is a savepoint inside another one", function()
    local engine = fresh(backend)
    engine:transaction(function(tx)
      assert(tx:query(insert, 1))
      local ok = pcall(tx.transaction, tx, function(inner)
        assert(inner:query(insert, 2))
        assert(inner:start("t.one", nil, { key = "gone" }))
        error "no"
      end)
      assert.is_false(ok)
      assert.is_true(tx:transaction(function(inner)
        assert(inner:query(insert, 3))
        assert(inner:transaction(function(third)
          assert(third:start("t.one", nil, { key = "kept" }))
        end))
      end))
      assert.equal(1, #assert(tx:list()))
    end)
    assert.same({ 1, 3 }, orders(engine))
    assert.equal("kept", assert(engine:list())[1].key)
  end)

  it("goes on behind a call that was refused, of which nothing is left",
    function()
      local engine, _, url = fresh(backend)
      local done = assert(engine:start("t.one"))
      assert(engine:run())
      engine:transaction(function(tx)
        assert(tx:start("t.one", nil, { key = "a" }))
        kit.refused("already_finished", "has ended", nil,
          tx:signal { name = "go", instance = done })
        kit.refused("exists", "is that of", nil,
          tx:start("t.one", nil, { key = "a", on_existing = "fail" }))
        kit.refused("notfound", "", nil, tx:get(kit.draw_id()))
        kit.refused("invalid", "", nil, tx:start "not a code")
        assert(tx:start("t.one", nil, { key = "b" }))
      end)
      assert.equal(3, kit.count(backend, url, "instance"))
    end)

  it("reads its own rows behind a statement that was refused", function()
    local engine, _, url = fresh(backend)
    local id = assert(engine:start("t.one", nil, { key = "a" }))
    local again = kit.refuse(backend, url, "inbox", "insert")
    engine:transaction(function(tx)
      for _ = 1, 3 do assert.is_nil((tx:suspend(id))) end
      assert.equal("a", assert(tx:get(id)).key)
      assert.equal(1, assert(tx:tally()))
    end)
    again()
  end)

  it("can only be rolled back once its SQL has failed", function()
    local engine, _, url = fresh(backend)
    local ok, err = engine:transaction(function(tx)
      assert(tx:start("t.one"))
      local rows, why = tx:query "select nonsense from nowhere"
      assert.is_nil(rows)
      assert.equal("store", why.code)
      kit.refused("store", "has to be rolled back.*nowhere", nil,
        tx:start("t.one"))
      kit.refused("store", "has to be rolled back", nil, tx:list())
    end)
    assert.is_nil(ok)
    assert.matches("has to be rolled back", err.message)
    assert.equal(0, kit.count(backend, url, "instance"))
    engine:transaction(function(tx)
      assert(tx:query(insert, 1))
      pcall(tx.transaction, tx, function(inner)
        inner:query "select nonsense from nowhere"
        error "no"
      end)
      assert(tx:query(insert, 2)) -- only the inner one had failed
    end)
    assert.same({ 1, 2 }, orders(engine))
  end)

  it("keeps its SQL from pawl's tables, and from its own end", function()
    local engine = fresh(backend)
    for _, sql in ipairs { "commit", "rollback",
      backend.name == "sqlite" and "delete from pawl_instance"
        or "delete from pawl.instance" } do
      local ok, err = pcall(engine.transaction, engine, function(tx)
        tx:query(sql)
      end)
      assert.same({ false, "misuse" }, { ok, err.code })
      assert.matches("query: ", err.message)
    end
  end)

  it("takes one statement at a time", function()
    local engine = fresh(backend)
    local ok, err = pcall(engine.transaction, engine, function(tx)
      assert(tx:query(insert, 1))
      tx:query "insert into orders (id) values (2); select 1"
    end)
    assert.same({ false, "misuse" }, { ok, err.code })
    assert.equal("query: one statement at a time", err.message)
    assert.same({}, orders(engine))
  end)

  it("sends events, and asks for changes, behind its commit", function()
    local engine, clock, url = fresh(backend)
    local rival = kit.rival(backend, url, clock)
    local waits = assert(engine:start "t.wait")
    local other = assert(engine:start("t.wait", nil, { key = "x" }))
    assert(engine:run())
    engine:transaction(function(tx)
      local reached, info = assert(tx:signal { name = "go", key = "k",
        data = 1 })
      assert.same({ 0, false }, { reached, info.repeated })
      local ok, done = assert(tx:cancel(other))
      assert.same({ true, false }, { ok, done })
      assert.equal("waiting", kit.status(tx, waits))
    end)
    assert.equal("cancelled", kit.status(rival, other))
    assert(rival:run())
    assert(engine:run())
    assert.completed(engine, waits)
    assert.same(1, assert(engine:get(waits)).variables.got)
  end)

  it("starts with an event, all or nothing", function()
    local engine, _, url = fresh(backend)
    local id
    pcall(engine.transaction, engine, function(tx)
      assert(tx:signal { name = "go", id = "e", start = {
        workflow = "t.wait", key = "s" } })
      error "no"
    end)
    engine:transaction(function(tx)
      local _, info = assert(tx:signal { name = "go", id = "e", data = 7,
        start = { workflow = "t.wait", key = "s" } })
      assert.same({ true, false }, { info.created, info.repeated })
      id = info.instance
    end)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, kit.count(backend, url, "instance"))
  end)

  it("is no place for what waits, runs handlers or needs its own", function()
    local engine, clock, url = fresh(backend)
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local tries = alone(id)
    engine:transaction(function(tx)
      for name, args in pairs(tries) do
        local noun, method = name:match "^(%w+):(.*)$"
        local on = noun and engine[noun] or engine
        local ok, err = pcall(on[method or name], on, table.unpack(args))
        assert.same({ false, "misuse" }, { ok, ok or err.code }, name)
        assert.matches("part of", err.message, name)
      end
      assert(tx:start("t.one", nil, { key = "kept" }))
    end)
    assert.completed(engine, id)
    assert.equal("completed",
      assert(kit.rival(backend, url, clock):get(id)).status)
    assert.equal("kept", assert(engine:list())[1].key)
    assert(engine:tick())
    -- and these are what is said to be
    local said = tmp.read "docs/workflows.md":match(
      "raises `misuse`:(.-)%. What is touched")
    local named, all = {}, {}
    for name in said:gmatch "`([%w_:]+)`" do named[#named + 1] = name end
    for name in pairs(tries) do all[#all + 1] = name end
    table.sort(named)
    table.sort(all)
    assert.same(named, all)
  end)

  it("has part in what an import stores", function()
    local engine = fresh(backend)
    local id = assert(engine:start "t.wait")
    assert(engine:run())
    local text = assert(engine:export(id))
    assert(engine:kill(id))
    assert(engine:purge(id))
    pcall(engine.transaction, engine, function(tx)
      assert.same({ id }, assert(tx:import(text)).imported)
      assert(tx:get(id))
      error "no"
    end)
    assert.is_nil((engine:get(id)))
    assert.same({}, assert(engine:audit { type = "imported" }))
  end)

  it("says what is wrong of how it is called", function()
    local engine = fresh(backend)
    assert.has_error(function() engine:transaction() end, "bad argument #1 to "
      .. "'transaction' (function expected, got no value)")
    local kept
    engine:transaction(function(tx) kept = tx end)
    assert.has_error(function() kept:start "t.one" end,
      "the transaction has ended")
    assert.has_error(function() kept:query "select 1" end,
      "the transaction has ended")
    engine:transaction(function(tx)
      local ok, err = pcall(tx.query, tx, insert, { 1 })
      assert.is_false(ok)
      assert.matches("a table cannot be a parameter", err)
    end)
  end)

  it("holds no lock and no savepoint once it is over", function()
    local engine, clock, url = fresh(backend)
    local rival = kit.rival(backend, url, clock)
    for i = 1, 3 do
      pcall(engine.transaction, engine, function(tx)
        assert(tx:start("t.one"))
        if i == 2 then error "no" end
      end)
      assert(rival:start("t.one"))
    end
    engine:transaction(function(tx) assert(tx:start("t.one")) end)
    engine:close()
    assert.equal(6, #assert(rival:list()))
  end)

  it("is rolled back when its engine is closed in it", function()
    local engine, clock, url = fresh(backend)
    local rival = kit.rival(backend, url, clock)
    pcall(engine.transaction, engine, function(tx)
      assert(tx:start("t.one"))
      engine:close()
    end)
    assert.equal(0, #assert(rival:list()))
    assert(rival:start "t.one")
  end)
end)

kit.describe("a transaction whose connection is lost", function(backend)
  if backend.name ~= "postgres" then return end
  after_each(function() probe.fault(nil) end)

  it("has not happened, and nothing happens outside of it", function()
    local engine, _, url = fresh(backend)
    local ok, err = engine:transaction(function(tx)
      assert(tx:start("t.one"))
      local cut = kit.store(url)
      backend.sql(url, "select pg_terminate_backend(pid) from pg_stat_activity"
        .. " where pid <> pg_backend_pid() and datname = current_database()"
        .. " and state = 'idle in transaction'")
      cut:close()
      local id, why = tx:start("t.one", nil, { key = "late" })
      assert.is_nil(id)
      assert.equal("unreachable", why.code)
      kit.refused("unreachable", "has to be rolled back", nil, tx:list())
      kit.refused("unreachable", "has to be rolled back", nil,
        tx:transaction(function() error "never called" end))
    end)
    assert.is_nil(ok)
    assert.equal("unreachable", err.code)
    assert.equal(0, kit.count(backend, url, "instance"))
    assert(engine:start("t.one"))
  end)

  it("is not known to have happened when its commit had no answer", function()
    local engine, _, url = fresh(backend)
    for _, point in ipairs { "commit.sent", "commit.after" } do
      local ok, err = engine:transaction(function(tx)
        assert(tx:start("t.one", nil, { key = point }))
        probe.fault(point .. "=drop")
      end)
      probe.fault(nil)
      assert.is_nil(ok)
      assert.equal("unreachable", err.code)
      assert.matches("nobody knows whether", err.message)
      assert.matches("repeated", err.hint)
      local _, created = assert(engine:start("t.one", nil, { key = point }))
      assert.is_false(created)
    end
    assert.equal(2, kit.count(backend, url, "instance"))
  end)
end)
