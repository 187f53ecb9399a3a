-- Lists of instances by a time: in order, in pages both ways, or refused.
local kit = require "spec.engine.kit"

--- The names of rows, by their ids.
local function names(rows, of)
  local found = {}
  for i, row in ipairs(rows) do found[i] = of[row.id] or "?" end
  return table.concat(found, " ")
end

--- All pages of two rows, from the first to the last and back again.
local function both_ways(engine, query, of)
  local there, back, pages = {}, {}, {}
  local ascending = (query.sort == "due") ~= not not query.reverse
  local on = ascending and "after" or "before"
  local off = ascending and "before" or "after"
  local function page(where, row)
    local asked = { limit = 2 }
    for name, value in pairs(query) do asked[name] = value end
    if row then asked[where] = row.cursor end
    return assert(engine:list(asked))
  end
  local rows = page()
  while #rows > 0 do
    there[#there + 1] = names(rows, of)
    pages[#pages + 1] = rows
    rows = page(on, rows[#rows])
  end
  for i = #pages, 2, -1 do
    table.insert(back, 1, names(page(off, pages[i][1]), of))
  end
  back[#pages] = there[#pages]
  assert.same(there, back)
  return table.concat(there, " | ")
end

kit.describe("a list that is sorted by a time", function(backend)
  --- a..e are started an hour apart and wait, b for least, e for longest; then
  --- c and a are woken, in this order, and end.
  local function some(shards)
    local engine, clock = backend.fresh { shards = shards }
    local of, ids = {}, {}
    for i, name in ipairs { "b", "a", "c", "d", "e" } do
      assert(engine:load(kit.timer(("%dh"):format(100 * i), "t." .. name)))
    end
    for _, name in ipairs { "a", "b", "c", "d", "e" } do
      ids[name] = assert(engine:start("t." .. name, nil,
        { correlation = "all", key = "k-" .. name, attributes = {
          n = name == "d" and 7 or name == "b" and 2 or 4,
          kind = name > "c" and "odd-" .. name or name } }))
      of[ids[name]] = name
      assert(engine:run())
      clock:advance "1h"
    end
    for _, name in ipairs { "c", "a" } do
      assert(engine:wake(ids[name]))
      assert(engine:run())
      clock:advance "1h"
    end
    return engine, of, ids
  end

  it("is in its order, in pages both ways, and reversed", function()
    for _, shards in ipairs { 1, 3 } do
      local engine, of = some(shards)
      local function found(query) return both_ways(engine, query, of) end
      assert.equal("e d | c b | a", found { sort = "created" })
      assert.equal("a b | c d | e", found { sort = "created",
        reverse = true })
      assert.equal("a c | e d | b", found { sort = "updated" })
      assert.equal("b d | e c | a", found { sort = "updated",
        reverse = true, correlation = "all" })
      assert.equal("a c", found { sort = "completed" })
      assert.equal("c a", found { sort = "completed", reverse = true })
      assert.equal("b d | e", found { sort = "due" })
      assert.equal("e d | b", found { sort = "due", reverse = true })
      assert.equal("d", found { sort = "due", workflow = "t.d" })
      assert.equal("b d | e", found { sort = "due", correlation = "all" })
      assert.equal("e b", found { sort = "due", reverse = true,
        correlation = "all", attributes = { n = { "<", 5 } } })
      assert.equal("d e", found { sort = "due",
        attributes = { kind = { "prefix", "odd" } } })
      assert.equal("b e", found { sort = "due", attributes = { n = { "in", 2,
        4 } } })
      assert.equal("d", found { sort = "due", key = "k-d" })
      assert.equal("", found { sort = "due", key = "k-a" })
      assert.equal("", found { sort = "due", error = "e*" })
      assert.equal("", found { sort = "due", cancelled_by = "ann" })
      assert.equal("b", found { sort = "updated", workflow = "t.b" })
      assert.equal("a b c d e", names(engine:list { reverse = true }, of))
      assert.equal("e d c b a", names(engine:list { sort = "oldest",
        reverse = true }, of))
    end
  end)

  it("has what a list has, and where each stands", function()
    local engine = some(1)
    local plain = assert(engine:list { workflow = "t.b", waits = true })[1]
    local due = assert(engine:list { workflow = "t.b", sort = "due",
      waits = true })[1]
    assert.equal("time", due.waits.what)
    assert.equal(due.waits.at, due.due)
    assert.equal("string", type(due.cursor))
    due.due, due.cursor = nil, nil
    assert.same(plain, due)
  end)

  it("has nothing that is ready, leased or has ended in what is due",
    function()
      local engine, clock, url = backend.fresh()
      local rival = kit.rival(backend, url, clock)
      local seen
      assert(engine:load(kit.one(function()
        seen = assert(rival:list { sort = "due" })
      end)))
      assert(engine:load(kit.timer "5h"))
      assert(engine:start "t.timer")
      assert(engine:run())
      assert(engine:start "t.one")
      assert.equal("t.timer", engine:list { sort = "due" }[1].workflow)
      assert.equal(1, #engine:list { sort = "due" })
      assert(engine:run())
      assert.equal(1, #seen)
      assert.same({}, engine:list { sort = "due", status = "completed" })
      assert.same({}, engine:list { sort = "completed", status = "waiting" })
    end)

  it("is refused where it would have to sort without end", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for i = 1, 3 do assert(engine:start("t.one", nil, { key = "k" .. i })) end
    assert.equal(3, #assert(engine:list { sort = "updated" }))
    backend.sql(url, ([[
      insert into %s (shard, id, status, workflow, version, priority,
        executor_group, visit, attempt, commits, seq, created_at, updated_at)
      select i.shard, %s, i.status, i.workflow, i.version, 0, 'default', 0, 0,
             0, 0, i.created_at, i.updated_at
        from %s i cross join %s n where i.key = 'k1']]):format(
      kit.table(backend, "instance"),
      backend.name == "postgres" and "gen_random_uuid()" or "randomblob(16)",
      kit.table(backend, "instance"),
      backend.name == "postgres" and "generate_series(1, 10000)"
        or "(with recursive n (i) as (select 1 union all select i + 1 from n "
        .. "where i < 10000) select i from n)"))
    if backend.name == "postgres" then
      backend.sql(url, [[insert into pawl.standing (shard, workflow, status,
        instance) select shard, workflow, status, id from pawl.instance
        where key is null]])
    end
    backend.sql(url, ("update %s set correlation = 'many'"):format(
      kit.table(backend, "instance")))
    kit.refused("invalid", "^`sort` by \"due\" reads all that the query finds",
      "narrow it", engine:list { sort = "due", correlation = "many" })
    for _, sort in ipairs { "created", "updated" } do
      kit.refused("invalid", "^`sort` by \"" .. sort .. "\" reads all that "
        .. "the query finds, 10000 at most, and there are more",
        "narrow it: a workflow", engine:list { sort = sort })
      assert.equal(1, #assert(engine:list { sort = sort, key = "k1" }))
    end
  end)

  it("is refused with what it cannot go with", function()
    local engine = backend.fresh()
    for _, query in ipairs { { deleted = true }, { archived = true },
      { leased = true }, { leased = true, key = "k" } } do
      query.sort = "due"
      kit.refused("invalid", "`sort` cannot be \"due\" of what this query "
        .. "finds", "can be sorted by \"created\"", engine:list(query))
    end
    for _, cursor in ipairs { "x", "1.", ".1", kit.draw_id(),
      "9999999999999999999." .. kit.draw_id() } do
      for _, where in ipairs { "before", "after" } do
        kit.refused("invalid", "is no place among those", "`cursor` of a row",
          engine:list { sort = "updated", [where] = cursor })
      end
    end
    kit.refused("invalid", "`sort` can only be \"newest\"", "leave `sort`",
      engine:tally { sort = "updated" })
    kit.refused("invalid", "`sort` can only be \"newest\"", "leave `sort`",
      engine:bulk("wake", { sort = "due", workflow = "t.one" }))
    kit.refused("invalid", "`group_by` is for counts", "tally",
      engine:list { group_by = "node" })
    kit.refused("invalid", "`group_by` is for counts", "tally",
      engine:bulk("wake", { group_by = "node", workflow = "t" }))
  end)
end)
