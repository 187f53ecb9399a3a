-- Failures: attempts, delays, error routes, exhaustion.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

--- Fails `times` times, then succeeds.
local function flaky(times, options)
  local runs = { n = 0, at = {} }
  local flow = kit.one(function(ctx)
    runs.n = runs.n + 1
    runs.at[runs.n] = ctx.now()
    runs.attempt = ctx.attempt
    runs.key = runs.key or ctx.idempotency_key()
    assert(runs.key == ctx.idempotency_key(), "the key is stable")
    ctx.vars.n = runs.n
    if runs.n <= times then error("no luck " .. runs.n) end
  end, options)
  return flow, runs
end

--- What is recorded of a step that always fails with `code`, tried three times
--- at most, by this `retry`; "declined" is routed to b.
local function recorded(backend, code, retry)
  local engine, clock = backend.fresh()
  local flow = pawl.workflow { code = "t.coded" }
  retry = retry or {}
  retry.max, retry.base, retry.jitter = 3, 1, 0
  flow:step("a", { retry = retry, on_error = { declined = "b" }, next = "z",
    run = function() error { code = code } end })
  flow:step("b", { run = function() end, next = "z" })
  flow:finish "z"
  assert(engine:load(flow))
  local id = assert(engine:start "t.coded")
  for _ = 1, 4 do
    assert(engine:run())
    clock:advance(10)
  end
  return kit.trail(engine, id)
end

kit.describe("a failing step", function(backend)
  it("goes at once where its error has a route", function()
    assert.equal("failed a, step b", recorded(backend, "declined"))
    assert.equal("failed a, failed a, failed a", recorded(backend, "busy"))
  end)

  it("is tried again as its policy says of the code", function()
    local thrice = "failed a, failed a, failed a"
    assert.equal(thrice .. ", step b", recorded(backend, "declined",
      { on = "declined" }))
    assert.equal("failed a", recorded(backend, "other", { on = "declined" }))
    assert.equal("failed a", recorded(backend, "busy",
      { never = { "busy" } }))
    assert.equal(thrice, recorded(backend, "other", { never = { "busy" } }))
    assert.equal("failed a, step b", recorded(backend, "declined",
      { on = { "*" }, never = { "declined" } }))
  end)

  it("is tried again after its delay, and not before", function()
    local engine, clock = backend.fresh()
    local flow, runs = flaky(2,
      { retry = { max = 5, base = 10, factor = 3, jitter = 0 } })
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    local begun = clock:now()
    assert(engine:run())
    assert.equal(1, runs.n)
    assert.equal("running", kit.status(engine, id))
    assert.equal(begun + 10, assert(engine:next_due()))
    clock:advance(9.999999)
    assert(engine:run())
    assert.equal(1, runs.n)
    clock:advance(0.000001)
    assert(engine:run())
    assert.equal(2, runs.n)
    clock:advance(30)
    assert(engine:run())
    assert.equal(3, runs.n)
    assert.equal(3, runs.attempt)
    assert.same({ begun, begun + 10, begun + 40 }, runs.at)
    assert.completed(engine, id)
    assert.equal("failed a, failed a, step a", kit.trail(engine, id))
    local history = assert(engine:history(id))
    assert.same({ 1, 2, 3 }, { history[1].attempt, history[2].attempt,
      history[3].attempt })
    assert.same({ 1, 1, 1 }, { history[1].visit, history[2].visit,
      history[3].visit })
  end)

  it("is spread below the cap, where its jitter would pass that", function()
    local engine, clock = backend.fresh()
    assert(engine:load((flaky(99, { retry = { base = 600, cap = 600 } }))))
    local begun, seen = clock:now(), {}
    for i = 1, 40 do
      local id = assert(engine:start "t.one")
      assert(engine:run())
      local due = assert(engine:next_due()) - begun
      assert(engine:cancel(id))
      assert.is_true(due >= 450 and due <= 600, "delay " .. due)
      seen[i] = due
    end
    table.sort(seen)
    assert.is_true(seen[40] - seen[1] > 75, "they come together")
  end)

  it("waits no longer than the cap, jitter included", function()
    local engine, clock = backend.fresh()
    local flow, runs = flaky(9, { retry = { max = 10, base = 1, factor = 10,
      cap = 5, jitter = 1 } })
    assert(engine:load(flow))
    assert(engine:start "t.one")
    for n = 1, 10 do
      local before = clock:now()
      assert(engine:run())
      assert.equal(n, runs.n)
      if n < 10 then
        local delay = assert(engine:next_due()) - before
        assert.is_true(delay >= (n == 1 and 1 or 2.5) and delay <= 5,
          "delay " .. delay)
        clock:advance(5)
      end
    end
  end)

  it("keeps a code of 64 bytes, and says that a longer one is none", function()
    local long = ("c"):rep(64)
    for code, node in pairs { [long] = "named", [long .. "d"] = "other" } do
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.codes", start = "a" }
      flow:step("a", { retry = false, next = "z",
        run = function() error { code = code, message = "no", hint = "mine" }
        end, on_error = { [long] = "named", ["*"] = "other" } })
      flow:finish "named"
      flow:finish "other"
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.codes")
      assert(engine:run())
      assert.equal(node, assert(engine:get(id)).node)
      local err = assert(engine:history(id))[1].error
      assert.equal(#code == 64 and code or "script", err.code)
      assert.matches(#code == 64 and "mine" or "not used: it has 65 bytes",
        err.hint)
    end
  end)

  it("keeps a message of 16 KB whole, and says where a longer one is cut",
    function()
      for bytes, cut in pairs { [2000] = false, [16384] = false,
        [16385] = true } do
        local engine = backend.fresh()
        local text = ("m"):rep(bytes)
        assert(engine:load(kit.one(function() error { message = text } end,
          { retry = false })))
        local id = assert(engine:start "t.one")
        assert(engine:run())
        local example = assert(engine:problems()).problems[1].message
        for _, kept in ipairs { assert(engine:get(id)).error.message,
          kit.last(engine, id).error.message, example } do
          assert.equal(cut and text:sub(1, 16374) .. " ... (cut)" or text,
            kept)
        end
      end
    end)

  it("keeps the message of the attempt that failed, and its trace", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function()
      runs = runs + 1
      if runs == 2 then error "short" end
      error(("%d"):format(runs):rep(4000))
    end, { retry = { max = 3, base = 1 } })))
    local id = assert(engine:start "t.one")
    for _ = 1, 3 do
      assert(engine:run())
      clock:advance(10)
    end
    local rows = assert(engine:history(id, { type = "failed" }))
    assert.equal(("1"):rep(4000), rows[1].error.message)
    assert.equal("short", rows[2].error.message)
    assert.equal(("3"):rep(4000), rows[3].error.message)
    assert.matches("stack traceback", rows[3].error.trace)
  end)

  it("has its whole message in what failed by it", function()
    local engine = backend.fresh()
    local text = ("m"):rep(9000)
    local flow = pawl.workflow { code = "t.above", start = "c" }
    flow:call("c", { workflow = "t.one", retry = false, next = "z" })
    flow:finish "z"
    local item = pawl.workflow { code = "t.items", start = "e" }
    item:each("e", { items = function() return { 1 } end, branch = "s",
      next = "z" })
    item:step("s", { run = function() error(text, 0) end, retry = false,
      next = "e" })
    item:finish "z"
    local saga = pawl.workflow { code = "t.saga", start = "a" }
    saga:step("a", { run = function() end, undo = function()
      error(text, 0)
    end, retry = false, next = "b" })
    saga:step("b", { run = function() error "stop" end, retry = false,
      next = "z" })
    saga:finish "z"
    for _, one in ipairs { kit.one(function() error(text, 0) end,
      { retry = false }), flow, item, saga } do assert(engine:load(one)) end
    local above = assert(engine:start "t.above")
    local items = assert(engine:start "t.items")
    local undone = assert(engine:start "t.saga")
    assert(engine:run())
    assert.equal("the child failed: " .. text,
      assert(engine:get(above)).error.message)
    assert.equal(text, assert(engine:get(items)).error.message)
    assert.equal(text,
      assert(engine:history(undone, { type = "undo_failed" }))[1].error
        .message)
  end)

  it("leaves its variables as they were", function()
    local engine = backend.fresh()
    local flow = flaky(1, { retry = false })
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.is_nil((instance.variables or {}).n)
  end)

  it("fails the instance when its attempts are spent", function()
    local engine, clock = backend.fresh()
    local flow, runs = flaky(99, { retry = { max = 3, base = 1 } })
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    for _ = 1, 6 do
      assert(engine:run())
      clock:advance "1h"
    end
    assert.equal(3, runs.n)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("script", instance.error.code)
    assert.matches("no luck 3", instance.error.message)
    assert.matches("retry_spec.lua:%d+", instance.error.where)
    assert.matches("traceback", instance.error.trace)
    assert.equal("failed a, failed a, failed a", kit.trail(engine, id))
    assert.is_nil(engine:next_due())
  end)

  it("suspends the instance instead, where that is said", function()
    local engine, clock, url = backend.fresh()
    local flow, runs = flaky(99, { retry = { max = 2, base = 1 },
      on_exhausted = "suspend" })
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    for _ = 1, 4 do
      assert(engine:run())
      clock:advance "1h"
    end
    assert.equal(2, runs.n)
    local instance = assert(engine:get(id))
    assert.equal("suspended", instance.status)
    assert.equal("a", instance.tokens[1].node)
    assert.matches("no luck 2", instance.error.message)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("is routed by its error's code", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.routes", start = "pay" }
    flow:step("pay", {
      retry = false,
      run = function(ctx)
        error { code = ctx.input.code, message = "declined by the bank" }
      end,
      on_error = { card_declined = "ask", ["*"] = "other" },
      next = "paid",
    })
    flow:finish("ask", { output = function() return "ask" end })
    flow:finish("other", { output = function() return "other" end })
    flow:finish "paid"
    assert(engine:load(flow))
    for code, want in pairs { card_declined = "ask", net_down = "other" } do
      local id = assert(engine:start("t.routes", { code = code }))
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal("completed", instance.status)
      assert.equal(want, instance.output)
      assert.is_nil(instance.error)
      local entry = assert(engine:history(id))[1]
      assert.equal("failed", entry.type)
      assert.equal(code, entry.transition)
      assert.equal(code, entry.error.code)
      assert.matches("declined by the bank", entry.error.message)
    end
  end)

  it("is not tried again when the error says so", function()
    local engine = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function()
      runs = runs + 1
      error { code = "gone", message = "no such account", retry = false }
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(1, runs)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("gone", instance.error.code)
  end)

  it("is tried again when the error wishes", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function()
      runs = runs + 1
      if runs == 1 then error { message = "rate limit", retry = "2m" } end
    end)))
    assert(engine:start "t.one")
    local begun = clock:now()
    assert(engine:run())
    assert.equal(begun + 120, assert(engine:next_due()))
    clock:advance "2m"
    assert(engine:run())
    assert.equal(2, runs)
  end)

  it("is tried again at once when the error wishes that", function()
    local engine, clock = backend.fresh()
    local runs = 0
    assert(engine:load(kit.one(function()
      runs = runs + 1
      if runs == 1 then error { message = "try that again", retry = 0 } end
    end, { retry = { base = "1h", cap = "1h" } })))
    local id = assert(engine:start "t.one")
    local begun = clock:now()
    assert(engine:run())
    assert.equal(begun, clock:now())
    assert.equal(2, runs)
    assert.completed(engine, id)
  end)

  it("keeps its details with the error", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function()
      error { code = "bad", message = "m", retry = false,
        details = { field = "price", limits = { 1, 2 } } }
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.same({ field = "price", limits = { 1, 2 } },
      assert(engine:get(id)).error.details)
  end)

  it("keeps another's details from it, where no handler ran", function()
    local engine = backend.fresh()
    local function waiting(code)
      local flow = pawl.workflow { code = code, start = "w" }
      flow:wait("w", { event = "go", next = "z" })
      flow:finish "z"
      return flow
    end
    local call = pawl.workflow { code = "t.call", start = "c" }
    call:call("c", { workflow = "t.child", next = "z" })
    call:finish "z"
    local each = pawl.workflow { code = "t.each", start = "e" }
    each:each("e", { workflow = "t.child", next = "z",
      items = function() return pawl.array { 1 } end })
    each:finish "z"
    local task = pawl.workflow { code = "t.task", start = "ask" }
    task:task("ask", { title = "Look", next = "z",
      on_error = { cannot = "lost" } })
    task:finish "z"
    task:finish("lost", { status = "failed" })
    local bad = kit.one(function()
      error { code = "bad", retry = false, details = { secret = "ours" } }
    end)
    assert(engine:load(waiting "t.child"))
    for _, flow in ipairs { call, each, task, bad } do
      assert(engine:load(flow))
    end
    local ids = {}
    for i, code in ipairs { "t.call", "t.each", "t.task" } do
      ids[i] = assert(engine:start(code))
    end
    assert(engine:run())
    local other = assert(engine:start "t.one")
    assert(engine:run())
    assert.same({ secret = "ours" }, assert(engine:get(other)).error.details)
    for _, row in ipairs(assert(engine:list { workflow = "t.child" })) do
      assert(engine:cancel(row.id, { by = "ann" }))
    end
    local asked = assert(engine.tasks:list { instance = ids[3] })[1]
    assert(engine.tasks:fail(asked.id, { by = "ann",
      error = { code = "cannot", message = "it is gone" } }))
    assert(engine:run())
    for _, id in ipairs(ids) do
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.is_nil(instance.error and instance.error.details)
      for _, row in ipairs(assert(engine:history(id))) do
        assert.is_nil(row.error and row.error.details)
      end
    end
  end)

  it("does not lose its delay to a wake-up", function()
    local engine, clock, url = backend.fresh()
    local flow, runs = flaky(1, { retry = { base = 60, jitter = 0 } })
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    local begun = clock:now()
    assert(engine:run())
    local store = kit.store(url, clock)
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = store:now() })
    clock:advance(1)
    assert(engine:run())
    assert.equal(1, runs.n)
    assert.equal(begun + 60, assert(engine:next_due()))
    clock:advance(59)
    assert(engine:run())
    assert.equal(2, runs.n)
    assert.completed(engine, id)
  end)

  it("counts its attempts across workers", function()
    local flow, runs = flaky(2, { retry = { base = 1, jitter = 0 } })
    local a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    assert(a:run())
    clock:advance(1)
    assert(b:run())
    assert.equal(2, runs.attempt)
    clock:advance(2)
    assert(a:run())
    assert.equal(3, runs.attempt)
    assert.completed(b, id)
  end)

  it("that is slow to fail does not hold up the others", function()
    local engine = backend.fresh()
    local done = 0
    assert(engine:load(kit.one(function(ctx)
      if ctx.input.bad then error "bad" end
      done = done + 1
    end)))
    for i = 1, 20 do assert(engine:start("t.one", { bad = i % 4 == 0 })) end
    assert(engine:run())
    assert.equal(15, done)
    assert.equal(15, #assert(engine:list { status = "completed" }))
    assert.equal(5, #assert(engine:list { status = "running" }))
  end)
end)
