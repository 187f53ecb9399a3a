-- What was done before a move is found down the history, and undone by the
-- node that has its place.
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local version, between = samples.version, samples.between

kit.describe("what was done before a move", function(backend)
  --- `name` can be undone, then an hour's timer.
  local function booking(n, name, options)
    return version(n, name, function(flow)
      flow:step(name, { next = "t", run = function() return nil, n end,
        undo = not (options and options.final) and function(ctx)
          ctx.vars.undone = { by = n, of = ctx.output }
        end or nil })
      flow:timer("t", { after = "1h", next = "z" })
    end)
  end

  local function plan(engine, id)
    return assert(engine:get(id)).compensation
  end

  it("is undone by the node that has its place", function()
    local engine, id = between(backend, booking(1, "reserve"),
      booking(2, "book"))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { reserve = "book" } }))))
    assert(engine:load(booking(3, "order")))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 2, 3,
      { map = { book = "order" } }))))
    assert(engine:run())
    assert(engine:cancel(id, "no"))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("completed", plan(engine, id).status)
    assert.same({ undone = { by = 3, of = 1 } },
      assert(engine:get(id)).variables)
    assert.matches("undone order", kit.trail(engine, id))
  end)

  it("must have one", function()
    local engine, id = between(backend, booking(1, "reserve"),
      booking(2, "book"))
    local movable, refused = assert(engine.workflows:transfer("t.m", 1, 2,
      { plan = true }))
    assert.same({}, movable)
    assert.equal(id, refused[1].id)
    assert.equal("reserve", refused[1].node)
    assert.matches('"reserve" was done and can be undone; version 2 has no '
      .. 'node of that name', refused[1].reason)
    local moved
    moved, refused = assert(engine.workflows:transfer("t.m", 1, 2,
      { vars = function(v)
      return v
    end }))
    assert.same({}, moved)
    assert.matches('"reserve" was done', refused[1].reason)
    assert.equal(1, assert(engine:get(id)).version)
  end)

  it("must have one under its name of today", function()
    local engine, id = between(backend, booking(1, "reserve"),
      booking(2, "book"))
    assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { reserve = "book" } }))
    assert(engine:run())
    assert(engine:load(booking(3, "reserve")))
    local _, refused = assert(engine.workflows:transfer("t.m", 2, 3,
      { plan = true }))
    assert.matches('"book" was done', refused[1].reason)
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 2, 3,
      { map = { book = "reserve" } }))))
    assert(engine:cancel(id, "no"))
    assert(engine:run())
    assert.same({ undone = { by = 3, of = 1 } },
      assert(engine:get(id)).variables)
  end)

  --- `one` runs as often as there is to do, after `other` did once; then it
  --- waits for more. Undoing stops the first time that it comes to `at`.
  local function loop(n, one, other, list, stop)
    local function step(name, run, next)
      return { next = next, run = run, undo = function(ctx)
        list[#list + 1] = name .. ctx.output
        if stop and ctx.output == stop.at then
          stop.at = nil
          stop.engine:interrupt()
        end
      end }
    end
    return version(n, other, function(flow)
      flow:step(other, step(other, function() return nil, 0 end, one))
      flow:step(one, step(one, function(ctx)
        local done = (ctx.vars.n or 0) + 1
        ctx.vars.n = done
        return done < (ctx.vars.most or 50) and "again" or "on", done
      end, { again = one, on = "w" }))
      flow:wait("w", { event = "more", into = "most", timeout = "9d",
        next = { received = one, timeout = "z" } })
    end, { busy_limit = 100000 })
  end

  it("is undone page by page, each under its name of today", function()
    local list, stop, expected = {}, { at = 59 }, {}
    local engine, clock, url = backend.fresh()
    assert(engine:load(loop(1, "a", "b", list)))
    local id = assert(engine:start "t.m")
    assert(engine:run())
    assert(engine:load(loop(2, "b", "a", list))) -- each has the other's place
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2,
      { map = { a = "b", b = "a" } }))))
    assert(engine:signal { name = "more", instance = id, data = 90 })
    assert(engine:run())
    assert(engine:load(loop(3, "c", "a", list, stop)))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 2, 3,
      { map = { b = "c" } }))))
    assert(engine:signal { name = "more", instance = id, data = 100 })
    assert(engine:run())
    assert.equal(100, assert(engine:get(id)).variables.n)
    stop.engine = engine
    assert(engine:cancel(id, "no"))
    for _ = 1, 200 do
      if not stop.at then break end
      assert(engine:tick(1))
    end
    kit.claim(kit.store(url, clock), id) -- a worker that dies with it
    clock:advance(31)
    local other = kit.rival(backend, url, clock)
    assert(other:load(loop(3, "c", "a", list, stop)))
    assert(other:run())
    for i = 100, 1, -1 do expected[#expected + 1] = "c" .. i end
    expected[#expected + 1] = "a0"
    assert.same(expected, list)
    local shown = plan(other, id)
    assert.same({ "completed", 101, 101, 0 }, { shown.status, shown.planned,
      shown.undone, shown.undo_failed })
    assert.equal(2, #shown.transfers)
    assert.equal(101, #shown.plan)
    for i, one in ipairs(shown.plan) do
      assert.equal(i <= 100 and "c" or "a", one.node)
      assert.equal(one.seq, shown.completed[i])
    end
  end)

  it("stays done where the new version does not undo it", function()
    local engine, id = between(backend, booking(1, "reserve"),
      booking(2, "reserve", { final = true }))
    assert.same({ id }, (assert(engine.workflows:transfer("t.m", 1, 2))))
    assert(engine:cancel(id, "no"))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.same({}, assert(engine:get(id)).variables)
  end)
end)
