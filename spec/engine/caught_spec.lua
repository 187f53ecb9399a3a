-- ctx.error: what has failed, for those who are to do something about it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- Its step "a" fails with `raise`; where that leads is told by `build`.
local function failing(raise, build, options)
  options = options or {}
  options.code = "t.caught"
  local flow = pawl.workflow(options)
  flow:step("a", { retry = false, run = function() error(raise, 0) end,
    on_error = { declined = "b", ["*"] = "c" }, next = "z" })
  build(flow)
  flow:finish("z", { output = function(ctx) return ctx.vars.seen end })
  return flow
end

local function seen(ctx)
  ctx.vars.seen = { code = ctx.error and ctx.error.code or "none",
    message = ctx.error and ctx.error.message, node = ctx.error
      and ctx.error.node, attempt = ctx.error and ctx.error.attempt,
    details = ctx.error and ctx.error.details }
end

local function to_b_and_c(flow)
  flow:step("b", { run = seen, next = "z" })
  flow:step("c", { run = seen, next = "z" })
end

local function outcome(engine, flow)
  assert(engine:load(flow))
  local id = assert(engine:start "t.caught")
  assert(engine:run())
  return assert(engine:get(id)), id
end

kit.describe("ctx.error", function(backend)
  it("is what failed, where its route leads", function()
    local engine = backend.fresh()
    local got = outcome(engine, failing({ code = "declined",
      message = "no money", details = { left = 3 } }, to_b_and_c))
    assert.same({ code = "declined", message = "no money", node = "a",
      attempt = 1, details = { left = 3 } }, got.output)
    assert.is_nil(got.error)
    local other = backend.fresh()
    assert.same({ code = "script", message = "oops", node = "a",
      attempt = 1 }, outcome(other, failing("oops", to_b_and_c)).output)
  end)

  it("is there past routing nodes, and gone behind the next step", function()
    local engine = backend.fresh()
    local chosen
    local got = outcome(engine, failing({ code = "declined" }, function(flow)
      flow:choice("b", { next = { yes = "c", no = "z" }, choose = function(ctx)
        chosen = ctx.error.code
        return "yes"
      end })
      flow:step("c", { next = "d", run = function(ctx)
        ctx.vars.first = ctx.error.code
      end })
      flow:step("d", { run = seen, next = "z" })
    end))
    assert.same({ "declined", "declined", "none" },
      { chosen, got.variables.first, got.output.code })
  end)

  it("is there again when its step is, and in another process", function()
    local engine, clock, url = backend.fresh()
    local flow = failing({ code = "declined" }, function(flow)
      flow:step("b", { retry = { max = 2, base = 1, jitter = 0 }, next = "z",
        run = function(ctx)
          seen(ctx)
          if ctx.attempt == 1 then error "again" end
        end })
      flow:finish "c"
    end)
    assert(engine:load(flow))
    local id = assert(engine:start "t.caught")
    assert(engine:run())
    engine:close()
    clock:advance "2s"
    local other = kit.rival(backend, url, clock)
    assert(other:load(flow))
    assert(other:run())
    assert.equal("declined", other:get(id).output.code)
  end)

  it("is for a finish that fails", function()
    local engine = backend.fresh()
    local got = outcome(engine, failing({ code = "declined", message = "no" },
      function(flow)
        flow:finish("b", { status = "failed", output = function(ctx)
          return ctx.error.code .. ": " .. ctx.error.message
        end })
        flow:finish "c"
      end))
    assert.same({ "failed", "declined: no" }, { got.status, got.output })
  end)

  --- Where "declined" leads, and on from there to a failed finish.
  local function reason(build, options)
    local got = outcome(backend.fresh(), failing({ code = "declined",
      message = "no money", details = { left = 3 } }, function(flow)
      build(flow)
      flow:finish("bad", { status = "failed" })
      flow:finish "c"
    end, options))
    assert.equal("failed", got.status)
    return got.error
  end

  it("is the reason of a finish that fails, however far behind", function()
    local function is_told(why)
      assert.same({ "declined", "no money", { left = 3 } },
        { why.code, why.message, why.details })
      assert.is_nil(why.past)
    end
    is_told(reason(function(flow)
      flow:step("first", { next = "a", run = function() end,
        undo = function(ctx) assert(ctx.error.code == "declined") end })
      flow:undo("b", { next = "told" })
      flow:step("told", { next = "bad",
        run = function(ctx) assert(ctx.error.code == "declined") end })
    end, { start = "first" }))
    is_told(reason(function(flow)
      flow:step("b", { run = function() end })
      flow:step("tell", { next = "bad",
        run = function(ctx) assert(not ctx.error) end })
    end))
    is_told(reason(function(flow)
      flow:fork("b", { next = { "x", "y" } })
      flow:step("x", { next = "j", run = function(ctx)
        assert(ctx.error.code == "declined")
      end })
      flow:choice("y", { next = { met = "j", no = "bad" },
        choose = function(ctx)
          return ctx.error.code == "declined" and "no" or "met"
        end })
      flow:join("j", { next = "z" })
    end))
  end)

  it("is no reason any more once that node has been passed", function()
    local got = outcome(backend.fresh(), (function()
      local flow = pawl.workflow { code = "t.caught" }
      flow:step("a", { retry = false, next = "bad", run = function(ctx)
        if not ctx.vars.other then error { code = "declined" } end
      end, on_error = { declined = "b" } })
      flow:step("b", { next = "a", run = function(ctx)
        ctx.vars.other = true
      end })
      flow:finish("bad", { status = "failed" })
      return flow
    end)())
    assert.same({ "failed", "bad" }, { got.status, got.error.code })
  end)

  it("reaches the branches of an each", function()
    local engine = backend.fresh()
    local told = {}
    local got = outcome(engine, failing({ code = "declined" }, function(flow)
      flow:each("b", { branch = "item", next = "z", window = 1,
        items = function(ctx) return { ctx.error.code, 2 } end })
      flow:step("item", { next = "b", run = function(ctx)
        told[#told + 1] = ctx.error and ctx.error.code or "none"
      end })
      flow:finish "c"
    end))
    assert.equal("completed", got.status)
    assert.same({ "declined", "declined" }, told)
  end)

  it("is told by the way of a task, or a child, that has failed", function()
    local engine = backend.fresh()
    local first
    local child = pawl.workflow { code = "t.child" }
    child:step("only", { retry = false, run = function()
      error { code = "no_stock", message = "none left" }
    end })
    local flow = pawl.workflow { code = "t.caught" }
    flow:task("sign", { title = "Sign", next = { yes = "z", failed = "buy" } })
    flow:call("buy", { workflow = "t.child", next = { completed = "z",
      failed = "look" }, input = function(ctx)
        first = { ctx.error.code, ctx.error.message, ctx.error.node,
          ctx.error.attempt, ctx.error.details }
      end })
    flow:step("look", { next = "bad", run = seen })
    flow:finish("bad", { status = "failed" })
    flow:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = assert(engine:start "t.caught")
    assert(engine:run())
    local task = engine.tasks:list { instance = id }[1]
    assert(engine.tasks:fail(task.id, { error = { code = "no_parcel",
      message = "lost", details = { by = { "rail" } } }, by = "ann" }))
    assert(engine:run())
    assert.same({ "no_parcel", "lost", "sign", 1, { by = { "rail" } } }, first)
    assert.same({ by = { "rail" } }, assert(engine:history(id,
      { type = "failed" }))[1].error.details)
    local got = assert(engine:get(id))
    assert.same({ "no_stock", "buy", 1 }, { got.variables.seen.code,
      got.variables.seen.node, got.variables.seen.attempt })
    assert.equal("no_stock", got.error.code)
    assert.matches("none left", got.error.message)
  end)

  it("is for undo, which is told why", function()
    local engine, clock = backend.fresh()
    local told = {}
    local flow = pawl.workflow { code = "t.caught" }
    flow:step("first", { run = function() end, undo = function(ctx)
      local e = ctx.error
      told[#told + 1] = e and e.code .. " " .. e.node .. " " .. e.attempt
        or "none"
    end })
    flow:step("last", { retry = 2, run = function(ctx)
      if ctx.input.fails then error { code = "sold_out" } end
    end })
    flow:wait("w", { event = "t.never" })
    assert(engine:load(flow))
    local failed = assert(engine:start("t.caught", { fails = true }))
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    assert.is_nil(assert(engine:get(failed)).error.attempt)
    local id = assert(engine:start("t.caught", {}))
    assert(engine:run())
    assert(engine:cancel(id))
    assert(engine:run())
    assert.same({ "sold_out last 2", "none" }, told)
  end)

  it("is nil where nothing has failed, and details are not endless",
    function()
      local engine = backend.fresh()
      local got = outcome(engine, failing({ code = "declined",
        details = ("x"):rep(5000) }, to_b_and_c))
      assert.same({ "declined", nil },
        { got.output.code, got.output.details })
      local flow = pawl.workflow { code = "t.plain" }
      flow:step("s", { run = seen })
      assert(engine:load(flow))
      local id = assert(engine:start "t.plain")
      assert(engine:run())
      assert.equal("none", engine:get(id).variables.seen.code)
    end)
end)
