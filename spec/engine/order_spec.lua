-- Who came first, when several things are found at once.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

--- A fork of m, a wait, and t, a timer of an hour, in that order or the other.
--- Behind each a chain of steps, then an `any` join. What they ran is noted.
local function race(options)
  local flow = pawl.workflow { code = "t.race", start = "f" }
  flow:fork("f", { next = options.first == "t" and { "t", "m" }
    or { "m", "t" } })
  local function chain(name, n)
    for i = 1, n do
      flow:step(name .. i, { next = i == n and "j" or name .. i + 1,
        transactional = options.transactional == name .. i,
        run = function(ctx) ctx.vars.ran = (ctx.vars.ran or "") .. name end })
    end
    return n > 0 and name .. "1" or "j"
  end
  if options.task then
    flow:task("m", { title = "m", next = chain("m", options.m) })
  else
    flow:wait("m", { event = "m", next = chain("m", options.m) })
  end
  flow:timer("t", { after = "1h", next = chain("t", options.t) })
  flow:join("j", { expect = "any", losers = "cancel", next = "d" })
  flow:finish("d", { output = function(ctx) return ctx.vars.ran or "none" end })
  return flow
end

kit.describe("what is found at once, after a time when nobody ran,",
  function(backend)
    --- The instance's output; the message comes after so long.
    local function played(options, message_at)
      local engine, clock, url = backend.fresh()
      local flow = race(options)
      assert(engine:load(flow))
      local id = assert(engine:start "t.race")
      assert(engine:run())
      clock:advance(message_at)
      if options.task then
        local task = assert(engine.tasks:list { instance = id })[1]
        assert(engine.tasks:complete(task.id, { by = "ann" }))
      else
        assert(engine:signal { name = "m", instance = id })
      end
      clock:advance "2h"
      if options.rounds then
        assert(engine:tick(0))
        engine:close()
        engine = kit.rival(backend, url, clock)
        assert(engine:load(flow))
      end
      assert(engine:run())
      assert.completed(engine, id)
      return assert(engine:get(id)).output
    end

    for _, first in ipairs { "m", "t" } do
      for _, case in ipairs { { m = 1, t = 1 }, { m = 1, t = 3 },
        { m = 3, t = 1 }, { m = 2, t = 2, task = true },
        { m = 1, t = 2, transactional = "m1" },
        { m = 2, t = 3, rounds = true } } do
        case.first = first
        local name = ("%d and %d steps, %s drawn first%s%s%s"):format(case.m,
          case.t, first, case.task and ", a task" or "",
          case.transactional and ", transactional" or "",
          case.rounds and ", by two workers" or "")

        it("is decided by the timer that was due before: " .. name, function()
          assert.equal(("t"):rep(case.t), played(case, "61m"))
        end)

        it("is decided by the message that came before: " .. name, function()
          assert.equal(("m"):rep(case.m), played(case, "59m"))
        end)
      end
    end

    it("keeps its order behind an inner join and an inner fork", function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.race", start = "f" }
      local function note(name, next)
        flow:step(name, { next = next, run = function(ctx)
          ctx.vars.ran = (ctx.vars.ran or "") .. name .. " "
        end })
      end
      flow:fork("f", { next = { "m", "g" } })
      flow:wait("m", { event = "m", next = "m1" })
      note("m1", "j")
      flow:fork("g", { next = { "t", "u" } })
      flow:timer("t", { after = "1h", next = "t1" })
      flow:timer("u", { after = "9h", next = "t1" })
      flow:join("i", { expect = "any", losers = "cancel", next = "h" })
      note("t1", "i")
      flow:fork("h", { next = { "x", "y" } })
      note("x", "k")
      note("y", "k")
      flow:join("k", { next = "t2" })
      note("t2", "j")
      flow:join("j", { expect = "any", losers = "cancel", next = "d" })
      flow:finish "d"
      assert(engine:load(flow))
      local id = assert(engine:start "t.race")
      assert(engine:run())
      clock:advance "61m"
      assert(engine:signal { name = "m", instance = id })
      assert(engine:run())
      assert.equal("t1 x y t2 ", assert(engine:get(id)).variables.ran)
    end)
  end)

kit.describe("branches that were set going one after the other",
  function(backend)
    it("all have their turn, though the first never waits", function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.spin", start = "f" }
      local n = 0
      flow:fork("f", { next = { "t", "u" } })
      flow:timer("t", { after = "1h", next = "spin" })
      flow:step("spin", { next = { again = "spin", on = "j" },
        run = function(ctx)
          n = n + 1
          return ctx.vars.u and "on" or "again"
        end })
      flow:timer("u", { after = "2h", next = "s" })
      flow:step("s", { next = "j", run = function(ctx) ctx.vars.u = true end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.spin")
      assert(engine:run())
      clock:advance "3h"
      assert(engine:run())
      assert.completed(engine, id)
      assert.is_true(n > 50 and n < 300, n)
    end)

    it("do not wait for one that is to be tried again later", function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.late", start = "f" }
      flow:fork("f", { next = { "t", "u" } })
      flow:timer("t", { after = "1h", next = "a" })
      flow:step("a", { next = "j", retry = { max = 2, base = 60, jitter = 0 },
        run = function(ctx)
          if not ctx.vars.b then error "not yet" end
        end })
      flow:timer("u", { after = "2h", next = "b" })
      flow:step("b", { next = "j", run = function(ctx) ctx.vars.b = 1 end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.late")
      assert(engine:run())
      clock:advance "3h"
      assert(engine:run())
      assert.equal(1, assert(engine:get(id)).variables.b)
      clock:advance "2m"
      assert(engine:run())
      assert.completed(engine, id)
    end)
  end)

kit.describe("a join that one event brings more to than it expects",
  function(backend)
    it("goes on with as many as it expects, the first of them", function()
      for expect = 1, 3 do
        local engine = backend.fresh()
        local flow = pawl.workflow { code = "t.all", start = "f" }
        flow:fork("f", { next = { "a", "b", "c", "d" } })
        for _, name in ipairs { "a", "b", "c" } do
          flow:wait(name, { event = "go", next = "j" })
        end
        flow:wait("d", { event = "other", next = "j" })
        flow:join("j", { expect = expect, next = "s" })
        flow:step("s", { run = function() end, next = "w" })
        flow:wait("w", { event = "end", next = "z" })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start "t.all")
        assert(engine:run())
        assert(engine:signal { name = "go", instance = id })
        assert(engine:run())
        local came, led, late = {}, nil, 0
        for _, entry in ipairs(assert(engine:history(id))) do
          if entry.type == "received" then came[#came + 1] = entry.seq end
          if entry.type == "step" then led = entry.previous end
          if entry.type == "dropped" then late = late + 1 end
        end
        assert.equal(3, #came)
        assert.same(table.move(came, 1, expect, 1, {}), led)
        assert.equal(3 - expect, late)
      end
    end)
  end)
