-- Starting: what is stored when the call returns, and who then runs it, when.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("a start", function(backend)
  it("is stored when the call returns", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start("t.one", { n = 1 }, {
      priority = 3, tenant = "acme", correlation = "c", business_key = "b",
      key = "k", metadata = { by = "spec" },
    }))
    engine:close()
    local other = kit.rival(backend, url, clock)
    local instance = assert(other:get(id))
    assert.equal("created", instance.status)
    assert.same({ n = 1 }, instance.input)
    assert.equal(3, instance.priority)
    assert.equal("acme", instance.tenant)
    assert.equal("c", instance.correlation)
    assert.equal("b", instance.business_key)
    assert.equal("k", instance.key)
    assert.same({ by = "spec" }, instance.metadata)
    assert(other:load(kit.one()))
    assert(other:run())
    assert.completed(other, id)
  end)

  it("is refused, and nothing is stored, when an option is wrong", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _, case in ipairs {
      { { key = "" }, "key" },
      { { key = ("k"):rep(256) }, "key" },
      { { tenant = "a\0b" }, "tenant" },
      { { priority = 40000 }, "priority" },
      { { id = "nonsense" }, "id" },
    } do
      local id, err = engine:start("t.one", nil, case[1])
      assert.is_nil(id)
      assert.equal("invalid", err.code)
      assert.matches(case[2], err.message)
    end
    for _, code in ipairs { "", "has space", "a..b", "a/b", ("x"):rep(201) } do
      local id, err = engine:start(code) -- no workflow may have it
      assert.is_nil(id)
      assert.equal("invalid", err.code)
      assert.matches("dotted words", err.hint)
    end
    local id, err = engine:start("t.one", nil, { version = 7 })
    assert.is_nil(id)
    assert.equal("notfound", err.code)
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("takes the newest active version in one statement, where the program "
    .. "has not loaded the workflow", function()
    local engine, clock, url = backend.fresh()
    for version = 1, 3 do
      assert(engine:load(kit.one(nil, { version = version })))
    end
    assert(engine.workflows:deactivate("t.one", 3))
    local other = kit.rival(backend, url, clock)
    assert(other:start "t.one") -- its first one: statements are prepared
    local before = other:count().transactions
    local id = assert(other:start("t.one", { n = 1 }))
    assert.is_true(other:count().transactions - before <= 2) -- a wake-up too
    assert.equal(2, assert(engine:get(id)).version)
    local keyed = assert(other:start("t.one", {}, { key = "k" }))
    assert.equal(2, assert(engine:get(keyed)).version)
    for _, one in ipairs(assert(other:start_many("t.one",
      { {}, { key = "l" } }))) do
      assert.equal(2, assert(engine:get(one)).version)
    end
    assert(engine.workflows:activate("t.one", 3))
    id = assert(other:start "t.one")
    assert.equal(3, assert(engine:get(id)).version)
    for version = 1, 3 do assert(engine.workflows:deactivate("t.one",
      version)) end
    local none, err = other:start "t.one"
    assert.is_nil(none)
    assert.equal("conflict", err.code)
    assert.matches("no version", err.message)
  end)

  it("refuses input over the limit", function()
    local engine, _, url = backend.fresh { max_bytes = 1000 }
    assert(engine:load(kit.one()))
    local id, err = engine:start("t.one", { text = ("x"):rep(1000) })
    assert.is_nil(id)
    assert.equal("limit", err.code)
    assert(engine:start("t.one", { text = ("x"):rep(900) }))
    assert.equal(1, kit.count(backend, url, "instance"))
  end)

  it("refuses objects over the limit among the options", function()
    local engine, _, url = backend.fresh { max_bytes = 1000 }
    assert(engine:load(kit.one()))
    for _, name in ipairs { "metadata", "attributes" } do
      local options = { [name] = { text = ("x"):rep(1000) } }
      kit.refused("limit", name .. " has", nil,
        engine:start("t.one", nil, options))
      kit.refused("limit", "item 1: " .. name .. " has", nil,
        engine:start_many("t.one", { options }))
      kit.refused("limit", name .. " has", nil, engine:signal { name = "e",
        key = "k", start = { workflow = "t.one", [name] = options[name] } })
    end
    assert.equal(0, kit.count(backend, url, "instance"))
  end)
end)

kit.describe("who starts an instance", function(backend)
  it("is told by get and list, however it was started", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      if ctx.input.child then
        ctx.start("t.one", {}, { by = "the parent", track = false })
      end
    end)))
    local function told(id) return assert(engine:get(id)).started_by end
    assert.equal("ann", told(assert(engine:start("t.one", { child = true },
      { by = "ann" }))))
    assert.is_nil(told(assert(engine:start "t.one")))
    local ids = assert(engine:start_many("t.one", { {}, { by = "bob" } },
      { by = "ann" }))
    assert.same({ "ann", "bob" }, { told(ids[1]), told(ids[2]) })
    local _, info = assert(engine:signal { name = "e", key = "k", by = "eve",
      start = { workflow = "t.one", by = "carl" } })
    assert.equal("carl", told(info.instance))
    assert(engine:run())
    local found = {}
    for _, one in ipairs(assert(engine:list())) do
      found[one.started_by or "-"] = (found[one.started_by or "-"] or 0) + 1
    end
    assert.same({ ann = 2, bob = 1, carl = 1, ["the parent"] = 1, ["-"] = 1 },
      found)
  end)

  it("is a name", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _, by in ipairs { "", "a\0b", ("x"):rep(256) } do
      kit.refused("invalid", "`by`", nil,
        engine:start("t.one", nil, { by = by }))
    end
    assert.equal(0, kit.count(backend, url, "instance"))
  end)
end)

kit.describe("what a start cannot store", function(backend)
  it("is told by the name of the attribute", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local options = { attributes = { colour = "re\0d" } }
    for _, start in ipairs {
      function() return engine:start("t.one", nil, options) end,
      function() return engine:start_many("t.one", { options }) end,
    } do
      local id, err = start()
      assert.is_nil(id)
      assert.equal("value", err.code)
      assert.matches('attribute "colour" has a zero byte', err.message)
      assert.is_nil(err.message:find("@", 1, true))
    end
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("is not cut off at a zero byte of its workflow's name", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    assert.error_matches(function() engine:start "t.one\0.more" end,
      "bad argument #1 to 'start' %(it has a zero byte%)")
  end)
end)

kit.describe("an idempotency key", function(backend)
  it("makes two starts one, from whichever program", function()
    local a, b = kit.pair(backend, { kit.one() })
    local id, created = assert(a:start("t.one", { n = 1 }, { key = "k" }))
    assert.is_true(created)
    local again, created_again = assert(b:start("t.one", { n = 2 },
      { key = "k", priority = 9 }))
    assert.equal(id, again)
    assert.is_false(created_again)
    assert.equal(1, assert(a:run()).ended)
    assert.same({ n = 1 }, assert(a:get(id)).input)
  end)

  it("still names the instance when that has ended", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start("t.one", nil, { key = "k" }))
    assert(engine:run())
    local again, created = assert(engine:start("t.one", nil, { key = "k" }))
    assert.equal(id, again)
    assert.is_false(created)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, assert(engine:run()).claimed)
  end)

  it("is one tenant's and one workflow's", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.one(nil, { code = "t.other" })))
    local seen = {}
    for _, case in ipairs { { "t.one" }, { "t.other" }, { "t.one", "x" },
      { "t.one", "y" }, { "t.other", "x" } } do
      local id, created = assert(engine:start(case[1], nil,
        { key = "k", tenant = case[2] }))
      assert.is_true(created)
      assert.is_nil(seen[id])
      seen[id] = true
    end
  end)

  it("tells words apart that run together", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local first = assert(engine:start("t.one", nil,
      { tenant = "ab", key = "c" }))
    local second = assert(engine:start("t.one", nil,
      { tenant = "a", key = "bc" }))
    assert.are_not.equal(first, second)
  end)

  it("is found by", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start("t.one", nil, { key = "k-1" }))
    assert(engine:start("t.one", nil, { key = "k-2" }))
    local found = assert(engine:list { key = "k-1" })
    assert.equal(1, #found)
    assert.equal(id, found[1].id)
  end)
end)

kit.describe("a start with an id of the caller's", function(backend)
  it("may be repeated without harm", function()
    local a, b, _, url = kit.pair(backend, { kit.one() })
    local mine = kit.draw_id()
    assert.equal(mine, (assert(a:start("t.one", { n = 1 }, { id = mine }))))
    assert.equal(mine, (assert(b:start("t.one", { n = 1 }, { id = mine }))))
    assert.equal(1, kit.count(backend, url, "instance"))
    assert.equal(1, assert(a:run()).ended)
    local id, created = assert(b:start("t.one", { n = 1 }, { id = mine }))
    assert.equal(mine, id)
    assert.is_false(created)
    assert.equal(0, assert(b:run()).claimed)
  end)

  it("is refused when it is another workflow's instance", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.timer()))
    local mine = kit.draw_id()
    assert(engine:start("t.one", nil, { id = mine }))
    local id, err = engine:start("t.timer", nil, { id = mine })
    assert.is_nil(id)
    assert.equal("conflict", err.code)
    assert.matches(mine .. ' is one of workflow "t.one"', err.message, 1, true)
    id, err = engine:signal { name = "e",
      start = { workflow = "t.timer", id = mine } }
    assert.is_nil(id)
    assert.equal("conflict", err.code)
    assert.equal(1, kit.count(backend, url, "instance"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("must be of the version whose ids sort by time", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _, id in ipairs {
      "00000000-0000-4000-8000-000000000000", -- of another version
      "019c0000-0000-1000-8000-000000000001",
      "019c0000-0000-7000-c000-000000000001", -- of another variant
      "00000000-0000-0000-0000-000000000000",
    } do
      for _, start in ipairs {
        function() return engine:start("t.one", nil, { id = id }) end,
        function() return engine:start_many("t.one", { { id = id } }) end,
      } do
        local none, err = start()
        assert.is_nil(none)
        assert.equal("invalid", err.code)
        assert.matches("UUID of version 7", err.message)
        assert.matches("`key`", err.hint)
      end
    end
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("does not wake an instance that waits", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local mine = kit.draw_id()
    assert(engine:start("t.timer", nil, { id = mine }))
    assert(engine:run())
    local due = assert(engine:next_due())
    assert(engine:start("t.timer", nil, { id = mine }))
    assert.equal(due, assert(engine:next_due()))
    assert.equal(1, kit.count(backend, url, "agenda"))
  end)
end)

kit.describe("a delayed start", function(backend)
  it("runs when its time has come", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one()))
    local begun = clock:now()
    local first = assert(engine:start("t.one", nil, { delay = "10m" }))
    local second = assert(engine:start("t.one", nil, { at = begun + 300 }))
    assert.equal(0, assert(engine:run()).claimed)
    assert.equal("created", kit.status(engine, first))
    assert.equal(begun + 300, assert(engine:next_due()))
    clock:advance(300)
    assert(engine:run())
    assert.completed(engine, second)
    assert.equal("created", kit.status(engine, first))
    clock:advance(299.999999)
    assert.equal(0, assert(engine:run()).claimed)
    clock:advance(0.000001)
    assert(engine:run())
    assert.completed(engine, first)
  end)

  it("is at once when its time has passed", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start("t.one", nil, { at = clock:now() - 60 }))
    assert.equal(0, engine:next_due())
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("can be cancelled before it begins", function()
    local engine = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function() runs = runs + 1 end)))
    local id = assert(engine:start("t.one", nil, { delay = "10m" }))
    local _, done = assert(engine:cancel(id, "changed my mind"))
    assert.is_true(done)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, runs)
    assert.is_nil(engine:next_due())
  end)
end)

kit.describe("the order of claims", function(backend)
  --- Starts one instance for each of `given` and returns the order of runs.
  local function order(options, given)
    local engine, clock = backend.fresh(options)
    local ran = {}
    for _, code in ipairs { "t.one", "t.two" } do
      assert(engine:load(kit.one(function(ctx)
        ran[#ran + 1] = ctx.input
      end, { code = code })))
    end
    for i, case in ipairs(given) do
      clock:advance(1)
      assert(engine:start(case.code or "t.one", i,
        { priority = case.priority, delay = case.delay }))
    end
    clock:advance(100)
    assert(engine:run())
    return ran
  end

  it("is by priority, then by time", function()
    assert.same({ 3, 2, 5, 1, 4 }, order({ batch = 1 }, {
      { priority = 0 }, { priority = 5 }, { priority = 9 },
      { priority = -3 }, { priority = 5 },
    }))
  end)

  it("is by when it was due, not by when it was started", function()
    assert.same({ 2, 3, 1 }, order({ batch = 1 },
      { { delay = 50 }, { delay = 0.5 }, {} }))
  end)

  it("is one order for all workflows", function()
    assert.same({ 4, 2, 1, 3 }, order({ batch = 1 }, {
      { code = "t.one", priority = 1 }, { code = "t.two", priority = 2 },
      { code = "t.two", priority = 0 }, { code = "t.one", priority = 3 },
    }))
  end)

  it("lets every priority into a batch that has room", function()
    local ran = order({ batch = 64 }, { { priority = 0 }, { priority = 9 } })
    table.sort(ran)
    assert.same({ 1, 2 }, ran)
  end)
end)

kit.describe("an executor group", function(backend)
  it("runs what was started for it, and nothing else", function()
    local default, clock, url = backend.fresh()
    local gpu = kit.rival(backend, url, clock, { group = "gpu" })
    assert(default:load(kit.one()))
    assert(gpu:load(kit.one()))
    local here = assert(default:start "t.one")
    local there = assert(default:start("t.one", nil, { group = "gpu" }))
    local own = assert(gpu:start "t.one")
    assert.equal(1, assert(default:run()).ended)
    assert.completed(default, here)
    assert.equal("created", kit.status(default, there))
    assert.equal(2, assert(gpu:run()).ended)
    assert.completed(default, own)
    assert.equal("gpu", assert(default:get(own)).group)
  end)
end)

kit.describe("prefixes", function(backend)
  --- Which of `codes` an engine with these prefixes runs.
  local function served(prefixes, codes)
    local a, clock, url = backend.fresh()
    local b = kit.rival(backend, url, clock, { prefixes = prefixes })
    for _, code in ipairs(codes) do
      assert(a:load(kit.one(nil, { code = code })))
      assert(b:load(kit.one(nil, { code = code })))
      assert(a:start(code))
    end
    assert(b:run())
    local done = {}
    for _, instance in ipairs(assert(a:list { status = "completed" })) do
      done[#done + 1] = instance.workflow
    end
    table.sort(done)
    return done
  end

  it("choose by the beginning of the code", function()
    assert.same({ "billing.a", "media.b" }, served({ "billing.", "media." },
      { "billing.a", "media.b", "email.c", "abilling.d" }))
  end)

  it("mean _ by _, and a dot by a dot", function()
    assert.same({ "a_b.c" }, served({ "a_b." },
      { "a_b.c", "axb.c", "a-b.c", "a_bxc" }))
    assert.same({}, served({ "%" }, { "a.b", "x" }))
    assert.same({}, served({ "_" }, { "a.b" }))
    assert.same({ "_.x" }, served({ "_" }, { "_.x", "a.x" }))
  end)

  it("cost nothing to those who run the rest", function()
    local codes = { "a.x", "b.x" }
    local engine, clock, url = backend.fresh { prefixes = "a." }
    for _, code in ipairs(codes) do
      assert(engine:load(kit.one(nil, { code = code })))
      for _ = 1, 5 do assert(engine:start(code)) end
    end
    local stats = assert(engine:run())
    assert.equal(5, stats.claimed)
    assert.equal(5, stats.ended)
    local rest = kit.rival(backend, url, clock, { prefixes = "b." })
    assert(rest:load(kit.one(nil, { code = "b.x" })))
    assert.equal(5, assert(rest:run()).ended)
  end)
end)

kit.describe("the version of a start", function(backend)
  local function versions(engine)
    local ran = {}
    for version = 1, 3 do
      assert(engine:load(kit.one(function(ctx)
        ran[#ran + 1] = { version, ctx.version }
      end, { version = version })))
    end
    return ran
  end

  it("is the newest unless another is asked for", function()
    local engine = backend.fresh()
    local ran = versions(engine)
    local newest = assert(engine:start "t.one")
    local first = assert(engine:start("t.one", nil, { version = 1 }))
    assert.equal(3, assert(engine:get(newest)).version)
    assert.equal(1, assert(engine:get(first)).version)
    assert(engine:run())
    table.sort(ran, function(a, b) return a[1] < b[1] end)
    assert.same({ { 1, 1 }, { 3, 3 } }, ran)
  end)

  it("stays, whatever is loaded later", function()
    local engine, clock = backend.fresh()
    local ran = {}
    local function flow(version)
      local f = pawl.workflow { code = "t.pin", version = version,
        start = "t" }
      f:timer("t", { after = "1h", next = "a" })
      f:step("a", { run = function() ran[#ran + 1] = version end,
        next = "z" })
      f:finish "z"
      return f
    end
    assert(engine:load(flow(1)))
    local old = assert(engine:start "t.pin")
    assert(engine:run())
    assert(engine:load(flow(2)))
    local new = assert(engine:start "t.pin")
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    table.sort(ran)
    assert.same({ 1, 2 }, ran)
    assert.equal(1, assert(engine:get(old)).version)
    assert.equal(2, assert(engine:get(new)).version)
  end)

  it("is the store's newest for a program that has loaded nothing",
    function()
      local engine, clock, url = backend.fresh()
      versions(engine)
      local client = kit.rival(backend, url, clock)
      local id = assert(client:start "t.one")
      assert.equal(3, assert(engine:get(id)).version)
    end)
end)
