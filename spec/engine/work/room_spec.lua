--- Where memory is short: the limit that an engine is given, and what it does
--- as it comes to that. What single requests that are refused do is told by
--- spec/c/oom_test.c and scarce_test.c.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local FLOW <const> = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.large", start = "a" }
w:step("a", { retry = { max = 1 }, next = "b",
  run = function(ctx) ctx.vars.x = ("x"):rep(100000) end })
w:timer("b", { after = 1, next = "c" })
w:step("c", { retry = { max = 1 }, next = "z", run = function(ctx)
  local t = {}
  for i = 1, 5 do t[i] = ctx.vars.x .. i end
  ctx.vars.x = nil
  ctx.vars.n = #t
end })
w:finish("z", { output = function(ctx) return ctx.vars.n end })
return w
]]

--- Of which a batch is more than there is room for.
local MIDDLING <const> = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.middling", start = "a" }
w:step("a", { next = "b",
  run = function(ctx) ctx.vars.x = ("x"):rep(8000) end })
w:timer("b", { after = 1, next = "c" })
w:step("c", { next = "z", run = function(ctx) ctx.vars.n = #ctx.vars.x end })
w:finish "z"
return w
]]

local PLAIN <const> = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.plain", start = "a" }
w:step("a", { next = "z", run = function() end })
w:finish "z"
return w
]]

local BRANCHES <const> = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.branches", start = "f" }
w:fork("f", { next = { "a", "e" } })
w:step("a", { next = "j", run = function() end })
w:each("e", { items = function() return { 1, 2, 3 } end, branch = "b",
  next = "j" })
w:step("b", { next = "e", run = function() end })
w:join("j", { next = "z" })
w:finish "z"
return w
]]

--- Larger than an engine may be.
local HEAVY <const> = [[
local pawl = require "pawl"
local large = ("x"):rep(3000000)
local w = pawl.workflow { code = "t.heavy", start = "a" }
w:step("a", { next = "z", run = function() return { output = #large } end })
w:finish "z"
return w
]]

--- It holds more and more; at its third attempt nothing.
local GREEDY <const> = [[
local pawl = require "pawl"
local w = pawl.workflow { code = "t.greedy", start = "a" }
w:step("a", { retry = { max = 1 }, next = "z", run = function(ctx)
  if ctx.input.times and ctx.attempt > ctx.input.times then return end
  local t = {}
  while true do
    pcall(function() while true do t[#t + 1] = ("y"):rep(1000) .. #t end end)
  end
end })
w:finish "z"
return w
]]

local MB <const> = 1000 * 1000

local function private(options)
  options.state = "private"
  return options
end

kit.describe("an engine with a limit of memory", function(backend)
  --- Ticks until `n` have ended; how many said that there is no memory.
  local function tick(engine, clock, n)
    local short = 0
    for _ = 1, 2000 do
      local stats, err = engine:tick(0.1)
      if not stats then
        assert.equal("nomem", err.code)
        assert.matches("^its memory_bytes is %d+, and %d+ were used", err.hint)
        short = short + 1
      end
      clock:advance(1)
      if engine:tally { status = "completed" } == n then return short end
    end
    error "they have not ended"
  end

  it("says what it has", function()
    local engine = backend.fresh(private { memory_bytes = 50 * MB })
    local before = engine:memory()
    assert.equal(50 * MB, before.limit)
    assert.equal(0, before.refused)
    assert.is_true(before.used > 100000 and before.used <= before.peak)
    assert.equal(backend.name ~= "postgres", before.store > 0)
    assert(engine:load(tmp.file("flow.lua", FLOW)))
    assert.is_true(engine:memory().used > before.used)
    assert.equal(0, backend.fresh():memory().limit)
  end)

  it("has no more than what it holds takes", function()
    local engine = backend.fresh(private { memory_bytes = 50 * MB })
    assert.is_true(engine:memory().used < 0.3 * MB)
  end)

  it("holds few where there is room for few", function()
    local engine, clock = backend.fresh(private { memory_bytes = 0.9 * MB })
    assert(engine:load(tmp.file("flow.lua", MIDDLING)))
    for _ = 1, 200 do assert(engine:start "t.middling") end
    tick(engine, clock, 200)
    assert.is_true(engine:memory().refused > 0)
    assert.is_true(engine:memory().peak <= 0.9 * MB)
    assert(engine:health())
  end)

  it("keeps nothing of an answer for which there was no room", function()
    if backend.label == "toy" then return end -- it keeps nothing at all
    local engine = backend.fresh(private { memory_bytes = 2.5 * MB })
    assert(engine:load(tmp.file("flow.lua", FLOW)))
    for _ = 1, 30 do
      local items = {}
      for k = 1, 100 do items[k] = {} end
      assert(engine:start_many("t.large", items))
    end
    assert(engine:list { limit = 1 })
    local before = engine:memory().used
    local list, err = engine:list { limit = 3000 }
    assert.is_nil(list)
    assert.equal("nomem", err.code)
    assert(engine:list { limit = 1 })
    assert.is_true(engine:memory().used < before + 50000)
    assert(engine:health())
  end)

  it("counts without a row of those that it counts", function()
    if backend.label == "toy" then return end
    local engine = backend.fresh(private { memory_bytes = 2.5 * MB })
    assert(engine:load(tmp.file("flow.lua", FLOW)))
    for _ = 1, 3 do
      local items = {}
      for k = 1, 1000 do items[k] = {} end
      assert(engine:start_many("t.large", items))
    end
    assert(engine:list { limit = 1 })
    local before = engine:memory()
    assert.equal(3000, engine:tally())
    assert.equal(3000, engine:tally { status = "created" })
    assert.equal(0, engine:tally { created_before = "2000-01-01T00:00:00Z" })
    assert.equal(before.refused, engine:memory().refused)
    assert.is_true(engine:memory().used < before.used + 50000)
  end)

  it("loads a graph of few places in little", function()
    local engine = backend.fresh(private { memory_bytes = 0.6 * MB })
    assert(engine:load(tmp.file("flow.lua", BRANCHES)))
    assert(engine:start "t.branches")
    assert(engine:run())
    assert.equal(1, engine:tally { status = "completed" })
  end)

  it("goes on with those that it had no room to claim", function()
    local function few(bytes)
      local engine, clock = backend.fresh(private { memory_bytes = bytes,
        batch = 8, concurrency = 1 })
      assert(engine:load(tmp.file("flow.lua", PLAIN)))
      return engine, clock
    end
    -- three quarters are in use, so that slots are made one by one
    local engine, clock = few(few(50 * MB):memory().used * 13 // 10)
    for _ = 1, 50 do assert(engine:start "t.plain") end
    for _ = 1, 500 do -- one may find none for an answer: the next one goes on
      local stats, err = engine:tick()
      if err then assert.equal("nomem", err.code) end
      if stats and not stats.next_due then break end
      if not stats or stats.next_due > clock:now() then clock:advance(1) end
    end
    assert.equal(50, engine:tally { status = "completed" })
  end)

  --- What an answer found no room for has been done, or not, and the
  --- connection is given up.
  it("says so also where it cannot read what was answered", function()
    if backend.label == "toy" then return end -- whose rows are the engine's
    local whole, clock, url = backend.fresh()
    assert(whole:load(tmp.file("flow.lua", PLAIN)))
    local items = {}
    for i = 1, 400 do items[i] = { input = { x = ("x"):rep(3000) } } end
    assert(whole:start_many("t.plain", items))
    local engine = kit.rival(backend, url, clock,
      private { memory_bytes = 1.2 * MB, batch = 1000 })
    assert(engine:load(tmp.file("flow.lua", PLAIN)))
    local short = tick(engine, clock, 400)
    if backend.name == "postgres" then assert.is_true(short > 0) end
    assert(whole:health())
  end)

  it("says when it looks again at what found no memory", function()
    local whole, clock, url = backend.fresh()
    assert(whole:load(tmp.file("flow.lua", HEAVY)))
    local id = assert(whole:start "t.heavy")
    local engine = kit.rival(backend, url, clock,
      private { memory_bytes = 1 * MB })
    assert(engine:tick(0.1))
    assert.equal("created", kit.status(engine, id))
    local due = assert(engine:next_due())
    assert.is_true(due > clock:now() and due <= clock:now() + 1)
    clock:advance(1)
    assert(engine:tick(0.1))
    assert(engine:next_due())
    assert(whole:run())
    assert.completed(whole, id)
    assert(engine:tick(0.1))
  end)

  it("does in many ticks what does not fit into one", function()
    local engine, clock = backend.fresh(private { memory_bytes = 5 * MB })
    assert(engine:load(tmp.file("flow.lua", FLOW)))
    for _ = 1, 100 do assert(engine:start "t.large") end
    tick(engine, clock, 100)
    local memory = engine:memory()
    assert.is_true(memory.refused > 0)
    assert.is_true(memory.peak <= 5 * MB)
    for _, instance in ipairs(assert(engine:list { limit = 100 })) do
      assert.equal("completed", instance.status)
    end
  end)

  it("stops a handler before that, and tries it again", function()
    local engine, clock = backend.fresh(private { memory_bytes = 6 * MB })
    assert(engine:load(tmp.file("flow.lua", GREEDY)))
    local id = assert(engine:start("t.greedy", { times = 2 }))
    tick(engine, clock, 1)
    local last = kit.last(engine, id)
    assert.completed(engine, id)
    assert.is_truthy(last)
    local told = 0
    for _, row in ipairs(assert(engine:history(id))) do
      if row.error then
        assert.equal("nomem", row.error.code)
        assert.matches("has used what memory it may", row.error.message)
        told = told + 1
      end
    end
    assert.equal(2, told)
    assert.is_true(engine:memory().peak <= 6 * MB)
  end)

  it("counts those attempts beside the step's own", function()
    local engine = backend.fresh(private { memory_bytes = 6 * MB })
    assert(engine:load(tmp.file("flow.lua", GREEDY)))
    local id = assert(engine:start("t.greedy", { times = 2 }))
    while kit.status(engine, id) == "created" do assert(engine:tick(0.1)) end
    local why = table.concat(assert(engine:explain(id)).sentences)
    assert.matches("attempt 1 failed with nomem", why)
  end)

  it("has no room for a file of limited trust, and tells the limit", function()
    local engine = backend.fresh(private { memory_bytes = 2 * MB,
      trust = { level = "limited", memory = 60 * MB, instructions = 1e9,
        time = 60 } })
    kit.refused("nomem", "was not loaded to its end", "memory_bytes is",
      engine:load(tmp.file("flow.lua",
        "local t = {} for i = 1, 1e6 do t[i] = { i } end")))
    assert(engine:load(tmp.file("plain.lua", PLAIN)))
  end)

  it("stops one of limited trust, whatever that may use", function()
    local engine, clock = backend.fresh(private { memory_bytes = 6 * MB,
      trust = { level = "limited", memory = 60 * MB, instructions = 1e9,
        time = 60 } })
    assert(engine:load(tmp.file("flow.lua", GREEDY)))
    local id = assert(engine:start("t.greedy", { times = 2 }))
    tick(engine, clock, 1)
    for _, row in ipairs(assert(engine:history(id))) do
      if row.error then
        assert.equal("nomem", row.error.code)
        assert.matches("has used what memory it may", row.error.message)
      end
    end
    assert.is_true(engine:memory().refused >= 2)
  end)

  it("suspends what always needs too much, and others go on", function()
    local engine, clock = backend.fresh(private { memory_bytes = 6 * MB })
    assert(engine:load(tmp.file("greedy.lua", GREEDY)))
    assert(engine:load(tmp.file("flow.lua", FLOW)))
    local id = assert(engine:start("t.greedy", { again = true }))
    for _ = 1, 10 do assert(engine:start "t.large") end
    tick(engine, clock, 10)
    for _ = 1, 200 do
      if kit.status(engine, id) == "suspended" then break end
      clock:advance(10)
      assert(engine:tick(0.1))
    end
    local got = assert(engine:get(id))
    assert.equal("suspended", got.status)
    assert.equal("nomem", got.error.code)
  end)

  it("cannot be opened with less than that takes", function()
    local _, clock, url = backend.fresh()
    local engine, err = pawl.open(url, private { memory_bytes = 1000,
      clock = clock })
    assert.is_nil(engine)
    assert.equal("nomem", err.code)
    assert.matches("its memory_bytes is 1000, and %d+ were used", err.hint)
    assert.error_matches(function() pawl.open(url, { memory_bytes = 0 }) end,
      "memory_bytes")
  end)
end)
