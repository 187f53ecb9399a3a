-- Decisions meet the host: handlers run, are told of, and the clock is asked.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a handler that is run", function(backend)
  it("is told of when it begins and when it has ended", function()
    local told = {}
    local engine, clock = backend.fresh { trace = function(t)
      told[#told + 1] = ("%s %s %s"):format(t.node, t.kind,
        t.outcome or "begins")
    end }
    assert(engine:load(kit.chain { function() clock:advance(2) end,
      function() error { code = "no", retry = false } end }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    assert.same({ "a step begins", "a step done", "b step begins",
      "b step failed" }, { table.unpack(told, 1, 4) })
    local history = assert(engine:history(id))
    assert.equal("2026-01-01T00:00:00.000000Z", history[1].started)
    assert.equal("2026-01-01T00:00:02.000000Z", history[1].completed)
  end)

  it("came too late when it took longer than its timeout", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.vars.late = true
      clock:advance(11)
    end, { timeout = 10, retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.equal("failed", got.status)
    assert.equal("timeout", got.error.code)
    assert.same({}, got.variables)
  end)

  it("is one that the definition has: others are not asked", function()
    local engine = backend.fresh()
    local asked = {}
    local flow = pawl.workflow { code = "t.ask", start = "c" }
    flow:choice("c", { next = { yes = "t", no = "z" },
      choose = function() asked[#asked + 1] = "choose"; return "yes" end })
    flow:timer("t", { next = "z", at = function(ctx)
      asked[#asked + 1] = "at"
      return ctx.now() - 1
    end })
    flow:finish("z", { output = function()
      asked[#asked + 1] = "output"
      return 7
    end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.ask")
    assert(engine:run())
    assert.same({ "choose", "at", "output" }, asked)
    assert.equal(7, assert(engine:get(id)).output)
  end)
end)
