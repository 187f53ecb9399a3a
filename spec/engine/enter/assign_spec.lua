-- Whom an event is assigned to, of those of which one takes it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local takers = require "spec.engine.takers"

local waiting = takers.flow

kit.describe("whom an event is assigned to", function(backend)
  local engine, clock, url
  local begun, job, got = takers.on(backend, function(...)
    if ... then engine, clock, url = ... end
    return engine
  end)

  --- In how many inboxes it lies.
  local function told(id)
    return kit.count(backend, url, "inbox",
      ("event_id = ':%s'"):format(id))
  end

  local function free(how)
    return kit.count(backend, url, "subscription",
      how == nil and "free is null" or how and "free" or "not free")
  end

  --- To a group that nobody works for.
  local function sent_away(ids)
    for _, id in ipairs(ids) do
      backend.sql(url, ("update %s set executor_group = 'away' where instance \
        = %s"):format(kit.table(backend, "agenda"),
        kit.id_literal(backend, id)))
    end
  end

  it("costs an event that nobody waits for no round trip", function()
    begun(3)
    local function trips(name)
      local before = engine:count().trips
      assert(engine:signal { name = name, key = "q" })
      return engine:count().trips - before
    end
    -- its row; whom it starts, who waits and who is free; its mark
    assert.equal(3, trips "nobody.waits")
    -- and that it is under way, its letter, and a word to the workers
    local told_us = trips "job"
    assert(told_us >= 5 and told_us <= 6, told_us)
  end)

  it("is told to one of many, who has waited longest", function()
    local ids = begun(1)
    for i = 2, 12 do
      clock:advance(1)
      ids[i] = begun(1, false)[1]
    end
    for n = 1, 3 do
      assert.equal(1, job(n, "job" .. n))
      assert.equal(1, told("job" .. n))
    end
    assert.same({ 3, 9 }, { free(false), free(true) })
    assert(engine:run())
    assert.same({ 1, 2, 3 }, got { ids[1], ids[2], ids[3] })
    assert.same({ 0, 9 }, { free(false), free(true) })
    assert.equal(clock:now() + 30 * 86400 - 8,
      math.floor(engine:next_due() + 0.5)) -- of those that wait
  end)

  --- Takes five, and gives their sum.
  local function taking()
    local flow = pawl.workflow { code = "t.one" }
    flow:wait("w", { event = "job", key = "queue", take = "one",
      next = "do" })
    flow:step("do", { next = { more = "w", enough = "z" },
      run = function(ctx)
        ctx.vars.sum = (ctx.vars.sum or 0) + ctx.event.data
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 5 and "more" or "enough"
      end })
    flow:finish("z", { output = function(ctx) return ctx.vars.sum end })
    return flow
  end

  it("marks nobody who has had it before", function()
    local ids = begun(1, taking())
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(taking()))
    local met = false
    probe.fault("engine.assign.noted=call@1", function()
      met = true
      probe.fault(nil)
      assert(rival:wake(ids[1])) -- it looks, and finds it
      assert(rival:run())
      assert.equal(1, assert(rival:get(ids[1])).variables.n)
    end)
    job(1)
    probe.fault(nil)
    assert.is_true(met)
    assert.equal(1, free(true))
    for n = 2, 5 do job(n) end
    assert(engine:run())
    assert.same({ 15 }, got(ids))
  end)

  it("marks nobody who waits for another key by now", function()
    local flow = pawl.workflow { code = "t.one" }
    flow:wait("w", { event = "job", key = "queue", take = "one",
      into = "job", next = "do" })
    flow:choice("do", { next = { more = "change", enough = "z" },
      choose = function(ctx)
        return ctx.vars.queue and "enough" or "more"
      end })
    flow:step("change", { next = "w",
      run = function(ctx) ctx.vars.queue = "other" end })
    flow:finish("z", { output = function(ctx) return ctx.vars.job end })
    local ids = begun(1, flow)
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(flow))
    assert(engine:signal { name = "job", instance = ids[1] })
    clock:advance(1)
    probe.fault("engine.assign.noted=call@1", function()
      probe.fault(nil)
      assert(rival:run()) -- it gets that, and goes on
    end)
    job(1)
    probe.fault(nil)
    assert.equal("other", assert(engine:get(ids[1])).variables.queue)
    assert.equal(1, free(true))
    assert(engine:signal { name = "job", key = "other", data = 7 })
    assert(engine:run())
    assert.same({ 7 }, got(ids))
  end)

  it("is kept where nobody is free, for who is so first", function()
    local ids = begun(2, taking())
    local reached = 0
    for n = 1, 10 do reached = reached + job(2 ^ n) end
    assert.equal(2, reached)
    assert(engine:run())
    local sums = got(ids)
    assert.equal(2, #sums)
    assert.equal(2 ^ 11 - 2, sums[1] + sums[2])
    assert.equal(0, kit.count(backend, url, "event",
      "assigned_at is not null"))
  end)

  it("goes past who is suspended, at once", function()
    local ids = begun(3)
    for i = 1, 2 do assert(engine:suspend(ids[i])) end
    assert(engine:run())
    assert.equal(3, job(1, "job1"))
    assert(engine:run())
    assert.same({ 1 }, got(ids))
    assert.equal("completed", kit.status(engine, ids[3]))
    -- and he has no more of it than that it is gone
    for i = 1, 2 do assert(engine:resume(ids[i])) end
    assert(engine:run())
    assert.same({ 0, 2 }, { free(false), free(true) })
    job(2)
    assert(engine:run())
    assert.same({ 1, 2 }, got(ids))
  end)

  it("is not long in going past many who are suspended", function()
    local still = 64 * 4 + 10
    begun(still)
    backend.sql(url, ("update %s set status = 'suspended'"):format(
      kit.table(backend, "instance")))
    clock:advance(1)
    local ids = begun(1, false)
    job(1)
    kit.pass(engine, clock, 2 * 3)
    assert.same({}, got(ids))
    kit.pass(engine, clock, 2)
    assert.same({ 1 }, got(ids))
  end)

  it("goes past those of a workflow that is suspended", function()
    begun(70)
    assert(engine.workflows:suspend { workflow = "t.one" })
    clock:advance(1)
    assert(engine:load(waiting(nil, "t.two")))
    local ids = begun(1, false, "t.two")
    job(1, "job1")
    kit.pass(engine, clock, 2)
    assert.same({ 1 }, got(ids))
    assert(engine.workflows:resume { workflow = "t.one" })
    kit.pass(engine, clock, 1)
    assert.same({ 0, 70 }, { free(false), free(true) })
  end)

  it("comes to who is behind a thousand that do not come to it", function()
    begun(1000)
    backend.sql(url, ("update %s set executor_group = 'away'"):format(
      kit.table(backend, "agenda")))
    -- those that have no row there are given one by what comes for them
    backend.sql(url, ("update %s set executor_group = 'away'"):format(
      kit.table(backend, "instance")))
    clock:advance(1)
    local ids = begun(1, false)
    job(1)
    kit.pass(engine, clock, 30)
    assert.same({}, got(ids))
    kit.pass(engine, clock, 16 * 16)
    assert.same({ 1 }, got(ids))
  end)

  it("goes on from who does not come to it", function()
    local ids = begun(1)
    clock:advance(1)
    ids[2] = begun(1, false)[1]
    local store = kit.store(url, clock)
    assert.equal(1, job(1, "job1"))
    kit.claim(store, ids[1]) -- by somebody who is slow
    assert(engine:run())
    assert.same({}, got(ids))
    assert.equal(clock:now() + 2, engine:next_due())
    kit.pass(engine, clock, 2)
    assert.same({ 1 }, got(ids))
    assert.equal("completed", kit.status(engine, ids[2]))
    assert.equal(0, kit.count(backend, url, "event",
      "assigned_at is not null"))
    clock:advance(31)
    assert(engine:run())
    assert.same({ 1 }, got(ids))
    assert.equal(1, free(true))
  end)

  it("goes on as soon, though it came long ago", function()
    local ids = begun(1)
    clock:advance(1)
    ids[2] = begun(1, false)[1]
    sent_away { ids[1] }
    local allow = kit.refuse(backend, url, "event", "update")
    job(1)
    allow()
    clock:advance "10h"
    local other = kit.rival(backend, url, clock) -- which assigns it
    assert(other:load(waiting()))
    assert(other:run())
    assert.same({}, got(ids))
    kit.pass(other, clock, 2)
    assert.same({ 1 }, got(ids))
  end)

  it("holds up nothing else where it cannot be assigned", function()
    local ids = begun(1)
    clock:advance(1)
    ids[2] = begun(1, false)[1]
    sent_away { ids[1] }
    job(1)
    assert(engine:load(kit.one(function() end, { code = "t.other" })))
    local id = assert(engine:start("t.other"))
    clock:advance(2)
    local allow = kit.refuse(backend, url, "inbox", "insert")
    assert(engine:run())
    allow()
    assert.completed(engine, id)
    kit.pass(engine, clock, 4)
    assert.same({ 1 }, got(ids))
  end)

  it("is seen to in time where another clock was ahead", function()
    local ids = begun(1)
    sent_away(ids)
    job(1)
    backend.sql(url, ("update %s set assigned_at = assigned_at + %s"):format(
      kit.table(backend, "event"),
      backend.name == "sqlite" and "3600000000" or "interval '1 hour'"))
    local other = kit.rival(backend, url, clock)
    assert(other:load(waiting()))
    assert(other:run())
    assert.equal(clock:now() + 2, other:next_due())
  end)

  it("goes on from who is cancelled with it", function()
    local ids = begun(1)
    clock:advance(1)
    ids[2] = begun(1, false)[1]
    assert(engine:cancel(ids[1]))
    assert.equal(1, job(1))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, ids[1]))
    kit.pass(engine, clock, 2)
    assert.same({ 1 }, got(ids))
  end)

  it("is not told to whose time is over", function()
    local ids = begun(1, waiting { timeout = "1h" })
    clock:advance "30m"
    ids[2] = begun(1, false)[1]
    clock:advance "31m"
    assert.equal(1, job(1))
    assert(engine:run())
    assert.equal("late", assert(engine:get(ids[1])).node)
    assert.same({ 1 }, got { ids[2] })
  end)

  it("goes on from a group that nobody works for, to all", function()
    sent_away(begun(80))
    clock:advance(1)
    local ids = begun(1, false)
    assert.equal(1, job(1, "job1"))
    assert(engine:run())
    assert.same({}, got(ids))
    kit.pass(engine, clock, 2)
    assert.equal(65, told "job1")
    kit.pass(engine, clock, 2)
    assert.same({ 1 }, got(ids))
    assert.equal(80, told "job1")
    assert.equal(0, kit.count(backend, url, "event",
      "assigned_at is not null"))
    kit.pass(engine, clock, 4) -- by names it knows only what it has sent
    assert.is_nil(engine:next_due())
  end)

  it("is told to so many within ticks that are short", function()
    sent_away(begun(80))
    job(1, "job1")
    clock:advance(2)
    assert(engine:tick(0.002))
    local few = told "job1"
    assert.is_true(few < 40, few .. " in one tick")
    for _ = 1, 64 * 8 do assert(engine:tick(0.002)) end
    assert.equal(65, told "job1")
    assert.equal(clock:now() + 2, engine:next_due())
  end)

  it("is assigned by whoever comes, where who sent it has died", function()
    local ids = begun(1)
    clock:advance(1)
    ids[2] = begun(1, false)[1]
    do
      local sender <close> = kit.rival(backend, url, clock)
      assert(sender:signal { name = "job", key = "q", data = 1 })
    end
    kit.claim(kit.store(url, clock), ids[1])
    clock:advance(3)
    local other = kit.rival(backend, url, clock)
    assert(other:load(waiting()))
    assert(other:run())
    assert.same({ 1 }, got { ids[2] })
  end)

  it("is told to whose time was over, and is put off", function()
    local ids = begun(1, waiting { timeout = "1h" })
    assert(engine:suspend(ids[1]))
    assert(engine:run())
    clock:advance "2h"
    assert.equal(0, job(1))
    assert(engine:resume(ids[1], { shift = true }))
    assert(engine:run())
    assert.same({ 1 }, got(ids))
  end)

  it("is told as long as an event makes it wait", function()
    local ids = begun(1, waiting { timeout = "1h", reschedule = "later" })
    clock:advance "30m"
    assert(engine:signal { name = "later", instance = ids[1] })
    assert(engine:run())
    clock:advance "40m"
    assert.equal(1, job(1))
    assert(engine:run())
    assert.same({ 1 }, got(ids))
  end)

  --- As whoever sent it comes no further; the others do all again.
  local function had_once(ids, send)
    send()
    clock:advance(6)
    local other = kit.rival(backend, url, clock) -- whose first look it is
    assert(other:load(waiting()))
    assert(other:run())
    kit.pass(other, clock, 5)
    assert.same({ 1 }, got(ids))
    assert.same({ 0, 1 }, { free(false), free(true) })
    job(2)
    kit.pass(other, clock, 5)
    assert.same({ 1, 2 }, got(ids))
  end

  for name, write in pairs { event = "update", inbox = "insert",
    subscription = "update" } do
    it("is had once, when this is not written: " .. name, function()
      local ids = begun(2)
      had_once(ids, function()
        local allow = kit.refuse(backend, url, name, write)
        assert.equal(0, job(1))
        allow()
      end)
    end)
  end

  for n = 1, 6 do
    it("is had once, whichever answer is lost: " .. n, function()
      if backend.label == ":memory:" then return end -- it goes with that
      local ids = begun(2)
      had_once(ids, function()
        probe.fault(("commit.after=drop@%d"):format(n))
        assert.truthy(job(1) >= 0)
        probe.fault(nil)
      end)
    end)
  end

  it("is told to all of those that may turn it down", function()
    for _, more in ipairs { { accepts = "integer" },
      { match = function() return true end },
      { answer = function(event) return event.data end } } do
      local ids = begun(3, waiting(more))
      assert.equal(3, free(nil))
      assert.equal(3, job(1, "job1"))
      assert(engine:run())
      assert.same({ 1 }, got(ids))
      backend.cleanup()
    end
  end)

  it("leaves nobody behind whose store fails him", function()
    local flow = pawl.workflow { code = "t.one" }
    flow:fork("f", { next = { "t", "b" } })
    flow:timer("t", { after = 1, next = "a" })
    flow:wait("a", { event = "job", key = "queue", next = "j" })
    flow:wait("b", { event = "job", key = "queue", take = "one", into = "b",
      next = "j" })
    flow:join "j"
    flow:finish("z", { output = function(ctx) return ctx.vars.b end })
    local ids = begun(1, flow)
    job(1)
    assert.equal(1, free(false))
    clock:advance(1) -- another one waits for it besides, and takes it
    local allow = kit.refuse(backend, url, "event", "update")
    for _ = 1, 3 do assert(engine:tick(0)) end
    allow()
    assert(engine:run())
    assert.equal(0, free(false))
    -- it is another one's by now, if anybody waits for it
    job(2)
    kit.pass(engine, clock, 2)
    assert.equal(1, #got(ids))
  end)

  it("is known apart from another tenant's of that name", function()
    engine, clock, url = backend.fresh()
    assert(engine:load(waiting()))
    for _, tenant in ipairs { "a", "b" } do
      local id = assert(engine:start("t.one", { queue = "q" },
        { tenant = tenant }))
      assert(engine:run())
      assert.equal(1, assert(engine:signal { name = "job", key = "q",
        id = "same", tenant = tenant }))
      if tenant == "a" then
        kit.claim(kit.store(url, clock), id) -- by somebody who is slow
      end
    end
    assert(engine:run())
    assert.equal(1, free(false))
    assert.equal(clock:now() + 2, engine:next_due())
  end)

  it("finds who waits for its pattern, too", function()
    local ids = begun(2, waiting { event = "job.*" })
    assert(engine:signal { name = "job.new", key = "q", data = 5 })
    assert(engine:run())
    assert.same({ 5 }, got(ids))
  end)

  it("leaves no lane of an instance behind", function()
    local flow = pawl.workflow { code = "t.one" }
    flow:fork("f", { next = { "a", "b", "c" } })
    for _, name in ipairs { "a", "b", "c" } do
      flow:wait(name, { event = "job", key = "queue", take = "one",
        into = name, next = "j" })
    end
    flow:join "j"
    flow:finish("z", { output = function(ctx)
      return ctx.vars.a + ctx.vars.b + ctx.vars.c
    end })
    begun(2, flow)
    for n = 1, 6 do
      assert.equal(1, job(n))
      assert.equal(1, free(false))
      assert(engine:run())
      assert.same({ 0, 6 - n }, { free(false), free(true) })
    end
    assert.equal(6, kit.count(backend, url, "history", "type = 'received'"))
  end)
end)
