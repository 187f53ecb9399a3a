--- One that was taken over runs alone; while its handler waits others run
--- beside it, and what dies then is not held against it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- `a` begins first and dies, `b` takes over. What it has waited for by then
--- is too short for others to come in.
---@return pawl.Engine b, any clock, string id, any store
local function taken_over(backend, ...)
  local a, b, clock, url = kit.pair(backend, { ... })
  local id = assert(a:start "t.one")
  assert(a:tick(1))
  clock:advance(31)
  assert.equal(1, assert(b:tick(1)).waiting)
  return b, clock, id, kit.store(url, clock)
end

--- Other instances' workflow: a step that notes when it ran.
local function other(code, notes, run)
  return kit.one(function(ctx)
    notes[#notes + 1] = code
    if run then run(ctx) end
  end, { code = code })
end

kit.describe("one that was taken over, and waits", function(backend)
  it("has others run beside it once it has waited for long", function()
    local notes = {}
    local b, clock, id = taken_over(backend,
      kit.one(function(ctx) ctx.await(60) end), other("t.other", notes))
    local next_one = assert(b:start "t.other")
    assert(b:tick(1))
    assert.same({}, notes) -- it may go on any moment
    assert.is_true(b:next_due() - clock:now() <= 0.2)
    clock:advance(0.2)
    local stats = assert(b:tick(1))
    assert.same({ "t.other" }, notes)
    assert.completed(b, next_one)
    assert.equal(1, stats.waiting)
    assert.is_true(stats.next_due > clock:now())
    clock:advance(60)
    assert(b:tick(1))
    assert.completed(b, id)
  end)

  it("keeps others out while it waits for short times", function()
    local notes = {}
    local b, clock, id = taken_over(backend, kit.one(function(ctx)
      for _ = 1, 8 do ctx.await(0.09) end
    end), other("t.other", notes))
    assert(b:start "t.other")
    for _ = 1, 7 do
      clock:advance(0.09)
      assert.equal(1, assert(b:tick(1)).waiting)
      assert.same({}, notes)
    end
    clock:advance(0.09)
    assert(b:tick(1))
    assert.completed(b, id)
    assert(b:run())
    assert.same({ "t.other" }, notes)
  end)

  it("counts its takeover while it runs, and not while it rests", function()
    local seen
    local b, clock, id, store
    b, clock, id, store = taken_over(backend, kit.one(function(ctx)
      ctx.await(60)
      seen = store and kit.agenda(store, id).takeovers
    end))
    assert.equal(1, kit.agenda(store, id).takeovers)
    clock:advance(1)
    assert(b:tick(1))
    assert.equal(0, kit.agenda(store, id).takeovers)
    clock:advance(60)
    assert(b:tick(1))
    assert.equal(1, seen)
    assert.completed(b, id)
    assert.equal("recovered, step a", kit.trail(b, id))
  end)

  it("is no worse off when what ran beside it has killed both", function()
    local b, clock, id, store, url
    do
      local a, _, own, path = kit.pair(backend,
        { kit.one(function(ctx) ctx.await(60) end) })
      clock, url, store = own, path, kit.store(path, own)
      id = assert(a:start "t.one")
      assert(a:tick())
    end
    for _ = 1, 8 do -- each one rests, and dies so
      clock:advance(31)
      b = kit.rival(backend, url, clock)
      assert(b:load(kit.one(function(ctx) ctx.await(60) end)))
      assert.equal(1, assert(b:tick(1)).waiting)
      assert.equal(1, kit.agenda(store, id).takeovers)
      clock:advance(1)
      assert(b:tick(1))
    end
    clock:advance(60)
    assert(b:tick(1))
    assert.completed(b, id)
  end)

  it("does not wait for others that wait, who go on behind it", function()
    local turns = {}
    local function note(what, seconds)
      return function(ctx)
        turns[#turns + 1] = what .. " begins"
        ctx.await(seconds)
        turns[#turns + 1] = what .. " ends"
      end
    end
    local a, b, clock = kit.pair(backend, { kit.one(note("suspect", 9)),
      kit.one(note("other", 35), { code = "t.other" }) })
    local id = assert(a:start "t.one")
    assert(a:tick(1))
    turns = {}
    local beside = assert(b:start "t.other")
    for _ = 1, 30 do
      clock:advance(2)
      assert(b:tick(1))
    end
    assert.same({ "other begins", "suspect begins", "other ends",
      "suspect ends" }, turns)
    assert.completed(b, id)
    assert.completed(b, beside)
  end)

  it("is followed by the next one when it has ended", function()
    local flow = kit.one(function(ctx) ctx.await(5) end)
    local a, b, clock, url = kit.pair(backend, { flow })
    local ids = {}
    for i = 1, 3 do ids[i] = assert(a:start "t.one") end
    assert.equal(3, assert(a:tick(1)).waiting)
    clock:advance(31)
    local store = kit.store(url, clock)
    for _ = 1, 3 do
      for _ = 1, 5 do -- however often it is asked, and however long it rests
        assert.equal(1, assert(b:tick(1)).waiting)
        clock:advance(1)
      end
      assert(b:tick(1))
    end
    for _, id in ipairs(ids) do
      assert.completed(b, id)
      assert.equal("recovered, step a", kit.trail(b, id))
      assert.is_nil(kit.agenda(store, id))
    end
  end)

  it("is asked again and again for what it asks, beside others", function()
    local notes, asked, done = {}, 0, false
    local b, clock, id = taken_over(backend, kit.one(function(ctx)
      ctx.await(function()
        asked = asked + 1
        return done
      end)
    end), other("t.other", notes))
    clock:advance(0.2)
    assert(b:start "t.other")
    assert(b:tick(1))
    assert(b:tick(1))
    assert.same({ "t.other" }, notes)
    local before = asked
    for _ = 1, 20 do
      clock:advance(0.05)
      assert(b:tick(1))
    end
    assert.is_true(asked > before)
    assert.is_true(asked - before <= 6) -- not fifty milliseconds after another
    done = true
    clock:advance(0.3)
    assert(b:tick(1))
    assert(b:tick(1))
    assert.completed(b, id)
  end)

  it("is told that it is cancelled", function()
    local told
    local b, clock, id = taken_over(backend, kit.one(function(ctx)
      local _, err = pcall(ctx.await, 600)
      told = err
      error(err, 0)
    end))
    clock:advance(1)
    assert(b:tick(1))
    assert(b:cancel(id))
    clock:advance(1)
    assert(b:run { id = id })
    assert.is_truthy(told)
    assert.equal("cancelled", kit.status(b, id))
  end)

  it("is ended where it stands when its lease is another's", function()
    local ended = 0
    local b, clock, id, store = taken_over(backend, kit.one(function(ctx)
      local _ <close> = setmetatable({}, {
        __close = function() ended = ended + 1 end })
      ctx.await(600)
    end))
    clock:advance(1)
    assert(b:tick(1))
    clock:advance(31) -- it is late
    kit.claim(store, id, { executor = kit.draw_id() })
    local stats = assert(b:tick(1))
    assert.equal(0, stats.waiting)
    assert.equal(1, ended)
    assert.equal(1, kit.agenda(store, id).takeovers) -- the other's
  end)

  it("has its other branches go on, which it runs alone", function()
    local notes = {}
    local flow = pawl.workflow { code = "t.one", start = "a" }
    flow:fork("a", { next = { "slow", "nap" } })
    flow:step("slow", { run = function(ctx) ctx.await(60) end, next = "j" })
    flow:timer("nap", { after = 40, next = "quick" })
    flow:step("quick", { run = function(ctx) ctx.vars.quick = true end,
      next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    local b, clock, id = taken_over(backend, flow, other("t.other", notes))
    local due = clock:now() + 9
    clock:advance(1)
    assert(b:tick(1))
    assert(b:start "t.other")
    assert(b:tick(1))
    assert.same({ "t.other" }, notes)
    repeat -- it is called, and goes on, in one tick
      clock:jump_to(math.max(assert(b:next_due()), clock:now()))
      assert(b:run())
      assert.is_true(b:next_due() > clock:now())
    until clock:now() >= due
    assert.same({ quick = true }, assert(b:get(id)).variables)
    clock:advance(60)
    for _ = 1, 4 do assert(b:tick(1)) end
    assert.completed(b, id)
  end)
end)
