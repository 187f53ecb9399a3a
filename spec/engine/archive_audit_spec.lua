-- Who did what, of instances that were archived since: as it was before.
local audits = require "spec.engine.audits"
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

kit.describe("the audit of what is archived", function(backend)
  local engine, clock, url, ids

  --- Three on three shards, each begun, noted, and cancelled by somebody.
  before_each(function()
    engine, clock, url = backend.fresh { shards = 3 }
    assert(engine:load(samples.waiting()))
    ids = {}
    for i, tenant in ipairs { "a", "b", "a" } do
      ids[i] = assert(engine:start("t.waiting", nil, { by = "ann",
        tenant = tenant }))
      assert(engine:run())
      for k = 1, 2 do
        clock:advance(60)
        assert(engine:note(ids[i], { by = k == 1 and "bob" or "ann",
          text = "n" .. i .. k }))
      end
      assert(engine:edit(ids[i], { set = { n = i } })) -- nobody says who
      assert(engine:cancel(ids[i], { by = "bob", reason = "off" }))
    end
  end)

  local function all(query)
    local found = {}
    for _, e in ipairs(audits.asked(engine, query)) do
      if not e.type:find "archived" then found[#found + 1] = e end
    end
    return found
  end

  --- What each question finds.
  local function answers()
    local now = clock:now()
    local found = {}
    for i, query in ipairs { {}, { by = "ann" }, { by = "bob" },
      { type = "note" }, { type = "started" }, { by = "bob", type = "note" },
      { workflow = "t.waiting" }, { workflow = "t.none" }, { tenant = "a" },
      { by = "ann", tenant = "b" }, { since = now - 150 },
      { ["until"] = now - 150 }, { by = "ann", since = now - 150 },
      { instance = ids[1] }, { instance = ids[2], by = "bob" } } do
      found[i] = all(query)
    end
    return found
  end

  it("is found by person, time, type, tenant and instance", function()
    local before = answers()
    assert.equal(12, #before[1])
    for _, id in ipairs(ids) do assert(engine:archive(id)) end
    assert.same(before, answers())
    for _, id in ipairs(ids) do assert(engine:unarchive(id)) end
    assert.same(before, answers())
    assert.equal(0, kit.count(backend, url, "audit", "id = instance"))
    assert(engine:archive(ids[2]))
    assert.same(before, answers())
  end)

  it("is paged in one order with what lives", function()
    assert(engine:archive(ids[1], { by = "cleo" }))
    assert(engine:archive(ids[3], { by = "ann" }))
    for _, query in ipairs { {}, { by = "ann" }, { type = "note" } } do
      query.limit = 100
      local whole = assert(engine:audit(query))
      for size = 1, 5 do
        local pages, page = {}
        query.limit, query.before = size, nil
        repeat
          page = assert(engine:audit(query))
          for _, e in ipairs(page) do pages[#pages + 1] = e end
          query.before = #page > 0 and page[#page].cursor
        until #page < size
        assert.same(whole, pages)
      end
      query.before = nil
    end
  end)

  it("names the row of history that tells it", function()
    assert(engine:archive(ids[1]))
    local note = audits.asked(engine, { instance = ids[1], type = "note" })[1]
    assert.same({ "note", "n12" }, {
      assert(engine:history(ids[1]))[note.seq].type, note.text })
  end)

  it("stays while the rest of a long one goes", function()
    for k = 1, 1100 do
      assert(engine:note(ids[1], { text = tostring(k) }))
    end
    local before = answers()
    assert(engine:archive(ids[1]))
    assert.equal(0, kit.count(backend, url, "archive", "rest"))
    assert.same(before, answers())
    assert(engine:unarchive(ids[1]))
    assert.same(before, answers())
  end)

  it("goes with a purge, as of one that lives", function()
    assert(engine:archive(ids[1], { by = "cleo" }))
    assert(engine:purge(ids[1], { by = "dan" }))
    assert(engine:purge(ids[2], { by = "dan" }))
    for i = 1, 2 do
      assert.same({ "dan purged" }, audits.told(audits.asked(engine,
        { instance = ids[i] })))
    end
    assert.equal(4, #all { instance = ids[3] })
    assert(engine:archive(ids[3]))
    assert(engine:purge(ids[3], { by = "dan", keep_attributes = true }))
    assert.same({ "dan purged" }, audits.told(audits.asked(engine,
      { instance = ids[3] })))
  end)

  it("is not another tenant's", function()
    assert(engine:archive(ids[1]))
    local other = kit.rival(backend, url, clock, { tenant = "b" })
    assert.equal(4, #assert(other:audit()))
  end)

  it("goes when the audit's time is over, and comes back", function()
    local before = answers()
    assert(engine:archive(ids[1]))
    clock:advance "30d"
    assert(engine:prune { audit = "7d" })
    assert.same({}, all { instance = ids[1] })
    assert(engine:unarchive(ids[1]))
    assert.equal(#before[14], #all { instance = ids[1] })
  end)
end)
