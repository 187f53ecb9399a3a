-- ctx.callback and engine:complete: a token by which the outside completes a
-- wait.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

--- Every attempt of `a` adds its token to `given`.
local function flow_of(given, more, step)
  local flow = pawl.workflow { code = "t.call" }
  local options = { next = "w", run = function(ctx)
    given[#given + 1] = ctx.callback "paid"
    ctx.vars.token = given[#given]
  end }
  for name, value in pairs(step or {}) do options[name] = value end
  flow:step("a", options)
  local wait = { event = "paid", into = "sum", next = "z" }
  for name, value in pairs(more or {}) do wait[name] = value or nil end
  flow:wait("w", wait)
  flow:finish("z", { output = function(ctx) return ctx.vars.sum end })
  return flow
end

kit.describe("a callback token", function(backend)
  local engine, clock, url, given

  local function begun(more, step, options)
    given = {}
    engine, clock, url = backend.fresh(options)
    assert(engine:load(flow_of(given, more, step)))
    local id = assert(engine:start "t.call")
    assert(engine:run())
    return id
  end

  local function unknown(token, whose)
    local done, err = (whose or engine):complete(token, 1)
    assert.is_nil(done)
    assert.equal("notfound", err.code)
    assert.equal("nothing can be completed with this token", err.message)
  end

  it("completes its wait, once, by whoever has it", function()
    local id = begun()
    assert.equal("waiting", kit.status(engine, id))
    local other = kit.rival(backend, url, clock)
    assert.is_true(other:complete(given[1], 30, { by = "bank" }))
    assert.is_false(engine:complete(given[1], 40))
    assert(engine:run())
    assert.equal(30, assert(engine:get(id)).output)
    -- and while it is known of one that has ended
    assert.is_false(other:complete(given[1], 30))
    local row = assert(engine:history(id, { type = "received" }))[1]
    assert.equal("bank", row.by)
    other:close()
  end)

  it("is good before its wait is entered, and both of two at once", function()
    given = {}
    engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.call" }
    flow:step("a", { run = function(ctx) given[1] = ctx.callback "paid" end })
    flow:timer("t", { after = "1h" })
    flow:wait("w", { event = "paid", into = "sum" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.call")
    assert(engine:run())
    local other = kit.rival(backend, url, clock)
    local one, two = engine:complete(given[1], 1), other:complete(given[1], 2)
    assert.is_true(one)
    assert.is_false(two)
    other:close()
    clock:advance "1h"
    assert(engine:run())
    assert.equal(1, assert(engine:get(id)).variables.sum)
  end)

  it("is the same for each attempt, and after a takeover", function()
    local id = begun(nil, { retry = { max = 3, base = 1, jitter = 0 },
      run = function(ctx)
        given[#given + 1] = ctx.callback "paid"
        assert(ctx.attempt > 2)
      end })
    clock:advance(1)
    assert(engine:run())
    clock:advance(2)
    assert(engine:run())
    assert.equal(3, #given)
    assert.equal(given[1], given[3])
    assert.is_true(engine:complete(given[1], 7))
    assert(engine:run())
    assert.equal(7, assert(engine:get(id)).output)
    local rival = kit.rival(backend, url, clock)
    local stolen = {}
    assert(engine:load(flow_of(given)))
    assert(rival:load(flow_of(stolen)))
    id = assert(engine:start "t.call")
    kit.claim(kit.store(url, clock), id) -- its worker dies
    clock:advance(31)
    assert(rival:run())
    assert.equal(1, #stolen)
    assert.is_true(engine:complete(stolen[1], 8))
    rival:close()
  end)

  it("is another for another event, visit and instance", function()
    local tokens = {}
    engine = backend.fresh()
    local flow = pawl.workflow { code = "t.call" }
    flow:step("a", { next = { again = "a", done = "z" }, run = function(ctx)
      tokens[#tokens + 1] = ctx.callback "paid"
      tokens[#tokens + 1] = ctx.callback "paid.late"
      assert(ctx.callback "paid" == tokens[#tokens - 1])
      return ctx.visit < 2 and "again" or "done"
    end })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.call")
    assert(engine:start "t.call")
    assert(engine:run())
    local seen = {}
    for _, token in ipairs(tokens) do
      assert.is_nil(seen[token])
      seen[token] = true
      assert.truthy(#token <= 255)
    end
    assert.equal(8, #tokens)
  end)

  it("is the key of its event, so that a wait may take no other", function()
    given = {}
    engine = backend.fresh()
    local flow = pawl.workflow { code = "t.call" }
    flow:step("a", { next = "w", run = function(ctx)
      given[#given + 1] = ctx.callback "paid"
      ctx.vars.token = given[#given]
    end })
    flow:wait("w", { event = "paid", key = "token", into = "sum",
      next = "more" })
    flow:choice("more", { next = { more = "a", no = "z" },
      choose = function(ctx) return ctx.vars.sum < 9 and "more" or "no" end })
    flow:finish("z", { output = function(ctx) return ctx.vars.sum end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.call")
    assert(engine:run())
    assert.is_true(engine:complete(given[1], 1))
    assert(engine:run())
    assert.equal(2, #given)
    assert.is_false(engine:complete(given[1], 9)) -- not that of this round
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.is_true(engine:complete(given[2], 10))
    assert(engine:run())
    assert.equal(10, assert(engine:get(id)).output)
  end)

  it("may come too late", function()
    local id = begun()
    assert(engine:cancel(id))
    local done, err = engine:complete(given[1])
    assert.is_nil(done)
    assert.equal("already_finished", err.code)
    assert(engine:purge(id))
    unknown(given[1])
  end)

  it("cannot be guessed, and tells nothing where it is wrong", function()
    begun()
    local token = given[1]
    for _, wrong in ipairs { "", "x", token .. "x", token:sub(2),
      token:sub(1, -2), token:gsub("paid$", "post"), "A" .. token:sub(2),
      token:sub(1, 53) .. (token:sub(54, 54) == "A" and "B" or "A")
        .. token:sub(55), ("A"):rep(54) .. ".paid" } do
      if wrong ~= token then unknown(wrong) end
    end
    local elsewhere = backend.fresh()
    unknown(token, elsewhere)
    local ok, err = pcall(engine.complete, engine, 7)
    assert.is_false(ok)
    assert.truthy(err)
  end)

  it("is its tenant's", function()
    begun()
    local id = assert(engine:start("t.call", {}, { tenant = "red" }))
    assert(engine:run())
    local red = kit.rival(backend, url, clock, { tenant = "red" })
    local blue = kit.rival(backend, url, clock, { tenant = "blue" })
    unknown(given[2], blue)
    assert.is_true(red:complete(given[2], 5))
    assert.is_false(engine:complete(given[2], 5))
    assert(engine:run())
    assert.equal(5, assert(engine:get(id)).output)
    red:close()
    blue:close()
  end)

  it("wants an event's name", function()
    local errors = {}
    begun(nil, { run = function(ctx)
      for _, name in ipairs { 7, "", "a b", "paid.*", ("a"):rep(201),
        "a\0b" } do
        local ok, err = pcall(ctx.callback, name)
        assert(not ok)
        errors[#errors + 1] = err.message
      end
      return nil, #ctx.callback(("a"):rep(200))
    end })
    assert.equal("ctx.callback: the event is a number, not a name", errors[1])
    assert.equal('ctx.callback: "a b" cannot be an event\'s name', errors[3])
    assert.equal(6, #errors)
  end)

  it("can be drawn in a transactional step, and in what changes nothing",
    function()
      local id = begun(nil, { transactional = true })
      assert.is_true(engine:transaction(function(tx)
        return assert(tx:complete(given[1], 3))
      end))
      assert(engine:run())
      assert.equal(3, assert(engine:get(id)).output)
      engine = backend.fresh()
      local flow = pawl.workflow { code = "t.call" }
      flow:task("ask", { title = "t", prepare = function(ctx)
        return { input = { token = ctx.callback "paid" } }
      end, on_event = { event = "paid", next = "z" } })
      flow:finish "z"
      assert(engine:load(flow))
      id = assert(engine:start "t.call")
      assert(engine:run())
      local task = assert(engine.tasks:list())[1]
      assert.is_true(engine:complete(assert(engine.tasks:get(task.id)).input
        .token))
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("is not that of a copy in another store", function()
    local id = begun()
    local other = assert(pawl.open(":memory:"))
    assert(other:import(assert(engine:export(id)), { copy = true }))
    assert.equal(given[1], assert(other:get(id)).variables.token)
    unknown(given[1], other)
    assert.is_true(engine:complete(given[1], 4))
    assert(engine:run())
    assert.equal(4, assert(engine:get(id)).output)
    other:close()
  end)
end)

describe("a callback token", function()
  for _, level in ipairs { "limited", "isolated" } do
    it("needs no grant of a script that is " .. level, function()
      local engine = assert(pawl.open(":memory:", { trust = level }))
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.call" }
        flow:step("a", { run = function(ctx)
          assert(not pcall(ctx.callback, "no name"))
          ctx.vars.token = ctx.callback "paid"
        end })
        flow:wait("w", { event = "paid" })
        return flow]])))
      local id = assert(engine:start "mod.call")
      assert(engine:run())
      local token = assert(engine:get(id)).variables.token
      assert.is_true(engine:complete(token))
      assert(engine:run())
      assert.completed(engine, id)
      engine:close()
    end)
  end

  it("is good in a store that was restored into an engine", function()
    local function opened()
      local engine = assert(pawl.open ":memory:")
      assert(engine:load(flow_of {}))
      return engine
    end
    local from <close> = opened()
    local into <close> = opened()
    local id = assert(from:start "t.call")
    assert(from:run())
    local token = assert(from:get(id)).variables.token
    assert.equal("notfound", select(2, into:complete(token, 1)).code)
    assert(into:restore_bytes(assert(from:backup_bytes())))
    assert.is_true(into:complete(token, 2))
    assert(into:run())
    assert.equal(2, assert(into:get(id)).output)
  end)
end)
