-- What an instance that has failed still knows when it is tried again.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("an instance that failed and is tried again", function(backend)
  local good

  before_each(function() good = false end)

  local function fresh(flow, ...)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start("t.stopped", ...))
    assert(engine:run())
    return engine, id, clock, url
  end

  local function again(engine, id)
    good = true
    assert(engine:retry(id))
    assert(engine:run())
  end

  local function shaky(ctx)
    ctx.vars[ctx.node] = (ctx.vars[ctx.node] or 0) + 1
    if not good then error { code = "boom" } end
  end

  --- Two items wait while what runs beside them fails.
  local function fan(options)
    local flow = pawl.workflow { code = "t.stopped", start = "both",
      version = options.version }
    flow:fork("both", { next = { "all", "s" } })
    flow:each("all", { items = function() return { 1, 2 } end,
      branch = "w", timeout = options.timeout, next = "j",
      on_error = { timeout = "late" } })
    flow:wait("w", { event = "go", next = "all" })
    flow:step("late", { next = "j", run = function(ctx)
      ctx.vars.late = true
    end })
    flow:step("s", { retry = false, run = shaky, next = "j" })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    return flow
  end

  local function ends_late(engine, id, clock, left)
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(left - 1)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.is_true(instance.variables.late)
  end

  it("keeps the time that its each had", function()
    local engine, id, clock = fresh(fan { timeout = "1h" })
    assert.failed(engine, id)
    clock:advance(2400)
    again(engine, id)
    ends_late(engine, id, clock, 1200)
  end)

  it("keeps it when it fails twice", function()
    local engine, id, clock = fresh(fan { timeout = "1h" })
    for _ = 1, 2 do
      clock:advance(600)
      assert(engine:retry(id))
      assert(engine:run())
      assert.failed(engine, id)
    end
    again(engine, id)
    ends_late(engine, id, clock, 2400)
  end)

  it("has another version's time, from when its each began", function()
    local engine, id, clock = fresh(fan { timeout = "1h" })
    assert(engine:load(fan { timeout = "2h", version = 2 }))
    clock:advance(2400)
    assert.equal(1, #assert(engine.workflows:transfer("t.stopped", 1, 2)))
    assert(engine:run())
    again(engine, id)
    ends_late(engine, id, clock, 4800)
  end)

  it("finds that the time of its each has passed", function()
    local engine, id, clock = fresh(fan { timeout = "1h" })
    clock:advance(7200)
    again(engine, id)
    assert.is_true(assert(engine:get(id)).variables.late)
  end)

  --- Takes "paid" twice, and fails in between.
  local function round(options)
    local flow = pawl.workflow { code = "t.stopped", start = "w" }
    flow:wait("w", { event = "paid", key = options.key, next = "a" })
    flow:step("a", { next = options.first or "b", run = function(ctx)
      ctx.vars.took = (ctx.vars.took or "") .. ctx.event.data
    end })
    flow:step("b", { retry = false, run = shaky, next = "c" })
    flow:choice("c", { next = { yes = "z", no = "w" },
      choose = function(ctx) return #ctx.vars.took > 1 and "yes" or "no" end })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    return flow
  end

  local function took(engine, id)
    local instance = assert(engine:get(id))
    return instance.status .. " " .. (instance.variables.took or "")
  end

  it("takes no kept event a second time", function()
    local engine, id, _, url = fresh(round { key = "order" }, { order = "1" })
    assert(engine:signal { name = "paid", key = "1", data = "A", id = "e1" })
    assert(engine:run())
    assert.equal("failed A", took(engine, id))
    assert.equal(0, kit.count(backend, url, "subscription"))
    again(engine, id)
    assert.equal("waiting A", took(engine, id))
    assert(engine:signal { name = "paid", key = "1", data = "A", id = "e1" })
    assert(engine:run())
    assert.equal("waiting A", took(engine, id))
    assert(engine:signal { name = "paid", key = "1", data = "B", id = "e2" })
    assert(engine:run())
    assert.equal("completed AB", took(engine, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("takes none that was sent to it, and was taken, a second time",
    function()
      local engine, id = fresh(round {})
      local event = { name = "paid", instance = id, data = "A", id = "e1" }
      assert(engine:signal(event))
      assert(engine:run())
      assert.equal("failed A", took(engine, id))
      again(engine, id)
      engine:signal(event)
      assert(engine:run())
      assert.equal("waiting A", took(engine, id))
    end)

  it("takes no kept event twice when it is restarted", function()
    local engine, id = fresh(round { key = "order" }, { order = "1" })
    assert(engine:signal { name = "paid", key = "1", data = "A" })
    assert(engine:run())
    good = true
    assert(engine:restart(id, { from = "w" }))
    assert(engine:run())
    assert.equal("waiting ", took(engine, id))
  end)
end)
