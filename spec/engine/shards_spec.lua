-- Four shards on one store: every claim and every commit names one of them.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a store of four shards", function(backend)
  --- The shards that a table's rows are in.
  local function shards_of(url, name, where)
    local found = {}
    for i, row in ipairs(kit.select(url,
      ("select distinct shard from %s where %s order by shard")
        :format(kit.table(backend, name), where or "1 = 1"))) do
      found[i] = row.shard
    end
    return found
  end

  local function fresh(options)
    local given = { shards = 4 }
    for key, value in pairs(options or {}) do given[key] = value end
    return backend.fresh(given)
  end

  it("spreads its instances by the number in their ids", function()
    local engine, _, url = fresh()
    assert(engine:load(kit.one()))
    for _ = 1, 60 do assert(engine:start "t.one") end
    assert.same({ 0, 1, 2, 3 }, shards_of(url, "instance"))
    for _, row in ipairs(kit.select(url, ("select id, shard from %s")
      :format(kit.table(backend, "instance")))) do
      if #row.id == 36 then
        assert.equal(kit.shard(row.id, 4), row.shard)
      end
    end
    assert.equal(60, assert(engine:run()).ended)
    assert.same({ 0, 1, 2, 3 }, shards_of(url, "history"))
    assert.same({}, shards_of(url, "agenda"))
    assert.equal(60, #assert(engine:list { status = "completed",
      limit = 100 }))
  end)

  it("commits each shard by itself", function()
    local engine = fresh()
    assert(engine:load(kit.one()))
    for route = 0, 7 do
      assert(engine:start("t.one", nil, { id = kit.draw_id(route) }))
    end
    local stats = assert(engine:tick())
    assert.equal(8, stats.claimed)
    assert.equal(4, stats.commits)
    assert.equal(8, stats.ended)
  end)

  it("finds an instance by its id alone, or by its beginning", function()
    local engine = fresh()
    assert(engine:load(kit.one()))
    local ids = {}
    for route = 0, 3 do
      ids[#ids + 1] = assert(engine:start("t.one", { route = route },
        { id = kit.draw_id(route) }))
    end
    for i, id in ipairs(ids) do
      assert.equal(i - 1, assert(engine:get(id)).input.route)
    end
    local id, err = engine:find(ids[1]:sub(1, 8))
    assert.is_nil(id)
    assert.equal("ambiguous", err.code)
  end)

  it("makes starts of one key meet in one shard", function()
    local a, clock, url = fresh()
    local b = kit.rival(backend, url, clock)
    assert(a:load(kit.one()))
    for i = 1, 20 do
      local key = "k" .. i
      local id = assert(a:start("t.one", nil, { key = key }))
      local again, created = assert(b:start("t.one", nil, { key = key }))
      assert.equal(id, again)
      assert.is_false(created)
      local mine = assert(b:start("t.one", nil,
        { key = key, id = kit.draw_id() }))
      assert.equal(id, mine)
    end
    assert.equal(20, kit.count(backend, url, "instance"))
  end)

  it("keeps the order of priorities within a shard", function()
    local engine, clock = fresh { batch = 1 }
    local ran = {}
    assert(engine:load(kit.one(function(ctx)
      local shard = kit.shard(ctx.id, 4)
      ran[shard] = ran[shard] or {}
      table.insert(ran[shard], ctx.input)
    end)))
    for i, priority in ipairs { 1, 3, 2 } do
      for route = 0, 3 do
        clock:advance(0.001)
        assert(engine:start("t.one", i,
          { priority = priority, id = kit.draw_id(route) }))
      end
    end
    assert(engine:run())
    for shard = 0, 3 do assert.same({ 2, 3, 1 }, ran[shard]) end
  end)

  it("fires timers of every shard", function()
    local engine, clock = fresh()
    assert(engine:load(kit.timer "1h"))
    for route = 0, 11 do
      assert(engine:start("t.timer", nil, { id = kit.draw_id(route) }))
    end
    assert(engine:run())
    assert.equal(clock:now() + 3600, assert(engine:next_due()))
    clock:advance "1h"
    assert.equal(12, assert(engine:run()).ended)
  end)

  it("drops what comes under a lost lease, in its shard alone", function()
    local engine, clock, url, store
    local ran = 0
    engine, clock, url = fresh()
    store = kit.store(url, clock)
    local ids = {}
    for route = 0, 3 do ids[route] = kit.draw_id(route) end
    local lease
    assert(engine:load(kit.one(function(ctx)
      ran = ran + 1
      ctx.vars.ran = ran
      if ran == 4 then
        clock:advance(31)
        lease = kit.claim(store, ids[2])
      end
    end)))
    for route = 0, 3 do
      assert(engine:start("t.one", nil, { id = ids[route] }))
    end
    local stats = assert(engine:tick())
    assert.equal(4, stats.claimed)
    assert.equal(1, stats.lost)
    assert.equal(3, stats.ended)
    assert.equal("running", kit.status(engine, ids[2]))
    assert.equal(lease, kit.agenda(store, ids[2]).lease)
  end)

  it("takes over in every shard, one instance at a time", function()
    local engine, clock, url = fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.one()))
    local ids = {}
    for route = 0, 7 do
      ids[#ids + 1] = (assert(engine:start("t.one", nil,
        { id = kit.draw_id(route) })))
    end
    for _, id in ipairs(ids) do kit.claim(store, id) end
    assert.equal(0, assert(engine:run()).claimed)
    clock:advance(31)
    assert.equal(8, assert(engine:run()).ended)
    for _, id in ipairs(ids) do
      assert.equal("recovered, step a", kit.trail(engine, id))
    end
  end)

  it("cancels in the instance's own", function()
    local engine, _, url = fresh()
    assert(engine:load(kit.timer()))
    for route = 0, 3 do
      local id = assert(engine:start("t.timer", nil,
        { id = kit.draw_id(route) }))
      assert(engine:run())
      local _, done = assert(engine:cancel(id, "stop"))
      assert.is_true(done)
      assert.same({ route }, shards_of(url, "history",
        "type = 'cancelled' and instance = "
          .. kit.id_literal(backend, id)))
    end
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("knows that a version is in use in any of them", function()
    local engine = fresh()
    local function flow(steps)
      local f = pawl.workflow { code = "t.v", start = "t" }
      f:timer("t", { after = "1h", next = "z" })
      f:finish("z", steps > 1 and { output = function() end } or nil)
      return f
    end
    assert(engine:load(flow(1)))
    for route = 0, 3 do
      local id = assert(engine:start("t.v", nil,
        { id = kit.draw_id(route) }))
      local info, err = engine:load(flow(2))
      assert.is_nil(info)
      assert.equal("exists", err.code)
      assert.matches(id, err.message, 1, true)
      assert(engine:cancel(id))
    end
    assert(engine:load(flow(2)))
  end)

  it("has as many as it was made with, whatever is asked for later",
    function()
      local _, clock, url = fresh()
      local store = kit.store(url, clock)
      assert.equal(4, store:shards())
      kit.rival(backend, url, clock, { shards = 9 })
      assert.equal(4, kit.store(url, clock):shards())
    end)
end)
