-- A key that is in use: what a start makes of it, and who has it then.
local pawl = require "pawl"
local probe = require "spec.support.probe"
local kit = require "spec.engine.kit"

--- A cart: it is filled by events until it is checked out.
local function cart(options)
  local given = options or {}
  local flow = pawl.workflow { code = "t.cart", start = "open" }
  flow:step("open", { run = function(ctx)
    if ctx.input.fail then error { code = "no_stock", retry = false } end
    if given.child then ctx.start("t.timer", {}, { parent_end = "cancel" }) end
  end, undo = given.undo, next = "filled" })
  flow:wait("filled", { event = "add", into = "got", next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

local function fresh(backend, options)
  local engine, clock, url = backend.fresh()
  assert(engine:load(cart(options)))
  assert(engine:load(kit.timer()))
  return engine, clock, url
end

local function begin(engine, how, input)
  local options = { key = "k" }
  for name, value in pairs(how or {}) do options[name] = value end
  return engine:start("t.cart", input, options)
end

local function check_out(engine, id)
  assert(engine:run())
  assert(engine:signal { name = "add", instance = id })
  assert(engine:run())
  assert.completed(engine, id)
end

local function failed(engine)
  local id = assert(begin(engine, nil, { fail = true }))
  assert(engine:run())
  assert.failed(engine, id)
  return id
end

local function is_on_agenda(url, id)
  local args = { shard = kit.shard(id), id = id }
  return #kit.run(kit.store(url), "agenda_get", args) > 0
end

kit.describe("a key that is in use", function(backend)
  it("is its instance's, alive or not, when nothing is said", function()
    local engine = fresh(backend)
    local id, created = assert(begin(engine))
    assert.is_true(created)
    for _, how in ipairs { {}, { on_existing = "return" },
      { reuse = "never" }, { reuse = "ended" }, { reuse = "failed" } } do
      local same, again = assert(begin(engine, how))
      assert.same({ id, false }, { same, again })
    end
    check_out(engine, id)
    for _, how in ipairs { {}, { on_existing = "return" },
      { reuse = "never" }, { reuse = "failed" } } do
      local same, again = assert(begin(engine, how))
      assert.same({ id, false }, { same, again })
    end
  end)

  it("fails the start that wants it free, which names who has it", function()
    local engine, _, url = fresh(backend)
    local id, created = assert(begin(engine, { on_existing = "fail" }))
    assert.is_true(created)
    kit.refused("exists", 'key "k" of workflow "t.cart" is that of instance '
      .. id:gsub("%-", "%%-") .. ", which is created", "on_existing",
      begin(engine, { on_existing = "fail" }))
    assert(engine:run())
    kit.refused("exists", "which is waiting", nil,
      begin(engine, { on_existing = "fail", reuse = "ended" }))
    check_out(engine, id)
    for _, how in ipairs { { on_existing = "fail" },
      { on_existing = "fail", reuse = "failed" },
      { on_existing = "replace" } } do
      kit.refused("exists", id:gsub("%-", "%%-")
        .. ", which has ended: completed", "reuse", begin(engine, how))
    end
    assert.equal(1, kit.count(backend, url, "instance"))
  end)

  it("begins again when its instance has ended", function()
    local engine, _, url = fresh(backend)
    local first = assert(begin(engine))
    check_out(engine, first)
    local second, created = assert(begin(engine, { reuse = "ended" }))
    assert.is_true(created)
    assert.not_equal(first, second)
    local old = assert(engine:get(first))
    assert.same({ "k", second, "completed" },
      { old.key, old.successor, old.status })
    assert.same({ "k" }, { assert(engine:get(second)).key })
    assert.is_false(is_on_agenda(url, first)) -- nobody looks for nothing
    assert.same({ second, false }, { assert(begin(engine)) })
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, second))
    local found = {}
    for i, one in ipairs(assert(engine:list { key = "k" })) do
      found[i] = one.id
    end
    assert.same({ second, first }, found)
    check_out(engine, second)
    local third = assert(begin(engine, { reuse = "ended",
      on_existing = "fail" }))
    assert.equal(third, assert(engine:get(second)).successor)
    assert.equal(second, assert(engine:get(first)).successor)
  end)

  it("begins again, where that is all that is allowed, when it has failed",
    function()
      local engine = fresh(backend)
      local first = failed(engine)
      local second, created = assert(begin(engine, { reuse = "failed" }))
      assert.is_true(created)
      assert(engine:run())
      assert(engine:cancel(second))
      local same, again = assert(begin(engine, { reuse = "failed" }))
      assert.same({ second, false }, { same, again })
      assert.equal(second, assert(engine:get(first)).successor)
    end)

  it("goes on at once to the one that replaces it, which is cancelled",
    function()
      local undone = {}
      local engine = fresh(backend, { child = true,
        undo = function(ctx) undone[#undone + 1] = ctx.id end })
      local first = assert(begin(engine))
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, first))
      local child = assert(engine:list { parent = first })[1].id
      local second, created = assert(begin(engine, { on_existing = "replace",
        by = "ann" }))
      assert.is_true(created)
      assert.same({ second, false }, { assert(begin(engine)) })
      assert.equal("waiting", kit.status(engine, first)) -- nobody took it yet
      assert(engine:run())
      local old = assert(engine:get(first))
      assert.same({ "cancelled", second, "ann", "replaced by " .. second },
        { old.status, old.successor, old.cancellation.by,
          old.cancellation.reason })
      assert.same({ first }, undone)
      assert.equal("cancelled", kit.status(engine, child))
      assert.equal("waiting", kit.status(engine, second))
    end)

  it("goes on though its instance is held, which sees that it ends", function()
    local second, rival, engine, clock, url
    engine, clock, url = backend.fresh()
    local flow = kit.chain { function(ctx)
      if ctx.input.first then
        second = assert(rival:start("t.chain", nil, { key = "k",
          on_existing = "replace" }))
      end
    end, function() end }
    assert(engine:load(flow))
    rival = kit.rival(backend, url, clock)
    local first = assert(engine:start("t.chain", { first = true },
      { key = "k" }))
    assert(engine:run())
    assert.same({ "cancelled", "completed" },
      { kit.status(engine, first), kit.status(engine, second) })
    assert.equal("step a, cancelled b", kit.trail(engine, first))
  end)

  -- SQLite has one writer: its rivals come before the transaction, or behind.
  local points = { "take", backend.name ~= "sqlite" and "lock" or nil }

  it("has one new instance of two that begin again at once", function()
    for _, point in ipairs(points) do
      local engine, clock, url = fresh(backend)
      local rival = kit.rival(backend, url, clock)
      local first = assert(begin(engine))
      check_out(engine, first)
      local second
      probe.fault("engine.start." .. point .. "=call", function()
        probe.fault(nil)
        second = assert(begin(rival, { reuse = "ended" }))
      end)
      local same, created = begin(engine, { reuse = "ended" })
      probe.fault(nil)
      assert.same({ second, false }, { same, created })
      assert.equal(2, kit.count(backend, url, "instance"))
      assert.equal(second, assert(engine:get(first)).successor)
    end
  end)

  it("does not go on from one that was just asked to go on itself", function()
    for _, point in ipairs(points) do
      local engine, clock, url = fresh(backend)
      local rival = kit.rival(backend, url, clock)
      local first = failed(engine)
      probe.fault("engine.start." .. point .. "=call", function()
        probe.fault(nil) -- nobody takes the letter yet
        local store = kit.store(url, clock)
        assert(store:begin "batch")
        local to = { shard = kit.shard(first), id = first }
        assert(store:send("agenda_revive", { shard = to.shard, id = to.id,
          now = clock.us, completed = true, cancelled = false,
          deleted = false }))
        assert(store:send("inbox_insert", { shard = to.shard, id = to.id,
          no = "019aa000-0000-7000-8000-000000000001", kind = "restart",
          source = "user", data = '{"from":"filled","reason":""}',
          now = clock.us }))
        assert(store:commit())
      end)
      local same, created = begin(rival, { reuse = "failed" })
      probe.fault(nil)
      assert.same({ first, false }, { same, created })
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, first))
    end
  end)

  it("is not lost to one that asks to go on too late", function()
    local engine, clock, url = fresh(backend)
    local rival = kit.rival(backend, url, clock)
    local first = failed(engine)
    local second
    probe.fault("engine.act.send=call", function()
      probe.fault(nil)
      second = assert(begin(rival, { reuse = "failed" }))
    end)
    kit.refused("conflict", "its key is that of", nil,
      engine:restart(first, { from = "filled" }))
    probe.fault(nil)
    assert(engine:run())
    assert.same({ "failed", "waiting" },
      { kit.status(engine, first), kit.status(engine, second) })
  end)

  it("is lost: what has lost it cannot live again, but be deleted, undeleted "
    .. "and purged", function()
    local engine, _, url = fresh(backend)
    local first = failed(engine)
    local second = assert(begin(engine, { reuse = "failed" }))
    for _, verb in ipairs { "retry", "restart" } do
      kit.refused("conflict", "its key is that of instance "
        .. second:gsub("%-", "%%-"), "start another",
        engine[verb](engine, first, verb == "restart" and { from = "open" }
          or nil))
    end
    assert(engine:delete(first))
    assert(engine:undelete(first))
    assert.equal(second, assert(engine:get(first)).successor)
    assert.equal(second, (assert(begin(engine))))
    assert(engine:purge(first))
    assert.equal(1, kit.count(backend, url, "instance"))
  end)

  it("is refused to one that was deleted while another began with it",
    function()
      local engine = fresh(backend)
      local first = failed(engine)
      assert(engine:delete(first))
      local second = assert(begin(engine, { reuse = "failed" }))
      assert.is_nil(assert(engine:get(first)).successor)
      kit.refused("conflict", second:gsub("%-", "%%-"), "delete that one",
        engine:undelete(first))
    end)

  it("stays where it is when the new one is refused", function()
    local engine, clock, url = fresh(backend)
    local first = failed(engine)
    local rival = kit.rival(backend, url, clock)
    assert(engine.workflows:deactivate("t.cart", 1))
    kit.refused("conflict", "no version", nil,
      begin(engine, { reuse = "failed" }))
    kit.refused("conflict", "no version", nil,
      begin(rival, { reuse = "failed" }))
    assert.is_nil(assert(engine:get(first)).successor)
    assert.is_false(is_on_agenda(url, first))
  end)

  it("costs a start nothing, unless it is in use", function()
    local engine = fresh(backend)
    assert(begin(engine, { key = "warm" }))
    local function cost(how)
      local before = engine:count()
      assert(begin(engine, how))
      local after = engine:count()
      return { after.transactions - before.transactions,
        after.statements - before.statements }
    end
    -- Some send a wake-up beside, as time goes by, and on a busy machine most:
    -- what the cheapest costs, of eight at least.
    local function keep_least(found, how)
      local one = cost(how)
      return found and found[2] <= one[2] and found or one
    end
    local free, asked
    for i = 1, 100 do
      free = keep_least(free, { key = "a" .. i })
      asked = keep_least(asked, { key = "b" .. i, reuse = "ended",
        on_existing = "fail" })
      if i >= 8 and free[2] == asked[2] then break end
    end
    assert.same(free, asked)
  end)
end)

kit.describe("a start that is repeated", function(backend)
  local id = "019aa000-0000-7000-8000-000000000000"

  it("takes a key once, under the id of its own", function()
    local engine, _, url = fresh(backend)
    local first = assert(begin(engine))
    local how = { id = id, on_existing = "replace" }
    local second = assert(begin(engine, how))
    assert.not_equal(first, second)
    assert.same({ second, true }, { assert(begin(engine, how)) })
    local third = assert(begin(engine, { on_existing = "replace" }))
    assert.equal(second, (assert(begin(engine, how))))
    assert.equal(third, (assert(begin(engine))))
    assert.equal(3, kit.count(backend, url, "instance"))
  end)

  it("takes a key once when the answer was lost", function()
    local engine, _, url = fresh(backend)
    local first = assert(begin(engine))
    check_out(engine, first)
    probe.fault "commit.after=drop@2" -- the first finds that it is in use
    local second, created = assert(begin(engine, { reuse = "ended" }))
    probe.fault(nil)
    assert.is_true(created)
    assert.equal(second, assert(engine:get(first)).successor)
    assert.equal(2, kit.count(backend, url, "instance"))
  end)
end)

kit.describe("a signal that starts", function(backend)
  local function add(engine, item, how, event)
    local start = { workflow = "t.cart", key = "k" }
    for name, value in pairs(how) do start[name] = value end
    return engine:signal { name = "add", data = item, id = event,
      start = start }
  end

  it("fills a new cart once the old one was checked out", function()
    local engine = fresh(backend)
    local _, one = assert(add(engine, "pen", { reuse = "ended" }))
    assert.is_true(one.created)
    assert(engine:run())
    assert.completed(engine, one.instance)
    local _, two = assert(add(engine, "ink", { reuse = "ended" }))
    assert.is_true(two.created)
    assert(engine:run())
    assert.same({ got = "ink" }, assert(engine:get(two.instance)).output)
    kit.refused("already_finished", "has ended already", nil,
      add(engine, "cap", {}))
  end)

  it("does so once, however often the event is sent", function()
    local engine, _, url = fresh(backend)
    local how = { reuse = "ended", on_existing = "replace" }
    local carts = {}
    for i = 1, 3 do
      local _, info = assert(add(engine, i, how, "e" .. i))
      assert.is_true(info.created)
      carts[i] = info.instance
      if i < 3 then assert(engine:run()) end
    end
    for _ = 1, 2 do
      for i = 1, 3 do
        local _, info = assert(add(engine, i, how, "e" .. i))
        assert.same({ carts[i], false, true },
          { info.instance, info.created, info.repeated })
      end
      assert(engine:run())
    end
    assert.equal(3, kit.count(backend, url, "instance"))
  end)

  it("leaves the event out where the start fails", function()
    local engine, _, url = fresh(backend)
    local id = assert(begin(engine))
    assert(engine:run())
    kit.refused("exists", "is that of instance", nil,
      add(engine, "pen", { on_existing = "fail" }, "e"))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    local _, info = assert(add(engine, "ink", { on_existing = "replace" }))
    assert(engine:run())
    assert.same({ "cancelled", "completed" },
      { kit.status(engine, id), kit.status(engine, info.instance) })
    assert.equal(2, kit.count(backend, url, "instance"))
  end)
end)

kit.describe("a list of starts", function(backend)
  it("has keys go on, each as its item says", function()
    local engine, _, url = fresh(backend)
    local old = failed(engine)
    local alive = assert(begin(engine, { key = "l" }))
    local ids, created = assert(engine:start_many("t.cart", {
      { key = "k" }, { key = "l" }, { key = "m" },
      { key = "l", on_existing = "replace" },
    }, { reuse = "failed" }))
    assert.same({ true, false, true, true }, created)
    assert.equal(alive, ids[2])
    assert.equal(ids[1], assert(engine:get(old)).successor)
    assert.equal(ids[4], assert(engine:get(alive)).successor)
    assert.equal(5, kit.count(backend, url, "instance"))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, alive))
  end)

  it("says which item's key was in use, and stores no other then", function()
    for at = 1, 3 do
      local engine, _, url = fresh(backend)
      local id = assert(begin(engine))
      local list = { { key = "a" }, { key = "b" } }
      table.insert(list, at, { key = "k" })
      kit.refused("exists", "^item " .. at .. ": key \"k\".*"
        .. id:gsub("%-", "%%-"), nil, engine:start_many("t.cart", list,
          { on_existing = "fail" }))
      assert.equal(1, kit.count(backend, url, "instance"))
      list[at].on_existing = "return"
      local ids, created = assert(engine:start_many("t.cart", list,
        { on_existing = "fail" }))
      assert.equal(id, ids[at])
      assert.equal(at == 1, not created[1])
      assert.equal(3, kit.count(backend, url, "instance"))
    end
  end)

  it("stores batches as a whole, and says of how many", function()
    local engine, _, url = fresh(backend)
    assert(begin(engine))
    local list = {}
    for i = 1, 1500 do list[i] = { key = "k" .. i, input = i } end
    list[1200].key = "k"
    kit.refused("exists", "^1000 of 1500 instances are stored: item 1200: key",
      nil, engine:start_many("t.cart", list, { on_existing = "fail" }))
    assert.equal(1001, kit.count(backend, url, "instance"))
    for at, there in pairs { [1] = true, [1000] = true, [1001] = false } do
      assert.equal(there, #assert(engine:list { key = "k" .. at }) == 1)
    end
  end)

  it("stores all of a shard, or nothing", function()
    local engine, _, url = backend.fresh { shards = 4 }
    assert(engine:load(cart()))
    local holder = assert(engine:start("t.cart", nil, { key = "k30" }))
    local list = {}
    for i = 1, 60 do list[i] = { key = "k" .. i } end
    local ids, err = engine:start_many("t.cart", list,
      { on_existing = "fail" })
    assert.is_nil(ids)
    local n = tonumber(err.message:match "^(%d+) of 60" or 0)
    assert.equal(1 + n, kit.count(backend, url, "instance"))
    local there, all = {}, {}
    for _, instance in ipairs(assert(engine:list { limit = 100 })) do
      local shard = kit.shard(instance.id, 4)
      there[shard] = (there[shard] or 0) + 1
    end
    for _, item in ipairs(list) do item.on_existing = "return" end
    for _, id in ipairs(assert(engine:start_many("t.cart", list))) do
      local shard = kit.shard(id, 4)
      all[shard] = (all[shard] or 0) + 1
    end
    local refused = kit.shard(holder, 4)
    assert.is_true(all[refused] > 1)
    for shard, m in pairs(there) do
      assert.equal(shard == refused and 1 or all[shard], m)
    end
  end)

  it("is stored once, and as new, where an answer was lost", function()
    if backend.name ~= "postgres" then return end
    for _, point in ipairs { "commit.before_send", "commit.sent" } do
      local engine, _, url = fresh(backend)
      local id = assert(begin(engine))
      probe.fault(point .. "=drop@1")
      local ids, created = engine:start_many("t.cart",
        { { key = "a" }, { key = "k", on_existing = "replace" }, {} })
      probe.fault(nil)
      assert(ids, tostring(created))
      assert.same({ true, true, true }, { table.unpack(created) })
      assert.equal(ids[2], assert(engine:get(id)).successor)
      assert.equal(4, kit.count(backend, url, "instance"))
    end
  end)
end)

kit.describe("a child with a key", function(backend)
  it("may begin again with it, once", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one(function() end, { code = "t.child" })))
    assert(engine:load(kit.one(function(ctx)
      ctx.start("t.child", {}, { key = "c", reuse = "ended", track = false })
    end)))
    for n = 1, 3 do
      assert(engine:start "t.one")
      assert(engine:run())
      assert.equal(2 * n, kit.count(backend, url, "instance"))
    end
  end)

  it("is refused of one that was carried to another store", function()
    local engine = fresh(backend)
    local id = assert(begin(engine))
    assert(engine:run())
    assert(engine:export(id, { move = true }))
    kit.refused("conflict", "carried to another store", "reclaim",
      begin(engine, { on_existing = "replace" }))
    assert.equal(id, assert(begin(engine)))
    assert(engine:reclaim(id))
    assert(engine:run())
    local other = assert(begin(engine, { on_existing = "replace" }))
    assert.not_equal(id, other)
  end)
end)

kit.describe("whoever takes a key", function(backend)
  after_each(function() probe.fault(nil) end)

  --- On SQLite nobody else writes while a start looks for the holder.
  it("locks its holder anew where it has come out of the archive, or gone in",
    function()
      for _, way in ipairs { "unarchive", "archive" } do
        local engine, clock, url = fresh(backend)
        local rival <close> = kit.rival(backend, url, clock)
        local id = assert(begin(engine, nil, { fail = true }))
        assert(engine:run())
        if way == "unarchive" then assert(engine:archive(id)) end
        local asked, moved = 0, nil
        local function look()
          asked = asked + 1
          if asked == 1 then moved = rival[way](rival, id) end
          probe.fault("engine.start.lock=call", look)
        end
        probe.fault("engine.start.lock=call", look)
        local second, created = begin(engine, { reuse = "ended" })
        probe.fault(nil)
        assert.is_true(created, tostring(created))
        local may = backend.name == "postgres"
        assert.same({ may or nil, may and 2 or 1 }, { moved, asked })
        local archived = assert(engine:get(id)).archived ~= nil
        assert.equal((way == "archive") == may, archived)
        if archived then assert(engine:unarchive(id)) end
        assert.equal(second, assert(engine:get(id)).successor)
      end
    end)
end)
