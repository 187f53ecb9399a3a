-- Waits from the inside: what they ask for, what they take, what is left of it
-- behind them. How events travel is enter/signal_spec's.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local last = kit.last

--- w, then a (which keeps what ctx.event is), then z. `options` are more of the
--- wait's.
local function waiting(options, flow)
  local given = { code = "t.wait", start = "w" }
  for key, value in pairs(flow or {}) do given[key] = value end
  local made = pawl.workflow(given)
  local node = { event = "order.paid", next = "a" }
  for key, value in pairs(options or {}) do node[key] = value end
  made:wait("w", node)
  made:step("a", { next = "z", run = function(ctx)
    ctx.vars.event = ctx.event and ctx.event.data or "none"
  end })
  made:finish("z", { output = function(ctx) return ctx.vars end })
  return made
end

local function begin(engine, input)
  local id = assert(engine:start("t.wait", input))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

local function send(engine, signal)
  signal.name = signal.name or "order.paid"
  return (assert(engine:signal(signal)))
end

kit.describe("a wait", function(backend)
  it("is where its instance stands until the event comes", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(waiting { key = "order", timeout = "1h",
      next = { received = "a", timeout = "z" } }))
    local id = begin(engine, { order = "17" })
    local instance = get(engine, id)
    assert.equal("waiting", instance.status)
    local token = instance.tokens[1]
    assert.same({ "w", "waiting", "17", "2026-01-01T01:00:00.000000Z" },
      { token.node, token.state, token.detail.key, token.due })
    assert.equal(1, kit.count(backend, url, "subscription"))
    send(engine, { key = "17", data = 5, by = "ann" })
    assert(engine:run())
    assert.same({ event = 5 }, get(engine, id).output)
    local row = assert(engine:history(id))[2]
    assert.same({ "received", "w", "order.paid", 5, "received", "ann" },
      { row.type, row.node, row.text, row.output, row.transition,
        row.by })
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("without a timeout waits as long as it takes", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    assert.is_nil(engine:next_due())
    assert.equal(0, kit.count(backend, url, "agenda"))
    clock:advance "4000d"
    assert.equal(0, assert(engine:run()).claimed)
    send(engine, {})
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("begins anew on each visit, with a time of its own", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "tick", timeout = "1h",
      next = { received = "a", timeout = "z" } })
    flow:step("a", { run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
    end, next = "w" })
    flow:finish("z", { output = function(ctx) return ctx.vars.n end })
    assert(engine:load(flow))
    local id = begin(engine)
    for _ = 1, 3 do
      clock:advance "45m"
      send(engine, { name = "tick" })
      assert(engine:run())
    end
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "59m"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1m"
    assert(engine:run())
    assert.equal(3, get(engine, id).output)
  end)
end)

kit.describe("a wait's time", function(backend)
  it("when it is up takes the way that is drawn", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting { timeout = "1h", into = "got",
      next = { received = "z", timeout = "a" } }))
    local id = begin(engine)
    clock:advance(3599)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.same({ event = "none" }, get(engine, id).output)
    assert.equal("started w, timeout w, step a", kit.trail(engine, id))
    local row = assert(engine:history(id))[2]
    assert.equal("timeout", row.transition)
    assert.equal("2026-01-01T01:00:00.000000Z", row.due)
    assert.equal(0, kit.count(backend, url, "subscription"))
  end)

  it("when it is up without such a way fails it, for good", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting { timeout = "1h" }))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("timeout", instance.error.code)
    assert.matches('wait "w"', instance.error.message)
    assert.equal("started w, failed w", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("begins again where `retry` says so", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting { timeout = "1h",
      retry = { max = 2, base = "1s", jitter = 0 } }))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    assert.equal("running", kit.status(engine, id))
    clock:advance "1s"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1h"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("started w, failed w, routed w, failed w",
      kit.trail(engine, id))
  end)

  it("may be routed by the code of its error", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting { timeout = "1h",
      on_error = { timeout = "a" }, next = "z" }))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    local instance = get(engine, id)
    assert.same({ event = "none" }, instance.output)
    assert.is_nil(instance.error)
    assert.equal("failed", assert(engine:history(id))[2].type)
  end)

  it("does not bring back the event of an earlier wait", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "u" }
    flow:wait("u", { event = "first", next = "w" })
    flow:wait("w", { event = "second", timeout = "1h",
      next = { received = "a", timeout = "a" } })
    flow:step("a", { next = "z", run = function(ctx)
      ctx.vars.event = ctx.event and ctx.event.name or "none"
    end })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine)
    send(engine, { name = "first" })
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    assert.same({ event = "none" }, get(engine, id).output)
  end)

  it("comes earlier when it is woken, and then counts as up", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { timeout = "1h",
      next = { received = "z", timeout = "a" } }))
    local id = begin(engine)
    assert(engine:wake(id, { nodes = "w" }))
    assert(engine:run())
    assert.same({ event = "none" }, get(engine, id).output)
  end)
end)

kit.describe("an event and a timeout at one time", function(backend)
  local NEXT = { received = "z", timeout = "late" }

  local function racing(rival_event)
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "order.paid", timeout = "1h", into = "got",
      next = NEXT })
    flow:step("late", { next = "z", run = function(ctx)
      if rival_event then rival_event(ctx) end
      ctx.vars.late = true
    end })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    return flow
  end

  it("is the event's, when that was received in the last instant",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(racing()))
      local id = begin(engine)
      clock:advance "1h"
      send(engine, { instance = id, data = 1 })
      assert(engine:run())
      assert.same({ got = 1 }, get(engine, id).output)
    end)

  it("is the timeout's, one microsecond later", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(racing()))
    local id = begin(engine)
    clock:advance(3600.000001)
    send(engine, { instance = id, data = 1 })
    assert(engine:run())
    assert.same({ late = true }, get(engine, id).output)
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("is the timeout's, also where the clock was set back meanwhile",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(racing()))
      local id = begin(engine)
      clock:advance "2h"
      send(engine, { instance = id, data = 1 })
      clock.us = clock.us - 5400000000
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      clock:advance "31m"
      assert(engine:run())
      assert.same({ late = true }, get(engine, id).output)
      assert.equal(0, kit.count(backend, url, "inbox"))
    end)

  it("is the timeout's, once that is committed", function()
    local a, b, clock
    a, b, clock = kit.pair(backend, { racing(function(ctx)
      clock.us = clock.us - 60000000 -- received in time, and too late
      send(b, { instance = ctx.id, data = 1 })
      clock.us = clock.us + 60000000
    end) })
    local id = begin(a)
    clock:advance "61m"
    assert(a:run())
    assert.same({ late = true }, get(a, id).output)
    assert.equal("started w, timeout w, step late, untaken z",
      kit.trail(a, id))
  end)

  it("is the event's in whichever of two engines comes first", function()
    local a, b, clock
    local runs = 0
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "order.paid", timeout = "1h", into = "got",
      match = function()
        runs = runs + 1
        if runs == 1 then -- stands still, past the deadline and its lease
          clock:advance "2h"
          assert(b:run())
        end
        return true
      end, next = NEXT })
    flow:step("late", { run = function() end, next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    a, b, clock = kit.pair(backend, { flow })
    local id = begin(a)
    send(a, { instance = id, data = 1 })
    assert.equal(1, assert(a:run()).lost)
    assert.equal(2, runs)
    assert.same({ got = 1 }, get(a, id).output)
    assert.equal("started w, recovered w, received w", kit.trail(a, id))
  end)
end)

kit.describe("a wait's key", function(backend)
  it("by name is looked up in the variables first, then the input",
    function()
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.wait", start = "s" }
      flow:step("s", { next = "w", run = function(ctx)
        if ctx.input.own then ctx.vars.order = ctx.input.own end
      end })
      flow:wait("w", { event = "order.paid", key = "order", next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local ids = { begin(engine, { order = "in", own = "var" }),
        begin(engine, { order = "in" }) }
      local keys = {}
      for i, id in ipairs(ids) do
        keys[i] = get(engine, id).tokens[1].detail.key
      end
      assert.same({ "var", "in" }, keys)
      assert.equal(1, send(engine, { key = "var" }))
      assert(engine:run())
      assert.completed(engine, ids[1])
      assert.equal("waiting", kit.status(engine, ids[2]))
    end)

  it("may be worked out, from ctx", function()
    local engine = backend.fresh()
    local seen
    assert(engine:load(waiting { key = function(ctx)
      seen = { ctx.node, ctx.id, ctx.attempt }
      return ctx.input.a .. "/" .. ctx.input.b
    end }))
    local id = begin(engine, { a = "x", b = 2 })
    assert.same({ "w", id, 1 }, seen)
    assert.equal("x/2", get(engine, id).tokens[1].detail.key)
    assert.equal(1, send(engine, { key = "x/2" }))
    assert.equal(1, assert(engine:run()).ended)
  end)

  it("may be a boolean, and names of any kind", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { key = 'it\'s "done" \u{e9}' }))
    local id = begin(engine, { ['it\'s "done" \u{e9}'] = true })
    assert.equal("true", get(engine, id).tokens[1].detail.key)
    assert.equal(1, send(engine, { key = true }))
    assert.equal(1, assert(engine:run()).ended)
  end)

  for what, value in pairs {
    ["null"] = pawl.null, ["a table"] = { 1 }, ["an empty table"] = {},
  } do
    it("that is " .. what .. " fails the node, and says why", function()
      local engine, _, url = backend.fresh()
      assert(engine:load(waiting { key = "order" }))
      local id = begin(engine, { order = value })
      local instance = get(engine, id)
      assert.equal("failed", instance.status)
      assert.matches('its key "order" is neither a text nor a number',
        instance.error.message)
      assert.matches("order", instance.error.hint)
      assert.equal("failed w", kit.trail(engine, id), "not tried again")
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)

    it("that is worked out as " .. what .. " fails it too", function()
      local engine = backend.fresh()
      assert(engine:load(waiting { key = function() return value end }))
      local instance = get(engine, begin(engine))
      assert.equal("failed", instance.status)
      assert.matches("`key` returned neither", instance.error.message)
    end)
  end

  for what, value in pairs {
    ["is empty"] = "", ["is too long"] = ("x"):rep(256),
    ["holds a zero byte"] = "a\0b",
  } do
    it("that " .. what .. " fails the node, and says so", function()
      local engine, _, url = backend.fresh()
      for _, key in ipairs { "order", function(ctx)
        return ctx.input.order
      end } do
        assert(engine:load(waiting({ key = key },
          { version = key == "order" and 1 or 2 })))
        local instance = get(engine, begin(engine, { order = value }))
        assert.equal("failed", instance.status)
        assert.matches('wait "w": its key ' .. what, instance.error.message)
        assert.matches("1 to 255 bytes", instance.error.hint)
      end
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)
  end

  it("of 255 bytes is one as any other", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    local id = begin(engine, { order = ("\u{e9}"):rep(127) .. "x" })
    assert.equal(1, send(engine, { key = ("\u{e9}"):rep(127) .. "x" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("that is not there fails the node, which can be routed", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { key = "order", next = "z",
      on_error = { ["*"] = "a" } }))
    local id = begin(engine)
    assert.same({ event = "none" }, get(engine, id).output)
  end)

  it("whose function fails is tried again", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(waiting { retry = { max = 2, base = 10, jitter = 0 },
      key = function(ctx)
        runs = runs + 1
        assert(ctx.attempt == runs)
        if runs == 1 then error "not yet" end
        return "k"
      end }))
    local id = begin(engine)
    assert.equal("running", kit.status(engine, id))
    clock:advance(10)
    assert(engine:run())
    assert.equal("k", get(engine, id).tokens[1].detail.key)
    assert.equal("failed w, routed w", kit.trail(engine, id))
  end)

  it("that fails behind a step leaves the step as it is", function()
    local engine, clock = backend.fresh()
    local steps, keys = 0, 0
    local flow = pawl.workflow { code = "t.wait", start = "s" }
    flow:step("s", { next = "w", run = function(ctx)
      steps = steps + 1
      ctx.vars.s = steps
    end })
    flow:wait("w", { event = "order.paid", next = "z",
      retry = { max = 2, base = 10, jitter = 0 }, key = function()
        keys = keys + 1
        if keys == 1 then error "not yet" end
        return "k"
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    for _ = 1, 3 do
      clock:advance(10)
      assert(engine:run())
    end
    assert.equal(1, steps)
    assert.equal("waiting", kit.status(engine, id))
    assert.equal("w", get(engine, id).tokens[1].node)
  end)
end)

kit.describe("what a wait takes", function(backend)
  it("goes into the variable that `into` names, as it is", function()
    local engine = backend.fresh()
    for i, data in ipairs { { a = { 1, 2.5 } }, "text", 7, false, pawl.array {},
      pawl.null } do
      local code = "t.into" .. i
      assert(engine:load(waiting({ into = "got" }, { code = code })))
      local id = assert(engine:start(code))
      assert(engine:run())
      send(engine, { instance = id, data = data })
      assert(engine:run())
      local vars = get(engine, id).variables
      assert.equal(pawl.json.encode(data), pawl.json.encode(
        vars.got == nil and pawl.null or vars.got))
      local changed = assert(engine:history(id))[2].changes.set
      assert.equal("got", (next(changed)))
    end
  end)

  it("without data is null", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { into = "got" }))
    local id = begin(engine)
    send(engine, { instance = id })
    assert(engine:run())
    assert.matches('"got":null', (assert(engine:get(id, "json"))))
  end)

  it("is ctx.event in all that follows, up to the next wait", function()
    local engine = backend.fresh()
    local seen = {}
    local function see(ctx)
      seen[#seen + 1] = ctx.node .. "=" .. (ctx.event and ctx.event.data
        or "none")
    end
    local flow = pawl.workflow { code = "t.wait", start = "s" }
    flow:step("s", { run = see, next = "w1" })
    flow:wait("w1", { event = "one", next = "a" })
    flow:step("a", { run = see, next = "c" })
    flow:choice("c", { choose = function(ctx)
      see(ctx)
      return "on"
    end, next = { on = "b", off = "z" } })
    flow:step("b", { next = "w2", retry = { max = 2, base = 0 },
      run = function(ctx)
        see(ctx)
        if ctx.attempt == 1 then error "again" end
      end })
    flow:wait("w2", { event = "two", next = "d" })
    flow:step("d", { run = see, next = "z" })
    flow:finish("z", { output = see })
    assert(engine:load(flow))
    local id = begin(engine)
    for name, data in pairs { one = "1", two = "2" } do
      send(engine, { name = name, instance = id, data = data })
    end
    assert(engine:run())
    assert.equal("s=none a=1 c=1 b=1 b=1 d=2 z=2", table.concat(seen, " "))
  end)

  it("is seen by the branches that follow, each keeping its own", function()
    local engine = backend.fresh()
    local seen = {}
    local function see(ctx) seen[ctx.node] = ctx.event and ctx.event.data end
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "one", next = "f" })
    flow:fork("f", { next = { "a", "v" } })
    flow:step("a", { run = see, next = "j" })
    flow:wait("v", { event = "two", next = "b" })
    flow:step("b", { run = see, next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    send(engine, { name = "one", instance = id, data = "1" })
    assert(engine:run())
    send(engine, { name = "two", instance = id, data = "2" })
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ a = "1", b = "2" }, seen)
  end)

  it("has its parts, and text of any kind", function()
    local engine, clock = backend.fresh()
    local seen
    local other = pawl.workflow { code = "t.seen", start = "w" }
    other:wait("w", { event = "order.*", key = "order", next = "a" })
    other:step("a", { run = function(ctx) seen = ctx.event end, next = "z" })
    other:finish "z"
    assert(engine:load(other))
    local nasty = 'a"b\\c\n\u{1F600}'
    assert(engine:start("t.seen", { order = nasty }))
    assert(engine:run())
    clock:advance(5)
    send(engine, { name = "order.paid", key = nasty, id = nasty,
      source = nasty, data = { [nasty] = nasty } })
    clock:advance(60)
    assert(engine:run())
    assert.same({ "order.paid", nasty, nasty, nasty, { [nasty] = nasty } },
      { seen.name, seen.key, seen.id, seen.source, seen.data })
    assert.equal(clock:now() - 60, seen.received_at)
  end)
end)

kit.describe("several waits at once", function(backend)
  --- A fork of waits by name, each into a variable of its name, all joined.
  local function forked(waits, flow)
    local given = { code = "t.wait", start = "f" }
    for key, value in pairs(flow or {}) do given[key] = value end
    local made = pawl.workflow(given)
    local names = {}
    for name in pairs(waits) do names[#names + 1] = name end
    table.sort(names)
    made:fork("f", { next = names })
    for name, options in pairs(waits) do
      local node = { event = name, into = name, next = "j" }
      for key, value in pairs(options) do node[key] = value end
      made:wait(name, node)
    end
    made:join("j", { next = "z" })
    made:finish("z", { output = function(ctx) return ctx.vars end })
    return made
  end

  it("take events in any order, each its own", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(forked { a = {}, b = {}, c = {} }))
    local id = begin(engine)
    assert.equal(3, kit.count(backend, url, "subscription"))
    for i, name in ipairs { "c", "a", "b" } do
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(1, send(engine, { name = name, data = i }))
      assert(engine:run())
      assert.equal(3 - i, kit.count(backend, url, "subscription"))
    end
    assert.same({ a = 2, b = 3, c = 1 }, get(engine, id).output)
  end)

  it("have times of their own", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    flow:wait("a", { event = "a", timeout = "1h",
      next = { received = "j", timeout = "j" } })
    flow:wait("b", { event = "b", timeout = "2h", into = "b",
      next = { received = "j", timeout = "j" } })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine)
    assert.equal(clock:now() + 3600, engine:next_due())
    clock:advance "1h"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(clock:now() + 3600, engine:next_due())
    send(engine, { name = "b", data = 1 })
    assert(engine:run())
    assert.same({ b = 1 }, get(engine, id).output)
  end)

  it("with one key each are told apart", function()
    local engine = backend.fresh()
    assert(engine:load(forked { a = { event = "paid", key = "k1" },
      b = { event = "paid", key = "k2" } }))
    local id = begin(engine, { k1 = "1", k2 = "2" })
    assert.equal(1, send(engine, { name = "paid", key = "2", data = "two" }))
    assert(engine:run())
    local tokens = get(engine, id).tokens
    local waiting_at = {}
    for _, token in ipairs(tokens) do
      waiting_at[token.node] = token.state
    end
    assert.equal("waiting", waiting_at.a)
    assert.is_nil(waiting_at.b)
    assert.equal(1, send(engine, { name = "paid", key = "1", data = "one" }))
    assert(engine:run())
    assert.same({ a = "one", b = "two" }, get(engine, id).output)
  end)

  it("with a key and without one are told apart", function()
    local engine = backend.fresh()
    assert(engine:load(forked { a = { event = "paid" },
      b = { event = "paid", key = "k" } }))
    local function taken(key, signal)
      local id = begin(engine, { k = key })
      signal.name, signal.data = "paid", 1
      if signal.instance then signal.instance = id end
      assert.equal(1, send(engine, signal))
      assert(engine:run())
      local vars = get(engine, id).output or get(engine, id).variables
      assert(engine:cancel(id))
      assert(engine:run())
      return vars
    end
    assert.same({ a = 1 }, taken("1", {}))
    assert.same({ b = 1 }, taken("2", { key = "2" }))
    assert.same({ a = 1 }, taken("3", { instance = true, key = "Z" }))
  end)

  it("with patterns of unlike depth are told apart", function()
    local engine = backend.fresh()
    assert(engine:load(forked { a = { event = "pay.*" },
      b = { event = "pay.part.*" } }))
    local function taken(name)
      local id = begin(engine)
      assert.equal(1, send(engine, { name = name, instance = id, data = 1 }))
      assert(engine:run())
      local vars = get(engine, id).variables
      assert(engine:cancel(id))
      assert(engine:run())
      return vars
    end
    assert.same({ a = 1 }, taken "pay.part")
    assert.same({ b = 1 }, taken "pay.part.done")
  end)

  it("take what is sent to their instance without a key", function()
    local engine = backend.fresh()
    assert(engine:load(forked { a = { event = "paid" },
      b = { event = "paid", key = "k" } }))
    local id = begin(engine, { k = "K" })
    assert.equal(1, send(engine, { name = "paid", instance = id, data = 1 }))
    assert(engine:run())
    assert.same({ a = 1, b = 1 }, get(engine, id).output)
  end)

  it("that time out in one instant all go on", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    for _, name in ipairs { "a", "b" } do
      flow:wait(name, { event = name, timeout = "1h",
        next = { received = "j", timeout = "j" } })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("are over when one fails the instance", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(forked { a = { timeout = "1h" }, b = {} }))
    local id = begin(engine)
    clock:advance "1h"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, send(engine, { name = "b" }))
  end)

  it("are asked by `match` each for itself", function()
    local engine = backend.fresh()
    local function at_least(n)
      return function(event) return event.data >= n end
    end
    assert(engine:load(forked { a = { event = "paid", match = at_least(5) },
      b = { event = "paid", match = at_least(1) } }))
    local id = begin(engine)
    send(engine, { name = "paid", instance = id, data = 3 })
    assert(engine:run())
    send(engine, { name = "paid", instance = id, data = 7 })
    assert(engine:run())
    assert.same({ a = 7, b = 3 }, get(engine, id).output)
  end)
end)

kit.describe("`match`", function(backend)
  it("is given the event and a ctx", function()
    local engine = backend.fresh()
    local seen
    assert(engine:load(waiting { match = function(event, ctx)
      seen = { event.name, event.data, ctx.node, ctx.input.order }
      return true
    end }))
    local id = begin(engine, { order = 7 })
    send(engine, { instance = id, data = 4 })
    assert(engine:run())
    assert.same({ "order.paid", 4, "w", 7 }, seen)
    assert.same({ event = 4 }, get(engine, id).output)
  end)

  it("that changes anything has failed", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { match = function(_, ctx)
      ctx.vars.touched = true
      return true
    end }))
    local id = begin(engine)
    send(engine, { instance = id, data = 4 })
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.is_nil(get(engine, id).variables.touched)
    assert.equal("refused", last(engine, id).type)
    assert.matches("vars", last(engine, id).error.message)
  end)

  it("that says anything but false or nil takes it", function()
    local engine = backend.fresh()
    local answers = { false, nil, 0, "", {} }
    local at = 0
    assert(engine:load(waiting { match = function()
      at = at + 1
      return answers[at]
    end }))
    local id = begin(engine)
    for i = 1, 3 do
      send(engine, { instance = id, data = i })
      assert(engine:run())
    end
    assert.same({ event = 3 }, get(engine, id).output)
  end)

  it("is not asked again for what it turned down, after a crash neither",
    function()
      local engine, clock, url = backend.fresh()
      local asked = {}
      local flow = waiting { match = function(event)
        asked[#asked + 1] = event.data
        return event.data == 3
      end }
      assert(engine:load(flow))
      local id = begin(engine)
      for i = 1, 2 do
        send(engine, { instance = id, data = i })
        assert(engine:run())
      end
      local other = kit.rival(backend, url, clock)
      assert(other:load(flow))
      send(other, { instance = id, data = 3 })
      kit.claim(kit.store(url, clock), id) -- a worker that dies with it
      clock:advance(31)
      assert(other:run())
      assert.same({ 1, 2, 3 }, asked)
      assert.same({ event = 3 }, get(other, id).output)
    end)

  it("that fails says so once, in the history, and the wait stands",
    function()
      local engine = backend.fresh()
      assert(engine:load(waiting { timeout = "1h", next = { received = "a",
        timeout = "z" }, match = function(event)
          error { code = "odd", message = "cannot tell " .. event.data }
        end }))
      local id = begin(engine)
      send(engine, { instance = id, data = 1 })
      assert(engine:run())
      assert(engine:run())
      assert.equal("started w, refused w", kit.trail(engine, id))
      local row = last(engine, id)
      assert.matches("`match` failed", row.text)
      assert.matches("order.paid", row.text)
      assert.equal("odd", row.error.code)
      assert.equal("cannot tell 1", row.error.message)
      local instance = get(engine, id)
      assert.equal("waiting", instance.status)
      assert.is_nil(instance.error)
      assert.equal(1, #instance.tokens)
      assert.is_string(instance.tokens[1].due, "it still times out")
    end)

  it("that fails for one leaves the event to another wait", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    flow:wait("a", { event = "paid", next = "j", into = "a",
      match = function(event)
        if event.data == 1 then error "no" end
        return true
      end })
    flow:wait("b", { event = "paid", next = "j", into = "b" })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine)
    send(engine, { name = "paid", instance = id, data = 1 })
    assert(engine:run())
    send(engine, { name = "paid", instance = id, data = 2 })
    assert(engine:run())
    assert.same({ a = 2, b = 1 }, get(engine, id).output)
  end)
end)

kit.describe("an event versus a cancel", function(backend)
  -- Both come in while the instance is held, one after the other.
  local function held(first, second)
    local a, b
    local flow = pawl.workflow { code = "t.wait", start = "s" }
    flow:step("s", { next = "w", run = function(ctx)
      first(b, ctx)
      second(b, ctx)
    end })
    flow:wait("w", { event = "order.paid", into = "got", next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    a, b = kit.pair(backend, { flow })
    local id = begin(a)
    return a, id
  end

  local function pays(b, ctx) send(b, { instance = ctx.id, data = 1 }) end
  local function cancels(b, ctx) assert(b:cancel(ctx.id)) end

  it("is cancelled when that came first", function()
    local engine, id = held(cancels, pays)
    local instance = get(engine, id)
    assert.equal("cancelled", instance.status)
    assert.is_nil(instance.variables.got)
    assert.equal("step s, cancelled w, untaken w", kit.trail(engine, id))
  end)

  it("is completed when the event came first", function()
    local engine, id = held(pays, cancels)
    local instance = get(engine, id)
    assert.equal("completed", instance.status)
    assert.is_nil(instance.cancellation)
    assert.same({ got = 1 }, instance.output)
    assert.equal("step s, received w", kit.trail(engine, id))
  end)

  --- The request comes in between looking and committing.
  local function between(to)
    local a, b, clock, url
    local asked = 0
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "order.paid", next = to, match = function(_, ctx)
      asked = asked + 1
      clock:advance(1) -- numbers of one millisecond are in any order
      if asked == 1 then assert(b:cancel(ctx.id)) end
      return true
    end })
    if to == "t" then flow:timer("t", { after = "1h", next = "z" }) end
    flow:finish "z"
    a, b, clock, url = kit.pair(backend, { flow })
    local id = begin(a)
    send(a, { instance = id, data = 1 })
    assert(a:run())
    assert.equal(0, kit.count(backend, url, "inbox"))
    return kit.trail(a, id), kit.status(a, id)
  end

  it("is taken before a cancel that comes as it is decided", function()
    local trail, status = between "t"
    assert.equal("started w, received w, cancelled t", trail)
    assert.equal("cancelled", status)
  end)

  it("ends the instance before a cancel that comes as it is decided",
    function()
      local trail, status = between "z"
      assert.equal("started w, received w", trail)
      assert.equal("completed", status)
    end)
end)

kit.describe("what came for an instance whose holder died", function(backend)
  --- It is held by somebody who dies with it; another one runs then.
  local function taken_over(engine, clock, url, id)
    local store = kit.store(url, clock)
    kit.claim(store, id)
    clock:advance(31)
    assert(engine:run())
    return kit.agenda(store, id)
  end

  it("is taken by whoever takes over: an event", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    send(engine, { instance = id, data = 1 })
    assert.is_nil(taken_over(engine, clock, url, id))
    assert.equal("started w, recovered w, received w, step a",
      kit.trail(engine, id))
  end)

  it("is taken by whoever takes over: an event before its wait", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "s" }
    flow:step("s", { run = function() engine:interrupt() end, next = "w" })
    flow:wait("w", { event = "order.paid", key = "order", into = "got",
      next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    send(engine, { key = "1", data = 5 })
    local id = assert(engine:start("t.wait", { order = "1" }))
    assert(engine:tick(0)) -- the wait is committed, nobody has looked yet
    assert.equal("waiting", kit.status(engine, id))
    local other = kit.rival(backend, url, clock)
    assert(other:load(flow))
    assert.is_nil(taken_over(other, clock, url, id))
    assert.same({ got = 5 }, get(engine, id).output)
  end)

  it("is taken by whoever takes over: a resume", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    assert(engine:suspend(id))
    local store = kit.store(url, clock)
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = store:now() })
    kit.run(store, "inbox_insert", { shard = 0, id = id, no = kit.draw_id(),
      kind = "resume", data = "{}", now = store:now() })
    taken_over(engine, clock, url, id)
    assert.equal("waiting", kit.status(engine, id))
    assert.equal("started w, suspended w, recovered w, resumed w",
      kit.trail(engine, id))
  end)

  it("is taken by whoever takes over: a task's completion", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "k" }
    flow:task("k", { title = "Do it", into = "got", next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine)
    local client = kit.rival(backend, url, clock,
      { group = "nobody", prefixes = "none.", stored_code = "own" })
    local task = assert(client.tasks:list { instance = id })[1]
    assert(client.tasks:complete(task.id, { by = "ann", output = 3 }))
    assert.equal("waiting", kit.status(engine, id))
    assert.is_nil(taken_over(engine, clock, url, id))
    assert.same({ got = 3 }, get(engine, id).output)
  end)

  it("is not waited for when there is nothing", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    local store = kit.store(url, clock)
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = store:now() })
    assert.is_nil(taken_over(engine, clock, url, id))
    assert.equal("waiting", kit.status(engine, id))
    assert.equal("started w, recovered w", kit.trail(engine, id))
  end)
end)
