-- Cancelling: recorded at once, done by whoever holds the instance.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("cancelling", function(backend)
  it("an instance nobody holds is done at once", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    clock:advance(5)
    local ok, done = assert(engine:cancel(id, { reason = "no longer wanted",
      by = "ann" }))
    assert.is_true(ok)
    assert.is_true(done)
    local instance = assert(engine:get(id))
    assert.equal("cancelled", instance.status)
    assert.same({}, instance.tokens)
    assert.equal("t", instance.node)
    assert.equal("no longer wanted", instance.cancellation.reason)
    assert.equal("ann", instance.cancellation.by)
    assert.equal("user", instance.cancellation.source)
    assert.is_string(instance.cancellation.requested_at)
    assert.is_string(instance.times.completed)
    local history = assert(engine:history(id))
    local entry = history[#history]
    assert.equal("cancelled", entry.type)
    assert.equal("no longer wanted", entry.text)
    assert.equal("ann", entry.by)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
    clock:advance "2h"
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("needs no worker that knows the workflow", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local client = kit.rival(backend, url, clock,
      { group = "nobody", prefixes = "none.", stored_code = "own" })
    local _, done = assert(client:cancel(id, "stop"))
    assert.is_true(done)
    assert.equal("cancelled", kit.status(client, id))
    assert.equal("cancelled", kit.trail(client, id))
  end)

  it("is heard by the handler that runs", function()
    local a, b
    local heard = {}
    local flow = kit.one(function(ctx)
      heard[1] = ctx.cancelled()
      assert(b:cancel(ctx.id, "stop"))
      heard[2] = ctx.cancelled()
    end)
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.same({ false, true }, heard)
    assert.equal("cancelled", kit.status(a, id))
  end)

  it("comes before the next step, whose handler does not run", function()
    local a, b
    local ran = {}
    local flow = kit.chain {
      function(ctx)
        ran[#ran + 1] = "a"
        ctx.vars.kept = true
        assert(b:cancel(ctx.id, "stop"))
      end,
      function() ran[#ran + 1] = "b" end,
    }
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.chain")
    assert(a:run())
    assert.same({ "a" }, ran)
    assert.equal("step a, cancelled b", kit.trail(a, id))
    assert.is_true(assert(a:get(id)).variables.kept)
  end)

  it("comes before a retry", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function()
      runs = runs + 1
      error "no"
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local _, done = assert(engine:cancel(id, "enough"))
    assert.is_true(done)
    clock:advance "1h"
    assert(engine:run())
    assert.equal(1, runs)
    assert.equal("failed a, cancelled a", kit.trail(engine, id))
    assert.is_nil(assert(engine:get(id)).error)
  end)

  it("ends what is suspended", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function() error "no" end,
      { retry = false, on_exhausted = "suspend" })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    local _, done = assert(engine:cancel(id))
    assert.is_true(done)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("takes the first of several requests", function()
    local a, b
    local flow = kit.one(function(ctx)
      assert(b:cancel(ctx.id, { reason = "first", by = "ann" }))
      assert(b:cancel(ctx.id, { reason = "second", by = "bob" }))
    end)
    local _, url
    a, b, _, url = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.equal("first", assert(a:get(id)).cancellation.reason)
    assert.equal("step a, cancelled z", kit.trail(a, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("survives the death of the worker that held it", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    kit.claim(kit.store(url, clock), id) -- a worker that dies with it
    local ok, done = assert(engine:cancel(id, "stop"))
    assert.is_true(ok)
    assert.is_false(done)
    assert.equal("running", kit.status(engine, id))
    clock:advance(31)
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("stop", assert(engine:get(id)).cancellation.reason)
  end)

  it("is refused for what has ended or never was", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local ok, err = engine:cancel(id)
    assert.is_nil(ok)
    assert.equal("already_finished", err.code)
    assert.equal("step a", kit.trail(engine, id))
    ok, err = engine:cancel(kit.draw_id())
    assert.is_nil(ok)
    assert.equal("notfound", err.code)
    ok, err = engine:cancel(id, "\255")
    assert.is_nil(ok)
    assert.equal("value", err.code)
  end)

  it("keeps any text", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local reason = 'a "b" \\ \n \u{1F600} \'; drop table'
    assert(engine:cancel(id, { reason = reason, by = reason }))
    local instance = assert(engine:get(id))
    assert.equal(reason, instance.cancellation.reason)
    assert.equal(reason, instance.cancellation.by)
    assert.is_truthy(pawl.json.encode(instance))
  end)
end)

--- A timer of 100 seconds, a wait, or a task, and an event that ends it.
local function ended_by(kind)
  local flow = pawl.workflow { code = "t.off", cancel_on = "off" }
  if kind == "timer" then
    flow:timer("a", { after = 100, next = "z" })
  elseif kind == "wait" then
    flow:wait("a", { event = "go", next = "z" })
  else
    flow:task("a", { title = "Sign", next = "z" })
  end
  flow:finish "z"
  return flow
end

kit.describe("an event that cancels", function(backend)
  --- What somebody else does about it, who runs nothing.
  local BETWEEN = {
    ["it is edited"] = function(client, id)
      assert(client:edit(id, { set = { x = 1 } }))
    end,
    ["it is resumed"] = function(client, id) assert(client:resume(id)) end,
    ["it is resumed, and was looked at"] = function(client, id, engine)
      assert(engine:run())
      assert(client:resume(id))
    end,
  }
  for _, kind in ipairs { "timer", "wait", "task" } do
    for what, between in pairs(BETWEEN) do
      it(("does so though %s before anybody looks, at a %s"):format(what, kind),
        function()
          local engine, clock, url = backend.fresh()
          assert(engine:load(ended_by(kind)))
          local client = kit.rival(backend, url, clock)
          local id = assert(engine:start "t.off")
          assert(engine:run())
          if what:find "resumed" then assert(client:suspend(id)) end
          clock:advance(1)
          assert(client:signal { name = "off", instance = id })
          clock:advance(1)
          between(client, id, engine)
          assert(engine:run())
          assert.equal("cancelled", kit.status(engine, id))
          local output, err = engine:result(id, { timeout = 0 })
          assert.same({ nil, "cancelled" }, { output, err.code })
          assert.matches("was cancelled$", err.message)
        end)
    end
  end
end)

kit.describe("what lay there before it was waited for", function(backend)
  local function note(text)
    return function(ctx) ctx.vars.log = (ctx.vars.log or "") .. text end
  end

  --- What comes of it when nobody looks before 30: events by their times.
  ---@param build fun(flow: pawl.Workflow)
  local function late(build, events)
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.lay", cancel_on = "off" }
    build(flow)
    assert(engine:load(flow))
    local id = assert(engine:start("t.lay", { order = "1" }))
    assert(engine:run())
    local now = 0
    for _, event in ipairs(events) do
      clock:jump(event[1] - now)
      now = event[1]
      assert(engine:signal { name = event[2], key = event[3],
        instance = not event[3] and id or nil })
    end
    clock:jump(30 - now)
    assert(engine:run())
    local got = assert(engine:get(id))
    return got.status, got.variables.log or "", got.node
  end

  it("is taken before what came later cancels", function()
    assert.equal("completed", (late(function(flow)
      flow:timer("t", { after = 10 })
      flow:wait("w", { event = "paid" })
      flow:finish "done"
    end, { { 5, "paid" }, { 20, "off" } })))
    assert.equal("completed", (late(function(flow)
      flow:wait("a", { event = "one" })
      flow:wait("b", { event = "two" })
      flow:finish "done"
    end, { { 5, "two" }, { 10, "one" }, { 20, "off" } })))
  end)

  it("is taken so by a key, too", function()
    assert.equal("completed", (late(function(flow)
      flow:timer("t", { after = 10 })
      flow:wait("w", { event = "paid", key = "order" })
      flow:finish "done"
    end, { { 5, "paid", "1" }, { 20, "off" } })))
  end)

  it("begins a lane, and is before what interrupts", function()
    local status, log = late(function(flow)
      flow:timer("t", { after = 10 })
      flow:wait("w", { event = "go",
        on_event = { event = "note", interrupt = false, run = note "n" } })
      flow:finish "done"
    end, { { 5, "note" }, { 20, "go" } })
    assert.same({ "completed", "n" }, { status, log })
    assert.same({ "completed", "", "done" }, { late(function(flow)
      flow:timer("t", { after = 10 })
      flow:wait("w", { event = "go",
        on_event = { event = "stop", next = "stopped" } })
      flow:finish "done"
      flow:finish "stopped"
    end, { { 5, "go" }, { 20, "stop" } }) })
  end)

  it("ends an instance by its last branch before what came later", function()
    local status, log = late(function(flow)
      flow:fork("k", { next = { "s", "w" } })
      flow:step("s", { run = note "s", next = "j" })
      flow:wait("w", { event = "e", next = "j" })
      flow:join("j", { expect = "any" })
      flow:finish "done"
    end, { { 5, "e" }, { 20, "off" } })
    assert.same({ "completed", "s" }, { status, log })
  end)

  it("a branch that was put somewhere by hand has its place", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.lay", deadline = 20 }
    flow:fork("k", { next = { "w", "t" } })
    flow:wait("w", { event = "e", next = "s" })
    flow:step("s", { run = note "s", next = "j" })
    flow:timer("t", { after = 15, next = "u" })
    flow:step("u", { run = note "u", next = "j" })
    flow:join("j", { expect = "any", losers = "cancel", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.lay")
    assert(engine:run())
    clock:jump(10)
    for _, token in ipairs(assert(engine:tokens(id))) do
      if token.node == "w" then
        assert(engine:move(id, { token = token.no, to = "s" }))
      end
    end
    clock:jump(30)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("s", assert(engine:get(id)).variables.log)
  end)
end)
