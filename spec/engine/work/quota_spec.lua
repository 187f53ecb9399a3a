--- What limited workflows may do in a minute: counted by the store, for all
--- workers, and over restarts.
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local HEAD <const> = [[
local flow = require("pawl").workflow { code = "mod.one", start = "a" }
%s
return flow]]
local STEP <const> = HEAD:format [[
flow:step("a", { retry = { max = 3 }, next = "z", run = function(ctx)
  %s
end })
flow:finish("z", { output = function(ctx) return ctx.vars end })]]

local function trust(per_minute)
  return { per_minute = per_minute, time = 60,
    may = { start = "mod.*", signal = "mod.*", await = true } }
end

local function load(engine, text, per_minute)
  return assert(engine:load(tmp.file("flow.lua", text),
    { trust = trust(per_minute) }))
end

local function begin(engine, input)
  local id = assert(engine:start("mod.one", input))
  engine:run { id = id }
  return id, assert(engine:get(id))
end

--- It waits for the next minute, by an error that names the quota.
local function assert_put_off(engine, id, quota, most)
  local now = assert(engine:get(id))
  local last
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == "failed" then last = row end
  end
  assert.is_table(last, now.status)
  assert.equal("quota", last.error.code)
  assert.matches(("^%s: more than %d in a minute"):format(quota, most),
    last.error.message)
  assert.matches("per_minute", last.error.hint)
  assert.not_equal("completed", now.status)
end

local function goes_on(engine, clock, id)
  clock:advance(61)
  engine:run { id = id }
  return assert(engine:get(id)).status
end

kit.describe("a quota", function(backend)
  it("of emits holds for all instances, until the minute is over", function()
    local engine, clock, url = backend.fresh()
    load(engine, STEP:format "ctx.emit('x.y', {}) ctx.emit('x.z', {})",
      { emits = 4 })
    for _ = 1, 2 do
      assert.equal("completed", select(2, begin(engine)).status)
    end
    local id = begin(engine)
    assert_put_off(engine, id, "emits", 4)
    assert.equal(4, kit.count(backend, url, "outbox"))
    assert.equal("completed", goes_on(engine, clock, id))
  end)

  it("of signals holds for what steps send", function()
    local engine, clock, url = backend.fresh()
    load(engine, STEP:format "ctx.signal { name = 'mod.go', key = 'k' }",
      { signals = 2 })
    for _ = 1, 2 do
      assert.equal("completed", select(2, begin(engine)).status)
    end
    local id = begin(engine)
    assert_put_off(engine, id, "signals", 2)
    engine:run()
    assert.equal(2, kit.count(backend, url, "event"))
    assert.equal("completed", goes_on(engine, clock, id))
    engine:run()
    assert.equal(3, kit.count(backend, url, "event"))
  end)

  it("fails who wants more at once than there are in a minute", function()
    local engine = backend.fresh()
    load(engine, STEP:format "for _ = 1, 5 do ctx.emit('x.y', {}) end",
      { emits = 4 })
    local _, now = begin(engine)
    assert.equal("failed", now.status)
    assert.equal("limit", now.error.code)
    assert.matches("^emits: more than 4 in a minute", now.error.message)
  end)

  it("outlives who counted, and holds for others at once", function()
    local engine, clock, url = backend.fresh()
    local text = STEP:format "ctx.emit('x.y', {})"
    load(engine, text, { emits = 2 })
    begin(engine)
    local rival = kit.rival(backend, url, clock)
    load(rival, text, { emits = 2 })
    assert.equal("completed", select(2, begin(rival)).status)
    assert_put_off(engine, begin(engine), "emits", 2)
    engine:close()
    rival:close()
    local later = kit.rival(backend, url, clock)
    load(later, text, { emits = 2 })
    local id = begin(later)
    assert_put_off(later, id, "emits", 2)
    assert.equal("completed", goes_on(later, clock, id))
  end)

  it("of starts counts ctx.start, calls and children of an each", function()
    local engine, clock = backend.fresh()
    local child = [[
      local flow = require("pawl").workflow { code = "mod.child", start = "z" }
      flow:finish "z"
      return flow]]
    assert(engine:load(tmp.file("child.lua", child)))
    load(engine, HEAD:format [[
      flow:choice("a", { next = { s = "s", c = "c", e = "e" },
        choose = function(ctx) return ctx.input.how end })
      flow:step("s", { next = "z", run = function(ctx)
        ctx.start "mod.child" end })
      flow:call("c", { workflow = "mod.child", next = "z" })
      flow:each("e", { workflow = "mod.child", next = "z",
        items = function() return { 1, 2 } end })
      flow:finish "z"]], { starts = 2 })
    begin(engine, { how = "s" })
    begin(engine, { how = "c" })
    for _, how in ipairs { "s", "c", "e" } do
      assert_put_off(engine, begin(engine, { how = how }), "starts", 2)
    end
    clock:advance(61)
    local id = begin(engine, { how = "e" })
    assert.not_equal("failed", kit.status(engine, id))
    assert_put_off(engine, begin(engine, { how = "s" }), "starts", 2)
  end)

  it("of timers counts those that begin", function()
    local engine, clock = backend.fresh()
    load(engine, HEAD:format [[
      flow:timer("a", { after = 1, next = "z" }):finish "z"]], { timers = 1 })
    assert.equal("waiting", select(2, begin(engine)).status)
    local id = begin(engine)
    assert_put_off(engine, id, "timers", 1)
    goes_on(engine, clock, id)
    assert.equal("completed", goes_on(engine, clock, id))
  end)

  it("of events leaves what is over it to the next minute", function()
    local engine, clock = backend.fresh()
    load(engine, HEAD:format [[
      flow:wait("a", { event = "go", into = "got", next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars end })]],
      { events = 1 })
    local one, two = begin(engine), begin(engine)
    for i, id in ipairs { one, two } do
      assert(engine:signal { name = "go", instance = id, data = i })
      engine:run { id = id }
    end
    assert.completed(engine, one)
    assert_put_off(engine, two, "events", 1)
    assert.equal("completed", goes_on(engine, clock, two))
    assert.same({ got = 2 }, engine:get(two).output)
  end)

  it("of logs holds back the lines that are over it", function()
    local lines = 0
    local engine, clock = backend.fresh { log = function(_, message)
      if message:find "^line" then lines = lines + 1 end
    end }
    load(engine, STEP:format [[
      if ctx.attempt > 1 then return end
      for i = 1, 3 do ctx.log("info", "line " .. i) end
      print "line"]], { logs = 6 })
    assert.equal("completed", select(2, begin(engine)).status)
    assert.equal(4, lines)
    local id = begin(engine)
    assert.equal(6, lines)
    assert_put_off(engine, id, "logs", 6)
    assert.equal("completed", goes_on(engine, clock, id))
    assert.equal(6, lines)
  end)

  it("of logs counts those of a handler that waits, and of one that fails",
    function()
      local lines = 0
      local engine = backend.fresh { log = function(_, message)
        if message:find "^line" then lines = lines + 1 end
      end }
      load(engine, STEP:format [[
        print "line"
        ctx.await(0)
        print "line"
        if ctx.input.fail then error { code = "odd", retry = false } end]],
        { logs = 4 })
      assert.equal("odd", select(2, begin(engine, { fail = true })).error.code)
      assert.equal("completed", select(2, begin(engine)).status)
      assert_put_off(engine, begin(engine), "logs", 4)
      assert.equal(4, lines)
    end)

  it("is of a workflow alone, and of none that is trusted", function()
    local engine, _, url = backend.fresh()
    load(engine, STEP:format "ctx.emit('x.y', {})", { emits = 1 })
    begin(engine)
    load(engine, (STEP:format "ctx.emit('x.y', {})":gsub("mod.one",
      "mod.two")), { emits = 1 })
    local id = assert(engine:start "mod.two")
    engine:run { id = id }
    assert.completed(engine, id)
    assert(engine:load(kit.one(function(ctx) ctx.emit("x.y", {}) end)))
    id = assert(engine:start "t.one")
    engine:run { id = id }
    assert.same({ { workflow = "mod.one" }, { workflow = "mod.two" } },
      kit.select(url, "select workflow from "
        .. kit.table(backend, "quota") .. " order by workflow"))
  end)

  it("is forgotten when its minute is long over", function()
    local engine, clock, url = backend.fresh()
    load(engine, STEP:format "ctx.emit('x.y', {})", { emits = 1 })
    begin(engine)
    clock:advance(3600)
    local other = kit.rival(backend, url, clock)
    assert(other:tick()) -- its first look around
    assert.equal(0, kit.count(backend, url, "quota"))
  end)
end)

describe("per_minute", function()
  it("is refused where it names nothing", function()
    local pawl = require "pawl"
    kit.refused("invalid", "spells", nil,
      pawl.open(":memory:", { trust = { per_minute = { spells = 1 } } }))
    kit.refused("invalid", "starts", nil,
      pawl.open(":memory:", { trust = { per_minute = { starts = -1 } } }))
  end)
end)
