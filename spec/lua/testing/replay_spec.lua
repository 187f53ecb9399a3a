--- Doubles that do what was recorded.
local pawl = require "pawl"
local test = require "pawl.testing"

describe("what is replayed", function()
  local engine, clock

  local function flow()
    local made = pawl.workflow { code = "t.replay" }
    made:step("charge", { retry = { max = 3, base = 60, jitter = 0 },
      undo = function() error "it is not to run" end,
      run = function() error "it is not to run" end, into = "paid",
      next = { good = "wait", bad = "refused" } })
    made:wait("wait", { event = "go", timeout = "1d" })
    made:call("ship", { workflow = "t.ship", into = "sent" })
    made:step("last", { retry = false, run = function()
      error "it is not to run"
    end })
    made:finish "done"
    made:finish("refused", { status = "failed" })
    return made
  end

  before_each(function()
    engine, clock = test.engine { load = flow() }
  end)
  after_each(function() engine:close() end)

  it("is what a handler gave, one attempt and one visit after the other",
    function()
      local charge = engine:replay("charge", {
        { code = "busy", message = "later", retry = 5 },
        { again = true, at = "2026-01-01T00:00:09Z", goes = "good",
          returns = { n = 1 }, vars = { a = { 1 } } },
        { goes = "bad" },
      })
      engine:replay("last", { { attrs = { n = 1 } } })
      engine:replay_workflow("t.ship", {
        { at = "2026-01-01T02:00:00Z", output = "sent" } })
      local id = engine:start "t.replay"
      engine:run_until_idle()
      engine:run_at "2026-01-01T00:00:05Z"
      assert.equal(1767225609, clock:now()) -- it took its time
      assert.vars(engine, id, { paid = { n = 1 }, a = { 1 } })
      assert.equal(2, #charge.calls)
      engine:signal { name = "go", instance = id }
      engine:run_at("2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z")
      assert.completed(engine, id)
      assert.vars(engine, id, { sent = "sent" })
      local other = engine:start "t.replay"
      engine:run_until_idle()
      assert.failed(engine, other)
      assert.path(engine, other, { "charge" })
    end)

  it("is an error of its own where nothing was recorded", function()
    engine:replay("charge", { { goes = "good", returns = 1 } })
    engine:replay_workflow("t.ship", { { output = 1 } })
    local id = engine:start "t.replay"
    engine:run_until_waiting(id, "wait")
    engine:signal { name = "go", instance = id }
    engine:replay_undo("charge", { { vars = { undone = true } } })
    engine:run_until_idle()
    clock:advance "1h"
    assert.failed(engine, id, "not_recorded") -- "last" has no double
    assert.compensated(engine, id, { "charge" })
    assert.vars(engine, id, { undone = true })
    id = engine:start "t.replay"
    engine:run_until_idle()
    assert.failed(engine, id, "not_recorded") -- it ran once
    assert.matches("'charge' was not run so often",
      engine:get(id).error.message)
  end)

  it("may be under way for ever, and a child may be cancelled", function()
    engine:replay("charge", { { goes = "good" }, { under_way = true } })
    engine:replay_workflow("t.ship", {
      { at = "2026-01-01T00:10:00Z", cancelled = true } })
    local id = engine:start "t.replay"
    engine:run_until_idle()
    engine:signal { name = "go", instance = id }
    engine:run_at "2026-01-01T00:10:00Z"
    assert.failed(engine, id, "child_cancelled")
    local stuck = engine:start "t.replay"
    engine:run_at "2026-01-03T00:00:00Z"
    assert.path(engine, stuck, {})
    assert.equal("running", engine:get(stuck).status)
  end)

  it("is refused where it is wrong, with what is", function()
    for said, fn in pairs {
      ["there is no node 'charg' (did you mean 'charge'?)"] = function()
        engine:replay("charg", {})
      end,
      ["'last' has no `undo`"] = function() engine:replay_undo("last", {}) end,
      ["unknown option 'return' (did you mean 'returns'?)"] = function()
        engine:replay("charge", { { ["return"] = 1 } })
      end,
      ["a list of what was recorded is wanted"] = function()
        engine:replay("charge", { returns = 1 })
      end,
      ["noon is not a time"] = function()
        engine:replay("charge", { { at = "noon" } })
      end,
      ["run_at: soon is not a time"] = function() engine:run_at "soon" end,
      ["jump_to: soon is not a time"] = function() clock:jump_to "soon" end,
      ["'soon' is not a time"] = function() test.clock "soon" end,
    } do
      local ok, why = pcall(fn)
      assert.is_false(ok, said)
      assert.matches(said, tostring(why), 1, true)
    end
  end)
end)

describe("a task", function()
  it("is found where it is open", function()
    local flow = pawl.workflow { code = "t.asks" }
    flow:task("ask", { title = "Well?" })
    flow:finish "z"
    local engine <close> = test.engine { load = flow }
    local id = engine:start "t.asks"
    engine:run_until_idle()
    assert(engine.tasks:complete(engine:task_at(id, "ask"), { by = "ann" }))
    engine:run_until_idle()
    assert.completed(engine, id)
    local ok, why = pcall(engine.task_at, engine, id, "ask")
    assert.is_false(ok)
    assert.matches('task_at "ask": no task is open there', why, 1, true)
  end)
end)
