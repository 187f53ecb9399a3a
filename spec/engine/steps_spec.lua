-- Steps and finishes: what a handler is given, and what becomes of what it
-- returns.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("a step", function(backend)
  it("is given its instance", function()
    local engine, clock = backend.fresh()
    local seen
    assert(engine:load(kit.one(function(ctx)
      seen = {
        id = ctx.id, workflow = ctx.workflow, version = ctx.version,
        node = ctx.node, attempt = ctx.attempt, tenant = ctx.tenant,
        correlation = ctx.correlation, input = ctx.input,
        vars = next(ctx.vars), now = ctx.now(), parent = ctx.parent,
        group = ctx.group, executor = ctx.executor,
      }
    end)))
    local id = assert(engine:start("t.one", { n = 1 },
      { tenant = "acme", correlation = "c-7" }))
    assert(engine:run())
    assert.same({
      id = id, workflow = "t.one", version = 1, node = "a", attempt = 1,
      tenant = "acme", correlation = "c-7", input = { n = 1 },
      now = clock:now(), group = "default",
      executor = engine.executors:list()[1].id,
    }, seen)
  end)

  it("that fails leaves an error that reads as one line", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function()
      error { code = "declined", message = "no money", retry = false }
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local err = assert(engine:get(id)).error
    assert.equal("declined: no money", tostring(err))
    assert.equal("no money", pawl.json.decode(pawl.json.encode(err)).message)
  end)

  it("hands its variables to the next", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain {
      function(ctx) ctx.vars.list = { 1, 2 } end,
      function(ctx) table.insert(ctx.vars.list, 3) end,
      function(ctx) ctx.vars.sum = #ctx.vars.list end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.same({ list = { 1, 2, 3 }, sum = 3 }, instance.output)
    assert.same(instance.output, instance.variables)
    assert.equal("step a, step b, step c", kit.trail(engine, id))
  end)

  it("is recorded before the next one begins", function()
    local b
    local seen = {}
    local flow = kit.chain {
      function() end,
      function(ctx) seen[#seen + 1] = kit.trail(b, ctx.id) end,
      function(ctx) seen[#seen + 1] = kit.trail(b, ctx.id) end,
    }
    local a
    a, b = kit.pair(backend, { flow })
    assert(a:start "t.chain")
    assert(a:run())
    assert.same({ "step a", "step a, step b" }, seen)
  end)

  it("puts its output where `into` says, among what it has set", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.into", start = "a" }
    flow:step("a", { into = "receipt", next = "b", run = function(ctx)
      ctx.vars.n = 1
      return nil, { no = 7 }
    end })
    flow:step("b", { into = "receipt", next = "c", run = function(ctx)
      ctx.vars.seen = ctx.vars.receipt.no -- gives nothing: it stays
    end })
    flow:step("c", { into = "rest", next = "d", run = function(ctx)
      ctx.vars.receipt, ctx.vars.rest = nil, "what is overwritten"
      return nil, { 1, 2 }
    end })
    flow:step("d", { into = "got", next = "z", run = function(ctx)
      ctx.await(1)
      return nil, "late"
    end })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.into")
    assert(engine:run())
    clock:advance(2)
    assert(engine:run())
    assert.same({ n = 1, seen = 7, rest = { 1, 2 }, got = "late" },
      engine:get(id).output)
    local rows = assert(engine:history(id))
    assert.same({ no = 7 }, rows[1].output)
    assert.same({ set = { n = 1, receipt = { no = 7 } } }, rows[1].changes)
    assert.same({ set = { rest = { 1, 2 } }, unset = { "receipt" } },
      rows[3].changes)
  end)

  it("gives what it returns where only one way leads on", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.one.way", start = "a" }
    local gives = { "b", { no = 7 }, false, 1.5 }
    local names = { "a", "b", "c", "d", "e" }
    for i, value in ipairs(gives) do
      flow:step(names[i], { into = "v" .. i, next = names[i + 1],
        run = function() return value end })
    end
    flow:step("e", { into = "v5", next = "f", run = function(ctx)
      ctx.await(0)
      return "late"
    end })
    flow:step("f", { next = "g", run = function() return nil, "as before" end })
    flow:step("g", { next = { yes = "z", no = "a" }, run = function()
      return "yes"
    end })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.one.way")
    assert(engine:run())
    assert.same({ v1 = "b", v2 = { no = 7 }, v3 = false, v4 = 1.5,
      v5 = "late" }, engine:get(id).output)
    local rows = assert(engine:history(id))
    assert.equal("as before", rows[6].output)
    assert.is_nil(rows[1].transition)
    assert.equal("yes", rows[7].transition)
  end)

  it("names its way where there are several, or one that has a name",
    function()
      local engine = backend.fresh()
      for i, next_ in ipairs { { yes = "z" }, { yes = "z", no = "y" } } do
        local flow = pawl.workflow { code = "t.ways" .. i, start = "a" }
        flow:step("a", { next = next_, retry = false,
          run = function() return { no = 7 } end }):finish "z"
        if next_.no then flow:finish "y" end
        assert(engine:load(flow))
        local id = assert(engine:start("t.ways" .. i))
        assert(engine:run())
        assert.matches("returned a table as its transition",
          engine:get(id).error.message)
      end
    end)

  it("fails where that would be more than there may be", function()
    local engine = backend.fresh { max_bytes = 10000 }
    local flow = pawl.workflow { code = "t.into", start = "a" }
    local ran = 0
    flow:step("a", { into = "big", next = "z", run = function(ctx)
      ran = ran + 1
      ctx.vars.text = ("x"):rep(6000)
      return nil, ("y"):rep(6000)
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.into")
    assert(engine:run())
    local now = assert(engine:get(id))
    assert.equal("failed", now.status)
    assert.equal("limit", now.error.code)
    assert.matches('with "big", of 6002 bytes, the variables would have',
      now.error.message, 1, true)
    assert.same({}, now.variables)
    assert.equal(1, ran) -- it would be too much again
  end)

  it("has no `into` that is no variable's name", function()
    assert.error_matches(function()
      pawl.workflow { code = "t.into", start = "a" }
        :step("a", { into = "", run = function() end, next = "z" })
    end, "'into' of step \"a\" is empty")
  end)

  it("keeps its output in the history, and what changed", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain {
      function(ctx)
        ctx.vars.keep, ctx.vars.drop = "same", true
        return nil, { hold = "h-1" }
      end,
      function(ctx) ctx.vars.drop, ctx.vars.new = nil, 1 end,
      function() return nil, pawl.null end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local history = assert(engine:history(id))
    assert.same({ hold = "h-1" }, history[1].output)
    local changes = pawl.json.encode(history[2].changes)
    assert.is_nil(changes:find("same", 1, true))
    assert.truthy(changes:find("new", 1, true))
    assert.truthy(changes:find("drop", 1, true))
    assert.is_nil(history[2].output)
  end)

  it("takes the transition it returns", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.ways", start = "a" }
    flow:step("a", {
      run = function(ctx) return ctx.input.way, { took = ctx.input.way } end,
      next = { left = "l", right = "r" },
    })
    flow:finish("l", { output = function() return "left" end })
    flow:finish("r", { output = function() return "right" end })
    assert(engine:load(flow))
    for _, way in ipairs { "left", "right" } do
      local id = assert(engine:start("t.ways", { way = way }))
      assert(engine:run())
      assert.equal(way, assert(engine:get(id)).output)
      local entry = assert(engine:history(id))[1]
      assert.equal(way, entry.transition)
      assert.same({ took = way }, entry.output)
    end
  end)

  it("fails at once on a transition it does not have", function()
    local engine = backend.fresh()
    local runs = 0
    local flow = pawl.workflow { code = "t.ways", start = "a" }
    flow:step("a", {
      run = function(ctx)
        runs = runs + 1
        return ctx.input.way
      end,
      next = { left = "z", right = "z" },
    })
    flow:finish "z"
    assert(engine:load(flow))
    local wrong = assert(engine:start("t.ways", { way = "rihgt" }))
    local none = assert(engine:start "t.ways")
    assert(engine:run())
    local err = assert(engine:get(wrong)).error
    assert.equal("script", err.code)
    assert.matches("rihgt", err.message)
    assert.matches('did you mean "right"', err.hint)
    assert.failed(engine, none)
    assert.matches("no transition", assert(engine:get(none)).error.message)
    assert.equal(2, runs)
  end)

  it("may be visited again, each time under another number", function()
    local engine = backend.fresh()
    local keys = {}
    local flow = pawl.workflow { code = "t.loop", start = "a" }
    flow:step("a", {
      run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        keys[#keys + 1] = ctx.idempotency_key()
        return ctx.vars.n < 3 and "again" or "enough"
      end,
      next = { again = "a", enough = "z" },
    })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.loop")
    assert(engine:run())
    local visits = {}
    for i, entry in ipairs(assert(engine:history(id))) do
      visits[i] = entry.visit
    end
    assert.same({ 1, 2, 3 }, visits)
    assert.equal(3, #keys)
    assert.are_not.equal(keys[1], keys[2])
    assert.are_not.equal(keys[2], keys[3])
    assert.are_not.equal(keys[1], keys[3])
  end)

  it("yields to others when it loops without end", function()
    local engine, clock = backend.fresh { batch = 2 }
    local rounds, other_at = 0, nil
    local flow = pawl.workflow { code = "t.loop", start = "a" }
    flow:step("a", {
      run = function()
        rounds = rounds + 1
        clock:advance(0.001)
        return (other_at or rounds == 5000) and "enough" or "again"
      end,
      next = { again = "a", enough = "z" },
    })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(kit.one(function() other_at = rounds end)))
    assert(engine:start "t.loop")
    assert(engine:start "t.loop")
    clock:advance(0.001)
    assert(engine:start "t.one")
    assert(engine:tick(30))
    assert.is_true(other_at <= 2000) -- a thousand steps of each
    assert(engine:run())
    assert.equal(3, #assert(engine:list { status = "completed" }))
  end)

  it("has its attributes stored with it", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain {
      function(ctx)
        ctx.attrs.total = pawl.decimal "12.50"
        ctx.attrs.name = "n"
        ctx.attrs.count = 9007199254740993
        ctx.attrs.ratio = 0.1 + 0.2
        ctx.attrs.on = false
        ctx.attrs.day = pawl.date "2026-01-31"
        ctx.attrs.bin = pawl.binary "\0\255"
      end,
      function(ctx)
        assert(tostring(ctx.attrs.total) == "12.50")
        assert(ctx.attrs.count == 9007199254740993)
        assert(ctx.attrs.on == false)
        ctx.attrs.name = nil
      end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status,
      instance.error and instance.error.message)
    assert.is_nil(instance.attributes.name)
    assert.equal("12.50", instance.attributes.total.value)
    assert.equal(9007199254740993, instance.attributes.count)
    assert.equal(0.1 + 0.2, instance.attributes.ratio)
    assert.equal("2026-01-31T00:00:00.000000Z", instance.attributes.day.value)
    assert.equal("\0\xff", instance.attributes.bin.value)
    assert.is_false(instance.attributes.on)
  end)

  it("stores no attribute when it fails", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.attrs.name = "n"
      error "no"
    end, { retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.same({}, assert(engine:get(id)).attributes)
  end)
end)

kit.describe("a finish", function(backend)
  it("can end the instance as failed", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.no", start = "a" }
    flow:step("a", { run = function() end, next = "refused" })
    flow:finish("refused", { status = "failed" })
    assert(engine:load(flow))
    local id = assert(engine:start "t.no")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("refused", instance.node)
    assert.same({}, instance.tokens)
    assert.is_string(instance.times.completed)
  end)

  it("may be all there is", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.end", start = "z" }
    flow:finish("z", { output = function(ctx) return ctx.input end })
    assert(engine:load(flow))
    local id = assert(engine:start("t.end", { n = 1 }))
    assert(engine:run())
    assert.same({ n = 1 }, assert(engine:get(id)).output)
    assert.equal("started z", kit.trail(engine, id))
  end)

  it("is tried by itself when its output fails, the step being kept",
    function()
      local engine, clock = backend.fresh()
      local runs, asked = 0, 0
      local flow = pawl.workflow { code = "t.out", start = "a" }
      flow:step("a", { run = function() runs = runs + 1 end, next = "z" })
      flow:finish("z", { output = function()
        asked = asked + 1
        if asked < 3 then error "not yet" end
        return asked
      end })
      assert(engine:load(flow))
      local id = assert(engine:start "t.out")
      for _ = 1, 5 do
        assert(engine:run())
        clock:advance "10m"
      end
      assert.completed(engine, id)
      assert.equal(3, assert(engine:get(id)).output)
      assert.equal(1, runs)
    end)

  it("may not change variables in its output", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.out", start = "a" }
    flow:step("a", { run = function() end, next = "z" })
    flow:finish("z", { output = function(ctx) ctx.vars.x = 1 end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.out")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("value", instance.error.code)
    assert.matches('`output` of node "z"', instance.error.message)
    assert.same({}, instance.variables or {})
  end)
end)

kit.describe("an ended instance", function(backend)
  it("is left alone for ever", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local before = assert(engine:get(id))
    clock:advance "100d"
    assert.equal(0, assert(engine:run()).claimed)
    assert.same(before, assert(engine:get(id)))
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.is_nil(engine:next_due())
  end)
end)
