--- What of their workflows specs have gone through.
local coverage = require "pawl.testing.coverage"
local pawl = require "pawl"
local test = require "pawl.testing"

local function order()
  local flow = pawl.workflow { code = "t.order" }
  flow:choice("size", { choose = function(ctx)
    return ctx.input.large and "large" or "small"
  end, next = { small = "charge", large = "refuse" } })
  flow:step("charge", { retry = false, undo = function() end,
    run = function(ctx)
      if ctx.input.fails then error { code = ctx.input.fails } end
    end, on_error = { poor = "refuse", ["*"] = "look" }, next = "both" })
  flow:fork("both", { next = { "one", "two" } })
  flow:step("one", { run = function() end, next = "meet" })
  flow:step("two", { run = function() end, next = "meet" })
  flow:join("meet", { next = "last" })
  flow:step("last", { retry = false, run = function(ctx)
    if ctx.input.late then error { code = "late" } end
  end, next = "z" })
  flow:step("look", { run = function() end, next = "z" })
  flow:step("refuse", { run = function() end, next = "z" })
  flow:finish "z"
  return flow
end

describe("coverage", function()
  before_each(coverage.reset)

  local function run(...)
    local engine <close> = test.engine { load = order() }
    for _, input in ipairs { ... } do
      assert(engine:start("t.order", input))
    end
    engine:run_until_idle()
  end

  it("tells which nodes, transitions, errors and undos were not met", function()
    run { x = 1 }
    local report = test.coverage()
    assert.equal(9, report.workflows[1].taken)
    assert.same({
      "never routed: error * of charge, to look",
      "never routed: error poor of charge, to refuse",
      "never undone: charge",
      "never stood at: look",
      "never stood at: refuse",
      "never taken: size =large> refuse",
    }, report.workflows[1].missed)
    assert.equal(15, report.total)
    assert.equal(60, report.share)
    assert.equal("partly", report.workflows[1].nodes.charge)
    assert.equal("missed", report.workflows[1].nodes.look)
    assert.equal("passed", report.workflows[1].nodes.meet)
    assert.matches("^9 of 15 nodes and ways were gone: 60 %%\nt.order: 9 of "
      .. "15\n  never routed: ", coverage.text(report))
  end)

  it("adds up what several engines did, open ones as well", function()
    run({ x = 1 }, { large = true })
    run({ fails = "poor" }, { fails = "odd" })
    local engine <close> = test.engine { load = order() }
    assert(engine:start("t.order", { late = true }))
    engine:run_until_idle()
    local report = test.coverage()
    assert.same({}, report.workflows[1].missed)
    assert.equal(100, report.share)
  end)

  it("counts neither stand-ins nor handlers that run by themselves", function()
    do
      local engine <close> = test.engine()
      engine:stub_workflow "t.other"
    end
    test.handler(order(), "size", { input = { large = true } })
    for _, one in ipairs(test.coverage().workflows) do
      assert.equal("t.order", one.code)
      assert.equal(0, one.taken)
    end
  end)

  it("is whole where nothing was loaded", function()
    assert.equal(100, test.coverage().share)
  end)
end)
