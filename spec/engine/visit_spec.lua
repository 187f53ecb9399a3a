-- ctx.visit: the how many-th time an instance comes to a node.
local pawl = require "pawl"
local probe = require "spec.support.probe"
local kit = require "spec.engine.kit"

kit.describe("ctx.visit", function(backend)
  after_each(function() probe.shorten(0) end)

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

  --- s, and a choice behind it that leads back until it was there `n` times.
  local function three_times(seen, n, options, failing)
    options = options or {}
    options.code, options.retry = "t.visit", { max = 3, base = 1, jitter = 0 }
    local flow = pawl.workflow(options)
    flow:step("s", { run = function(ctx)
      seen[#seen + 1] = "s" .. ctx.visit
    end })
    flow:choice("is it", { choose = function(ctx)
      local said = "c" .. ctx.visit
      if seen[#seen] ~= said then seen[#seen + 1] = said end -- each attempt
      if failing and ctx.attempt == 1 then error "once more" end
      return ctx.visit % n > 0 and "again" or "out"
    end, next = { again = "s", out = "done" } })
    flow:finish("done", { output = function(ctx) return ctx.visit end })
    return flow
  end

  it("ends a loop of a choice, and counts on where that is restarted",
    function()
      local engine = backend.fresh()
      local seen = {}
      assert(engine:load(three_times(seen, 3, { busy_limit = 50 })))
      local id = assert(engine:start "t.visit")
      assert(engine:run())
      assert.equal("s1 c1 s2 c2 s3 c3", table.concat(seen, " "))
      assert.equal(1, assert(engine:get(id)).output)
      for i, from in ipairs { "s", "is it" } do
        assert(engine:restart(id, { from = from }))
        assert(engine:run())
        assert.equal(1 + i, assert(engine:get(id)).output)
      end
      assert.equal("s1 c1 s2 c2 s3 c3 s4 c4 s5 c5 s6 c6 c7 s7 c8 s8 c9",
        table.concat(seen, " "))
    end)

  it("is the same for each attempt of a choice, also of the first node",
    function()
      local engine, clock = backend.fresh()
      for _, start in ipairs { "s", "is it" } do
        local seen = {}
        local flow = three_times(seen, 3, { start = start,
          version = start == "s" and 1 or 2 }, true)
        assert(engine:load(flow))
        local id = assert(engine:start "t.visit")
        for _ = 1, 4 do
          assert(engine:run())
          clock:advance(2)
        end
        assert.completed(engine, id)
        assert.equal(start == "s" and "s1 c1 s2 c2 s3 c3"
          or "c1 s1 c2 s2 c3", table.concat(seen, " "))
      end
    end)

  it("goes on where the history of a choice is trimmed", function()
    local engine = backend.fresh()
    local seen = {}
    assert(engine:load(three_times(seen, 700, { keep_history = 100 })))
    local id = assert(engine:start "t.visit")
    assert(engine:run())
    assert.completed(engine, id)
    assert.is_true(assert(engine:get(id)).trimmed.rows > 400)
    assert.same({ "s700", "c700" }, { seen[#seen - 1], seen[#seen] })
  end)

  it("does not grow where the row that it began with is trimmed", function()
    local seen = {}
    local flow = pawl.workflow { code = "t.trimmed", keep_history = 100 }
    flow:choice("c", { next = { a = "s", b = "z" },
      choose = function() return "a" end })
    flow:step("s", { next = { again = "s2", done = "z" },
      retry = { max = 9, base = 1, factor = 1, jitter = 0 },
      run = function(ctx)
        seen[#seen + 1] = ctx.visit
        if ctx.attempt <= 5 then error "again" end
        return #seen < 12 and "again" or "done"
      end })
    flow:step("s2", { next = "s", run = function() end })
    flow:finish "z"
    local engine, clock = backend.fresh()
    probe.shorten(3)
    assert(engine:load(flow))
    local id = assert(engine:start "t.trimmed")
    for _ = 1, 30 do
      assert(engine:run())
      clock:advance(2)
    end
    assert.completed(engine, id)
    assert.same({ 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2 }, seen)
  end)

  it("is a branch's own in a choice that several come to", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.visit", start = "f" }
    flow:fork("f", { next = { a = "c", b = "c", t = "t" } })
    flow:timer("t", { after = 60, next = "c" })
    flow:choice("c", { next = { on = "j", off = "j" }, choose = function(ctx)
      seen[#seen + 1] = ctx.visit
      return "on"
    end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.visit")
    assert(engine:run())
    kit.pass(engine, clock, 61)
    assert.completed(engine, id)
    assert.same({ 1, 2, 3 }, seen)
  end)

  it("counts the visits of a wait for a condition, passed at once or not",
    function()
      local engine = backend.fresh()
      local seen = {}
      local flow = pawl.workflow { code = "t.visit" }
      flow:step("s", { run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end })
      flow:wait("w", { condition = function(ctx)
        seen[#seen + 1] = ctx.visit
        return ctx.vars.n ~= 2 or ctx.vars.open
      end })
      flow:choice("c", { next = { again = "s", out = "z" },
        choose = function(ctx) return ctx.visit < 3 and "again" or "out" end })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.visit")
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      assert(engine:edit(id, { set = { x = 1 } }))
      assert(engine:run())
      assert(engine:edit(id, { set = { open = true } }))
      assert(engine:run())
      assert.completed(engine, id)
      assert.same({ 1, 2, 2, 2, 3 }, seen)
    end)

  it("counts a choice that it is cancelled to from the first time on",
    function()
      local engine = backend.fresh()
      local seen = {}
      local flow = pawl.workflow { code = "t.visit", on_cancel = "c" }
      flow:wait("w", { event = "go", next = "z" })
      flow:choice("c", { next = { again = "s", out = "z" },
        choose = function(ctx)
          seen[#seen + 1] = ctx.visit
          return ctx.visit < 3 and "again" or "out"
        end })
      flow:step("s", { next = "c", run = function() end })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.visit")
      assert(engine:run())
      assert(engine:cancel(id))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      assert.same({ 1, 2, 3 }, seen)
    end)
end)
