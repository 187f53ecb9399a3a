-- Events that are stored, and whose sender died before they reached anybody.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local SECOND = 1000000

--- Waits for its order to be paid, so often: w1, w2 ..., z.
local function waiting(times)
  local flow = pawl.workflow { code = "t.wait", start = "w1" }
  for i = 1, times or 1 do
    flow:wait("w" .. i, { event = "order.paid", key = "order", into = "got",
      next = i == (times or 1) and "z" or "w" .. i + 1 })
  end
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- Starts and runs it up to where it waits.
local function begin(engine, input)
  local id = assert(engine:start("t.wait", input))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

kit.describe("an event that its sender left behind", function(backend)
  --- As a sender that died between storing and posting.
  local function leave(store, name, key, ttl_us)
    return kit.run(store, "event_insert", { shard = 0, tenant = "", source = "",
      id = "left", name = name, key = key, data = "5",
      ttl_us = ttl_us or 3600 * SECOND, now = store:now() })
  end

  it("is posted by whoever works", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine, { order = "1" })
    leave(kit.store(url, clock), "order.paid", "1")
    clock:advance(4) -- its sender may be at it
    assert(kit.rival(backend, url, clock):run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(2)
    local other = kit.rival(backend, url, clock)
    assert(other:load(waiting()))
    assert(other:run())
    assert(other:run())
    assert.same({ got = 5 }, get(engine, id).output)
    assert.equal(0, kit.count(backend, url, "event", "not posted"))
  end)

  it("does not come twice", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting(2)))
    leave(kit.store(url, clock), "order.paid", "1")
    local id = begin(engine, { order = "1" }) -- finds it itself
    assert.equal("w2", get(engine, id).node)
    clock:advance(6)
    assert(kit.rival(backend, url, clock):run())
    assert(engine:run())
    assert.equal("w2", get(engine, id).node)
  end)

  it("is not thrown away before, though its time is up", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    local id = begin(engine, { order = "1" })
    leave(kit.store(url, clock), "order.paid", "1", 2 * SECOND)
    clock:advance(4) -- its sender may be at it
    assert(kit.rival(backend, url, clock):run())
    assert.equal(1, kit.count(backend, url, "event", "not posted"))
    clock:advance(2)
    assert(kit.rival(backend, url, clock):run())
    assert(engine:run())
    assert.same({ got = 5 }, get(engine, id).output)
    assert.equal(0, kit.count(backend, url, "event"))
  end)

  it("and one that has expired are forgotten", function()
    local engine, clock, url = backend.fresh()
    assert(engine:signal { name = "order.paid", key = "1", ttl = "1h" })
    assert(engine:signal { name = "order.paid", ttl = "1h" })
    assert(engine:signal { name = "order.paid", key = "2" })
    leave(kit.store(url, clock), "order.paid", "3")
    clock:advance "2h"
    assert(kit.rival(backend, url, clock):run())
    assert.equal(1, kit.count(backend, url, "event"))
  end)
end)
