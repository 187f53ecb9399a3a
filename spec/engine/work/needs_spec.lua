--- Nobody waits unseen: what has begun to wait looks for what is there already
--- before anything else is decided of it, however busy its worker is.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local socket = require "socket"

local MANY, SLOW = 40, 12

--- Steps that each hold up everybody: longer than results wait for a commit,
--- three of them together.
local function slow_flow(clock)
  local flow = pawl.workflow { code = "t.slow", start = "s1" }
  for i = 1, 5 do
    flow:step("s" .. i, { next = i < 5 and "s" .. i + 1 or "z",
      run = function()
        socket.sleep(0.02)
        clock:advance(0.02)
      end })
  end
  flow:finish "z"
  return flow
end

--- Ticks until nothing moves by itself.
local function play(engine, clock, budget)
  for _ = 1, 400 do
    local stats = assert(engine:tick(budget))
    if stats.claimed == 0 and stats.held == 0 and stats.committed == 0 then
      return
    end
    clock:advance(0.01)
  end
  error "this goes on for ever"
end

local function stuck(engine, code)
  local n = 0
  for _, one in ipairs(assert(engine:list { workflow = code, limit = 1000 })) do
    if one.status ~= "completed" then n = n + 1 end
  end
  return n
end

local function start_many(engine, code, n, input)
  local list = {}
  for i = 1, n do list[i] = { input = input and input(i) or {} } end
  assert(engine:start_many(code, list))
end

kit.describe("beside steps that hold up everybody", function(backend)
  for name, budget in pairs { ["of one round"] = 0, ["of many rounds"] = 2 } do
    local function fresh(flow)
      local engine, clock = backend.fresh()
      assert(engine:load(flow))
      assert(engine:load(slow_flow(clock)))
      return engine, clock
    end

    --- Two events for each, kept before anybody waits.
    local function keep(engine, n)
      for i = 1, n do
        for _, card in ipairs { "one", "two" } do
          assert(engine:signal { name = "paid." .. card, key = "o" .. i,
            id = card .. i })
        end
      end
    end

    it("waits find what was kept for them, in ticks " .. name, function()
      local flow = pawl.workflow { code = "t.wait", start = "first" }
      flow:wait("first", { event = "paid.*", key = "order", next = "a" })
      flow:step("a", { run = function() end, next = "second" })
      flow:wait("second", { event = "paid.*", key = "order", next = "z" })
      flow:finish "z"
      local engine, clock = fresh(flow)
      keep(engine, 10)
      start_many(engine, "t.slow", SLOW)
      start_many(engine, "t.wait", 5 * MANY,
        function(i) return { order = "o" .. i % 10 + 1 } end)
      play(engine, clock, budget)
      assert.equal(0, stuck(engine, "t.slow"))
      assert.equal(0, stuck(engine, "t.wait"))
    end)

    it("and behind handlers that wait, in ticks " .. name, function()
      local flow = pawl.workflow { code = "t.wait", start = "a" }
      flow:step("a", { run = function(ctx) ctx.await(0.01) end, next = "w" })
      flow:wait("w", { event = "paid.*", key = "order", next = "z" })
      flow:finish "z"
      local engine, clock = fresh(flow)
      keep(engine, MANY)
      start_many(engine, "t.slow", SLOW)
      start_many(engine, "t.wait", MANY,
        function(i) return { order = "o" .. i } end)
      play(engine, clock, budget)
      assert.equal(0, stuck(engine, "t.slow"))
      assert.equal(0, stuck(engine, "t.wait"))
    end)

    it("an each begins and ends all its items, in ticks " .. name, function()
      local flow = pawl.workflow { code = "t.each", start = "all" }
      flow:each("all", { branch = "it", window = 1, next = "z", into = "got",
        items = function()
          local list = {}
          for i = 1, 6 do list[i] = i end
          return list
        end })
      flow:step("it", { next = "all", run = function(ctx)
        ctx.await(0.01)
        return nil, ctx.token.data.item
      end })
      flow:finish("z")
      local engine, clock = fresh(flow)
      start_many(engine, "t.slow", SLOW)
      start_many(engine, "t.each", MANY)
      play(engine, clock, budget)
      assert.equal(0, stuck(engine, "t.slow"))
      assert.equal(0, stuck(engine, "t.each"))
    end)
  end
end)

--- An ear that waits for "go" beside `build(flow)`'s branch from "work", which
--- comes to the join at "both".
local function ear_flow(build, key)
  local flow = pawl.workflow { code = "t.ear", start = "split" }
  flow:fork("split", { next = { "ear", "work" } })
  flow:wait("ear", { event = "go", key = key, next = "both" })
  build(flow)
  flow:join("both", { expect = "all", next = "z" })
  flow:finish "z"
  return flow
end

kit.describe("an event for one branch", function(backend)
  local function waiting_step(state)
    return function(flow)
      flow:step("work", { next = "both", run = function(ctx)
        ctx.await(function() return state.go end)
      end })
    end
  end

  it("that comes while another's handler waits is taken after it", function()
    local state = {}
    local engine, clock = backend.fresh()
    assert(engine:load(ear_flow(waiting_step(state))))
    local id = assert(engine:start "t.ear")
    assert(engine:tick(1))
    assert(engine:signal { name = "go", instance = id })
    clock:advance(1) -- its latch is looked at
    assert(engine:tick(1))
    state.go = true
    play(engine, clock, 1)
    assert.completed(engine, id)
  end)

  it("that was kept is found while another's handler waits, and taken",
    function()
      local state = {}
      local engine, clock = backend.fresh()
      assert(engine:load(ear_flow(waiting_step(state), "order")))
      assert(engine:signal { name = "go", key = "17" })
      local id = assert(engine:start("t.ear", { order = "17" }))
      assert(engine:tick(1))
      clock:advance(1)
      assert(engine:tick(1))
      state.go = true
      play(engine, clock, 1)
      assert.completed(engine, id)
    end)

  it("that comes while a race is decided is taken behind it", function()
    local rival, id
    local engine, clock, url = backend.fresh()
    assert(engine:load(ear_flow(function(flow)
      flow:fork("work", { next = { "quick", "slow" } })
      flow:step("quick", { next = "first", run = function()
        assert(rival:signal { name = "go", instance = id })
      end })
      flow:timer("slow", { after = "1h", next = "first" })
      flow:join("first", { expect = "any", next = "person" })
      flow:task("person", { title = "look", next = "both" })
    end)))
    rival = kit.rival(backend, url, clock)
    id = assert(engine:start "t.ear")
    play(engine, clock, 1)
    assert.equal("both person slow", kit.standing(engine, id))
  end)

  it("that comes between two steps of a busy round is taken", function()
    local rival, id
    local engine, clock, url = backend.fresh()
    assert(engine:load(slow_flow(clock)))
    assert(engine:load(ear_flow(function(flow)
      flow:step("work", { next = "more", run = function(ctx)
        ctx.await(0.01)
        assert(rival:signal { name = "go", instance = id })
      end })
      flow:step("more", { next = "person", run = function() end })
      flow:task("person", { title = "look", next = "both" })
    end)))
    rival = kit.rival(backend, url, clock)
    start_many(engine, "t.slow", SLOW)
    id = assert(engine:start "t.ear")
    play(engine, clock, 10)
    assert.equal("both person", kit.standing(engine, id))
  end)
end)

kit.describe("what is left on the agenda", function(backend)
  local now = backend.name == "sqlite" and "0" or "now()"

  --- A row that is due, as a deleted or an ended instance may leave it.
  local function put_row(url, id)
    backend.sql(url, ([[insert into %s (shard, instance, workflow,
      version, executor_group, priority, ready, due_at, takeovers,
      latch) values (0, %s, 't.one', 1, 'default', 0, true, %s, 0, 0)]])
      :format(kit.table(backend, "agenda"), kit.id_literal(backend, id), now))
    -- one that came so would have been looked at there
    backend.sql(url, ("update %s set latch = 1 where instance = %s"):format(
      kit.table(backend, "agenda"), kit.id_literal(backend, id)))
  end

  it("by an instance that is gone is taken off, and told", function()
    local told = {}
    local engine, _, url = backend.fresh {
      log = function(level, message, fields)
        told[#told + 1] = level .. ": " .. message .. " " .. fields.instance
      end }
    assert(engine:load(kit.one()))
    local lost = kit.draw_id()
    put_row(url, lost)
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.same({ "warn: an agenda row whose instance is gone was taken off "
      .. lost }, told)
  end)

  it("by a child's answer that came too late goes with that", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    put_row(url, id)
    for i, kind in ipairs { "child", "event", "task", "wake", "retry" } do
      backend.sql(url, ([[insert into %s (shard, instance, no, kind, name,
        event_id, source, data, received_at)
        values (0, %s, %s, '%s', 'go', '%s%d', 'system', '{}', %s)]]):format(
        kit.table(backend, "inbox"), kit.id_literal(backend, id),
        kit.id_literal(backend, kit.draw_id()), kind, kind, i, now))
    end
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)
end)
