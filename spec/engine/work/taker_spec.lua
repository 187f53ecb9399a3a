-- take = "one": of all that wait for an event with a key one has it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local takers = require "spec.engine.takers"

local waiting = takers.flow

kit.describe("an event that one takes for all", function(backend)
  local engine, clock, url
  local begun, job, got = takers.on(backend, function(...)
    if ... then engine, clock, url = ... end
    return engine
  end)

  it("goes to one instance each, whoever that is", function()
    local ids = begun(5)
    job(1)
    assert(engine:run())
    assert.same({ 1 }, got(ids))
    job(2)
    job(3)
    assert(engine:run())
    assert.same({ 1, 2, 3 }, got(ids))
    assert.equal(2, #assert(engine:list { status = "waiting" }))
  end)

  it("is kept for the first that comes, and for no other", function()
    begun(0)
    for n = 1, 3 do job(n) end
    job(3, "again")
    job(9, "again")
    local ids = begun(2, false)
    assert.same({ 1, 2 }, got(ids))
    local more = begun(3, false)
    assert.same({ 3, 3 }, got(more))
    clock:advance "1s"
    assert(engine:run())
    assert.same({ 3, 3 }, got(more))
  end)

  it("goes to one of two workers that decide at once", function()
    engine, clock, url = backend.fresh()
    local rival = kit.rival(backend, url, clock)
    local raced = false
    local flow = waiting { match = function()
      if not raced then
        raced = true -- the other one takes it while this one looks at it
        assert(rival:run())
      end
      return true
    end }
    assert(engine:load(flow))
    assert(rival:load(flow))
    local ids = begun(2, false)
    for _, id in ipairs(ids) do
      assert(engine:signal { name = "job", key = "q", data = 7, id = "7" })
      assert(id)
    end
    assert(engine:run())
    assert(rival:run())
    assert.is_true(raced)
    assert.same({ 7 }, got(ids))
    job(8)
    assert(engine:run())
    assert(rival:run())
    assert.same({ 7, 8 }, got(ids))
  end)

  it("is had still by whom its worker died", function()
    local ids = begun(1)
    job(1)
    -- it has taken it, and not said so yet
    local store = kit.store(url, clock)
    kit.claim(store, ids[1])
    local is_file = backend.name == "sqlite"
    backend.sql(url, ("update %s set taker = %s'%s'"):format(
      is_file and "pawl_event" or "pawl.event", is_file and "x" or "",
      (ids[1]:gsub("%-", ""))))
    local other = begun(1, false)
    assert.same({}, got(other))
    clock:advance(31)
    assert(engine:run())
    assert.same({ 1 }, got(ids))
    assert.same({}, got(other))
  end)

  it("goes to all others besides", function()
    local ids = begun(2)
    assert(engine:load(waiting({ take = "all" }, "t.all")))
    local all = begun(2, false, "t.all")
    job(4)
    assert(engine:run())
    assert.same({ 4 }, got(ids))
    assert.same({ 4, 4 }, got(all))
  end)

  it("goes to one lane of an instance", function()
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
    local ids = begun(1, flow)
    for n = 1, 3 do
      if n == 2 then
        assert(engine:signal { name = "job", instance = ids[1], data = 10 })
      else
        job(n)
      end
      assert(engine:run())
      assert.equal(n, #assert(engine:history(ids[1], { type = "received" })))
    end
    assert.same({ 14 }, got(ids))
  end)

  it("is left to others where it is refused or comes too late", function()
    local ids = begun(1, waiting { accepts = "integer < 5", timeout = "1h" })
    assert(engine:load(waiting(nil, "t.two")))
    local two = begun(1, false, "t.two")
    job(7)
    assert(engine:run())
    assert.same({}, got(ids))
    assert.same({ 7 }, got(two))
    clock:advance "2h"
    job(1)
    two = begun(1, false, "t.two")
    assert.equal("late", assert(engine:get(ids[1])).node)
    assert.same({ 1 }, got(two))
  end)

  it("has been for nobody once it has expired", function()
    local ids = begun(1)
    assert(engine:suspend(ids[1]))
    assert(engine:signal { name = "job", key = "q", data = 1, ttl = "1h" })
    clock:advance "2h"
    assert(engine:resume(ids[1]))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, ids[1]))
  end)

  it("is told of", function()
    local ids = begun(1)
    assert.matches("One of those that wait takes it.",
      table.concat(assert(engine:explain(ids[1])).sentences), 1, true)
  end)
end)

describe("the checker", function()
  it("wants a key where one takes it for all", function()
    local ok, err = pcall(function()
      pawl.workflow({ code = "t.a" }):wait("w", { event = "job",
        take = "one" })
    end)
    assert.is_false(ok)
    assert.matches("'take', which is of events with a key, but no 'key'",
      err.message, 1, true)
  end)
end)
