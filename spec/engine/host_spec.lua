-- Functions that a program lends to handlers: ctx.host. In C: lend_test.c.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function flow_of(run, more)
  local flow = pawl.workflow { code = "t.host", start = "a" }
  local node = { next = "z", run = run, on_error = { no_gold = "poor" },
                 retry = { max = 1 } }
  for key, value in pairs(more or {}) do node[key] = value end
  flow:step("a", node)
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  flow:finish("poor", { output = function() return "poor" end })
  return flow
end

kit.describe("a function that is lent", function(backend)
  local function ran(host, run, more)
    local engine, clock = backend.fresh { host = host }
    assert(engine:load(flow_of(run, more)))
    local id = assert(engine:start "t.host")
    assert(engine:run { wait = true })
    return assert(engine:get(id)), engine, clock
  end

  it("gives handlers what they ask for, and knows who asks", function()
    local seen
    local got = ran({ add = function(value, call)
      seen = call
      return { sum = value.a + value.b, float = 2.0, none = pawl.null }
    end }, function(ctx)
      local sum = ctx.host.add { a = 1, b = 2 }
      ctx.vars.sum, ctx.vars.kind = sum.sum, math.type(sum.float)
      ctx.vars.null = sum.none == pawl.null
    end)
    assert.same({ sum = 3, kind = "float", null = true }, got.output)
    assert.equal(got.id, seen.instance)
    assert.equal("a", seen.node)
    assert.equal(got.id, seen.key:match "^[^/]+")
    assert.is_false(seen.again)
  end)

  it("is waited for while it says so", function()
    local calls, keys = 0, {}
    local got = ran({ slow = function(_, call)
      calls = calls + 1
      keys[call.key] = true
      assert.equal(calls > 1, call.again)
      if calls < 4 then return nil, "wait" end
      return calls
    end }, function(ctx) ctx.vars.n = ctx.host.slow() end)
    assert.equal(4, got.output.n)
    assert.is_nil(next(keys, (next(keys))))
  end)

  it("is told that nobody waits any more", function()
    local gone = 0
    local engine = backend.fresh { host = { slow = function(_, call)
      if call.gone then gone = gone + 1 end
      return nil, "wait"
    end } }
    assert(engine:load(flow_of(function(ctx) ctx.host.slow() end)))
    local id = assert(engine:start "t.host")
    assert(engine:tick(0.1))
    assert(engine:kill(id))
    for _ = 1, 3 do assert(engine:tick(0.1)) end
    assert.equal("cancelled", engine:status(id))
    assert.equal(1, gone)
  end)

  it("has errors that on_error and retries tell apart", function()
    local got = ran({ buy = function()
      return nil, { code = "no_gold", message = "a bow costs 12",
        retry = false }
    end }, function(ctx) ctx.host.buy() end, { retry = { max = 9 } })
    assert.equal("completed", got.status)
    assert.equal("poor", got.output)
    local calls = 0
    got = ran({ buy = function()
      calls = calls + 1
      if calls < 3 then error("out of stock", 0) end
      return "bow"
    end }, function(ctx) ctx.vars.got = ctx.host.buy() end,
      { retry = { max = 5, base = 0.01, cap = 0.01 } })
    assert.equal("bow", got.output.got)
    assert.equal(3, calls)
  end)

  it("is named where it is misspelt, or there is none", function()
    local got = ran({ spawn = print }, function(ctx) ctx.host.spwan() end)
    assert.equal("failed", got.status)
    assert.equal("misuse", got.error.code)
    assert.matches("spawn", got.error.hint or got.error.message)
    got = ran(nil, function(ctx) ctx.host.spawn() end)
    assert.matches("lends no functions", got.error.message)
  end)

  it("is not there for a handler that has ended", function()
    local kept
    ran({ f = function() return 1 end }, function(ctx)
      kept = ctx.host.f
      ctx.host.f()
    end)
    local ok, err = pcall(kept)
    assert.is_false(ok)
    assert.equal("misuse", err.code)
  end)
end)

describe("pawl.open", function()
  it("says what is no host function", function()
    for _, host in ipairs { 7, { f = 7 }, { print } } do
      assert.error_matches(function()
        pawl.open(":memory:", { host = host })
      end, "a table of functions by their names")
    end
    local _, err = pawl.open(":memory:", { host = { ["a b"] = print } })
    assert.equal("invalid", err.code)
  end)
end)
