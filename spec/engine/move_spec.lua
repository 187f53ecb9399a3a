-- From one version of a workflow to another.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

--- Version 1: a, then an hour's t, then b. Version 2 calls t `pause`, and b
--- does more.
local function first()
  local flow = pawl.workflow { code = "t.order", version = 1, start = "a" }
  flow:step("a", { next = "t", run = function(ctx) ctx.vars.a = 1 end })
  flow:timer("t", { after = "1h", next = "b" })
  flow:step("b", { next = "z", run = function(ctx) ctx.vars.by = 1 end })
  flow:finish "z"
  return flow
end

local function second(name)
  local flow = pawl.workflow { code = "t.order", version = 2, start = "a" }
  flow:step("a", { next = name, run = function(ctx) ctx.vars.a = 2 end })
  flow:timer(name, { after = "1h", next = "b" })
  flow:step("b", { next = "z", run = function(ctx) ctx.vars.by = 2 end })
  flow:finish "z"
  return flow
end

--- Version 2 has a step where version 1 waits for a time.
local function changed()
  local flow = pawl.workflow { code = "t.order", version = 2, start = "a" }
  flow:step("a", { next = "t", run = function() end })
  flow:step("t", { next = "z", run = function() end })
  flow:finish "z"
  return flow
end

kit.describe("moving to another version", function(backend)
  local function started(n, options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(first()))
    local ids = {}
    for i = 1, n do ids[i] = assert(engine:start "t.order") end
    assert(engine:run())
    return engine, ids, clock, url
  end

  it("takes what stands where the new version has a node", function()
    local engine, ids, clock = started(3)
    assert(engine:load(second "t"))
    local refused, movable = assert(engine:plan_move("t.order", 1, 2))
    assert.same({}, refused)
    assert.equal(3, #movable)
    assert.equal(1, assert(engine:get(ids[1])).version, "a plan is a plan")
    local moved
    moved, refused = assert(engine:move("t.order", 1, 2, { by = "ann",
      reason = "new law" }))
    assert.equal(3, #moved)
    assert.same({}, refused)
    local history = assert(engine:history(ids[1]))
    assert.equal("migrated", history[#history].type)
    assert.equal("ann", history[#history].caller)
    assert.equal("new law", history[#history].text)
    assert.equal(2, assert(engine:get(ids[1])).version)
    clock:advance "2h"
    assert(engine:run())
    for _, id in ipairs(ids) do
      local instance = assert(engine:get(id))
      assert.equal("completed", instance.status)
      assert.same({ a = 1, by = 2 }, instance.variables)
    end
  end)

  it("goes to nodes that are called otherwise by a map", function()
    local engine, ids, clock = started(1)
    assert(engine:load(second "pause"))
    local refused = assert(engine:plan_move("t.order", 1, 2))
    assert.equal(1, #refused)
    assert.equal(ids[1], refused[1].id)
    assert.equal("t", refused[1].node)
    assert.matches('version 2 has no node "t"', refused[1].reason)
    local moved
    moved, refused = assert(engine:move("t.order", 1, 2))
    assert.same({}, moved)
    assert.equal(1, #refused)
    assert.equal(1, assert(engine:get(ids[1])).version)
    moved = assert(engine:move("t.order", 1, 2, { map = { t = "pause" } }))
    assert.same(ids, moved)
    assert.equal("pause", assert(engine:get(ids[1])).tokens[1].node)
    clock:advance "2h"
    assert(engine:run())
    assert.same({ a = 1, by = 2 }, assert(engine:get(ids[1])).variables)
  end)

  it("refuses a node of another kind for what waits", function()
    local engine = started(1)
    assert(engine:load(changed()))
    local refused = assert(engine:plan_move("t.order", 1, 2))
    assert.matches('"t" is a timer, and "t" of version 2 a step',
      refused[1].reason)
  end)

  it("gives them new variables", function()
    local engine, ids, clock = started(2)
    assert(engine:load(second "t"))
    local seen = {}
    local moved, refused = assert(engine:move("t.order", 1, 2, {
      vars = function(vars, instance)
        seen[instance.id] = true
        if instance.id == ids[2] then error "not this one" end
        return { a = vars.a + 10, fresh = true }
      end,
    }))
    assert.same({ ids[1] }, moved)
    assert.equal(ids[2], refused[1].id)
    assert.matches("not this one", refused[1].reason)
    assert.same({ [ids[1]] = true, [ids[2]] = true }, seen)
    assert.same({ a = 11, fresh = true },
      assert(engine:get(ids[1])).variables)
    assert.equal(1, assert(engine:get(ids[2])).version)
    clock:advance "2h"
    assert(engine:run())
    assert.equal(1, assert(engine:get(ids[2])).variables.by)
  end)

  it("plans with the variables, too", function()
    local engine, ids = started(1)
    assert(engine:load(second "t"))
    for _, case in ipairs {
      { function() return nil end, "vars gave a nil" },
      { function() return { f = print } end, "cannot be stored" },
      { function() error { code = "x" } end, "vars failed" },
    } do
      local refused, movable = assert(engine:plan_move("t.order", 1, 2,
        { vars = case[1] }))
      assert.same({}, movable)
      assert.equal(ids[1], refused[1].id)
      assert.matches(case[2], refused[1].reason)
    end
  end)

  it("is made by the holder of an instance", function()
    local a, b, clock
    local report
    local flow = pawl.workflow { code = "t.order", version = 1, start = "a" }
    flow:step("a", { next = "b", run = function() end })
    flow:step("b", { next = "c", run = function(ctx)
      ctx.vars.b = 1
      report = { assert(b:move("t.order", 1, 2)) }
    end })
    flow:step("c", { next = "z", run = function(ctx) ctx.vars.c = 1 end })
    flow:finish "z"
    local new = pawl.workflow { code = "t.order", version = 2, start = "b" }
    new:step("b", { next = "c", run = function(ctx) ctx.vars.b = 2 end })
    new:step("c", { next = "z", run = function(ctx) ctx.vars.c = 2 end })
    new:finish "z"
    a, b, clock = kit.pair(backend, { flow, new })
    local id = assert(a:start("t.order", {}, { version = 1 }))
    assert(a:run())
    clock:advance(1)
    assert(a:run())
    assert.same({ {}, {}, { id } }, report)
    local instance = assert(b:get(id))
    assert.equal("completed", instance.status)
    assert.equal(2, instance.version)
    assert.same({ b = 1, c = 2 }, instance.variables)
  end)

  it("takes any number, shard by shard, page by page", function()
    local engine, _, clock = started(0, { shards = 3 })
    for _ = 1, 450 do assert(engine:start "t.order") end
    assert(engine:run())
    assert(engine:load(second "t"))
    for _ = 1, 60 do -- begun on neither node yet
      assert(engine:start("t.order", {}, { version = 1, delay = "3h" }))
    end
    local moved, refused = assert(engine:move("t.order", 1, 2))
    assert.equal(510, #moved)
    assert.same({}, refused)
    assert.same({}, (select(2, assert(engine:plan_move("t.order", 1, 2)))))
    clock:advance "5h"
    assert(engine:run())
    clock:advance "5h"
    assert(engine:run())
    local done = assert(engine:list { workflow = "t.order", version = 2,
      status = "completed", limit = 1000 })
    assert.equal(510, #done)
  end)

  it("says what is wrong with it", function()
    local engine, ids = started(1)
    assert(engine:load(second "pause"))
    local function fails(code, words, hint, ok, err)
      assert.is_nil(ok)
      assert.equal(code, err.code)
      assert.matches(words, err.message)
      if hint then assert.matches(hint, err.hint or "") end
    end
    fails("notfound", 'no workflow "t.order" version 9', nil,
      engine:move("t.order", 1, 9))
    fails("notfound", 'no workflow "t.ordr"', nil,
      engine:plan_move("t.ordr", 1, 2))
    fails("invalid", "from one version to another", nil,
      engine:plan_move("t.order", 1, 1))
    fails("invalid", 'version 1 has no node "tt"', 'did you mean "t"',
      engine:plan_move("t.order", 1, 2, { map = { tt = "pause" } }))
    fails("invalid", 'version 2 has no node "pauze"', 'did you mean "pause"',
      engine:plan_move("t.order", 1, 2, { map = { t = "pauze" } }))
    assert.error_matches(function()
      engine:move("t.order", "1", 2)
    end, "bad argument #2 to 'move'")
    assert.equal(1, assert(engine:get(ids[1])).version)
  end)

  it("checks the forks around a token", function()
    local engine = backend.fresh()
    local function forked(version, fork)
      local flow = pawl.workflow { code = "t.fork", version = version,
        start = fork }
      flow:fork(fork, { next = { "left", "right" } })
      flow:timer("left", { after = "1h", next = "j" })
      flow:timer("right", { after = "2h", next = "j" })
      flow:join("j", { next = "z" })
      flow:finish "z"
      return flow
    end
    assert(engine:load(forked(1, "f")))
    local id = assert(engine:start "t.fork")
    assert(engine:run())
    assert(engine:load(forked(2, "split")))
    local refused = assert(engine:plan_move("t.fork", 1, 2))
    assert.matches('no node "f", which token %d+ came from',
      refused[1].reason)
    local moved = assert(engine:move("t.fork", 1, 2,
      { map = { f = "split" } }))
    assert.same({ id }, moved)
  end)
end)

kit.describe("a version that is not active", function(backend)
  local function versions()
    local engine, clock, url = backend.fresh()
    assert(engine:load(first()))
    assert(engine:load(second "t"))
    return engine, clock, url
  end

  local function version_of(engine, id)
    return assert(engine:get(id)).version
  end

  it("starts no new instances; its own go on", function()
    local engine, clock, url = versions()
    local old = assert(engine:start("t.order", {}, { version = 1 }))
    assert(engine:run())
    assert(engine:deactivate("t.order", 1, { by = "ann" }))
    local ok, err = engine:start("t.order", {}, { version = 1 })
    assert.is_nil(ok)
    assert.equal("invalid", err.code)
    assert.matches('"t.order" version 1 is not active', err.message)
    ok, err = engine:start("t.order", {}, { version = 1, key = "k" })
    assert.is_nil(ok)
    assert.matches("version 1 is not active", err.message)
    assert.equal(1, kit.count(backend, url, "instance"))
    clock:advance "2h"
    assert(engine:run())
    assert.equal("completed", kit.status(engine, old))
    assert(engine:activate("t.order", 1))
    assert(engine:start("t.order", {}, { version = 1 }))
  end)

  it("is not the newest", function()
    local engine, clock, url = versions()
    assert(engine:deactivate("t.order", 2))
    local id = assert(engine:start "t.order")
    assert.equal(1, assert(engine:get(id)).version)
    local keyed = assert(engine:start("t.order", {}, { key = "k" }))
    assert.equal(1, assert(engine:get(keyed)).version)
    local client = kit.rival(backend, url, clock)
    assert.equal(1, version_of(client, assert(client:start "t.order")))
    assert(engine:deactivate("t.order", 1))
    for _, who in ipairs { engine, client } do
      local ok, err = who:start "t.order"
      assert.is_nil(ok)
      assert.equal("invalid", err.code)
      assert.matches('no version of workflow "t.order" is active',
        err.message)
    end
    -- what its key names was started before
    local again, created = engine:start("t.order", {}, { key = "k" })
    assert.equal(keyed, again)
    assert.is_false(created)
  end)

  it("stays so when it is loaded again", function()
    local engine, clock, url = versions()
    assert(engine:deactivate("t.order", 2))
    local other = kit.rival(backend, url, clock)
    assert(other:load(second "t"))
    assert.equal(1, version_of(other, assert(other:start "t.order")))
  end)

  it("is listed as such", function()
    local engine = versions()
    assert(engine:start("t.order", {}, { version = 1 }))
    assert(engine:deactivate("t.order", 1, { by = "ann", reason = "old" }))
    assert(engine:suspend { workflow = "t.order" })
    local list = assert(engine:workflows { workflow = "t.order",
      live = true })
    assert.equal(2, #list)
    assert.is_false(list[1].active)
    assert.equal("ann", list[1].by)
    assert.equal("old", list[1].reason)
    assert.equal(1, list[1].live)
    assert.equal(4, list[1].nodes)
    assert.is_true(list[2].active)
    assert.equal(0, list[2].live)
    assert.is_true(list[2].suspended)
    assert.equal(64, #list[2].sha256)
    assert.equal(2, #assert(engine:workflows()))
    assert.same({}, assert(engine:workflows { workflow = "t.nobody" }))
  end)

  it("must be one that is there", function()
    local engine = versions()
    local ok, err = engine:activate("t.order", 3)
    assert.is_nil(ok)
    assert.equal("notfound", err.code)
  end)
end)
