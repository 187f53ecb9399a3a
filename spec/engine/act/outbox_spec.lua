-- The outbox, by hand: what was set aside is tried again, or dropped.
local audits = require "spec.engine.audits"
local emitted = require "spec.support.emitted"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

local emitter, filled = emitted.emitter, emitted.filled
local receiver, relay = emitted.receiver, emitted.relay
local states = emitted.states

local audit, told = audits.asked, audits.told

kit.describe("what was set aside", function(backend)
  after_each(function() probe.fault(nil) end)

  local function with_dead()
    local engine, clock, ids, url = filled(backend, 2, 3)
    relay(engine, function(event) return event.type ~= "e2" end)
    relay(engine, function() return true end)
    assert.equal("2:dead 2:dead", states(engine))
    return engine, clock, ids, url
  end

  it("is tried again when somebody says so, as if it were new", function()
    local engine, _, ids = with_dead()
    assert.equal("2:dead", states(engine, { instance = ids[1], dead = true }))
    assert.equal(1, assert(engine.outbox:retry { instance = ids[1],
      by = "ann", reason = "mended" }))
    local row = assert(engine.outbox:list { instance = ids[1] })[1]
    assert.equal("waiting", row.state)
    assert.equal(0, row.attempts)
    assert.equal("ann", row.by)
    assert.equal("mended", row.reason)
    local got = receiver()
    relay(engine, got.publish)
    assert.equal(ids[1] .. "/2", table.concat(got, " "))
    assert.equal(1, (assert(engine.outbox:retry {})))
    assert.equal(0, (assert(engine.outbox:retry {})))
    assert.equal(1, relay(engine, got.publish).published)
  end)

  it("is dropped when somebody says so", function()
    local engine, _, ids, url = with_dead()
    assert.equal(1, (assert(engine.outbox:drop { instance = ids[2], seq = 2,
      by = "ann" })))
    local changed, more = engine.outbox:drop { type = "e2", limit = 1 }
    assert.equal(1, changed)
    assert.is_true(more)
    assert.equal("", states(engine))
    assert.equal(0, relay(engine, receiver().publish).published)
    assert.equal(2, kit.count(backend, url, "outbox",
      "dead_at is not null and published_at is not null"))
  end)

  it("may be so by type and age, and no more than are asked for", function()
    local engine, clock, ids, url = filled(backend, 3, 2)
    relay(engine, function() return false end)
    relay(engine, function() return false end)
    clock:advance(60)
    assert.equal(0, (assert(engine.outbox:retry { type = "e9" })))
    assert.equal(0, (assert(engine.outbox:retry {
      emitted_before = clock:now() - 60 })))
    assert.equal(3, (assert(engine.outbox:retry { type = "e1" })))
    assert.equal(3, (assert(engine.outbox:drop {
      emitted_before = clock:now() })))
    assert.equal(3, relay(engine, receiver().publish).published)
    assert.equal(0, kit.count(backend, url, "outbox",
      "published_at is null"))
    assert.equal(3, #ids)
  end)

  it("need not be dead, when it is named", function()
    local engine, clock, ids = filled(backend, 1, 3)
    relay(engine, function() return nil, "no" end)
    kit.refused("conflict", "behind another", "outbox list",
      engine.outbox:drop { instance = ids[1], seq = 2 })
    assert.equal(1, (assert(engine.outbox:retry { instance = ids[1],
      seq = 1 })))
    relay(engine, function() return nil, "no" end)
    assert.equal(1, (assert(engine.outbox:drop { instance = ids[1],
      seq = 1 })))
    local got = receiver()
    relay(engine, got.publish)
    assert.equal("e2 e3", got.types())
    kit.refused("conflict", "is published", nil,
      engine.outbox:retry { instance = ids[1], seq = 1 })
    kit.refused("notfound", "number 9", nil,
      engine.outbox:retry { instance = ids[1], seq = 9 })
    kit.refused("invalid", "`seq` goes with `instance`", nil,
      engine.outbox:retry { seq = 9 })
    clock:advance(1)
  end)

  it("lets go on what was put off behind what is dropped", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(emitter(1)))
    local long = assert(engine:start("t.one", { n = 30 }))
    assert(engine:run())
    local function no() return nil, "no" end
    relay(engine, no, { batch = 1 })
    relay(engine, no, { batch = 1 })
    assert.is_true(kit.count(backend, url, "outbox", "due_at > "
      .. (backend.name == "sqlite" and "253402300799999998"
        or "'9999-01-01'")) > 20)
    assert.equal(1, (assert(engine.outbox:drop { instance = long, seq = 1 })))
    assert.equal(29, relay(engine, receiver().publish).published)
    clock:advance(1)
  end)

  it("leaves in the audit who did what with it, and why", function()
    local engine, clock, ids = with_dead()
    clock:advance(1)
    assert.equal(1, (assert(engine.outbox:retry { instance = ids[1],
      by = "ann", reason = "mended" })))
    clock:advance(1)
    kit.refused("conflict", "or due$", "outbox list",
      engine.outbox:retry { instance = ids[1], seq = 2, by = "bob" })
    relay(engine, function() return nil, "no" end)
    assert.equal(1, (assert(engine.outbox:drop { instance = ids[1], seq = 2,
      by = "bob", reason = "late" })))
    clock:advance(1)
    assert.equal(1, (assert(engine.outbox:drop {}))) -- nobody says who
    clock:advance(100)
    assert(engine:prune { published = 10 })
    local entries = audit(engine)
    assert.same({ "- dropped", "bob dropped (late)", "ann retried (mended)" },
      told(entries))
    local entry = entries[2]
    assert.same({ ids[1], "t.one", 1 },
      { entry.instance, entry.workflow, entry.version })
    assert.same({ "ann retried (mended)" }, told(audit(engine,
      { by = "ann" })))
    assert.same({ "bob dropped (late)", "ann retried (mended)" },
      told(audit(engine, { instance = ids[1] })))
    assert.same({ "- dropped", "bob dropped (late)" },
      told(audit(engine, { type = "dropped" })))
  end)

  it("is changed, counted and told once, when two ask at once", function()
    for i, kind in ipairs { "retry", "drop" } do
      local engine, clock, _, url = filled(backend, 3, 1)
      relay(engine, function() return false end)
      local rival = kit.rival(backend, url, clock)
      local theirs
      probe.fault("engine.outbox.found=call@1", function()
        probe.fault(nil)
        theirs = assert(rival.outbox[kind](rival.outbox, { by = "bob",
          limit = 2 }))
      end)
      local ours = assert(engine.outbox[kind](engine.outbox, { by = "ann" }))
      assert.same({ 2, 1 }, { theirs, ours })
      local did = ({ "retried", "dropped" })[i]
      assert.equal(2, #audit(engine, { by = "bob", type = did }))
      assert.equal(1, #audit(engine, { by = "ann", type = did }))
      assert.equal(3, #audit(engine, { type = did }))
    end
  end)

  it("is told with what happened to it, or not at all", function()
    local engine, _, ids = with_dead()
    assert.has_error(function() engine:transaction(function()
      assert(engine.outbox:drop { by = "ann" })
      assert.equal(2, #audit(engine, { by = "ann" }))
      error "no"
    end) end)
    assert.equal("2:dead 2:dead", states(engine))
    assert.same({}, audit(engine))
    assert.equal(2, #ids)
  end)
end)

kit.describe("the outbox, listed", function(backend)
  it("tells what stands behind another of its instance", function()
    local engine, clock, ids = filled(backend, 2, 2, { shards = 2 })
    local rival = assert(engine:start("t.one", { n = 2 }, { tenant = "b" }))
    assert(engine:run())
    for _, id in ipairs { ids[1], ids[2], rival } do
      assert.equal("1:waiting 2:behind", states(engine, { instance = id }))
    end
    local row = assert(engine.outbox:list { instance = ids[1] })[2]
    assert.is_nil(row.due)
    assert.equal("1:waiting 2:behind", states(engine, { tenant = "b" }))
    local seen = {}
    for _, one in ipairs(assert(engine.outbox:list())) do
      seen[one.instance .. one.seq] = one.state
    end
    assert.same({ "waiting", "behind", "waiting" }, { seen[ids[1] .. 1],
      seen[ids[1] .. 2], seen[ids[2] .. 1] })
    relay(engine, function() return nil, "not now" end)
    -- the first is to be tried again later than the second was made
    assert.equal("2:behind 1:waiting", states(engine, { instance = ids[1] }))
    clock:advance "1d"
    relay(engine, function(event)
      if event.type == "e1" then return false end
      return nil, "not now"
    end)
    assert.equal("2:waiting 1:dead", states(engine, { instance = ids[1] }))
  end)
end)
