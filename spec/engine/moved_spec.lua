--- What a handler has begun or left in one version, and another one ends: what
--- was given out, kept, shown, asked and caught before instances went there.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local samples = require "spec.engine.samples"

local version, between = samples.version, samples.between

local SOON <const> = { max = 3, base = "1h", jitter = 0 }

local function move(engine, id, options, from, to)
  local gone, refused = assert(engine.workflows:transfer("t.m", from or 1,
    to or 2, options))
  assert.same({}, refused)
  assert.same({ id }, gone)
end

local function vars(engine, id) return assert(engine:get(id)).variables end

--- The time passes that a timer or an attempt waits for.
local function later(engine, clock)
  clock:advance "61m"
  assert(engine:run())
end

--- The same question each time; nobody waits for its answer.
local function ask(engine, id)
  return engine:ask(id, "how", 3, { event = "1", timeout = 0 })
end

kit.describe("what was given out before a move", function(backend)
  it("is a token that is completed behind it", function()
    local function orders(n, wait)
      return version(n, "a", function(flow)
        flow:step("a", { next = wait, run = function(ctx)
          ctx.vars.token = ctx.callback "job.done"
        end })
        flow:wait(wait, { event = "job.done", key = "token", into = "got" .. n,
          next = "z" })
      end)
    end
    local engine, id = between(backend, orders(1, "w"), orders(2, "job"))
    local given = vars(engine, id).token
    move(engine, id, { map = { w = "job" } })
    assert.is_true(engine:complete(given, 7))
    assert.is_false(engine:complete(given, 8))
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ token = given, got2 = 7 }, vars(engine, id))
  end)

  it("is the same token in an attempt behind it", function()
    local tokens = {}
    local function orders(n, node)
      return version(n, node, function(flow)
        flow:step(node, { next = "w", retry = SOON, run = function(ctx)
          tokens[n] = ctx.callback "job.done"
          ctx.vars.token = tokens[n]
          if n == 1 then error "not yet" end
        end })
        flow:wait("w", { event = "job.done", key = "token", into = "got",
          next = "z" })
      end)
    end
    local engine, id, clock = between(backend, orders(1, "a"), orders(2, "b"))
    move(engine, id, { map = { a = "b" } })
    assert.is_true(engine:complete(tokens[1], "early"))
    later(engine, clock)
    assert.equal(tokens[1], tokens[2])
    assert.completed(engine, id)
    assert.equal("early", vars(engine, id).got)
  end)

  it("is a question that nobody has taken", function()
    local function counter(n)
      return version(n, "t", function(flow)
        flow:timer("t", { after = "1h", next = "w" })
        flow:wait("w", { event = "how", next = "z",
          answer = function(event) return event.data * 10 ^ n // 1 | 0 end })
      end)
    end
    local engine, id, clock = between(backend, counter(1), counter(2))
    assert.equal("timeout", select(2, ask(engine, id)).code)
    move(engine, id)
    later(engine, clock)
    assert.equal(300, ask(engine, id))
    assert.completed(engine, id)
  end)

  it("is a question that a step behind the wait is to answer", function()
    local function counter(n)
      return version(n, "w", function(flow)
        flow:wait("w", { event = "how", into = "asked", next = "t" })
        flow:timer("t", { after = "1h", next = "a" })
        flow:step("a", { next = "z", run = function(ctx)
          ctx.answer { by = n, data = ctx.vars.asked }
        end })
      end)
    end
    local engine, id, clock = between(backend, counter(1), counter(2))
    assert.equal("timeout", select(2, ask(engine, id)).code)
    assert(engine:run())
    assert.equal("t", kit.standing(engine, id))
    move(engine, id)
    later(engine, clock)
    assert.same({ by = 2, data = 3 }, ask(engine, id))
  end)
end)

kit.describe("what was left before a move", function(backend)
  it("is the progress of an attempt that failed", function()
    local seen = {}
    local function copies(n, node)
      return version(n, node, function(flow)
        flow:step(node, { next = "z", retry = SOON, run = function(ctx)
          seen[#seen + 1] = { n, ctx.attempt, ctx.progress }
          ctx.heartbeat { done = 10 * n }
          if #seen < 3 then error "again" end
        end })
      end)
    end
    local engine, id, clock = between(backend, copies(1, "a"), copies(2, "b"))
    move(engine, id, { map = { a = "b" } })
    assert.same({ done = 10 }, assert(engine:get(id)).progress)
    later(engine, clock)
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ { 1, 1 }, { 2, 2, { done = 10 } }, { 2, 3, { done = 20 } } },
      seen)
  end)

  it("is what it shows, until it shows something else", function()
    local function shows(n)
      return version(n, "a", function(flow)
        flow:step("a", { next = "t", run = function(ctx)
          ctx.publish("state", "begun by " .. n)
          ctx.publish("kept", n)
        end })
        flow:timer("t", { after = "1h", next = "b" })
        flow:step("b", { next = "z", run = function(ctx)
          ctx.publish("state", "ended by " .. n)
        end })
      end)
    end
    local engine, id, clock = between(backend, shows(1), shows(2))
    move(engine, id)
    assert.same({ state = "begun by 1", kept = 1 }, engine:published(id))
    later(engine, clock)
    assert.same({ state = "ended by 2", kept = 1 }, engine:published(id))
  end)

  it("is the error that has led where it stands", function()
    local function caught(n, mend)
      return version(n, "a", function(flow)
        flow:step("a", { next = "z", on_error = { declined = mend },
          run = function()
            error { code = "declined", message = "no", details = { n = n } }
          end })
        flow:step(mend, { next = "z", retry = SOON, run = function(ctx)
          if n == 1 then error "not yet" end
          local e = ctx.error
          ctx.vars.why = { e.code, e.message, e.node, e.attempt, e.details.n }
        end })
      end)
    end
    local engine, id, clock = between(backend, caught(1, "m"),
      caught(2, "mend"))
    move(engine, id, { map = { m = "mend" } })
    later(engine, clock)
    assert.completed(engine, id)
    assert.same({ "declined", "no", "a", 1, 1 }, vars(engine, id).why)
  end)

  it("is what its steps gave, by the names of then", function()
    local function gives(n, first)
      return version(n, first, function(flow)
        flow:step(first, { next = "b",
          run = function() return "a of " .. n end })
        flow:step("b", { next = "t", run = function() return "b of " .. n end })
        flow:timer("t", { after = "1h", next = "c" })
        flow:step("c", { next = "z", run = function(ctx)
          ctx.vars.b, ctx.vars.first = ctx.output.b, ctx.output[first] or "nil"
        end })
      end)
    end
    local engine, id, clock = between(backend, gives(1, "a"), gives(2, "aa"))
    move(engine, id, { map = { a = "aa" } })
    later(engine, clock)
    assert.same({ b = "b of 1", first = "nil" }, vars(engine, id))
  end)

  it("is variables that are otherwise by now, until they are set", function()
    local function typed(n, type, value)
      return version(n, "t", function(flow)
        flow:step("t", { next = "w", run = function(ctx)
          ctx.vars.total = 5
        end })
        flow:wait("w", { event = "go", into = "note", next = "c" })
        flow:step("c", { next = "z", retry = false, run = function(ctx)
          ctx.vars.total, ctx.vars.note = value, ctx.vars.note .. "!"
        end })
      end, { variables = { ["total?"] = type, ["note?"] = "any" } })
    end
    for _, case in ipairs { { 5 }, { "six" },
      { 6, "vars.total: expected string, found 6" } } do
      local engine, id = between(backend, typed(1, "number", 0),
        typed(2, "string", case[1]))
      move(engine, id)
      local ok, err = engine:edit(id, { set = { total = 7 } })
      assert.is_nil(ok)
      assert.matches("vars.total: expected string, found 7", err.message)
      assert(engine:edit(id, { set = { note = "b" } })) -- total stays
      assert(engine:signal { name = "go", instance = id, data = "a" })
      assert(engine:run())
      if case[2] then
        assert.failed(engine, id)
        local failed = assert(engine:get(id)).error
        assert.same({ "value", case[2] }, { failed.code, failed.message })
      else
        assert.completed(engine, id)
        assert.same({ total = case[1], note = "a!" }, vars(engine, id))
      end
    end
  end)
end)

kit.describe("what goes on through a move", function(backend)
  --- It takes one job for all.
  local function taker(n, event)
    return version(n, "w", function(flow)
      flow:wait("w", { event = event, key = "queue", take = "one",
        into = "by" .. n, next = "z" })
    end)
  end

  --- Another workflow's, that waits for jobs as well, since a second later.
  local function two(second)
    local engine, id, clock = between(backend, taker(1, "job"), second,
      { queue = "q" })
    clock:advance(1)
    local flow = pawl.workflow { code = "t.other" }
    flow:wait("w", { event = "job", key = "queue", take = "one",
      into = "job" })
    flow:finish "z"
    assert(engine:load(flow))
    local other = assert(engine:start("t.other", { queue = "q" }))
    assert(engine:run())
    local function job(n)
      return (assert(engine:signal { name = "job", key = "q", data = n }))
    end
    return engine, clock, id, other, job
  end

  it("is one that takes an event for all", function()
    local engine, _, id, other, job = two(taker(2, "job"))
    move(engine, id)
    assert.equal(1, job(1))
    assert.equal(1, job(2))
    assert(engine:run())
    local mine, its = vars(engine, id).by2, vars(engine, other).job
    assert.same({ 1, 2 }, { math.min(mine, its), math.max(mine, its) })
  end)

  it("is one that an event was assigned to", function()
    local engine, clock, id, other, job = two(taker(2, "job"))
    assert.equal(1, job(1))
    move(engine, id)
    assert(engine:run())
    assert.same({ by2 = 1 }, vars(engine, id))
    clock:advance "1m"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, other))
  end)

  it("is not what it was assigned and takes no more", function()
    local engine, clock, id, other, job = two(taker(2, "else"))
    assert.equal(1, job(1))
    move(engine, id)
    kit.pass(engine, clock, 60)
    assert.equal("waiting", kit.status(engine, id))
    assert.same({ job = 1 }, vars(engine, other))
  end)

  --- Each item ends after as many hours as it says; all of them fail but 9.
  local function fan(n, tolerate)
    return version(n, "e", function(flow)
      flow:each("e", { items = function() return { 1, 2, 3, 9 } end,
        branch = "t", tolerate = tolerate, into = "got", next = "z" })
      flow:timer("t", { next = "s", after = function(ctx)
        return ctx.token.data.item * 3600
      end })
      flow:step("s", { next = "e", retry = false, run = function(ctx)
        if ctx.token.data.item < 9 then
          error { code = "broken", message = "by " .. n }
        end
        return ctx.token.data.item
      end })
    end)
  end

  it("is an each that tolerates so many more", function()
    local engine, id, clock = between(backend, fan(1, 1), fan(2, 3))
    later(engine, clock)
    move(engine, id)
    kit.pass(engine, clock, 10 * 3600)
    assert.completed(engine, id)
    local got = vars(engine, id).got
    assert.same({ "by 1", "by 2", "by 2", 9 }, { got[1].error.message,
      got[2].error.message, got[3].error.message, got[4] })
  end)

  it("is an each that tolerates fewer, as one more fails", function()
    local engine, id, clock = between(backend, fan(1, 3), fan(2, 1))
    later(engine, clock)
    move(engine, id)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    later(engine, clock)
    assert.failed(engine, id)
    local failed = assert(engine:get(id)).error
    assert.same({ "broken", "by 2" }, { failed.code, failed.message })
  end)

  --- What is escalated from a fork leads to "lane", for an hour.
  local function tells(n, lane, interrupt)
    return version(n, "f", function(flow)
      flow:fork("f", { next = { "tell", "idle" }, on_event = { event = "low",
        interrupt = interrupt, next = lane, into = "low" } })
      flow:escalate("tell", { event = "low", next = "j",
        data = function() return n end })
      flow:timer("idle", { after = "3h", next = "j" })
      flow:join("j", { next = "z" })
      flow:timer(lane, { after = "1h", next = "did" })
      flow:step("did", { next = "away", run = function(ctx)
        ctx.vars.did = ctx.event.data .. " by " .. n
      end })
      flow:finish "away"
    end)
  end

  for _, interrupt in ipairs { false, true } do
    it("is what an escalation has begun "
      .. (interrupt and "instead" or "beside it"), function()
      local engine, id, clock = between(backend, tells(1, "lane", interrupt),
        tells(2, "walk", interrupt))
      assert.equal(interrupt and "lane" or "f.on_event idle j lane",
        kit.standing(engine, id))
      move(engine, id, { map = { lane = "walk" } })
      assert.equal(interrupt and "walk" or "f.on_event idle j walk",
        kit.standing(engine, id))
      later(engine, clock)
      assert.same({ low = 1, did = "1 by 2" }, vars(engine, id))
      clock:advance "2h"
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal(interrupt and "away" or "z", assert(engine:get(id)).node)
    end)
  end

  it("is a boundary of version 2 that is told behind it", function()
    local function quiet(n, caught)
      return version(n, "f", function(flow)
        flow:fork("f", { next = { "t", "idle" }, on_event = caught and {
          event = "low", next = "caught" } })
        flow:timer("t", { after = "1h", next = "tell" })
        flow:escalate("tell", { event = "low", next = "j" })
        flow:timer("idle", { after = "3h", next = "j" })
        flow:join("j", { next = "z" })
        if caught then flow:finish "caught" end
      end)
    end
    local engine, id, clock = between(backend, quiet(1), quiet(2, true))
    move(engine, id)
    later(engine, clock)
    assert.completed(engine, id)
    assert.equal("caught", assert(engine:get(id)).node)
  end)

  it("is not a handler that waits: the move waits for it", function()
    local function awaits(n)
      return version(n, "a", function(flow)
        flow:step("a", { next = "b", run = function(ctx)
          ctx.await(10)
          ctx.vars.a = n
        end })
        flow:step("b", { next = "z",
          run = function(ctx) ctx.vars.b = n end })
      end)
    end
    local engine, clock = backend.fresh()
    assert(engine:load(awaits(1)))
    local id = assert(engine:start "t.m")
    assert(engine:tick())
    assert(engine:load(awaits(2)))
    local gone, refused, asked = assert(engine.workflows:transfer("t.m", 1, 2))
    assert.same({ {}, {}, { id } }, { gone, refused, asked })
    assert(engine:tick())
    assert.equal(1, assert(engine:get(id)).version)
    clock:advance(11)
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ a = 1, b = 2 }, vars(engine, id))
    assert.equal(2, assert(engine:get(id)).version)
    assert.equal("step a, transferred b, step b", kit.trail(engine, id))
  end)
end)
