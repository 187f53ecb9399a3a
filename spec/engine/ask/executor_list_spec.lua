-- engine.executors: who works on a store, and how much each holds.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("engine.executors:list", function(backend)
  --- An engine in the midst of a step, told of by another on the same store.
  local function during(look)
    local engine, clock, url = backend.fresh()
    local rival = kit.rival(backend, url, clock, { group = "night" })
    local seen
    assert(engine:load(kit.one(function() seen = look(rival) end)))
    assert(engine:start "t.one")
    assert(engine:run {})
    return seen, engine, rival, clock
  end

  it("tells who is alive, and what it holds", function()
    local seen, engine = during(function(rival)
      return assert(rival.executors:list())
    end)
    assert.equal(1, #seen) -- who only asks is none
    local row = seen[1]
    assert.equal(engine:executor_id(), row.id)
    assert.is_true(row.alive)
    assert.equal("default", row.group)
    assert.equal("integer", math.type(row.pid))
    assert.matches("^%d+%-%d+%-%d+T.*Z$", row.started)
    assert.equal(row.started, row.active)
    assert.is_nil(row.stopped)
    assert.equal(1, row.holds)
    assert.equal(0, assert(engine.executors:list())[1].holds)
  end)

  it("tells of one group, and of so many", function()
    local _, engine, rival, clock = during(function() end)
    clock:advance(1)
    assert(rival:load(kit.one(nil, { code = "t.night" })))
    assert(rival:start("t.night", nil, { group = "night" }))
    assert(rival:run {})
    local rows = assert(engine.executors:list())
    assert.same({ "night", "default" }, { rows[1].group, rows[2].group })
    assert.equal(1, #assert(engine.executors:list { group = "default" }))
    assert.equal(0, #assert(engine.executors:list { group = "day" }))
    rows = assert(engine.executors:list { limit = 1 })
    assert.same({ "night" }, { rows[1].group, rows[2] })
  end)

  it("tells of those that stopped or died only when asked", function()
    local _, engine, rival, clock = during(function() end)
    local dead = engine:executor_id()
    clock:advance("1d")
    assert.equal(0, #assert(rival.executors:list()))
    local row = assert(rival.executors:list { all = true })[1]
    assert.equal(dead, row.id)
    assert.is_false(row.alive)
    assert.is_nil(row.stopped)
    engine:close()
    row = assert(rival.executors:list { all = true })[1]
    assert.is_false(row.alive)
    assert.matches("^%d+%-%d+%-%d+T.*Z$", row.stopped)
  end)

  it("is the same as JSON", function()
    local _, engine = during(function() end)
    local rows = pawl.json.decode(
      assert(engine.executors:list(nil, "json")))
    assert.equal(pawl.null, rows[1].stopped)
    rows[1].stopped, rows[1].recovered = nil, nil
    assert.same(assert(engine.executors:list()), rows)
  end)

  it("refuses what it does not know", function()
    local _, engine = during(function() end)
    local function fails(query, words)
      assert.error_matches(function() engine.executors:list(query) end, words)
    end
    fails({ grup = "a" }, "group")
    fails({ limit = 0 }, "limit")
    fails({ all = 1 }, "all")
    local rows, err = engine.executors:list { group = "" }
    assert.is_nil(rows)
    assert.equal("invalid", err.code)
    assert.matches("group", err.message)
  end)
end)
