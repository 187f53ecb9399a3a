-- A decision and the step that it leads to are stored together, where that can
-- be: docs/decisions/0024. What the decision rests on is on disk.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- w, then a, then b, then z. `run` is a's; `options` are more of a's.
local function waiting(run, options)
  local flow = pawl.workflow { code = "t.wait", start = "w" }
  local step = { run = run or function() end, next = "b" }
  for key, value in pairs(options or {}) do step[key] = value end
  flow:wait("w", { event = "go", next = "a" })
  flow:step("a", step)
  flow:step("b", { run = function(ctx) ctx.vars.b = true end, next = "z" })
  flow:finish "z"
  return flow
end

local function begin(engine)
  local id = assert(engine:start "t.wait")
  assert(engine:run())
  assert.equal("waiting", kit.status(engine, id))
  return id
end

local function go(engine, id, data)
  assert(engine:signal { name = "go", instance = id, data = data })
end

--- Commits until nothing is due.
local function commits(engine)
  return assert(engine:run()).commits
end

local function trail(engine, id)
  return (kit.trail(engine, id):gsub("^started w, ", ""))
end

kit.describe("a decision", function(backend)
  it("is stored with the step behind it", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    go(engine, id, 5)
    assert.equal(2, commits(engine)) -- w and a; b and z
    assert.equal("received w, step a, step b", trail(engine, id))
  end)

  it("is so for a time, too", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.timer", start = "t" }
    flow:timer("t", { after = "1h", next = "a" })
    flow:step("a", { run = function() end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    clock:advance "1h"
    assert.equal(1, commits(engine))
    assert.equal("started t, timer t, step a", kit.trail(engine, id))
  end)

  it("is stored also when the step fails, and not taken again", function()
    local engine, clock = backend.fresh()
    local events = {}
    assert(engine:load(waiting(function(ctx)
      events[#events + 1] = ctx.event.data
      if ctx.attempt == 1 then error "not yet" end
    end, { retry = { max = 2, base = "1m" } })))
    local id = begin(engine)
    go(engine, id, 5)
    assert(engine:run())
    assert.equal("a", assert(engine:get(id)).tokens[1].node)
    assert.equal("received w, failed a", trail(engine, id))
    clock:advance "2m"
    assert(engine:run())
    assert.same({ 5, 5 }, events)
    assert.equal("received w, failed a, step a, step b", trail(engine, id))
  end)

  it("is kept when the store refuses the step's result", function()
    local engine, _, url = backend.fresh()
    kit.poison(backend, url)
    local runs, output = 0, "poison"
    assert(engine:load(waiting(function()
      runs = runs + 1
      return nil, output
    end)))
    local id = begin(engine)
    go(engine, id)
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.matches("the store refused the result", instance.error.message)
    assert.equal(2, runs) -- once with the decision, once by itself
    assert.matches("^received w, ", trail(engine, id))
    output = "food" -- mended: it goes on behind the wait, whose event is gone
    assert(engine:retry(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is told of a cancellation that comes while the step runs", function()
    local a, b
    a, b = kit.pair(backend, { waiting(function(ctx)
      assert(b:cancel(ctx.id, "stop"))
    end) })
    local id = begin(a)
    go(a, id)
    assert(a:run())
    assert.equal("cancelled", kit.status(a, id))
    assert.equal("received w, step a, cancelled b", trail(a, id))
  end)

  it("is told of one also where the step would have been the last", function()
    local a, b
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "go", next = "a" })
    flow:step("a", { next = "z", run = function(ctx)
      assert(b:cancel(ctx.id, "stop"))
    end })
    flow:finish "z"
    a, b = kit.pair(backend, { flow })
    local id = begin(a)
    go(a, id)
    assert(a:run())
    assert.equal("cancelled", kit.status(a, id))
    assert.equal("received w, step a, cancelled z", trail(a, id))
  end)

  it("leaves what comes meanwhile to the next wait", function()
    local a, b
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "go", next = "a" })
    flow:step("a", { next = "v", run = function(ctx)
      assert(b:signal { name = "go", instance = ctx.id, data = 2 })
    end })
    flow:wait("v", { event = "go", next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.event.data end })
    a, b = kit.pair(backend, { flow })
    local id = begin(a)
    go(a, id, 1)
    assert(a:run())
    assert.equal(2, assert(a:get(id)).output)
    assert.equal("received w, step a, received v", trail(a, id))
  end)

  it("is stored before a handler is waited for", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting(function(ctx) ctx.await(60) end)))
    local id = begin(engine)
    go(engine, id)
    assert(engine:tick(1))
    assert.equal("received w", trail(engine, id))
    assert.equal("a", assert(engine:get(id)).tokens[1].node)
    clock:advance "2m"
    assert(engine:run())
    assert.equal("received w, step a, step b", trail(engine, id))
  end)

  it("is stored by itself before a transactional step", function()
    local engine = backend.fresh()
    assert(engine:load(waiting(function(ctx)
      ctx.db:query "select 1"
    end, { transactional = true })))
    local id = begin(engine)
    go(engine, id)
    assert.equal(3, commits(engine))
    assert.equal("received w, step a, step b", trail(engine, id))
  end)

  it("is stored alone where a handler was asked, as it may say something else "
    .. "the second time", function()
    for _, how in ipairs {
      { match = function(event, ctx) return event.data > ctx.now() end },
      { choose = function(ctx)
          return ctx.event.data > ctx.now() and "a" or "late"
        end },
    } do
      local one, two, clock
      local runs = {}
      local flow = pawl.workflow { code = "t.asked", start = "w" }
      flow:wait("w", { event = "go", match = how.match,
        next = how.choose and "c" or "a" })
      if how.choose then
        flow:choice("c", { choose = how.choose,
          next = { a = "a", late = "late" } })
        flow:step("late", { next = "z", run = function()
          runs[#runs + 1] = "late"
        end })
      end
      flow:step("a", { next = "z", run = function()
        runs[#runs + 1] = "a"
        if #runs > 1 then return end
        clock:advance "1m" -- the lease ends, and so does what was true
        assert(two:run())
      end })
      flow:finish "z"
      one, two, clock = kit.pair(backend, { flow })
      local id = assert(one:start "t.asked")
      assert(one:run())
      go(one, id, one:now() + 10)
      assert(one:run())
      assert.same({ "a", "a" }, runs)
      assert.completed(one, id)
    end
  end)

  it("is stored alone for an event that is not kept for ever", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.kept", start = "w" }
    flow:wait("w", { event = "go", key = function() return "k" end,
      next = "a" })
    flow:step("a", { run = function() end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:signal { name = "go", key = "k", ttl = "1h" })
    local id = assert(engine:start "t.kept")
    assert.equal(3, commits(engine)) -- the beginning, w, a
    assert.completed(engine, id)
  end)

  it("is no progress of an instance that was taken over", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    local seen
    assert(engine:load(waiting(function(ctx)
      seen = kit.agenda(store, ctx.id).takeovers
    end)))
    local id = begin(engine)
    go(engine, id)
    kit.claim(store, id)
    clock:advance "1m"
    assert(engine:run())
    assert.equal(1, seen)
    assert.completed(engine, id)
  end)

  it("is taken again, and alone, when its holder died in the step", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(waiting()))
    local id = begin(engine)
    go(engine, id)
    kit.claim(store, id) -- somebody who comes to nothing
    clock:advance "1m"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("recovered w, received w, step a, step b", trail(engine, id))
  end)
end)
