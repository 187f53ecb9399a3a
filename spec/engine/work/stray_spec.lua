-- Agenda rows that lead to no instance are taken off by whoever meets them.
local kit = require "spec.engine.kit"

kit.describe("an agenda row without its instance", function(backend)
  it("is taken off, and said, and the others of its batch run", function()
    local said = {}
    local engine, _, url = backend.fresh { log = function(_, text, fields)
      if text:find "agenda row" then said[#said + 1] = fields.instance end
    end }
    assert(engine:load(kit.one()))
    local ids = {}
    for i = 1, 3 do ids[i] = assert(engine:start "t.one") end
    assert(engine:signal { name = "late", instance = ids[2] })
    assert.equal(1, kit.count(backend, url, "inbox"))
    backend.sql(url, ("delete from %s where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, ids[2])))
    local stats = assert(engine:run())
    assert.equal(2, stats.ended)
    assert.same({ ids[2] }, said)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.completed(engine, ids[1])
    assert.completed(engine, ids[3])
  end)

  it("holds up nobody when it had been taken over", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local gone = assert(engine:start "t.one")
    backend.sql(url, ("update %s set takeovers = 1"):format(
      kit.table(backend, "agenda")))
    backend.sql(url, ("delete from %s where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, gone)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("is left alone while its instance is there", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    assert(engine:start "t.timer")
    assert(engine:run())
    assert.equal(0, assert(engine:health { repair = true }).stray)
    assert.equal(1, kit.count(backend, url, "agenda"))
    clock:advance "2h"
    assert.equal(1, assert(engine:run()).ended)
  end)
end)
