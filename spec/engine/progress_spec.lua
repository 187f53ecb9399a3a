--- ctx.progress: what an earlier attempt of a visit gave to ctx.heartbeat.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local RETRY <const> = { max = 3, base = 1, jitter = 0 }

kit.describe("the progress of a handler", function(backend)
  it("is given to the next attempt, and to no other visit", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.copy", start = "a" }
    local function run(ctx)
      seen[#seen + 1] = { ctx.node, ctx.attempt,
        ctx.progress and ctx.progress.done }
      ctx.heartbeat { done = 10 * #seen }
      if ctx.node == "a" and ctx.attempt < 3 then error "again" end
    end
    flow:step("a", { run = run, retry = RETRY, next = "b" })
    flow:step("b", { run = run, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.copy")
    engine:run { id = id }
    assert.same({ done = 10 }, engine:get(id).progress)
    for _ = 1, 2 do
      clock:advance(5)
      engine:run()
    end
    assert.same({ { "a", 1 }, { "a", 2, 10 }, { "a", 3, 20 }, { "b", 1 } },
      seen)
    assert.is_nil(engine:get(id).progress)
  end)

  it("stays where others write to its instance in between", function()
    local engine, clock = backend.fresh()
    local seen = {}
    assert(engine:load(kit.one(function(ctx)
      seen[#seen + 1] = ctx.progress or false
      if #seen < 3 then
        ctx.heartbeat(#seen)
        error "again"
      end
    end, { retry = { max = 2, base = 1, jitter = 0 },
      on_exhausted = "suspend" })))
    local id = assert(engine:start "t.one")
    engine:run()
    assert(engine:note(id, { text = "looked at" }))
    engine:run()
    clock:advance(60)
    engine:run()
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:retry(id, { by = "ann" }))
    engine:run()
    assert.completed(engine, id)
    assert.same({ false, 1, 2 }, seen)
  end)

  it("is taken over from one that has died", function()
    local seen, b, clock = {}, nil, nil
    local a
    local flow = kit.one(function(ctx)
      seen[#seen + 1] = ctx.progress or false
      if #seen > 1 then return end
      ctx.heartbeat { done = 3 }
      clock:advance(3600) -- its lease is over: another one has it
      b:run()
    end)
    a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    a:run()
    assert.completed(b, id)
    assert.same({ false, { done = 3 } }, seen)
  end)

  it("stays with its branch while others go on", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.fork", start = "f" }
    flow:fork("f", { next = { "copy", "nap" } })
    flow:step("copy", { retry = RETRY, next = "j", run = function(ctx)
      seen[#seen + 1] = ctx.progress or false
      if #seen == 1 then
        ctx.heartbeat(7)
        error { code = "late", retry = 60 }
      end
    end })
    flow:timer("nap", { after = 10, next = "other" })
    flow:step("other", { next = "j", run = function(ctx)
      seen[#seen + 1] = ctx.progress or "none of mine"
    end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.fork")
    engine:run()
    clock:advance(20)
    engine:run()
    clock:advance(60)
    engine:run()
    assert.completed(engine, id)
    assert.same({ false, "none of mine", 7 }, seen)
  end)

  it("is each handler's own, of those that run beside another", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.beside", start = "f" }
    flow:fork("f", { next = { "a", "b", "c" } })
    for _, name in ipairs { "a", "b", "c" } do
      flow:step(name, { retry = RETRY, next = "j", run = function(ctx)
        if seen[name] ~= nil then
          seen[name] = ctx.progress
          return
        end
        seen[name] = false
        for k = 1, 2 do
          ctx.heartbeat { name, k } -- in turn: each overtakes the others
          local asked = 0
          ctx.await(function()
            asked = asked + 1
            return asked > 2
          end)
        end
        assert(ctx.progress[2] == 2 and ctx.progress[1] == name)
        error { code = "late", retry = 60 }
      end })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.beside")
    for _ = 1, 10 do assert(engine:run()) end
    clock:advance(60)
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ a = { "a", 2 }, b = { "b", 2 }, c = { "c", 2 } }, seen)
    assert.is_nil(engine:get(id).progress)
  end)

  it("is the newest of this attempt, once that has given some", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local function run(ctx)
      local given = { at = 1 }
      seen[#seen + 1] = ctx.progress or false
      ctx.heartbeat(given)
      given.at = 7 -- what was given is what counts
      seen[#seen + 1] = ctx.progress.at
      ctx.heartbeat()
      seen[#seen + 1] = ctx.progress.at
      ctx.heartbeat(#seen)
      seen[#seen + 1] = ctx.progress
      if #seen < 8 then error "again" end
    end
    for _, transactional in ipairs { false, true } do
      seen = {}
      local code = "t.newest_" .. tostring(transactional)
      assert(engine:load(kit.one(run, { code = code, retry = RETRY,
        transactional = transactional })))
      local id = assert(engine:start(code))
      engine:run()
      clock:advance(5)
      engine:run()
      assert.completed(engine, id)
      assert.same({ false, 1, 1, 3, not transactional and 3, 1, 1, 7 },
        seen)
    end
  end)

  it("reaches scripts of less trust, and goes to another store", function()
    for _, level in ipairs { "limited", "isolated" } do
      local engine = backend.fresh()
      local path = tmp.file("mod.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.copy", start = "a" }
        flow:step("a", { retry = { max = 2, base = 1, jitter = 0 },
          run = function(ctx)
            if ctx.progress then
              ctx.vars.from = ctx.progress
              ctx.heartbeat "new"
              ctx.vars.to = ctx.progress
            else
              ctx.heartbeat { 1, 2 }
              error "no"
            end
          end })
        return flow]])
      assert(engine:load(path, { trust = level }))
      local id = assert(engine:start "mod.copy")
      engine:run()
      local lines = assert(engine:export(id, { move = true }))
      local other, clock = backend.fresh()
      assert(other:load(path, { trust = level }))
      assert(other:import(lines))
      clock:advance(60)
      other:run()
      assert.same({ from = { 1, 2 }, to = "new" }, other:get(id).variables,
        level)
    end
  end)

  it("is asked for while a handler runs", function()
    local engine = backend.fresh()
    local kept
    assert(engine:load(kit.one(function(ctx) kept = ctx end)))
    local id = assert(engine:start "t.one")
    engine:run { id = id }
    local ok, err = pcall(function() return kept.progress end)
    assert.is_false(ok)
    assert.equal("misuse", err.code)
  end)
end)
