-- Events from outside: stored first, then handed to whoever waits, once.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local socket = require "socket"
local probe = require "spec.support.probe"

local HOUR = 3600 * 1000000

--- One wait: w, then z. `options` are more of the wait's; `flow` more of the
--- workflow's.
local function waiting(options, flow)
  local given = { code = "t.wait", start = "w" }
  for key, value in pairs(flow or {}) do given[key] = value end
  local made = pawl.workflow(given)
  local node = { event = "order.paid", into = "got", next = "z" }
  for key, value in pairs(options or {}) do node[key] = value end
  made:wait("w", node)
  if type(node.next) == "table" and node.next.timeout == "late" then
    made:step("late", { run = function(ctx) ctx.vars.late = true end,
      next = "z" })
  end
  made:finish("z", { output = function(ctx) return ctx.vars end })
  return made
end

--- Waits one after the other: w1, w2 ..., each into a variable of its name.
local function chain(waits, code)
  local flow = pawl.workflow { code = code or "t.waits", start = "w1" }
  for i, options in ipairs(waits) do
    local node = { event = "order.paid", into = "w" .. i,
      next = i == #waits and "z" or "w" .. i + 1 }
    for key, value in pairs(options) do node[key] = value end
    flow:wait("w" .. i, node)
  end
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- Starts and runs it up to where it waits.
local function begin(engine, input, code)
  local id = assert(engine:start(code or "t.wait", input))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

local function send(engine, signal)
  local reached, info = engine:signal(signal)
  assert(reached, tostring(info))
  return reached, info
end

kit.describe("a signal", function(backend)
  it("reaches an instance that waits for its name and key", function()
    local engine, _, url = backend.fresh()
    local seen
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "order.paid", key = "order", into = "got",
      next = "a" })
    flow:step("a", { run = function(ctx) seen = ctx.event end, next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine, { order = "17" })
    assert.equal("waiting", kit.status(engine, id))
    local reached, info = send(engine, { name = "order.paid", key = "17",
      data = { sum = 9 }, id = "e1", source = "shop" })
    assert.equal(1, reached)
    assert.same({ reached = 1, id = "e1", repeated = false }, info)
    assert(engine:run())
    assert.same({ got = { sum = 9 } }, get(engine, id).output)
    assert.same({ "order.paid", "17", "e1", "shop", { sum = 9 } },
      { seen.name, seen.key, seen.id, seen.source, seen.data })
    assert.truthy(seen.received_at)
    assert.equal("started w, received w, step a", kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, kit.count(backend, url, "event", "not posted"))
  end)

  it("draws an id when none is given", function()
    local engine = backend.fresh()
    local reached, info = send(engine, { name = "nobody.waits" })
    assert.equal(0, reached)
    assert.matches("^%x+%-%x+%-7", info.id)
    local _, other = send(engine, { name = "nobody.waits" })
    assert.not_equal(info.id, other.id)
  end)

  it("takes a number's key as it prints", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    assert(engine:load(waiting({ key = function(ctx)
      return ctx.input.half
    end }, { code = "t.half" })))
    begin(engine, { order = 17 })
    begin(engine, { half = 1.5 }, "t.half")
    assert.equal(1, send(engine, { name = "order.paid", key = "17" }))
    assert.equal(1, send(engine, { name = "order.paid", key = 1.5 }))
    assert.equal(0, send(engine, { name = "order.paid", key = 17.0 }))
    assert.equal(2, assert(engine:run()).ended)
  end)

  it("reaches every instance that waits, and no other", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    local ids = {}
    for i = 1, 4 do
      ids[i] = begin(engine, { order = i == 4 and "other" or "one" })
    end
    assert.equal(3, send(engine, { name = "order.paid", key = "one" }))
    assert.equal(3, assert(engine:run()).ended)
    assert.equal("waiting", kit.status(engine, ids[4]))
    assert.equal(0, send(engine, { name = "order.sent", key = "other" }))
    assert.equal(0, assert(engine:run()).ended)
  end)

  it("reaches two branches of one instance at once", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.two", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    flow:wait("a", { event = "order.paid", key = "order", into = "a",
      next = "j" })
    flow:wait("b", { event = "order.*", key = "order", into = "b",
      next = "j" })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine, { order = "1" }, "t.two")
    assert.equal(1, send(engine, { name = "order.paid", key = "1", data = 5 }))
    assert(engine:run())
    assert.same({ a = 5, b = 5 }, get(engine, id).output)
  end)

  it("reaches more than one batch", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(waiting { key = "all" }))
    for _ = 1, 1200 do assert(engine:start("t.wait", { all = "x" })) end
    assert(engine:run())
    assert.equal(1200, kit.count(backend, url, "subscription"))
    assert.equal(1200, send(engine, { name = "order.paid", key = "x" }))
    assert.equal(1200, assert(engine:run()).ended)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("in several shards reaches all, and is found by later waits", function()
    local engine, _, url = backend.fresh { shards = 3 }
    assert(engine:load(waiting { key = "order" }))
    for _ = 1, 12 do assert(engine:start("t.wait", { order = "1" })) end
    assert(engine:run())
    local shards = kit.select(url, ("select distinct shard from %s")
      :format(kit.table(backend, "subscription")))
    assert.is_true(#shards > 1)
    assert.equal(12, send(engine, { name = "order.paid", key = "1" }))
    assert.equal(12, assert(engine:run()).ended)
    for _ = 1, 6 do assert(engine:start("t.wait", { order = "1" })) end
    assert.equal(6, assert(engine:run()).ended)
  end)
end)

kit.describe("a pattern", function(backend)
  it("stands for one more segment", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { event = "pay.*" }))
    local id = begin(engine)
    assert.equal(0, send(engine, { name = "pay" }))
    assert.equal(0, send(engine, { name = "pay.card.visa" }))
    assert.equal(0, send(engine, { name = "payment.card" }))
    assert.equal(1, send(engine, { name = "pay.card" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("of a star alone stands for names of one segment", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { event = "*" }))
    begin(engine)
    assert.equal(0, send(engine, { name = "pay.card" }))
    assert.equal(1, send(engine, { name = "pay" }))
    assert.equal(1, assert(engine:run()).ended)
  end)

  it("finds what was sent before", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { event = "pay.*", key = "order" }))
    for i, name in ipairs { "pay", "pay.card.visa", "payx.card", "pay.cash" } do
      send(engine, { name = name, key = "1", data = i })
    end
    local id = begin(engine, { order = "1" })
    assert.same({ got = 4 }, get(engine, id).output)
  end)
end)

kit.describe("an event without key and instance", function(backend)
  it("reaches waits without a key that stand now, and is not kept",
    function()
      local engine = backend.fresh()
      assert(engine:load(waiting()))
      assert(engine:load(waiting({ key = "order" }, { code = "t.keyed" })))
      send(engine, { name = "order.paid", data = "too early" })
      local open = begin(engine)
      local keyed = begin(engine, { order = "1" }, "t.keyed")
      assert.equal("waiting", kit.status(engine, open))
      assert.equal(1, send(engine, { name = "order.paid", data = "now" }))
      assert(engine:run())
      assert.same({ got = "now" }, get(engine, open).output)
      assert.equal("waiting", kit.status(engine, keyed))
    end)

  it("is another thing than one with a key", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    assert.equal(0, send(engine, { name = "order.paid", key = "1" }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
  end)
end)

kit.describe("an event for one instance", function(backend)
  it("is kept in its inbox until a wait takes it", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.later", start = "t" }
    flow:timer("t", { after = "1h", next = "w" })
    flow:wait("w", { event = "order.paid", key = "order", into = "got",
      next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine, { order = "1" }, "t.later")
    local reached, info = send(engine, { name = "order.paid", instance = id,
      data = 7 })
    assert.equal(1, reached)
    assert.equal(id, info.instance)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(1, kit.count(backend, url, "inbox", "not taken"))
    clock:advance "2h"
    assert(engine:run())
    assert.same({ got = 7 }, get(engine, id).output)
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("must have the wait's key when it has one", function()
    local engine = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    local id = begin(engine, { order = "1" })
    send(engine, { name = "order.paid", instance = id, key = "2" })
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    send(engine, { name = "order.paid", instance = id, key = "1", data = 1 })
    assert(engine:run())
    assert.same({ got = 1 }, get(engine, id).output)
  end)

  it("is taken in the order of arrival", function()
    local engine = backend.fresh()
    assert(engine:load(chain { {}, {}, {} }))
    local id = assert(engine:start "t.waits")
    for i = 1, 3 do
      send(engine, { name = "order.paid", instance = id, data = i })
    end
    assert(engine:run())
    assert.same({ w1 = 1, w2 = 2, w3 = 3 }, get(engine, id).output)
  end)

  it("may be named by the beginning of the instance's id", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    assert.equal(1, send(engine, { name = "order.paid",
      instance = id:sub(1, 18) }))
    assert.equal(1, assert(engine:run()).ended)
  end)

  it("is refused when that has ended or never was", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    send(engine, { name = "order.paid", instance = id })
    assert(engine:run())
    local reached, err = engine:signal { name = "order.paid", instance = id }
    assert.is_nil(reached)
    assert.equal("already_finished", err.code)
    reached, err = engine:signal { name = "order.paid",
      instance = kit.draw_id() }
    assert.is_nil(reached)
    assert.equal("notfound", err.code)
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("goes into the inbox once", function()
    local engine = backend.fresh()
    assert(engine:load(chain { {}, {} }))
    local id = begin(engine, nil, "t.waits")
    local event = { name = "order.paid", instance = id, id = "e" }
    assert.equal(1, send(engine, event))
    assert(engine:run())
    local reached, info = send(engine, event)
    assert.equal(0, reached)
    assert.is_true(info.repeated)
    assert(engine:run())
    assert.equal("w2", get(engine, id).node)
  end)
end)

kit.describe("an event with a key", function(backend)
  it("is found by waits that begin within its lifetime", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    assert.equal(0, send(engine, { name = "order.paid", key = "1", data = 8,
      ttl = "2h" }))
    clock:advance "1h"
    local first = begin(engine, { order = "1" })
    local second = begin(engine, { order = "1" })
    assert.same({ got = 8 }, get(engine, first).output)
    assert.same({ got = 8 }, get(engine, second).output)
    clock:advance "1h"
    local late = begin(engine, { order = "1" })
    assert.equal("waiting", kit.status(engine, late))
  end)

  it("lives for a day", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    send(engine, { name = "order.paid", key = "1" })
    clock:advance(86399)
    assert.equal("completed", kit.status(engine, begin(engine,
      { order = "1" })))
    clock:advance(1)
    assert.equal("waiting", kit.status(engine, begin(engine,
      { order = "1" })))
  end)

  it("comes to one instance once, however it comes", function()
    local engine = backend.fresh()
    assert(engine:load(chain { { key = "order" }, { key = "order" } }))
    send(engine, { name = "order.paid", key = "1" })
    local id = begin(engine, { order = "1" }, "t.waits")
    assert.equal("w2", get(engine, id).node)
    assert.equal(1, send(engine, { name = "order.paid", key = "1" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("comes in the order of arrival", function()
    local engine, clock = backend.fresh()
    local key = { key = "order" }
    assert(engine:load(chain { key, key, key }))
    for i = 1, 3 do
      send(engine, { name = "order.paid", key = "1", data = i })
      clock:advance(1)
    end
    local id = begin(engine, { order = "1" }, "t.waits")
    assert.same({ w1 = 1, w2 = 2, w3 = 3 }, get(engine, id).output)
  end)

  for _, pause in ipairs { 3600, 0 } do
    it("is taken before what came to the instance later, " .. pause
      .. " seconds apart", function()
      local engine, clock = backend.fresh { shards = 2 }
      assert(engine:load(chain { { key = "order" }, { key = "order" }, {} }))
      send(engine, { name = "order.paid", key = "1", data = 1 })
      clock:advance(pause)
      local id = assert(engine:start("t.waits", { order = "1" }))
      clock:advance(pause)
      send(engine, { name = "order.paid", instance = id, data = 2 })
      clock:advance(pause)
      send(engine, { name = "order.paid", instance = id, data = 3 })
      assert(engine:run())
      assert.same({ w1 = 1, w2 = 2, w3 = 3 }, get(engine, id).output)
    end)
  end

  it("is taken before what came later, by each wait for a key of its own",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(chain { { key = "a" }, { key = "b" },
        { key = "a" } }))
      local id = assert(engine:start("t.waits", { a = "1", b = "2" }))
      for i, to in ipairs { { key = "1" }, { key = "2" }, { instance = id },
        { instance = id }, { key = "1" } } do
        to.name, to.data = "order.paid", i
        send(engine, to)
        clock:advance(60)
      end
      assert(engine:run())
      assert.same({ w1 = 1, w2 = 2, w3 = 3 }, get(engine, id).output)
    end)

  it("comes in that order however many are turned down before it", function()
    local engine, clock = backend.fresh()
    assert(engine:load(chain { { key = "order", match = function(event)
      return event.data > 100
    end }, {} }))
    local id = assert(engine:start("t.waits", { order = "1" }))
    for i = 1, 101 do
      send(engine, { name = "order.paid", key = "1", data = i })
      clock:advance(1)
    end
    send(engine, { name = "order.paid", instance = id, data = 500 })
    assert(engine:run())
    assert.same({ w1 = 101, w2 = 500 }, get(engine, id).output)
  end)

  it("is told to each instance once, and to those that come later", function()
    local engine = backend.fresh()
    assert(engine:load(chain { { key = "order" }, { key = "order" } }))
    send(engine, { name = "order.paid", key = "1", data = 1 })
    for _ = 1, 2 do
      local id = begin(engine, { order = "1" }, "t.waits")
      assert.equal("w2", get(engine, id).node)
    end
  end)
end)

kit.describe("an event's id", function(backend)
  it("is known whatever the key, in any number of shards", function()
    for _, shards in ipairs { 1, 4 } do
      local engine, _, url = backend.fresh { shards = shards }
      local flow = pawl.workflow { code = "t.trig", start = "z",
        trigger = "order.paid" }
      flow:finish "z"
      assert(engine:load(flow))
      for n = 1, 12 do
        local event = { name = "order.paid", id = "e" .. n, source = "s" }
        for _, key in ipairs { "a", "b", "c", false } do
          event.key = key or nil
          local reached, info = send(engine, event)
          assert.equal(key == "a" and 1 or 0, reached)
          assert.equal(key ~= "a", info.repeated)
        end
      end
      assert.equal(12, kit.count(backend, url, "instance"))
      assert.equal(0, kit.count(backend, url, "event", "not posted"))
    end
  end)

  it("is known when its instance has ended", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    local event = { name = "order.paid", instance = id, id = "E1" }
    assert.equal(1, send(engine, event))
    assert(engine:run())
    assert.completed(engine, id)
    local reached, info = send(engine, event)
    assert.equal(0, reached)
    assert.is_true(info.repeated)
    assert.equal(id, info.instance)
    event.id = "E2"
    local refused, err = engine:signal(event)
    assert.is_nil(refused)
    assert.equal("already_finished", err.code)
    assert.equal(0, kit.count(backend, url, "inbox"))
    event.id = "E1"
    clock:advance "2d" -- not for ever
    assert(kit.rival(backend, url, clock):run())
    assert.equal(0, kit.count(backend, url, "event"))
    refused, err = engine:signal(event)
    assert.is_nil(refused)
    assert.equal("already_finished", err.code)
  end)

  it("is known when its instance was ended without taking it", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine)
    local event = { name = "other", instance = id, id = "E1", source = "s" }
    assert.equal(1, send(engine, event))
    assert(engine:run())
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.is_true(select(2, send(engine, event)).repeated)
    event.source = "t"
    assert.equal("already_finished", select(2, engine:signal(event)).code)
  end)

  it("is known when what it started has ended", function()
    for _, key in ipairs { "k", false } do
      local engine, _, url = backend.fresh { shards = 3 }
      assert(engine:load(waiting()))
      local event = { name = "order.paid", id = "E1",
        start = { workflow = "t.wait", key = key or nil } }
      local _, first = send(engine, event)
      assert(engine:run())
      assert.completed(engine, first.instance)
      local reached, info = send(engine, event)
      assert.equal(0, reached)
      assert.is_true(info.repeated)
      assert.is_false(info.created)
      assert.equal(first.instance, info.instance)
      assert.equal(1, kit.count(backend, url, "instance"))
    end
  end)

  it("is known, when what it started is in the archive", function()
    for _, key in ipairs { "k", false } do
      local engine = backend.fresh()
      assert(engine:load(waiting()))
      local event = { name = "order.paid", id = "E1",
        start = { workflow = "t.wait", key = key or nil } }
      local _, first = send(engine, event)
      assert(engine:run())
      assert(engine:archive(first.instance))
      local _, again = send(engine, event)
      assert.same({ first.instance, true, false },
        { again.instance, again.repeated, again.created })
      local _, known = send(engine, { name = "order.paid", id = "E1",
        instance = first.instance })
      assert.is_true(known.repeated)
      kit.refused("conflict", "is archived", "unarchive",
        engine:signal { name = "order.paid", instance = first.instance })
    end
  end)

  it("is refused by a key whose instance is in the archive", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local event = { name = "order.paid", id = "E1",
      start = { workflow = "t.wait", key = "k" } }
    local _, first = send(engine, event)
    assert(engine:run())
    assert(engine:archive(first.instance))
    event.id = "E2"
    kit.refused("already_finished", "is archived", "another",
      engine:signal(event))
  end)

  it("is one event to an instance, whose data is the first that reached it",
    function()
      local engine = backend.fresh()
      assert(engine:load(chain { { key = "order" }, { key = "order" } }))
      local id = assert(engine:start("t.waits", { order = "1" }))
      send(engine, { name = "order.paid", key = "1", id = "e", data = 1 })
      assert.equal(1, send(engine, { name = "order.paid", instance = id,
        id = "e", data = 2 }))
      assert(engine:run())
      local instance = get(engine, id)
      assert.equal("w2", instance.node)
      assert.same({ w1 = 2 }, instance.variables)
    end)

  it("is taken once within the lifetime, by source", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting { key = "order" }))
    local event = { name = "order.paid", key = "1", id = "e", source = "s",
      ttl = "1h", data = 1 }
    begin(engine, { order = "1" })
    assert.equal(1, send(engine, event))
    assert(engine:run())
    begin(engine, { order = "2" })
    event.data = 2
    local reached, info = send(engine, event)
    assert.equal(0, reached)
    assert.is_true(info.repeated)
    assert.equal("e", info.id)
    event.source = "other"
    assert.is_false(select(2, send(engine, event)).repeated)
    assert.equal(2, kit.count(backend, url, "event"))
    clock:advance "1h"
    event.source = "s"
    assert.is_false(select(2, send(engine, event)).repeated)
    assert.equal(2, kit.count(backend, url, "event"))
  end)

  it("is taken once without a key, too", function()
    local engine = backend.fresh()
    assert(engine:load(chain { {}, {} }))
    local id = begin(engine, nil, "t.waits")
    assert.equal(1, send(engine, { name = "order.paid", id = "e" }))
    assert(engine:run())
    assert.equal(0, send(engine, { name = "order.paid", id = "e" }))
    assert(engine:run())
    assert.equal("w2", get(engine, id).node)
  end)

  it("may have colons around", function()
    local engine = backend.fresh()
    local seen = {}
    local flow = waiting { match = function(event)
      seen[#seen + 1] = event.source .. "|" .. event.id
      return false
    end }
    assert(engine:load(flow))
    begin(engine)
    for _, pair in ipairs { { "a:b", "c" }, { "a", "x:y" }, { "", ":z" } } do
      send(engine, { name = "order.paid", source = pair[1], id = pair[2] })
      assert(engine:run())
    end
    assert.same({ "a:b|c", "a|x:y", "|:z" }, seen)
  end)
end)

kit.describe("a wait's match", function(backend)
  it("leaves what it turns down to later waits, and is asked once", function()
    local engine = backend.fresh()
    local asked = {}
    assert(engine:load(chain {
      { match = function(event)
        asked[#asked + 1] = event.data
        return event.data > 1
      end }, {} }))
    local id = begin(engine, nil, "t.waits")
    for i = 1, 2 do
      assert.equal(1, send(engine, { name = "order.paid", instance = id,
        data = i }))
      assert(engine:run())
    end
    assert.same({ 1, 2 }, asked)
    assert.same({ w1 = 2, w2 = 1 }, get(engine, id).output)
  end)

  it("that fails leaves the event and is recorded", function()
    local engine = backend.fresh()
    assert(engine:load(chain { { match = function(event)
      if event.data == 1 then error "cannot tell" end
      return true
    end }, {} }))
    local id = begin(engine, nil, "t.waits")
    send(engine, { name = "order.paid", instance = id, data = 1 })
    assert(engine:run())
    local history = assert(engine:history(id))
    assert.equal("refused", history[#history].type)
    assert.matches("cannot tell", history[#history].error.message)
    assert.equal("w1", get(engine, id).node)
    send(engine, { name = "order.paid", instance = id, data = 2 })
    assert(engine:run())
    assert.same({ w1 = 2, w2 = 1 }, get(engine, id).output)
  end)
end)

kit.describe("a signal while the instance is leased", function(backend)
  local function flow_of(act)
    local flow = pawl.workflow { code = "t.busy", start = "a" }
    flow:step("a", { run = act, next = "w" })
    flow:wait("w", { event = "order.paid", key = "order", into = "got",
      next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    return flow
  end

  for name, event in pairs {
    instance = function(ctx) return { instance = ctx.id } end,
    key = function() return { key = "1" } end,
  } do
    it("is not lost when it is sent by " .. name, function()
      local a, b
      a, b = kit.pair(backend, { flow_of(function(ctx)
        local signal = event(ctx)
        signal.name, signal.data = "order.paid", 3
        send(b, signal)
      end) })
      local id = assert(a:start("t.busy", { order = "1" }))
      assert(a:run())
      assert.same({ got = 3 }, get(a, id).output)
    end)
  end

  -- The slow ones take so much of a tick that there is no second claim in it.
  for how, takes in pairs { quick = 0, slow = 0.35, endless = 1.1 } do
    it("reaches the wait that another branch stands at: " .. how, function()
      local a, b
      local flow = pawl.workflow { code = "t.busy", start = "f" }
      flow:fork("f", { next = { "w", "t" } })
      flow:wait("w", { event = "order.paid", key = "order", into = "got",
        next = "j" })
      flow:timer("t", { after = "1h", next = "a" })
      flow:step("a", { run = function()
        assert.equal(1, send(b, { name = "order.paid", key = "1", data = 3 }))
        socket.sleep(takes)
      end, next = "j" })
      flow:join("j", { next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      local clock
      a, b, clock = kit.pair(backend, { flow })
      local id = assert(a:start("t.busy", { order = "1" }))
      assert(a:run())
      clock:advance "2h"
      assert(a:run())
      assert.same({ got = 3 }, get(a, id).output)
    end)
  end
end)

kit.describe("an event and a timeout", function(backend)
  local NEXT = { received = "z", timeout = "late" }

  it("are decided by the time of arrival: before the deadline", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting { key = "order", timeout = "1h", next = NEXT }))
    local id = begin(engine, { order = "1" })
    clock:advance(3599)
    send(engine, { name = "order.paid", key = "1", data = 1 })
    clock:advance(10)
    assert(engine:run())
    assert.same({ got = 1 }, get(engine, id).output)
  end)

  it("are decided by the time of arrival: after the deadline", function()
    local engine, clock = backend.fresh()
    assert(engine:load(waiting { key = "order", timeout = "1h", next = NEXT }))
    local id = begin(engine, { order = "1" })
    clock:advance(3601)
    send(engine, { name = "order.paid", key = "1", data = 1 })
    assert(engine:run())
    assert.same({ late = true }, get(engine, id).output)
    assert.equal("started w, timeout w, step late", kit.trail(engine, id))
  end)

  -- The choice behind the timeout runs inside the decision: what its handler
  -- does comes between looking and committing.
  it("are decided anew when the event comes in between", function()
    local a, b, clock
    local asked = 0
    local flow = pawl.workflow { code = "t.race", start = "w" }
    flow:wait("w", { event = "order.paid", key = "order", timeout = "1h",
      into = "got", next = { received = "z", timeout = "c" } })
    flow:choice("c", { choose = function()
      asked = asked + 1
      if asked == 1 then
        clock.us = clock.us - HOUR -- it was received before the deadline
        send(b, { name = "order.paid", key = "1", data = 1 })
        clock.us = clock.us + HOUR
      end
      return "late"
    end, next = { late = "l", never = "z" } })
    flow:finish("l", { status = "failed" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start("t.race", { order = "1" }))
    assert(a:run())
    clock:advance(3601)
    assert(a:run())
    assert.equal(1, asked)
    assert.same({ got = 1 }, get(a, id).output)
    assert.equal("started w, received w", kit.trail(a, id))
  end)

  it("leave no subscription behind", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting { timeout = "1h", next = NEXT }))
    begin(engine)
    clock:advance "2h"
    assert(engine:run())
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, send(engine, { name = "order.paid" }))
  end)
end)

kit.describe("a signal with start", function(backend)
  local function start(key, more)
    local given = { workflow = "t.waits", key = key }
    for name, value in pairs(more or {}) do given[name] = value end
    return given
  end

  it("starts the instance with the event in its inbox", function()
    local engine = backend.fresh { shards = 3 }
    assert(engine:load(chain { {}, {} }))
    local reached, info = send(engine, { name = "order.paid", data = 1,
      start = start("k", { input = { a = 1 }, priority = 3 }) })
    assert.equal(1, reached)
    assert.is_true(info.created)
    local again, other = send(engine, { name = "order.paid", data = 2,
      start = start "k" })
    assert.equal(1, again)
    assert.is_false(other.created)
    assert.equal(info.instance, other.instance)
    assert(engine:run())
    local instance = get(engine, info.instance)
    assert.same({ w1 = 1, w2 = 2 }, instance.output)
    assert.same({ a = 1 }, instance.input)
    assert.equal(3, instance.priority)
  end)

  it("signals what its key names, however far that is", function()
    local engine = backend.fresh()
    assert(engine:load(chain { {}, {} }))
    local id = assert(engine:start("t.waits", nil, { key = "k" }))
    assert(engine:run())
    for i = 1, 2 do
      local _, info = send(engine, { name = "order.paid", data = i,
        start = start "k" })
      assert.equal(id, info.instance)
      assert(engine:run())
    end
    assert.same({ w1 = 1, w2 = 2 }, get(engine, id).output)
    local reached, err = engine:signal { name = "order.paid",
      start = start "k" }
    assert.is_nil(reached)
    assert.equal("already_finished", err.code)
  end)

  it("may be repeated when the event has an id", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(chain { {}, {} }))
    local event = { name = "order.paid", id = "e", start = start() }
    local _, first = send(engine, event)
    local reached, second = send(engine, event)
    assert.equal(0, reached)
    assert.is_true(second.repeated)
    assert.is_false(second.created)
    assert.equal(first.instance, second.instance)
    assert.equal(1, kit.count(backend, url, "instance"))
    assert(engine:run())
    assert.equal("w2", get(engine, first.instance).node)
  end)

  it("is refused whole when either half is", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(chain { {} }))
    for _, case in ipairs {
      { start = start(nil, { workflow = "no code" }) },
      { start = start(nil, { delay = 5 }) },
      { start = start(nil, { version = 7 }) },
      { start = start(), instance = kit.draw_id() },
      { start = start(), name = "a..b" },
    } do
      case.name = case.name or "order.paid"
      local reached, err = engine:signal(case)
      assert.is_nil(reached)
      assert.truthy(err.code == "invalid" or err.code == "notfound", err.code)
    end
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)
end)

kit.describe("a trigger", function(backend)
  local function triggered(trigger, options)
    local given = { code = "t.trig", start = "a", trigger = trigger }
    for key, value in pairs(options or {}) do given[key] = value end
    local flow = pawl.workflow(given)
    flow:step("a", { run = function() end, next = "z" })
    flow:finish "z"
    return flow
  end

  local function started(engine)
    return assert(engine:list { workflow = "t.trig" })
  end

  it("starts one instance for each event", function()
    local engine, _, url = backend.fresh { shards = 3 }
    assert(engine:load(triggered "order.placed"))
    local reached = send(engine, { name = "order.placed", key = "17",
      id = "e1", source = "shop", data = { order = 17 } })
    assert.equal(1, reached)
    assert.equal(0, send(engine, { name = "order.placed", key = "17",
      id = "e1", source = "shop", data = { order = 17 } }))
    assert(engine:run())
    local list = started(engine)
    assert.equal(1, #list)
    local instance = get(engine, list[1].id)
    assert.equal("completed", instance.status)
    assert.same({ order = 17 }, instance.input)
    local row = kit.select(url, ("select trigger_event, correlation, "
      .. "key from %s"):format(kit.table(backend, "instance")))[1]
    assert.equal("e1", row.trigger_event)
    assert.equal("17", row.correlation)
    assert.equal("event:shop:e1", row.key)
  end)

  it("takes patterns, lists and data of any kind", function()
    local engine = backend.fresh()
    assert(engine:load(triggered { "order.*", { event = "order.placed" },
      "now" }))
    assert.equal(1, send(engine, { name = "order.placed", data = { 1, 2 } }))
    assert.equal(1, send(engine, { name = "now" }))
    assert.equal(0, send(engine, { name = "order.placed.twice" }))
    local inputs = {}
    for _, row in ipairs(started(engine)) do
      local input = get(engine, row.id).input
      inputs[#inputs + 1] = pawl.json.encode(input)
    end
    table.sort(inputs)
    assert.same({ '{"data":[1,2]}', "{}" }, inputs)
  end)

  it("reaches those that wait as well", function()
    local engine = backend.fresh()
    assert(engine:load(triggered "order.paid"))
    assert(engine:load(waiting { key = "order" }))
    begin(engine, { order = "1" })
    assert.equal(2, send(engine, { name = "order.paid", key = "1" }))
    assert.equal(2, assert(engine:run()).ended)
  end)

  it("is not set off by an event for one instance", function()
    local engine = backend.fresh()
    assert(engine:load(triggered "order.paid"))
    assert(engine:load(waiting()))
    send(engine, { name = "order.paid", instance = begin(engine) })
    assert.equal(0, #started(engine))
  end)

  it("is the newest version's", function()
    local engine = backend.fresh()
    assert(engine:load(triggered("old.event", { version = 1 })))
    assert(engine:load(triggered("new.event", { version = 2 })))
    assert(engine:load(triggered("old.event", { version = 1 })))
    assert.equal(0, send(engine, { name = "old.event" }))
    assert.equal(1, send(engine, { name = "new.event" }))
    assert.equal(2, started(engine)[1].version)
    assert(engine:load(triggered(nil, { version = 3 })))
    assert.equal(0, send(engine, { name = "new.event" }))
    assert(engine:load(triggered("new.event", { version = 0x7ffffff })))
    assert.equal(1, send(engine, { name = "new.event" }))
  end)

  it("works with data as long as a key may be", function()
    local engine = backend.fresh()
    assert(engine:load(triggered "order.placed"))
    local long = ("x"):rep(255)
    local event = { name = "order.placed", key = long, id = long,
      source = long }
    assert.equal(1, send(engine, event))
    assert.equal(0, send(engine, event))
    assert.equal(1, #started(engine))
  end)
end)

kit.describe("what a signal that starts writes", function(backend)
  local function stored(act)
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.waits", start = "w",
      trigger = "order.placed" }
    flow:wait("w", { event = "order.paid", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    act(engine)
    return kit.everything(backend, url)
  end

  local ALL = { priority = 7, tenant = "t", group = "g", correlation = "c",
    business_key = "b", metadata = { by = "spec" }, version = 1,
    attributes = { region = "eu", size = 3 } }

  --- What the row says of the event that started it, as inboxes know it: it
  --- says so no more.
  local function untrigger(row)
    local id, source = row.trigger_event, row.trigger_source
    row.trigger_event, row.trigger_source = nil, nil
    return source .. ":" .. id, source
  end

  for what, key in pairs { ["of a key"] = "k", ["of no key"] = false } do
    it("is what a start and a signal to it write: " .. what, function()
      local event = { name = "order.paid", data = { n = 1.0 }, id = "e",
        source = "shop", by = "ann" }
      -- else the event's id would be its key
      if not key then event.id = nil end
      local options = { key = key or nil }
      for name, value in pairs(ALL) do options[name] = value end
      local start = { workflow = "t.waits", input = { a = 1 } }
      for name, value in pairs(options) do start[name] = value end
      local one = stored(function(engine)
        local given = { start = start }
        for name, value in pairs(event) do given[name] = value end
        send(engine, given)
      end)
      options.by = event.by -- who sends it has it started
      local two = stored(function(engine)
        local given = { instance = assert(engine:start("t.waits", { a = 1 },
          options)) }
        for name, value in pairs(event) do given[name] = value end
        send(engine, given)
      end)
      assert.equal(1, #one.instance)
      assert.equal(1, #one.inbox)
      assert.same({ one.inbox[1].event_id, "shop" },
        { untrigger(one.instance[1]) })
      if not key then
        for _, rows in ipairs { one, two } do
          rows.inbox[1].event_id = nil -- drawn
        end
      end
      assert.same(two, one)
    end)
  end

  it("is what a start with its key writes, when it triggers", function()
    local one = stored(function(engine)
      send(engine, { name = "order.placed", id = "e", source = "shop",
        data = { a = 1 }, key = "17" })
    end)
    local two = stored(function(engine)
      assert(engine:start("t.waits", { a = 1 }, { key = "event:shop:e",
        correlation = "17" }))
    end)
    assert.same({ "shop:e", "shop" }, { untrigger(one.instance[1]) })
    assert.equal(1, #one.event)
    one.event = two.event
    assert.same(two, one)
  end)
end)

kit.describe("an event that cancels", function(backend)
  local function cancellable()
    local flow = pawl.workflow { code = "t.cancel", start = "t",
      cancel_on = { { event = "order.withdrawn", key = "order" },
        { event = "shop.*" } } }
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    return flow
  end

  it("ends those that its key names", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(cancellable()))
    local one = begin(engine, { order = "1" }, "t.cancel")
    local two = begin(engine, { order = "2" }, "t.cancel")
    assert.equal(1, send(engine, { name = "order.withdrawn", key = "1",
      id = "e", by = "ann" }))
    assert(engine:run())
    local instance = get(engine, one)
    assert.equal("cancelled", instance.status)
    assert.equal("event", instance.cancellation.source)
    assert.equal("waiting", kit.status(engine, two))
    assert.equal(1, send(engine, { name = "shop.closed" }))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, two))
    assert.equal(0, kit.count(backend, url, "subscription"))
  end)

  local function withdraw(engine, key)
    local reached = send(engine, { name = "order.withdrawn", key = key })
    assert(engine:run())
    return reached
  end

  --- s (which sets what `set` says), then a timer, then z.
  local function setting(set, options)
    local given = { code = "t.cancel", start = "s",
      cancel_on = { event = "order.withdrawn", key = "order" } }
    for key, value in pairs(options or {}) do given[key] = value end
    local flow = pawl.workflow(given)
    flow:step("s", { run = set, next = "t" })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    return flow
  end

  it("is found by a key that a step has set", function()
    local engine = backend.fresh()
    assert(engine:load(setting(function(ctx) ctx.vars.order = "7" end)))
    local id = begin(engine, nil, "t.cancel")
    assert.equal(1, withdraw(engine, "7"))
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("follows its key as that changes", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(cancellable()))
    local id = begin(engine, { order = "1" }, "t.cancel")
    assert(engine:edit(id, { set = { order = "2" }, reason = "moved" }))
    assert.equal(0, withdraw(engine, "1"))
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:edit(id, { set = { order = ("x"):rep(256) },
      reason = "no key an event can have" }))
    assert.equal(1, kit.count(backend, url, "subscription"))
    assert.equal(0, withdraw(engine, "2"))
    assert(engine:edit(id, { set = { order = 3 }, reason = "again" }))
    assert.equal(1, withdraw(engine, "3"))
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("follows its key when somebody changes it who knows no rules", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(cancellable()))
    local id = begin(engine, { order = "1" }, "t.cancel")
    local client = kit.rival(backend, url, clock,
      { group = "nobody", prefixes = "none.", stored_code = "own" })
    assert(client:edit(id, { set = { order = "2" }, reason = "moved" }))
    assert(engine:run())
    assert.equal(0, withdraw(engine, "1"))
    assert.equal(1, withdraw(engine, "2"))
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("is waited for again after a retry and a restart", function()
    for _, how in ipairs { "retry", "restart" } do
      local engine = backend.fresh()
      local runs = 0
      assert(engine:load(setting(function()
        runs = runs + 1
        if runs == 1 then error { code = "no", retry = false } end
      end)))
      local id = begin(engine, { order = "1" }, "t.cancel")
      assert.failed(engine, id)
      assert.equal(0, withdraw(engine, "2"))
      if how == "retry" then
        assert(engine:retry(id, { reason = "mended" }))
      else
        assert(engine:restart(id, { from = "s", reason = "mended" }))
      end
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(1, withdraw(engine, "1"))
      assert.equal("cancelled", kit.status(engine, id))
    end
  end)

  it("is the version's to which the instance was moved", function()
    local engine, _, url = backend.fresh()
    local function version(n, cancel_on)
      assert(engine:load(setting(function() end,
        { version = n, cancel_on = cancel_on })))
    end
    version(1, nil)
    local id = begin(engine, { order = "1", other = "2" }, "t.cancel")
    version(2, { { event = "a" }, { event = "order.withdrawn", key = "other" },
      { event = "b.*" } })
    assert(engine.workflows:transfer("t.cancel", 1, 2, { reason = "rules" }))
    assert(engine:run())
    assert.equal(3, kit.count(backend, url, "subscription"))
    version(3, { event = "order.withdrawn", key = "order" })
    assert(engine.workflows:transfer("t.cancel", 2, 3, { reason = "others" }))
    assert(engine:run())
    assert.equal(1, kit.count(backend, url, "subscription"))
    assert.equal(0, withdraw(engine, "2"))
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(1, withdraw(engine, "1"))
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("is forgotten by a version without such rules", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(setting(function() end, { version = 1 })))
    begin(engine, { order = "1" }, "t.cancel")
    local flow = pawl.workflow { code = "t.cancel", version = 2, start = "s" }
    flow:step("s", { run = function() end, next = "t" })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine.workflows:transfer("t.cancel", 1, 2, { reason = "none" }))
    assert(engine:run())
    assert.equal(0, kit.count(backend, url, "subscription"))
  end)

  it("may come before the instance's first step, which does not run",
    function()
      local engine, clock = backend.fresh { shards = 3 }
      local ran = 0
      assert(engine:load(setting(function() ran = ran + 1 end)))
      local ids = {}
      for i, delay in ipairs { 0, 7200 } do
        ids[i] = assert(engine:start("t.cancel", { order = "1" },
          { delay = delay > 0 and delay or nil }))
      end
      assert.equal(0, send(engine, { name = "order.withdrawn", key = "1" }))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, ids[1]))
      clock:advance "3h"
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, ids[2]))
      assert.equal(0, ran)
    end)

  it("is not meant for an instance that began after it", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.cancel", start = "w",
      cancel_on = { event = "order.*", key = "order" },
      trigger = "order.placed" }
    flow:wait("w", { event = "order.withdrawn", key = "order", next = "t" })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    send(engine, { name = "order.withdrawn", key = "1" })
    clock:advance(1)
    local id = begin(engine, { order = "1" }, "t.cancel")
    assert.equal("t", get(engine, id).node, "waits are told of it")
    send(engine, { name = "order.placed", key = "2",
      data = { order = "2" } })
    assert(engine:run())
    local list = assert(engine:list { workflow = "t.cancel" })
    for _, row in ipairs(list) do
      assert.equal("waiting", row.status, "not by what started it")
    end
  end)

  it("must have the rule's key, and none where that has none", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.cancel", start = "f", cancel_on = {
      { event = "stop.now", key = "k" }, { event = "halt.now" } } }
    flow:fork("f", { next = { "a", "b" } })
    flow:wait("a", { event = "stop.*", next = "j" })
    flow:wait("b", { event = "halt.*", key = "k", next = "j" })
    flow:join("j", { next = "t" })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine, { k = "K" }, "t.cancel")
    assert.equal(1, send(engine, { name = "stop.now" }))
    assert.equal(1, send(engine, { name = "halt.now", key = "K" }))
    assert(engine:run())
    assert.equal("t", get(engine, id).node)
    assert.equal(1, send(engine, { name = "stop.now", instance = id }))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id), "it is addressed")
  end)
end)

kit.describe("a signal whose connection is lost", function(backend)
  if backend.name ~= "postgres" then return end

  after_each(function() probe.fault(nil) end)

  for _, point in ipairs { "commit.before_send", "commit.sent" } do
    it("comes once, wherever that is: " .. point, function()
      local engine, _, url = backend.fresh()
      assert(engine:load(chain { { key = "order" }, { key = "order" } }))
      local ids = {}
      for n = 1, 8 do
        local order = tostring(n)
        ids[n] = begin(engine, { order = order }, "t.waits")
        probe.fault(("%s=drop@%d"):format(point, n))
        assert.equal(1, send(engine, { name = "order.paid", key = order }))
        probe.fault(nil)
      end
      assert(engine:run())
      for n = 1, 8 do assert.equal("w2", get(engine, ids[n]).node) end
      assert.equal(8, kit.count(backend, url, "event", "posted"))
    end)

    it("and its start come once, wherever that is: " .. point, function()
      local engine, _, url = backend.fresh()
      assert(engine:load(chain { {}, {} }))
      for n = 1, 8 do
        probe.fault(("%s=drop@%d"):format(point, n))
        assert.equal(1, send(engine, { name = "order.paid",
          start = { workflow = "t.waits", key = tostring(n) } }))
        probe.fault(nil)
      end
      assert(engine:run())
      assert.equal(8, kit.count(backend, url, "instance"))
      assert.equal(8, kit.count(backend, url, "history",
        "type = 'received'"))
    end)

    it("comes to one instance once, wherever that is: " .. point, function()
      local engine = backend.fresh()
      assert(engine:load(chain { {}, {} }))
      for n = 1, 3 do
        local id = begin(engine, nil, "t.waits")
        probe.fault(("%s=drop@%d"):format(point, n))
        assert.equal(1, send(engine, { name = "order.paid", instance = id }))
        probe.fault(nil)
        assert(engine:run())
        assert.equal("w2", get(engine, id).node)
      end
    end)
  end
end)

kit.describe("a signal's errors", function(backend)
  it("name what is wrong", function()
    local engine, _, url = backend.fresh()
    for _, case in ipairs {
      { { name = "a b" }, "invalid", '"a b" cannot be an event\'s name' },
      { { name = "pay.*" }, "invalid", "cannot be an event's name" },
      { { name = ("x"):rep(201) }, "invalid", "cannot be an event's name" },
      { { name = "a", id = "" }, "invalid", "`id`.*1 to 255" },
      { { name = "a", id = ("x"):rep(256) }, "invalid", "`id`" },
      { { name = "a", source = "\0" }, "invalid", "`source`" },
      { { name = "a", instance = "xyz" }, "invalid", "xyz" },
      { { name = "a", data = { f = print } }, "value", "function" },
      { { name = "a", data = ("x"):rep(1 << 20) }, "limit", "limit" },
    } do
      local reached, err = engine:signal(case[1])
      assert.is_nil(reached)
      assert.equal(case[2], err.code)
      assert.matches(case[3], err.message)
    end
    assert.equal(0, kit.count(backend, url, "event"))
  end)

  it("are raised for wrong use", function()
    local engine = backend.fresh()
    assert.error_matches(function() engine:signal {} end, "'name'")
    assert.error_matches(function()
      engine:signal { name = "a", keys = "1" }
    end, "did you mean 'key'")
    assert.error_matches(function()
      engine:signal { name = "a", key = {} }
    end, "'key'")
    assert.error_matches(function()
      engine:signal { name = "a", ttl = 0 }
    end, "'ttl' must be .*longer than 0, got 0")
    assert.error_matches(function()
      engine:signal { name = "a", start = {} }
    end, "'workflow'")
    assert.error_matches(function()
      engine:signal { name = "a", start = { workflow = "b", kay = 1 } }
    end, "did you mean 'key'")
  end)
end)
