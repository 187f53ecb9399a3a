--- Handlers of one instance side by side, in the schedules that broke it: what
--- comes in between a decision and its commit, places that run out, and more in
--- the inbox than is read at once.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local socket = require "socket"

local function workflow()
  return pawl.workflow { code = "t.beside", start = "f" }
end

local function await(seconds)
  return function(ctx) ctx.await(seconds) end
end

local function ends(flow, expect)
  flow:join("j", { next = "z", expect = expect,
    losers = expect and "cancel" or nil })
  flow:finish "z"
  return flow
end

kit.describe("beside handlers that wait", function(backend)
  it("an event is taken that comes before the commit of one that is back",
    function()
      local other, id
      local flow = workflow()
      flow:fork("f", { next = { a = "a", b = "b", c = "c" } })
      flow:step("a", { next = "j", timeout = "2h", run = await(3600) })
      flow:step("b", { next = "j", timeout = "1h", run = function(ctx)
        ctx.await(5)
        assert(other:signal { name = "paid", instance = id, data = 7 })
      end })
      flow:wait("c", { event = "paid", into = "paid", next = "j" })
      local a, b, clock = kit.pair(backend, { ends(flow) })
      other = b
      id = assert(a:start "t.beside")
      assert(a:run())
      clock:advance(5)
      for _ = 1, 5 do
        assert(a:run())
        clock:advance(1)
      end
      assert.equal(7, assert(a:get(id)).variables.paid)
    end)

  --- What is asked for before a time that nobody waits for is committed.
  local function asked_at_commit(ask)
    local other, id
    local told, asked = "nothing", false
    local flow = workflow()
    flow:fork("f", { next = { a = "a", b = "b" } })
    flow:step("a", { next = "j", timeout = "2h", run = function(ctx)
      local ok, why = pcall(ctx.await, 60)
      told = ok and "waited" or why.code
      ctx.vars.a = 1
    end })
    flow:wait("b", { event = "paid", timeout = 5,
      next = { received = "j", timeout = "c" } })
    flow:choice("c", { next = { x = "j", y = "j" }, choose = function()
      if not asked then
        asked = true
        assert(ask(other, id))
      end
      return "x"
    end })
    local a, b, clock = kit.pair(backend, { ends(flow) })
    other = b
    id = assert(a:start "t.beside")
    assert(a:run())
    clock:advance(5)
    for _ = 1, 3 do
      assert(a:run())
      clock:advance(1)
    end
    return a, id, clock, function() return told end
  end

  it("a cancel that comes before a commit tells them", function()
    local engine, id, _, told = asked_at_commit(function(other, it)
      return other:cancel(it)
    end)
    assert.equal("cancelled", told())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("a suspension that comes before a commit waits for them, and no edit",
    function()
      for _, ask in ipairs {
        function(other, it) return other:suspend(it) end,
        function(other, it) return other:edit(it, { set = { e = 5 } }) end,
      } do
        local engine, id, clock, told = asked_at_commit(ask)
        assert.equal("running", kit.status(engine, id))
        local is_edited = assert(engine:get(id)).variables.e == 5
        assert.equal(#assert(engine:explain(id)).inbox == 0, is_edited)
        clock:advance(60)
        assert(engine:run())
        assert.equal("waited", told())
        assert.same({}, assert(engine:history(id, { type = "failed" })))
      end
    end)

  it("many events that a match turns down are asked about once", function()
    local engine, clock = backend.fresh()
    local asked = 0
    local flow = workflow()
    flow:fork("f", { next = { a = "a", b = "b" } })
    flow:step("a", { next = "j", timeout = "1h", run = await(60) })
    flow:wait("b", { event = "paid", next = "j", match = function()
      asked = asked + 1
      return false
    end })
    assert(engine:load(ends(flow, "any")))
    local id = assert(engine:start "t.beside")
    assert(engine:run())
    for i = 1, 70 do
      assert(engine:signal { name = "paid", instance = id, data = i })
    end
    assert(engine:run())
    assert.equal(70, asked)
    assert.is_true(assert(engine:next_due()) > 0)
    clock:advance(60)
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)

kit.describe("where no place is left to wait", function(backend)
  it("a step whose time comes meanwhile does not begin", function()
    local clock
    local tries, n = 0, 0
    local flow = workflow()
    flow:fork("f", { next = { a = "a0", b = "b", c = "c" } })
    flow:timer("a0", { after = 0.1, next = "a" })
    flow:step("a", { next = "j", timeout = "2h", run = await(60) })
    flow:choice("b", { next = { x = "j", y = "j" }, choose = function()
      n = n + 1
      if n <= 2 then error "no" end
      clock:advance(20)
      return "x"
    end })
    flow:step("c", { next = "j", timeout = "1h",
      retry = { max = 3, base = 8, jitter = 0, factor = 1 },
      run = function(ctx)
        tries = tries + 1
        if ctx.attempt == 1 then error "no" end
        ctx.await(60)
      end })
    local engine
    engine, clock = backend.fresh { concurrency = 1 }
    assert(engine:load(ends(flow)))
    local id = assert(engine:start "t.beside")
    for _, seconds in ipairs { 0.1, 4, 1, 60, 60 } do
      assert(engine:run())
      clock:advance(seconds)
    end
    assert(engine:run())
    assert.equal(2, tries)
    assert.completed(engine, id)
  end)

  it("boundaries and times of who waits come all the same", function()
    local engine, clock = backend.fresh { concurrency = 2 }
    local log = {}
    local function tell(name) return function() log[#log + 1] = name end end
    local flow = workflow()
    flow:fork("f", { next = { a = "a", b = "b", c = "c" } })
    flow:step("a", { next = "j", timeout = "2h", run = await(3600),
      on_timer = { after = 10, next = "remind" } })
    flow:step("b", { next = "j", timeout = "2h", run = await(3600) })
    flow:step("c", { next = "j", run = tell "c" })
    flow:step("remind", { next = "j", run = tell "remind" })
    assert(engine:load(ends(flow)))
    assert(engine:start "t.beside")
    for _ = 1, 3 do
      assert(engine:run())
      clock:advance(10)
    end
    table.sort(log)
    assert.same({ "c", "remind" }, log)
  end)

  it("one instance leaves a quarter of them to others", function()
    local engine, clock = backend.fresh { concurrency = 4 }
    local flow, next = workflow(), {}
    for i = 1, 8 do next[i] = "s" .. i end
    flow:fork("f", { next = next })
    for _, name in ipairs(next) do
      flow:step(name, { next = "j", timeout = "2h", run = await(3600) })
    end
    assert(engine:load(ends(flow)))
    assert(engine:load(kit.one()))
    assert(engine:start "t.beside")
    assert(engine:run())
    local one = assert(engine:start "t.one")
    clock:advance(1)
    assert(engine:run())
    assert.completed(engine, one)
  end)
end)

kit.describe("a handler that waits again behind a long round", function(backend)
  it("is not told of what another turn found", function()
    local server = assert(socket.bind("127.0.0.1", 0))
    local near = assert(socket.connect("127.0.0.1",
      (select(2, server:getsockname()))))
    local far = assert(server:accept())
    near:settimeout(0)
    local got = {}
    local flow = workflow()
    flow:fork("f", { next = { "a", "b", "c" } })
    flow:step("a", { next = "j", timeout = "1h", run = await(1) })
    flow:step("b", { next = "j", timeout = "1h", run = function(ctx)
      ctx.await(1)
      local began = socket.gettime()
      repeat until socket.gettime() - began > 0.06
      ctx.await(1000)
    end })
    flow:step("c", { next = "j", timeout = "1h", run = function(ctx)
      for i = 1, 3 do
        local ready = ctx.await { fd = near:getfd(), events = "r",
          timeout = 500 }
        got[i] = tostring(ready) .. " " .. tostring((near:receive(1)))
      end
    end })
    local engine, clock = backend.fresh()
    assert(engine:load(ends(flow)))
    assert(engine:start "t.beside")
    assert(engine:run())
    clock:advance(1)
    for _ = 1, 3 do assert(engine:run()) end
    far:send "x"
    socket.sleep(0.05)
    for _ = 1, 3 do assert(engine:run()) end
    assert.same({ "r x" }, got)
    near:close()
    far:close()
    server:close()
  end)
end)
