-- What is recorded of a visit: the same of whatever stands there.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- The rows of this type of an instance.
local function of_type(engine, id, type)
  return assert(engine:history(id, { type = type }))
end

--- A time as rows tell it.
local function told(seconds)
  return seconds and os.date("!%Y-%m-%dT%H:%M:%S.000000Z", seconds // 1)
end

--- One node of a kind, from which it goes to z, five minutes after the start.
local drawn = {
  wait = function(flow)
    flow:wait("n", { event = "go", timeout = "1h", next = "z" })
  end,
  timer = function(flow) flow:timer("n", { after = "1m", next = "z" }) end,
  task = function(flow)
    flow:task("n", { title = "look", due = "1h", next = "z" })
  end,
  call = function(flow)
    flow:call("n", { workflow = "t.below", timeout = "1h", next = "z" })
  end,
  each = function(flow)
    flow:each("n", { workflow = "t.below", timeout = "1h",
      items = function() return { 1, 2 } end, next = "z" })
  end,
  timeout = function(flow)
    flow:wait("n", { event = "never", timeout = "1m",
      next = { received = "z", timeout = "z" } })
  end,
}

--- What ends it, and what it then leaves.
local ways = {
  wait = { "received", function(engine, id)
    assert(engine:signal { name = "go", instance = id, by = "shop" })
  end, due = 3600, by = "shop" },
  timer = { "timer", function() end, after = 60, due = 60 },
  task = { "task", function(engine)
    assert(engine.tasks:complete(assert(engine.tasks:list())[1].id,
      { by = "ann" }))
  end, by = "ann" },
  call = { "child", function(engine) -- its children wait for this, too
    assert(engine:signal { name = "below" })
  end, due = 3600 },
  each = { "each", function(engine)
    assert(engine:signal { name = "below" })
  end, due = 3600 },
  timeout = { "timeout", function() end, after = 60, due = 60 },
}

local function below()
  local flow = pawl.workflow { code = "t.below", start = "w" }
  flow:wait("w", { event = "below", next = "z" })
  flow:finish "z"
  return flow
end

kit.describe("the record of a visit", function(backend)
  for kind, way in pairs(ways) do
    it("says since when it stood at a " .. kind .. ", also after another has "
      .. "taken it over", function()
      local engine, clock, url = backend.fresh()
      local flow = pawl.workflow { code = "t.record", start = "a" }
      flow:step("a", { run = function() end, next = "n" })
      drawn[kind](flow)
      flow:finish "z"
      assert(engine:load(below()))
      assert(engine:load(flow))
      local id = assert(engine:start "t.record")
      clock:advance(5)
      local began = clock:now()
      assert(engine:run())
      engine:close()

      clock:advance(way.after or 300)
      local other = kit.rival(backend, url, clock)
      assert(other:load(below()))
      assert(other:load(flow))
      way[2](other, id)
      assert(other:run())
      assert.completed(other, id)
      local row = of_type(other, id, way[1])[1]
      assert.equal("n", row.node)
      assert.equal(told(began), row.started)
      assert.equal(told(clock:now()), row.completed)
      assert.equal(told(way.due and began + way.due), row.due)
      assert.equal(way.by, row.by)
      assert.equal(1, row.attempt)
      assert.is_string(row.executor)
    end)
  end

  it("says since when it stood where it times out without a way", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.record", start = "w" }
    flow:wait("w", { event = "never", timeout = "1m", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.record")
    local began = clock:now()
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    local row = of_type(engine, id, "failed")[1]
    assert.equal(told(began), row.started)
  end)

  it("has the handler's own times of a step, and of each attempt", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      clock:advance(2)
      if ctx.attempt == 1 then error "not yet" end
    end, { retry = { max = 2, base = 60, jitter = 0 } })))
    local id = assert(engine:start "t.one")
    local began = clock:now()
    assert(engine:run())
    clock:advance(120)
    local again = clock:now()
    assert(engine:run())
    local failed, done = of_type(engine, id, "failed")[1],
      of_type(engine, id, "step")[1]
    assert.same({ told(began), told(began + 2), 1 },
      { failed.started, failed.completed, failed.attempt })
    assert.same({ told(again), told(again + 2), 2 },
      { done.started, done.completed, done.attempt })
  end)

  it("of a call names its child, whose input is what it was given", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.record", start = "n" }
    flow:call("n", { workflow = "t.below", next = "z",
      input = function() return { item = 7 } end })
    flow:finish "z"
    assert(engine:load(below()))
    assert(engine:load(flow))
    local id = assert(engine:start "t.record")
    assert(engine:run())
    assert(engine:signal { name = "below" })
    assert(engine:run())
    local child = assert(engine:get(of_type(engine, id, "child")[1].text))
    assert.same({ id, { item = 7 } }, { child.parent, child.input })
  end)

  it("tells what each visit was given: by variables, a task, a child",
  function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.record", start = "a" }
    flow:step("a", { next = "ask", run = function(ctx)
      ctx.vars.total = ctx.input.total + 1
    end })
    flow:task("ask", { title = "t", next = "hear",
      input = { ask = 7 } })
    flow:wait("hear", { event = "go", into = "heard", next = "b" })
    flow:step("b", { next = "n", run = function(ctx)
      ctx.vars.total = ctx.vars.total * 2
    end })
    flow:call("n", { workflow = "t.below", next = "z",
      input = function(ctx) return { call = ctx.vars.total } end })
    flow:finish "z"
    assert(engine:load(below()))
    assert(engine:load(flow))
    local id = assert(engine:start("t.record", { total = 1 }))
    assert(engine:run())
    local open = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(open.id, { by = "ann" }))
    assert(engine:run())
    assert(engine:signal { name = "go", instance = id, data = { n = 5 } })
    assert(engine:run())
    assert(engine:signal { name = "below" })
    assert(engine:run())
    assert.completed(engine, id)
    local of = {}
    for _, row in ipairs(assert(engine:history(id))) do of[row.node] = row end
    --- A variable as the visit of that node found it.
    local function found(name, node)
      local last
      for _, row in ipairs(assert(engine:history(id, { variable = name }))) do
        if row.seq < of[node].seq then last = row.value end
      end
      return last
    end
    assert.same({ total = 1 }, assert(engine:get(id)).input)
    assert.same({ nil, 2, 2, 4 }, { found("total", "a"), found("total", "ask"),
      found("total", "b"), found("total", "n") })
    local task = assert(engine.tasks:get(open.id))
    assert.same({ "ask", of.ask.visit, { ask = 7 } },
      { task.node, task.visit, task.input })
    assert.same({ n = 5 }, of.hear.output)
    assert.same({ call = 4 }, assert(engine:get(of.n.text)).input)
  end)

  it("goes on for what waited for siblings when it failed", function()
    local engine, clock = backend.fresh()
    local flow, fails = pawl.workflow { code = "t.record", start = "f" }, true
    flow:fork("f", { next = { "a", "e" } })
    flow:timer("a", { after = "1m", next = "b" })
    flow:step("b", { next = "j", run = function()
      if fails then error { code = "bad", retry = false } end
    end })
    flow:each("e", { branch = "i", next = "j",
      items = function() return { 1 } end })
    flow:timer("i", { after = "2m", next = "e" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.record")
    local began = clock:now()
    assert(engine:run())
    clock:advance(60)
    assert(engine:run())
    assert.failed(engine, id)
    fails = false
    assert(engine:retry(id))
    assert(engine:run())
    clock:advance(120)
    assert(engine:run())
    assert.completed(engine, id)
    local each, timer = of_type(engine, id, "each")[1],
      of_type(engine, id, "timer")
    assert.equal(told(began), each.started)
    assert.equal(told(began + 60), timer[#timer].started)
  end)
end)

--- Waits for "go", then for another.
local function waiting()
  local flow = pawl.workflow { code = "t.waiting", start = "a" }
  flow:wait("a", { event = "go", next = "b" })
  flow:wait("b", { event = "other", next = "z" })
  flow:finish "z"
  return flow
end

kit.describe("what an event did is recorded with its id and source",
  function(backend)
    it("by the wait that took it, early, late and behind another's commit",
      function()
        local engine = backend.fresh()
        local flow = pawl.workflow { code = "t.keyed", start = "a" }
        for _, one in ipairs { { "a", "b" }, { "b", "c" }, { "c", "z" } } do
          flow:wait(one[1], { event = one[1] .. ".go",
            key = function() return "k" end,
            into = one[1] == "b" and "heard" or nil, next = one[2] })
        end
        flow:finish "z"
        assert(engine:load(flow))
        assert(engine:signal { name = "b.go", key = "k", id = "E-2",
          source = "shop", by = "ben", data = 7 }) -- before it waits
        local id = assert(engine:start "t.keyed")
        assert(engine:run())
        assert(engine:signal { name = "a.go", key = "k", id = "E:1",
          source = "shop:3", by = "ann" })
        assert(engine:run())
        assert(engine:transaction(function(tx)
          assert(tx:signal { name = "c.go", instance = id, by = "cem" })
          return true
        end))
        assert(engine:run())
        local rows = of_type(engine, id, "received")
        assert.same({ id = "E:1", source = "shop:3", key = "k" },
          rows[1].changes.event)
        assert.same({ set = { heard = 7 },
          event = { id = "E-2", source = "shop", key = "k" } },
          rows[2].changes)
        assert.equal(36, #rows[3].changes.event.id)
        assert.is_nil(rows[3].changes.event.source)
        assert.same({ "ann", "ben", "cem" },
          { rows[1].by, rows[2].by, rows[3].by })
      end)

    it("and who sent it has started what it starts", function()
      local engine = backend.fresh()
      local flow = waiting()
      assert(engine:load(flow))
      local trig = pawl.workflow { code = "t.trig", start = "a",
        trigger = "order.placed" }
      trig:step("a", { run = function() end, next = "z" })
      trig:finish "z"
      assert(engine:load(trig))
      local function started_by(signal)
        local _, answer = assert(engine:signal(signal))
        return assert(engine:get(answer.instance)).started_by
      end
      assert.equal("sam", started_by { name = "go", by = "sam",
        start = { workflow = "t.waiting" } })
      assert.equal("eve", started_by { name = "go", by = "sam",
        start = { workflow = "t.waiting", by = "eve" } })
      assert.is_nil(started_by { name = "go",
        start = { workflow = "t.waiting" } })
      assert(engine:signal { name = "order.placed", by = "sam" })
      local list = assert(engine:list { workflow = "t.trig" })
      assert.equal("sam", assert(engine:get(list[1].id)).started_by)
    end)

    it("and who has one replaced, if that is known", function()
      local engine = backend.fresh()
      assert(engine:load(waiting()))
      for _, by in ipairs { "sam", "" } do
        local function start()
          local _, answer = assert(engine:signal { name = "other",
            by = by ~= "" and by or nil, start = { workflow = "t.waiting",
              key = "k", on_existing = "replace" } })
          return answer.instance
        end
        local old = start()
        start()
        assert(engine:run())
        local why = assert(engine:get(old)).cancellation
        assert.equal(by ~= "" and by or nil, why.by)
        assert.matches("replaced by", why.reason)
      end
    end)

    it("of one that starts an instance, and goes to it", function()
      local engine, _, url = backend.fresh()
      assert(engine:load(waiting()))
      local function sent()
        local reached, answer = engine:signal { name = "go", id = "e:1",
          source = "shop:3", start = { workflow = "t.waiting" } }
        return assert(reached) and answer
      end
      local answer = sent()
      local id = answer.instance
      assert.same({ true, false }, { answer.created, answer.repeated })
      answer = sent()
      assert.same({ id, false, true },
        { answer.instance, answer.created, answer.repeated })
      local function trigger()
        local got = assert(engine:get(id))
        return { got.trigger_event, got.trigger_source }
      end
      assert.same({ "e:1", "shop:3" }, trigger())
      assert(engine:signal { name = "go", id = "e2", source = "other",
        instance = id })
      assert(engine:run())
      assert.equal(1, #of_type(engine, id, "received"))
      assert.same({ "e:1", "shop:3" }, trigger())
      assert.equal(1, kit.count(backend, url, "instance"))
    end)

    it("not of one that goes to an instance that is there", function()
      local engine = backend.fresh()
      assert(engine:load(waiting()))
      local id = assert(engine:start("t.waiting", nil, { key = "k" }))
      assert(engine:signal { name = "go", id = "e", source = "shop",
        start = { workflow = "t.waiting", key = "k" } })
      assert.is_nil(assert(engine:get(id)).trigger_event)
    end)

    it("of one that triggers a workflow, with a source and without", function()
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.trig", start = "a",
        trigger = "order.placed" }
      flow:step("a", { run = function() end, next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      assert(engine:signal { name = "order.placed", id = "a", source = "shop" })
      assert(engine:signal { name = "order.placed", id = "b" })
      local list = assert(engine:list { workflow = "t.trig" })
      local second, first = assert(engine:get(list[1].id)),
        assert(engine:get(list[2].id))
      assert.same({ "a", "shop" },
        { first.trigger_event, first.trigger_source })
      assert.equal("b", second.trigger_event)
      assert.is_nil(second.trigger_source)
    end)

    it("of one that cancels", function()
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.cancel", start = "t",
        cancel_on = "shop.closed" }
      flow:timer("t", { after = "1h", next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.cancel")
      assert(engine:run())
      assert(engine:signal { name = "shop.closed", id = "e:1",
        source = "shop:3", by = "ann" })
      assert(engine:run())
      local why = assert(engine:get(id)).cancellation
      assert.same({ "event", "e:1", "shop:3", "ann" },
        { why.source, why.event_id, why.event_source, why.by })
    end)
  end)
