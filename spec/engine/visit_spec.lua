-- ctx.visit: the how many-th time an instance comes to a node.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("ctx.visit", function(backend)
  it("counts the visits of one node", function()
    local engine = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.visit", start = "a" }
    flow:step("a", { next = "b", run = function(ctx)
      seen[#seen + 1] = "a" .. ctx.visit
    end })
    flow:step("b", { next = { again = "c", no = "z" }, run = function(ctx)
      seen[#seen + 1] = "b" .. ctx.visit
      return #seen < 6 and "again" or "no"
    end })
    flow:choice("c", { next = { yes = "a", no = "b" },
      choose = function() return "yes" end })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.visit")
    assert(engine:run())
    assert.equal("a1 b1 a2 b2 a3 b3", table.concat(seen, " "))
  end)

  it("is the same for each attempt, and behind ctx.await", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.visit", start = "a" }
    flow:step("a", { retry = { max = 2, base = 1, jitter = 0 },
      next = { again = "b", no = "z" }, run = function(ctx)
        ctx.await(function() return true end)
        seen[#seen + 1] = ctx.visit
        if #seen % 2 == 1 then error "once more" end
        return #seen < 6 and "again" or "no"
      end })
    flow:step("b", { next = "a", run = function() end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.visit")
    for _ = 1, 6 do
      assert(engine:run())
      clock:advance(2)
    end
    assert.completed(engine, id)
    assert.same({ 1, 1, 2, 2, 3, 3 }, seen)
  end)

  it("tells tokens apart that stand at one node", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.visit", start = "f" }
    flow:fork("f", { next = { "l", "m", "r" } })
    for _, name in ipairs { "l", "m", "r" } do
      flow:timer(name, { after = "1h", next = "s" })
    end
    flow:step("s", { next = "j", run = function(ctx)
      seen[#seen + 1] = ctx.visit
    end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.visit")
    assert(engine:run())
    clock:advance "2h"
    assert(engine:run())
    table.sort(seen)
    assert.same({ 1, 2, 3 }, seen)
  end)

  it("goes on counting after a restart, and tells a wait's match", function()
    local engine = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.visit", start = "a" }
    flow:step("a", { next = "w", run = function(ctx)
      seen[#seen + 1] = "a" .. ctx.visit
    end })
    flow:wait("w", { event = "go", next = "z", match = function(_, ctx)
      seen[#seen + 1] = "w" .. ctx.visit
      return true
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.visit")
    for i = 1, 2 do
      assert(engine:run())
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      assert.completed(engine, id)
      if i == 1 then assert(engine:restart(id, { from = "a" })) end
    end
    assert.equal("a1 w1 a2 w2", table.concat(seen, " "))
  end)

  it("can be read in a transactional step", function()
    local engine = backend.fresh()
    local seen
    local flow = pawl.workflow { code = "t.visit", start = "a" }
    flow:step("a", { next = "b", run = function() end })
    flow:step("b", { next = "z", transactional = true, run = function(ctx)
      seen = ctx.visit
    end })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.visit")
    assert(engine:run())
    assert.equal(1, seen)
  end)

  --- s three times, undone by `un` in between, until it fails at "boom".
  local function undone_between(seen)
    local flow = pawl.workflow { code = "t.visit", start = "s",
      retry = { max = 2, base = 1, jitter = 0 } }
    flow:step("s", { next = { again = "un", on = "boom" },
      run = function(ctx)
        seen[#seen + 1] = "s" .. ctx.visit
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n % 3 > 0 and "again" or "on", ctx.vars.n
      end,
      undo = function(ctx)
        seen[#seen + 1] = "undo" .. ctx.visit .. "/" .. ctx.attempt
        assert(ctx.visit == ctx.output)
        ctx.note "undoing"
        if ctx.visit ~= 2 and ctx.attempt == 1 then error "once more" end
      end })
    flow:undo("un", { next = "s" })
    flow:step("boom", { retry = false, next = "z",
      run = function() error "no" end })
    flow:finish "z"
    return flow
  end

  it("does not count what is undone, and tells an undo which visit it undoes",
    function()
      local engine, clock = backend.fresh()
      local seen = {}
      assert(engine:load(undone_between(seen)))
      local id = assert(engine:start "t.visit")
      for _ = 1, 6 do
        assert(engine:run())
        assert(engine:note(id, { text = "who watches" }))
        clock:advance(2)
      end
      assert.equal("s1 undo1/1 undo1/2 s2 undo2/1 s3 undo3/1 undo3/2",
        table.concat(seen, " "))
      assert.equal("failed", kit.status(engine, id))
      assert(engine:restart(id, { from = "s" }))
      assert(engine:run())
      assert.equal("s4", seen[9])
    end)

  it("counts a visit that somebody ended by a move, and one by a deadline",
    function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.visit", deadline = "1d" }
      local seen = {}
      flow:wait("w", { event = "go", next = "z", match = function(_, ctx)
        seen[#seen + 1] = ctx.visit
        return false
      end })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.visit")
      assert(engine:run())
      assert(engine:move(id, { to = "w" }))
      assert(engine:run())
      clock:advance "2d"
      assert(engine:run())
      assert.equal("failed", kit.status(engine, id))
      assert(engine:restart(id, { from = "w" }))
      assert(engine:run())
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      assert.same({ 3 }, seen)
    end)
end)
