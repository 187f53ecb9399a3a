-- Who did what, when: over all instances, and what is none's.
local audits = require "spec.engine.audits"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local samples = require "spec.engine.samples"

local audit, told = audits.asked, audits.told

kit.describe("an audit", function(backend)
  local function begun(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(samples.waiting()))
    return engine, clock, url
  end

  it("has what was asked of all instances, newest first", function()
    local engine, clock = begun { shards = 3 }
    local one = assert(engine:start("t.waiting", nil, { by = "ann" }))
    clock:advance(1)
    local two = assert(engine:start("t.waiting", nil, { by = "bob" }))
    assert(engine:start "t.waiting") -- nobody says who
    assert(engine:run())
    clock:advance(1)
    assert(engine:edit(one, { by = "bob", set = { n = 1 }, reason = "wrong" }))
    clock:advance(1)
    assert(engine:cancel(two, { by = "ann", reason = "twice" }))
    assert(engine:run())
    clock:advance(1)
    assert(engine:delete(two, { by = "ann" }))
    assert.same({ "ann deleted", "ann cancelled (twice)",
      "bob changed (wrong)", "bob started", "ann started" },
      told(audit(engine)))
    assert.same({ "ann deleted", "ann cancelled (twice)", "ann started" },
      told(audit(engine, { by = "ann" })))
    assert.same({ "bob changed (wrong)", "bob started" },
      told(audit(engine, { by = "bob" })))
    assert.same({}, told(audit(engine, { by = "an" })))
    local changed = audit(engine, { type = "changed" })[1]
    assert.same({ one, "t.waiting", "bob" },
      { changed.instance, changed.workflow, changed.by })
    assert.equal("changed",
      assert(engine:history(one))[changed.seq].type)
    assert.same({ "bob changed (wrong)", "ann started" },
      told(audit(engine, { instance = one })))
    assert.same({ "ann started" },
      told(audit(engine, { instance = one, by = "ann" })))
    assert.same({ "bob started", "ann started" },
      told(audit(engine, { type = "started" })))
  end)

  it("has what was done in a time", function()
    local engine, clock = begun()
    local id = assert(engine:start("t.waiting", nil, { by = "ann" }))
    local t = {}
    for i = 1, 4 do
      clock:advance(60)
      t[i] = clock:now()
      assert(engine:note(id, { by = i % 2 == 0 and "ann" or "bob",
        text = "n" .. i }))
    end
    assert.same({ "ann note (n2)", "bob note (n1)" },
      told(audit(engine, { since = t[1], ["until"] = t[3] })))
    assert.same({ "ann note (n2)" },
      told(audit(engine, { by = "ann", since = t[1], ["until"] = t[3] })))
    assert.same({ "ann note (n4)" }, told(audit(engine, { since = t[4] })))
    assert.same({ "ann started" }, told(audit(engine, { ["until"] = t[1] })))
  end)

  it("comes in pages, whatever happens in one instant", function()
    local engine = begun { shards = 3 }
    for _ = 1, 7 do
      local id = assert(engine:start("t.waiting", nil, { by = "ann" }))
      for k = 1, 3 do
        assert(engine:note(id, { by = k == 2 and "bob" or "ann",
          text = "n" .. k }))
      end
    end
    for _, query in ipairs { {}, { by = "ann" }, { by = "bob" },
      { type = "note" } } do
      query.limit = 100
      local all = assert(engine:audit(query))
      for _, size in ipairs { 1, 4, 50 } do
        local pages, cursor, page = {}
        repeat
          query.limit, query.before = size, cursor
          page = assert(engine:audit(query))
          for _, e in ipairs(page) do pages[#pages + 1] = e end
          cursor = #page > 0 and page[#page].cursor
        until #page < size
        query.before = nil
        assert.same(all, pages)
      end
    end
    assert.equal(7, #audit(engine, { by = "bob" }))
  end)

  it("tells how a task went from hand to hand", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "look" }
    flow:task("look", { title = "look", assignee = "ann", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.task")
    assert(engine:run())
    local tasks = engine.tasks
    local task = assert(tasks:list())[1].id
    assert(tasks:claim(task, { by = "ann" }))
    assert(tasks:claim(task, { by = "ann" })) -- no change
    assert(tasks:unclaim(task, { by = "ann" }))
    assert(tasks:reassign(task, { by = "eve", to = "bob", reason = "ill" }))
    assert(tasks:delegate(task, { by = "bob", to = "cleo" }))
    assert(tasks:escalate(task, { by = "eve", priority = "urgent" }))
    assert(tasks:claim(task, { by = "dan", override = true }))
    kit.refused("taken", "", nil, tasks:unclaim(task, { by = "ann" }))
    assert(tasks:complete(task, { by = "dan" }))
    assert(engine:run())
    local list = audit(engine, { instance = id })
    local types = {}
    for i, e in ipairs(list) do
      types[e.type] = i
      assert.same({ id, "look", "t.task" }, { e.instance, e.node, e.workflow })
    end
    local all = table.concat(told(list), "\n") .. "\n"
    for _, line in ipairs { "ann claimed", "ann unclaimed",
      "eve reassigned %(to bob: ill%)", "bob delegated %(to cleo%)",
      "eve escalated %(to urgent%)", "dan claimed %(instead of cleo%)",
      "dan task" } do
      assert.matches(line .. "[^\n]*\n", all)
    end
    assert.equal(7, #list)
    assert.equal(task, list[types.delegated].task)
  end)

  it("takes no more of who and why than it can show", function()
    local engine = begun()
    local id = assert(engine:start "t.waiting")
    local who, why = ("w"):rep(256), ("y"):rep(4001)
    local acts = {
      function(o) return engine:cancel(id, o) end,
      function(o) return engine:suspend(id, o) end,
      function(o) return engine:delete(id, o) end,
      function(o) return engine.workflows:suspend { workflow = "t.waiting",
        by = o.by, reason = o.reason } end,
      function(o) return engine.workflows:deactivate("t.waiting", 1, o) end,
      function(o) return engine.outbox:drop(o) end,
    }
    for _, act in ipairs(acts) do
      kit.refused("invalid", "`by`.* to 255 bytes", nil, act { by = who })
      kit.refused("invalid", "`reason`.*4000 bytes", nil,
        act { by = "ann", reason = why })
    end
    kit.refused("invalid", "`by`", nil, engine:start("t.waiting", nil,
      { by = who }))
    assert(engine:suspend(id, { by = who:sub(2), reason = "é" .. why:sub(4) }))
    local entry = audit(engine, { instance = id })[1]
    assert.same({ who:sub(2), "é" .. why:sub(4) }, { entry.by, entry.text })
  end)

  it("keeps who purged what, and nothing else of it", function()
    local engine, clock = begun()
    local id = assert(engine:start("t.waiting", nil, { by = "ann" }))
    local other = assert(engine:start "t.waiting")
    assert(engine:cancel(id, { by = "bob" }))
    assert(engine:cancel(other))
    assert(engine:run())
    clock:advance(1)
    assert(engine:purge(id, { by = "cleo", reason = "asked to" }))
    assert(engine:purge(other)) -- nobody says who
    assert.same({ "cleo purged (asked to)" }, told(audit(engine)))
    assert.same({ id, "t.waiting" }, { audit(engine)[1].instance,
      audit(engine)[1].workflow })
    assert.same({ "cleo purged (asked to)" },
      told(audit(engine, { instance = id })))
  end)

  it("keeps who had deleted what somebody purged", function()
    local engine, clock = begun()
    local ids = {}
    for i = 1, 3 do
      ids[i] = assert(engine:start "t.waiting")
      assert(engine:cancel(ids[i]))
    end
    assert(engine:run())
    assert(engine:delete(ids[1], { by = "ann", reason = "twice" }))
    assert(engine:delete(ids[2])) -- nobody says who
    assert(engine:delete(ids[3], { by = "ann" }))
    assert(engine:undelete(ids[3], { by = "bob" }))
    local at = clock:now()
    clock:advance(60)
    for i = 1, 3 do
      assert(engine:purge(ids[i], { by = "cleo", reason = "asked to" }))
    end
    assert.same({ "cleo purged (asked to)", "ann deleted (twice)" },
      told(audit(engine, { instance = ids[1] })))
    assert.equal(1, #audit(engine, { instance = ids[1], since = at,
      ["until"] = at + 1 })) -- when it was deleted, not when it was purged
    for i = 2, 3 do
      assert.same({ "cleo purged (asked to)" },
        told(audit(engine, { instance = ids[i] })))
    end
    assert.same({ "ann deleted (twice)" }, told(audit(engine,
      { by = "ann" })))
  end)

  it("forgets with an instance how its tasks went", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "look" }
    flow:task("look", { title = "look", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local ids = {}
    for i = 1, 2 do
      ids[i] = assert(engine:start "t.task")
      assert(engine:run())
      local task = assert(engine.tasks:list { instance = ids[i] })[1].id
      assert(engine.tasks:claim(task, { by = "ann" }))
      assert(engine:cancel(ids[i]))
      assert(engine:run())
    end
    assert(engine:purge(ids[1], { by = "bob" }))
    assert.same({ "bob purged" }, told(audit(engine, { instance = ids[1] })))
    assert.same({ "ann claimed" }, told(audit(engine, { instance = ids[2] })))
  end)

  it("refuses what it cannot read", function()
    local engine = begun()
    kit.refused("invalid", '^no row has the type "canceled"$',
      'did you mean "cancelled"', engine:audit { type = "canceled" })
    kit.refused("invalid", '^no row has the type "bogus"$', "docs/json.md",
      engine:audit { type = "bogus" })
    local id = assert(engine:start "t.waiting")
    kit.refused("invalid", '^no row has the type "stepp"$',
      'did you mean "step"', engine:history(id, { type = "stepp" }))
    for _, type in ipairs { "claimed", "registered", "unarchived", "step" } do
      assert(engine:audit { type = type })
    end
    kit.refused("invalid", '^no row has the type "claimed"$', "",
      engine:history(id, { type = "claimed" }))
    for _, cursor in ipairs { "x", "1.2.3",
      "1.019aa1f2-0000-7000-8000-000000000000.0 ",
      "-1.019aa1f2-0000-7000-8000-000000000000.0",
      "1.019aa1f2-0000-7000-8000-000000000000.-1" } do
      kit.refused("invalid", "no place in an audit", "cursor",
        engine:audit { before = cursor })
    end
    assert.has_error(function() engine:audit { who = "ann" } end)
  end)
end)
