-- What can go from one version to another: the forks around it.
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local version, between = samples.version, samples.between

kit.describe("the forks around what moves", function(backend)
  local function inner(n)
    return version(n, "g", function(flow)
      flow:fork("g", { next = { "a", "b" } })
      flow:timer("a", { after = "1h", next = "h" })
      flow:timer("b", { after = "1h", next = "h" })
      flow:join("h", { next = "s" })
      flow:step("s", { next = "z", run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end })
    end)
  end

  local function wrapped(n)
    return version(n, "o", function(flow)
      flow:fork("o", { next = { "g", "c" } })
      flow:fork("g", { next = { "a", "b" } })
      flow:timer("a", { after = "1h", next = "h" })
      flow:timer("b", { after = "1h", next = "h" })
      flow:join("h", { next = "s" })
      flow:step("s", { next = "k", run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end })
      flow:timer("c", { after = "1h", next = "k" })
      flow:join("k", { next = "z" })
    end)
  end

  it("are the same, all of them", function()
    local engine, id = between(backend, inner(1), wrapped(2))
    local movable, refused = assert(engine.workflows:transfer("t.m", 1, 2,
      { plan = true }))
    assert.same({}, movable)
    assert.matches('"[ab]" stands inside "o" > "g" in version 2, and this '
      .. 'token inside "g"', refused[1].reason)
    assert.same({}, (assert(engine.workflows:transfer("t.m", 1, 2))))
    assert.equal(1, assert(engine:get(id)).version)
  end)

  it("are the same when there are fewer", function()
    local engine = between(backend, wrapped(1), inner(2))
    local _, refused = assert(engine.workflows:transfer("t.m", 1, 2,
      { plan = true }))
    assert.equal(1, #refused)
  end)

  it("are looked at outside all forks, too", function()
    local function plain(n)
      return version(n, "a", function(flow)
        flow:timer("a", { after = "1h", next = "z" })
      end)
    end
    local engine = between(backend, plain(1), inner(2))
    local _, refused = assert(engine.workflows:transfer("t.m", 1, 2,
      { plan = true }))
    assert.matches('"a" stands inside "g" in version 2, and this token '
      .. "outside all forks", refused[1].reason)
  end)

  it("may be missing around a token that was put there by hand", function()
    local engine, clock = backend.fresh()
    assert(engine:load(inner(1)))
    local id = assert(engine:start "t.m")
    assert(engine:run())
    assert(engine:suspend(id))
    assert(engine:restart(id, { from = "a" }))
    assert(engine:run())
    assert(engine:load(inner(2)))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2))))
    clock:advance "2h"
    assert(engine:run())
    assert.same({ n = 1 }, assert(engine:get(id)).variables)
  end)
end)
