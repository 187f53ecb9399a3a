-- Acting on instances from outside: suspended, resumed, tried again, moved,
-- edited, woken, killed; by whoever holds them, or at once.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local last, refused = kit.last, kit.refused

local waiting = samples.waiting

local HOUR = 3600

--- a (which fails until `state.good`), then b, then z.
local function failing(state, code)
  local flow = pawl.workflow { code = code or "t.failing", start = "a" }
  flow:step("a", { next = "b", run = function(ctx) ctx.vars.a = 1 end })
  flow:step("b", { next = "z", retry = false, run = function(ctx)
    state.runs = (state.runs or 0) + 1
    if not state.good then error { code = "bank_closed" } end
    ctx.vars.b = ctx.vars.a + 1
  end })
  flow:finish "z"
  return flow
end

kit.describe("suspending while it is held", function(backend)
  it("can be taken back before it has been done", function()
    local a, b, report
    local flow = pawl.workflow { code = "t.held", start = "a" }
    flow:step("a", { next = "b", run = function(ctx)
      local id = ctx.id
      report = { select(2, assert(b:suspend(id))),
        select(2, assert(b:resume(id, { by = "ann" }))) }
      report[3] = select(2, b:resume(id)).code
    end })
    flow:step("b", { next = "z", run = function() end })
    flow:finish "z"
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.held")
    assert(a:run())
    assert.same({ false, false, "conflict" }, report)
    assert.equal("step a, suspended b, resumed b, step b",
      kit.trail(a, id))
    assert.completed(a, id)
  end)
end)

kit.describe("an instance that is suspended", function(backend)
  local function started()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    return engine, id, clock, url
  end

  it("does nothing until it is resumed", function()
    local engine, id, clock, url = started()
    local ok, done = assert(engine:suspend(id, { by = "ann",
      reason = "wrong price" }))
    assert.is_true(ok)
    assert.is_true(done)
    assert.equal("suspended", kit.status(engine, id))
    local entry = last(engine, id)
    assert.equal("suspended", entry.type)
    assert.equal("ann", entry.by)
    assert.equal("wrong price", entry.text)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
    clock:advance "2h"
    assert.equal(0, assert(engine:run()).claimed)
    assert.is_true((select(2, assert(engine:resume(id, { by = "bob" })))))
    assert.equal("resumed", last(engine, id).type)
    assert.equal("bob", last(engine, id).by)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("leaves no row behind when it is woken in its sleep", function()
    local engine, id, _, url = started()
    assert(engine:suspend(id))
    assert(engine:edit(id, { set = { price = 3 } }))
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert.equal(3, assert(engine:get(id)).variables.price)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("has its times put off by as long as it took, when asked", function()
    local engine, id, clock = started()
    clock:advance(HOUR / 2)
    assert(engine:suspend(id))
    clock:advance "10h"
    assert(engine:resume(id, { shift = true }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(HOUR / 2 - 1)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(2)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is due at once without, where its time has come meanwhile", function()
    local engine, id, clock = started()
    assert(engine:suspend(id))
    clock:advance "10h"
    assert(engine:resume(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is suspended by its holder after the step under way", function()
    local a, b
    local ran, done = {}, nil
    local flow = kit.chain {
      function(ctx)
        ran[#ran + 1] = "a"
        local _
        _, done = assert(b:suspend(ctx.id, { by = "ann", reason = "stop" }))
      end,
      function() ran[#ran + 1] = "b" end,
    }
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.chain")
    assert(a:run())
    assert.is_false(done)
    assert.same({ "a" }, ran)
    assert.equal("suspended", kit.status(a, id))
    assert.equal("ann", last(a, id).by)
    assert(b:resume(id))
    assert(a:run())
    assert.same({ "a", "b" }, ran)
    assert.completed(a, id)
  end)

  it("cannot be suspended again, nor resumed when it is not", function()
    local engine, id = started()
    refused("conflict", "cannot be resumed; it is waiting", nil,
      engine:resume(id))
    assert(engine:suspend(id))
    refused("conflict", "need not be suspended", nil, engine:suspend(id))
    assert(engine:resume(id))
  end)

  it("can be suspended by somebody who does not know its code", function()
    local engine, id, clock, url = started()
    local client = kit.rival(backend, url, clock,
      { group = "nobody", prefixes = "none.", stored_code = "own" })
    local _, done = assert(client:suspend(id))
    assert.is_true(done)
    assert.equal("suspended", kit.status(engine, id))
  end)
end)

kit.describe("one that failed", function(backend)
  it("tries again where it failed, and keeps what was finished", function()
    local engine, _, url = backend.fresh()
    local state = {}
    assert(engine:load(failing(state)))
    local id = assert(engine:start "t.failing")
    assert(engine:run())
    assert.failed(engine, id)
    state.good = true
    local _, done = assert(engine:retry(id, { by = "ann",
      reason = "the bank is back" }))
    assert.is_true(done)
    assert.equal("retried", last(engine, id).type)
    assert.equal("ann", last(engine, id).by)
    assert.equal("the bank is back", last(engine, id).text)
    assert.equal(1, state.runs, "no handler runs in the call")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.is_nil(instance.error)
    assert.same({ a = 1, b = 2 }, instance.variables)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("may fail again, and be tried again", function()
    local engine = backend.fresh()
    local state = {}
    assert(engine:load(failing(state)))
    local id = assert(engine:start "t.failing")
    assert(engine:run())
    for n = 2, 4 do
      assert(engine:retry(id))
      assert(engine:run())
      assert.equal(n, state.runs)
      assert.failed(engine, id)
    end
    state.good = true
    assert(engine:retry(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is no longer said to have ended while it goes on", function()
    local engine = backend.fresh()
    assert(engine:load(failing {}))
    local id = assert(engine:start "t.failing")
    assert(engine:run())
    assert.is_string(assert(engine:get(id)).times.completed)
    assert(engine:retry(id))
    assert.is_nil(assert(engine:get(id)).times.completed)
  end)

  it("cannot be edited, moved or suspended", function()
    local engine = backend.fresh()
    assert(engine:load(failing {}))
    local id = assert(engine:start "t.failing")
    assert(engine:run())
    for _, call in ipairs {
      function() return engine:edit(id, { set = { x = 1 } }) end,
      function() return engine:move(id, { to = "a" }) end,
      function() return engine:suspend(id) end,
      function() return engine:kill(id) end,
      function() return engine:wake(id) end,
      function() return engine:cancel(id) end,
    } do
      refused("already_finished", "has ended already: failed", nil, call())
    end
  end)

  it("says what is wrong with a restart", function()
    local engine = backend.fresh()
    assert(engine:load(failing {}))
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.failing")
    assert(engine:run())
    refused("invalid", 'no node "bb"', 'did you mean "b"',
      engine:restart(id, { from = "bb" }))
    refused("invalid", "needs `from`", nil, engine:restart(id, {}))
    local other = assert(engine:start "t.timer")
    assert(engine:run())
    refused("conflict", "has not ended and is not suspended", "suspend it",
      engine:restart(other, { from = "t" }))
    refused("conflict", "has not failed", "wake it", engine:retry(other))
    for _, again in ipairs { engine.cancel, engine.kill } do
      local gone = assert(engine:start "t.timer")
      assert(engine:run())
      assert(again(engine, gone))
      assert(engine:run())
      for _, verb in ipairs { "restart", "retry" } do
        refused("already_finished", "has ended already: cancelled",
          "cancelled or killed does not go on: start another one",
          engine[verb](engine, gone, { from = verb == "restart" and "t"
            or nil }))
      end
    end
    local done = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:wake(done))
    assert(engine:run())
    refused("already_finished", "has ended already: completed",
      "restart it from a node", engine:retry(done))
    assert(engine:restart(done, { from = "t" }))
    refused("notfound", "no instance", nil, engine:retry(kit.draw_id()))
  end)
end)

kit.describe("one that is suspended, tried again,", function(backend)
  it("has all its attempts before it", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function()
      runs = runs + 1
      error "no"
    end, { retry = { max = 3, base = "1m", jitter = 0 },
      on_exhausted = "suspend" })))
    local id = assert(engine:start "t.one")
    for round = 1, 2 do
      for _ = 1, 5 do
        assert(engine:run())
        clock:advance "1h"
      end
      assert.equal(3 * round, runs)
      assert.equal("suspended", kit.status(engine, id))
      assert(engine:retry(id))
    end
  end)

  it("is so at one place, where one is named", function()
    local engine = backend.fresh()
    local runs = { left = 0, right = 0 }
    local flow = pawl.workflow { code = "t.two", start = "f" }
    flow:fork("f", { next = { "left", "right" } })
    for name in pairs(runs) do
      flow:step(name, { next = "z", retry = { max = 9, base = "1h",
        jitter = 0 }, run = function()
        runs[name] = runs[name] + 1
        error "no"
      end })
    end
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.two")
    assert(engine:run())
    assert.same({ left = 1, right = 1 }, runs)
    local numbers = {}
    for _, t in ipairs(assert(engine:get(id)).tokens) do
      numbers[t.node] = t.no
    end
    assert(engine:suspend(id))
    assert(engine:retry(id, { token = numbers.right }))
    assert(engine:run())
    assert.same({ left = 1, right = 2 }, runs)
    assert(engine:suspend(id))
    assert(engine:retry(id))
    assert(engine:run())
    assert.same({ left = 2, right = 3 }, runs)
  end)
end)

kit.describe("a token", function(backend)
  it("is moved to another node", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    local _, done = assert(engine:move(id, { to = "a", by = "ann",
      reason = "no time" }))
    assert.is_true(done)
    local instance = assert(engine:get(id))
    assert.equal("a", instance.tokens[1].node)
    assert.equal("active", instance.tokens[1].state)
    local entry = last(engine, id)
    assert.equal("moved", entry.type)
    assert.equal("t", entry.node)
    assert.equal("ann", entry.by)
    assert.is_nil(instance.variables.ran)
    assert(engine:run())
    assert.completed(engine, id)
    clock:advance "2h"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("is asked for by number, where there are several", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.two", start = "f" }
    flow:fork("f", { next = { "left", "right" } })
    flow:timer("left", { after = "1h", next = "j" })
    flow:timer("right", { after = "1h", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.two")
    assert(engine:run())
    local tokens = assert(engine:get(id)).tokens
    assert.equal(2, #tokens)
    refused("conflict", "stands in 2 places", '"left" %(token %d+%)',
      engine:move(id, { to = "j" }))
    refused("conflict", "has no live token 77", "it stands at",
      engine:move(id, { to = "j", token = 77 }))
    refused("invalid", 'no node "jj"', nil,
      engine:move(id, { to = "jj", token = tokens[1].no }))
    assert(engine:move(id, { to = "j", token = tokens[1].no }))
    assert(engine:move(id, { to = "j", token = tokens[2].no }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is moved by its holder, before the next step", function()
    local a, b
    local ran = {}
    local done
    local flow = kit.chain {
      function() ran[#ran + 1] = "a" end,
      function(ctx)
        ran[#ran + 1] = "b"
        local _
        _, done = assert(b:move(ctx.id, { to = "d" }))
      end,
      function() ran[#ran + 1] = "c" end,
      function() ran[#ran + 1] = "d" end,
    }
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.chain")
    assert(a:run())
    assert.is_false(done)
    assert.same({ "a", "b", "d" }, ran)
    assert.completed(a, id)
  end)
end)

kit.describe("variables", function(backend)
  local function started()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    return engine, id, clock, url
  end

  it("are set and removed, with what was there before", function()
    local engine, id = started()
    assert(engine:edit(id, { set = { price = 3, list = { 1, 2 },
      deep = { x = { y = true } } }, by = "ann" }))
    local _, done = assert(engine:edit(id, { set = { price = 9.5 },
      unset = { "list", "nothing" }, by = "bob", reason = "as agreed" }))
    assert.is_true(done)
    assert.same({ price = 9.5, deep = { x = { y = true } } },
      assert(engine:get(id)).variables)
    local entry = last(engine, id)
    assert.equal("changed", entry.type)
    assert.equal("bob", entry.by)
    assert.equal("as agreed", entry.text)
    assert.same({ set = { price = 9.5 }, unset = { "list" } }, entry.changes)
  end)

  it("keep what the running step wrote besides", function()
    local a, b
    a, b = kit.pair(backend, { kit.chain {
      function(ctx)
        ctx.vars.mine = 1
        ctx.vars.both = "step"
        assert(b:edit(ctx.id, { set = { yours = 2, both = "edit" } }))
      end,
      function(ctx) ctx.vars.seen = ctx.vars.yours end,
    } })
    local id = assert(a:start "t.chain")
    assert(a:run())
    assert.same({ mine = 1, yours = 2, both = "edit", seen = 2 },
      assert(a:get(id)).variables)
  end)

  it("are edited only by whoever saw them as they are, if asked", function()
    local engine, id = started()
    local seen = assert(engine:get(id)).commits
    assert(engine:edit(id, { set = { x = 1 }, if_commits = seen }))
    refused("conflict", "has changed meanwhile", "look at it again",
      engine:edit(id, { set = { x = 2 }, if_commits = seen }))
    assert.equal(1, assert(engine:get(id)).variables.x)
  end)

  it("are not edited when a step has changed them before it came", function()
    local a, b
    a, b = kit.pair(backend, { kit.chain {
      function(ctx)
        ctx.vars.x = 1
        assert(b:edit(ctx.id, { set = { x = 2 },
          if_commits = assert(b:get(ctx.id)).commits }))
      end,
      function(ctx) ctx.vars.seen = ctx.vars.x end,
    } })
    local id = assert(a:start "t.chain")
    assert(a:run())
    assert.same({ x = 1, seen = 1 }, assert(a:get(id)).variables)
    assert.equal("step a, refused b, step b", kit.trail(a, id))
  end)

  it("have a limit", function()
    local engine, _, _ = backend.fresh { max_bytes = 2000 }
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    assert(engine:edit(id, { set = { x = ("x"):rep(1500) } }))
    refused("limit", "the limit is 2000", nil,
      engine:edit(id, { set = { y = ("y"):rep(600) } }))
    assert(engine:edit(id, { set = { y = ("y"):rep(600) }, unset = "x" }))
  end)

  it("take nothing that is no object of values", function()
    local engine, id = started()
    refused("invalid", "needs `set`, `unset` or both", nil,
      engine:edit(id, {}))
    assert.error_matches(function()
      engine:edit(id, { set = { 1, 2 } })
    end, "'set' must be a table with names")
    assert.error_matches(function()
      engine:edit(id, { set = 3 })
    end, "'set' must be")
    refused("value", "function", nil,
      engine:edit(id, { set = { f = print } }))
  end)
end)

kit.describe("a time", function(backend)
  it("comes when it is asked for", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    assert(engine:wake(id, { by = "ann" }))
    assert.equal("woken", last(engine, id).type)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("comes earlier, never later", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    assert(engine:wake(id, { at = engine:now() + 2 * HOUR }))
    assert(engine:wake(id, { at = engine:now() + HOUR / 2 }))
    clock:advance(HOUR / 2 + 1)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("comes at the nodes that are named", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    refused("invalid", 'no node "tt"', nil, engine:wake(id, { node = "tt" }))
    assert(engine:wake(id, { nodes = { "a" } }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:wake(id, { node = "t" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)

kit.describe("killing", function(backend)
  it("takes an instance from whoever holds it", function()
    local a, b
    local ran = {}
    a, b = kit.pair(backend, { kit.chain {
      function(ctx)
        ran[#ran + 1] = "a"
        ctx.vars.lost = true
        local _, done = assert(b:kill(ctx.id, { by = "ann",
          reason = "it hangs" }))
        assert.is_true(done)
      end,
      function() ran[#ran + 1] = "b" end,
    } })
    local id = assert(a:start "t.chain")
    local stats = assert(a:run())
    assert.equal(1, stats.lost)
    assert.same({ "a" }, ran)
    local instance = assert(b:get(id))
    assert.equal("cancelled", instance.status)
    assert.same({}, instance.variables)
    assert.equal("killed", last(b, id).type)
    assert.equal("ann", last(b, id).by)
    assert.equal("it hangs", last(b, id).text)
  end)

  it("needs nobody who knows the workflow", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    local client = kit.rival(backend, url, clock,
      { group = "nobody", prefixes = "none.", stored_code = "own" })
    local _, done = assert(client:kill(id))
    assert.is_true(done)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)
end)

kit.describe("cancelling", function(backend)
  it("records source and event", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    assert(engine:cancel(id, { by = "shop", reason = "withdrawn",
      source = "event", event_id = "e-17" }))
    local cancellation = assert(engine:get(id)).cancellation
    assert.equal("event", cancellation.source)
    assert.equal("e-17", cancellation.event_id)
    assert.equal("shop", cancellation.by)
  end)

  local function undoable(undone)
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { next = "t", run = function(ctx) ctx.vars.a = 1 end,
      undo = function() undone[#undone + 1] = "a" end })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    return flow
  end

  it("leaves undoing to those who can run it", function()
    local engine, clock, url = backend.fresh()
    local undone = {}
    assert(engine:load(undoable(undone)))
    local id = assert(engine:start "t.undo")
    assert(engine:run())
    local client = kit.rival(backend, url, clock,
      { group = "nobody", prefixes = "none.", stored_code = "own" })
    local _, done = assert(client:cancel(id, { by = "ann" }))
    assert.is_false(done)
    assert.same({}, undone)
    assert.not_equal("cancelled", kit.status(engine, id))
    assert(engine:run())
    assert.same({ "a" }, undone)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("undoes nothing when told so", function()
    local engine = backend.fresh()
    local undone = {}
    assert(engine:load(undoable(undone)))
    local id = assert(engine:start "t.undo")
    assert(engine:run())
    local _, done = assert(engine:cancel(id, { compensate = false }))
    assert.is_true(done)
    assert(engine:run())
    assert.same({}, undone)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("refuses what it does not know", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    refused("invalid", "`source` must be", nil,
      engine:cancel(id, { source = "moon" }))
    assert.error_matches(function() engine:cancel(id, { wy = "x" }) end,
      "unknown option 'wy'")
  end)
end)

kit.describe("an event for what had not begun and takes none",
  function(backend)
    it("is gone with the instance", function()
      local engine, _, url = backend.fresh()
      assert(engine:load(kit.one()))
      local id = assert(engine:start "t.one")
      assert(engine:suspend(id, { by = "ann" }))
      assert(engine:signal { name = "early", instance = id })
      assert(engine:run())
      assert.equal(1, kit.count(backend, url, "inbox"))
      assert(engine:resume(id, { by = "ann" }))
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal(0, kit.count(backend, url, "inbox"))
    end)
  end)
