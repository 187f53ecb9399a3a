-- The protocol that lets many workers share one store: one spec or more for
-- each of its rules. Every one of them was broken in a trial without it.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"
local process = require "spec.support.process"

--- a, z; the handler of the first run calls `first`, later ones do nothing.
local function raced(first, options)
  local runs = { n = 0 }
  local flow = kit.one(function(ctx)
    runs.n = runs.n + 1
    ctx.vars.by = runs.n
    if runs.n == 1 then return first(ctx) end
  end, options)
  return flow, runs
end

--- Everything an instance owns, as text to compare.
local function snapshot(backend, url, id)
  local parts = {}
  for _, name in ipairs { "instance", "agenda", "history", "attribute",
    "inbox", "token", "variable", "item", "subscription", "task",
    "message", "outbox", "published", "deadline" } do
    local key = name == "instance" and "id" or "instance"
    local rows = kit.select(url, ("select * from %s where %s = %s")
      :format(kit.table(backend, name), key, kit.id_literal(backend, id)))
    for _, row in ipairs(rows) do
      local words = {}
      for column, value in pairs(row) do
        words[#words + 1] = column .. "=" .. tostring(value)
      end
      table.sort(words)
      parts[#parts + 1] = name .. ": " .. table.concat(words, " ")
    end
  end
  for _, name in ipairs { "owner", "event" } do
    parts[#parts + 1] = name .. ": " .. kit.count(backend, url, name)
  end
  table.sort(parts)
  return table.concat(parts, "\n")
end

-- Their lease is a relay's, of a row of the outbox: relay_spec.lua.
local RELAYS = { outbox_claim = true, outbox_lock = true,
  outbox_publish = true, outbox_pass = true, outbox_drop = true }

--- Statements of plain steps: they undo their unit instead of writing nothing.
local PLAIN = { instance_step = true, instance_finish = true,
  agenda_finish = true, history_step = true }

kit.describe("rule 1, the lease id,", function(backend)
  it("drops what a worker brings after another has taken over", function()
    local b, clock
    local flow, runs = raced(function()
      clock:advance(31)
      assert(b:run()) -- takes over, and finishes
    end)
    local a
    a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    local stats = assert(a:tick(1))
    assert.equal(2, runs.n)
    assert.equal(1, stats.lost)
    assert.equal(0, stats.committed)
    local instance = assert(a:get(id))
    assert.equal("completed", instance.status)
    assert.equal(2, instance.output.by)
    assert.equal("recovered, step a", kit.trail(a, id))
  end)

  it("drops it though the rival has not committed anything yet", function()
    local store, clock, url, engine, before
    local flow = raced(function(ctx)
      ctx.attrs.color = "red"
      clock:advance(31)
      kit.claim(store, ctx.id)
      before = snapshot(backend, url, ctx.id)
    end)
    engine, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    assert.equal(1, assert(engine:tick(1)).lost)
    assert.equal(before, snapshot(backend, url, id))
  end)

  it("fences even the same executor, which may have claimed again",
    function()
      local store, clock, url, engine, before
      local flow = raced(function(ctx)
        local mine = kit.agenda(store, ctx.id)
        clock:advance(31)
        kit.claim(store, ctx.id, { executor = mine.executor })
        before = snapshot(backend, url, ctx.id)
      end)
      engine, clock, url = backend.fresh()
      store = kit.store(url, clock)
      assert(engine:load(flow))
      local id = assert(engine:start "t.one")
      assert.equal(1, assert(engine:tick(1)).lost)
      assert.equal(before, snapshot(backend, url, id))
    end)

  it("is drawn afresh at every claim", function()
    local store, clock, url, engine
    local seen, count = {}, 0
    local flow = kit.one(function(ctx)
      local row = kit.agenda(store, ctx.id)
      assert(not seen[row.lease], "the lease id was used before")
      seen[row.lease] = true
      count = count + 1
      if count < 4 then error "again" end
    end, { retry = { max = 9, base = 1 } })
    engine, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    for _ = 1, 4 do
      assert(engine:run())
      clock:advance "10m"
    end
    assert.completed(engine, id)
    assert.equal(4, count)
  end)

  it("tells a stalled handler that it has lost", function()
    local b, clock
    local heard = {}
    local flow, runs = raced(function(ctx)
      ctx.heartbeat()
      clock:advance(31)
      assert(b:run())
      local ok, err = pcall(ctx.heartbeat)
      heard.heartbeat = not ok and err.code
      ok, err = pcall(ctx.cancelled)
      heard.cancelled = not ok and err.code
    end)
    local a
    a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.same({ heartbeat = "lease_lost", cancelled = "lease_lost" }, heard)
    assert.equal(2, runs.n)
    assert.equal("recovered, step a", kit.trail(a, id))
  end)

  it("tells it so while the one that took over is still at work", function()
    local engine, clock, url, store
    local heard = {}
    local flow = raced(function(ctx)
      clock:advance(31)
      kit.claim(store, ctx.id)
      for _, ask in ipairs { "heartbeat", "cancelled" } do
        local ok, err = pcall(ctx[ask])
        heard[ask] = not ok and err.code
      end
    end)
    engine, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(engine:load(flow))
    assert(engine:start "t.one")
    assert(engine:tick(1))
    assert.same({ heartbeat = "lease_lost", cancelled = "lease_lost" }, heard)
  end)

  it("drops failures and cancellations that come too late as well",
    function()
      for _, how in ipairs { "fail", "retry", "timer" } do
        local store, clock, url, engine, before
        local flow = pawl.workflow { code = "t.how", start = "a" }
        flow:step("a", {
          retry = how == "fail" and false or nil,
          run = function(ctx)
            clock:advance(31)
            kit.claim(store, ctx.id)
            before = snapshot(backend, url, ctx.id)
            if how ~= "timer" then error "late" end
          end,
          next = "t",
        })
        flow:timer("t", { after = "1h", next = "z" })
        flow:finish "z"
        engine, clock, url = backend.fresh()
        store = kit.store(url, clock)
        assert(engine:load(flow))
        local id = assert(engine:start "t.how")
        assert.equal(1, assert(engine:tick(1)).lost)
        assert.equal(before, snapshot(backend, url, id))
      end
    end)

  it("guards every statement that changes anything", function()
    local engine, clock, url = backend.fresh()
    local flow = kit.one()
    assert(engine:load(flow))
    local id = assert(engine:start("t.one", nil,
      { attributes = { color = "red" } }))
    local store = kit.store(url, clock)
    local old, no = kit.draw_id(), kit.draw_id()
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = store:now() })
    kit.run(store, "inbox_insert", { shard = 0, id = id, no = no,
      kind = "cancel", data = "{}", now = store:now() })
    kit.run(store, "inbox_insert_many", { shard = 0, id = { id },
      no = { kit.draw_id() }, name = "paid", event_id = "s:e", source = "s",
      addressed = 1, now = store:now() })
    local now = clock.us
    local lease = kit.claim(store, id)
    backend.sql(url, ([[insert into %s (shard, instance, deadline_at)
      select shard, id, created_at from %s;]]):format(
      kit.table(backend, "deadline"), kit.table(backend, "instance")))
    backend.sql(url, ([[insert into %s (shard, instance, seq, type, changes,
      completed_at) values (0, (select id from %s), 90, 'received',
      '{"event":{"id":"of old"}}', (select created_at from %s));]]):format(
      kit.table(backend, "history"), kit.table(backend, "instance"),
      kit.table(backend, "instance")))
    local before = snapshot(backend, url, id)
    local writes = {
      instance_commit = { commits = { 0 }, was = { "running" },
        parts = { 0 }, status = { "running" },
        variables = { '{"x":1}' }, token_no = { 1 },
        token_state = { "active" }, node = { "a" },
        previous_node = { probe.null }, visit = { 1 }, attempt = { 0 },
        token_due_at = { probe.null }, seq = { 1 }, error = { probe.null },
        started_at = { now }, updated_at = { now } },
      instance_end = { commits = { 0 }, was = { "running" },
        parts = { probe.null }, status = { "failed" },
        variables = { probe.null }, node = { "a" },
        previous_node = { probe.null }, visit = { 1 }, attempt = { 0 },
        seq = { 1 }, output = { probe.null }, error = { "{}" },
        cancellation = { probe.null }, started_at = { now },
        updated_at = { now } },
      instance_stay = { commits = { 0 }, variables = { probe.null },
        parts = { probe.null }, node = { "b" },
        previous_node = { probe.null }, seq = { 1 }, updated_at = { now } },
      history_insert = { executor = kit.draw_id(), seq = { 1 },
        type = { "step" }, node = { "a" }, token = { 1 }, visit = { 1 },
        transition = { probe.null }, path = { probe.null }, attempt = { 1 },
        by = { probe.null }, text = { probe.null },
        output = { probe.null }, changes = { probe.null },
        error = { probe.null }, started_at = { now },
        completed_at = { now }, due_at = { probe.null },
        previous = { probe.null }, request = { probe.null } },
      history_drop = { seq = { 1 } },
      history_tell = { seq = { 1 } },
      history_trim = { executor = kit.draw_id(), record = { "{}" },
        completed_at = { now } },
      attribute_put = { name = { "color" }, type = { "string" },
        text_value = { "blue" }, date_value = { probe.null },
        bytes_value = { probe.null }, float_value = { probe.null },
        number_value = { probe.null }, boolean_value = { probe.null },
        sortable = { "sblue" }, updated_at = { now } },
      attribute_delete = { name = { "color" } },
      inbox_delete = { no = { no } },
      deadline_drop = {},
      agenda_keep = { seen = { 1 } },
      agenda_blame = { takeovers = 5 },
      agenda_release = { seen = { 1 }, due_at = { now + 5 }, now = now },
      agenda_end = { seen = { 1 } },
      agenda_unclaim = { executor = { probe.null }, due_at = { now } },
      agenda_unclaim_lease = { horizon_us = 1000000000000, now = now },
      agenda_heartbeat = { lease_us = 99, now = now },
      agenda_relet = { new_lease = kit.draw_id() },
      agenda_stray = {},
      agenda_pin = { version = 7 },
      instance_pin = { version = 7 },
      instance_progress = { progress = "half", visit = 1 },
      instance_seldom = { version = { 6 },
        token_data = { probe.null }, token_event = { probe.null },
        token_detail = { probe.null }, tokens = { 3 }, sent = { 2 },
        children = { 1 }, immediate = { 0 }, joined = { probe.null },
        stopped = { probe.null }, compensation = { probe.null },
        cancellation = { probe.null }, suspended_at = { probe.null },
        deletion = { probe.null }, deleted_at = { probe.null },
        purge_at = { probe.null }, away = { probe.null },
        deadline_at = { now }, lasts = { 0 }, output = { probe.null } },
      token_put = { no = { 2 }, node = { "a" }, state = { "active" },
        visit = { 1 }, previous_node = { probe.null }, parent = { 1 },
        scope = { "1" }, fork = { "f" }, branch = { "b" },
        data = { probe.null }, event = { probe.null },
        detail = { probe.null }, attempt = { 0 }, due_at = { probe.null },
        updated_at = { now } },
      token_progress = { visit = 2 }, -- the other one is that of token_put
      token_drop = {},
      subscription_put = { token = { 2 }, tenant = { "" }, pattern = { "paid" },
        key = { "17" }, since = { now }, due_at = { probe.null },
        free = { 1 } },
      subscription_delete = { token = { 2 } },
      subscription_clear = {},
      inbox_take = { no = { kit.draw_id() }, kind = { "event" },
        name = { "paid" },
        key = { "17" }, event_id = { ":1" }, source = { "" },
        data = { "{}" }, received_at = { now } },
      inbox_keep = { now = now, expires_at = now },
      inbox_clear = { revives = { false } },
      inbox_recall = {},
      variable_put = { part = { ":0" }, members = { '"x":1' } },
      variable_delete = { part = { ":0" } },
      task_insert = { task = { kit.draw_id() }, tenant = { probe.null },
        workflow = { "t.one" }, token = { 2 },
        node = { "a" }, visit = { 1 }, form = { probe.null },
        title = { "Do it" }, description = { probe.null },
        priority = { "normal" }, input = { probe.null },
        metadata = { probe.null }, signal = { probe.null },
        assignee = { probe.null },
        due_at = { probe.null }, created_at = { now } },
      owner_insert = { token = { 2 }, visit = { 1 }, kind = { "role" },
        owner = { "manager" } },
      task_raise = { token = { 2 }, visit = { 1 }, priority = { "high" },
        escalated_at = { now } },
      task_due = { token = { 2 }, visit = { 1 }, due_at = { now },
        updated_at = { now } },
      task_rename = { token = { 2 }, visit = { 1 }, node = { "renamed" } },
      task_end = { token = { 2 }, visit = { 1 }, status = { "cancelled" },
        updated_at = { now } },
      task_close = { updated_at = { now } },
      message_insert = { seq = { 1 }, kind = { "cancel" },
        target = { kit.draw_id() }, data = { "{}" },
        created_at = { now } },
      outbox_insert = { seq = { 2 }, tenant = { probe.null },
        type = { "paid" }, payload = { "{}" }, created_at = { now } },
      published_put = { answers = { false }, name = { "sum" },
        value = { "1" }, updated_at = { now } },
      item_insert = { token = { 2 }, no = { 0 }, item = { "1" } },
      item_put = { token = { 2 }, no = { 0 }, state = { "done" },
        child = { probe.null }, result = { "2" }, error = { probe.null } },
    }
    for _, name in ipairs { "history", "item", "token", "variable",
      "subscription", "attribute", "outbox", "published", "inbox", "ending",
      "failure",
      "audit",
      "owner", "task", "instance" } do
      writes["purge_held_" .. name] = {}
    end
    writes.archive_instance = {}
    writes.purge_unseize = { completed_at = { now }, hidden = { true } }
    writes.purge_held_keep = { deletion = "{}", now = now }
    writes.audit_purge_held = { own = { kit.draw_id() }, by = "ann",
      text = "", now = now }
    writes.archive_insert = { deletion = "{}", rest = false,
      document = "", now = now }
    -- statements that take a lease and are not asked here only read or claim
    writes.instance_stand = {}
    for name, value in pairs(writes.instance_commit) do
      writes.instance_stand[name] = value
    end
    local takes_list = {}
    for _, statement in ipairs(probe.statements()) do
      takes_list[statement.name] = {}
      for _, arg in ipairs(statement.args) do
        takes_list[statement.name][arg.name] = arg.list
      end
      if takes_list[statement.name].lease ~= nil then
        assert.is_truthy(writes[statement.name]
          or statement.name:find "^agenda_claim"
          or statement.name == "agenda_lock"
          or statement.name == "agenda_latches"
          or statement.name == "agenda_aside"
          or statement.name == "agenda_seize"
          or statement.name == "purge_seize"
          or statement.name == "instance_load"
          or statement.name:find "^failure_" -- follows from the row
          or statement.name == "deadline_put" -- the same
          or RELAYS[statement.name]
          or PLAIN[statement.name], -- below
          statement.name .. " is not tried here")
      end
    end
    local function send(name, args, held)
      local all = { shard = 0 }
      for key, value in pairs { id = id, lease = held, latch = probe.null } do
        local list = takes_list[name][key]
        if list ~= nil then all[key] = list and { value } or value end
      end
      for key, value in pairs(args) do all[key] = value end
      kit.run(store, name, all)
    end
    for name, args in pairs(writes) do
      send(name, args, old)
      assert.equal(before, snapshot(backend, url, id),
        name .. " wrote under another's lease")
    end
    -- and each of them does write under the lease that holds
    writes.instance_stand.commits = { 1 } -- behind the other one
    for _, name in ipairs { "agenda_keep", "agenda_blame", "deadline_drop",
      "inbox_delete",
      "inbox_take",
      "inbox_keep", "inbox_clear", "inbox_recall", "attribute_put",
      "attribute_delete",
      "history_insert", "instance_commit", "instance_stand",
      "instance_seldom", "agenda_pin",
      "instance_pin",
      "instance_progress", "token_put", "token_progress", "token_drop",
      "subscription_put",
      "subscription_delete", "subscription_put", "subscription_clear",
      "variable_put", "variable_delete", "task_insert", "owner_insert",
      "task_raise", "task_due", "task_rename", "task_end",
      "message_insert", "outbox_insert", "published_put", "item_insert",
      "item_put",
      "agenda_heartbeat", "agenda_unclaim_lease" } do
      local was = snapshot(backend, url, id)
      send(name, writes[name], lease)
      assert.are_not.equal(was, snapshot(backend, url, id),
        name .. " did nothing under the lease that holds")
    end
  end)

  --- Two instances of t.one that a store holds, and what a plain step and a
  --- plain end would write of them.
  local function plain()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local store, ids, leases = kit.store(url, clock), {}, {}
    for i = 1, 2 do ids[i] = kit.draw_id() end
    table.sort(ids)
    for i = 1, 2 do
      assert(engine:start("t.one", nil, { id = ids[i] }))
      leases[i] = kit.claim(store, ids[i])
    end
    local function two(value) return { value, value } end
    local none, now = two(probe.null), clock.us
    local row = { shard = 0, id = ids, lease = leases, commits = two(0),
      variables = two '{"x":1}', node = two "a", previous_node = none,
      visit = two(1), seq = two(1), started_at = two(now), now = now }
    local function with(more)
      for key, value in pairs(row) do
        if more[key] == nil then more[key] = value end
      end
      return more
    end
    return store, url, ids, {
      agenda_finish = { shard = 0, id = ids, lease = leases, seen = two(0) },
      instance_step = with { token_no = two(1) },
      instance_finish = (function()
        local args = with { attempt = two(0), output = none }
        args.lease = leases
        return args
      end)(),
      history_step = { shard = 0, executor = kit.draw_id(), id = ids,
        seq = two(1), type = two "step", node = two "a", token = two(1),
        visit = two(1), transition = none, path = none, attempt = two(1),
        output = none, changes = none, started_at = two(now),
        completed_at = two(now) },
    }
  end

  --- Both instances, as they are stored.
  local function both(url, ids)
    return snapshot(backend, url, ids[1]) .. snapshot(backend, url, ids[2])
  end

  local function send_all(store, args, names)
    assert(store:begin "batch")
    for _, name in ipairs(names) do
      local ok, err = store:send(name, args[name])
      if not ok then
        store:rollback()
        return nil, err
      end
    end
    local ok, err = store:commit()
    store:rollback()
    return ok, err
  end

  local STEP = { "instance_step", "history_step" }
  local END = { "agenda_finish", "instance_finish", "history_step" }

  for _, case in ipairs {
    { "a step under another's lease", STEP, "instance_step", "lease" },
    { "a step behind another commit", STEP, "instance_step", "commits" },
    { "an end under another's lease", END, "agenda_finish", "lease" },
    { "an end behind another commit", END, "instance_finish", "commits" },
    { "an end that something overtook", END, "agenda_finish", "seen" },
  } do
    it("undoes the batch of plain steps for " .. case[1], function()
      local store, url, ids, args = plain()
      local before = both(url, ids)
      local column = args[case[3]][case[4]]
      args[case[3]][case[4]] = { column[1],
        case[4] == "lease" and kit.draw_id() or column[2] + 1 }
      local ok, err = send_all(store, args, case[2])
      assert.is_nil(ok)
      assert.equal("lease_lost", err.code)
      assert.equal("22012", err.sqlstate)
      assert.equal(before, both(url, ids))
    end)
  end

  it("lets plain steps through where it holds", function()
    local store, url, ids, args = plain()
    local rows = assert(send_all(store, args, STEP))[1]
    assert.equal(2, #rows)
    assert.equal(ids[1], rows[1].instance)
    assert.equal(0, rows[1].latch)
    local engine = backend.open(url)
    assert.equal("step a", kit.trail(engine, ids[2]))
    assert.equal(1, assert(engine:get(ids[1])).variables.x)
    local _, other
    _, url, other, args = plain()
    store = kit.store(url)
    assert(send_all(store, args, END))
    engine = backend.open(url)
    assert.completed(engine, other[2])
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("lost behind a claim's back, drops what ran", function()
    local engine, _, url = backend.fresh()
    local runs = 0
    assert(engine:load(kit.chain {
      function(ctx)
        runs = runs + 1
        ctx.vars.runs = runs
        if runs > 1 then return end
        -- the commit of the last holder comes in behind the claim's load
        local id = kit.id_literal(backend, ctx.id)
        backend.sql(url, ([[
          update %s set commits = commits + 1, seq = seq + 1,
                 variables = '{"theirs":true}' where id = %s;
          insert into %s (shard, instance, seq, type, node, token, visit,
                 attempt, completed_at)
          select 0, %s, 1, 'step', 'before', 1, 1, 1, created_at
            from %s where id = %s]]):format(
            kit.table(backend, "instance"), id,
            kit.table(backend, "history"), id,
            kit.table(backend, "instance"), id))
      end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("completed", instance.status)
    assert.equal(2, runs)
    assert.same({ theirs = true, runs = 2 }, instance.variables)
    assert.equal(0, instance.takeovers or 0)
  end)

  it("decides what is loaded", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local store = kit.store(url, clock)
    local lease = kit.claim(store, id)
    local args = { shard = 0, lease = lease, lease_us = 30000000,
      now = clock.us }
    assert.equal(1, #kit.run(store, "instance_load", args))
    args.lease = kit.draw_id()
    assert.equal(0, #kit.run(store, "instance_load", args))
  end)

  it("stays with the instance's last commit, and its number", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    local lease
    assert(engine:load(kit.chain {
      function(ctx) lease = kit.agenda(store, ctx.id).lease end,
      function() error "later" end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local row = kit.run(store, "instance_settle", { shard = 0, id = id })[1]
    assert.equal(lease, row.lease)
    assert.equal(2, row.commits)
    assert.equal(2, assert(engine:get(id)).commits)
  end)

  it("is asked about before an executor gives something back", function()
    local engine, clock, store, url
    local lease
    local flow = raced(function(ctx)
      clock:advance(31)
      lease = kit.claim(store, ctx.id)
      engine:interrupt()
      error "late"
    end)
    engine, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    assert(engine:tick(1))
    engine:close() -- says goodbye, releasing what it holds
    assert.equal(lease, kit.agenda(store, id).lease)
  end)
end)

kit.describe("rule 2, the order of locks,", function(backend)
  -- SQLite has one writer at a time: there is nothing to put in order.
  if backend.name == "sqlite" then return end

  --- A store that gives up waiting for a lock instead of standing still.
  local function impatient(url, clock)
    return kit.store(url .. " options='-c lock_timeout=300ms'", clock)
  end

  --- Two instances, both due; returns their ids in order.
  local function two(engine)
    assert(engine:load(kit.one()))
    local ids = { (assert(engine:start "t.one")),
      (assert(engine:start "t.one")) }
    table.sort(ids)
    return ids
  end

  --- Locks an instance's agenda row until the store is rolled back.
  local function lock(store, id)
    assert(store:begin "open")
    assert(store:send("agenda_lock_one", { shard = 0, id = id }))
  end

  it("lets claims pass by rows that are locked", function()
    local engine, clock, url = backend.fresh()
    local ids = two(engine)
    local holder, rival = kit.store(url, clock), impatient(url, clock)
    lock(holder, ids[1])
    local rows = kit.run(rival, "agenda_claim", { shard = 0,
      executor_group = "default", workflow = { "t.one" },
      version = { 1 }, lease = kit.draw_id(),
      executor = kit.draw_id(), lease_us = 1000000, max = 8,
      now = clock.us })
    assert.equal(1, #rows)
    assert.equal(ids[2], rows[1].instance)
    holder:rollback()
  end)

  it("has a claim lock no more than it takes", function()
    local engine, clock, url = backend.fresh()
    local ids = two(engine)
    local first, rival = kit.store(url, clock), impatient(url, clock)
    local args = { shard = 0, executor_group = "default",
      workflow = { "t.one" }, version = { 1 },
      lease = kit.draw_id(), executor = kit.draw_id(), lease_us = 1000000,
      max = 1, now = clock.us }
    assert(first:begin "open")
    assert(first:send("agenda_claim", args))
    local taken = first:rows(1)[1].instance
    args.max = 8
    local rows = kit.run(rival, "agenda_claim", args)
    assert.equal(1, #rows)
    assert.equal(taken == ids[1] and ids[2] or ids[1], rows[1].instance)
    first:rollback()
  end)

  it("lets heartbeats pass by rows that are locked", function()
    local engine, clock, url = backend.fresh()
    local ids = two(engine)
    local holder, rival = kit.store(url, clock), impatient(url, clock)
    local lease = kit.draw_id()
    for _, id in ipairs(ids) do kit.claim(rival, id, { lease = lease }) end
    lock(holder, ids[1])
    local rows = kit.run(rival, "agenda_heartbeat", { shard = 0, id = ids,
      lease = { lease, lease }, lease_us = 1000000, now = clock.us })
    assert.equal(1, #rows)
    assert.equal(ids[2], rows[1].instance)
    holder:rollback()
  end)

  it("lets promotions and recoveries pass by rows that are locked",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(kit.timer "1h"))
      local ids = { (assert(engine:start "t.timer")),
        (assert(engine:start "t.timer")) }
      assert(engine:run())
      clock:advance "1h"
      local holder, rival = kit.store(url, clock), impatient(url, clock)
      lock(holder, ids[1])
      kit.run(rival, "agenda_promote", { shard = 0, now = clock.us,
        max = 10 })
      assert.is_false(kit.agenda(rival, ids[1]).ready)
      assert.is_true(kit.agenda(rival, ids[2]).ready)
      holder:rollback()

      local executor = kit.draw_id()
      for _, id in ipairs(ids) do
        kit.claim(rival, id, { executor = executor })
      end
      lock(holder, ids[2])
      kit.run(rival, "agenda_orphan", { shard = 0, executor = executor,
        horizon_us = 3600000000, now = clock.us, max = 10 })
      assert.is_true(kit.agenda(rival, ids[1]).ready)
      assert.is_false(kit.agenda(rival, ids[2]).ready)
      holder:rollback()
    end)

  -- In psql: holds the lock of %s until somebody waits for it, and then
  -- tries to lock all others, which fails at once if the waiter has one.
  local HOLDER = [[
    begin;
    select from pawl.agenda where instance = %s for update;
    do $$ begin
      for i in 1 .. 2000 loop
        perform pg_stat_clear_snapshot();
        if exists (select from pg_stat_activity where wait_event_type = 'Lock'
                   and datname = current_database()) then return; end if;
        perform pg_sleep(0.005);
      end loop;
      raise exception 'nobody waits';
    end $$;
    select from pawl.agenda where instance <> %s for update nowait;
    commit]]

  local function start_holder(url, id)
    local literal = ("'%s'"):format(id)
    local child = process.start { "env", "-u", "LD_PRELOAD", "psql",
      "--no-psqlrc", "--quiet",
      "--set=ON_ERROR_STOP=1", "--dbname=" .. url:gsub("^postgres:", ""),
      "--command=" .. HOLDER:format(literal, literal) }
    for _ = 1, 200 do -- until it holds the lock
      if #backend.sql(url, "select instance from pawl.agenda where instance = "
          .. literal .. " for update skip locked") == 0 then
        return child
      end
    end
    error("the lock was not taken: " .. child:errors())
  end

  it("is by id in a commit, whatever the order of claims", function()
    local engine, _, url = backend.fresh()
    local ids, holder, ran = {}, nil, 0
    assert(engine:load(kit.one(function()
      ran = ran + 1
      if ran == 6 then holder = start_holder(url, ids[1]) end
    end)))
    for i = 1, 6 do
      ids[i] = kit.draw_id()
      assert(engine:start("t.one", nil, { id = ids[i], priority = i }))
    end
    assert.equal(6, assert(engine:tick()).ended)
    assert.equal(0, holder:wait(10), holder:errors())
  end)

  it("is as given in the statement that locks", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local ids = { kit.draw_id(), kit.draw_id() }
    local store = kit.store(url, clock)
    local lease = kit.draw_id()
    for i = 2, 1, -1 do -- the other way round in the table
      assert(engine:start("t.one", nil, { id = ids[i] }))
    end
    for i = 2, 1, -1 do kit.claim(store, ids[i], { lease = lease }) end
    local holder = start_holder(url, ids[1])
    assert(store:begin "batch")
    assert(store:send("agenda_lock", { shard = 0, id = ids,
      lease = { lease, lease }, latch = { probe.null, probe.null } }))
    assert.equal(2, #assert(store:commit())[1])
    assert.equal(0, holder:wait(10), holder:errors())
  end)
end)

kit.describe("rule 3, history is the holder's,", function(backend)
  it("so a cancel request of a held instance becomes an inbox row",
    function()
      local a, b, store, url, clock
      local seen = {}
      local flow = pawl.workflow { code = "t.two", start = "a" }
      flow:step("a", {
        run = function(ctx)
          local before = assert(b:get(ctx.id))
          local ok, done = b:cancel(ctx.id, { reason = "r", by = "w" })
          seen.ok, seen.done = ok, done
          local after = assert(b:get(ctx.id))
          seen.same_version = before.commits == after.commits
          seen.status = after.status
          seen.history = #assert(b:history(ctx.id))
          seen.inbox = kit.count(backend, url, "inbox")
          seen.latch = kit.agenda(store, ctx.id).latch
        end,
        next = "b",
      })
      flow:step("b", { run = function() seen.b = true end, next = "z" })
      flow:finish "z"
      a, b, clock, url = kit.pair(backend, { flow })
      store = kit.store(url, clock)
      local id = assert(a:start "t.two")
      assert(a:run())
      assert.same({ ok = true, done = false, same_version = true,
        status = "running", history = 0, inbox = 1, latch = 1 }, seen)
      assert.equal("step a, cancelled b", kit.trail(a, id))
      assert.equal("cancelled", kit.status(a, id))
      assert.equal(0, kit.count(backend, url, "inbox"))
      assert.equal(0, kit.count(backend, url, "agenda"))
    end)

  it("and a request takes no row where there is nothing to wake", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local store = kit.store(url, clock)
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = clock.us })
    kit.run(store, "inbox_insert", { shard = 0, id = id,
      no = kit.draw_id(), kind = "cancel", data = "{}", now = clock.us })
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("and repeating a request changes nothing", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local store = kit.store(url, clock)
    local no = kit.draw_id()
    for _ = 1, 3 do
      kit.run(store, "agenda_wake", { shard = 0, id = id, now = clock.us })
      kit.run(store, "inbox_insert", { shard = 0, id = id, no = no,
        kind = "cancel", data = '{"reason":"once"}', now = clock.us })
    end
    assert.equal(1, kit.count(backend, url, "inbox"))
    assert(engine:run())
    assert.equal("step t, cancelled t",
      (kit.trail(engine, id):gsub("^started", "step")))
  end)
end)

kit.describe("rule 4, a wake-up never steals,", function(backend)
  it("but raises the latch of a leased row", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local store = kit.store(url, clock)
    kit.claim(store, id)
    local before = kit.agenda(store, id)
    clock:advance(1)
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = clock.us })
    local after = kit.agenda(store, id)
    assert.equal(1, after.latch)
    after.latch, before.latch, after.now, before.now = nil, nil, nil, nil
    assert.same(before, after)
    assert.equal(0, assert(engine:tick(1)).claimed)
  end)

  it("and the commit then makes the row due now", function()
    local a, store, clock, url
    local flow = pawl.workflow { code = "t.sleepy", start = "a" }
    flow:step("a", {
      run = function(ctx)
        kit.run(store, "agenda_wake",
          { shard = 0, id = ctx.id, now = clock.us })
        a:interrupt() -- so that the tick ends with this commit
      end,
      next = "t",
    })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    a, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(a:load(flow))
    local id = assert(a:start "t.sleepy")
    assert(a:tick(1))
    local row = kit.agenda(store, id)
    assert.is_true(row.ready)
    assert.equal(clock.us, row.due_at)
    assert.is_nil(row.lease)
    assert(a:run()) -- nothing there after all: back to the timer
    assert.equal("waiting", kit.status(a, id))
    assert.equal(clock:now() + 3600, assert(a:next_due()))
    clock:advance "1h"
    assert(a:run())
    assert.completed(a, id)
  end)

  it("and the commit does not delete a row that was woken", function()
    local a, store, clock, url
    a, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(a:load(kit.one(function(ctx)
      kit.run(store, "agenda_wake",
        { shard = 0, id = ctx.id, now = clock.us })
      a:interrupt()
      error "exhausted"
    end, { retry = false, on_exhausted = "suspend" })))
    local id = assert(a:start "t.one")
    assert(a:tick(1))
    assert.equal("suspended", kit.status(a, id))
    local row = assert(kit.agenda(store, id), "the wake-up was deleted")
    assert.is_true(row.ready)
    assert.is_nil(row.lease)
  end)

  it("and a heartbeat clears ready", function()
    local a, b, clock, url, store
    local claimed, ready
    local flow, runs = raced(function(ctx)
      clock:advance(31) -- the lease has ended; a promotion makes it ready
      kit.run(store, "agenda_promote", { shard = 0, now = clock.us,
        max = 10 })
      assert(kit.agenda(store, ctx.id).ready)
      ctx.heartbeat()
      ready = kit.agenda(store, ctx.id).ready
      claimed = assert(b:tick(1)).claimed
    end)
    a, b, clock, url = kit.pair(backend, { flow })
    store = kit.store(url, clock)
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.is_false(ready)
    assert.equal(0, claimed)
    assert.equal(1, runs.n)
    assert.equal("step a", kit.trail(a, id))
  end)

  it("and a claim that finds nothing to do deletes the row", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.one(function() error "no" end,
      { retry = false, on_exhausted = "suspend" })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = clock.us })
    assert.equal(1, kit.count(backend, url, "agenda"))
    local before = assert(engine:get(id)).commits
    assert.equal(1, assert(engine:run()).claimed)
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal("suspended", kit.status(engine, id))
    assert.equal(before, assert(engine:get(id)).commits)
    assert.equal("failed a", kit.trail(engine, id))
  end)

  it("and wakes a row that is due later at once", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert.equal(3600, assert(engine:next_due()) - clock:now())
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = clock.us })
    assert.equal(0, engine:next_due())
  end)
end)

kit.describe("rule 6, no decision on a stale view:", function(backend)
  it("an ending that a cancel request has overtaken is taken again",
    function()
      local a, b
      local flow, runs = raced(function(ctx)
        local _, done = assert(b:cancel(ctx.id, "stop"))
        assert(not done)
      end)
      local _, url
      a, b, _, url = kit.pair(backend, { flow })
      local id = assert(a:start "t.one")
      assert(a:run())
      local instance = assert(a:get(id))
      assert.equal("cancelled", instance.status)
      assert.equal("stop", instance.cancellation.reason)
      assert.equal(1, runs.n) -- the handler's result is kept
      assert.equal(1, instance.variables.by)
      assert.equal("step a, cancelled z", kit.trail(a, id))
      assert.is_nil(instance.output)
      assert.equal(0, kit.count(backend, url, "inbox"))
    end)

  it("so is a failure's", function()
    local a, b
    local flow, runs = raced(function(ctx)
      assert(b:cancel(ctx.id, "stop"))
      error "broken"
    end, { retry = false })
    a, b = kit.pair(backend, { flow })
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.equal("cancelled", kit.status(a, id))
    assert.equal("failed a, cancelled a", kit.trail(a, id))
    assert.equal(1, runs.n)
  end)

  it("a wait that begins beside an overtaken ending still looks", function()
    local engine, clock, url = backend.fresh()
    local store = kit.store(url, clock)
    assert(engine:load((raced(function(ctx)
      kit.run(store, "agenda_wake",
        { shard = 0, id = ctx.id, now = clock.us })
    end))))
    local waits = pawl.workflow { code = "t.waits", start = "before" }
    waits:step("before", { run = function() end, next = "w" })
    waits:wait("w", { event = "paid", key = function() return "17" end,
      timeout = "7d", into = "got", next = "z" })
    waits:finish "z"
    assert(engine:load(waits))
    assert(engine:signal { name = "paid", key = "17", data = { n = 5 } })
    local id, ended = assert(engine:start "t.waits"),
      assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, ended)
    assert.completed(engine, id)
    assert.equal(5, assert(engine:get(id)).variables.got.n)
  end)

  it("a wake-up without a cause changes no ending", function()
    local engine, clock, url, store
    local flow, runs = raced(function(ctx)
      kit.run(store, "agenda_wake",
        { shard = 0, id = ctx.id, now = clock.us })
    end)
    engine, clock, url = backend.fresh()
    store = kit.store(url, clock)
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("step a", kit.trail(engine, id))
    assert.equal(1, runs.n)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("every statement of an ending requires the latch", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local store = kit.store(url, clock)
    local lease = kit.claim(store, id)
    kit.run(store, "agenda_wake", { shard = 0, id = id, now = clock.us })
    local before = snapshot(backend, url, id)
    local now = clock.us
    local common = { shard = 0, id = { id }, lease = { lease },
      latch = { 0 } }
    assert.equal(0, #kit.run(store, "agenda_lock", common))
    local function with(more)
      for key, value in pairs(common) do more[key] = value end
      return more
    end
    kit.run(store, "instance_end", with { commits = { 0 },
      was = { "running" }, parts = { probe.null }, status = { "failed" },
      variables = { probe.null }, node = { "a" },
      previous_node = { probe.null }, visit = { 1 }, attempt = { 0 },
      seq = { 1 }, output = { probe.null }, error = { "{}" },
      cancellation = { probe.null }, started_at = { now },
      updated_at = { now } })
    kit.run(store, "history_insert", with { executor = kit.draw_id(),
      seq = { 1 }, type = { "step" }, node = { "a" }, token = { 1 },
      visit = { 1 }, transition = { probe.null }, path = { probe.null },
      attempt = { 1 }, by = { probe.null }, text = { probe.null },
      output = { probe.null }, changes = { probe.null },
      error = { probe.null }, started_at = { now }, completed_at = { now },
      due_at = { probe.null }, previous = { probe.null },
      request = { probe.null } })
    for _, clear in ipairs { "inbox_clear", "subscription_clear",
      "token_drop" } do
      kit.run(store, clear, with(clear == "inbox_clear"
        and { revives = { false } } or {}))
    end
    kit.run(store, "task_close", with { updated_at = { now } })
    kit.run(store, "attribute_put", with { name = { "color" },
      type = { "string" }, text_value = { "blue" },
      date_value = { probe.null }, bytes_value = { probe.null },
      float_value = { probe.null }, number_value = { probe.null },
      boolean_value = { probe.null }, sortable = { "sblue" },
      updated_at = { now } })
    kit.run(store, "agenda_end", { shard = 0, id = { id },
      lease = { lease }, seen = { 0 } })
    assert.equal(before, snapshot(backend, url, id))
  end)

  it("cancelling what has ended says so", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local ok, err = engine:cancel(id, "late")
    assert.is_nil(ok)
    assert.equal("already_finished", err.code)
    assert.matches("completed", err.message)
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)
end)

kit.describe("rule 7, a batch shares a commit, never a fate:",
  function(backend)
    it("what the store refuses takes nobody with it", function()
      local engine, _, url = backend.fresh()
      kit.poison(backend, url)
      local runs = 0
      assert(engine:load(kit.one(function(ctx)
        runs = runs + 1
        return nil, ctx.input.what
      end)))
      local bad = {}
      for i = 1, 20 do
        local what = (i == 3 or i == 17) and "poison" or "food"
        local id = assert(engine:start("t.one", { what = what }))
        if what == "poison" then bad[#bad + 1] = id end
      end
      assert(engine:run())
      assert.equal(20, runs)
      assert.equal(18, #assert(engine:list { status = "completed" }))
      for _, id in ipairs(bad) do
        local instance = assert(engine:get(id))
        assert.equal("failed", instance.status)
        assert.matches("the store refused the result", instance.error.message)
        assert.matches("poison", instance.error.message)
      end
    end)

    it("who has lost its lease takes nobody with it", function()
      local engine, clock, url, store, victim
      local ran = {}
      engine, clock, url = backend.fresh()
      store = kit.store(url, clock)
      assert(engine:load(kit.one(function(ctx)
        ran[#ran + 1] = ctx.id
        if #ran == 5 then
          victim = ran[2]
          local row = kit.agenda(store, victim)
          clock:advance(31)
          kit.claim(store, victim)
          assert(row.lease)
        end
      end)))
      for _ = 1, 10 do assert(engine:start "t.one") end
      local stats = assert(engine:tick(5))
      assert.equal(1, stats.lost)
      assert.equal(9, #assert(engine:list { status = "completed" }))
      assert.same({}, assert(engine:history(victim)))
    end)

    it("results do not wait longer than 50 ms for the rest", function()
      local a, b
      local first, seen
      local flow = kit.one(function(ctx)
        if not first then
          first = ctx.id
          local stop = os.clock() + 0.08
          while os.clock() < stop do end
        elseif not seen then
          seen = kit.status(b, first)
        end
      end)
      a, b = kit.pair(backend, { flow })
      for _ = 1, 3 do assert(a:start "t.one") end
      assert(a:run())
      assert.equal("completed", seen)
    end)

    it("what was not begun is free for others when a handler was slow",
      function()
        local a, b, url, _
        local ran = {}
        local leased
        local flow = kit.one(function(ctx)
          ran[#ran + 1] = ctx.id
          local stop = os.clock() + (#ran == 1 and 0.3 or 0)
          while os.clock() < stop do end
          if #ran == 2 then leased = kit.count(backend, url, "agenda",
            "lease is not null") end
        end)
        a, b, _, url = kit.pair(backend, { flow })
        local ids = {}
        for i = 1, 4 do ids[i] = (assert(a:start "t.one")) end
        assert(a:run())
        assert.equal(4, #ran)
        assert.is_true(leased < 3, "still leased: " .. leased)
        for _, id in ipairs(ids) do
          assert.equal("step a", kit.trail(b, id)) -- no takeover was counted
        end
      end)
  end)

kit.describe("rule 8, an answer that was lost,", function(backend)
  after_each(function() probe.fault(nil) end)

  if backend.name == "postgres" then
    for _, case in ipairs {
      { "before the commit arrived", "commit.before_send=drop" },
      { "after the commit arrived", "commit.sent=drop" },
    } do
      it("is settled by the row: " .. case[1], function()
        local engine, _, url = backend.fresh()
        local runs = {}
        assert(engine:load(kit.chain {
          function(ctx)
            runs[#runs + 1] = "a" .. ctx.input.n
            probe.fault(ctx.input.n == 1 and case[2] .. "@1" or nil)
          end,
          function(ctx) runs[#runs + 1] = "b" .. ctx.input.n end,
        }))
        local id = assert(engine:start("t.chain", { n = 1 }))
        assert(engine:run())
        assert.completed(engine, id)
        assert.equal("step a, step b", kit.trail(engine, id))
        assert.same({ "a1", "b1" }, runs) -- no handler ran twice
        assert.equal(0, kit.count(backend, url, "agenda"))
      end)
    end
  end

  it("leaves no way for the old commit to land after the relet", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local store = kit.store(url, clock)
    local old, new = kit.claim(store, id), kit.draw_id()
    assert.equal(1, #kit.run(store, "agenda_relet",
      { shard = 0, id = id, lease = old, new_lease = new }))
    assert.equal(new, kit.agenda(store, id).lease)
    local before = snapshot(backend, url, id)
    kit.run(store, "agenda_unclaim", { shard = 0, id = { id },
      lease = { old }, executor = { probe.null }, due_at = { clock.us } })
    assert.equal(0, #kit.run(store, "agenda_lock", { shard = 0,
      id = { id }, lease = { old }, latch = { probe.null } }))
    assert.equal(before, snapshot(backend, url, id))
  end)

  it("does not make a start happen twice when it is repeated", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local mine = kit.draw_id()
    local id, created = assert(engine:start("t.one", { n = 1 },
      { id = mine }))
    assert.equal(mine, id)
    assert.is_true(created)
    id, created = assert(engine:start("t.one", { n = 1 }, { id = mine }))
    assert.equal(mine, id)
    assert.is_false(created)
    assert.equal(1, kit.count(backend, url, "instance"))
    assert.equal(1, kit.count(backend, url, "agenda"))
    assert(engine:run())
    assert(engine:start("t.one", { n = 1 }, { id = mine }))
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.completed(engine, mine)
  end)
end)

kit.describe("rule 10, takeover at once,", function(backend)
  --- Says of the only executor that it is another process.
  local function pretend(url, change)
    backend.sql(url, ("update %s set %s"):format(
      kit.table(backend, "executor"), change))
  end

  --- A process id that nobody has any more.
  local function dead_pid()
    local child = process.start { "true" }
    child:wait(10)
    return child.pid
  end

  --- Leaves an instance leased by `a`, whose executor row is `change`d; then
  --- a newcomer ticks. Returns how many it claimed, and the trail.
  local function after(change)
    local a, clock, url
    local newcomer, claimed
    local flow = raced(function()
      pretend(url, change)
      newcomer = kit.rival(backend, url, clock)
      newcomer:load(kit.one())
      claimed = assert(newcomer:tick(1)).claimed
    end)
    a, clock, url = backend.fresh()
    assert(a:load(flow))
    local id = assert(a:start "t.one")
    assert(a:tick(1))
    return claimed, kit.trail(a, id)
  end

  it("ends the leases of a process of this host that is gone", function()
    local claimed, trail = after("pid = " .. dead_pid())
    assert.equal(1, claimed)
    assert.equal("recovered, step a", trail)
  end)

  it("ends them when another process has its number now", function()
    local claimed, trail = after "begun = begun - 1000"
    assert.equal(1, claimed)
    assert.equal("recovered, step a", trail)
  end)

  it("leaves those of a living process alone", function()
    local claimed, trail = after "pid = pid"
    assert.equal(0, claimed)
    assert.equal("step a", trail)
  end)

  it("knows nothing of processes of other hosts, boots and namespaces",
    function()
      local pid = dead_pid()
      for _, field in ipairs { "host", "boot", "space" } do
        local claimed, trail = after(("pid = %d, %s = 'other'"):format(pid,
          field))
        assert.equal(0, claimed, field)
        assert.equal("step a", trail)
      end
    end)

  it("leaves everything else to the lease's end, by the store's time",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(kit.one()))
      local id = assert(engine:start "t.one")
      local store = kit.store(url, clock)
      kit.claim(store, id)
      clock:advance(29.999999)
      assert.equal(0, assert(engine:run()).claimed)
      clock:advance(0.000001)
      assert.equal(1, assert(engine:run()).claimed)
      assert.equal("recovered, step a", kit.trail(engine, id))
    end)
end)
