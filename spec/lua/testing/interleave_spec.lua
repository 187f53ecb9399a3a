--- interleave: parties that take turns in every order, up to a bound.
local backends = require "spec.support.backends"
local pawl = require "pawl"
local stores = require "spec.support.scenarios"
local test = require "pawl.testing"

--- Reads what is outside, and writes it one higher.
local function counting(read, write)
  local flow = pawl.workflow { code = "t.count" }
  flow:step("count", { run = function(ctx)
    local n = read()
    write(n + 1, ctx.idempotency_key())
  end })
  flow:finish "done"
  return flow
end

--- Two instances that count to two outside, each by its own worker.
local function count(options)
  local n
  options.setup = function(engine)
    n = 0
    local read = engine:effect("read", { reads = true,
      run = function() return n end })
    local write = engine:effect("write", { run = function(to) n = to end })
    assert(engine:load(counting(read, write)))
  end
  local function party(engine)
    assert(engine:start "t.count")
    engine:run_until_idle()
  end
  options.parties = options.parties or { party, party }
  options.check = options.check or function() assert.equal(2, n) end
  return test.interleave(options)
end

--- A wait for a keyed event, beside its timeout.
local function waiting()
  local flow = pawl.workflow { code = "t.wait" }
  flow:wait("paid", { event = "paid", key = "order", timeout = "1h",
    next = { received = "good", timeout = "bad" } })
  flow:finish("good", { output = function() return "good" end })
  flow:finish("bad", { output = function() return "bad" end })
  return flow
end

local function asking()
  local flow = pawl.workflow { code = "t.ask" }
  flow:task("ask", { title = "?", next = { yes = "yes", no = "no" } })
  flow:finish("yes", { output = function() return "yes" end })
  flow:finish("no", { output = function() return "no" end })
  return flow
end

for _, backend in ipairs(backends) do
  describe("parties on " .. backend.name, function()
    local store
    before_each(function() store = stores.of(backend) end)
    local few = backend.name ~= "sqlite" and 8 or nil
    after_each(backend.cleanup)

    it("move the clock by the one that each is given", function()
      local times = {}
      count { store = store, max = 4, parties = {
        function(engine, clock)
          assert(engine:start "t.count")
          times[1] = clock:advance "1h" - clock:jump(0)
          times[2] = select(2, pcall(clock.advance, "1h"))
        end,
        function() end,
      }, check = function() end }
      assert.equal(0, times[1])
      assert.matches("call it by a colon, clock:advance(...)", times[2], 1,
        true)
    end)

    it("find an update that is lost outside, and tell its story", function()
      local ok, err = pcall(count, { store = store })
      assert.is_false(ok)
      assert.matches("^interleave: check: ", err)
      assert.matches("\nafter %d+ orders, with 1 change by chance:\n", err)
      local at = {}
      for i, text in ipairs { "1  begins count of t.count",
        "2      does 'read'", "2      does 'write'", "1  does 'write'" } do
        at[i] = err:find(text, i > 1 and at[i - 1] or 1, true)
        assert.is_truthy(at[i], err)
      end
      local schedule = err:match '\nthis order again: schedule = "([%d,*]+)"$'
      ok, err = pcall(count, { store = store, schedule = schedule })
      assert.is_false(ok)
      assert.matches("after 1 order, with 1 change by chance", err, 1, true)
      assert.matches("1  does 'write'", err, 1, true)
    end)

    it("leave nothing behind, whatever comes of it", function()
      local tried
      assert.same({}, stores.left_by(backend, store, function()
        tried = count({ store = store, changes = 0 }).orders
        local ok, err = pcall(count, { store = store })
        assert.is_false(ok)
        assert.matches("^interleave: check: ", err)
        ok, err = pcall(test.interleave, { store = store,
          setup = function() error "not to be set up" end,
          parties = { print, print } })
        assert.is_false(ok)
        assert.matches("not to be set up", err)
      end))
      assert.equal(2, tried)
    end)

    it("have nothing to tell where each goes after the other", function()
      local told = count { store = store, changes = 0 }
      assert.equal(2, told.orders)
      assert.is_true(told.all)
    end)

    it("agree on an event, and the wait that it is for", function()
      local told = test.interleave {
        load = waiting(), store = store, max = few,
        setup = function(engine)
          assert(engine:load(waiting()))
        end,
        parties = {
          buyer = function(engine)
            engine:start("t.wait", { order = 7 })
            engine:run_until_idle()
          end,
          bank = function(engine) engine:signal { name = "paid", key = 7 } end,
        },
        check = function(engine)
          assert.equal("good", engine:list()[1].output
            or engine:get(engine:list()[1].id).output)
        end,
      }
      assert.is_true(told.orders >= 8, told.orders)
    end)

    it("complete a task once", function()
      local done = {}
      local function answer(take)
        return function(engine, _, id)
          local task = engine.tasks:list { instance = id }[1]
          local ok, err = engine.tasks:complete(task.id, { by = take,
            take = take })
          if ok then
            done[#done + 1] = take
          else
            assert.equal("already_finished", err.code)
          end
        end
      end
      test.interleave {
        load = asking(), store = store, max = few,
        setup = function(engine)
          done = {}
          local id = engine:start "t.ask"
          engine:run_until_waiting(id, "ask")
          return id
        end,
        parties = { answer "yes", answer "no" },
        check = function(engine, _, id)
          assert.equal(1, #done)
          assert.output(engine, id, done[1])
        end,
      }
    end)

    it("compare what comes of it with one after the other", function()
      local told = test.interleave {
        load = asking(), store = store, max = few,
        setup = function(engine)
          local id = engine:start "t.ask"
          engine:run_until_waiting(id, "ask")
          return id
        end,
        parties = {
          function(engine, _, id)
            local task = engine.tasks:list { instance = id }[1]
            engine.tasks:complete(task.id, { by = "ann", take = "yes" })
          end,
          function(engine, _, id) engine:cancel(id) end,
        },
      }
      assert.is_true(told.orders > 2)
    end)
  end)
end

describe("parties", function()
  it("differ from all that comes of one after the other", function()
    local n
    local ok, err = pcall(test.interleave, {
      setup = function(engine)
        n = 0
        local flow = pawl.workflow { code = "t.see" }
        flow:step("see", { run = function(ctx)
          n = n + 1
          ctx.vars.seen = n
        end })
        flow:step("look", { run = function(ctx) ctx.vars.then_seen = n end })
        flow:finish "done"
        engine:load(flow)
      end,
      parties = { function(engine)
        engine:start "t.see"
        engine:run_until_idle()
      end, function(engine)
        engine:start "t.see"
        engine:run_until_idle()
      end },
    })
    assert.is_false(ok)
    assert.matches("what comes of it comes of no order of the parties one "
      .. "after the other", err, 1, true)
  end)

  it("do outside as often as one after the other", function()
    local left
    local ok, err = pcall(test.interleave, {
      setup = function(engine)
        left = 1
        local take = engine:effect("take", { run = function()
          left = left - 1
        end })
        local flow = pawl.workflow { code = "t.take" }
        flow:step("take", { run = function(ctx)
          if left > 0 then take(ctx.idempotency_key()) end
        end })
        flow:finish "done"
        engine:load(flow)
      end,
      parties = { function(engine)
        engine:start "t.take"
        engine:run_until_idle()
      end, function(engine)
        engine:start "t.take"
        engine:run_until_idle()
      end },
    })
    assert.is_false(ok)
    assert.matches("'take' is done 2 times\n  but:", err, 1, true)
  end)

  it("are as many orders as are allowed, the simplest first", function()
    local told = count { max = 3, check = function() end }
    assert.equal(3, told.orders)
    assert.is_false(told.all)
    told = count { changes = 1, max = 1000, check = function() end }
    assert.is_true(told.all)
    assert.is_true(told.orders > 15 and told.orders < 200, told.orders)
    local more = count { changes = 2, max = told.orders + 5,
      check = function() end }
    assert.equal(told.orders + 5, more.orders)
  end)

  it("run the same again, byte for byte", function()
    local _, a = pcall(count, {})
    local _, b = pcall(count, {})
    assert.equal(a, b)
  end)

  it("wait for what others do", function()
    local order = {}
    local told = test.interleave {
      load = asking(),
      setup = function(engine)
        order = {}
        local id = engine:start "t.ask"
        engine:run_until_waiting(id, "ask")
        return id
      end,
      parties = {
        asker = function(engine, _, id)
          engine:run_until(function()
            return engine:get(id).status == "completed"
          end)
          order[#order + 1] = "asker"
        end,
        clerk = function(engine, _, id)
          local task = engine.tasks:list { instance = id }[1]
          order[#order + 1] = "clerk"
          assert(engine.tasks:complete(task.id, { by = "ann", take = "yes" }))
        end,
      },
      check = function() assert.same({ "clerk", "asker" }, order) end,
      changes = 1,
    }
    assert.is_true(told.orders >= 2)
  end)

  it("tell of one that waits for what does not come", function()
    local ok, err = pcall(test.interleave, {
      load = asking(),
      parties = { stuck = function(engine)
        local id = engine:start "t.ask"
        engine:run_until(function()
          return engine:get(id).status == "completed"
        end)
      end, idle = function() end },
    })
    assert.is_false(ok)
    assert.matches("stuck fails: .*nothing is left to come", err)
  end)

  it("tell of one that hangs, in its code or round and round", function()
    local ok, err = pcall(test.interleave, {
      hangs = 0.2,
      parties = { function() while true do end end, function() end },
    })
    assert.is_false(ok)
    assert.matches("1 fails: it hangs: it has gone on for 0.2 s without a turn",
      err, 1, true)
    ok, err = pcall(test.interleave, {
      parties = { function(engine)
        while true do engine:list() end
      end, function(engine)
        while true do engine:list() end
      end },
    })
    assert.is_false(ok)
    assert.matches("fails: after 2000 turns there is no end of it", err, 1,
      true)
  end)

  it("leave nobody in a transaction", function()
    local n
    local told = test.interleave {
      load = asking(),
      setup = function() n = 0 end,
      parties = { function(engine)
        assert(engine:transaction(function(tx)
          n = n + 1
          local before = n
          tx:start "t.ask"
          engine:now()
          assert.equal(before, n)
          return true
        end))
      end, function(engine)
        n = n + 1
        assert(engine:start "t.ask")
      end },
      check = function(engine) assert.equal(2, #engine:list()) end,
    }
    assert.is_true(told.orders >= 2)
  end)

  it("cannot be left in a handler that has a transaction", function()
    local inside
    test.interleave {
      setup = function(engine)
        local flow = pawl.workflow { code = "t.db" }
        local touch = engine:effect "touch"
        flow:step("write", { transactional = true, run = function(ctx)
          assert.is_nil(inside)
          inside = ctx.id
          touch(ctx.idempotency_key())
          inside = nil
        end })
        flow:finish "done"
        engine:load(flow)
      end,
      parties = { function(engine)
        engine:start "t.db"
        engine:run_until_idle()
      end, function(engine)
        engine:start "t.db"
        engine:run_until_idle()
      end },
      check = function(engine)
        for _, one in ipairs(engine:list()) do
          assert.completed(engine, one.id)
        end
      end,
    }
  end)

  it("say what raises, and where a scenario fails by itself", function()
    local ok, err = pcall(test.interleave, { parties = {
      ann = function() error "no luck" end, bob = function() end } })
    assert.is_false(ok)
    assert.matches("^interleave: ann fails: .*no luck\n", err)
    ok, err = pcall(test.interleave, { parties = { print, print },
      setup = function() error "not today" end })
    assert.is_false(ok)
    assert.matches("not today", err)
    ok, err = pcall(test.interleave, { check = function()
      return false, "it is so"
    end, parties = { function() end, function() end } })
    assert.is_false(ok)
    assert.matches("check: it is so", err, 1, true)
  end)

  it("are compared again when one order is played again", function()
    local options = { parties = {} }
    for i = 1, 2 do
      options.parties[i] = function(engine)
        local n = #engine:list { workflow = "t.ask" }
        if n == 0 then engine:start "t.ask" end
      end
    end
    options.load = asking()
    local ok, err = pcall(test.interleave, options)
    assert.is_false(ok)
    options.schedule = err:match 'schedule = "([^"]+)"'
    ok, err = pcall(test.interleave, options)
    assert.is_false(ok)
    assert.matches("comes of no order", err, 1, true)
    options.schedule = "2"
    local told = test.interleave(options)
    assert.matches('2      start "t.ask"', told.story, 1, true)
  end)

  it("tell of a handler that hangs", function()
    local ok, err = pcall(test.interleave, {
      hangs = 0.2,
      setup = function(engine)
        local flow = pawl.workflow { code = "t.hang" }
        flow:step("hang", { run = function() while true do end end })
        flow:finish "done"
        engine:load(flow)
      end,
      parties = { function(engine)
        engine:start "t.hang"
        engine:run_until_idle()
      end, function() end },
    })
    assert.is_false(ok)
    assert.matches("1 fails: it hangs: it has gone on for 0.2 s", err, 1, true)
  end)

  it("may be three, inside each other", function()
    local party = function(engine)
      assert(engine:start "t.count")
      engine:run_until_idle()
    end
    local checked = 0
    local told = count { max = 60, parties = { party, party, party },
      check = function(engine)
        checked = checked + 1
        assert.equal(3, #engine:list())
        for _, one in ipairs(engine:list()) do
          assert.completed(engine, one.id)
        end
      end }
    assert.equal(60, told.orders)
    assert.equal(60, checked)
  end)

  it("cannot go as a schedule says that is of something else", function()
    local ok, err = pcall(count, { schedule = "1*500", check = function() end })
    assert.is_false(ok)
    assert.matches("it does not go as 'schedule' says", err, 1, true)
  end)

  it("are told what to do", function()
    local function refused(options, text)
      local ok, err = pcall(test.interleave, options)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
    end
    local two = { print, print }
    refused({}, "it needs 'parties', a list of two functions or more")
    refused({ partys = two }, "unknown option 'partys' (did you mean "
      .. "'parties'?)")
    refused({ parties = { print } }, "option 'parties' must be a list of "
      .. "functions, or functions by names, two at least")
    refused({ parties = { print, 3 } }, "option 'parties' must be a list")
    refused({ parties = two, schedule = "1,3" },
      "'schedule' names '3' (did you mean '1'?)")
    refused({ parties = two, schedule = "1;2" }, "'1;2' in 'schedule' is "
      .. "neither a party nor one so often, like 2*3")
    refused({ parties = { ann = print, bob = print }, schedule = "anm" },
      "'schedule' names 'anm' (did you mean 'ann'?)")
    refused({ parties = two, store = "here.db" }, "option 'store' must be a "
      .. "URL of PostgreSQL, or a function that gives an empty store")
    refused({ parties = two, max = 0 }, "option 'max' must be an integer above")
    refused({ parties = two, changes = -1 }, "must be an integer, 0 or more")
    refused({ parties = { function() end, function() end } },
      "the parties do nothing with their engines")
  end)
end)
