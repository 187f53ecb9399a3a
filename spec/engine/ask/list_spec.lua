-- What lists of instances can be asked for, and how they are paged.
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function fails(code)
  return function(ctx)
    if ctx.input and ctx.input.fails then
      error { code = code, message = "no", retry = false }
    end
  end
end

--- The names that instances were given in their inputs, in the list's order.
local function names(rows, of)
  local found = {}
  for i, row in ipairs(assert(rows)) do found[i] = of[row.id] or "?" end
  return table.concat(found, " ")
end

--- Starts one for each name, an hour apart; of[id] is its name.
local function start_all(engine, clock, list)
  local of, ids = {}, {}
  for _, item in ipairs(list) do
    local id = assert(engine:start(item.code or "t.one", item.input,
      item.options))
    of[id], ids[item.name] = item.name, id
    assert(engine:run())
    clock:advance "1h"
  end
  return of, ids
end

local START <const> = 1767225600 -- the virtual clock's beginning

--- Numbers in the query are hours since then.
local function found_by_hours(engine, of, query)
  for name, hours in pairs(query) do
    if type(hours) == "number" then query[name] = START + 3600 * hours end
  end
  query.sort = "oldest"
  return names(engine:list(query), of)
end

kit.describe("a list of instances", function(backend)
  local function keyed(shards)
    local engine, clock = backend.fresh { shards = shards }
    assert(engine:load(kit.one()))
    local list = {}
    for i, key in ipairs { "order-1", "order-2", "order", "orders", "ordeß",
      "other" } do
      list[i] = { name = key, options = { business_key = key } }
    end
    list[#list + 1] = { name = "none" }
    return engine, start_all(engine, clock, list)
  end

  it("is found by a business key, or by how that begins", function()
    local engine, of = keyed(2)
    local function found(key, more)
      local query = { business_key = key, sort = "oldest" }
      for name, value in pairs(more or {}) do query[name] = value end
      return names(engine:list(query), of)
    end
    assert.equal("order-2", found "order-2")
    assert.equal("order", found "order")
    assert.equal("order-1 order-2", found "order-*")
    assert.equal("order-1 order-2 order orders", found "order*")
    assert.equal("ordeß", found "ordeß*")
    assert.equal("order-1 order-2 order orders ordeß other", found "*")
    assert.equal("", found "order-")
    assert.equal("", found "Order*")
    assert.equal("order-1", found("order-*", { limit = 1 }))
    assert.equal("order-2", found("order-*", { limit = 1, sort = "newest" }))
    assert.equal("", found("order-*", { status = "failed" }))
    assert.equal("order-1 order-2", found("order-*", { workflow = "t.one" }))
    assert.equal("", found("order-*", { workflow = "t.two" }))
  end)

  it("takes beginnings that end with the last of their letters", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one()))
    local LAST <const> = utf8.char(0x10ffff)
    local of = start_all(engine, clock, {
      { name = "a", options = { business_key = "x" .. LAST .. "y" } },
      { name = "b", options = { business_key = "x" .. utf8.char(0xd7ff) } },
      { name = "c", options = { business_key = "y" } },
    })
    local function found(key)
      return names(engine:list { business_key = key, sort = "oldest" }, of)
    end
    assert.equal("a", found("x" .. LAST .. "*"))
    assert.equal("b", found("x" .. utf8.char(0xd7ff) .. "*"))
    assert.equal("a b", found "x*")
    assert.equal("a", found(("x%sy*"):format(LAST)))
  end)

  it("is found by a key, whatever the workflow", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.one(nil, { code = "t.two" })))
    local of = start_all(engine, clock, {
      { name = "a", options = { key = "k" } },
      { name = "b", code = "t.two", options = { key = "k" } },
      { name = "c", options = { key = "l" } },
    })
    assert.equal("b a", names(engine:list { key = "k" }, of))
    assert.equal("b", names(engine:list { key = "k", workflow = "t.two" },
      of))
  end)

  it("is found by a tenant, a correlation, a group", function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.one()))
    local of = start_all(engine, clock, {
      { name = "a", options = { tenant = "x", correlation = "u" } },
      { name = "b", options = { tenant = "y", correlation = "u" } },
      { name = "c", options = { tenant = "x", group = "blue" } },
    })
    local function found(query) return names(engine:list(query), of) end
    assert.equal("c a", found { tenant = "x" })
    assert.equal("a c", found { tenant = "x", sort = "oldest" })
    assert.equal("c", found { tenant = "x", limit = 1 })
    assert.equal("a", found { tenant = "x", status = "completed" })
    assert.equal("c", found { tenant = "x", status = "created" })
    assert.equal("b a", found { correlation = "u" })
    assert.equal("a", found { correlation = "u", tenant = "x" })
    assert.equal("c", found { group = "blue" })
    assert.equal("b a", found { group = "default" })
  end)

  it("is found by the node where it stands, or ended", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.fork", start = "f" }
    flow:fork("f", { next = { "t", "u" } })
    flow:timer("t", { after = "5h", next = "j" })
    flow:timer("u", { after = "2h", next = "j" })
    flow:join("j", { next = "last" })
    flow:timer("last", { after = "100h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(kit.timer "100h"))
    assert(engine:load(kit.one()))
    local of = start_all(engine, clock, {
      { name = "forked", code = "t.fork" },
      { name = "lone", code = "t.timer" },
      { name = "ended" },
    })
    local function found(node, query)
      query = query or {}
      query.node = node
      return names(engine:list(query), of)
    end
    assert.equal("lone forked", found "t")
    assert.equal("lone forked", found("t", { status = "waiting" }))
    assert.equal("forked", found("t", { workflow = "t.fork" }))
    assert.equal("", found "u") -- its time has come
    assert.equal("ended", found("z"))
    assert.equal("", found("z", { status = "waiting" }))
    clock:advance "5h"
    assert(engine:run())
    assert.equal("lone", found "t")
    assert.equal("forked", found "last")
    assert.equal("", found "nowhere")
  end)

  it("is not looked for where counters know of none", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:start "t.one")
    local function found(query) return #assert(engine:list(query)) end
    for _ = 1, 2 do -- created, then wherever it has come to
      assert.equal(1, found { version = 1 })
      assert.equal(1, found { version = 1, workflow = "t.one" })
      assert.equal(0, found { version = 2 })
      assert.equal(0, found { version = 1, workflow = "t.other" })
      assert.equal(0, found { node = "nowhere" })
      assert.equal(0, assert(engine:tally { version = 2 }))
      assert(engine:run())
    end
    -- who has no counters is believed to have none
    backend.sql(url, "delete from " .. kit.table(backend, "counter"))
    if backend.name == "sqlite" then -- which folds what goes, and keeps that
      backend.sql(url, "delete from pawl_counter")
    end
    assert.equal(1, found {})
    assert.equal(0, found { version = 1 })
  end)

  it("is found by when it was created, updated or ended", function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.one()))
    assert(engine:load(kit.timer "90m"))
    local of = start_all(engine, clock, {
      { name = "a" }, { name = "b", code = "t.timer" }, { name = "c" } })
    assert(engine:run()) -- b ended at 3h
    clock:advance "1h"
    local function found(query) return found_by_hours(engine, of, query) end
    assert.equal("b c", found { created_after = 1 })
    assert.equal("a", found { created_before = 1 })
    assert.equal("b", found { created_after = 1, created_before = 2 })
    assert.equal("b c", found { created_after = "2026-01-01T01:00:00Z" })
    assert.equal("", found { created_after = 4 })
    assert.equal("b", found { updated_after = 2.5 })
    assert.equal("a c", found { updated_before = 2.5 })
    assert.equal("a", found { completed_before = 1 })
    assert.equal("b c", found { completed_after = 1 })
    assert.equal("c", found { completed_after = 1, completed_before = 3 })
    assert.equal("", found { completed_after = 0, status = "waiting" })
    assert.equal("a", found { created_before = 1, workflow = "t.one" })
  end)

  it("is found by when it was first worked on", function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.one()))
    assert(engine:load(kit.timer "90m"))
    local of, ids = start_all(engine, clock, {
      { name = "a" }, { name = "late", options = { delay = "90m" } },
      { name = "b", code = "t.timer" }, { name = "never",
        options = { delay = "100h" } } })
    local function found(query) return found_by_hours(engine, of, query) end
    local at = assert(engine:get(ids.late)).times.started
    assert.equal("2026-01-01T03:00:00.000000Z", at)
    assert.equal("a late b", found { started_after = 0 })
    assert.equal("a late b", found { started_before = 100 })
    assert.equal("late b", found { started_after = 1 })
    assert.equal("late", found { started_after = at })
    assert.equal("a b", found { started_before = at })
    assert.equal("b", found { started_after = 1, started_before = at })
    assert.equal("late", found { started_after = at, workflow = "t.one" })
    assert.equal("", found { started_after = 0, status = "created" })
    assert.equal("never", found { status = "created" })
    assert.equal("a", found { started_before = 1, sort = "newest" })
    assert.equal(1, (assert(engine:tally { started_before = START + 1 })))
    local done = assert(engine:bulk("delete", { started_after = at }))
    assert.equal(1, done.done)
  end)

  it("is found by the code of its error, or by how that begins", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(fails "card_declined")))
    assert(engine:load(kit.one(fails 'card"quoted', { code = "t.two" })))
    local of = start_all(engine, clock, {
      { name = "a", input = { fails = true } },
      { name = "b", code = "t.two", input = { fails = true } },
      { name = "c" },
    })
    local function found(query) return names(engine:list(query), of) end
    assert.equal("a", found { error = "card_declined" })
    assert.equal("b", found { error = 'card"quoted' })
    assert.equal("", found { error = "card" })
    assert.equal("b a", found { error = "card*" })
    assert.equal("b a", found { error = "*" })
    assert.equal("a", found { error = "card*", workflow = "t.one" })
    assert.equal("", found { error = "card*", status = "completed" })
    assert.equal("", found { error = "declined*" })
  end)

  it("is found by the message of its error, or by how that begins", function()
    local engine, clock = backend.fresh()
    local text = ""
    assert(engine:load(kit.one(function()
      error { code = "x", message = text, retry = false,
        details = { a = 1, message = "bank down" } }
    end)))
    local of = {}
    for name, said in pairs { a = "bank timeout after 3 s", b = "bank down",
      c = 'said "bank timeout', d = "x" } do
      text = said
      of[assert(engine:start "t.one")] = name
      assert(engine:run())
      clock:advance "1m"
    end
    local function found(query)
      local list = {}
      for _, row in ipairs(assert(engine:list { error = query })) do
        list[#list + 1] = of[row.id]
      end
      table.sort(list)
      return table.concat(list, " ")
    end
    assert.equal("a", found "bank timeout*")
    assert.equal("a b", found "bank*")
    assert.equal("b", found "bank down")
    assert.equal("c", found 'said "bank*')
    assert.equal("a b c d", found "x")
    assert.equal("", found "timeout*")
    assert.equal("", found "bank timeout")
  end)

  it("is found by a status that few have, beside what all have", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local flow = pawl.workflow { code = "t.fails", start = "a" }
    flow:step("a", { next = "z", run = function()
      error { code = "no", retry = false }
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local items = {}
    for i = 1, 3000 do items[i] = {} end
    local all = { tenant = "x", attributes = { region = "eu", n = 7 } }
    assert(engine:start_many("t.one", items, all))
    for i = 1, 3 do
      all.attributes.n = i
      assert(engine:start("t.fails", {}, all))
    end
    all.attributes.region = "us"
    assert(engine:start("t.fails", {}, all))
    assert(engine:run())
    local one <close> = assert(pawl.open(url, { tenant = "x" }))
    local function took(query, n)
      local best = math.huge
      for _ = 1, 3 do
        local began = core.mono()
        assert.equal(n, #assert(one:list(query)))
        best = math.min(best, core.mono() - began)
      end
      return best
    end
    assert.equal(3000, (one:tally { status = "completed" }))
    assert.equal(3003, (one:tally { attributes = { region = "eu" } }))
    for _, query in ipairs {
      { attributes = { region = "eu" } }, -- by what it equals
      { attributes = { n = { ">=", 0 }, region = "eu" } },
      { attributes = { n = { ">=", 0 }, region = { "in", "eu", "uk" } } },
    } do
      query.status = "failed"
      local few = took(query, 3)
      query.status, query.node = nil, "nowhere" -- it reads them all
      local many = took(query, 0)
      assert.is_true(few < many / 2, ("%g and %g: %s"):format(few, many,
        pawl.json.encode(query)))
    end
    assert.equal(3, #assert(one:list { status = "failed", limit = 3 }))
    assert.equal(1, #assert(one:list { status = { "failed", "suspended" },
      attributes = { n = 2 } }))
  end)

  it("is found by who has cancelled it, and how that was undone", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.undone", start = "a" }
    flow:step("a", { next = "t", run = function() end, undo = function(ctx)
      if ctx.input.stuck then error { message = "stuck", retry = false } end
    end })
    flow:timer("t", { after = "100h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(kit.timer "100h"))
    local of, ids = start_all(engine, clock, {
      { name = "undone", code = "t.undone", input = {} },
      { name = "stuck", code = "t.undone", input = { stuck = true } },
      { name = "plain", code = "t.timer" },
      { name = "kept", code = "t.timer" },
    })
    for name, by in pairs { undone = "ann", stuck = "bob", plain = "ann" } do
      assert(engine:cancel(ids[name], { by = by,
        reason = '","by":"eve","' }))
    end
    local function found(query)
      query.sort = "oldest"
      return names(engine:list(query), of)
    end
    assert.equal("undone stuck", found { compensation = { "planning",
      "running" } })
    assert.equal("undone plain", found { cancelled_by = "ann" })
    assert(engine:run())
    assert.equal("undone plain", found { cancelled_by = "ann" })
    assert.equal("plain", found { cancelled_by = "ann",
      workflow = "t.timer" })
    assert.equal("undone", found { cancelled_by = "ann", limit = 1 })
    assert.equal("plain", found { cancelled_by = "ann", after = ids.undone })
    assert.equal("", found { cancelled_by = "ann", before = ids.undone })
    assert.equal("plain undone", names(engine:list { cancelled_by = "ann" },
      of))
    assert.equal("undone", found { cancelled_by = "ann",
      compensation = "completed" })
    assert.equal("undone stuck", found { compensation = { "completed",
      "completed_with_errors" } })
    assert.equal("undone", found { limit = 1, compensation = { "completed",
      "completed_with_errors" } })
    assert.equal("", found { cancelled_by = "an" })
    assert.equal("", found { cancelled_by = "eve" })
    assert.equal("undone", found { compensation = "completed" })
    assert.equal("stuck", found { compensation = "completed_with_errors" })
    assert.equal("", found { compensation = { "planning", "stopped" } })
    assert.error_matches(function()
      assert(engine:list { compensation = "complete" })
    end, "completed")
  end)

  it("is found by what is due, its deadline, and whether it is held",
    function()
      local engine, clock, url = backend.fresh { shards = 2 }
      local rival = kit.rival(backend, url, clock)
      local held, of = {}, nil
      local function found(query)
        query.sort = "oldest"
        return names(rival:list(query), of)
      end
      local flow = pawl.workflow { code = "t.held", start = "a" }
      flow:step("a", { next = "z", run = function()
        held = { found { leased = true }, found { leased = false },
          found { leased = true, workflow = "t.timer" },
          found { due_before = START + 36001 } }
      end })
      flow:finish "z"
      assert(engine:load(kit.timer "5h"))
      assert(engine:load(kit.timer("9h", "t.late")))
      local last = pawl.workflow { code = "t.last", start = "t",
        deadline = "8h" }
      last:timer("t", { after = "20h", next = "z" })
      last:finish "z"
      assert(engine:load(last))
      local ids
      of, ids = start_all(engine, clock, {
        { name = "soon", code = "t.timer" },  -- 5h
        { name = "late", code = "t.late" },   -- 10h
        { name = "ends", code = "t.last" },   -- deadline 10h
        { name = "off", code = "t.last" },    -- deadline 11h
      })
      assert(engine:suspend(ids.off))
      of[assert(engine:start "t.held")] = "held" -- ready since 4h
      assert.equal("held", found { due_before = START + 18000 })
      assert.equal("soon held", found { due_before = START + 18001 })
      assert.equal("soon late ends held",
        found { due_before = START + 36001 })
      assert.equal("late", found { due_before = START + 36001,
        workflow = "t.late" })
      assert.equal("ends", found { deadline_before = START + 36001 })
      assert.equal("", found { deadline_before = START + 36000 })
      assert.equal("off", found { deadline_before = START + 40000,
        status = "suspended" })
      assert.equal("", found { leased = true })
      assert(engine:load(flow))
      assert(engine:run())
      assert.same({ "held", "soon late ends off", "", "soon late ends" },
        held)
      assert.equal("", found { due_before = START, status = "completed" })
    end)

  it("tells what each waits for, when it is asked to", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.all", start = "a" }
    flow:choice("a", { choose = function(ctx) return ctx.input.go end,
      next = { timer = "timer", event = "event", task = "task",
        retry = "retry", call = "call", each = "each", fork = "fork" } })
    flow:timer("timer", { after = "100h", next = "z" })
    flow:wait("event", { event = "paid", key = function() return "k" end,
      timeout = "10h", next = { received = "z", timeout = "z" } })
    flow:task("task", { title = "Look", role = "boss", due = "5h",
      next = "z" })
    flow:step("retry", { retry = { max = 3, base = 36000 },
      run = function() error { code = "down", message = "no bank" } end,
      next = "z" })
    flow:call("call", { workflow = "t.timer", next = "z" })
    flow:each("each", { items = function() return pawl.array { 1, 2 } end,
      workflow = "t.timer", next = "z" })
    flow:fork("fork", { next = { "f", "g" } })
    flow:timer("f", { after = "100h", next = "j" })
    flow:timer("g", { after = "100h", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(kit.timer "100h"))
    assert(engine:load(kit.one()))
    local of = {}
    for _, go in ipairs { "timer", "event", "task", "retry", "call", "each",
      "fork" } do
      of[assert(engine:start("t.all", { go = go }))] = go
    end
    local held = assert(engine:start("t.all", { go = "timer" }))
    of[assert(engine:start "t.one")] = "ended"
    assert(engine:run())
    assert(engine:suspend(held, { by = "ann", reason = "wrong price" }))
    of[held] = "held"
    of[assert(engine:start("t.one", nil, { delay = "1h" }))] = "created"
    local function waits()
      local found = {}
      for _, row in ipairs(assert(engine:list { waits = true })) do
        found[of[row.id] or "child"] = row.waits or "nothing"
      end
      return found
    end
    local function at(hours)
      return os.date("!%Y-%m-%dT%H:%M:%S.000000Z", START + hours * 3600)
    end
    local found = waits()
    assert.same({ what = "time", at = at(100) }, found.timer)
    assert.same({ what = "event", event = "paid", key = "k",
      ["until"] = at(10) }, found.event)
    assert.same({ what = "person", title = "Look", due = at(5) }, found.task)
    assert.same({ "retry", 1, "no bank" }, { found.retry.what,
      found.retry.failed, found.retry.error.message })
    assert.equal("child", found.call.what)
    assert.same({ "items", 0, 2 }, { found.each.what, found.each.done,
      found.each.total })
    assert.same({ what = "resume", by = "ann", reason = "wrong price" },
      found.held)
    assert.same({ "nothing", "nothing", "nothing" },
      { found.fork, found.ended, found.created })
    assert(engine.workflows:suspend { workflow = "t.all" })
    found = waits()
    assert.same({ what = "workflow" }, found.timer)
    assert.equal("resume", found.held.what)
    assert.equal("nothing", found.ended)
    clock:advance "1h"
    assert.is_nil(assert(engine:list())[1].waits)
  end)

  it("tells created ones from those that run", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function()
      error { message = "again" }
    end, { retry = { max = 3, base = 100 } })))
    local of = start_all(engine, clock, { { name = "runs" } })
    for i = 1, 5 do
      of[assert(engine:start("t.one", nil, { delay = "9d" }))] = "c" .. i
    end
    local function found(query) return names(engine:list(query), of) end
    assert.equal("runs", found { status = "running", limit = 2 })
    assert.equal("c5 c4", found { status = "created", limit = 2 })
    assert.equal("c1", found { status = "created", limit = 1,
      sort = "oldest" })
    assert.equal("runs c1", found { status = { "running", "created" },
      limit = 2, sort = "oldest" })
  end)

  it("is paged both ways, oldest or newest first", function()
    local engine = backend.fresh { shards = 3 }
    assert(engine:load(kit.one()))
    local all, of = {}, {}
    for i = 1, 9 do
      all[i] = assert(engine:start("t.one", nil, { tenant = "x",
        correlation = "y" }))
      of[all[i]] = tostring(i)
    end
    for _, more in ipairs { {}, { tenant = "x" }, { correlation = "y" },
      { workflow = "t.one" }, { status = "created" } } do
      local function page(query)
        query.limit = query.limit or 3
        for name, value in pairs(more) do query[name] = value end
        return names(engine:list(query), of)
      end
      assert.equal("9 8 7", page {})
      assert.equal("6 5 4", page { before = all[7] })
      assert.equal("2 1", page { before = all[3] })
      assert.equal("7 6 5", page { after = all[4] })
      assert.equal("9 8", page { after = all[7] })
      assert.equal("", page { after = all[9] })
      assert.equal("6 5 4", page { after = all[2], before = all[7] })
      assert.equal("1 2 3", page { sort = "oldest" })
      assert.equal("4 5 6", page { sort = "oldest", after = all[3] })
      assert.equal("3 4 5", page { sort = "oldest", after = all[2],
        before = all[9] })
      assert.equal("1 2", page { sort = "oldest", before = all[3] })
      assert.equal("9 8 7 6 5 4 3 2 1", page { limit = 100 })
    end
  end)

  -- Each workflow is an index's range of its own; some of them end long before
  -- the others begin.
  it("is in the order of ids whichever workflows they are of", function()
    local engine, clock = backend.fresh()
    local all, of = {}, {}
    for _, code in ipairs { "t.b", "t.a", "t.c" } do
      local flow = pawl.workflow { code = code, version = 1, start = "z" }
      flow:finish "z"
      assert(engine:load(flow))
    end
    for i, code in ipairs { "b", "a", "a", "b", "b", "b", "c", "a", "b", "a",
      "a", "a", "a", "b" } do
      all[i] = assert(engine:start("t." .. code))
      of[all[i]] = tostring(i)
      clock:advance(1)
    end
    assert(engine:run())
    local function wanted(from, to, limit)
      local list, step = {}, from <= to and 1 or -1
      for i = from, to, step do
        if #list < limit then list[#list + 1] = tostring(i) end
      end
      return table.concat(list, " ")
    end
    for _, status in ipairs { "completed", false } do
      local function page(query)
        query.status = status or nil
        return names(engine:list(query), of)
      end
      for limit = 1, #all do
        for at = 1, #all do
          local case = ("%d from %d, %s"):format(limit, at, status)
          assert.equal(at == #all and "" or wanted(at + 1, #all, limit),
            page { sort = "oldest", after = all[at], limit = limit }, case)
          assert.equal(at == 1 and "" or wanted(at - 1, 1, limit),
            page { before = all[at], limit = limit }, case)
        end
        assert.equal(wanted(1, #all, limit),
          page { sort = "oldest", limit = limit })
        assert.equal(wanted(#all, 1, limit), page { limit = limit })
      end
    end
  end)

  it("is counted, up to a limit", function()
    local engine = backend.fresh { shards = 2 }
    assert(engine:load(kit.one(fails "declined")))
    for i = 1, 5 do
      assert(engine:start("t.one", { fails = i < 3 }, { tenant = "x",
        attributes = { n = i } }))
    end
    local function counted(count, more, query)
      local n, is_more = engine:tally(query)
      assert.same({ count, more }, { n, is_more })
    end
    counted(5, false)
    counted(5, false, { status = "created" })
    assert(engine:run())
    counted(0, false, { status = "created" })
    counted(2, false, { status = "failed" })
    counted(2, false, { error = "declined", tenant = "x" })
    counted(4, false, { attributes = { n = { ">", 1 } } })
    counted(4, true, { limit = 4 })
    counted(5, false, { limit = 5 })
    counted(1, true, { limit = 1, tenant = "x" })
    counted(1, true, { limit = 1, attributes = { n = { "in", 1, 2 } } })
    counted(0, false, { completed_after = START, status = "running" })
    kit.refused("invalid", "", nil, engine:tally { limit = 10001 })
    assert.error_matches(function() engine:tally { limt = 1 } end, "limit")
  end)
end)
