-- What nobody would look at is put on the agenda, and does no harm there.
local kit = require "spec.engine.kit"

kit.describe("an instance that nobody would look at", function(backend)
  it("goes on after a repair, and others are as they were", function()
    local engine, clock, url = backend.fresh { shards = 2 }
    assert(engine:load(kit.timer()))
    local ids = {}
    for i = 1, 6 do ids[i] = assert(engine:start "t.timer") end
    assert(engine:run())
    backend.sql(url, ("delete from %s where instance in (%s, %s)"):format(
      kit.table(backend, "agenda"), kit.id_literal(backend, ids[1]),
      kit.id_literal(backend, ids[2])))
    local report = assert(engine:health { repair = true })
    assert.equal(2, report.unseen)
    assert.equal(2, report.repaired)
    assert.equal(6, kit.count(backend, url, "agenda"))
    assert(engine:run())
    clock:advance "59m"
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.equal("waiting", kit.status(engine, id))
    end
    clock:advance "2m"
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.equal("started t, timer t", kit.trail(engine, id))
    end
  end)

  it("is not repaired by who only looks", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer()))
    assert(engine:start "t.timer")
    assert(engine:run())
    backend.sql(url, "delete from " .. kit.table(backend, "agenda"))
    assert.equal(1, assert(engine:health()).unseen)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)
end)
