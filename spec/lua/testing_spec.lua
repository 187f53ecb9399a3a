-- The clock of pawl.testing, and engines under it.
local pawl = require "pawl"
local testing = require "pawl.testing"

local DAY = 86400

--- Fires every day; counts.
local function daily()
  local flow = pawl.workflow { code = "t.daily", start = "t" }
  flow:timer("t", { after = "1d", next = "s" })
  flow:step("s", { next = { on = "t", off = "z" }, run = function(ctx)
    ctx.vars.n = (ctx.vars.n or 0) + 1
    ctx.vars.at = ctx.now()
    return "on"
  end })
  flow:finish "z"
  return flow
end

local function timer(after)
  local flow = pawl.workflow { code = "t.timer", start = "t" }
  flow:timer("t", { after = after, next = "z" })
  flow:finish "z"
  return flow
end

local function opened(flow, ...)
  local engine, clock = assert(testing.open())
  assert(engine:load(flow))
  return engine, clock, assert(engine:start(flow.code, ...))
end

describe("advancing a clock", function()
  it("is of a module that names the nearest of its own for a slip", function()
    assert.error_matches(function() return testing.opne end,
      "pawl.testing has no 'opne' (did you mean 'open'?)", 1, true)
  end)

  it("goes from due time to due time", function()
    local engine <close>, clock, id = opened(daily())
    local begun = clock:now()
    assert.equal(begun + 30 * DAY, clock:advance "30d")
    local vars = engine:get(id).variables
    assert.same({ n = 30, at = begun + 30 * DAY }, vars)
    clock:advance "12h"
    assert.equal(30, engine:get(id).variables.n)
    clock:advance "12h"
    assert.equal(31, engine:get(id).variables.n)
  end)

  it("tries again in between, and takes what was due now first", function()
    local engine, clock = assert(testing.open())
    local at = {}
    local flow = pawl.workflow { code = "t.retry", start = "s" }
    flow:step("s", { next = "z", retry = { max = 3, base = 60, factor = 2,
      jitter = 0 }, run = function(ctx)
        at[#at + 1] = ctx.now()
        if #at < 3 then error "not yet" end
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local begun = clock:now()
    local id = assert(engine:start "t.retry")
    clock:advance "1h"
    assert.same({ begun, begun + 60, begun + 180 }, at)
    assert.equal("completed", engine:get(id).status)
    engine:close()
    assert.equal(begun + 2 * 3600, clock:advance "1h") -- nobody is left
  end)

  it("jumps where a handler does it, or when told to", function()
    local engine, clock, id
    local flow = pawl.workflow { code = "t.slow", start = "s" }
    flow:step("s", { timeout = "1m", retry = false, next = "z",
      run = function() clock:advance "2m" end })
    flow:finish "z"
    engine, clock, id = opened(flow)
    assert(engine:run())
    assert.equal("timeout", engine:get(id).error.code)
    engine:close()
    engine, clock, id = opened(daily())
    assert(engine:run())
    clock:jump "30d"
    assert(engine:run())
    assert.equal(1, engine:get(id).variables.n)
    engine:close()
  end)

  it("goes on where something is due that this engine cannot do", function()
    local engine, clock = assert(testing.open())
    assert(engine:load(daily()))
    local other = assert(engine:start("t.daily", {}, { group = "others" }))
    local id = assert(engine:start "t.daily")
    local begun = clock:now()
    assert.equal(begun + 2 * DAY, clock:advance "2d")
    assert.equal(2, engine:get(id).variables.n)
    assert.equal("created", engine:get(other).status)
    engine:close()
  end)

  it("tells what the engine says of a failure", function()
    local engine, clock = opened(daily())
    assert.error_matches(function() clock:advance "a while" end, "advance: ")
    assert.error_matches(function() clock:jump(-1) end, "jump: ")
    engine:close()
  end)
end)

describe("a clock's method called by a dot", function()
  it("says how it is called", function()
    local clock = testing.clock()
    for name, given in pairs { advance = "1h", jump = 60, next = false,
      jump_to = "2027-01-01T00:00:00Z", now = false } do
      local ok, err = pcall(function()
        local _ = clock[name](given or nil)
      end)
      assert.is_false(ok)
      assert.equal(("clock.%s is a method: call it by a colon, clock:%s(...)")
        :format(name, name), err:match "^spec/lua/testing_spec.lua:%d+: (.*)")
    end
  end)

  it("leaves its own errors where it was called", function()
    local _, err = pcall(function()
      testing.clock():advance "a while"
      return 1
    end)
    assert.matches("^spec/lua/testing_spec.lua:%d+: advance: ", err)
  end)
end)

describe("engine:run { wait = true } under such a clock", function()
  it("moves it until everything has ended", function()
    local engine <close>, clock, id = opened(timer "30d")
    local begun = clock:now()
    assert(engine:run { wait = true })
    assert.equal("completed", engine:get(id).status)
    assert.equal(begun + 30 * DAY, clock:now())
  end)

  it("does so for one instance", function()
    local engine <close>, clock, id = opened(timer "30d")
    local other = assert(engine:start("t.timer", {}, { delay = "90d" }))
    local begun = clock:now()
    assert.equal("completed", engine:run({ id = id, wait = true }).status)
    assert.equal(begun + 30 * DAY, clock:now())
    assert.equal("created", engine:get(other).status)
  end)

  it("gives up when so much time of the clock has passed", function()
    for _, one in ipairs { true, false } do
      local engine <close>, clock, id = opened(daily())
      local begun = clock:now()
      local ok, err = engine:run { id = one and id or nil, wait = true,
        timeout = "30d" }
      assert.is_nil(ok)
      assert.equal("timeout", err.code)
      assert.equal(begun + 30 * DAY, clock:now())
      assert.is_true(engine:get(id).variables.n >= 29)
    end
  end)

  it("comes back from what it cannot run", function()
    local engine <close>, clock, id = opened(daily(), {}, { group = "others" })
    local begun = clock:now()
    assert(engine:run { wait = true })
    assert.equal("created", engine:get(id).status)
    assert.equal(begun, clock:now())
  end)

  it("waits for a handler that waits for real", function()
    local clock
    local engine
    local polls = 0
    local flow = pawl.workflow { code = "t.await", start = "s" }
    flow:step("s", { timeout = "1m", retry = false, next = "z",
      run = function(ctx)
        ctx.await(function()
          polls = polls + 1
          return polls > 50
        end)
      end })
    flow:finish "z"
    local id
    engine, clock, id = opened(flow)
    local begun = clock:now()
    assert(engine:run { wait = true })
    assert.equal("completed", engine:get(id).status)
    assert.equal(begun, clock:now())
    engine:close()
  end)
end)
