-- Choices: questions on the way, without a write of their own.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

--- a, then choices as given, then finishes yes and no.
local function asking(choose, count)
  local flow = pawl.workflow { code = "t.ask", start = "a" }
  flow:step("a", {
    run = function(ctx) ctx.vars.way = ctx.input.way end, next = "c1",
  })
  for i = 1, count or 1 do
    flow:choice("c" .. i, { choose = choose, next = {
      yes = i == (count or 1) and "y" or "c" .. i + 1, no = "n" } })
  end
  flow:finish("y", { output = function() return "yes" end })
  flow:finish("n", { output = function() return "no" end })
  return flow
end

kit.describe("a choice", function(backend)
  it("sees what the step before it changed", function()
    local engine = backend.fresh()
    assert(engine:load(asking(function(ctx) return ctx.vars.way end)))
    for _, way in ipairs { "yes", "no" } do
      local id = assert(engine:start("t.ask", { way = way }))
      assert(engine:run())
      assert.equal(way, assert(engine:get(id)).output)
    end
  end)

  it("rides along with the step before it", function()
    local engine = backend.fresh()
    assert(engine:load(asking(function() return "yes" end, 5)))
    local id = assert(engine:start "t.ask")
    local stats = assert(engine:run())
    assert.equal(1, stats.committed)
    assert.equal("step a", kit.trail(engine, id))
    local path = assert(engine:history(id))[1].path
    assert.equal("c1=yes > c2=yes > c3=yes > c4=yes > c5=yes > y", path)
  end)

  it("may be where a workflow starts", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.first", start = "c" }
    flow:choice("c", { choose = function(ctx) return ctx.input.way end,
      next = { yes = "y", no = "n" } })
    flow:finish("y", { output = function() return "yes" end })
    flow:finish("n", { output = function() return "no" end })
    assert(engine:load(flow))
    local id = assert(engine:start("t.first", { way = "no" }))
    assert(engine:run())
    assert.equal("no", assert(engine:get(id)).output)
    assert.equal("started n", kit.trail(engine, id))
  end)

  it("may lead back", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.back", start = "a" }
    flow:step("a", {
      run = function(ctx) ctx.vars.n = (ctx.vars.n or 0) + 1 end,
      next = "c",
    })
    flow:choice("c", {
      choose = function(ctx) return ctx.vars.n < 4 and "more" or "done" end,
      next = { more = "a", done = "z" },
    })
    flow:finish("z", { output = function(ctx) return ctx.vars.n end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.back")
    assert(engine:run())
    assert.equal(4, assert(engine:get(id)).output)
    assert.equal("step a, step a, step a, step a", kit.trail(engine, id))
  end)

  it("that fails keeps the step before it", function()
    local engine, clock = backend.fresh()
    local runs, asked = 0, 0
    local flow = pawl.workflow { code = "t.flaky", start = "a" }
    flow:step("a", { run = function(ctx)
      runs = runs + 1
      ctx.vars.runs = runs
    end, next = "c" })
    flow:choice("c", {
      choose = function(ctx)
        asked = asked + 1
        assert(ctx.vars.runs == 1)
        if asked < 3 then error "do not know" end
        return "yes"
      end,
      next = { yes = "y", no = "n" },
    })
    flow:finish "y"
    flow:finish "n"
    assert(engine:load(flow))
    local id = assert(engine:start "t.flaky")
    for _ = 1, 5 do
      assert(engine:run())
      clock:advance "10m"
    end
    assert.completed(engine, id)
    assert.equal(1, runs)
    assert.equal(3, asked)
    -- what failed behind the step is no attempt of its own yet
    assert.equal("step a, failed c, routed y",
      kit.trail(engine, id))
  end)

  it("must return one of its transitions", function()
    local engine = backend.fresh()
    assert(engine:load(asking(function() return "maybe" end)))
    local id = assert(engine:start "t.ask")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.matches('choice "c1".*"maybe"', instance.error.message)
    assert.equal("step a, failed c1", kit.trail(engine, id))
  end)

  it("must not change variables or attributes", function()
    for _, change in ipairs {
      function(ctx) ctx.vars.x = 1 end,
      function(ctx) ctx.attrs.x = 1 end,
    } do
      local engine, clock = backend.fresh()
      assert(engine:load(asking(function(ctx)
        change(ctx)
        return "yes"
      end)))
      local id = assert(engine:start "t.ask")
      for _ = 1, 4 do
        assert(engine:run())
        clock:advance "10m"
      end
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.matches("ch[ao]nge", instance.error.message)
      assert.is_nil(instance.variables.x)
      assert.same({}, instance.attributes)
    end
  end)
end)
