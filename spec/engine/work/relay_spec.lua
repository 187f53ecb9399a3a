-- A relay: what workflows have emitted is handed over, in order, at least once.
local emitted = require "spec.support.emitted"
local mono = require("pawl.core").mono
local kit = require "spec.engine.kit"

local emitter, filled = emitted.emitter, emitted.filled
local receiver, relay = emitted.receiver, emitted.relay
local states = emitted.states

kit.describe("a relay", function(backend)
  it("tries again what failed, later each time, before what is behind it",
    function()
      local engine, clock = filled(backend, 1, 3)
      local broken = true
      local got = receiver(function(event)
        if broken and event.type == "e2" then return nil, "no\xffway" end
        return true
      end)
      local told = relay(engine, got.publish)
      assert.equal(1, told.published)
      assert.equal(1, told.failed)
      assert.equal("e1 e2", got.types())
      local row = assert(engine.outbox:list())[2]
      assert.equal(2, row.seq)
      assert.equal("no?way", row.error)
      assert.equal(1, row.attempts)
      assert.equal("waiting", row.state)
      assert.is_true(told.next_due <= clock:now() + 1.5)
      relay(engine, got.publish)
      assert.equal("e1 e2", got.types())
      clock:advance(1.5)
      relay(engine, got.publish)
      assert.equal("e1 e2 e2", got.types())
      clock:advance(1.9)
      relay(engine, got.publish)
      assert.equal("e1 e2 e2", got.types())
      broken = false
      clock:advance(1.2)
      assert.equal(2, relay(engine, got.publish).published)
      assert.equal("e1 e2 e2 e2 e3", got.types())
    end)

  it("sets aside what nobody accepts, and goes on behind it", function()
    local engine, clock = filled(backend, 2, 3)
    local got = receiver(function(event)
      if event.type == "e2" then return nil, "never" end
      return true
    end)
    local dead = 0
    for _ = 1, 3 do
      dead = dead + relay(engine, got.publish, { max_attempts = 3 }).dead
      clock:advance "1h"
    end
    assert.equal(2, dead)
    assert.equal("2:dead 2:dead", states(engine))
    assert.equal("2:dead 2:dead", states(engine, { dead = true }))
    local row = assert(engine.outbox:list { dead = true })[1]
    assert.equal(3, row.attempts)
    assert.equal("never", row.error)
    assert.is_string(row.dead)
    assert.is_nil(row.due)
    local order = got.types()
    assert.matches("e2 e3", order)
  end)

  it("sets aside at once what is refused", function()
    local engine = filled(backend, 1, 2)
    local got = receiver(function(event)
      if event.type == "e1" then return false, "bad" end
      return true
    end)
    local told = relay(engine, got.publish)
    assert.equal(1, told.dead)
    assert.equal(0, told.failed)
    assert.equal("e1 e2", got.types())
    assert.equal("1:dead", states(engine))
  end)

  it("holds up nothing but the instance of what fails", function()
    local engine, _, ids = filled(backend, 20, 2)
    local got = receiver(function(event)
      if event.subject == ids[7] then return nil, "no" end
      return true
    end)
    assert.equal(38, relay(engine, got.publish, { batch = 3 }).published)
    assert.equal("2:behind 1:waiting", states(engine))
  end)

  it("takes what raises, and what returns nothing, for a failure", function()
    for _, how in ipairs {
      function() error "boom" end,
      function() error { message = "boom" } end,
      function() return nil, { message = "boom" } end,
      function() end,
      function() return coroutine.yield() end,
    } do
      local engine = filled(backend, 1, 1)
      assert.equal(1, relay(engine, how).failed)
      assert.is_string(assert(engine.outbox:list())[1].error)
    end
  end)

  it("waits for none that is under way, and keeps its place", function()
    local engine, clock, ids = filled(backend, 3, 2)
    local open = {}
    local got = receiver(function(event, id, _, again)
      assert.equal(again, event.type == nil)
      if id == ids[2] .. "/1" and not open.done then
        open.asked = (open.asked or 0) + 1
        return "later"
      end
      return true
    end)
    local told = relay(engine, got.publish)
    assert.equal(4, told.published)
    assert.equal(1, told.under_way)
    local asked = open.asked
    assert.equal("2:behind 1:leased", states(engine, { instance = ids[2] }))
    relay(engine, got.publish)
    assert.equal(asked + 1, open.asked)
    clock:advance(5)
    open.done = true
    assert.equal(2, relay(engine, got.publish).published)
    assert.equal("", states(engine))
  end)

  it("delivers payloads of any size, and none in between is lost", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      for i = 1, 40 do
        ctx.emit("e" .. i, i % 7 == 0 and ("x"):rep(300000) or "small")
      end
    end)))
    assert(engine:start "t.one")
    assert(engine:run())
    local got = receiver()
    assert.equal(40, relay(engine, got.publish).published)
    for i, event in ipairs(got.list) do
      assert.equal("e" .. i, event.type)
      assert.equal(i % 7 == 0 and 300000 or 5, #event.data)
    end
  end)

  it("finds others behind very many rows of one instance", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(emitter(1)))
    local long = assert(engine:start("t.one", { n = 700 }))
    assert(engine:run())
    clock:advance(1)
    local other = assert(engine:start("t.one", { n = 1 }))
    assert(engine:run())
    local got = receiver(function(event)
      if event.subject == long then return nil, "no" end
      return true
    end)
    assert.equal(1, relay(engine, got.publish, { batch = 2 }).published)
    assert.equal(other .. "/1", got[2])
    assert.is_true(kit.count(backend, url, "outbox",
      "due_at < " .. (backend.name == "sqlite" and "253402300799999999"
        or "'9999-01-01'")) < 100)
    assert.matches("behind", states(engine, { limit = 1000 }))
    clock:advance "1h"
    got = receiver()
    assert.equal(700, relay(engine, got.publish, { batch = 2 }).published)
    for i, event in ipairs(got.list) do assert.equal("e" .. i, event.type) end
  end)

  it("is one of several: each instance is one's at a time", function()
    local a, clock, ids, url = filled(backend, 6, 5)
    local b = kit.rival(backend, url, clock)
    local seen, nested = {}, 0
    local function note(event)
      local list = seen[event.subject] or {}
      seen[event.subject] = list
      list[#list + 1] = event.type
    end
    relay(a, function(event)
      note(event)
      nested = nested + 1
      if nested % 4 == 1 then
        relay(b, function(e) note(e) return true end, { batch = 1 })
      end
      return true
    end, { batch = 2 })
    for _, id in ipairs(ids) do
      assert.equal("e1 e2 e3 e4 e5", table.concat(seen[id], " "))
    end
  end)

  it("takes over from one that died, when its lease has ended", function()
    local a, clock, ids, url = filled(backend, 1, 3)
    local b = kit.rival(backend, url, clock)
    local second, told = receiver(), nil
    local got = receiver(function(event)
      if event.type == "e2" then
        relay(b, second.publish)
        assert.equal(0, #second)
        clock:advance(31) -- as good as dead
        told = relay(b, second.publish)
      end
      return true
    end)
    local lost = relay(a, got.publish).lost
    assert.equal(3, told.published)
    assert.equal("e1 e2 e3", second.types())
    assert.equal(1, lost)
    assert.equal(ids[1] .. "/1", second[1])
    assert.equal("", states(b))
  end)

  it("counts who died of an event, and sets it aside at last", function()
    local engine, clock, _, url = filled(backend, 1, 2)
    for _ = 1, 3 do
      local other = kit.store(url, clock)
      assert.equal(1, #kit.run(other, "outbox_claim", { shard = 0,
        lease = kit.draw_id(), lease_us = 1000000, walk = 10, max = 1,
        now = other:now() }))
      clock:advance(2)
    end
    local got = receiver()
    relay(engine, got.publish, { max_attempts = 3 })
    assert.equal("e2", got.types())
    assert.equal("1:dead", states(engine))
  end)

  it("gives back what it has not begun, when it is to end", function()
    local a, clock, _, url = filled(backend, 5, 3)
    local b = kit.rival(backend, url, clock)
    local got = receiver(function()
      a:interrupt()
      return true
    end)
    assert.equal(1, relay(a, got.publish).published)
    assert.equal(14, relay(b, got.publish).published)
  end)

  it("gives back what is under way when its engine is closed", function()
    local a, clock, _, url = filled(backend, 2, 2)
    local b = kit.rival(backend, url, clock)
    assert.equal(2, relay(a, function() return "later" end).under_way)
    assert.equal(0, relay(b, receiver().publish).published)
    a:close()
    assert.equal(4, relay(b, receiver().publish).published)
  end)

  it("goes on with what comes meanwhile, for as long as it may", function()
    local engine = filled(backend, 1, 1)
    local n = 0
    local told = relay(engine, function() n = n + 1 return true end,
      { budget = 0.000001, lease = "1m", base = 2, cap = "1m" })
    assert.equal(1, told.published)
    assert.equal(1, n)
  end)

  it("does not call the engine from inside", function()
    local engine = filled(backend, 1, 1)
    local ok, err
    relay(engine, function()
      ok, err = pcall(engine.list, engine)
      return true
    end)
    assert.is_false(ok)
    assert.equal("misuse", err.code)
  end)

  it("says what of its options is wrong", function()
    local engine = backend.fresh()
    local outbox = engine.outbox
    assert.has_error(function() outbox:relay {} end)
    assert.has_error(function() outbox:relay { publish = 1 } end)
    assert.has_error(function()
      outbox:relay { publish = print, bach = 1 }
    end)
    local ok, err = outbox:relay { publish = print, batch = 100000 }
    kit.refused("invalid", "batch", nil, ok, err)
  end)

  it("serves every shard", function()
    local engine = filled(backend, 30, 2, { shards = 4 })
    local got = receiver()
    assert.equal(60, relay(engine, got.publish, { batch = 3 }).published)
    assert.equal("", states(engine))
  end)

  it("hands over no more than its rate allows, in any time", function()
    local engine = filled(backend, 30, 2)
    local times, began = {}, mono()
    local told = relay(engine, function()
      times[#times + 1] = mono()
      return true
    end, { rate = 200, batch = 8 })
    assert.same({ 60, false }, { told.published, told.limited })
    -- from the beginning: one that was handed over late makes those behind it
    -- no earlier
    for n, at in ipairs(times) do
      assert.is_true(n <= 8 + 200 * (at - began) + 1, n)
    end
    assert.equal("", states(engine))
  end)

  it("counts what is tried again, and not what is asked for again", function()
    local engine = filled(backend, 4, 1)
    local asked = 0
    local function later()
      asked = asked + 1
      return asked > 8 or "later"
    end
    local given = { rate = 1, batch = 4 }
    for _ = 1, 5 do relay(engine, later, given) end
    assert.equal(5, asked) -- one is under way
    local told = relay(engine, function() return nil, "no" end,
      { rate = 1, batch = 4, budget = 0.01 })
    assert.same({ 1, true }, { told.failed, told.limited })
  end)

  it("says when its rate allows for more, if that is behind its time",
    function()
      local engine, clock = filled(backend, 3, 1)
      local got = receiver()
      local given = { rate = 2, budget = 0.05 }
      local told = relay(engine, got.publish, given)
      assert.same({ 1, true }, { told.published, told.limited })
      local due = told.next_due - clock:now()
      assert.is_true(due > 0.2 and due <= 0.51, due)
      told = relay(engine, got.publish, given)
      assert.same({ 0, true }, { told.published, told.limited })
      assert.equal(2, relay(engine, got.publish).published)
    end)

  it("waits for its rate until it is interrupted", function()
    local engine = filled(backend, 2, 1)
    local got = receiver(function()
      engine:interrupt()
      return true
    end)
    local began = mono()
    local told = relay(engine, got.publish, { rate = 1, lease = 60 })
    assert.same({ 1, 1 }, { told.published, #got })
    assert.is_true(mono() - began < 0.9)
    assert.equal("2", tostring(1 + relay(engine, got.publish).published))
  end)

  it("holds no more than it may hand over", function()
    local engine, clock, _, url = filled(backend, 10, 1)
    local rival = kit.rival(backend, url, clock)
    local others = receiver()
    local got = receiver(function()
      if #others == 0 then relay(rival, others.publish) end
      return true
    end)
    relay(engine, got.publish, { rate = 1, budget = 0.01 })
    assert.same({ 1, 9 }, { #got, #others })
  end)

  it("refuses a rate that is none", function()
    local engine = backend.fresh()
    assert.has_error(function()
      engine.outbox:relay { publish = print, rate = 0 }
    end)
    kit.refused("invalid", "rate", nil, engine.outbox:relay {
      publish = print, rate = 1000001 })
  end)
end)
