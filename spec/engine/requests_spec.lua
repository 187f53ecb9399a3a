-- A request has a name: asked for again by it, it is done once, also when its
-- instance was archived since, and what leaves no row of history.
local kit = require "spec.engine.kit"
local audits = require "spec.engine.audits"
local samples = require "spec.engine.samples"

kit.describe("a request that is named", function(backend)
  local engine, id, url

  before_each(function()
    local _
    engine, _, url = backend.fresh()
    assert(engine:load(samples.waiting()))
    id = assert(engine:start "t.waiting")
    assert(engine:run())
  end)

  local function told()
    return audits.told(audits.asked(engine, { instance = id }))
  end

  local function away() return assert(engine:get(id)).archived ~= nil end

  it("archives once, though it was brought back since", function()
    assert(engine:cancel(id))
    local one, two, three = kit.draw_id(), kit.draw_id(), kit.draw_id()
    assert.same({ true, true }, { engine:archive(id, { request = one,
      by = "ann" }) })
    assert.same({ true, true }, { engine:archive(id, { request = one,
      by = "ann" }) })
    assert.is_true(away())
    assert.same({ true, true }, { engine:unarchive(id, { request = two }) })
    assert.same({ true, true }, { engine:archive(id, { request = one }) })
    assert.is_false(away())
    assert.same({ true, true }, { engine:unarchive(id, { request = two }) })
    assert.same({ "- unarchived", "ann archived" }, told())
    assert(engine:archive(id, { request = three }))
    assert.same({ true, true }, { engine:unarchive(id, { request = two }) })
    assert.is_true(away())
    assert.equal(3, #told())
  end)

  it("is for what it was asked for, and for nothing else", function()
    local one, two, three = kit.draw_id(), kit.draw_id(), kit.draw_id()
    assert(engine:suspend(id, { request = one }))
    kit.refused("conflict", "was to suspend it, not to resume it",
      "a request of its own", engine:resume(id, { request = one }))
    assert.equal("suspended", kit.status(engine, id))
    assert.same({ true, true }, { engine:suspend(id, { request = one }) })
    assert(engine:cancel(id, { request = two }))
    kit.refused("conflict", "was to cancel it, not to archive it",
      "a request of its own", engine:archive(id, { request = two }))
    assert(engine:archive(id, { request = three }))
    kit.refused("conflict", "was to archive it, not to unarchive it",
      "a request of its own", engine:unarchive(id, { request = three }))
    assert.is_true(away())
  end)

  it("of a cancel is no delete's, nor the other way round", function()
    local one, two, three = kit.draw_id(), kit.draw_id(), kit.draw_id()
    local other = assert(engine:start "t.waiting")
    assert(engine:run())
    assert(engine:cancel(id, { request = one }))
    local function refuse_delete()
      kit.refused("conflict", "was to cancel it, not to delete it",
        "a request of its own", engine:delete(id, { request = one }))
    end
    refuse_delete()
    assert(engine:archive(id))
    refuse_delete()
    assert(engine:delete(other, { cancel = true, request = two }))
    kit.refused("conflict", "was to delete it, not to cancel it",
      "a request of its own", engine:cancel(other, { request = two }))
    assert(engine:undelete(other))
    assert(engine:delete(other, { request = three }))
    kit.refused("conflict", "was to delete it, not to cancel it",
      "a request of its own", engine:cancel(other, { request = three }))
  end)

  it("deletes once, though that was taken back since", function()
    local one, two = kit.draw_id(), kit.draw_id()
    assert.same({ true, true }, { engine:delete(id, { cancel = true,
      request = one }) })
    assert(engine:undelete(id))
    assert.same({ true, true }, { engine:delete(id, { cancel = true,
      request = one }) })
    assert.same({ true, true }, { engine:delete(id, { request = two }) })
    assert(engine:undelete(id))
    assert.same({ true, true }, { engine:delete(id, { request = two }) })
    assert.is_nil(assert(engine:get(id)).deleted)
  end)

  it("is that of each instance by itself", function()
    local other = assert(engine:start "t.waiting")
    assert(engine:run())
    local one = kit.draw_id()
    for _, each in ipairs { id, other } do
      assert(engine:cancel(each))
      assert.same({ true, true }, { engine:archive(each, { request = one }) })
    end
    assert.equal(2, kit.count(backend, url, "archive"))
  end)

  it("is known once its instance was archived", function()
    local one, two, three, four =
      kit.draw_id(), kit.draw_id(), kit.draw_id(), kit.draw_id()
    assert(engine:edit(id, { set = { n = 1 }, request = one }))
    assert(engine:cancel(id, { request = two }))
    assert(engine:note(id, { request = three,
      text = '"is":"history","request":"' .. four .. '"' }))
    assert(engine:archive(id))
    assert.same({ true, true }, { engine:edit(id, { set = { n = 2 },
      request = one }) })
    assert.same({ true, true }, { engine:cancel(id, { request = two }) })
    kit.refused("conflict", "was to edit it, not to cancel it", nil,
      engine:cancel(id, { request = one }))
    kit.refused("conflict", "is archived", "unarchive it first",
      engine:cancel(id, { request = four }))
    assert.same({ n = 1 }, assert(engine:get(id)).variables)
  end)

  it("is refused again once its instance was archived", function()
    local one, b, own = kit.draw_id()
    local a
    a, b = kit.pair(backend, { kit.chain { function()
      assert(b:suspend(own))
      assert(b:suspend(own, { request = one }))
    end, function() end } })
    own = assert(a:start "t.chain")
    assert(a:run())
    local _, err = a:suspend(own, { request = one })
    assert.equal("conflict", err.code)
    assert(a:cancel(own))
    assert(a:archive(own))
    kit.refused("conflict", "suspended", nil,
      a:suspend(own, { request = one }))
    local _, again = a:suspend(own, { request = one })
    assert.equal(tostring(err), tostring(again))
  end)

  it("may archive many, each once", function()
    local one = kit.draw_id()
    for _ = 1, 3 do assert(engine:start "t.waiting") end
    assert(engine:run())
    assert(engine:bulk("cancel", { workflow = "t.waiting" }))
    local report = assert(engine:bulk("archive", { workflow = "t.waiting" },
      { request = one, by = "ann" }))
    assert.equal(4, report.done)
    assert(engine:unarchive(id))
    report = assert(engine:bulk("archive", { workflow = "t.waiting" },
      { request = one, by = "ann" }))
    assert.is_false(away())
    assert.equal(3, kit.count(backend, url, "archive"))
    assert.equal(0, report.refused)
  end)
end)
