-- ctx.emit: what a step tells the world goes with the step's own commit.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local function types(engine, query)
  local names = {}
  for i,
    row in ipairs(assert(engine.outbox:list(query))) do names[i] = row.type end
  return table.concat(names, " ")
end

kit.describe("what a step emits", function(backend)
  it("stands in the outbox with the step, in its order", function()
    local engine, clock = backend.fresh()
    local id
    assert(engine:load(kit.chain {
      function(ctx)
        ctx.emit("order.placed", { order = 17, items = pawl.array {} })
        ctx.emit("mail.wanted", "text")
        clock:advance(5)
      end,
      function(ctx) ctx.emit("order.shipped") end,
    }))
    id = assert(engine:start "t.chain")
    assert(engine:run())
    local rows = assert(engine.outbox:list())
    assert.same({ "order.placed", "mail.wanted", "order.shipped" },
      { rows[1].type, rows[2].type, rows[3].type })
    assert.same({ 1, 2, 3 }, { rows[1].seq, rows[2].seq, rows[3].seq })
    assert.same({ order = 17, items = {} }, rows[1].payload)
    assert.equal("text", rows[2].payload)
    assert.is_nil(rows[3].payload)
    for _, row in ipairs(rows) do
      assert.equal(id, row.instance)
      assert.equal(0, row.attempts)
    end
    assert.equal("2026-01-01T00:00:05.000000Z", rows[1].created)
    local json = assert(engine.outbox:list(nil, "json"))
    assert.matches('"items":[]', json, 1, true)
    assert.matches('"payload":null', json, 1, true)
  end)

  it("is not there when the step fails; the next attempt's is", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.emit("try." .. ctx.attempt)
      if ctx.attempt < 3 then error "no" end
      ctx.emit("done")
    end, { retry = { max = 3, base = 1, jitter = 0 } })))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal("", types(engine))
    clock:advance "1m"
    assert(engine:run())
    assert.equal("", types(engine))
    clock:advance "1m"
    assert(engine:run())
    assert.equal("try.3 done", types(engine))
  end)

  it("is not there when the step is caught in a wrong transition", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.out", start = "a" }
    flow:step("a", { run = function(ctx)
      ctx.emit("too.soon")
      return "nowhere"
    end, next = { on = "z", off = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.out")
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("", types(engine))
  end)

  it("is there though what follows the step fails", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.out", start = "a" }
    flow:step("a", { run = function(ctx) ctx.emit("a") end, next = "c" })
    flow:choice("c", { choose = function() error "no" end,
      next = { on = "z", off = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.out")
    assert(engine:run())
    assert.is_not_equal("completed", kit.status(engine, id))
    assert.equal("a", types(engine))
  end)

  it("leaves the instance's place when it ends in the same commit", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx) ctx.emit("last") end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("last", types(engine, { instance = id }))
  end)

  it("is not there when the lease was lost", function()
    local a, b, clock
    local runs = 0
    a, b, clock = kit.pair(backend, { kit.one(function(ctx)
      runs = runs + 1
      ctx.emit("run." .. runs)
      if runs == 1 then
        clock:advance(31) -- as good as dead: another takes over
        assert(b:run())
      end
    end) })
    assert(a:start "t.one")
    assert.equal(1, assert(a:run()).lost)
    assert.equal(2, runs)
    assert.equal("run.2", types(a))
  end)

  it("is there once, when the step's result is decided anew", function()
    local a, b
    a, b = kit.pair(backend, { kit.one(function(ctx)
      ctx.emit("once")
      assert(b:cancel(ctx.id)) -- comes before the ending is written
    end) })
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.equal("cancelled", kit.status(a, id))
    assert.equal("once", types(a))
  end)

  it("is there for each branch, numbered without gaps", function()
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.out", start = "f" }
    flow:fork("f", { next = { "a", "b", "c" } })
    for _, name in ipairs { "a", "b", "c" } do
      flow:step(name, { next = "j", run = function(ctx)
        ctx.emit(name .. 1)
        ctx.emit(name .. 2)
      end })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.out")
    assert(engine:run())
    assert.equal("a1 a2 b1 b2 c1 c2", types(engine))
    for i, row in ipairs(assert(engine.outbox:list())) do
      assert.equal(i, row.seq)
    end
    assert.equal(6, kit.count(backend, url, "outbox"))
  end)

  it("stays when the instance is cancelled or killed", function()
    for _, how in ipairs { "cancel", "kill" } do
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.out", start = "a" }
      flow:step("a", { run = function(ctx) ctx.emit("a") end, next = "t" })
      flow:timer("t", { after = "1h", next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.out")
      assert(engine:run())
      assert(engine[how](engine, id))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      assert.equal("a", types(engine))
    end
  end)

  it("goes with the user's own SQL in a transactional step", function()
    local engine = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function(ctx)
      runs = runs + 1
      ctx.emit("sql." .. runs)
      ctx.db:query "select 1 as one"
      if runs == 1 then error "no" end
    end, { transactional = true, retry = { max = 2, base = 0 } })))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(2, runs)
    assert.equal("sql.2", types(engine))
  end)

  it("is listed by type, instance and age, in pages", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      for i = 1, 3 do ctx.emit(i % 2 == 1 and "odd" or "even", i) end
    end)))
    local ids = {}
    for i = 1, 3 do
      ids[i] = assert(engine:start "t.one")
      assert(engine:run())
      clock:advance(10)
    end
    assert.equal(9, #assert(engine.outbox:list()))
    assert.equal("even even even", types(engine, { type = "even" }))
    assert.equal("odd even odd", types(engine, { instance = ids[2] }))
    assert.equal("even", types(engine, { instance = ids[2], type = "even" }))
    local second = assert(engine.outbox:list { instance = ids[2] })[2]
    assert.equal(2, second.seq)
    assert.equal("odd", types(engine, { instance = ids[2],
      after = second.place }))
    assert.equal("", types(engine, { instance = ids[2], dead = true }))
    assert.equal(6, #assert(engine.outbox:list {
      emitted_before = clock:now() - 10 }))
    local seen, after = {}, nil
    repeat
      local page = assert(engine.outbox:list { limit = 2, after = after })
      for _, row in ipairs(page) do
        seen[#seen + 1] = row.instance .. row.seq
        after = row.place
      end
    until #page == 0
    local once = {}
    for _, key in ipairs(seen) do once[key] = true end
    assert.equal(9, #seen)
    local n = 0
    for _ in pairs(once) do n = n + 1 end
    assert.equal(9, n)
  end)

  it("must have a name, and a payload that can be stored", function()
    local engine = backend.fresh()
    local heard = {}
    assert(engine:load(kit.one(function(ctx)
      for i, call in ipairs {
        function() ctx.emit() end,
        function() ctx.emit(7) end,
        function() ctx.emit("a", print) end,
      } do
        local ok, err = pcall(call)
        heard[i] = not ok and tostring(err)
      end
    end, { retry = false })))
    assert(engine:start "t.one")
    assert(engine:run())
    for i = 1, 3 do assert.is_string(heard[i]) end
    assert.matches("function", heard[3])
    assert.equal("", types(engine))
  end)
end)

kit.describe("what is emitted by a worker that dies", function(backend)
  it("is there once: what was not stored is emitted again", function()
    local a, b, clock, url
    local runs = 0
    local flow = kit.chain {
      function(ctx) ctx.emit("a") end,
      function(ctx)
        runs = runs + 1
        ctx.emit("b." .. runs)
        if runs == 1 then
          local store = kit.store(url, clock)
          clock:advance(31)
          kit.claim(store, ctx.id) -- and that one dies as well
          clock:advance(31)
        end
      end,
    }
    a, b, clock, url = kit.pair(backend, { flow })
    assert(a:start "t.chain")
    assert.equal(1, assert(a:tick(0)).claimed)
    assert(a:tick(1))
    assert(b:run())
    assert.equal("a b.2", types(b))
  end)
end)

kit.describe("what is emitted over a lost connection", function(backend)
  if backend.name ~= "postgres" then return end

  after_each(function() probe.fault(nil) end)

  for _, point in ipairs { "commit.before_send", "commit.sent" } do
    it("is there once, wherever that is: " .. point, function()
      for n = 1, 8 do
        local engine = backend.fresh()
        assert(engine:load(kit.chain {
          function(ctx) ctx.emit("a") end, function(ctx) ctx.emit("b") end }))
        assert(engine:run()) -- it is known in the store
        local id = assert(engine:start "t.chain")
        probe.fault(("%s=drop@%d"):format(point, n))
        engine:run() -- may say that nobody answered
        probe.fault(nil)
        assert(engine:run())
        assert.completed(engine, id)
        assert.equal("a b", types(engine))
      end
    end)
  end
end)
