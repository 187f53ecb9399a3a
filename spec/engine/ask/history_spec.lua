-- What is recorded of one instance: pages, and what fits.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- The seqs of rows.
local function seqs(rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row.seq end
  return list
end

kit.describe("a history", function(backend)
  --- total is 1 (a), 5 (ann), 6 (b), gone (c), 7 (bob)
  local function priced()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.priced", start = "a" }
    flow:step("a", { next = "go", run = function(ctx)
      ctx.vars.total, ctx.vars["odd name"] = 1, "x"
    end })
    flow:wait("go", { event = "go", next = "b" })
    flow:step("b", { next = "c", run = function(ctx)
      ctx.vars.total = ctx.vars.total + 1
    end })
    flow:step("c", { next = "last", run = function(ctx)
      ctx.vars.total, ctx.vars.other = nil, true
    end })
    flow:wait("last", { event = "last", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.priced")
    assert(engine:run())
    clock:advance(60)
    assert(engine:edit(id, { by = "ann", set = { total = 5 } }))
    assert(engine:note(id, { by = "bob", text = "ann did that" }))
    clock:advance(60)
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    assert(engine:edit(id, { by = "bob", set = { total = 7 } }))
    return engine, id, clock
  end

  local function asked(engine, id, query)
    return assert(engine:history(id, query))
  end

  it("gives the rows of a type, of a node, of somebody", function()
    local engine, id = priced()
    local all = asked(engine, id)
    for _, case in ipairs {
      { "type", "step", 3 }, { "type", "changed", 2 }, { "node", "b", 1 },
      { "by", "bob", 2 }, { "by", "ann", 1 }, { "by", "nobody", 0 },
      { "type", "undone", 0 }, { "node", "nosuch", 0 },
    } do
      local name, value, n = table.unpack(case)
      local found = asked(engine, id, { [name] = value })
      assert.equal(n, #found, name .. " " .. value)
      for _, row in ipairs(found) do
        assert.equal(value, row[name])
        assert.same(all[row.seq], row)
      end
    end
    assert.same({ "note" }, { asked(engine, id,
      { by = "bob", type = "note" })[1].type })
  end)

  it("gives the rows of a time", function()
    local engine, id = priced()
    local all = asked(engine, id)
    local edit = asked(engine, id, { by = "ann" })[1]
    local since = asked(engine, id, { completed_after = edit.completed })
    local before = asked(engine, id, { completed_before = edit.completed })
    assert.equal(edit.seq, since[1].seq) -- then or later
    assert.equal(#all, #before + #since)
    assert.same({}, asked(engine, id, { completed_after = edit.completed,
      completed_before = edit.completed }))
    assert.equal(#all, #asked(engine, id, { completed_after = 1 }))
  end)

  it("tells what a variable was, when, and by whom", function()
    local engine, id = priced()
    local told = {}
    for i, row in ipairs(asked(engine, id, { variable = "total" })) do
      told[i] = ("%s %s"):format(row.by or row.node, row.value)
    end
    assert.same({ "a 1", "ann 5", "b 6", "c nil", "bob 7" }, told)
    assert.same(asked(engine, id, { variable = "total" }),
      assert(engine:variable_history(id, "total")))
    assert.same(asked(engine, id, { variable = "total", by = "ann" }),
      assert(engine:variable_history(id, "total", { by = "ann" })))
    local ok, why = pcall(engine.variable_history, engine, id, "total",
      { variable = "other" })
    assert.is_false(ok)
    assert.matches("unknown option 'variable'", tostring(why))
    local text = assert(engine:history(id, { variable = "total", after = 3 },
      "json"))
    assert.equal(text, assert(engine:variable_history(id, "total",
      { after = 3 }, "json")))
    assert.matches('"value":null', text)
    assert.equal("x", asked(engine, id, { variable = "odd name" })[1].value)
    assert.same({}, asked(engine, id, { variable = "tot" }))
    assert.is_nil(asked(engine, id)[1].value)
  end)

  it("is paged, with filters and without", function()
    local engine, id = priced()
    for _, filter in ipairs { {}, { variable = "total" }, { type = "step" } } do
      local all = seqs(asked(engine, id, filter))
      local paged, after = {}, 0
      repeat
        local page = asked(engine, id, { limit = 2, after = after,
          variable = filter.variable, type = filter.type })
        assert.is_true(#page <= 2)
        for _, row in ipairs(page) do
          paged[#paged + 1], after = row.seq, row.seq
        end
      until #page == 0
      assert.same(all, paged)
    end
  end)

  it("gives its newest rows, with filters and without", function()
    local engine, id = priced()
    for _, filter in ipairs { {}, { variable = "total" }, { type = "step" },
      { node = "b" }, { by = "bob" }, { attribute = "none" },
      { completed_before = "2026-01-01T00:02:00Z" },
      { variable = "total", by = "bob" } } do
      local all = asked(engine, id, filter)
      for n = 1, #all + 1 do
        filter.last = n
        assert.same(table.move(all, math.max(1, #all - n + 1), #all, 1, {}),
          asked(engine, id, filter))
      end
    end
    kit.refused("invalid", "`last` and `limit` exclude", "from the oldest",
      engine:history(id, { last = 1, limit = 1 }))
    kit.refused("invalid", "`last` and `after` exclude", nil,
      engine:history(id, { last = 1, after = 1 }))
    assert.has_error(function() engine:history(id, { last = 0 }) end)
    kit.refused("notfound", "", nil, engine:history(kit.draw_id(),
      { last = 1 }))
    assert(engine:cancel(id))
    assert(engine:run())
    local newest = asked(engine, id, { last = 3 })
    assert(engine:archive(id))
    assert.same(newest, asked(engine, id, { last = 3 }))
  end)

  it("says with its newest rows that others are gone, if it is so", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.long", start = "a",
      keep_history = 100 }
    flow:step("a", { next = { again = "a", done = "w" }, run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 400 and "again" or "done"
    end })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.long")
    assert(engine:run())
    local all = asked(engine, id)
    assert.truthy(all[1].trimmed)
    assert.same(table.move(all, #all - 2, #all, 1, {}),
      asked(engine, id, { last = 3 }))
    assert.same(all, asked(engine, id, { last = 1000 }))
    assert.same({ all[1] }, asked(engine, id, { last = 5, type = "note" }))
  end)

  it("of thousands of rows comes whole, and in order", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.many", start = "a" }
    flow:step("a", { next = "z", run = function(ctx)
      for i = 1, 2500 do ctx.note("n" .. i, i) end
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.many")
    assert(engine:run())
    local notes = asked(engine, id, { type = "note" })
    assert.equal(2500, #notes)
    for i, row in ipairs(notes) do assert.equal(i, row.output) end
    local all = asked(engine, id)
    for i, row in ipairs(all) do assert.equal(i, row.seq) end
    assert.equal(2001, #asked(engine, id, { limit = 2001 }))
    assert.same(table.move(all, #all - 1499, #all, 1, {}),
      asked(engine, id, { last = 1500 }))
    assert.equal(1000, asked(engine, id, { last = 1501, type = "note" })[1]
      .output)
  end)

  it("names what cannot be asked for", function()
    local engine, id = priced()
    for _, case in ipairs {
      { { type = "" }, "`type`" }, { { limit = 0 }, "limit" },
      { { completed_after = "noon" }, "completed_after" },
      { { variabel = "x" }, "variabel" },
    } do
      local ok, rows, err = pcall(engine.history, engine, id, case[1])
      assert.matches(case[2], ok and tostring(err) or tostring(rows))
    end
    kit.refused("notfound", "", nil,
      engine:history(kit.draw_id(), { type = "step" }))
  end)
end)
