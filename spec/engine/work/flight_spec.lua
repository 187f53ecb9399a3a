-- A handler that waits: it keeps its place, and is ended where it stands.
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

kit.describe("a handler that waits", function(backend)
  local function waiting(state)
    return kit.one(function(ctx)
      state.began = (state.began or 0) + 1
      local _ <close> = setmetatable({}, { __close = function()
        state.closed = (state.closed or 0) + 1
      end })
      ctx.await(function() return state.ready end)
      state.ended = true
    end)
  end

  it("goes on where it stood", function()
    local engine, clock = backend.fresh()
    local state = {}
    assert(engine:load(waiting(state)))
    local id = assert(engine:start "t.one")
    assert.equal(1, assert(engine:tick()).waiting)
    state.ready = true
    clock:advance(1)
    assert(engine:run())
    assert.same({ began = 1, closed = 1, ended = true, ready = true }, state)
    assert.completed(engine, id)
  end)

  it("is ended with its engine, and its instance is free", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local state = {}
    assert(engine:load(waiting(state)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    engine:close()
    assert.same({ began = 1, closed = 1 }, state)
    assert(other:load(kit.one()))
    assert(other:run())
    assert.completed(other, id)
  end)

  it("is ended when the instance is another's", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local state = {}
    assert(engine:load(waiting(state)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    assert(other:kill(id))
    clock:advance(1)
    local stats = assert(engine:tick())
    assert.equal(0, stats.waiting)
    assert.same({ began = 1, closed = 1 }, state)
    assert.equal("cancelled", kit.status(engine, id))
  end)
end)

--- Handlers that wait for what never comes, in all places that there are.
kit.describe("places that are all in use", function(backend)
  local function hangs(code)
    return kit.one(function(ctx)
      ctx.await(function() return false end)
    end, { code = code })
  end

  --- With so many instances besides, which want a place and get none.
  local function crowded(n, more)
    local engine, clock, url = backend.fresh { concurrency = n }
    assert(engine:load(hangs "t.hangs"))
    local items = {}
    for i = 1, n + more do items[i] = {} end
    assert(engine:start_many("t.hangs", items))
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    assert.equal(n, assert(engine:tick(0.02)).waiting)
    return engine, clock, url
  end

  it("hold up nothing that does not wait", function()
    for _, n in ipairs { 1, 2, 16 } do
      local engine = crowded(n, 40)
      assert(engine:load(kit.chain({ function() end, function() end },
        "t.plain")))
      local items = {}
      for i = 1, 20 do items[i] = {} end
      assert(engine:start_many("t.plain", items))
      for _ = 1, 30 do assert(engine:tick(0.02)) end
      assert.equal(20, #assert(engine:list { workflow = "t.plain",
        status = "completed", limit = 100 }))
      assert.equal(n, assert(engine:tick(0.02)).waiting)
    end
  end)

  it("hold up none whose time comes", function()
    local engine, clock = crowded(4, 10)
    assert(engine:load(kit.timer(5, "t.timer")))
    local id = assert(engine:start "t.timer")
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    clock:advance(6)
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    assert.completed(engine, id)
  end)

  it("let the first of others wait beside them, and no second", function()
    local engine = crowded(8, 10) -- an eighth more, and one
    for i = 1, 4 do
      local code = "t.other" .. i
      assert(engine:load(hangs(code)))
      assert(engine:start_many(code, { {}, {}, {} }))
    end
    for _ = 1, 10 do assert(engine:tick(0.02)) end
    assert.equal(10, assert(engine:tick(0.02)).waiting)
  end)

  it("are asked for again when one is free", function()
    local state = {}
    local engine = backend.fresh { concurrency = 2 }
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return state.ready end)
    end)))
    assert(engine:start_many("t.one", { {}, {}, {}, {}, {}, {} }))
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    local stats = assert(engine:tick(0.02))
    assert.equal(2, stats.waiting)
    assert.is_true(stats.next_due and stats.next_due > 0)
    state.ready = true
    assert(engine:run {})
    assert.equal(6, #assert(engine:list { status = "completed" }))
  end)

  it("cost nothing while nothing else is ready", function()
    local engine = crowded(4, 30)
    assert(engine:load(kit.one(nil, { code = "t.plain" })))
    assert(engine:start "t.plain")
    for _ = 1, 5 do assert(engine:tick(0.02)) end
    local claimed = 0
    for _ = 1, 10 do
      local stats = assert(engine:tick(0.02))
      claimed = claimed + stats.claimed
      assert.is_true(stats.next_due > 0)
    end
    assert.equal(0, claimed)
  end)
end)

--- A mod whose handlers wait for what never comes, beside what is trusted.
kit.describe("places to wait, beside scripts of others,", function(backend)
  local MOD <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "mod.x", start = "a" }
flow:step("a", { next = "z", timeout = "365d", retry = { max = 1 },
  run = function(ctx) %s end })
flow:finish "z"
return flow]]
  local HANGS <const> = "ctx.await(function() return false end)"

  --- With so many of the mod's instances, each of which has had its chance.
  local function beset(n, options, body, trust)
    trust = trust or {}
    trust.level = trust.level or "limited"
    trust.may = { await = true, host = "*" }
    options.host = { never = function(_, call)
      if not call.gone then return nil, "wait" end
    end }
    local engine, clock = backend.fresh(options)
    assert(engine:load(tmp.file("mod.lua", MOD:format(body or HANGS)),
      { trust = trust }))
    local items = {}
    for i = 1, n do items[i] = {} end
    local started = assert(engine:start_many("mod.x", items))
    for _ = 1, 5 do assert(engine:tick(0.02)) end
    return engine, clock, started[1]
  end

  --- What is trusted runs within a few ticks.
  local function assert_served(engine, ticks)
    local id = assert(engine:start "t.one")
    for _ = 1, ticks or 3 do assert(engine:tick(0.02)) end
    assert.completed(engine, id)
  end

  for what, body in pairs { ["ctx.await"] = HANGS,
                            ["the program"] = "ctx.host.never(1)" } do
    it("are left to what is trusted: " .. what, function()
      local engine = beset(40, { concurrency = 16 }, body)
      assert.equal(12, assert(engine:tick(0.02)).waiting)
      assert(engine:load(kit.one()))
      assert_served(engine)
      -- nothing is asked again and again for what has no place
      local before = assert(engine:tick(0.02))
      assert.is_true(before.next_due and before.next_due > 0)
      local claimed = 0
      for _ = 1, 10 do
        claimed = claimed + assert(engine:tick(0.02)).claimed
      end
      assert.equal(0, claimed)
    end)
  end

  it("are left to what is isolated neither", function()
    local engine = beset(20, { concurrency = 8 }, nil, { level = "isolated" })
    assert.equal(6, assert(engine:tick(0.02)).waiting)
    assert(engine:load(kit.one()))
    assert_served(engine)
  end)

  it("are left where there are few", function()
    for n, most in pairs { [2] = 1, [3] = 2, [4] = 3 } do
      local engine = beset(8, { concurrency = n })
      assert.equal(most, assert(engine:tick(0.02)).waiting)
      assert(engine:load(kit.one()))
      assert_served(engine)
    end
  end)

  it("are all for what is trusted", function()
    local engine = backend.fresh { concurrency = 8 }
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return false end)
    end)))
    assert(engine:start_many("t.one", { {}, {}, {}, {}, {}, {}, {}, {} }))
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    assert.equal(8, assert(engine:tick(0.02)).waiting)
  end)

  it("take no others of a mod's, which cannot wait", function()
    local engine, clock = beset(20, { concurrency = 8 })
    assert(engine:load(tmp.file("plain.lua", (MOD:gsub("mod.x", "mod.plain"))
      :format "ctx.vars.n = 1"), { trust = "limited" }))
    local id = assert(engine:start "mod.plain")
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    assert.completed(engine, id)
    assert.equal(6, assert(engine:tick(0.02)).waiting)
    clock:advance(1)
  end)

  it("come free as long as trust lets a handler wait, for the next",
    function()
      local engine, clock, first = beset(40, { concurrency = 16 }, nil,
        { wait = 5 })
      clock:advance(4)
      assert(engine:tick(0.02))
      assert.equal("running", kit.status(engine, first))
      for _ = 1, 5 do -- 12 at a time
        clock:advance(5)
        for _ = 1, 4 do assert(engine:tick(0.05)) end
      end
      assert.failed(engine, first, "timeout")
      local err = assert(engine:get(first)).error
      assert.matches("as its trust lets it", err.message)
      assert.matches("trust", err.hint)
      assert.equal(40, #assert(engine:list { status = "failed" }))
      assert(engine:load(kit.one()))
      assert_served(engine)
    end)

  it("come free after a minute where nothing is said", function()
    local engine, clock, first = beset(1, {})
    clock:advance(59)
    assert(engine:tick(0.02))
    assert.equal(1, assert(engine:tick(0.02)).waiting)
    clock:advance(1)
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    assert.failed(engine, first, "timeout")
  end)

  it("come free sooner where the node says so", function()
    local engine, clock = backend.fresh { trust = { may = { await = true } } }
    assert(engine:load(tmp.file("mod.lua", (MOD:gsub('"365d"', "5"))
      :format(HANGS))))
    local id = assert(engine:start "mod.x")
    assert(engine:tick(0.02))
    clock:advance(5)
    for _ = 1, 3 do assert(engine:tick(0.02)) end
    assert.failed(engine, id, "timeout")
    assert.matches("node's timeout", assert(engine:get(id)).error.message)
  end)
end)
