-- Verbs that need more than one room: who asks is also who takes, when nobody
-- else holds the instance.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a request", function(backend)
  it("is taken by whoever asks, when nobody holds the instance", function()
    local engine, clock, url = backend.fresh()
    local asker = kit.rival(backend, url, clock) -- has loaded nothing
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local ok, done = asker:suspend(id, { by = "ann" })
    assert.is_true(ok)
    assert.is_true(done)
    assert.equal("suspended", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("waits for whoever holds it", function()
    local engine, clock, url = backend.fresh()
    local asker = kit.rival(backend, url, clock)
    local answer
    assert(engine:load(kit.one(function(ctx)
      answer = { asker:cancel(ctx.id, { reason = "no" }) }
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.is_true(answer[1])
    assert.is_false(answer[2])
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("of a task gives the task as it is then", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "ask" }
    flow:task("ask", { title = "t", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.task")
    assert(engine:run())
    local id = assert(engine.tasks:list())[1].id
    local task = assert(engine.tasks:claim(id, { by = "ann" }))
    assert.equal("running", task.status)
    assert.equal("ann", task.claimed_by)
    local none, err = engine.tasks:claim(id, { by = "bob" })
    assert.is_nil(none)
    assert.equal("taken", err.code)
  end)
end)

kit.describe("a repair", function(backend)
  it("of each sort is made by who can", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local stray = assert(engine:start "t.timer")
    local unseen = assert(engine:start "t.timer")
    assert(engine:run())
    backend.sql(url, ("delete from %s where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, stray)))
    backend.sql(url, ("delete from %s where instance = %s"):format(
      kit.table(backend, "agenda"), kit.id_literal(backend, unseen)))
    local report = assert(engine:health())
    assert.is_false(report.sound)
    assert.equal(0, report.repaired)
    assert.equal(2, assert(engine:health { repair = true }).repaired)
    assert.is_true(assert(engine:health()).sound)
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, unseen)
  end)
end)
