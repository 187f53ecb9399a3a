-- How many of each a list would have.
local kit = require "spec.engine.kit"

--- {{"a", 3}, ...} as the groups' names and counts, the most first.
local function told(by, groups)
  local list = {}
  for i, group in ipairs(groups.groups) do
    list[i] = ("%s %d"):format(group[by] or "-", group.count)
  end
  return table.concat(list, ", ")
end

local function fails(ctx)
  if ctx.input.fails then
    error { code = ctx.input.fails, message = "no", retry = false }
  end
end

kit.describe("a tally in groups", function(backend)
  local function some(shards)
    local engine = backend.fresh { shards = shards }
    assert(engine:load(kit.one(fails)))
    assert(engine:load(kit.one(fails, { code = "t.two" })))
    assert(engine:load(kit.timer "5h"))
    for i, code in ipairs { "x", "y", "x", "x", "", "" } do
      assert(engine:start("t.one", { fails = code ~= "" and code or nil },
        { correlation = i % 2 == 0 and "even" or "odd" }))
    end
    assert(engine:start("t.two", { fails = "y" }))
    assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:start("t.two", {}))
    return engine
  end

  it("has the most first, of any filters", function()
    for _, shards in ipairs { 1, 3 } do
      local engine = some(shards)
      local function counted(by, query)
        query = query or {}
        query.group_by = by
        local groups, more = assert(engine:tally(query))
        assert.is_false(more)
        assert.is_false(groups.more)
        local sum = 0
        for _, group in ipairs(groups.groups) do sum = sum + group.count end
        assert.equal(groups.count, sum)
        return told(by, groups)
      end
      assert.equal("x 3, y 2", counted "error")
      assert.equal("x 3, y 1", counted("error", { workflow = "t.one" }))
      assert.equal("x 3, y 2", counted("error", { status = "failed" }))
      assert.equal("x 2", counted("error", { correlation = "odd",
        error = "*" }))
      assert.equal("- 2", counted("error", { status = "completed" }))
      assert.equal("t.one 6, t.two 2, t.timer 1", counted "workflow")
      assert.equal("t.one 4, t.two 1", counted("workflow", {
        status = "failed" }))
      assert.equal("t.two 1", counted("workflow", { status = "created" }))
      assert.equal("t.one 3", counted("workflow", { correlation = "odd" }))
      assert.equal("failed 5, completed 2, created 1, waiting 1",
        counted "status")
      assert.equal("failed 5, completed 2", counted("status", {
        status = { "failed", "completed" } }))
      assert.equal("", counted("workflow", { status = "cancelled" }))
    end
  end)

  it("is whole for what counters tell, whatever the limit of the rest",
    function()
      local engine = some(2)
      local function counted(by, limit)
        local groups = assert(engine:tally { group_by = by, limit = limit })
        return told(by, groups), groups.more, groups.count
      end
      assert.same({ "failed 5, completed 2, created 1, waiting 1", false, 9 },
        { counted("status", 2) }) -- the one that was created is walked
      assert.same({ "t.one 6, t.two 2, t.timer 1", false, 9 },
        { counted("workflow", 1) })
      local nodes, more, n = counted("node", 3)
      assert.is_true(more)
      assert.equal(4, n) -- the one that waits, and three of the others
      assert.matches("1", nodes)
    end)

  it("tells the nodes of those that wait, by counters or one by one",
    function()
      local engine = some(2)
      local waiting = assert(engine:list { status = "waiting" })
      local node = waiting[1].node
      for _, query in ipairs { { status = "waiting" },
        { status = { "waiting", "suspended" } },
        { status = { "waiting", "cancelled" } },
        { status = "waiting", workflow = "t.timer", version = 1 },
        { status = "waiting", due_before = 1e10 } } do
        query.group_by = "node"
        assert.equal(node .. " 1", told("node", assert(engine:tally(query))))
      end
    end)

  it("says when there are more than it counts", function()
    local engine = some(1)
    local groups, more = engine:tally { group_by = "node", limit = 4 }
    assert.is_true(more)
    assert.is_true(groups.more)
    assert.equal(5, groups.count) -- and the one that counters tell of
    -- counters have counted all of them already
    groups, more = engine:tally { group_by = "workflow", limit = 1 }
    assert.is_false(more)
    assert.equal(9, groups.count)
  end)

  it("refuses what it cannot count by", function()
    local engine = backend.fresh()
    kit.refused("invalid", "group_by", "node",
      engine:tally { group_by = "nod" })
    kit.refused("invalid", "", nil, engine:tally { group_by = "node",
      limit = 10001 })
    kit.refused("invalid", "`sort` can only be", nil, engine:tally {
      group_by = "node", sort = "updated" })
  end)

  it("counts a tenant's alone", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(fails)))
    for _, tenant in ipairs { "a", "a", "b" } do
      assert(engine:start("t.one", { fails = "x" }, { tenant = tenant }))
    end
    assert(engine:run())
    local theirs = kit.rival(backend, url, clock, { tenant = "a" })
    for by, name in pairs { workflow = "t.one", error = "x",
      status = "failed" } do
      assert.equal(name .. " 2", told(by, assert(theirs:tally {
        group_by = by })))
      assert.equal(name .. " 3", told(by, assert(engine:tally {
        group_by = by, status = "failed" })))
    end
  end)
end)

kit.describe("a list by an error's code", function(backend)
  it("is found among failures, whatever their workflow", function()
    for _, shards in ipairs { 1, 3 } do
      local engine = backend.fresh { shards = shards }
      assert(engine:load(kit.one(fails)))
      assert(engine:load(kit.one(fails, { code = "t.two" })))
      for _, code in ipairs { "card_lost", "card_stolen", "bank", 'c"q',
        "card_lost" } do
        assert(engine:start("t.one", { fails = code }))
      end
      assert(engine:start("t.two", { fails = "card_lost" }))
      assert(engine:start("t.two", {}))
      assert(engine:run())
      local function found(query) return #assert(engine:list(query)) end
      assert.equal(3, found { error_code = "card_lost" })
      assert.equal(2, found { error_code = "card_lost", workflow = "t.one" })
      assert.equal(4, found { error_code = "card_*" })
      assert.equal(6, found { error_code = "*" })
      assert.equal(1, found { error_code = 'c"q' })
      assert.equal(0, found { error_code = "card" })
      assert.equal(0, found { error_code = "no" }) -- a message
      assert.equal(0, found { error_code = "bank", workflow = "t.two" })
      assert.equal(0, found { error_code = "bank", status = "completed" })
      assert.equal(1, found { error_code = "bank", status = "failed" })
      assert.equal(2, found { error_code = "card_lost", limit = 2 })
      assert.equal(3, engine:tally { error_code = "card_lost" })
      assert.equal(2, assert(engine:bulk("retry", {
        error_code = "card_lost", workflow = "t.one" })).done)
    end
  end)
end)
