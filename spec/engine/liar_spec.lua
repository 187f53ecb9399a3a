--- Processes of isolated definitions that are none of ours, and do what only
--- somebody would who had broken out of Lua there: how long they hold the host
--- up, what of its memory they take, and what becomes of others beside them.
---
--- Time is that of the wall: what they cost is that the host waits. The machine
--- may be busy: the best of three counts.
local build = require "spec.support.build"
local kit = require "spec.engine.kit"
local liar = require "spec.support.liar"
local pawl = require "pawl"
local shell = require "spec.support.shell"
local system = require "system"
local tmp = require "spec.support.tmp"

-- Seconds: what a handler of theirs may take, and how long the host may be held
-- up by one: that, 0.1 s, and what it takes to begin and to commit.
local TIME <const>, MOST <const> = 0.1, 8 -- without a bound: 15 s and more
-- Of a load, our own modules have 2 s besides, of a start 10 s.
local MOST_LOAD <const>, MOST_START <const> = 9, 14

-- What one may have the host take of its memory, in MB; a sanitizer's is more.
local MOST_MB <const> = build.dir:find "sanitize" and 300 or 16

-- Of what is changed by lot: PAWL_SEED is the first, PAWL_SEEDS how many.
local SEEDS <const> = tonumber(os.getenv "PAWL_SEEDS") or 70

local LATE <const> = "time: it ran for longer than 0.1 s"

local LIED_FOR <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "a" }
flow:step("a", { retry = { max = 1 }, next = "z", run = function(ctx)
  %s
end })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

local BYSTANDER <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "a" }
flow:step("a", { next = "nap", run = function(ctx) ctx.vars.n = 1 end })
flow:timer("nap", { after = 60, next = "b" })
flow:step("b", { next = "z", run = function(ctx)
  ctx.vars.n = ctx.vars.n + 1
end })
flow:finish("z", { output = function(ctx) return ctx.vars end })
return flow]]

local function own_pid()
  local stat <close> = assert(io.open "/proc/self/stat")
  return stat:read "n"
end

--- Processes of this one that are left.
local function liars()
  local n = 0
  for line in shell.output { "ps", "-A", "-o", "ppid=,args=" }
    :gmatch "[^\n]+" do
    local parent, args = line:match "^%s*(%d+)%s+(.*)"
    if tonumber(parent) == own_pid() and args:find("/%d+-liar ") then
      n = n + 1
    end
  end
  return n
end

--- What `fn` returns, and how long it took.
local function timed(fn)
  local began = system.monotime()
  local result = fn()
  return result, system.monotime() - began
end

--- The shortest of three times, unless one is short enough. What `fn` returns,
--- of the last.
local function assert_soon(most, fn)
  local best = math.huge
  local result
  for _ = 1, 3 do
    local took
    result, took = timed(fn)
    best = math.min(best, took)
    if best < most then return result end
  end
  assert(best < most, ("the host was held up for %.1f s"):format(best))
  return result
end

--- Calls `fn`, for which the process took no more than so many MB.
local function assert_small(most, fn)
  local status = "/proc/self/status"
  local function now(what)
    return tmp.read(status):match(what .. ":%s*(%d+)")
  end
  do -- its peak is that of now
    local refs <close> = io.open("/proc/self/clear_refs", "w")
    if not refs then return fn() end
    refs:write "5"
  end
  local before = now "VmRSS"
  local result = fn()
  local took = (now "VmHWM" - before) / 1024
  assert(took < most, ("%.0f MB were taken"):format(took))
  return result
end

--- An engine with two workflows that nobody lies for, the program's own and an
--- isolated one, and an instance of each, which waits.
local function host(backend, options)
  local engine, clock = backend.fresh(options)
  local others = {}
  for code, trust in pairs { ["own.one"] = "trusted",
                             ["good.one"] = "isolated" } do
    assert(engine:load(tmp.file("flow.lua", BYSTANDER:format(code)),
      { trust = trust }))
    others[#others + 1] = assert(engine:start(code))
    engine:run { id = others[#others] }
  end
  return engine, function()
    clock:advance(61)
    for _, id in ipairs(others) do
      engine:run { id = id }
      assert.same({ n = 2 }, engine:get(id).output)
    end
  end
end

---@param lie table  what liar.helper takes
---@param more table?  of its trust
local function load(engine, code, body, lie, more)
  local trust = { level = "isolated", time = TIME, may = { await = true },
    helper = liar.helper(table.unpack(lie)) }
  for key, value in pairs(more or {}) do trust[key] = value end
  return engine:load(tmp.file("flow.lua", LIED_FOR:format(code, body)),
    { trust = trust })
end

--- To its end, also where it says that it waits.
local function run(engine, code)
  local id, began = assert(engine:start(code)), system.monotime()
  repeat
    engine:run { id = id }
    local now = assert(engine:get(id))
    if now.status ~= "running" then return now end
  until system.monotime() > began + 10
  error "it has not come to an end"
end

local SAYS_MUCH <const> = [[
  ctx.log("info", "a line", { of = { "some", 1.5 } })
  ctx.vars = { n = ctx.input.n, when = ctx.now(), list = { 1, "two", false } }
  ctx.attrs.who = "somebody"
  ctx.attrs.price = pawl.decimal "1.50"
  ctx.emit("mod.told", { a = { b = "c" } })
  ctx.note("a note", { with = "data" })
  if ctx.input.n % 3 == 0 then error { code = "no", details = { a = 1 } } end]]

--- Whatever it has said: either it is refused, or it counts, and is read again.
---@return string what  became of it
local function borne(engine, code, seed)
  local seen = ("with PAWL_SEED=%d"):format(seed)
  local ok, err = load(engine, code, SAYS_MUCH,
    { "always", "changes what is said", seed })
  if not ok then
    assert.is_string(err.code, seen)
    return "unloaded"
  end
  local id, refused = engine:start(code, { n = seed })
  if not id then
    assert.equal("notfound", refused.code, seen) -- it has another name
    return "unloaded"
  end
  engine:run { id = id }
  local now = assert(engine:get(id), seen)
  assert(engine:history(id), seen)
  return now.status
end

kit.describe("a process that lies", function(backend)
  for what, said in pairs {
    ["drips a line"] = LATE, ["drips its answer"] = LATE,
    ["says nothing"] = LATE, ["asks without an end"] = LATE,
    ["logs without an end"] = LATE, ["waits without an end"] = LATE,
    ["logs for another"] = "it logged what cannot be",
    ["closes its end"] = "it has closed its end",
    ["ends"] = "has died: exit code 0",
  } do
    it(what .. " in a handler, and has its time", function()
      local engine, assert_unharmed = host(backend)
      local failed = assert_soon(MOST, function()
        assert(load(engine, "mod.one", "", { "run", what }))
        return run(engine, "mod.one")
      end)
      assert.equal("failed", failed.status)
      assert.matches(said, failed.error.message, 1, true)
      assert.equal(0, liars())
      assert_unharmed()
    end)
  end

  for _, what in ipairs { "says a long line", "asks much", "answers much",
    "lies about a length", "says an empty message", "says what is no message",
    "speaks out of turn" } do
    it(what .. ", and is not listened to", function()
      local engine, assert_unharmed = host(backend)
      assert(load(engine, "mod.one", "", { "run", what }, { time = 30 }))
      local failed = assert_small(MOST_MB, function()
        return assert_soon(MOST, function() return run(engine, "mod.one") end)
      end)
      assert.matches("it said too much, or what nobody asked for",
        failed.error.message, 1, true)
      assert.equal(0, liars())
      assert_unharmed()
    end)
  end

  for what, body in pairs {
    ["what has come to its end"] = "", ["what failed"] = "error 'no'",
    ["what waits"] = "ctx.await(10)", ["what asks"] = "ctx.now() error 'no'",
  } do
    it("answers twice for " .. what .. ", and is not believed", function()
      local engine, assert_unharmed = host(backend)
      assert(load(engine, "mod.one", body, { "run", "answers twice" }))
      for _ = 1, 2 do -- none is an answer for another
        assert.matches("it spoke out of turn",
          run(engine, "mod.one").error.message, 1, true)
      end
      assert.equal(0, liars())
      assert_unharmed()
    end)
  end

  it("answers once more while nothing runs, and is not believed", function()
    local engine, assert_unharmed = host(backend)
    assert(load(engine, "mod.one", "ctx.vars.n = ctx.input.n",
      { "run", "answers once more" }))
    local id = assert(engine:start("mod.one", { n = 1 }))
    engine:run { id = id }
    assert.same({ n = 1 }, engine:get(id).output)
    system.sleep(0.3)
    id = assert(engine:start("mod.one", { n = 2 }))
    engine:run { id = id }
    assert.matches("it spoke out of turn", engine:get(id).error.message, 1,
      true)
    assert_unharmed()
  end)

  it("does not wait for what it has asked, and hears no more", function()
    local engine, assert_unharmed = host(backend)
    assert(load(engine, "mod.one", "", { "run", "asks and goes on" }))
    assert.matches("it spoke out of turn", run(engine, "mod.one").error.message,
      1, true)
    assert_unharmed()
  end)

  it("says anything at all, and harms nobody", function()
    local first = tonumber(os.getenv "PAWL_SEED") or 1
    local became = {}
    for seed = first, first + SEEDS - 1, 10 do
      local engine, assert_unharmed = host(backend)
      for one = seed, seed + 9 do
        assert_small(MOST_MB, function()
          assert_soon(MOST_LOAD, function()
            local what = borne(engine, "mod.s" .. one, one)
            became[what] = (became[what] or 0) + 1
          end)
        end)
      end
      assert_unharmed()
      engine:close()
      assert.equal(0, liars())
    end
    -- each way was gone: what is changed is not all refused, nor all let pass
    assert(became.unloaded and became.failed and became.completed)
  end)

  it("has its lines counted, whoever they are said to be of", function()
    local lines = 0
    local engine, assert_unharmed = host(backend, { log = function(_, text)
      if text == "it is said" then lines = lines + 1 end
    end })
    assert(load(engine, "mod.one", "", { "run", "logs for nobody", 50 },
      { per_minute = { logs = 10 } }))
    local failed = run(engine, "mod.one").error
    assert.equal("limit", failed.code)
    assert.matches("logs: more than 10 in a minute", failed.message, 1, true)
    assert.equal(10, lines)
    -- and those of one handler are not without a number
    assert(load(engine, "mod.one", "", { "run", "logs for nobody", 50 + 100 },
      { effects = 10 }))
    failed = run(engine, "mod.one").error
    assert.matches("it logged what cannot be", failed.message, 1, true)
    assert.equal(10 + 110, lines)
    assert_unharmed()
  end)

  for _, what in ipairs { "drips a line", "drips its answer" } do
    it(what .. " while it loads, and has its time", function()
      local engine, assert_unharmed = host(backend)
      local err = assert_soon(MOST_LOAD, function()
        return select(2, load(engine, "mod.one", "", { "load", what }))
      end)
      assert.equal("limit", err.code)
      assert.equal(0, liars())
      assert_unharmed()
    end)
  end
end)

describe("a process that lies as it starts", function()
  it("is waited for no longer than a start takes", function()
    local engine <close> = assert(pawl.open ":memory:")
    local err = assert_soon(MOST_START, function()
      return select(2, load(engine, "mod.one", "",
        { "setup", "drips a line" }))
    end)
    assert.equal("limit", err.code)
    assert.equal(0, liars())
  end)
end)
