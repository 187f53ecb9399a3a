-- The short way to commit plain steps gives the rows that the long one gives.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

kit.describe("plain steps", function(backend)
  --- All rows of an instance that runs a, b and c; `company`: something that
  --- is not plain is in the same batch, so that all go the long way.
  local function rows(company)
    local engine, clock, url = backend.fresh()
    local function step(ctx)
      ctx.vars[ctx.node] = clock.us
      clock:advance(0.001)
    end
    assert(engine:load(kit.chain { step, step, step }))
    local id = assert(engine:start("t.chain", { n = 1 }))
    if company then
      local flow = pawl.workflow { code = "t.loud", start = "a" }
      flow:step("a", { next = { again = "a", out = "z" },
        run = function(ctx)
          ctx.emit("x", 1)
          ctx.vars.n = (ctx.vars.n or 0) + 1
          return ctx.vars.n < 3 and "again" or "out"
        end })
      flow:finish "z"
      assert(engine:load(flow))
      assert(engine:start "t.loud")
    end
    assert(engine:run())
    local history = assert(engine:history(id))
    local got = assert(engine:get(id))
    assert.equal(0, kit.count(backend, url, "agenda"))
    for _, row in ipairs(history) do
      row.started, row.completed, row.changes = nil, nil, nil
      row.executor = nil
    end
    return { history = history, status = got.status, commits = got.commits,
      input = got.input, node = got.node }, engine:count().statements
  end

  it("leave the same as on the long way", function()
    local short, long = rows(false), rows(true)
    assert.equal(3, #short.history)
    assert.equal("completed", short.status)
    assert.same(long, short)
  end)

  it("lose to who has taken over, all of the batch decided again", function()
    local engine, clock, url = backend.fresh { lease = 10 }
    local rival = kit.rival(backend, url, clock)
    local runs = {}
    local slow
    local flow = kit.one(function(ctx)
      runs[ctx.id] = (runs[ctx.id] or 0) + 1
      if not slow then
        slow = ctx.id
        clock:advance(11)
        assert(rival:run { id = ctx.id })
      end
    end)
    assert(engine:load(flow))
    assert(rival:load(flow))
    local ids = assert(engine:start_many("t.one", { {}, {} }))
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.completed(engine, id)
      local _, steps = kit.trail(engine, id):gsub("step a", "")
      assert.equal(1, steps)
    end
    assert.equal(2, runs[slow])
  end)
end)

---- every row of them, the short way refused ----

local PASSAGES = 16 -- as many as one setting of faults may hold

--- The short way is refused each time: what is refused goes the long way.
local function refuse_short()
  local faults = {}
  for i = 1, PASSAGES do faults[i] = "engine.commit.plain=fail@" .. i end
  probe.fault(table.concat(faults, ","))
end

--- Runs one instance to its end, or until it waits. How many statements that
--- took, and all that is stored of it.
local function run(backend, flow, given)
  local engine, _, url = backend.fresh()
  local before, id
  assert(engine:load(flow()))
  id = assert(engine:start("t.flow", given))
  before = engine:count().statements
  assert(engine:run())
  return engine:count().statements - before, kit.everything(backend, url),
    kit.trail(engine, id)
end

kit.describe("a plain plan", function(backend)
  after_each(function() probe.fault(nil) end)

  local function same_both_ways(flow, given)
    local short, stored, trail = run(backend, flow, given)
    refuse_short()
    local long, expected, same = run(backend, flow, given)
    assert.is_true(long > short, "it was not refused")
    assert.equal(trail, same)
    assert.same(expected, stored)
  end

  it("is stored as on the long way, step by step", function()
    same_both_ways(function()
      local flow = pawl.workflow { code = "t.flow", start = "a" }
      flow:step("a", { next = { left = "b", right = "c" },
        run = function(ctx)
          ctx.vars.n = 1
          return "right", { seen = ctx.input.x }
        end })
      flow:step("b", { next = "z", run = function() end })
      flow:step("c", { next = "z", run = function(ctx)
        ctx.vars.n = ctx.vars.n + 1
        ctx.vars.text = "grüß \0 Gott"
      end })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow
    end, { x = 1.0 })
  end)

  it("is stored as on the long way where it ends at once", function()
    same_both_ways(function()
      local flow = pawl.workflow { code = "t.flow", start = "z" }
      flow:finish "z"
      return flow
    end)
  end)

  it("is stored as on the long way where a choice leads on", function()
    same_both_ways(function()
      local flow = pawl.workflow { code = "t.flow", start = "a" }
      flow:step("a", { next = "which",
        run = function(ctx) ctx.vars.n = (ctx.vars.n or 0) + 1 end })
      flow:choice("which", { next = { again = "a", done = "z" },
        choose = function(ctx)
          return ctx.vars.n < 3 and "again" or "done"
        end })
      flow:finish("z", { output = function(ctx) return ctx.vars.n end })
      return flow
    end)
  end)

  it("is stored as on the long way before a wait, which is not", function()
    same_both_ways(function()
      local flow = pawl.workflow { code = "t.flow", start = "a" }
      flow:step("a", { next = "b", run = function() return nil, 7 end })
      flow:step("b", { next = "t", run = function() end })
      flow:timer("t", { after = "1h", next = "z" })
      flow:finish "z"
      return flow
    end)
  end)
end)
