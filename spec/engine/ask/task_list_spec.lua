-- Lists of tasks: whose, in which state, in which order, page by page.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local samples = require "spec.engine.samples"

local asking = samples.asking

local function ids(tasks)
  local out = {}
  for i, task in ipairs(tasks) do out[i] = task.id end
  return out
end

--- nil and an error of that code; its text.
local function refused(code, value, err)
  assert.is_nil(value)
  assert.equal(code, err.code, err.message)
  return tostring(err.message) .. " " .. (err.hint or "")
end

kit.describe("a list of tasks", function(backend)
  --- One task an input: title, due, and whom it is for.
  local function fill(engine, ...)
    assert(engine:load(asking { prepare = function(ctx)
      return ctx.input
    end }))
    local out = {}
    for _, task in ipairs { ... } do
      task.title = task.title or "t"
      local id = assert(engine:start("t.task", task))
      assert(engine:run())
      out[#out + 1] = assert(engine.tasks:list { instance = id })[1].id
    end
    return out
  end

  it("has those of one person: assigned, a candidate, a member, or held",
    function()
      local engine = backend.fresh()
      local t = fill(engine, { assignee = "ann" }, { users = { "ann", "bob" } },
        { roles = { "clerk" } }, { groups = { "north" } },
        { users = { "bob" } }, {})
      assert(engine.tasks:claim(t[6], { by = "ann" }))
      assert.same({ t[6], t[2], t[1] }, ids(assert(engine.tasks:list {
        user = "ann" })))
      assert.same({ t[6], t[3], t[2], t[1] }, ids(assert(engine.tasks:list {
        user = "ann", role = "clerk" })))
      assert.same({ t[6], t[4], t[3], t[2], t[1] },
        ids(assert(engine.tasks:list {
        user = "ann", roles = { "clerk", "none" }, group = "north" })))
      assert.same({ t[5], t[2] },
        ids(assert(engine.tasks:list { user = "bob" })))
      assert.same({ t[3] }, ids(assert(engine.tasks:list { role = "clerk" })))
      assert.same({ t[4] },
        ids(assert(engine.tasks:list { groups = { "north" } })))
      assert.same({}, assert(engine.tasks:list { user = "north" }))
      assert.same({}, assert(engine.tasks:list { role = "ann" }))
      assert.equal(6, #assert(engine.tasks:list()))
    end)

  it("has each once, however often it is somebody's", function()
    local engine = backend.fresh()
    local t = fill(engine, { assignee = "ann", users = { "ann" },
      roles = { "a", "b" }, groups = { "a" } })
    assert(engine.tasks:claim(t[1], { by = "ann" }))
    assert.same(t, ids(assert(engine.tasks:list { user = "ann",
      roles = { "a", "b" }, group = "a" })))
  end)

  it("is narrowed by status, form, priority and instance", function()
    local engine = backend.fresh()
    local t = fill(engine, { form = "a", priority = "low" },
      { form = "b", priority = "low" }, { form = "a", priority = "urgent" })
    assert(engine.tasks:claim(t[1], { by = "ann" }))
    assert(engine.tasks:complete(t[2], { by = "bob" }))
    local function found(query) return ids(assert(engine.tasks:list(query))) end
    assert.same({ t[3] }, found { status = "pending" })
    assert.same({ t[1] }, found { status = "running" })
    assert.same({ t[3], t[2] }, found { status = { "completed", "pending" } })
    assert.same({ t[3], t[1] }, found { form = "a" })
    assert.same({ t[1] }, found { form = "a", status = "running" })
    assert.same({ t[2], t[1] }, found { priority = "low" })
    assert.same({}, found { priority = "low", status = "failed" })
    local instance = assert(engine.tasks:get(t[2])).instance
    assert.same({ t[2] }, found { instance = instance })
    assert.same({ t[2] }, found { instance = instance:sub(1, 30) })
    assert.same({}, found { instance = instance, form = "a" })
    assert.same({}, found { user = "ann", instance = instance })
  end)

  it("tells what is overdue, the longest first", function()
    local engine, clock = backend.fresh()
    local t = fill(engine, { due = "3h", roles = { "clerk" } }, { due = "1h" },
      { due = "9h" }, {}, { due = "2h" })
    assert(engine.tasks:claim(t[2], { by = "ann" }))
    assert.same({}, assert(engine.tasks:list { overdue = true }))
    clock:advance "4h"
    assert(engine:run())
    local late = assert(engine.tasks:list { overdue = true })
    assert.same({ t[2], t[5], t[1] }, ids(late))
    for _, task in ipairs(late) do assert.is_true(task.overdue) end
    assert.is_false(assert(engine.tasks:get(t[3])).overdue)
    -- page by page
    local page = assert(engine.tasks:list { overdue = true, limit = 2 })
    assert.same({ t[2], t[5] }, ids(page))
    assert.same({ t[1] }, ids(assert(engine.tasks:list { overdue = true,
      limit = 2, before = page[2].id })))
    -- of somebody
    assert.same({ t[1] }, ids(assert(engine.tasks:list { overdue = true,
      role = "clerk" })))
    -- by a time of one's own
    assert.same({ t[2], t[5], t[1], t[3] }, ids(assert(engine.tasks:list {
      due_before = engine:now() + 6 * 3600 })))
    -- what is done is not late
    assert(engine.tasks:complete(t[5], { by = "bob" }))
    assert.same({ t[2], t[1] },
      ids(assert(engine.tasks:list { overdue = true })))
  end)

  it("comes in pages that neither skip nor repeat", function()
    local engine = backend.fresh()
    local given = {}
    for i = 1, 11 do
      given[i] = { users = { "ann" }, assignee = i % 2 == 0 and "ann" or nil }
    end
    local t = fill(engine, table.unpack(given))
    for _, query in ipairs { { user = "ann" }, {} } do
      local seen, before = {}, nil
      repeat
        query.limit, query.before = 3, before
        local page = assert(engine.tasks:list(query))
        for _, task in ipairs(page) do seen[#seen + 1] = task.id end
        before = page[3] and page[3].id
        -- new ones come in front of all pages
        if before then assert(engine:start("t.task", { title = "new" })) end
      until not before
      local wanted = {}
      for i = #t, 1, -1 do wanted[#wanted + 1] = t[i] end
      assert.same(wanted, seen)
    end
  end)

  it("is text too, with nulls", function()
    local engine = backend.fresh()
    local t = fill(engine, { users = { "ann" } })
    local list = pawl.json.decode(assert(engine.tasks:list({}, "json")))
    assert.equal(pawl.null, list[1].due)
    local one = pawl.json.decode(assert(engine.tasks:get(t[1], "json")))
    assert.equal(pawl.null, one.claimed_by)
    assert.same({ "ann" }, one.users)
  end)

  it("finds ids that are shortened", function()
    local engine = backend.fresh()
    local t = fill(engine, {}, {})
    assert.equal(t[1], assert(engine.tasks:find(t[1])))
    assert.equal(t[2], assert(engine.tasks:get(t[2]:sub(1, 32))).id)
    refused("notfound", engine.tasks:find "ffff")
    refused("notfound", engine.tasks:find(kit.draw_id()))
    refused("ambiguous", engine.tasks:find(t[1]:sub(1, 6)))
    refused("invalid", engine.tasks:find "abc")
    refused("invalid", engine.tasks:get "not hex")
    refused("notfound", engine.tasks:get(kit.draw_id()))
  end)

  it("says what is wrong with a query", function()
    local engine = backend.fresh()
    local function raises(pattern, query)
      local ok, err = pcall(engine.tasks.list, engine.tasks, query)
      assert.is_false(ok)
      assert.matches(pattern, tostring(err))
    end
    raises("unknown option 'usr'.*user", { usr = "ann" })
    raises("'user' must be a string", { user = 1 })
    raises("'overdue' must be a boolean", { overdue = 1 })
    raises("'priority' must be", { priority = "huge" })
    raises("'limit' must be an integer above 0", { limit = 0 })
    assert.matches("running", refused("invalid",
      engine.tasks:list { status = "runing" }))
    refused("invalid", engine.tasks:list { user = "" })
    refused("invalid", engine.tasks:list { user = ("u"):rep(256) })
    refused("invalid", engine.tasks:list { user = "a\0b" })
    refused("invalid", engine.tasks:list { limit = 10001 })
    refused("invalid", engine.tasks:list { overdue = true,
      status = "completed" })
    refused("notfound", engine.tasks:list { before = "ffff" })
    for _, name in ipairs { "role", "roles", "group", "groups" } do
      local err = refused("invalid", engine.tasks:list { [name] = {} })
      assert.matches(("option `%s` of tasks names nobody"):format(name), err,
        1, true)
      refused("invalid", engine.tasks:list { [name] = "" })
      assert.same({}, { table.unpack(assert(engine.tasks:list {
        user = "ann", [name] = {} })) }) -- she is in none
    end
    local many = {}
    for i = 1, 201 do many[i] = "r" .. i end
    refused("limit", engine.tasks:list { roles = many })
  end)
end)

kit.describe("a list of tasks", function(backend)
  --- Six tasks of two workflows, oldest first, ten minutes apart.
  local function fresh(options)
    local engine, clock = backend.fresh(options)
    for _, code in ipairs { "t.one", "t.two" } do
      local flow = pawl.workflow { code = code, start = "ask" }
      flow:task("ask", { title = "Look", roles = "clerk", form = "f",
        prepare = function(ctx)
          return { assignee = ctx.input.who, due = ctx.input.due }
        end, next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
    end
    local began = clock.us / 1e6
    for i = 1, 6 do
      assert(engine:start(i % 2 == 0 and "t.two" or "t.one",
        { who = i > 4 and "ann" or nil, due = i .. "h" },
        { business_key = "order-" .. i, key = "k" .. i,
          tenant = i % 3 == 0 and "a" or nil }))
      assert(engine:run())
      clock:advance(600)
    end
    return engine, began, clock
  end

  --- "6 4", by the numbers of their business keys.
  local function found(engine, query)
    local list = {}
    for i, task in ipairs(assert(engine.tasks:list(query))) do
      list[i] = task.business_key:match "%d+"
    end
    if not query.limit then
      local n, more = assert(engine.tasks:tally(query))
      assert.same({ #list, false }, { n, more })
    end
    return table.concat(list, " ")
  end

  it("is found by what its task and its instance are", function()
    for _, shards in ipairs { 1, 3 } do
      local engine, began = fresh { shards = shards }
      for want, query in pairs {
        ["6 5 4 3 2 1"] = {},
        ["6 4 2"] = { workflow = "t.two" },
        ["6 3"] = { tenant = "a" },
        ["6"] = { tenant = "a", workflow = "t.two" },
        ["6 5"] = { assignee = "ann" },
        ["5"] = { assignee = "ann", workflow = "t.one" },
        [""] = { node = "other" },
        ["4"] = { business_key = "order-4" },
        ["6 5 4 3 2 1 "] = { business_key = "order-*" },
        ["3"] = { role = "clerk", business_key = "order-3" },
        ["2"] = { key = "k2" },
        ["2 "] = { key = "k2", business_key = "order-*" },
        [" "] = { key = "k2", business_key = "order-3" },
        ["1"] = { key = "k1", version = 1, role = "clerk" },
        ["  "] = { key = "k1", version = 2 },
        ["5 3 1"] = { workflow = "t.one", version = 1 },
        ["   "] = { version = 2 },
        ["6 5 4"] = { created_after = began + 1700 },
        ["3 2 1"] = { created_before = began + 1700, role = "clerk" },
        ["6 5 "] = { assignee = "ann", due_after = began + 3 * 3600 },
        ["1 2 3"] = { due_before = began + 3 * 3600 + 1200 },
        ["2 3"] = { due_before = began + 3 * 3600 + 1200,
          due_after = began + 2 * 3600 },
      } do
        assert.equal((want:gsub(" +$", "")), found(engine, query))
      end
    end
  end)

  it("has pages both ways, whatever it is found by", function()
    local engine = fresh { shards = 2 }
    for _, by in ipairs { {}, { role = "clerk" }, { form = "f" },
      { business_key = "order-*" }, { user = "ann", role = "clerk" } } do
      local all = assert(engine.tasks:list(by))
      assert.equal(6, #all)
      local function page(more)
        for name, value in pairs(by) do more[name] = value end
        more.limit = 2
        return found(engine, more)
      end
      assert.equal("4 3", page { before = all[2].id })
      assert.equal("4 3", page { after = all[5].id })
      assert.equal("5 4", page { before = all[1].id, after = all[5].id })
      assert.equal("", page { after = all[1].id })
      assert.equal("6", page { after = all[2].id })
    end
  end)

  it("by due time has pages both ways, also of those due at once", function()
    for _, shards in ipairs { 1, 3 } do
      local engine, began = fresh { shards = shards }
      local all = { due_before = began + 86400 }
      local list = assert(engine.tasks:list(all))
      local at
      for i, task in ipairs(list) do at = i == 2 and task.due or at end
      for i = 3, 4 do -- three of them at once
        assert(engine.tasks:edit(list[i].id, { by = "ann", due = at }))
      end
      assert(engine:run())
      list = assert(engine.tasks:list(all))
      assert.same({ at, at, at }, { list[2].due, list[3].due, list[4].due })
      local whole, n = {}, #list
      for i, task in ipairs(list) do whole[i] = task.id end
      for limit = 1, 4 do
        local seen, place = {}, nil
        repeat
          local page = assert(engine.tasks:list { due_before = began + 86400,
            limit = limit, before = place })
          for _, task in ipairs(page) do seen[#seen + 1] = task.id end
          place = page[limit] and page[limit].id
        until not place
        assert.same(whole, seen)
        seen, place = {}, nil
        repeat
          local page = assert(engine.tasks:list { due_before = began + 86400,
            limit = limit, after = place or whole[n] })
          for i = #page, 1, -1 do table.insert(seen, 1, page[i].id) end
          place = page[limit] and page[1].id
        until not place
        assert.same({ table.unpack(whole, 1, n - 1) }, seen)
      end
      local between = assert(engine.tasks:list { due_before = began + 86400,
        before = whole[1], after = whole[4] })
      assert.same({ whole[2], whole[3] }, ids(between))
      local none = assert(engine.tasks:list { due_before = began + 86400,
        after = whole[1] })
      assert.same({}, none)
    end
  end)

  it("is counted up to its limit", function()
    local engine = fresh()
    local n, more = assert(engine.tasks:tally { limit = 4 })
    assert.same({ 4, true }, { n, more })
    n, more = assert(engine.tasks:tally { limit = 6 })
    assert.same({ 6, false }, { n, more })
    kit.refused("invalid", "only pending and running", nil,
      engine.tasks:tally { overdue = true, status = "completed" })
  end)
end)
