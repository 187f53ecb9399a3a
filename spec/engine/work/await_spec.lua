--- Handlers that wait: others go on, their instances stay theirs, and what is
--- to end them reaches them.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local socket = require "socket"

--- Two ends of a connection, as numbers and as sockets.
local function pair()
  local server = assert(socket.bind("127.0.0.1", 0))
  local _, port = server:getsockname()
  local near = assert(socket.connect("127.0.0.1", port))
  local far = assert(server:accept())
  server:close()
  return near, far
end

local function count(list, value)
  local n = 0
  for _, one in ipairs(list) do n = n + (one == value and 1 or 0) end
  return n
end

kit.describe("a tick of one round beside a handler that waits",
  function(backend)
    it("gets others on", function()
      local engine = backend.fresh()
      local nop = function() end
      assert(engine:load(kit.one(function(ctx) ctx.await(600) end)))
      assert(engine:load(kit.chain { nop, nop, nop }))
      assert(engine:start "t.one")
      assert(engine:tick(0))
      local id = assert(engine:start "t.chain")
      for _ = 1, 20 do assert(engine:tick(0)) end
      assert.completed(engine, id)
    end)

    it("says when there is something to do, and not what has to wait",
      function()
        local engine, clock = backend.fresh { concurrency = 1 }
        assert(engine:load(kit.one(function(ctx) ctx.await(600) end)))
        assert(engine:load(kit.timer "10s"))
        assert(engine:start "t.timer")
        assert(engine:run())
        assert(engine:start "t.one")
        assert(engine:tick(0))
        clock:advance "1m"
        local stats = assert(engine:tick(0))
        assert.equal(1, stats.waiting)
        assert.is_true(stats.next_due > clock:now())
      end)
  end)

kit.describe("a handler that waits", function(backend)
  it("for some time lets others go on, and then goes on itself", function()
    local log = {}
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      log[#log + 1] = "begin"
      ctx.vars.n = 1
      assert.equal(0, select("#", ctx.await(2)))
      log[#log + 1] = "end"
      ctx.vars.n = ctx.vars.n + 1
    end)))
    local ids = {}
    for i = 1, 3 do ids[i] = assert(engine:start "t.one") end
    local stats = assert(engine:tick())
    assert.equal(3, count(log, "begin"))
    assert.equal(3, stats.waiting)
    assert.equal(0, stats.ended)
    assert.equal("running", kit.status(engine, ids[1]))
    assert.is_nil(assert(engine:get(ids[1])).times.started) -- nothing is stored
    clock:advance(1)
    assert.equal(3, assert(engine:tick()).waiting)
    assert.equal(0, count(log, "end"))
    clock:advance(1)
    stats = assert(engine:tick())
    assert.equal(3, count(log, "end"))
    assert.equal(0, stats.waiting)
    assert.equal(3, stats.ended)
    for _, id in ipairs(ids) do
      local instance = assert(engine:get(id))
      assert.same({ n = 2 }, instance.variables)
      assert.equal("step a", kit.trail(engine, id))
    end
  end)

  it("has its beginning and its end in the history", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.await(60) end)))
    local id = assert(engine:start "t.one")
    local began = engine:now()
    assert(engine:tick())
    clock:advance(60)
    assert(engine:tick())
    local entry = assert(engine:history(id))[1]
    local instance = assert(engine:get(id))
    assert.equal("step", entry.type)
    assert.not_equal(entry.started, entry.completed)
    assert.equal(entry.started, instance.times.started)
    assert.equal(began, clock:now() - 60)
  end)

  it("for a predicate gets what that gave", function()
    local asked, answer = 0, nil
    local got
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      got = ctx.await(function()
        asked = asked + 1
        return answer
      end)
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    local before = asked
    assert(engine:tick()) -- once in each tick, although no time has passed
    assert.equal(before + 1, asked)
    answer = "here"
    clock:advance(0.05)
    assert(engine:tick())
    assert.equal("here", got)
    assert.completed(engine, id)
  end)

  it("whose predicate raises has failed with that", function()
    local engine = backend.fresh()
    local bad = false
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function()
        if bad then error { code = "no_luck", message = "none" } end
      end)
    end, { retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    bad = true
    assert(engine:tick())
    assert.failed(engine, id)
    assert.equal("no_luck", assert(engine:get(id)).error.code)
  end)

  it("for a descriptor is told which events are ready", function()
    local near, far = pair()
    local seen = {}
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local fd = near:getfd()
      seen[1] = ctx.await { fd = fd, events = "w" }
      seen[2] = ctx.await { fd = fd, events = "rw" }
      seen[3] = ctx.await { fd = fd }
      seen[4] = near:receive(2)
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick(1))
    assert.same({ "w", "w" }, seen)
    assert.equal(1, assert(engine:tick(1)).waiting)
    far:send "ok"
    assert(engine:wait(10)) -- ends because the descriptor is ready
    assert(engine:tick(1))
    assert.same({ "w", "w", "r", "ok" }, seen)
    assert.completed(engine, id)
    near:close()
    far:close()
  end)

  it("sees a descriptor's other end close as readable", function()
    local near, far = pair()
    local seen
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      seen = ctx.await { fd = near:getfd(), events = "r" }
    end)))
    assert(engine:start "t.one")
    assert(engine:tick())
    far:close()
    assert(engine:wait(10))
    assert(engine:tick())
    assert.equal("r", seen)
    near:close()
  end)

  it("gets nil and 'timeout' when its descriptor took too long", function()
    local near, far = pair()
    local seen
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      seen = { ctx.await { fd = near:getfd(), timeout = 5 } }
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    clock:advance(4.9)
    assert(engine:tick())
    assert.is_nil(seen)
    clock:advance(0.1)
    assert(engine:tick())
    assert.same({ nil, "timeout" }, seen)
    assert.completed(engine, id)
    near:close()
    far:close()
  end)

  it("is told when its descriptor is not open", function()
    local near, far = pair()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local fd = near:getfd()
      near:close()
      ctx.await { fd = fd }
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    assert(engine:tick())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("misuse", instance.error.code)
    assert.matches("is not open", instance.error.message)
    far:close()
  end)

  it("keeps what it did before: variables, attributes, what it emits",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(kit.one(function(ctx)
        ctx.vars.before = ctx.input.x
        ctx.attrs.colour = "red"
        ctx.emit("first", { n = 1 })
        ctx.await(1)
        ctx.emit("second", { n = 2 })
        ctx.vars.after = ctx.id
        return nil, { x = ctx.input.x }
      end)))
      local id = assert(engine:start("t.one", { x = "é\0z" }))
      assert(engine:tick())
      assert(engine:start("t.one", { x = 2 })) -- other values in the slots
      assert(engine:tick())
      clock:advance(1)
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.same({ before = "é\0z", after = id }, instance.variables)
      assert.equal("red", instance.attributes.colour)
      local types = {}
      for _, row in ipairs(assert(engine.outbox:list { instance = id })) do
        types[#types + 1] = row.type
      end
      assert.same({ "first", "second" }, types)
      assert.same({ x = "é\0z" }, assert(engine:history(id))[1].output)
    end)

  it("may wait inside pcall, and in what a function of its own calls",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(kit.one(function(ctx)
        local ok, why = pcall(function()
          ctx.await(1)
          error "after"
        end)
        ctx.vars.ok, ctx.vars.why = ok, why
      end)))
      local id = assert(engine:start "t.one")
      assert(engine:tick())
      clock:advance(1)
      assert(engine:run())
      local vars = assert(engine:get(id)).variables
      assert.is_false(vars.ok)
      assert.matches("after", vars.why)
    end)

  it("may fail after it, and is tried again", function()
    local engine, clock = backend.fresh()
    local n = 0
    assert(engine:load(kit.one(function(ctx)
      n = n + 1
      ctx.await(1)
      if ctx.attempt == 1 then error "not yet" end
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    clock:advance(1)
    assert(engine:tick())
    clock:advance "1m"
    assert(engine:tick())
    clock:advance(1)
    assert(engine:tick())
    assert.equal(2, n)
    assert.equal("failed a, step a", kit.trail(engine, id))
  end)

  it("yields by ctx.await only", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.await(1)
      coroutine.yield()
    end, { retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    clock:advance(1)
    assert(engine:tick())
    local err = assert(engine:get(id)).error
    assert.matches("yielded", err.message)
  end)

  it("leaves the engine to be called, and its handlers not", function()
    local engine, clock = backend.fresh()
    local why
    assert(engine:load(kit.one(function(ctx)
      ctx.await(1)
      why = select(2, pcall(engine.list, engine))
    end)))
    assert(engine:start "t.one")
    assert(engine:tick())
    assert.equal(1, #assert(engine:list()))
    clock:advance(1)
    assert(engine:tick())
    assert.equal("misuse", why.code)
  end)

  it("runs in a private state too", function()
    local engine, clock = backend.fresh { state = "private" }
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.private", start = "a" }
      flow:step("a", { next = "z", run = function(ctx)
        ctx.await(1)
        ctx.vars.done = true
      end })
      flow:finish "z"
      return flow]]
    file:close()
    assert(engine:load(path))
    os.remove(path)
    local a = assert(engine:start "t.private")
    local b = assert(engine:start "t.private")
    assert.equal(2, assert(engine:tick()).waiting)
    clock:advance(1)
    assert(engine:tick())
    assert.completed(engine, a)
    assert.completed(engine, b)
  end)

  it("can be one of many: handlers of one tick's claims share commits",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(kit.one(function(ctx) ctx.await(1) end)))
      for _ = 1, 40 do assert(engine:start "t.one") end
      local waiting, ended, commits = 0, 0, 0
      for _ = 1, 40 do
        waiting = assert(engine:tick()).waiting
        if waiting == 40 then break end
      end
      assert.equal(40, waiting)
      clock:advance(1)
      for _ = 1, 40 do -- on a slow machine some have their turn in a later one
        local stats = assert(engine:tick())
        ended, commits = ended + stats.ended, commits + stats.commits
      end
      assert.equal(40, ended)
      assert.is_true(commits <= 10, commits)
    end)
end)

kit.describe("where nothing may wait", function(backend)
  local function why_failed(flow, input)
    local engine = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start(flow.code, input))
    assert(engine:run())
    local instance = assert(engine:get(id))
    return instance.error, instance
  end

  it("a transactional step says so", function()
    local err = why_failed(kit.one(function(ctx) ctx.await(1) end,
      { transactional = true, code = "t.one" }))
    assert.equal("misuse", err.code)
    assert.matches("transactional: it may not wait", err.message)
  end)

  it("a handler that is no step says so", function()
    local flow = pawl.workflow { code = "t.choice", start = "c" }
    flow:choice("c", { choose = function(ctx) ctx.await(1) end,
      next = { x = "z", y = "z" } })
    flow:finish "z"
    local err = why_failed(flow)
    assert.equal("misuse", err.code)
    assert.matches("`choose` of node \"c\" called ctx.await", err.message)
  end)

  it("a coroutine of the handler's own says so", function()
    local err = why_failed(kit.one(function(ctx)
      coroutine.wrap(function() ctx.await(1) end)()
    end))
    assert.equal("misuse", err.code)
    assert.matches("coroutine of the handler's own", err.message)
  end)

  it("a C function that cannot be left says so", function()
    local err = why_failed(kit.one(function(ctx)
      ("x"):gsub("x", function() ctx.await(1) end)
    end))
    assert.equal("misuse", err.code)
    assert.matches("inside a C function", err.message)
  end)

  it("wrong arguments say so", function()
    local function check(text, ...)
      local given = table.pack(...)
      local err = why_failed(kit.one(function(ctx)
        ctx.await(table.unpack(given, 1, given.n))
      end))
      assert.equal("misuse", err.code)
      assert.matches(text, err.message)
    end
    check("takes seconds, a function or a descriptor")
    check("takes seconds, a function or a descriptor", "1")
    check("takes one argument", function() return true end, 1)
    check("takes one argument", 0, nil, 1)
    check("it is not a number of seconds", -1)
    check("it is not a number of seconds", 0 / 0)
    check("has no field 'descriptor'", { descriptor = 1 })
    check("fd is not the number", {})
    check("fd is not the number", { fd = -1 })
    check("fd is not the number", { fd = "1" })
    check("there are no such events", { fd = 1, events = "x" })
    check("timeout is not a number", { fd = 1, timeout = "1" })
  end)
end)

kit.describe("who ends a handler that waits", function(backend)
  local function closing(log, what)
    return setmetatable({}, { __close = function() log[#log + 1] = what end })
  end

  it("a cancel is raised from ctx.await", function()
    local why
    local log = {}
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local _ <close> = closing(log, "closed")
      local ok, err = pcall(ctx.await, 3600)
      assert(not ok)
      why = err
      error(err, 0)
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    local _, done = assert(engine:cancel(id, { reason = "stop" }))
    assert.is_false(done)
    assert(engine:tick())
    assert.equal("cancelled", why.code)
    assert.same({ "closed" }, log)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("failed a, cancelled a", kit.trail(engine, id))
  end)

  it("a cancel from another process, too", function()
    local a, b, clock
    local told
    a, b, clock = kit.pair(backend, { kit.one(function(ctx)
      local ok, err = pcall(ctx.await, function() end)
      told = not ok and err.code
      ctx.vars.cleaned = true
    end) })
    local id = assert(a:start "t.one")
    assert(a:tick())
    assert(b:cancel(id, "stop"))
    clock:advance(1)
    assert(a:tick())
    assert.equal("cancelled", told)
    local instance = assert(a:get(id))
    assert.equal("cancelled", instance.status)
    assert.equal("step a, cancelled z", kit.trail(a, id))
    assert.is_true(instance.variables.cleaned)
  end)

  it("a cancel that it has heard lets it wait to clean up", function()
    local engine, clock = backend.fresh()
    local cleaned
    assert(engine:load(kit.one(function(ctx)
      pcall(ctx.await, 3600)
      ctx.await(2)
      cleaned = true
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    assert(engine:cancel(id, "stop"))
    assert.equal(1, assert(engine:tick()).waiting)
    clock:advance(2)
    assert(engine:tick())
    assert.is_true(cleaned)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("what it did before is undone", function()
    local undone = {}
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { next = "b", run = function() end,
      undo = function() undone[#undone + 1] = "a" end })
    flow:step("b", { next = "z", run = function(ctx) ctx.await(3600) end,
      undo = function() undone[#undone + 1] = "b" end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    assert(engine:run())
    assert(engine:cancel(id, "stop"))
    assert(engine:run())
    assert.same({ "a" }, undone)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("its node's timeout is raised as 'timeout'", function()
    local why
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local ok, err = pcall(ctx.await, function() end)
      why = not ok and err.code
      error(err, 0)
    end, { timeout = "10s", retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    clock:advance(9)
    assert.equal(1, assert(engine:tick()).waiting)
    clock:advance(1)
    assert(engine:tick())
    assert.equal("timeout", why)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("timeout", instance.error.code)
  end)

  it("one that waits on after its timeout is ended", function()
    local log = {}
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local _ <close> = closing(log, "closed")
      while true do pcall(ctx.await, 1) end
    end, { timeout = "10s", retry = false })))
    local id = assert(engine:start "t.one")
    for _ = 1, 12 do
      assert(engine:tick())
      clock:advance(1)
    end
    assert.same({ "closed" }, log)
    assert.equal("timeout", assert(engine:get(id)).error.code)
  end)

  it("its instance's deadline is raised as 'timeout'", function()
    local why
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.dead", start = "a",
      deadline = "1m" }
    flow:step("a", { next = "z", run = function(ctx)
      local ok, err = pcall(ctx.await, 3600)
      why = not ok and err.code
      error(err, 0)
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.dead")
    assert(engine:tick())
    clock:advance(59)
    assert.equal(1, assert(engine:tick()).waiting)
    clock:advance(1)
    assert(engine:run())
    assert.equal("timeout", why)
    assert.failed(engine, id)
    assert.equal("deadline", assert(engine:get(id)).error.code)
  end)

  it("an event that cancels it", function()
    local why
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.event", start = "a",
      cancel_on = { event = "order.gone", key = "no" } }
    flow:step("a", { next = "z", run = function(ctx)
      local ok, err = pcall(ctx.await, 3600)
      why = not ok and err.code
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start("t.event", { no = "17" }))
    assert.equal(1, assert(engine:tick()).waiting)
    assert(engine:signal { name = "order.gone", key = "17" })
    clock:advance(1)
    assert(engine:tick())
    assert.equal("cancelled", why)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("an event that cancels it by the key that a step before it has set",
    function()
      local why
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.event", start = "f",
        cancel_on = { event = "order.gone", key = "no" } }
      flow:fork("f", { next = { "a", "b" } })
      flow:step("a", { next = "j", run = function(ctx) ctx.vars.no = "18" end })
      flow:step("b", { next = "j", run = function(ctx)
        local ok, err = pcall(ctx.await, 3600)
        why = not ok and err.code
      end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start("t.event", { no = "17" }))
      assert(engine:run())
      assert(engine:signal { name = "order.gone", key = "17" })
      clock:advance(1)
      assert.equal(1, assert(engine:tick()).waiting)
      assert(engine:signal { name = "order.gone", key = "18" })
      clock:advance(1)
      assert(engine:run())
      assert.equal("cancelled", why)
      assert.equal("cancelled", kit.status(engine, id))
    end)

  it("a kill abandons it", function()
    local log = {}
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local _ <close> = closing(log, "closed")
      ctx.await(3600)
      log[#log + 1] = "went on"
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:tick())
    assert(engine:kill(id))
    assert.same({ "closed" }, log)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(0, assert(engine:tick()).waiting)
  end)

  it("the lease goes on while it waits", function()
    local runs = 0
    local a, b, clock = kit.pair(backend, { kit.one(function(ctx)
      runs = runs + 1
      ctx.await(3600)
    end, { timeout = "2h" }) })
    local id = assert(a:start "t.one")
    assert(a:tick())
    for _ = 1, 30 do
      clock:advance(20)
      assert(a:tick())
      assert.equal(0, assert(b:tick()).claimed)
    end
    assert.equal(1, runs)
    clock:advance(3600)
    assert(a:tick())
    assert.completed(a, id)
    assert.equal("step a", kit.trail(a, id))
  end)

  it("a lease that was lost abandons it", function()
    local log = {}
    local a, b, clock = kit.pair(backend, { kit.one(function(ctx)
      local _ <close> = closing(log, "closed")
      ctx.await(3600)
    end, { timeout = "2h" }) })
    local id = assert(a:start "t.one")
    assert(a:tick())
    clock:advance(31)
    assert(b:tick()) -- finds the lease's end
    assert(b:tick())
    assert.same({}, log)
    local stats = assert(a:tick())
    assert.same({ "closed" }, log)
    assert.equal(0, stats.waiting)
    assert.equal(1, stats.lost)
    clock:advance(3600)
    assert(b:tick())
    assert.completed(b, id)
  end)

  it("closing the engine gives its instance back", function()
    local log = {}
    local a, b, clock = kit.pair(backend, { kit.one(function(ctx)
      local _ <close> = closing(log, ctx.attempt)
      ctx.await(5)
    end) })
    local id = assert(a:start "t.one")
    assert(a:tick())
    a:close()
    assert.same({ 1 }, log)
    assert.equal(1, assert(b:tick()).waiting)
    clock:advance(5)
    assert(b:tick())
    assert.equal("step a", kit.trail(b, id))
  end)
end)

kit.describe("how many wait", function(backend)
  it("as many as `concurrency` says, and others when these have ended",
    function()
      local begun, most, now = 0, 0, 0
      local engine, clock = backend.fresh { concurrency = 5 }
      assert(engine:load(kit.one(function(ctx)
        begun, now = begun + 1, now + 1
        most = math.max(most, now)
        ctx.await(1)
        now = now - 1
      end)))
      for _ = 1, 12 do assert(engine:start "t.one") end
      local stats = assert(engine:tick())
      assert.equal(5, begun)
      assert.equal(5, stats.waiting)
      assert.equal(5, stats.held) -- the rest is for others to run
      assert.is_true(stats.next_due > clock:now())
      clock:advance(1)
      assert(engine:tick(1))
      assert.equal(10, begun)
      clock:advance(1)
      assert(engine:tick(1))
      clock:advance(1)
      stats = assert(engine:tick(1))
      assert.equal(12, begun)
      assert.equal(5, most)
      assert.equal(0, stats.waiting)
      assert.is_nil(stats.next_due)
    end)

  it("claims go on meanwhile", function()
    local engine, clock = backend.fresh { batch = 2 }
    assert(engine:load(kit.one(function(ctx) ctx.await(10) end)))
    assert(engine:load(kit.one(function() end, { code = "t.quick" })))
    for _ = 1, 5 do assert(engine:start "t.one") end
    assert.equal(5, assert(engine:tick(1)).waiting)
    local id = assert(engine:start "t.quick")
    assert(engine:tick(1))
    assert.completed(engine, id)
    clock:advance(10)
    assert.equal(5, assert(engine:tick(1)).ended)
  end)

  it("one instance by itself can wait as well", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.await(5) end)))
    local id = assert(engine:start "t.one")
    local other = assert(engine:start "t.one")
    local status, stats = assert(engine:tick_instance(id))
    assert.equal("later", status)
    assert.equal(1, stats.waiting)
    assert.is_true(stats.next_due > clock:now())
    clock:advance(5)
    assert.equal("done", (assert(engine:tick_instance(id))))
    assert.completed(engine, id)
    assert.equal("created", kit.status(engine, other))
  end)
end)

kit.describe("tokens side by side", function(backend)
  local function fork(runs)
    local flow = pawl.workflow { code = "t.fork", start = "f" }
    flow:fork("f", { next = { one = "a", two = "b" } })
    flow:step("a", { run = runs[1], next = "j" })
    flow:step("b", { run = runs[2], next = "j" })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    return flow
  end

  it("wait at one time; no change of a variable is lost", function()
    local engine, clock = backend.fresh()
    local function counts(name)
      return function(ctx)
        ctx.vars[name] = 1
        ctx.await(1)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end
    end
    assert(engine:load(fork { counts "a", counts "b" }))
    local id = assert(engine:start "t.fork")
    assert.equal(1, assert(engine:tick(1)).waiting)
    clock:advance(1)
    assert(engine:run()) -- both have counted from nothing: one is in conflict
    local failed = assert(engine:history(id, { type = "failed" }))
    assert.equal(1, #failed)
    assert.equal("conflict", failed[1].error.code)
    assert.matches("^vars%.n was changed beside this handler while it waited",
      failed[1].error.message)
    for _ = 1, 5 do
      clock:advance "1m"
      assert(engine:run())
    end
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.same({ a = 1, b = 1, n = 2 }, instance.variables)
  end)

  it("what one did is stored before the other waits", function()
    local a, b, clock = kit.pair(backend, { fork {
      function(ctx) ctx.vars.a = 1 end,
      function(ctx)
        ctx.await(1)
        ctx.vars.b = ctx.vars.a + 1
      end,
    } })
    local id = assert(a:start "t.fork")
    assert.equal(1, assert(a:tick(1)).waiting)
    assert.same({ a = 1 }, assert(b:get(id)).variables)
    clock:advance(1)
    assert(a:tick(1))
    local instance = assert(a:get(id))
    assert.equal("completed", instance.status)
    assert.same({ a = 1, b = 2 }, instance.variables)
  end)
end)

kit.describe("a race", function(backend)
  it("is over when the first has waited; the others end where they stand",
    function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.race", start = "f" }
      local ran, closed = {}, {}
      local function await(name, seconds)
        return function(ctx)
          local _ <close> = setmetatable({}, {
            __close = function() closed[#closed + 1] = name end })
          ctx.await(seconds)
          ran[#ran + 1] = name
        end
      end
      flow:fork("f", { next = { "a", "b" } })
      flow:step("a", { next = "j", run = await("a", 9) })
      flow:step("b", { next = "j", run = await("b", 5) })
      flow:join("j", { expect = "any", losers = "cancel", next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.race")
      assert(engine:run())
      clock:advance(5)
      assert(engine:run())
      assert.completed(engine, id)
      assert.same({ "b" }, ran)
      assert.same({ "b", "a" }, closed)
      assert.equal(0, assert(engine:tick()).waiting)
    end)
end)

kit.describe("a handler whose node is interrupted", function(backend)
  it("is closed once that is stored, without ctx; what fails there is logged",
    function()
      local lines, order, met = {}, {}, {}
      local engine = backend.fresh { log = function(level, message, fields)
        lines[#lines + 1] = { level, message, fields }
      end }
      local flow = pawl.workflow { code = "t.cut", start = "a" }
      flow:step("a", { next = "z", on_event = { event = "stop", next = "b" },
        run = function(ctx)
          local _ <close> = setmetatable({}, { __close = function()
            order[#order + 1] = "closed"
            met[1], met[2] = pcall(function() return ctx.id end)
            error { code = "broke", message = "it broke" }
          end })
          ctx.await(3600)
        end })
      flow:step("b", { next = "z", run = function()
        order[#order + 1] = "b"
      end })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.cut")
      assert(engine:tick())
      assert(engine:signal { name = "stop", instance = id })
      assert(engine:run())
      assert.completed(engine, id)
      assert.same({ "b", "closed" }, order)
      assert.equal("misuse", met[2].code)
      assert.matches("had been ended where it waited", met[2].message)
      local line = lines[#lines]
      assert.same({ "warn",
        "a handler was ended, and closing its variables failed" },
        { line[1], line[2] })
      assert.equal(id, line[3].instance)
      assert.equal("a", line[3].node)
      assert.same({ "broke", "it broke" },
        { line[3].fields.code, line[3].fields.error })
    end)
end)

kit.describe("undoing", function(backend)
  it("may wait, and is not told to stop", function()
    local log = {}
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { next = "b", run = function() return nil, "A" end,
      undo = function(ctx)
        log[#log + 1] = "begin " .. ctx.output
        ctx.await(5)
        log[#log + 1] = "end " .. ctx.output
        ctx.vars.undone = true
      end })
    flow:step("b", { next = "z", retry = false,
      run = function() error "no" end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    assert(engine:run())
    assert.same({ "begin A" }, log)
    assert(engine:cancel(id, "too late"))
    assert(engine:run())
    assert.same({ "begin A" }, log)
    clock:advance(5)
    assert(engine:run())
    assert.same({ "begin A", "end A" }, log)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.is_true(instance.variables.undone)
    assert.equal("completed", instance.compensation.status)
  end)

  it("has its step's token after it has waited, each in its turn", function()
    local engine, clock = backend.fresh()
    local seen = {}
    local flow = pawl.workflow { code = "t.undo", start = "e" }
    flow:each("e", { items = function() return { "x", "y" } end,
      branch = "s", next = "b" })
    flow:step("s", { next = "e",
      run = function(ctx) return nil, ctx.token.data.item end,
      undo = function(ctx)
        ctx.await(5)
        seen[#seen + 1] = ctx.token.data.item .. ctx.output
        ctx.token.data = { item = "other" }
      end })
    flow:step("b", { next = "z", retry = false,
      run = function() error "no" end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    for n = 0, 2 do
      assert(engine:run())
      assert.equal(n, #seen)
      clock:advance(5)
    end
    assert.same({ "yy", "xx" }, seen)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal(2, #instance.compensation.completed)
  end)

  it("that fails after it has waited is tried again", function()
    local engine, clock = backend.fresh()
    local n = 0
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { next = "b", run = function() end,
      undo = function(ctx)
        n = n + 1
        ctx.await(1)
        if n == 1 then error "not yet" end
      end })
    flow:step("b", { next = "z", retry = false,
      run = function() error "no" end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    for _ = 1, 4 do
      assert(engine:run())
      clock:advance "30s"
    end
    assert.equal(2, n)
    assert.failed(engine, id)
    assert.equal("completed", assert(engine:get(id)).compensation.status)
  end)
end)

-- The two turns of a handler: one that does not wait is over within its own.
kit.describe("a handler that waits for nothing", function(backend)
  --- All rows of a step that does what `run` does; `waits`: in a later turn.
  local function stored(run, waits)
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.flow", start = "a" }
    flow:step("a", { next = { left = "z", right = "b" }, undo = function() end,
      retry = { max = 2, base = 1, jitter = 0 },
      run = function(ctx)
        ctx.vars.begun = true
        if waits then ctx.await(0) end
        return run(ctx)
      end })
    flow:step("b", { next = "t", run = function() end })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start("t.flow", { x = 1.0 }))
    assert(engine:run())
    local rows = kit.everything(backend, url)
    rows.workflow = nil
    return rows
  end

  local function same_both_ways(run)
    local rows = stored(run)
    assert.is_true(#rows.history > 0)
    assert.same(rows, stored(run, true))
  end

  it("is stored as one that does not wait", function()
    same_both_ways(function(ctx)
      ctx.vars.n = ctx.input.x
      ctx.emit("seen", { n = 1 })
      ctx.attrs.region = "eu"
      return "right", { "out" }
    end)
  end)

  it("is stored as one that does not wait when it fails", function()
    same_both_ways(function() error { code = "no", message = "today" } end)
  end)
end)
