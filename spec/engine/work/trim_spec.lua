-- `keep_history`: an instance that goes on for years keeps its history short,
-- and all that reads it stays right, or says what is gone.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local KEEP, SLACK = 100, 64

--- Goes round through `a` until `state.stop`, a row each time. `total` changes
--- each time, `first` is set once, `now_and_then` every 50 times; `gone` is
--- there for a while.
local function looping(state, options)
  local given = { code = "t.long", start = "a", keep_history = KEEP }
  for key, value in pairs(options or {}) do
    given[key] = value ~= "" and value or nil
  end
  local flow = pawl.workflow(given)
  flow:step("a", {
    run = function(ctx)
      state.n = (state.n or 0) + 1
      local vars = ctx.vars
      vars.total = state.n
      vars.first = vars.first or state.n
      if state.n % 50 == 0 then vars.now_and_then = state.n end
      if state.n == 10 then vars.gone = { "here" } end
      if state.n == 300 then vars.gone = nil end
      if state.on_step then state.on_step(ctx, state.n) end
      return state.n >= state.rounds and "out" or "again"
    end,
    next = { again = "a", out = "w" },
  })
  flow:wait("w", { event = "go", next = "z" })
  flow:finish "z"
  return flow
end

local function suspended(engine, id)
  assert(engine:run())
  assert(engine:suspend(id))
  return id
end

--- One that has gone round `rounds` times, and waits.
local function gone_round(backend, rounds, options, state)
  local engine, clock, url = backend.fresh()
  state = state or {}
  state.rounds = rounds
  assert(engine:load(looping(state, options)))
  local id = assert(engine:start "t.long")
  assert(engine:run())
  return engine, id, url, clock, state
end

local function get(engine, id) return assert(engine:get(id)) end
local function rows(engine, id, query)
  return assert(engine:history(id, query))
end

--- Rows as they are stored, by number; row 0 apart.
local function stored(backend, url)
  return backend.sql(url, ([[
    select seq, type from %s where seq > 0 order by instance, seq]]):format(
      kit.table(backend, "history")))
end

--- The row that tells of what is gone.
local function mark(engine, id)
  for at, row in ipairs(rows(engine, id)) do
    if row.type == "trimmed" then return row, at end
  end
end

kit.describe("a history that is kept short", function(backend)
  it("has at least as many rows as are kept, and few more", function()
    local engine, id, url = gone_round(backend, 1000)
    local instance = get(engine, id)
    local n = #stored(backend, url)
    assert.is_true(n >= KEEP, n)
    assert.is_true(n <= KEEP + SLACK + 8, n)
    local trimmed = instance.trimmed
    assert.equal(KEEP, trimmed.keep)
    assert.equal(1000 - n, trimmed.rows)
    assert.is_true(trimmed.upto >= 1000 - KEEP - SLACK - 1)
    assert.is_string(trimmed.at)
    -- no hole behind that
    local list = rows(engine, id, { after = trimmed.upto })
    assert.equal(1000 - trimmed.upto, #list)
    for i, row in ipairs(list) do assert.equal(trimmed.upto + i, row.seq) end
  end)

  it("stays whole without `keep_history`", function()
    local engine, id, url = gone_round(backend, 400, { keep_history = "" })
    assert.equal(400, #stored(backend, url))
    assert.is_nil(get(engine, id).trimmed)
    assert.is_nil(mark(engine, id))
  end)

  it("says where rows are missing, also to who pages", function()
    local engine, id = gone_round(backend, 500)
    local upto = get(engine, id).trimmed.upto
    local row, at = mark(engine, id)
    assert.is_true(row.seq <= upto)
    assert.same(get(engine, id).trimmed, row.trimmed)
    local list = rows(engine, id)
    assert.equal(row.seq + 1, list[at + 1].seq)
    for i = 2, #list do assert.is_true(list[i - 1].seq < list[i].seq) end
    local seen, after = {}, 0
    repeat
      local page = rows(engine, id, { after = after, limit = 3 })
      for _, one in ipairs(page) do seen[#seen + 1] = one end
      if #page > 0 then after = page[#page].seq end
    until #page == 0
    assert.same(rows(engine, id), seen)
    assert.equal("trimmed",
      rows(engine, id, { after = 5, type = "undone" })[1].type)
    assert.same({}, rows(engine, id, { after = row.seq, type = "undone" }))
  end)

  it("keeps the row that has each variable's latest value", function()
    local engine, id = gone_round(backend, 620)
    local first = rows(engine, id)[1]
    assert.equal(1, first.seq)
    assert.equal("step", first.type)
    local list = rows(engine, id, { variable = "first" })
    assert.equal(1, list[1].seq)
    assert.equal(1, list[1].value)
    list = rows(engine, id, { variable = "now_and_then" })
    assert.equal(600, list[#list].value)
    assert.equal(600, list[#list].seq)
    list = rows(engine, id, { variable = "total" })
    assert.equal(620, list[#list].value)
  end)

  it("tells the variables as they were behind what is gone", function()
    local engine, id = gone_round(backend, 620)
    local upto = get(engine, id).trimmed.upto
    for _, seq in ipairs { upto + 1, upto + 30, 620 } do
      assert(engine:restart(suspended(engine, id),
        { from = "w", seq = seq }))
      local vars = get(engine, id).variables
      assert.equal(seq - 1, vars.total)
      assert.equal(1, vars.first)
      assert.equal((seq - 1) // 50 * 50, vars.now_and_then)
      assert.is_nil(vars.gone)
    end
    kit.refused("invalid", "its history before row %d+ was trimmed "
      .. "%(keep_history = 100%)", "go back to a later row",
      engine:restart(suspended(engine, id), { from = "w", seq = upto }))
    kit.refused("invalid", "was trimmed", nil,
      engine:restart(id, { from = "w", seq = 1 }))
  end)

  it("goes back to a node while that is known", function()
    local engine, id = gone_round(backend, 400)
    assert(engine:restart(suspended(engine, id), { from = "a" }))
    assert.equal("waiting", (assert(engine:run()) and get(engine, id)).status)
  end)

  it("refuses to go back to where nobody knows what was", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.once", start = "once",
      keep_history = KEEP }
    local n = 0
    flow:step("once", { next = "early",
      run = function(ctx) ctx.vars.x = 1 end })
    flow:step("early", { next = "a", run = function(ctx) ctx.vars.x = 2 end })
    flow:step("a", { next = { again = "a", out = "w" }, run = function(ctx)
      n = n + 1
      ctx.vars.x = n
      return n % 400 == 0 and "out" or "again"
    end })
    flow:wait("w", { event = "go", next = "never" })
    flow:step("never", { run = function() end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.once")
    assert(engine:run())
    suspended(engine, id)
    for _, node in ipairs { "once", "early" } do
      kit.refused("invalid", "was trimmed", nil,
        engine:restart(id, { from = node }))
    end
    -- it never was there: with its variables as they are
    assert(engine:restart(id, { from = "never" }))
    assert(engine:run())
    assert.equal(400, get(engine, id).variables.x)
    assert.equal("completed", get(engine, id).status)
  end)

  it("keeps what people did, and what answers requests", function()
    local state = { on_step = function() end }
    local engine, clock = backend.fresh()
    state.rounds = 50
    assert(engine:load(looping(state)))
    local id = assert(engine:start "t.long")
    assert(engine:run())
    assert(engine:edit(id, { by = "ann", set = { total = -1 } }))
    assert(engine:note(id, { by = "bob", text = "seen" }))
    clock:advance(1)
    for _ = 1, 10 do
      state.rounds = state.n + 60
      assert(engine:restart(suspended(engine, id), { from = "a", by = "carl" }))
      assert(engine:run())
    end
    assert.is_true(get(engine, id).trimmed.rows > 400)
    assert.equal(1, #rows(engine, id, { by = "ann", after = 0 })
      - 1) -- and the mark
    local who = {}
    for _, entry in ipairs(assert(engine:audit { instance = id })) do
      who[entry.by or ""] = (who[entry.by or ""] or 0) + 1
    end
    assert.equal(1, who.ann)
    assert.equal(1, who.bob)
    assert.equal(10, who.carl)
    assert.equal(state.n, get(engine, id).variables.total)
  end)

  it("counts visits on", function()
    local seen
    local state = { on_step = function(ctx) seen = ctx.visit end }
    gone_round(backend, 700, nil, state)
    assert.equal(700, seen)
  end)

  it("is so for one that waits again with each commit", function()
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.wait", start = "w",
      keep_history = KEEP }
    flow:wait("w", { event = "tick", into = "got", next = "w" , timeout = "1d",
      on_error = { timeout = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.wait")
    assert(engine:run())
    for i = 1, 400 do
      assert(engine:signal { name = "tick", instance = id, data = i })
      assert(engine:run())
    end
    local list = stored(backend, url)
    assert.is_true(#list >= KEEP and #list <= KEEP + 2 * SLACK, #list)
    assert.equal(400, get(engine, id).variables.got)
    assert.equal(list[#list].seq - #list, get(engine, id).trimmed.rows)
  end)

  --- Waits for an event, or a task, for as long as it lives; all of it is
  --- somebody's. `turn` has one more.
  local function asking_for(kind)
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.asked", start = "w",
      keep_history = KEEP }
    if kind == "signal" then
      flow:wait("w", { event = "tick", into = "got", next = "w",
        timeout = "90d", on_error = { timeout = "z" } })
    else
      flow:task("w", { title = "do it", into = "got",
        next = { completed = "w", failed = "z" } })
    end
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start("t.asked", nil, { by = "starter" }))
    assert(engine:run())
    return engine, id, url, clock, function(i)
      clock:advance(1)
      local who = i % 2 == 0 and "ann" or "bob"
      if kind == "signal" then
        assert(engine:signal { name = "tick", instance = id, by = who,
          data = { n = i } })
      else
        local task = assert(engine.tasks:list { instance = id,
          status = "pending" })[1]
        assert(engine.tasks:complete(task.id, { by = who,
          output = { n = i } }))
      end
      assert(engine:run())
    end
  end

  --- All that the audit tells, by its pages; each entry once.
  local function told(engine, query)
    local list, seen, before = {}, {}, nil
    repeat
      local asking = { limit = 70, before = before }
      for name, value in pairs(query) do asking[name] = value end
      local page = assert(engine:audit(asking))
      for _, entry in ipairs(page) do
        assert.is_nil(seen[entry.cursor], entry.cursor)
        seen[entry.cursor] = true
        list[#list + 1] = entry
      end
      before = #page > 0 and page[#page].cursor
    until not before
    return list
  end

  local function types(entries)
    local list = {}
    for i, entry in ipairs(entries) do list[i] = entry.type end
    return list
  end

  --- The audit by instance, by person, of all, and its cursors.
  local function audits(engine, id)
    return { told(engine, { instance = id }), told(engine, { by = "ann" }),
      told(engine, {}), told(engine, { type = "received" }),
      told(engine, { workflow = "t.asked" }) }
  end

  for _, kind in ipairs { "signal", "task" } do
    it("is so for what somebody does in a loop, which the audit keeps: "
      .. kind, function()
      local engine, id, url, clock, turn = asking_for(kind)
      for i = 1, 260 do turn(i) end
      local n = #stored(backend, url)
      assert.is_true(n >= KEEP and n <= KEEP + 2 * SLACK, n)
      assert.is_true(get(engine, id).trimmed.rows > 100)
      local count = {}
      for _, entry in ipairs(told(engine, { instance = id })) do
        if entry.type == (kind == "signal" and "received" or "task") then
          count[entry.by] = (count[entry.by] or 0) + 1
          assert.equal("t.asked", entry.workflow)
          assert.equal("w", entry.node)
        end
      end
      assert.same({ ann = 130, bob = 130 }, count)
      assert(engine:cancel(id, { by = "ann" }))
      assert(engine:run())
      local before = audits(engine, id)
      assert(engine:archive(id))
      clock:advance(1)
      local here = told(engine, { instance = id })
      assert.equal("archived", here[1].type)
      assert.same(before[1], table.move(here, 2, #here, 1, {}))
      assert(engine:unarchive(id))
      here = told(engine, { instance = id })
      assert.same({ "unarchived", "archived" },
        { here[1].type, here[2].type })
      assert.same(before[1], table.move(here, 3, #here, 1, {}))
      local lines = assert(engine:export(id))
      for _, other in ipairs(kit.backends) do
        local there, _, their_url = other.fresh { clock = clock }
        assert(there:import(lines, { release = true }))
        assert(there:import(lines, { release = true })) -- twice is once
        local theirs = told(there, { instance = id })
        local own = {} -- what was done to tasks is told where that was
        for _, entry in ipairs(before[1]) do
          if not entry.task then own[#own + 1] = entry end
        end
        assert.equal("imported", table.remove(theirs, 1).type)
        assert.same(own, theirs)
        assert.equal(#told(there, { by = "ann" }),
          #told(there, { by = "ann", instance = id }))
        assert(there:purge(id))
        assert.same({ "registered" }, types(told(there, {})))
        assert.equal(1, kit.count(other, their_url, "audit"))
      end
      assert(engine:archive(id))
      assert(engine:purge(id))
      assert.same({}, told(engine, { instance = id }))
      assert.equal("registered", told(engine, {})[1].type)
      assert.is_nil(told(engine, {})[2])
    end)
  end

  it("tells of a row that held a value once that goes", function()
    local _, _, url, _, turn = asking_for "signal"
    for i = 1, 200 do turn(i) end
    local both = backend.sql(url, ([[
      select count(*) as n from %s a join %s h on h.shard = a.shard
         and h.instance = a.instance and h.seq = a.seq
       where a.id = a.instance]]):format(kit.table(backend, "audit"),
      kit.table(backend, "history")))
    assert.equal(0, math.tointeger(both[1].n))
  end)

  it("is masked but for what tells of it", function()
    local engine, id, _, clock = gone_round(backend, 400)
    local lines = assert(engine:export(id, { mask = { "vars.total" } }))
    local there = backend.fresh { clock = clock }
    assert(there:load(looping { rounds = 0 }))
    assert(there:import(lines))
    assert(there:run())
    assert(there:restart(id, { from = "w",
      seq = get(engine, id).trimmed.upto + 1 }))
    assert.equal("***", get(there, id).variables.total)
    assert.equal(1, get(there, id).variables.first)
  end)

  it("keeps the row that a call was come to from, while that waits", function()
    local engine = backend.fresh()
    local child = pawl.workflow { code = "t.child", start = "w" }
    child:wait("w", { event = "done", next = "z" })
    child:finish "z"
    local flow = pawl.workflow { code = "t.parent", start = "both",
      keep_history = KEEP }
    local n = 0
    flow:fork("both", { next = { one = "ask", other = "a" } })
    flow:step("ask", { next = "call", run = function() end })
    flow:call("call", { workflow = "t.child", next = "j" })
    flow:step("a", { next = { again = "a", out = "w" }, run = function()
      n = n + 1
      return n % 500 == 0 and "out" or "again"
    end })
    flow:wait("w", { event = "more", next = "j" })
    flow:join("j", { next = "b" })
    flow:step("b", { next = { again = "b", out = "last" }, run = function()
      n = n + 1
      return n % 500 == 0 and "out" or "again"
    end })
    flow:wait("last", { event = "last", next = "z" })
    flow:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local function asked()
      return rows(engine, id, { node = "ask", after = 0 })
    end
    assert.is_true(get(engine, id).trimmed.rows > 300)
    assert.equal("ask", asked()[1].node)
    local kid = assert(engine:list { workflow = "t.child" })[1]
    assert.equal(id, kid.parent)
    assert(engine:signal { name = "done", instance = kid.id })
    assert(engine:signal { name = "more", instance = id })
    assert(engine:run())
    assert.equal(1000, n)
    assert.equal("trimmed", asked()[1].type) -- nobody needs it any more
  end)

  it("is not to be had beside `undo`", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a",
      keep_history = KEEP }
    flow:step("a", { run = function() end, undo = function() end, next = "z" })
    flow:finish "z"
    kit.refused("definition", 'step "a": its `undo` needs all of the history, '
      .. "which `keep_history` trims", "leave out `keep_history`",
      engine:load(flow))
  end)

  --- The loop, in a version that may undo it.
  local function undoing()
    local flow = pawl.workflow { code = "t.long", version = 2, start = "a" }
    flow:step("a", { run = function() end, undo = function() end,
      next = { again = "a", out = "w" } })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    return flow
  end

  it("goes to no version that may undo what is gone", function()
    local engine, id = gone_round(backend, 400)
    assert(engine:load(undoing()))
    local why = "its history was trimmed, so that nobody knows what was done"
    for _, plan in ipairs { true, false } do
      local gone, refused = assert(engine.workflows:transfer("t.long", 1, 2,
        { plan = plan }))
      assert.same({}, gone)
      assert.matches(why, refused[1].reason)
    end
    assert.equal(1, get(engine, id).version)
  end)

  it("goes there while it is whole", function()
    local engine, id = gone_round(backend, 50)
    assert(engine:load(undoing()))
    assert(engine.workflows:transfer("t.long", 1, 2))
    assert.equal(2, get(engine, id).version)
  end)

  --- One that has failed after `rounds` rounds, and its file; then its version
  --- is replaced, as nothing is in its way, by one that may undo.
  local function failed_and_replaced(backend_, rounds, keep)
    local engine, clock, url = backend_.fresh()
    local state = { undone = 0, n = 0 }
    local function flow(undo)
      local new = pawl.workflow { code = "t.long", start = "a",
        keep_history = not undo and keep or nil }
      new:step("a", { undo = undo, next = { again = "a", out = "bad" },
        run = function()
          state.n = state.n + 1
          return state.n % rounds == 0 and "out" or "again"
        end })
      new:step("bad", { retry = false, next = "z",
        run = function() error { code = "no" } end })
      new:finish "z"
      return new
    end
    assert(engine:load(flow()))
    local id = assert(engine:start "t.long")
    assert(engine:run())
    assert.equal("failed", get(engine, id).status)
    return engine, id, state, clock, url, function()
      assert(engine:load(flow(function() state.undone = state.undone + 1 end)))
    end
  end

  it("is not set going again in a version that would undo a part", function()
    local engine, id, state, _, url, replace =
      failed_and_replaced(backend, 400, KEEP)
    local before = #stored(backend, url)
    replace()
    local why = "its history was trimmed, and version 1 of \"t.long\" undoes "
      .. "things by now, which needs all of it"
    local function refused()
      kit.refused("conflict", "cannot be retried: " .. why,
        "deploy that version as it was", engine:retry(id))
      kit.refused("conflict", "cannot be restarted: " .. why, nil,
        engine:restart(id, { from = "a" }))
    end
    refused()
    assert(engine:archive(id))
    assert(engine:unarchive(id))
    refused()
    assert(engine:run())
    assert.equal(0, state.undone)
    assert.equal(before, #stored(backend, url))
    assert.equal("failed", get(engine, id).status)
  end)

  it("stands still before a part is undone, however it came there", function()
    local engine, _, url = backend.fresh()
    local undone = 0
    local flow = pawl.workflow { code = "t.part", start = "a" }
    flow:step("a", { run = function() end, next = "w",
      undo = function() undone = undone + 1 end })
    flow:wait("w", { event = "go", next = "bad" })
    flow:step("bad", { retry = false, next = "z",
      run = function() error { code = "no" } end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.part")
    assert(engine:run())
    backend.sql(url, ([[
      insert into %s (shard, instance, seq, completed_at, type, output)
      select shard, instance, 0, completed_at, 'trimmed',
             '{"upto":0,"rows":0,"newest":0,"keep":1}'
        from %s where seq = 1]]):format(kit.table(backend, "history"),
      kit.table(backend, "history")))
    assert(engine:signal { name = "go", instance = id })
    for _ = 1, 2 do
      assert(engine:run())
      local now = get(engine, id)
      assert.equal("suspended", now.status)
      assert.matches("nobody knows all that is to be undone",
        now.error.message)
      assert(engine:resume(id))
    end
    assert(engine:kill(id))
    assert(engine:run())
    assert.equal("cancelled", get(engine, id).status)
    assert.equal(0, undone)
  end)

  it("is undone whole in such a version when nothing was trimmed", function()
    local engine, id, state, _, _, replace =
      failed_and_replaced(backend, 30, KEEP)
    replace()
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal(30, state.undone)
    assert.equal("failed", get(engine, id).status)
  end)

  it("is so from then on for one that comes from a version without", function()
    local state = {}
    local engine, id, url = gone_round(backend, 1200, { keep_history = "" },
      state)
    assert.equal(1200, #stored(backend, url))
    state.rounds = state.n + 60
    assert(engine:load(looping(state, { version = 2 })))
    assert(engine.workflows:transfer("t.long", 1, 2))
    assert(engine:restart(suspended(engine, id), { from = "a" }))
    local longest, before = 0, 1203
    state.on_step = function()
      local n = #stored(backend, url)
      longest, before = math.max(longest, before - n), n
    end
    assert(engine:run())
    assert.is_true(longest > 200 and longest <= 256, longest)
    state.on_step, state.rounds = nil, state.n + 500
    assert(engine:restart(suspended(engine, id), { from = "a" }))
    assert(engine:run())
    local n = #stored(backend, url)
    assert.is_true(n <= KEEP + SLACK + 16, n)
    assert.equal(state.n, get(engine, id).variables.total)
  end)

  it("travels with its instance", function()
    local engine, id, url, clock = gone_round(backend, 400)
    local was, list = get(engine, id).trimmed, rows(engine, id)
    local lines = assert(engine:export(id))
    for _, other in ipairs(kit.backends) do
      local there = other.fresh { clock = clock }
      assert(there:import(lines, { copy = true }))
      local theirs = assert(there:list {})[1].id
      assert.same(was, get(there, theirs).trimmed)
      assert.equal(#list, #rows(there, theirs))
    end
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    list = rows(engine, id)
    assert(engine:archive(id))
    assert.same(was, get(engine, id).trimmed)
    assert.same(list, rows(engine, id))
    assert(engine:unarchive(id))
    assert.same(list, rows(engine, id))
    assert(engine:delete(id))
    assert(engine:undelete(id))
    assert.same(was, get(engine, id).trimmed)
    assert(engine:purge(id))
    assert.same({}, stored(backend, url))
    assert.equal(0, kit.count(backend, url, "history"))
  end)

  it("stays within N and an eighth for as long as it goes on", function()
    local engine, _, url = backend.fresh()
    local most, state = 0, { rounds = 10000 }
    state.on_step = function(_, n)
      if n % 500 == 0 then
        most = math.max(most, kit.count(backend, url, "history"))
      end
    end
    assert(engine:load(looping(state, { keep_history = 1000 })))
    local id = assert(engine:start "t.long")
    assert(engine:run())
    assert.equal(10000, get(engine, id).variables.total)
    -- who has it anew looks at each 64th row
    assert.is_true(most >= 1000 and most <= 1000 + 125 + SLACK + 12, most)
  end)

  it("goes on when it could not be trimmed for once", function()
    local state = { rounds = 600 }
    local engine, _, url = backend.fresh()
    assert(engine:load(looping(state)))
    local id = assert(engine:start "t.long")
    probe.fault "engine.trim.fail=fail@1,engine.trim.fail=fail@2"
    assert(engine:run())
    probe.fault(nil)
    assert.equal(600, get(engine, id).variables.total)
    assert.is_true(#stored(backend, url) <= KEEP + 2 * SLACK + 8)
  end)

  it("is trimmed soon after a lost connection, all that were noted", function()
    local state = { rounds = 300 }
    local engine, _, url = backend.fresh()
    assert(engine:load(looping(state)))
    local n = {}
    state.on_step = function(ctx)
      n[ctx.id] = (n[ctx.id] or 0) + 1
      state.n = n[ctx.id]
      ctx.vars.total = state.n
    end
    local ids = {}
    for i = 1, 3 do ids[i] = assert(engine:start "t.long") end
    probe.fault "engine.trim.fail=drop@1"
    for _ = 1, 5 do if engine:run() then break end end
    probe.fault(nil)
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.equal(300, get(engine, id).variables.total)
      assert.is_true(get(engine, id).trimmed.rows > 0)
    end
    assert.is_true(#stored(backend, url) <= 3 * (KEEP + 2 * SLACK))
  end)

  it("goes a megabyte at a time where its rows are large", function()
    local state = { rounds = 240 }
    local engine, _, url = backend.fresh()
    assert(engine:load(looping(state)))
    local before, most, gone = 0, 0, 0
    state.on_step = function(ctx, n)
      ctx.vars.large = ("x"):rep(50000) .. n
      if n < 150 then return end
      local now = kit.count(backend, url, "history")
      if before > now then
        most, gone = math.max(most, before - now), gone + before - now
      end
      before = now
    end
    local id = assert(engine:start "t.long")
    assert(engine:run())
    assert.is_true(gone > 40, gone)
    -- of what was sent ahead several may be seen at once: as many as are under
    -- way, and those whose answers have come since
    local units = backend.name == "postgres" and 5 or 1
    assert.is_true(most > 5 and most <= 21 * units, most)
    assert.equal(240, get(engine, id).variables.total)
    assert.is_true(#stored(backend, url) <= KEEP + SLACK + 8)
  end)

  it("is trimmed by nobody whose lease is gone", function()
    local engine, id, url, clock = gone_round(backend, 400)
    local before, was = #stored(backend, url), get(engine, id).trimmed
    local store = kit.store(url, clock)
    local lease = kit.draw_id()
    kit.run(store, "history_drop", { shard = 0, id = { id },
      lease = { lease }, latch = { probe.null }, seq = { was.upto + 1 } })
    kit.run(store, "history_trim", { shard = 0, id = { id },
      lease = { lease }, latch = { probe.null }, executor = lease,
      record = { "{}" }, completed_at = { clock.us } })
    assert.equal(before, #stored(backend, url))
    assert.same(was, get(engine, id).trimmed)
  end)

  it("stays while its instance is suspended, whatever comes in", function()
    local engine, id, url = gone_round(backend, 160)
    suspended(engine, id)
    local before = #stored(backend, url)
    for _ = 1, 40 do assert(engine:note(id, { text = "seen" })) end
    assert.equal(before + 40, #stored(backend, url))
    assert.equal("suspended", rows(engine, id, { type = "suspended" })[1].type)
  end)

  it("has what changed large variables and attributes", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.large", start = "a",
      keep_history = KEEP }
    local n = 0
    flow:step("a", { next = { again = "a", out = "w" }, run = function(ctx)
      n = n + 1
      if n == 3 then
        ctx.vars.large = ("x"):rep(20000)
        ctx.attrs.tier, ctx.attrs.once = "gold", 1
      elseif n == 200 then
        ctx.attrs.once = nil
      end
      ctx.vars.n = n
      return n >= 500 and "out" or "again"
    end })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.large")
    assert(engine:run())
    local large = rows(engine, id, { variable = "large" })
    assert.equal(3, large[1].seq)
    assert.equal(20000, #large[1].value)
    local tier = rows(engine, id, { attribute = "tier" })
    assert.equal("gold", tier[1].value.value)
    assert(engine:restart(suspended(engine, id), { from = "w",
      seq = get(engine, id).trimmed.upto + 1 }))
    assert.equal(20000, #get(engine, id).variables.large)
  end)

  it("is so for one whose steps are transactional", function()
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.sql", start = "a",
      keep_history = KEEP }
    local n = 0
    flow:step("a", { transactional = true, next = { again = "a", out = "z" },
      run = function(ctx)
        n = n + 1
        ctx.vars.n = n
        return n >= 400 and "out" or "again"
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.sql")
    assert(engine:run())
    assert.equal(400, get(engine, id).variables.n)
    assert.is_true(#stored(backend, url) <= KEEP + SLACK + 8)
  end)
end)
