-- Instances that have failed, moved to another version: where a retry would
-- go on, it goes on there.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local last = kit.last

local ONCE = { max = 1 }

--- Steps a and `name`; the second fails as long as `broken` says so.
local function steps(version, name, broken, options)
  local flow = pawl.workflow { code = "t.f", version = version, start = "a" }
  local a = { next = name, run = function(ctx) ctx.vars.a = version end }
  for key, value in pairs(options or {}) do a[key] = value end
  flow:step("a", a)
  flow:step(name, { next = "z", retry = ONCE, run = function(ctx)
    if broken then error { code = "bug", message = "a bug" } end
    ctx.vars.b = version
  end })
  flow:finish "z"
  return flow
end

--- Puts it on the agenda.
local function revive(store, id, completed)
  assert(store:send("agenda_revive", { shard = kit.shard(id, store:shards()),
    id = id, now = store:now(), completed = completed,
    cancelled = false, deleted = false }))
end

--- One letter as the engine puts it there, past its checks and without taking
--- it.
local function post(store, id, kind, data, completed)
  assert(store:begin "batch")
  revive(store, id, completed or false)
  assert(store:send("inbox_insert", {
    shard = kit.shard(id, store:shards()), id = id,
    no = kit.draw_id(), kind = kind, source = "user", by = "", data = data,
    now = store:now() }))
  assert(store:commit())
end

local function transfer(store, id, from, to, completed)
  post(store, id, "transfer",
    ('{"reason":"","from_version":%d,"to_version":%d}'):format(from, to),
    completed)
end

kit.describe("an instance that has failed", function(backend)
  --- One of version 1 that has failed at b, and version 2.
  local function failed(new, options)
    local engine, clock, url = backend.fresh()
    assert(engine:load(steps(1, "b", true, options)))
    local id = assert(engine:start("t.f", {}, { version = 1 }))
    assert(engine:run())
    assert.failed(engine, id)
    assert(engine:load(new or steps(2, "b")))
    return engine, id, clock, url
  end

  it("goes on in the other version when it is tried again", function()
    local engine, id, clock, url = failed()
    local was = assert(engine:get(id))
    clock:advance(5)
    local movable, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { plan = true }))
    assert.same({}, refused)
    assert.same({ id }, movable)
    assert.equal(1, assert(engine:get(id)).version, "a plan is a plan")
    local moved
    moved, refused = assert(engine.workflows:transfer("t.f", 1, 2, { by = "ann",
      reason = "mended" }))
    assert.same({ id }, moved)
    assert.same({}, refused)
    local is = assert(engine:get(id))
    assert.equal("failed", is.status)
    assert.equal(2, is.version)
    assert.same(was.error, is.error)
    assert.equal(was.completed_at, is.completed_at)
    assert.equal(was.node, is.node)
    assert.equal(was.attempt, is.attempt)
    assert.equal("step a, failed b, transferred b", kit.trail(engine, id))
    assert.equal("version 1 to 2: mended", last(engine, id).text)
    assert.equal("ann", last(engine, id).by)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert(engine:run())
    assert.equal("failed", kit.status(engine, id), "nobody asked for more")
    assert.same({ true, true }, { assert(engine:retry(id)) })
    assert(engine:run())
    is = assert(engine:get(id))
    assert.equal("completed", is.status)
    assert.same({ a = 1, b = 2 }, is.variables)
    assert.equal("step a, failed b, transferred b, retried b, step b",
      kit.trail(engine, id))
  end)

  it("goes to nodes that are called otherwise, with new variables", function()
    local engine, id = failed(steps(2, "c"))
    local movable, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { plan = true }))
    assert.same({}, movable)
    assert.equal(id, refused[1].id)
    assert.equal("b", refused[1].node)
    assert.matches('version 2 has no node "b"', refused[1].reason)
    assert.same({}, (assert(engine.workflows:transfer("t.f", 1, 2))))
    assert.equal(1, assert(engine:get(id)).version)
    assert.equal("step a, failed b", kit.trail(engine, id))
    assert.same({ id }, (assert(engine.workflows:transfer("t.f", 1, 2, {
      map = { b = "c" },
      vars = function(vars) return { a = vars.a + 10 } end,
    }))))
    local is = assert(engine:get(id))
    assert.equal("c", is.node)
    assert.same({ a = 11 }, is.variables)
    assert(engine:retry(id))
    assert(engine:run())
    assert.same({ a = 11, b = 2 }, assert(engine:get(id)).variables)
    assert.equal("step a, failed b, transferred b, retried c, step c",
      kit.trail(engine, id))
  end)

  it("keeps variables of many kilobytes", function()
    local engine, id = failed(nil, { run = function(ctx)
      for i = 1, 8 do ctx.vars["v" .. i] = ("x"):rep(1500) end
    end })
    assert(engine.workflows:transfer("t.f", 1, 2, { vars = function(vars)
      vars.v1, vars.v9 = nil, "y"
      return vars
    end }))
    assert(engine:retry(id))
    assert(engine:run())
    local vars = assert(engine:get(id)).variables
    assert.is_nil(vars.v1)
    assert.equal(1500, #vars.v8)
    assert.equal("y", vars.v9)
    assert.equal(2, vars.b)
  end)

  it("moves from version to version, and back", function()
    local engine, id = failed(steps(2, "c"))
    assert(engine:load(steps(3, "b")))
    assert(engine.workflows:transfer("t.f", 1, 2, { map = { b = "c" } }))
    assert(engine.workflows:transfer("t.f", 2, 3, { map = { c = "b" } }))
    assert(engine.workflows:transfer("t.f", 3, 1))
    assert(engine.workflows:transfer("t.f", 1, 3))
    assert.failed(engine, id)
    assert(engine:retry(id))
    assert(engine:run())
    assert.same({ a = 1, b = 3 }, assert(engine:get(id)).variables)
  end)

  it("is moved once, however often that is asked", function()
    local engine, id, clock, url = failed()
    assert(engine.workflows:transfer("t.f", 1, 2))
    local moved, refused = assert(engine.workflows:transfer("t.f", 1, 2))
    assert.same({ {}, {} }, { moved, refused })
    local store = kit.store(url, clock)
    for _ = 1, 2 do
      transfer(store, id, 1, 2)
    end
    assert(engine:run())
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal("transfer: it runs version 2 already", last(engine, id).text)
    local n = 0
    for _, row in ipairs(assert(engine:history(id))) do
      n = n + (row.type == "transferred" and 1 or 0)
    end
    assert.equal(1, n)
    assert.failed(engine, id)
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal(2, assert(engine:get(id)).variables.b)
  end)

  it("is moved by him who holds it, before what is asked behind", function()
    local engine, id, clock, url = failed()
    local store = kit.store(url, clock)
    assert(store:begin "batch")
    revive(store, id, false)
    assert(store:commit())
    kit.claim(store, id)
    local moved, refused, asked = assert(engine.workflows:transfer("t.f", 1, 2))
    assert.same({ {}, {}, { id } }, { moved, refused, asked })
    assert.same({ true, false }, { assert(engine:retry(id)) })
    clock:advance(31) -- he is gone
    assert(engine:run())
    assert.equal("step a, failed b, transferred b, retried b, step b",
      kit.trail(engine, id))
    assert.completed(engine, id)
    assert.equal(2, assert(engine:get(id)).variables.b)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("is moved on the way, when it is tried again first", function()
    local engine, id, clock, url = failed()
    local store = kit.store(url, clock)
    post(store, id, "retry", "{}")
    transfer(store, id, 1, 2)
    assert(engine:run())
    assert.equal("step a, failed b, retried b, transferred b, step b",
      kit.trail(engine, id))
    assert.completed(engine, id)
  end)

  it("loses no letter of two moves", function()
    local engine, id, clock, url = failed()
    assert(engine:load(steps(3, "b")))
    local store = kit.store(url, clock)
    transfer(store, id, 1, 2)
    transfer(store, id, 2, 3)
    assert(engine:run())
    assert.equal("step a, failed b, transferred b, transferred b",
      kit.trail(engine, id))
    assert.equal(3, assert(engine:get(id)).version)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("is looked at by whoever holds it, as it is by then", function()
    local engine, id, clock, url = failed(steps(2, "c"))
    local store = kit.store(url, clock)
    transfer(store, id, 1, 2)
    assert(engine:run())
    assert.equal("refused", last(engine, id).type)
    assert.matches('^transfer: version 2 has no node "b"',
      last(engine, id).text)
    assert.equal(1, assert(engine:get(id)).version)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert(engine:retry(id)) -- it still stands there
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("b", last(engine, id).node)
  end)

  it("needs a counterpart of what can be undone", function()
    local function undoable(version, name)
      local flow = pawl.workflow { code = "t.f", version = version,
        start = name, compensate = false }
      flow:step(name, { next = "b", run = function() end,
        undo = function() end })
      flow:step("b", { next = "z", retry = ONCE, run = function()
        if version == 1 then error "no" end
      end })
      flow:finish "z"
      return flow
    end
    local engine = backend.fresh()
    assert(engine:load(undoable(1, "a")))
    local id = assert(engine:start "t.f")
    assert(engine:run())
    assert(engine:load(undoable(2, "c")))
    local _, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { plan = true }))
    assert.matches('"a" was done and can be undone', refused[1].reason)
    assert.same({ id }, (assert(engine.workflows:transfer("t.f", 1, 2,
      { map = { a = "c" } }))))
  end)

  it("listens to what cancels it only once it goes on", function()
    local engine, _, url = backend.fresh()
    local one = pawl.workflow { code = "t.f", version = 1, start = "b",
      cancel_on = { { event = "stop", key = "k" } } }
    local two = pawl.workflow { code = "t.f", version = 2, start = "b",
      cancel_on = { { event = "halt", key = "k" } } }
    for n, flow in ipairs { one, two } do
      flow:step("b", { next = "t", retry = ONCE, run = function(ctx)
        ctx.vars.k = "7"
        if n == 1 then error "no" end
      end })
      flow:timer("t", { after = "1h", next = "z" })
      flow:finish "z"
    end
    assert(engine:load(one))
    local id = assert(engine:start "t.f")
    assert(engine:run())
    assert(engine:load(two))
    assert(engine.workflows:transfer("t.f", 1, 2))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(1, kit.count(backend, url, "subscription"))
    assert(engine:signal { name = "halt", key = "7" })
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("stays with its requests when the store refuses them", function()
    local engine, id, _, url = failed(steps(2, "poison"))
    kit.poison(backend, url)
    local moved, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { map = { b = "poison" } }))
    assert.same({}, moved)
    assert.matches("the store refused the result", refused[1].reason)
    local is = assert(engine:get(id))
    assert.equal("failed", is.status)
    assert.equal(1, is.version)
    assert.equal("a bug", is.error.message)
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("b", assert(engine:get(id)).node)
  end)
end)

kit.describe("one that has ended", function(backend)
  local function ended(flow, more)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start "t.f")
    if more then more(engine, id) end
    assert(engine:run())
    assert(engine:load(steps(2, "b")))
    return engine, id, clock, url
  end

  --- Not in a plan, not in a move, and refused by itself.
  local function stays(engine, id, code, pattern)
    local movable, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { plan = true }))
    assert.same({ {}, {} }, { refused, movable })
    assert.same({}, (assert(engine.workflows:transfer("t.f", 1, 2))))
    local core = require "pawl.core"
    local ok, err = core.change(engine, id, { kind = "transfer",
      to_version = 2 })
    assert.is_nil(ok)
    assert.equal(code, err.code)
    assert.matches(pattern, err.message)
    assert.equal(1, assert(engine:get(id)).version)
  end

  it("at a finish is not moved: it stood nowhere", function()
    local flow = pawl.workflow { code = "t.f", version = 1, start = "a" }
    flow:step("a", { next = "z", run = function() end })
    flow:finish("z", { status = "failed" })
    local engine, id = ended(flow)
    assert.failed(engine, id)
    stays(engine, id, "conflict",
      "cannot be transferred: it ended at a finish, "
      .. "or what it had done was undone, and nothing says where it stood")
  end)

  it("and was undone is not moved: there is no way back", function()
    local engine, id = ended(steps(1, "b", true, { undo = function() end }))
    assert.failed(engine, id)
    assert.equal("step a, failed b, undone a, compensated b",
      kit.trail(engine, id))
    stays(engine, id, "conflict", "what it had done was undone")
  end)

  it("as completed is not moved", function()
    local engine, id = ended(steps(1, "b"))
    stays(engine, id, "already_finished", "completed")
  end)

  it("as cancelled is not moved", function()
    local engine, id = ended(steps(1, "b"), function(engine, id)
      assert(engine:cancel(id))
    end)
    stays(engine, id, "already_finished", "cancelled")
  end)

  it("answers requests that come to it all the same", function()
    for _, case in ipairs {
      { steps(1, "b"), "transfer: it has ended: completed" },
      { steps(1, "b", true, { undo = function() end }),
        "transfer: nothing says where it stood: it ended at a finish, or what "
        .. "it had done was undone; restart it from a node" },
    } do
      local engine, id, clock, url = ended(case[1])
      local store = kit.store(url, clock)
      transfer(store, id, 1, 2, true)
      local was = assert(engine:get(id))
      assert(engine:run())
      assert.equal("refused", last(engine, id).type)
      assert.equal(case[2], last(engine, id).text)
      local is = assert(engine:get(id))
      assert.equal(was.status, is.status)
      assert.equal(was.completed_at, is.completed_at)
      assert.equal(0, kit.count(backend, url, "agenda"))
      assert.equal(0, kit.count(backend, url, "inbox"))
    end
  end)
end)

kit.describe("an instance that has failed inside a fork", function(backend)
  --- l, m and a wait: l comes to the join, m fails, the wait waits.
  local function forked(version, suffix)
    local function name(text) return text .. suffix end
    local flow = pawl.workflow { code = "t.f", version = version,
      start = name "f" }
    flow:fork(name "f", { next = { name "l", name "m", name "w" } })
    flow:step(name "l", { next = name "j", run = function(ctx)
      ctx.vars.l = (ctx.vars.l or 0) + 1
    end })
    flow:step(name "m", { next = name "j", retry = ONCE, run = function(ctx)
      if version == 1 then error "no" end
      ctx.vars.m = version
    end })
    flow:wait(name "w", { event = version == 1 and "go" or "went",
      next = name "j" })
    flow:join(name "j", { expect = "all", next = name "e" })
    flow:step(name "e", { next = "z", run = function(ctx)
      ctx.vars.e = version
    end })
    flow:finish "z"
    return flow
  end

  it("goes on with every branch, under its new names", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(forked(1, "")))
    local id = assert(engine:start "t.f")
    assert(engine:run())
    assert.failed(engine, id)
    assert(engine:load(forked(2, "2")))
    local map = { f = "f2", l = "l2", m = "m2", w = "w2", j = "j2", e = "e2" }
    local _, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { plan = true }))
    assert.equal(1, #refused)
    assert.same({ id }, (assert(engine.workflows:transfer("t.f", 1, 2,
      { map = map }))))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.same({}, assert(engine:get(id)).tokens)
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:signal { name = "went", instance = id })
    assert(engine:run())
    local is = assert(engine:get(id))
    assert.equal("completed", is.status)
    assert.same({ l = 1, m = 2, e = 2 }, is.variables)
  end)

  it("is not moved out of it", function()
    local engine = backend.fresh()
    assert(engine:load(forked(1, "")))
    local id = assert(engine:start "t.f")
    assert(engine:run())
    local flow = pawl.workflow { code = "t.f", version = 2, start = "l" }
    for _, pair in ipairs { { "l", "m" }, { "m", "w" } } do
      flow:step(pair[1], { next = pair[2], run = function() end })
    end
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local movable, refused = assert(engine.workflows:transfer("t.f", 1, 2,
      { plan = true }))
    assert.same({}, movable)
    assert.equal(id, refused[1].id)
    assert.matches('version 2 has no node "j"', refused[1].reason)
  end)

  it("goes on with the branches of an each", function()
    local function each(version, name, event)
      local flow = pawl.workflow { code = "t.f", version = version,
        start = name, deadline = "1h" }
      flow:each(name, { items = function() return { 1, 2, 3 } end,
        branch = "w", into = "all", window = 2, next = "z" })
      flow:wait("w", { event = event, next = "s" })
      flow:step("s", { next = name, run = function(ctx)
        return nil, ctx.token.data.item * version
      end })
      flow:finish "z"
      return flow
    end
    local engine, clock = backend.fresh()
    assert(engine:load(each(1, "e", "go")))
    local id = assert(engine:start "t.f")
    assert(engine:run())
    clock:advance "2h"
    assert(engine:run())
    assert.failed(engine, id)
    assert(engine:load(each(2, "e2", "went")))
    assert.same({ id }, (assert(engine.workflows:transfer("t.f", 1, 2,
      { map = { e = "e2" } }))))
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    while kit.status(engine, id) == "waiting" do
      assert(engine:signal { name = "went", instance = id })
      assert(engine:run())
    end
    local is = assert(engine:get(id))
    assert.equal("completed", is.status)
    assert.same({ 2, 4, 6 }, is.variables.all)
  end)
end)

kit.describe("a child that has failed", function(backend)
  it("is moved, and its parent hears nothing of that", function()
    local parent = pawl.workflow { code = "t.p", start = "call" }
    parent:call("call", { workflow = "t.f", version = 1, next = "good",
      on_error = { bug = "hold" } })
    parent:finish "good"
    parent:timer("hold", { after = "1h", next = "good" })
    local engine, clock = backend.fresh()
    assert(engine:load(steps(1, "b", true)))
    assert(engine:load(parent))
    local up = assert(engine:start "t.p")
    assert(engine:run())
    local down = assert(engine:list { workflow = "t.f" })[1].id
    assert.failed(engine, down)
    local heard = kit.trail(engine, up)
    assert.equal("waiting", kit.status(engine, up))
    assert(engine:load(steps(2, "b")))
    assert.same({ down }, (assert(engine.workflows:transfer("t.f", 1, 2))))
    assert(engine:run())
    assert.equal(heard, kit.trail(engine, up))
    assert(engine:retry(down))
    assert(engine:run())
    assert.completed(engine, down)
    assert.equal(2, assert(engine:get(down)).variables.b)
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, up)
  end)
end)
