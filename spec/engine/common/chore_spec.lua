--- What a tick does besides steps: in pieces that fit, and to an end.
--- What a row takes is made up here, so that rows can be counted on machines
--- that are slow, or are somebody else's for a while.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local BUDGET <const> = 0.002
local ROW_US <const> = 50 -- ten rows in a quarter of that

kit.describe("what a tick does besides steps", function(backend)
  before_each(function() probe.row_cost(0) end)
  after_each(function()
    probe.fault(nil)
    probe.row_cost(0)
  end)

  --- How many are left after each tick of that budget, until `done`.
  local function ticked(engine, most, left, done)
    local seen = {}
    for i = 1, most do
      assert(engine:tick(BUDGET))
      seen[i] = left()
      if done(seen[i]) then return seen end
    end
    error(("%d are left after %d ticks"):format(seen[most], most))
  end

  local function most_at_once(seen, first)
    local most, before = 0, first
    for _, n in ipairs(seen) do
      most, before = math.max(most, before - n), n
    end
    return most
  end

  local function is_none(n) return n == 0 end

  --- An engine on a store in which so many ended long ago.
  local function ended(n, options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one()))
    local items = {}
    for i = 1, n do items[i] = {} end
    assert(engine:start_many("t.one", items))
    assert(engine:run())
    clock:advance "2d"
    return engine, clock, url
  end

  it("prunes few instances at a time, and all of them", function()
    local first, clock, url = ended(30)
    first:close()
    local engine = kit.rival(backend, url, clock, { retain = "1d" })
    assert(engine:load(kit.one()))
    probe.row_cost(ROW_US)
    local seen = ticked(engine, 4000,
      function() return kit.count(backend, url, "instance") end, is_none)
    -- each has some ten rows with what stands beside it
    assert.is_true(most_at_once(seen, 30) <= 2)
  end)

  it("prunes as ever in a tick without an end", function()
    local first, clock, url = ended(30)
    first:close()
    local engine = kit.rival(backend, url, clock, { retain = "1d" })
    probe.row_cost(1000 * 1000)
    assert(engine:tick())
    -- a unit of 250 rows, however slow the machine
    assert.is_true(kit.count(backend, url, "instance") <= 20)
  end)

  it("takes a long history a few rows at a time", function()
    local first, clock, url = ended(1)
    local id = assert(first:list())[1].id
    backend.sql(url, ([[insert into %s (shard, instance, seq, type,
      completed_at) with recursive n (i) as (
        select 1 union all select i + 1 from n where i < 120)
      select 0, %s, 1000 + i, 'note', %s from n]]):format(
      kit.table(backend, "history"), kit.id_literal(backend, id),
      backend.name == "postgres" and "now()" or "1"))
    backend.sql(url, ("update %s set seq = 1120"):format(
      kit.table(backend, "instance")))
    first:close()
    local engine = kit.rival(backend, url, clock, { retain = "1d" })
    assert(engine:load(kit.one()))
    probe.row_cost(ROW_US)
    local rows = function() return kit.count(backend, url, "history") end
    local before = rows()
    local seen = ticked(engine, 4000, rows, is_none)
    assert.is_true(most_at_once(seen, before) <= 20)
    ticked(engine, 1000,
      function() return kit.count(backend, url, "instance") end, is_none)
  end)

  --- The parent ends, and nobody runs the group of its children.
  it("ends few children at a time, and says that more are due", function()
    local engine, _, url = backend.fresh()
    local leaf = pawl.workflow { code = "t.leaf", start = "w" }
    leaf:wait("w", { event = "x", next = "z" })
    leaf:finish "z"
    local parent = pawl.workflow { code = "t.parent", start = "s" }
    parent:step("s", { next = "w", run = function(ctx)
      for _ = 1, 12 do
        ctx.start("t.leaf", {}, { group = "dead", parent_end = "cancel" })
      end
    end })
    parent:wait("w", { event = "end", next = "z" })
    parent:finish "z"
    for _, flow in ipairs { leaf, parent } do assert(engine:load(flow)) end
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    assert(engine:signal { name = "end", instance = id })
    probe.row_cost(300) -- one at a time
    local left = function() return kit.count(backend, url, "ending") end
    local before, put_off
    for _ = 1, 2000 do
      local stats = assert(engine:tick(BUDGET))
      local n = left()
      if before and n > 0 then
        assert.is_true(before - n <= 1, before - n)
        assert.equal(0, stats.next_due)
      end
      if stats.put_off > 0 then put_off = true end
      if before and n == 0 then break end
      if before or n > 0 then before = n end -- some may be gone by then
    end
    assert.equal(0, left())
    assert.is_true(before ~= nil)
    assert.is_true(put_off == true or backend.name == "sqlite")
    assert.equal(12, #assert(engine:list { status = "cancelled" }))
  end)

  it("frees what a dead neighbour held a few rows at a time", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:start "t.one")
    assert(engine:run())
    local dead = kit.dead_neighbour(backend, url)
    local store = kit.store(url, clock)
    for _ = 1, 20 do
      kit.claim(store, assert(engine:start "t.one"), { executor = dead })
    end
    local held = function()
      return kit.count(backend, url, "agenda",
        "executor = " .. kit.id_literal(backend, dead) .. " and not ready")
    end
    assert.equal(20, held())
    local other = kit.rival(backend, url, clock)
    probe.row_cost(ROW_US * 2) -- five
    local seen = ticked(other, 1000, held, is_none)
    assert.is_true(most_at_once(seen, 20) <= 5)
    probe.row_cost(0)
    assert(other:load(kit.one()))
    assert(other:run())
    assert.equal(21, #assert(other:list { status = "completed" }))
  end)

  it("forgets what has expired a few rows at a time", function()
    local engine, clock, url = backend.fresh()
    for i = 1, 30 do
      assert(engine:signal { name = "go", key = "k-" .. i, ttl = "1m" })
    end
    clock:advance "1h"
    local left = function() return kit.count(backend, url, "event") end
    assert.equal(30, left())
    local other = kit.rival(backend, url, clock)
    probe.row_cost(ROW_US)
    local seen = ticked(other, 1000, left, is_none)
    assert.is_true(most_at_once(seen, 30) <= 10)
  end)

  --- One whose history grows with each of its steps, until `n` were made.
  local function loop(n)
    local flow = pawl.workflow { code = "t.long", start = "a",
      keep_history = 100 }
    local made = 0
    flow:step("a", { next = { on = "a", off = "z" }, run = function()
      made = made + 1
      return made < n and "on" or "off"
    end })
    flow:finish "z"
    return flow
  end

  it("keeps histories short a few rows at a time, and short", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(loop(700)))
    local id = assert(engine:start "t.long")
    probe.row_cost(ROW_US / 2) -- twenty
    local longest, before = 0, 0
    repeat
      assert(engine:tick(BUDGET))
      local rows = kit.count(backend, url, "history")
      longest = math.max(longest, rows)
      assert.is_true(before - rows <= 20, before - rows)
      before = rows
    until engine:status(id) == "completed"
    -- what is kept, its slack, and what comes while it is put off
    assert.is_true(longest <= 100 + 64 + 64 + 8 * 20, longest)
  end)

  it("is put off once in a tick, however often that commits", function()
    local engine = backend.fresh()
    assert(engine:load(loop(1000)))
    local id = assert(engine:start "t.long")
    probe.row_cost(10 * 1000) -- one, of a tick of 40 ms
    local pieces, all = 0, 0
    local function count()
      pieces = pieces + 1
      probe.fault("engine.trim.dropped=call", count)
    end
    probe.fault("engine.trim.dropped=call", count)
    repeat
      pieces = 0
      assert(engine:tick(0.04))
      assert.is_true(pieces <= 1, pieces)
      all = all + pieces
    until engine:status(id) == "completed"
    assert.is_true(all > 0)
  end)

  it("delivers what has come together one by one, when late", function()
    local engine, _, url = backend.fresh()
    local leaf = pawl.workflow { code = "t.leaf", start = "z" }
    leaf:finish "z"
    local parent = pawl.workflow { code = "t.parent", start = "s" }
    parent:step("s", { next = "w", run = function(ctx)
      for _ = 1, 12 do ctx.start("t.leaf", {}) end
    end })
    parent:wait("w", { event = "end", next = "z" })
    parent:finish "z"
    for _, each in ipairs { leaf, parent } do assert(engine:load(each)) end
    assert(engine:start "t.parent")
    local points = {}
    for i = 1, 12 do points[i] = "engine.deliver.handed=call@" .. i end
    local handed = 0
    probe.fault(table.concat(points, ","), function()
      handed = handed + 1
      local until_ = os.clock() + 0.003 -- each takes longer than a tick has
      while os.clock() < until_ do end
    end)
    local most, over = 0, 0
    for _ = 1, 400 do
      local before = handed
      local stats = assert(engine:tick(BUDGET))
      most = math.max(most, handed - before)
      over = over + stats.ended
      if over == 12 then break end
      if handed > 0 and handed < 12 then assert.equal(0, stats.next_due) end
    end
    probe.fault(nil)
    assert.equal(12, handed)
    assert.equal(12, over)
    assert.is_true(most <= 2, most)
    assert.equal(0, kit.count(backend, url, "message"))
  end)

  --- Rows that take longer than any budget: nothing fits, and each comes.
  it("is put off so often at most, and then done", function()
    local first, clock, url = ended(3)
    first:close()
    local engine = kit.rival(backend, url, clock, { retain = "1d" })
    assert(engine:load(kit.one()))
    probe.row_cost(60 * 1000 * 1000)
    local seen = ticked(engine, 2000, function()
      return kit.count(backend, url, "instance")
    end, is_none)
    assert.equal(1, most_at_once(seen, 3))
  end)

  it("tells what it took", function()
    local first, clock, url = ended(20)
    first:close()
    local engine = kit.rival(backend, url, clock, { retain = "1d" })
    assert(engine:load(kit.one()))
    local stats = assert(engine:tick())
    assert.is_true(stats.spent.keep > 0)
    assert.equal(0, stats.put_off)
    assert.is_true(stats.spent.rest < stats.spent.keep)
  end)
end)
