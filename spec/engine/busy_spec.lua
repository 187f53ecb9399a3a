-- Instances that never wait for anything: they yield, and may be stopped.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- Goes round through a until `state.stop`, or for `rounds`.
local function looping(state, options)
  local given = { code = "t.busy", start = "a" }
  for key, value in pairs(options or {}) do given[key] = value end
  local flow = pawl.workflow(given)
  flow:step("a", {
    run = function(ctx)
      state.n = (state.n or 0) + 1
      if state.on_step then state.on_step(ctx, state.n) end
      return (state.stop or state.n >= (state.rounds or math.huge)) and "out"
        or "again"
    end,
    next = { again = "a", out = "z" },
  })
  flow:finish "z"
  return flow
end

local function get(engine, id) return assert(engine:get(id)) end

kit.describe("an instance that never waits", function(backend)
  it("yields to the others after a thousand steps, and goes on", function()
    local engine, clock = backend.fresh { batch = 1 }
    local state, seen = { rounds = 1100 }, nil
    state.on_step = function() clock:advance(0.001) end
    assert(engine:load(looping(state)))
    if backend.name == "postgres" then -- which holds a second batch
      assert(engine:load(looping({}, { code = "t.other", busy_limit = 3000 })))
      assert(engine:start("t.other", nil, { priority = 1 }))
    end
    assert(engine:load(kit.one(function() seen = state.n end)))
    local id = assert(engine:start "t.busy")
    clock:advance(1)
    assert(engine:start "t.one")
    assert(engine:tick(600))
    assert.is_true(seen >= 1000 and seen <= 1010, "after " .. seen)
    assert.completed(engine, id)
    assert.equal(1100, #assert(engine:history(id)))
  end)

  it("does not keep others waiting in one batch either", function()
    local engine = backend.fresh()
    local state, at = { rounds = 300 }, {}
    assert(engine:load(looping(state)))
    assert(engine:load(kit.chain {
      function() at[1] = state.n end, function() at[2] = state.n end }))
    assert(engine:start "t.busy")
    assert(engine:start "t.chain")
    assert(engine:run())
    assert.is_true(at[1] <= 2 and at[2] <= 3)
  end)
end)

kit.describe("a busy limit", function(backend)
  it("suspends the instance, and says why", function()
    local engine, clock, url = backend.fresh()
    local state = {}
    assert(engine:load(looping(state, { busy_limit = 20 })))
    local id = assert(engine:start "t.busy")
    assert(engine:run())
    assert.equal(20, state.n)
    local instance = get(engine, id)
    assert.equal("suspended", instance.status)
    assert.equal("busy_loop", instance.error.code)
    assert.matches("20 steps in a row", instance.error.message)
    assert.matches("busy_limit", instance.error.hint)
    assert.equal("a", instance.tokens[1].node)
    local history = assert(engine:history(id))
    assert.equal("suspended", history[#history].type)
    assert.equal(21, #history)
    assert.equal(0, kit.count(backend, url, "agenda"))
    clock:advance "10d"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("counts anew when the instance is resumed", function()
    local engine = backend.fresh()
    local state = {}
    assert(engine:load(looping(state, { busy_limit = 20 })))
    local id = assert(engine:start "t.busy")
    for n = 1, 3 do
      assert(engine:run())
      assert.equal(20 * n, state.n)
      assert.equal("suspended", kit.status(engine, id))
      assert(engine:resume(id))
      assert.is_nil(get(engine, id).error)
    end
    state.stop = true
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is nothing to one that ends before", function()
    local engine = backend.fresh()
    local state = { rounds = 20 }
    assert(engine:load(looping(state, { busy_limit = 20 })))
    local id = assert(engine:start "t.busy")
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is kept from worker to worker", function()
    local a, b
    local state = {}
    state.on_step = function(_, n)
      if n == 12 then a:interrupt() end
    end
    a, b = kit.pair(backend, { looping(state, { busy_limit = 20 }) })
    local id = assert(a:start "t.busy")
    assert(a:tick(1))
    assert.equal(12, state.n)
    assert(b:run())
    assert.equal(20, state.n)
    assert.equal("suspended", kit.status(b, id))
  end)

  it("above a thousand is kept while it yields", function()
    local engine = backend.fresh()
    local state = {}
    assert(engine:load(looping(state, { busy_limit = 1010 })))
    local id = assert(engine:start "t.busy")
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert.equal(1010, state.n)
  end)

  for name, node in pairs {
    ["a timer"] = function(flow)
      flow:timer("pause", { after = 1, next = "a" })
    end,
    ["a wait"] = function(flow)
      flow:wait("pause", { event = "tick", next = "a" })
    end,
  } do
    it("counts anew behind " .. name, function()
      local engine, clock = backend.fresh()
      local n = 0
      local flow = pawl.workflow { code = "t.busy", start = "a",
        busy_limit = 10 }
      flow:step("a", { next = { again = "a", pause = "pause", out = "z" },
        run = function()
          n = n + 1
          return n == 40 and "out" or n % 8 == 0 and "pause" or "again"
        end })
      node(flow)
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.busy")
      for _ = 1, 5 do
        assert(engine:run())
        clock:advance(1)
        if name == "a wait" then
          engine:signal { name = "tick", instance = id }
        end
      end
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal(40, n)
    end)
  end

  it("counts anew behind a delay before the next attempt", function()
    local engine, clock = backend.fresh()
    local state = {}
    state.on_step = function(ctx, n)
      if n % 9 == 0 and ctx.attempt == 1 then error "again" end
    end
    local flow = pawl.workflow { code = "t.busy", start = "a",
      busy_limit = 10 }
    flow:step("a", { next = { again = "a", out = "z" },
      retry = { max = 2, base = 1, jitter = 0 },
      run = function(ctx)
        state.n = (state.n or 0) + 1
        state.on_step(ctx, state.n)
        return state.n >= 40 and "out" or "again"
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.busy")
    for _ = 1, 10 do
      assert(engine:run())
      clock:advance(1)
    end
    assert.completed(engine, id)
  end)

  it("counts the steps of all branches together", function()
    local engine = backend.fresh()
    local n = 0
    local flow = pawl.workflow { code = "t.busy", start = "f",
      busy_limit = 30 }
    flow:fork("f", { next = { "a", "b" } })
    for _, name in ipairs { "a", "b" } do
      flow:step(name, { run = function()
        n = n + 1
        return "again"
      end, next = { again = name, out = "j" } })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.busy")
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert.is_true(n >= 30 and n <= 31, n)
    assert.equal(2, #get(engine, id).tokens)
  end)

  it("leaves it to be cancelled, with what it did undone", function()
    local engine = backend.fresh()
    local undone = 0
    local flow = pawl.workflow { code = "t.busy", start = "a",
      busy_limit = 5 }
    flow:step("a", { run = function() return "again" end,
      undo = function() undone = undone + 1 end,
      next = { again = "a", out = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.busy")
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(5, undone)
  end)
end)
