-- From one version of a workflow to another.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local first, second = samples.first, samples.second

--- Version 2 has a step where version 1 waits for a time.
local function changed()
  local flow = pawl.workflow { code = "t.order", version = 2, start = "a" }
  flow:step("a", { next = "t", run = function() end })
  flow:step("t", { next = "z", run = function() end })
  flow:finish "z"
  return flow
end

kit.describe("moving to another version", function(backend)
  local function started(n, options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(first()))
    local ids = {}
    for i = 1, n do ids[i] = assert(engine:start "t.order") end
    assert(engine:run())
    return engine, ids, clock, url
  end

  it("takes what stands where the new version has a node", function()
    local engine, ids, clock = started(3)
    assert(engine:load(second "t"))
    local movable, refused = assert(engine.workflows:transfer("t.order", 1, 2,
      { plan = true }))
    assert.same({}, refused)
    assert.equal(3, #movable)
    assert.equal(1, assert(engine:get(ids[1])).version, "a plan is a plan")
    local moved
    moved, refused = assert(engine.workflows:transfer("t.order", 1, 2,
      { by = "ann",
      reason = "new law" }))
    assert.equal(3, #moved)
    assert.same({}, refused)
    local history = assert(engine:history(ids[1]))
    assert.equal("transferred", history[#history].type)
    assert.equal("ann", history[#history].by)
    assert.equal("version 1 to 2: new law", history[#history].text)
    assert.equal(2, assert(engine:get(ids[1])).version)
    clock:advance "2h"
    assert(engine:run())
    for _, id in ipairs(ids) do
      local instance = assert(engine:get(id))
      assert.equal("completed", instance.status)
      assert.same({ a = 1, by = 2 }, instance.variables)
    end
  end)

  it("goes to nodes that are called otherwise by a map", function()
    local engine, ids, clock = started(1)
    assert(engine:load(second "pause"))
    local _, refused = assert(engine.workflows:transfer("t.order", 1, 2,
      { plan = true }))
    assert.equal(1, #refused)
    assert.equal(ids[1], refused[1].id)
    assert.equal("t", refused[1].node)
    assert.matches('version 2 has no node "t"', refused[1].reason)
    local moved
    moved, refused = assert(engine.workflows:transfer("t.order", 1, 2))
    assert.same({}, moved)
    assert.equal(1, #refused)
    assert.equal(1, assert(engine:get(ids[1])).version)
    moved = assert(engine.workflows:transfer("t.order", 1, 2,
      { map = { t = "pause" } }))
    assert.same(ids, moved)
    assert.equal("pause", assert(engine:get(ids[1])).tokens[1].node)
    clock:advance "2h"
    assert(engine:run())
    assert.same({ a = 1, by = 2 }, assert(engine:get(ids[1])).variables)
  end)

  it("refuses a node of another kind for what waits", function()
    local engine = started(1)
    assert(engine:load(changed()))
    local _, refused = assert(engine.workflows:transfer("t.order", 1, 2,
      { plan = true }))
    assert.matches('"t" is a timer, and "t" of version 2 a step',
      refused[1].reason)
  end)

  it("gives them new variables", function()
    local engine, ids, clock = started(2)
    assert(engine:load(second "t"))
    local seen = {}
    local moved, refused = assert(engine.workflows:transfer("t.order", 1, 2, {
      vars = function(vars, instance)
        seen[instance.id] = true
        if instance.id == ids[2] then error "not this one" end
        return { a = vars.a + 10, fresh = true }
      end,
    }))
    assert.same({ ids[1] }, moved)
    assert.equal(ids[2], refused[1].id)
    assert.matches("not this one", refused[1].reason)
    assert.same({ [ids[1]] = true, [ids[2]] = true }, seen)
    assert.same({ a = 11, fresh = true },
      assert(engine:get(ids[1])).variables)
    assert.equal(1, assert(engine:get(ids[2])).version)
    clock:advance "2h"
    assert(engine:run())
    assert.equal(1, assert(engine:get(ids[2])).variables.by)
  end)

  it("plans with the variables, too", function()
    local engine, ids = started(1)
    assert(engine:load(second "t"))
    for _, case in ipairs {
      { function() return nil end, "vars gave a nil" },
      { function() return { f = print } end, "cannot be stored" },
      { function() error { code = "x" } end, 'vars failed: {"code":"x"}' },
      { function() error { message = "no" } end, "vars failed: no" },
    } do
      local movable, refused = assert(engine.workflows:transfer("t.order", 1, 2,
        { plan = true, vars = case[1] }))
      assert.same({}, movable)
      assert.equal(ids[1], refused[1].id)
      assert.matches(case[2], refused[1].reason)
    end
  end)

  it("is made by the holder of an instance", function()
    local a, b, clock
    local report
    local flow = pawl.workflow { code = "t.order", version = 1, start = "a" }
    flow:step("a", { next = "b", run = function() end })
    flow:step("b", { next = "c", run = function(ctx)
      ctx.vars.b = 1
      report = { assert(b.workflows:transfer("t.order", 1, 2)) }
    end })
    flow:step("c", { next = "z", run = function(ctx) ctx.vars.c = 1 end })
    flow:finish "z"
    local new = pawl.workflow { code = "t.order", version = 2, start = "b" }
    new:step("b", { next = "c", run = function(ctx) ctx.vars.b = 2 end })
    new:step("c", { next = "z", run = function(ctx) ctx.vars.c = 2 end })
    new:finish "z"
    a, b, clock = kit.pair(backend, { flow, new })
    local id = assert(a:start("t.order", {}, { version = 1 }))
    assert(a:run())
    clock:advance(1)
    assert(a:run())
    assert.same({ {}, {}, { id }, { begun = {}, ended = {} } }, report)
    local instance = assert(b:get(id))
    assert.equal("completed", instance.status)
    assert.equal(2, instance.version)
    assert.same({ b = 1, c = 2 }, instance.variables)
  end)

  it("is refused by the holder where it cannot be by then", function()
    local b, report
    local function flow(version, name)
      local one = pawl.workflow { code = "t.order", version = version,
        start = "a" }
      one:step("a", { next = name, run = function()
        if version == 1 then report = { assert(b.workflows:transfer("t.order",
          1, 2)) } end
      end })
      one:step(name, { next = "z", run = function() end })
      one:finish "z"
      return one
    end
    local a
    a, b = kit.pair(backend, { flow(1, "r"), flow(2, "s") })
    local id = assert(a:start("t.order", {}, { version = 1 }))
    assert(a:run())
    assert.same({ {}, {}, { id }, { begun = {}, ended = {} } }, report)
    assert.equal("step a, refused r, step r", kit.trail(a, id))
    assert.matches('transfer: version 2 has no node "r"',
      assert(a:history(id))[2].text)
    local instance = assert(a:get(id))
    assert.equal("completed", instance.status)
    assert.equal(1, instance.version)
  end)

  it("takes any number, shard by shard, page by page", function()
    local engine, _, clock = started(0, { shards = 3 })
    for _ = 1, 450 do assert(engine:start "t.order") end
    assert(engine:run())
    assert(engine:load(second "t"))
    for _ = 1, 60 do -- begun on neither node yet
      assert(engine:start("t.order", {}, { version = 1, delay = "3h" }))
    end
    local moved, refused = assert(engine.workflows:transfer("t.order", 1, 2))
    assert.equal(510, #moved)
    assert.same({}, refused)
    assert.same({}, ((assert(engine.workflows:transfer("t.order", 1, 2,
      { plan = true })))))
    clock:advance "5h"
    assert(engine:run())
    clock:advance "5h"
    assert(engine:run())
    local done = assert(engine:list { workflow = "t.order", version = 2,
      status = "completed", limit = 1000 })
    assert.equal(510, #done)
  end)

  it("says what is wrong with it", function()
    local engine, ids = started(1)
    assert(engine:load(second "pause"))
    local function fails(code, words, hint, ok, err)
      assert.is_nil(ok)
      assert.equal(code, err.code)
      assert.matches(words, err.message)
      if hint then assert.matches(hint, err.hint or "") end
    end
    fails("notfound", 'no workflow "t.order" version 9', nil,
      engine.workflows:transfer("t.order", 1, 9))
    fails("notfound", 'no workflow "t.ordr"', nil,
      engine.workflows:transfer("t.ordr", 1, 2, { plan = true }))
    fails("invalid", "from one version to another", nil,
      engine.workflows:transfer("t.order", 1, 1, { plan = true }))
    fails("invalid", 'version 1 has no node "tt"', 'did you mean "t"',
      engine.workflows:transfer("t.order", 1, 2, { plan = true,
        map = { tt = "pause" } }))
    fails("invalid", 'version 2 has no node "pauze"', 'did you mean "pause"',
      engine.workflows:transfer("t.order", 1, 2, { plan = true,
        map = { t = "pauze" } }))
    assert.error_matches(function()
      engine.workflows:transfer("t.order", "1", 2)
    end, "bad argument #2 to 'workflows:transfer'")
    assert.equal(1, assert(engine:get(ids[1])).version)
  end)

  it("checks the forks around a token", function()
    local engine = backend.fresh()
    local function forked(version, fork)
      local flow = pawl.workflow { code = "t.fork", version = version,
        start = fork }
      flow:fork(fork, { next = { "left", "right" } })
      flow:timer("left", { after = "1h", next = "j" })
      flow:timer("right", { after = "2h", next = "j" })
      flow:join("j", { next = "z" })
      flow:finish "z"
      return flow
    end
    assert(engine:load(forked(1, "f")))
    local id = assert(engine:start "t.fork")
    assert(engine:run())
    assert(engine:load(forked(2, "split")))
    local _, refused = assert(engine.workflows:transfer("t.fork", 1, 2,
      { plan = true }))
    assert.matches('no node "f", which token %d+ came from',
      refused[1].reason)
    local moved = assert(engine.workflows:transfer("t.fork", 1, 2,
      { map = { f = "split" } }))
    assert.same({ id }, moved)
  end)
end)

local version, between = samples.version, samples.between

local function token(engine, id) return assert(engine:get(id)).tokens[1] end

local function nothing() end

kit.describe("what moves with an instance", function(backend)
  it("is its joins that have fired", function()
    local function racing(n, join)
      return version(n, "f", function(flow)
        flow:fork("f", { next = { "a", "b" } })
        flow:step("a", { next = join, run = nothing })
        flow:timer("b", { after = "1h", next = join })
        flow:join(join, { expect = "any", next = "s" })
        flow:step("s", { next = "t", run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
        end })
        flow:timer("t", { after = "5h", next = "z" })
      end)
    end
    local engine, id, clock = between(backend, racing(1, "h"),
      racing(2, "first"))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { h = "first" } }))))
    clock:advance "2h"
    assert(engine:run())
    assert.same({ n = 1 }, assert(engine:get(id)).variables)
    assert.matches("dropped", kit.trail(engine, id))
    clock:advance "5h"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is what its tokens know of forks further out", function()
    local function nested(n, p)
      return version(n, p .. "f", function(flow)
        flow:fork(p .. "f", { next = { p .. "g", "y" } })
        flow:fork(p .. "g", { next = { p .. "a", p .. "b" } })
        flow:timer(p .. "a", { after = "1h", next = "h" })
        flow:timer(p .. "b", { after = "1h", next = "h" })
        flow:join("h", { next = "t" })
        flow:timer("t", { after = "1h", next = "k" })
        flow:timer("y", { after = "9h", next = "k" })
        flow:join("k", { next = "z" })
      end)
    end
    local engine, id, clock = between(backend, nested(1, ""),
      nested(2, "new_"))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2, { map = {
      f = "new_f", g = "new_g", a = "new_a", b = "new_b" } }))))
    local places = {}
    for _, t in ipairs(assert(engine:tokens(id))) do
      places[t.node] = t.fork .. "." .. t.branch .. " from "
        .. t.previous
    end
    assert.same({ new_a = "new_g.new_a from new_g",
      new_b = "new_g.new_b from new_g", y = "new_f.y from new_f" }, places)
    clock:advance "61m"
    assert(engine:run())
    places = {}
    for _, t in ipairs(assert(engine:tokens(id))) do
      places[t.node] = t.fork .. "." .. t.branch
    end
    assert.same({ t = "new_f.new_g", y = "new_f.y" }, places)
    clock:advance "9h"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is recorded with both versions and the map", function()
    local engine, ids = backend.fresh(), {}
    assert(engine:load(first()))
    ids[1] = assert(engine:start "t.order")
    assert(engine:run())
    assert(engine:load(second "pause"))
    assert(engine.workflows:transfer("t.order", 1, 2, { map = { t = "pause" },
      reason = "new law" }))
    local history = assert(engine:history(ids[1]))
    assert.equal("version 1 to 2: new law", history[#history].text)
    assert.same({ from = 1, to = 2, map = { t = "pause" } },
      history[#history].output)
  end)
end)

kit.describe("what waits while it is moved", function(backend)
  it("waits for the new event", function()
    local function waits(n, event, options)
      options.event, options.next = event, "z"
      options.into = "got"
      return version(n, "w", function(flow) flow:wait("w", options) end)
    end
    local engine, id, clock = between(backend, waits(1, "go1",
      { timeout = "1h", next = "z" }), waits(2, "go2",
      { key = "order", timeout = "5h" }), { order = 7 })
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2))))
    local why = assert(engine:explain(id)).tokens[1]
    assert.equal("go2", why.waiting_for.event)
    assert.equal("7", why.waiting_for.key)
    assert.equal("2026-01-01T05:00:00.000000Z", why.due)
    assert.equal(0, (assert(engine:signal { name = "go1" })))
    assert.equal(1, (assert(engine:signal { name = "go2", key = "7",
      data = 3 })))
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(3, assert(engine:get(id)).variables.got)
  end)

  it("finds what came before", function()
    local function waits(n, event, match)
      return version(n, "w", function(flow)
        flow:wait("w", { event = event, key = "order", match = match,
          next = "z", into = "got" })
      end)
    end
    local engine, id = between(backend, waits(1, "go", function()
      return false
    end), waits(2, "*", function() return true end), { order = "k" })
    assert(engine:signal { name = "go", key = "k", data = 1 })
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine.workflows:transfer("t.m", 1, 2))
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, assert(engine:get(id)).variables.got)
  end)

  it("finds an event whose key nobody waited for", function()
    local function waits(n, event)
      return version(n, "w", function(flow)
        flow:wait("w", { event = event, key = "order", next = "z" })
      end)
    end
    local engine, id = between(backend, waits(1, "go1"), waits(2, "go2"),
      { order = "k" })
    assert.equal(0, (assert(engine:signal { name = "go2", key = "k" })))
    assert(engine.workflows:transfer("t.m", 1, 2))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("asks the new version for a key or a time", function()
    local function asks(n, hours)
      return version(n, "f", function(flow)
        flow:fork("f", { next = { "w", "t" } })
        flow:wait("w", { event = "go", timeout = "9h", next = "j",
          key = function() return "key" .. n end })
        flow:timer("t", { next = "j",
          at = function(ctx) return ctx.input.at + hours * 3600 end })
        flow:join("j", { next = "z" })
      end)
    end
    local engine, clock = backend.fresh()
    assert(engine:load(asks(1, 1)))
    local id = assert(engine:start("t.m", { at = 1767225600 }))
    assert(engine:run())
    clock:advance "30m"
    assert(engine:load(asks(2, 3)))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2))))
    assert(engine:run())
    local due, key = {}, nil
    for _, t in ipairs(assert(engine:tokens(id))) do
      due[t.node] = t.due
      key = key or t.detail and t.detail.key
    end
    assert.equal("key2", key)
    assert.same({ w = "2026-01-01T09:00:00.000000Z",
      t = "2026-01-01T03:00:00.000000Z" }, due)
    assert.equal(0, (assert(engine:signal { name = "go", key = "key1" })))
    assert.equal(1, (assert(engine:signal { name = "go", key = "key2" })))
  end)

  it("counts its time from when it began to wait", function()
    local function timed(n, after, limit)
      return version(n, "f", function(flow)
        flow:fork("f", { next = { "t", "w", "k", "c" } })
        flow:timer("t", { after = after, next = "j" })
        flow:wait("w", { event = "go", timeout = limit, next = "j" })
        flow:task("k", { title = "do it", timeout = limit, next = "j" })
        flow:call("c", { workflow = "t.timer", timeout = limit, next = "j" })
        flow:join("j", { next = "z" })
      end)
    end
    local function dues(engine, id)
      local due = {}
      for _, t in ipairs(assert(engine:tokens(id))) do
        due[t.node] = t.due and t.due:sub(12, 16) or false
      end
      return due
    end
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "90h"))
    assert(engine:load(timed(1, "2h", "3h")))
    local id = assert(engine:start "t.m")
    assert(engine:run())
    clock:advance "1h"
    assert(engine:load(timed(2, "4h", nil)))
    assert(engine:load(timed(3, "4h", "5h")))
    assert(engine.workflows:transfer("t.m", 1, 2))
    assert(engine:run())
    assert.same({ t = "04:00", w = false, k = false, c = false },
      dues(engine, id))
    clock:advance "1h"
    assert(engine.workflows:transfer("t.m", 2, 3))
    assert(engine:run())
    assert.same({ t = "04:00", w = "05:00", k = "05:00", c = "05:00" },
      dues(engine, id))
    local engine2, clock2 = backend.fresh()
    assert(engine2:load(kit.timer "90h"))
    assert(engine2:load(timed(1, "2h", nil)))
    id = assert(engine2:start "t.m")
    assert(engine2:run())
    clock2:advance "1h"
    assert(engine2:load(timed(2, "3h", "5h")))
    assert(engine2.workflows:transfer("t.m", 1, 2))
    assert.same({ t = "03:00", w = "05:00", k = "05:00", c = "05:00" },
      dues(engine2, id))
    clock2:advance "5h"
    assert(engine2:run())
    assert.failed(engine2, id)
  end)

  it("keeps its task, under the node's new name", function()
    local function asks(n, name, ways)
      return version(n, name, function(flow)
        flow:task(name, { title = "version " .. n, next = ways })
        flow:step("s", { next = "z", run = function(ctx)
          ctx.vars.by = n
        end })
      end)
    end
    local engine, id = between(backend,
      asks(1, "k", { yes = "s", no = "z" }),
      asks(2, "k2", { maybe = "z", no = "z", yes = "s" }))
    local task = assert(engine.tasks:list {})[1]
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { k = "k2" } }))))
    local list = assert(engine.tasks:list {})
    assert.equal(1, #list)
    assert.equal(task.id, list[1].id)
    assert.equal("version 1", list[1].title)
    assert.equal("k2", list[1].node)
    local ok, err = engine.tasks:complete(task.id, { by = "ann" })
    assert.is_nil(ok)
    assert.matches("several ways", err.message)
    assert(engine.tasks:complete(task.id, { by = "ann", take = "yes" }))
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(2, assert(engine:get(id)).variables.by)
  end)

  it("keeps its child, under the node's new name", function()
    local function calls(n, name)
      return version(n, name, function(flow)
        flow:call(name, { workflow = "t.timer", next = "s" })
        flow:step("s", { next = "z", run = function(ctx)
          ctx.vars.by = n
        end })
      end)
    end
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    assert(engine:load(calls(1, "c")))
    local id = assert(engine:start "t.m")
    assert(engine:run())
    assert(engine:load(calls(2, "c2")))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { c = "c2" } }))))
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, #assert(engine:list { workflow = "t.timer" }))
  end)

  it("keeps its items", function()
    local function fans(n, name, child)
      return version(n, name, function(flow)
        flow:each(name, { items = function() return { 1, 2, 3 } end,
          window = n, into = "got", next = "z",
          branch = not child and "t" or nil, workflow = child })
        if not child then
          flow:timer("t", { after = "1h", next = "s" })
          flow:step("s", { next = name, run = function(ctx)
            return nil, n * ctx.token.data.item
          end })
        end
      end)
    end
    local engine, id, clock = between(backend, fans(1, "e"), fans(2, "all"))
    assert(engine:load(fans(3, "e", "t.timer")))
    local _, refused = assert(engine.workflows:transfer("t.m", 1, 3,
      { plan = true }))
    assert.equal(1, #refused)
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { e = "all" } }))))
    for _ = 1, 3 do
      clock:advance "61m"
      assert(engine:run())
    end
    assert.completed(engine, id)
    assert.same({ got = { 2, 4, 6 } }, assert(engine:get(id)).variables)
  end)

  it("is not an each of another sort", function()
    local function fans(n, branch, child)
      return version(n, "e", function(flow)
        flow:each("e", { items = function() return { 1 } end,
          next = "z", branch = branch, workflow = child })
        if branch then flow:timer(branch, { after = "1h", next = "e" }) end
      end)
    end
    local engine = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    assert(engine:load(fans(1, nil, "t.timer")))
    assert(engine:start "t.m")
    assert(engine:run())
    assert(engine:load(fans(2, "t")))
    local _, refused = assert(engine.workflows:transfer("t.m", 1, 2,
      { plan = true }))
    assert.matches('"e" has children for its items, and "e" of version 2 '
      .. "branches", refused[1].reason)
  end)

  it("is not moved without the key that it needs", function()
    local function waits(n, key)
      return version(n, "w", function(flow)
        flow:wait("w", { event = "go", key = key, next = "z" })
      end)
    end
    local engine, id = between(backend, waits(1), waits(2, "order"))
    local moved, refused = assert(engine.workflows:transfer("t.m", 1, 2))
    assert.same({}, moved)
    assert.matches('its key "order" is neither a text nor a number',
      refused[1].reason)
    assert.equal(1, assert(engine:get(id)).version)
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { vars = function()
      return { order = "k" }
    end }))))
    assert.equal("k", token(engine, id).detail.key)
  end)

  it("needs a key that an event can have", function()
    local function waits(n, key)
      return version(n, "w", function(flow)
        flow:wait("w", { event = "go", key = key, next = "z" })
      end)
    end
    local engine, id = between(backend, waits(1), waits(2, "order"),
      { order = ("x"):rep(256) })
    local moved, refused = assert(engine.workflows:transfer("t.m", 1, 2))
    assert.same({}, moved)
    assert.matches('its key "order" is not 1 to 255 bytes', refused[1].reason)
    assert.equal(1, assert(engine:get(id)).version)
  end)

  it("listens for what cancels the new version", function()
    local function cancels(n, rules)
      return version(n, "t", function(flow)
        flow:timer("t", { after = "1h", next = "z" })
      end, { cancel_on = rules })
    end
    local engine, id = between(backend,
      cancels(1, { "old.stop", "old.halt" }), cancels(2, "new.stop"))
    assert(engine.workflows:transfer("t.m", 1, 2))
    assert.equal(0, (assert(engine:signal { name = "old.stop" })))
    assert.equal(0, (assert(engine:signal { name = "old.halt" })))
    assert.equal(1, (assert(engine:signal { name = "new.stop" })))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("is cancelled by the key that its variables have then", function()
    local function cancels(n, rules)
      return version(n, "t", function(flow)
        flow:timer("t", { after = "1h", next = "z" })
      end, { cancel_on = rules })
    end
    local engine, id = between(backend,
      cancels(1, { { event = "stop", key = "order" } }),
      cancels(2, { { event = "stop", key = "parcel" } }), { order = "o" })
    assert(engine.workflows:transfer("t.m", 1, 2, { vars = function()
      return { parcel = "p" }
    end }))
    assert.equal(0, (assert(engine:signal { name = "stop", key = "o" })))
    assert.equal(1, (assert(engine:signal { name = "stop", key = "p" })))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)
end)
