--- simulate: what goes wrong, drawn from a seed, and cut down.
local backends = require "spec.support.backends"
local pawl = require "pawl"
local stores = require "spec.support.scenarios"
local test = require "pawl.testing"

--- Charges, and waits for somebody, or an event.
local function order(charge)
  local flow = pawl.workflow { code = "t.order" }
  flow:step("charge", { run = charge, retry = { max = 3, base = "1m" },
    on_error = { declined = "ask" }, next = "sent" })
  flow:task("ask", { title = "?", next = { again = "charge", no = "refused" } })
  flow:wait("sent", { event = "t.sent", timeout = "7d",
    next = { received = "done", timeout = "refused" } })
  flow:finish "done"
  flow:finish("refused", { status = "failed" })
  return flow
end

local function started(engine)
  local pay = engine:effect "pay"
  assert(engine:load(order(function(ctx) pay(ctx.idempotency_key()) end)))
  return assert(engine:start "t.order")
end

for _, backend in ipairs(backends) do
  describe("a simulation on " .. backend.name, function()
    local store
    before_each(function() store = stores.of(backend) end)
    local seeds = backend.name == "sqlite" and 80 or 8
    after_each(backend.cleanup)

    it("goes through what may go wrong, and finds nothing", function()
      local told = test.simulate {
        scenario = started, store = store, seeds = seeds,
        always = function(engine, _, id) assert(engine:get(id)) end,
        check = function(engine, _, id)
          assert.is_truthy(engine:get(id).times.completed)
        end,
      }
      assert.equal(seeds, told.seeds)
      assert.is_true(told.moments > seeds)
      local troubles = { "fail", "lose", "kill", "jump", "again", "stray",
        "choose" }
      for _, what in ipairs(backend.name == "sqlite" and troubles
        or { "fail" }) do
        assert.is_true((told.happened[what] or 0) > 0, what)
      end
    end)

    it("finds what is done twice, and tells the least that does it",
      function()
        local ok, err = pcall(test.simulate, {
          store = store, seeds = 100,
          scenario = function(engine)
            local pay = engine:effect "pay"
            assert(engine:load(order(function(ctx) pay(ctx.id) end)))
            assert(engine:start "t.order")
          end,
        })
        assert.is_false(ok)
        assert.matches("^simulate: seed %d+: 'pay' is done again in one visit "
          .. "of charge of t.order, and is given no key", err)
        assert.matches("story that does it, with 1 of %d+ things that were "
          .. "drawn", err)
        assert.matches('\n  start "t.order"\n', err, 1, true)
        assert.matches("\nplay it again: simulate { seed = %d+, seeds = 1, "
          .. "... }, or pawl test %-%-seed %d+$", err)
      end)
  end)
end

describe("a simulation", function()
  --- A counter that counts what must be one at most.
  local function doubled(options)
    options.scenario = function(engine)
      local flow = pawl.workflow { code = "t.once", endless = true }
      flow:wait("go", { event = "go", next = "add" })
      flow:step("add", { run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end, next = "go" })
      assert(engine:load(flow))
      return assert(engine:start "t.once")
    end
    options.always = function(engine, _, id)
      assert((engine:get(id).variables.n or 0) <= 1, "counted twice")
    end
    return test.simulate(options)
  end

  it("tells the same story for the same seed", function()
    local _, a = pcall(doubled, { seed = 3 })
    local _, b = pcall(doubled, { seed = 3 })
    assert.equal(a, b)
    assert.matches("seed 3: always: .*counted twice", a)
    assert.matches('"go" comes to t.once 1', a, 1, true)
    local seed = a:match "seed = (%d+), seeds = 1"
    local _, again = pcall(doubled, { seed = math.tointeger(seed), seeds = 1 })
    assert.equal(a, again)
  end)

  it("says so when nothing is started, or its errors are no step's", function()
    assert.error_matches(function()
      test.simulate { seeds = 2, scenario = function() end }
    end, "simulate: the scenario starts nothing")
    assert.error_matches(function()
      test.simulate { scenario = started, errors = { chrage = { "busy" } } }
    end, "simulate: 'errors' names 'chrage', "
      .. "which is no step %(did you mean 'charge'%?%)$")
    assert.equal(2, test.simulate { seeds = 2, scenario = started,
      errors = { charge = { "declined" } } }.seeds)
  end)

  it("says who is stuck", function()
    local ok, err = pcall(test.simulate, {
      seeds = 1, troubles = {}, events = { other = true },
      scenario = function(engine)
        local flow = pawl.workflow { code = "t.stuck" }
        flow:wait("wait", { event = "never" })
        assert(engine:load(flow))
        engine:start "t.stuck"
      end,
    })
    assert.is_false(ok)
    assert.matches("t.stuck 1 is stuck: nothing that is to come helps it", err,
      1, true)
    assert.matches("with 0 of 0 things", err, 1, true)
  end)

  it("sends events with their data, and makes calls in any order", function()
    local orders, data = {}, {}
    local told = test.simulate {
      seeds = 60, troubles = {},
      events = { ["t.say"] = function(random)
        return { n = random:upto(1000) }
      end },
      scenario = function(engine)
        local flow = pawl.workflow { code = "t.say" }
        flow:wait("say", { event = "t.say", into = "said" })
        flow:finish("z", { output = function(ctx) return ctx.vars.said end })
        assert(engine:load(flow))
        return { id = assert(engine:start "t.say") }
      end,
      calls = {
        function(_, _, given) given.order = (given.order or "") .. "a" end,
        function(engine, _, given)
          given.order = (given.order or "") .. "b"
          engine:list()
        end,
      },
      check = function(engine, _, given)
        orders[given.order] = true
        data[engine:get(given.id).output.n] = true
      end,
    }
    assert.same({ ab = true, ba = true }, orders)
    assert.is_true(#require "pawl.keys"((function()
      local texts = {}
      for n in pairs(data) do texts[tostring(n)] = true end
      return texts
    end)()) > 20)
    assert.is_nil(told.happened.kill)
  end)

  it("fails steps with the codes that it is told", function()
    local seen = {}
    test.simulate {
      seeds = 80, troubles = { "fail", "lose" },
      errors = { charge = { "declined", "odd" } },
      scenario = started,
      check = function(engine, _, id)
        for _, row in ipairs(engine:history(id)) do
          if row.error then seen[row.error.code] = true end
        end
      end,
    }
    assert.is_true(seen.declined and seen.odd)
    assert.is_nil(seen.simulated)
  end)

  it("cancels where that is asked for", function()
    local told = test.simulate { seeds = 60, troubles = { "cancel" },
      scenario = started }
    assert.is_true(told.happened.cancel > 0)
    assert.is_nil(told.happened.fail)
  end)

  it("cuts a story of two things down to both", function()
    local ok, err = pcall(test.simulate, {
      seeds = 500, troubles = { "fail", "again", "stray", "jump" },
      scenario = started,
      check = function(engine, _, id)
        local codes = {}
        for _, row in ipairs(engine:history(id)) do
          if row.error then codes[row.error.code] = true end
        end
        assert(not (codes.declined and codes.simulated), "both")
      end,
    })
    assert.is_false(ok)
    assert.matches("with 2 of %d+ things", err)
    assert.matches("charge of t.order fails with 'declined'", err, 1, true)
    assert.matches("charge of t.order fails with 'simulated'", err, 1, true)
  end)

  it("says when nothing ever came to its end", function()
    local ok, err = pcall(test.simulate, { seeds = 3, moments = 5,
      check = function() end,
      scenario = function(engine)
        local flow = pawl.workflow { code = "t.days", endless = true }
        flow:timer("day", { after = "1d", next = "day" })
        assert(engine:load(flow))
        engine:start "t.days"
      end })
    assert.is_false(ok)
    assert.matches("in none of 3 runs was nothing left to come within 5 "
      .. "moments", err, 1, true)
  end)

  it("says what the scenario raises", function()
    local ok, err = pcall(test.simulate, { scenario = function()
      error "no scenario"
    end })
    assert.is_false(ok)
    assert.matches("^simulate: seed 1: scenario: .*no scenario", err)
  end)

  it("is told what to do", function()
    local function refused(options, text)
      local ok, err = pcall(test.simulate, options)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
    end
    refused({}, "it needs a 'scenario'")
    refused({ scenaro = print }, "unknown option 'scenaro' (did you mean "
      .. "'scenario'?)")
    refused({ scenario = print, troubles = { "fire" } }, "option 'troubles' "
      .. 'must be a list of "fail"')
    refused({ scenario = print, seeds = 0 }, "option 'seeds' must be")
    refused({ scenario = print, calls = {} }, "a list of functions")
    local flow = pawl.workflow { code = "t.waits" }
    flow:wait("w", { event = "t.paid" })
    refused({ load = flow, seeds = 1, events = { ["t.payd"] = 1 },
      scenario = function(engine) engine:start "t.waits" end },
      "'events' names 't.payd', which nobody waits for (did you mean "
      .. "'t.paid'?)")
  end)
end)
