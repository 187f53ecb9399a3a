-- Tasks for people: created once, taken by one, ended by one.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local samples = require "spec.engine.samples"

local copy, asking = samples.copy, samples.asking

---- workflows ---------------------------------------------------------------

--- Each way leads to a step of its name, which notes it, then to z.
local function choosing(options, ways)
  local given = copy(options, { title = "Choose" })
  given.next = {}
  local flow = pawl.workflow { code = "t.task", start = "ask" }
  for _, name in ipairs(ways or { "approved", "rejected" }) do
    given.next[name] = name
    flow:step(name, { next = "z",
      run = function(ctx) ctx.vars.way = ctx.node end })
  end
  flow:task("ask", given)
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- Starts one and runs until it waits; the task's id.
local function begin(engine, input)
  local id = assert(engine:start("t.task", input))
  assert(engine:run())
  local tasks = assert(engine.tasks:list { instance = id })
  assert.equal(1, #tasks)
  return tasks[1].id, id
end

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

local function last(list) return list[#list] end

local function way(engine, id)
  assert(engine:run())
  return assert(engine:get(id)).output.way
end

---- what it is --------------------------------------------------------------

kit.describe("a task", function(backend)
  it("is what was drawn, and its instance waits", function()
    local engine, clock = backend.fresh()
    assert(engine:load(asking {
      title = "Approve", description = "Is it right?", form = "approval",
      input = { total = 30, list = { 1, 2 } }, priority = "high", due = "2d",
      assignee = "ann", users = { "bob", "cid" }, role = "manager",
      groups = { "north", "south" }, signal = "order.approved",
    }))
    local id, instance = begin(engine)
    local task = assert(engine.tasks:get(id))
    assert.equal(id, task.id)
    assert.equal(instance, task.instance)
    assert.equal("t.task", task.workflow)
    assert.equal(1, task.version)
    assert.equal("ask", task.node)
    assert.equal("Approve", task.title)
    assert.equal("Is it right?", task.description)
    assert.equal("approval", task.form)
    assert.equal("pending", task.status)
    assert.equal("high", task.priority)
    assert.same({ total = 30, list = { 1, 2 } }, task.input)
    assert.equal("ann", task.assignee)
    assert.same({ "bob", "cid" }, task.users)
    assert.same({ "manager" }, task.roles)
    assert.same({ "north", "south" }, task.groups)
    assert.equal("order.approved", task.signal)
    assert.is_false(task.overdue)
    assert.is_string(task.due)
    assert.is_string(task.created)
    assert.same({}, task.log)
    for _, name in ipairs { "output", "error", "claimed_by", "completed_by",
      "transition", "escalated", "started" } do
      assert.is_nil(task[name], name)
    end
    assert.equal("waiting", kit.status(engine, instance))
    clock:advance "1h"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, instance))
  end)

  it("has a normal priority and is for anybody, if nothing is said",
    function()
      local engine = backend.fresh()
      assert(engine:load(asking()))
      local task = assert(engine.tasks:get((begin(engine))))
      assert.equal("normal", task.priority)
      assert.same({ {}, {}, {} }, { task.users, task.roles, task.groups })
      assert.is_nil(task.due)
      assert.equal("running",
        assert(engine.tasks:claim(task.id, { by = "whoever" })).status)
    end)

  it("is what `prepare` says of it", function()
    local engine = backend.fresh()
    assert(engine:load(asking {
      title = "drawn", priority = "low", role = "drawn",
      prepare = function(ctx)
        return { title = "Order " .. ctx.input.no, priority = "urgent",
          due = "3h", users = { ctx.input.who }, input = { no = ctx.input.no },
          form = "order" }
      end,
    }))
    local id = assert(engine:start("t.task", { no = 17, who = "ann" }))
    assert(engine:run())
    local task = assert(engine.tasks:list { user = "ann" })[1]
    assert.equal(id, task.instance)
    assert.equal("Order 17", task.title)
    assert.equal("urgent", task.priority)
    assert.equal("order", task.form)
    assert.same({ "ann" }, task.users)
    assert.same({ "drawn" }, task.roles)
    assert.same({ no = 17 }, task.input)
    assert.is_string(task.due)
  end)

  it("is refused when what `prepare` says is no task", function()
    local engine = backend.fresh()
    assert(engine:load(asking { prepare = function(ctx)
      return ctx.input
    end }))
    for pattern, wrong in pairs {
      ["unknown field 'titel'.*prepare"] = { titel = "x" },
      ["'due'.*prepare"] = { due = "soon" },
      ["'priority'.*prepare"] = { priority = "huge" },
      ["'users'.*prepare"] = { users = { 5 } },
    } do
      local id = assert(engine:start("t.task", wrong))
      assert(engine:run())
      local failed = assert(engine:get(id))
      assert.equal("failed", failed.status)
      assert.matches(pattern, failed.error.message)
      assert.same({}, assert(engine.tasks:list()))
    end
  end)

  it("fails where it stands with what no store keeps as text", function()
    local engine = backend.fresh()
    local long = ("x"):rep(256)
    for name, bad in pairs { title = "a\0b", description = "\0",
      assignee = "a\0", form = long, users = { "ann", "b\0b" },
      roles = { long } } do
      local flow = pawl.workflow { code = "t." .. name, start = "s" }
      flow:step("s", { run = function() end, next = "a" })
      flow:task("a", { title = "ask", role = "x", next = "z",
        prepare = function() return { [name] = bad } end,
        on_error = { ["*"] = "other" } })
      flow:finish "z"
      flow:finish("other", { output = function() return "other" end })
      assert(engine:load(flow))
      local id = assert(engine:start("t." .. name))
      assert(engine:run())
      assert.equal("other", assert(engine:get(id)).output, name)
      assert.matches("step s, failed a", kit.trail(engine, id), 1, true)
      -- and a definition says it no sooner
      local wrong = pawl.workflow { code = "t.wrong", start = "a" }
      local options = { title = "ask", next = "z" }
      options[name] = bad
      wrong:task("a", options)
      wrong:finish "z"
      local none, err = engine:load(wrong)
      assert.is_nil(none, name)
      assert.matches(type(bad) == "table" and name or "task." .. name,
        tostring(err), 1, true)
    end
  end)

  it("keeps any text, however long", function()
    local engine = backend.fresh()
    local title = ("Prüfen \u{1F600} ' \" \\ %s; drop table "):rep(400)
    assert(engine:load(asking { title = title, description = title:rep(5),
      input = { [title] = "x\0y" } }))
    local task = assert(engine.tasks:get((begin(engine))))
    assert.equal(title, task.title)
    assert.equal(title:rep(5), task.description)
    assert.same({ [title] = "x\0y" }, task.input)
  end)

  it("is created once, though its node runs again", function()
    local a, b, clock
    local prepared = 0
    a, b, clock = kit.pair(backend, { asking { role = "clerk",
      prepare = function()
        prepared = prepared + 1
        if prepared == 1 then -- the lease is lost while the first one runs
          clock:advance(31)
          assert(b:run())
          assert.equal(2, prepared)
          assert.equal(1, #assert(b.tasks:list()))
        end
        return {}
      end } })
    local id = assert(a:start "t.task")
    assert(a:run())
    assert(b:run())
    local tasks = assert(a.tasks:list { instance = id })
    assert.equal(1, #tasks)
    assert.same({ "clerk" }, tasks[1].roles)
    assert(a.tasks:complete(tasks[1].id, { by = "ann", role = "clerk" }))
    assert(a:run())
    assert.completed(a, id)
  end)

  it("is another one on another visit", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "ask" }
    flow:task("ask", { title = "Again?", next = { again = "ask", no = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local first, id = begin(engine)
    assert(engine.tasks:complete(first, { by = "ann", take = "again" }))
    assert(engine:run())
    local tasks = assert(engine.tasks:list { instance = id,
      status = "pending" })
    assert.equal(1, #tasks)
    assert.not_equal(first, tasks[1].id)
    assert(engine.tasks:complete(tasks[1].id, { by = "ann", take = "no" }))
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(2, #assert(engine.tasks:list { instance = id }))
  end)

  it("lies in its instance's shard", function()
    local engine = backend.fresh { shards = backend.name == "postgres" and 3
      or nil }
    assert(engine:load(asking { role = "clerk" }))
    for _ = 1, 12 do assert(engine:start "t.task") end
    assert(engine:run())
    local tasks = assert(engine.tasks:list { role = "clerk" })
    assert.equal(12, #tasks)
    for _, task in ipairs(tasks) do
      assert.equal(task.instance:sub(-4), task.id:sub(-4))
      assert(engine.tasks:complete(task.id, { by = "ann", role = "clerk" }))
    end
    assert(engine:run())
    assert.equal(12, #assert(engine:list { status = "completed" }))
    assert.same({}, assert(engine.tasks:list { role = "clerk",
      status = "pending" }))
  end)
end)

---- taking ------------------------------------------------------------------

kit.describe("claiming a task", function(backend)
  it("succeeds for one; the other is told who has it", function()
    local a, b = kit.pair(backend, { asking { role = "clerk" } })
    local id = begin(a)
    local task = assert(a.tasks:claim(id, { by = "ann", role = "clerk" }))
    assert.equal("running", task.status)
    assert.equal("ann", task.claimed_by)
    assert.is_string(task.claimed)
    assert.is_string(task.started)
    assert.matches("ann", refused("taken",
      b.tasks:claim(id, { by = "bob", role = "clerk" })))
    assert.equal("ann", assert(b.tasks:get(id)).claimed_by)
    -- again by the same: it is theirs
    assert.equal("ann", assert(b.tasks:claim(id, { by = "ann" })).claimed_by)
    assert.equal(1, #assert(a.tasks:get(id)).log)
  end)

  it("is refused to one who decided on an older state", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(asking()))
    local id = begin(engine)
    local store = kit.store(url, clock)
    local function write(by)
      return kit.run(store, "task_write", {
        shard = kit.shard(id), id = id, commits = 0, was = "pending",
        request = kit.draw_id(), status = "running", claimed_by = by,
        now = store:now(),
      })
    end
    assert.equal(1, write("ann").changed)
    assert.equal(0, write("bob").changed)
    assert.equal("ann", assert(engine.tasks:get(id)).claimed_by)
  end)

  it("is for those it is for", function()
    local engine = backend.fresh()
    assert(engine:load(asking { users = { "ann", "bob" },
      role = "clerk", group = "north" }))
    local function take(by, more)
      local id = begin(engine)
      return engine.tasks:claim(id, copy(more, { by = by }))
    end
    assert(take("ann"))
    assert(take("bob"))
    assert(take("eve", { roles = { "other", "clerk" } }))
    assert(take("eve", { group = "north" }))
    local text = refused("taken", take("eve"))
    for _, name in ipairs { "eve", "ann", "bob", "clerk", "north" } do
      assert.matches(name, text)
    end
    refused("taken", take("eve", { role = "north", group = "clerk" }))
    refused("taken", take("clerk"))
    refused("taken", take("eve", { roles = {} }))
  end)

  it("of an assigned task is the assignee's alone", function()
    local engine = backend.fresh()
    assert(engine:load(asking { assignee = "ann" }))
    local id = begin(engine)
    refused("taken", engine.tasks:claim(id, { by = "bob" }))
    assert(engine.tasks:claim(id, { by = "ann" }))
  end)

  it("of an assigned task is not its group's", function()
    local engine = backend.fresh()
    assert(engine:load(asking { assignee = "ann", group = "north",
      users = "bob" }))
    local id = begin(engine)
    for _, member in ipairs { { by = "bob" },
      { by = "eve", group = "north" } } do
      for _, kind in ipairs { "claim", "complete", "fail" } do
        assert.matches("assigned to ann.*reassign.*override",
          refused("taken", engine.tasks[kind](engine.tasks, id, member)))
      end
    end
    assert(engine.tasks:reassign(id, { by = "boss", group = "north" }))
    assert(engine.tasks:complete(id, { by = "eve", group = "north" }))
  end)

  it("can be given back, by the one who has it", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local id = begin(engine)
    refused("conflict", engine.tasks:unclaim(id, { by = "ann" }))
    assert(engine.tasks:claim(id, { by = "ann" }))
    assert.matches("ann", refused("taken",
      engine.tasks:unclaim(id, { by = "bob" })))
    local task = assert(engine.tasks:unclaim(id, { by = "ann",
      reason = "no time" }))
    assert.equal("pending", task.status)
    assert.is_nil(task.claimed_by)
    assert.is_nil(task.claimed)
    assert.equal("no time", last(task.log).reason)
    assert(engine.tasks:claim(id, { by = "bob" }))
  end)

  it("says what is missing or wrong", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local id = begin(engine)
    refused("invalid", engine.tasks:claim(id))
    refused("invalid", engine.tasks:claim(id, { by = "" }))
    refused("invalid", engine.tasks:claim(id, { by = ("u"):rep(256) }))
    refused("value", engine.tasks:claim(id, { by = "\255" }))
    refused("notfound", engine.tasks:claim(kit.draw_id(), { by = "ann" }))
    assert.error_matches(function()
      engine.tasks:claim(id, { by = "ann", rols = "clerk" })
    end, "unknown option 'rols'.*role")
    assert.error_matches(function() engine.tasks:claim(nil, {}) end,
      "bad argument #1 to 'tasks:claim'")
  end)
end)

kit.describe("a task that another holds", function(backend)
  local function held(how)
    local engine, clock = backend.fresh()
    assert(engine:load(asking { assignee = how == "assigned" and "ann" or nil,
      group = "north", next = "z" }))
    local id, instance = begin(engine)
    if how == "claimed" then
      assert(engine.tasks:claim(id, { by = "ann", group = "north" }))
    end
    return engine, id, instance, clock
  end

  for _, how in ipairs { "assigned", "claimed" } do
    it("is done by an override, on the record: " .. how, function()
      local engine, id, instance = held(how)
      refused("taken", engine.tasks:complete(id, { by = "zoe",
        group = "north", override = false }))
      local task = assert(engine.tasks:complete(id, { by = "zoe",
        override = true, reason = "ann is ill" }))
      assert.equal("zoe", task.completed_by)
      local entry = last(task.log)
      assert.same({ "complete", "zoe", "ann", "ann is ill" },
        { entry.what, entry.by, entry.instead_of, entry.reason })
      assert(engine:run())
      local row
      for _, one in ipairs(assert(engine:history(instance))) do
        if one.type == "task" then row = one end
      end
      assert.same({ "zoe", "instead of ann" }, { row.by, row.text })
    end)

    it("is taken over by an override: " .. how, function()
      local engine, id = held(how)
      local task = assert(engine.tasks:claim(id, { by = "zoe",
        override = true }))
      assert.same({ "zoe", "ann" },
        { task.claimed_by, last(task.log).instead_of })
      refused("taken", engine.tasks:complete(id, { by = "ann" }))
      assert(engine.tasks:fail(id, { by = "zoe" }))
    end)
  end

  it("tells of no override where none was needed", function()
    local engine, id = held "claimed"
    local task = assert(engine.tasks:complete(id, { by = "ann",
      override = true }))
    assert.is_nil(last(task.log).instead_of)
  end)

  it("is not the previous holder's any more", function()
    local engine, id = held "claimed"
    assert(engine.tasks:reassign(id, { by = "boss", to = "gus" }))
    for _, kind in ipairs { "claim", "complete", "fail" } do
      assert.matches("assigned to gus", refused("taken",
        engine.tasks[kind](engine.tasks, id, { by = "ann",
          group = "north" })))
    end
    assert(engine.tasks:complete(id, { by = "gus" }))
  end)

  it("is open to those it is for once it is escalated, until it is given on",
    function()
      local engine, id, _, clock = held "assigned"
      local eve = { by = "eve", group = "north" }
      clock:advance(1)
      assert(engine.tasks:escalate(id, { by = "boss", users = "bob" }))
      assert(engine.tasks:claim(id, { by = "bob" }))
      assert(engine.tasks:unclaim(id, { by = "bob" }))
      clock:advance(1)
      assert(engine.tasks:reassign(id, { by = "boss", to = "gus" }))
      assert(engine.tasks:claim(id, { by = "gus" }))
      assert(engine.tasks:unclaim(id, { by = "gus" }))
      refused("taken", engine.tasks:complete(id, eve))
      clock:advance(1)
      assert(engine.tasks:escalate(id, { by = "boss", priority = "urgent" }))
      assert(engine.tasks:complete(id, eve))
    end)

  it("cannot be overridden by what is no holder's to do", function()
    local engine, id = held "assigned"
    assert.error_matches(function()
      engine.tasks:reassign(id, { by = "boss", to = "gus", override = true })
    end, "unknown option")
  end)
end)

kit.describe("handing a task on", function(backend)
  it("by reassigning it takes it from whoever has it", function()
    local engine = backend.fresh()
    assert(engine:load(asking { role = "clerk" }))
    local id = begin(engine)
    assert(engine.tasks:claim(id, { by = "ann", role = "clerk" }))
    local task = assert(engine.tasks:reassign(id, { to = "bob", by = "boss",
      reason = "ann is ill" }))
    assert.equal("pending", task.status)
    assert.equal("bob", task.assignee)
    assert.is_nil(task.claimed_by)
    assert.same({ "clerk" }, task.roles)
    local entry = last(task.log)
    assert.same({ "reassign", "boss", "bob", "ann is ill" },
      { entry.what, entry.by, entry.to, entry.reason })
    assert.is_string(entry.at)
    refused("taken", engine.tasks:complete(id, { by = "ann" }))
    assert(engine.tasks:complete(id, { by = "bob" }))
    refused("already_finished",
      engine.tasks:reassign(id, { to = "cid", by = "boss" }))
  end)

  it("by reassigning it can be for others than before", function()
    local engine = backend.fresh()
    assert(engine:load(asking { role = "clerk", assignee = "ann" }))
    local id = begin(engine)
    local task = assert(engine.tasks:reassign(id, { by = "boss",
      users = "bob", roles = { "chief", "deputy" } }))
    assert.is_nil(task.assignee)
    assert.same({ { "bob" }, { "chief", "deputy" }, {} },
      { task.users, task.roles, task.groups })
    assert.same({}, assert(engine.tasks:list { role = "clerk" }))
    assert.same({ id }, ids(assert(engine.tasks:list { role = "chief",
      status = "pending" })))
    refused("taken", engine.tasks:claim(id, { by = "eve", role = "clerk" }))
    assert(engine.tasks:claim(id, { by = "eve", role = "deputy" }))
    refused("invalid", engine.tasks:reassign(id, { by = "boss" }))
    refused("invalid", engine.tasks:reassign(id, { to = "bob" }))
  end)

  it("by delegating it is the holder's to do", function()
    local engine = backend.fresh()
    assert(engine:load(asking { role = "clerk" }))
    local id = begin(engine)
    refused("taken", engine.tasks:delegate(id, { by = "ann", to = "bob" }))
    assert(engine.tasks:claim(id, { by = "ann", role = "clerk" }))
    refused("taken", engine.tasks:delegate(id, { by = "bob", to = "cid" }))
    refused("invalid", engine.tasks:delegate(id, { by = "ann" }))
    local task = assert(engine.tasks:delegate(id, { by = "ann", to = "bob" }))
    assert.equal("running", task.status)
    assert.same({ "bob", "bob", "ann" },
      { task.claimed_by, task.assignee, task.delegated_by })
    assert.same({ id }, ids(assert(engine.tasks:list { user = "bob" })))
    refused("taken", engine.tasks:complete(id, { by = "ann" }))
    assert(engine.tasks:complete(id, { by = "bob" }))
  end)

  it("by delegating what is assigned and not yet claimed", function()
    local engine = backend.fresh()
    assert(engine:load(asking { assignee = "ann" }))
    local id = begin(engine)
    local task = assert(engine.tasks:delegate(id, { by = "ann", to = "bob" }))
    assert.same({ "pending", "bob", "ann" },
      { task.status, task.assignee, task.delegated_by })
    assert(engine.tasks:claim(id, { by = "bob" }))
  end)

  it("by escalating it is for more, and more urgent", function()
    local engine = backend.fresh()
    assert(engine:load(asking { role = "clerk" }))
    local id = begin(engine)
    refused("invalid", engine.tasks:escalate(id, { by = "ann" }))
    local task = assert(engine.tasks:escalate(id, { by = "ann",
      roles = { "chief" }, users = { "bob" }, priority = "urgent" }))
    assert.equal("urgent", task.priority)
    assert.same({ "chief", "clerk" }, task.roles)
    assert.same({ "bob" }, task.users)
    assert.is_string(task.escalated)
    assert.equal("escalate", last(task.log).what)
    task = assert(engine.tasks:escalate(id, { by = "ann", role = "chief" }))
    assert.same({ "chief", "clerk" }, task.roles)
    assert.equal("urgent", task.priority)
    assert(engine.tasks:claim(id, { by = "eve", role = "chief" }))
  end)

  it("keeps a log of the newest hundred changes", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local id = begin(engine)
    for i = 1, 120 do
      assert(engine.tasks:reassign(id, { by = "boss", to = "u" .. i }))
    end
    local log = assert(engine.tasks:get(id)).log
    assert.equal(100, #log)
    assert.same({ "u21", "u120" }, { log[1].to, log[100].to })
  end)
end)

---- ending ------------------------------------------------------------------

kit.describe("completing a task", function(backend)
  it("lets its instance go on, and is recorded", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(asking { into = "answer" }))
    local id, instance = begin(engine)
    local task = assert(engine.tasks:complete(id, { by = "ann",
      output = { ok = true, list = { 1, 2.5 } } }))
    assert.equal("completed", task.status)
    assert.equal("ann", task.completed_by)
    assert.is_string(task.completed)
    assert.same({ ok = true, list = { 1, 2.5 } }, task.output)
    assert(engine:run())
    local done = assert(engine:get(instance))
    assert.equal("completed", done.status)
    assert.same({ ok = true, list = { 1, 2.5 } }, done.output.answer)
    assert.equal("started ask, task ask", kit.trail(engine, instance))
    local entry = assert(engine:history(instance))[2]
    assert.equal("ann", entry.by)
    assert.same({ ok = true, list = { 1, 2.5 } }, entry.output)
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("needs no claim, but respects one", function()
    local engine = backend.fresh()
    assert(engine:load(asking { role = "clerk" }))
    local id = begin(engine)
    refused("taken", engine.tasks:complete(id, { by = "eve" }))
    assert(engine.tasks:claim(id, { by = "ann", role = "clerk" }))
    assert.matches("ann", refused("taken",
      engine.tasks:complete(id, { by = "bob", role = "clerk" })))
    assert(engine.tasks:complete(id, { by = "ann" }))
    assert.matches("ann", refused("already_finished",
      engine.tasks:complete(id, { by = "bob", role = "clerk" })))
    refused("already_finished", engine.tasks:complete(id, { by = "ann" }))
    refused("already_finished", engine.tasks:claim(id, { by = "ann" }))
  end)

  it("takes the way that is named", function()
    local engine = backend.fresh()
    assert(engine:load(choosing()))
    local id, instance = begin(engine)
    assert.equal("rejected", assert(engine.tasks:complete(id, { by = "ann",
      take = "rejected" })).transition)
    assert.equal("rejected", way(engine, instance))
  end)

  it("takes the way that its output names", function()
    local engine = backend.fresh()
    assert(engine:load(choosing()))
    local id, instance = begin(engine)
    assert(engine.tasks:complete(id, { by = "ann", output = "approved" }))
    assert.equal("approved", way(engine, instance))
    id, instance = begin(engine)
    assert(engine.tasks:complete(id, { by = "ann",
      output = { take = "rejected", why = "too dear" } }))
    assert.equal("rejected", way(engine, instance))
  end)

  it("takes the only way that is a person's", function()
    local engine = backend.fresh()
    assert(engine:load(choosing({ due = "1h", timeout = "2h" },
      { "approved", "overdue", "timeout", "failed" })))
    local id, instance = begin(engine)
    assert(engine.tasks:complete(id, { by = "ann" }))
    assert.equal("approved", way(engine, instance))
  end)

  it("is refused where the way is not clear", function()
    local engine = backend.fresh()
    assert(engine:load(choosing({ due = "1h" },
      { "approved", "rejected", "overdue" })))
    local id = begin(engine)
    local function complete(more)
      return engine.tasks:complete(id, copy(more, { by = "ann" }))
    end
    local text = refused("invalid", complete())
    assert.matches("approved, rejected", text)
    assert.is_nil(text:find "overdue")
    assert.matches('"approved"', refused("invalid",
      complete { take = "aproved" }))
    refused("invalid", complete { take = "overdue" })
    refused("invalid", complete { output = "else" })
    refused("invalid", complete { take = 'a "b" %s' })
    assert.equal("pending", assert(engine.tasks:get(id)).status)
    engine = backend.fresh()
    assert(engine:load(asking()))
    refused("invalid", engine.tasks:complete((begin(engine)),
      { by = "ann", take = "z" }))
  end)

  it("knows the ways without running any code", function()
    local a, clock, url = backend.fresh()
    assert(a:load(choosing()))
    local id, instance = begin(a)
    local client = kit.rival(backend, url, clock,
      { group = "nobody", stored_code = "own" })
    refused("invalid", client.tasks:complete(id, { by = "ann" }))
    assert(client.tasks:complete(id, { by = "ann", take = "approved" }))
    assert.equal("approved", way(a, instance))
  end)

  it("works while its instance is held", function()
    local a, b
    local task
    local flow = pawl.workflow { code = "t.task", start = "both" }
    flow:fork("both", { next = { "ask", "work" } })
    flow:task("ask", { title = "Ask", into = "said", next = "close" })
    flow:timer("work", { after = 1, next = "more" })
    flow:step("more", { next = "close", run = function()
      assert(b.tasks:complete(task, { by = "ann", output = "yes" }))
      assert.equal("completed", assert(b.tasks:get(task)).status)
    end })
    flow:join("close", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    local clock
    a, b, clock = kit.pair(backend, { flow })
    local id
    task, id = begin(a)
    clock:advance(2)
    assert(a:run())
    local done = assert(a:get(id))
    assert.equal("completed", done.status)
    assert.equal("yes", done.output.said)
  end)

  it("keeps outputs as they are, up to the limit", function()
    local engine = backend.fresh { max_bytes = 5000 }
    assert(engine:load(asking { into = "said" }))
    for _, value in ipairs { "a\0b \u{1F600}", 1.0, 9007199254740993, false,
      "" } do
      local id, instance = begin(engine)
      assert(engine.tasks:complete(id, { by = "ann", output = value }))
      assert(engine:run())
      assert.equal(value, assert(engine:get(instance)).output.said)
      assert.equal(math.type(value),
        math.type(assert(engine:get(instance)).output.said))
    end
    local id = begin(engine)
    refused("limit", engine.tasks:complete(id, { by = "ann",
      output = ("x"):rep(5001) }))
    refused("value", engine.tasks:complete(id, { by = "ann",
      output = { f = print } }))
    assert.equal("pending", assert(engine.tasks:get(id)).status)
  end)

  it("raises the event that is drawn", function()
    local engine = backend.fresh()
    local waiting = pawl.workflow { code = "t.waits", start = "w" }
    waiting:wait("w", { event = "asked.done", next = "z", into = "got" })
    waiting:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(waiting))
    assert(engine:load(asking { signal = "asked.done" }))
    local other = assert(engine:start "t.waits")
    local id = begin(engine)
    assert(engine.tasks:complete(id, { by = "ann", output = { n = 1 } }))
    assert(engine:run())
    assert.completed(engine, other)
  end)
end)

---- complete versus cancel ----------------------------------------------------

kit.describe("completing a task and cancelling its instance", function(backend)
  it("completed first: it stays completed, and the instance is cancelled",
    function()
      local a, b, _, url = kit.pair(backend, { choosing() })
      local id, instance = begin(a)
      assert(a.tasks:complete(id, { by = "ann", take = "approved" }))
      assert(b:cancel(instance, "stop"))
      assert(b:run())
      assert.equal("cancelled", kit.status(a, instance))
      local task = assert(a.tasks:get(id))
      assert.equal("completed", task.status)
      assert.equal("ann", task.completed_by)
      assert.matches("cancelled %l+, untaken %l+$", kit.trail(a, instance))
      assert.equal(0, kit.count(backend, url, "inbox"))
      assert.equal(0, kit.count(backend, url, "agenda"))
    end)

  it("cancelled first: the task is cancelled, and says so", function()
    local a, b = kit.pair(backend, { choosing() })
    local id, instance = begin(a)
    assert(a.tasks:claim(id, { by = "ann" }))
    assert(b:cancel(instance, "stop"))
    assert.equal("cancelled", assert(a.tasks:get(id)).status)
    assert.matches("cancelled", refused("already_finished",
      a.tasks:complete(id, { by = "ann", take = "approved" })))
    refused("already_finished", a.tasks:claim(id, { by = "ann" }))
    refused("already_finished", a.tasks:retry(id, { by = "ann" }))
    assert.equal("cancelled", kit.status(a, instance))
  end)

  -- While a holds the instance both requests only come in; it takes them in
  -- the order in which they came.
  for _, first in ipairs { "complete", "cancel" } do
    it("both while it is held, " .. first .. " first", function()
      local a, b, clock
      local task, id
      local flow = pawl.workflow { code = "t.task", start = "both" }
      flow:fork("both", { next = { "ask", "work" } })
      flow:task("ask", { title = "Ask", next = "close" })
      flow:timer("work", { after = 1, next = "more" })
      flow:step("more", { next = "close", run = function()
        if first == "cancel" then assert(b:cancel(id, "stop")) end
        assert(b.tasks:complete(task, { by = "ann" }))
        if first == "complete" then assert(b:cancel(id, "stop")) end
      end })
      flow:join("close", { next = "z" })
      flow:finish "z"
      local url
      a, b, clock, url = kit.pair(backend, { flow })
      task, id = begin(a)
      clock:advance(2)
      assert(a:run())
      assert.equal("cancelled", kit.status(a, id))
      assert.equal("completed", assert(a.tasks:get(task)).status)
      assert.equal(0, kit.count(backend, url, "inbox"))
      assert.equal(0, kit.count(backend, url, "agenda"))
    end)
  end
end)

---- failing -----------------------------------------------------------------

kit.describe("a task that fails", function(backend)
  it("may be tried again", function()
    local engine = backend.fresh()
    assert(engine:load(asking { into = "said" }))
    local id, instance = begin(engine)
    local none, err = engine.tasks:fail(id, { by = "ann",
      error = { code = ("c"):rep(65) } })
    assert.is_nil(none)
    assert.equal("invalid", err.code)
    assert.matches("has 65 bytes", err.message)
    refused("limit", engine.tasks:fail(id, { by = "ann",
      error = ("m"):rep(16384) }))
    for _, wrong in ipairs {
      { { mesage = "no" }, "has no option `mesage`", "`message`" },
      { { code = 5 }, "`code` .-must be a text" },
      { { message = {} }, "`message` .-must be a text" } } do
      kit.refused("invalid", wrong[2], wrong[3], engine.tasks:fail(id,
        { by = "ann", error = wrong[1] }))
    end
    local task = assert(engine.tasks:fail(id, { by = "ann",
      error = { code = "no_access", message = "the door is locked" } }))
    assert.equal("failed", task.status)
    assert.equal("ann", task.completed_by)
    assert.equal("no_access", task.error.code)
    refused("busy", engine.tasks:retry(id, { by = "boss" })) -- what follows?
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, instance))
    assert.matches("retry", refused("already_finished",
      engine.tasks:complete(id, { by = "ann" })))
    refused("invalid", engine.tasks:retry(id))
    task = assert(engine.tasks:retry(id, { by = "boss" }))
    assert.equal("pending", task.status)
    assert.is_nil(task.error)
    assert.is_nil(task.completed_by)
    refused("conflict", engine.tasks:retry(id, { by = "boss" }))
    -- fails once more, then is done
    local again = ("again "):rep(2600)
    assert(engine.tasks:fail(id, { by = "bob", error = again }))
    assert(engine:run())
    assert.equal(again, kit.last(engine, instance).error.message)
    assert.equal(again, assert(engine.tasks:get(id)).error.message)
    assert(engine.tasks:retry(id, { by = "boss" }))
    assert(engine.tasks:complete(id, { by = "cid", output = "done" }))
    assert(engine:run())
    assert.equal("done", assert(engine:get(instance)).output.said)
    assert.equal("started ask, failed ask, failed ask, task ask",
      kit.trail(engine, instance))
    local what = {}
    for i, entry in ipairs(assert(engine.tasks:get(id)).log) do
      what[i] = entry.what
    end
    assert.same({ "fail", "retry", "fail", "retry", "complete" }, what)
  end)

  it("takes the way that is drawn for it", function()
    local engine = backend.fresh()
    assert(engine:load(choosing({}, { "approved", "failed" })))
    local id, instance = begin(engine)
    assert(engine.tasks:fail(id, { by = "ann" }))
    assert.equal("failed", way(engine, instance))
    refused("already_finished", engine.tasks:retry(id, { by = "ann" }))
  end)

  it("takes the way of its error's code", function()
    local engine = backend.fresh()
    local flow = asking { on_error = { no_access = "other" } }
    flow:step("other", { next = "z",
      run = function(ctx) ctx.vars.way = "other" end })
    assert(engine:load(flow))
    local id, instance = begin(engine)
    assert(engine.tasks:fail(id, { by = "ann",
      error = { code = "no_access" } }))
    assert.equal("other", way(engine, instance))
  end)

  it("is failed by those who may do it", function()
    local engine = backend.fresh()
    assert(engine:load(asking { role = "clerk" }))
    local id = begin(engine)
    refused("taken", engine.tasks:fail(id, { by = "eve" }))
    assert.error_matches(function()
      engine.tasks:fail(id, { by = "ann", error = 5 })
    end, "'error' must be")
    assert(engine.tasks:fail(id, { by = "eve", role = "clerk" }))
  end)
end)

---- time ----------------------------------------------------------------------

kit.describe("a task's time", function(backend)
  it("when overdue takes the way that is drawn", function()
    local engine, clock = backend.fresh()
    assert(engine:load(choosing({ due = "2h" }, { "approved", "overdue" })))
    local id, instance = begin(engine)
    assert(engine.tasks:claim(id, { by = "ann" }))
    clock:advance "3h"
    assert.equal("overdue", way(engine, instance))
    assert.equal("timed_out", assert(engine.tasks:get(id)).status)
    assert.matches("timed out", refused("already_finished",
      engine.tasks:complete(id, { by = "ann" })))
  end)

  it("when overdue escalates, once, and still can be done", function()
    local engine, clock = backend.fresh()
    assert(engine:load(asking { due = "2h", role = "clerk",
      escalate = { role = "chief", user = "boss", priority = "urgent" } }))
    local id, instance = begin(engine)
    clock:advance "3h"
    assert(engine:run())
    local task = assert(engine.tasks:get(id))
    assert.equal("pending", task.status)
    assert.is_true(task.overdue)
    assert.equal("urgent", task.priority)
    assert.same({ "chief", "clerk" }, task.roles)
    assert.same({ "boss" }, task.users)
    assert.is_string(task.escalated)
    assert.same({ id }, ids(assert(engine.tasks:list { role = "chief",
      overdue = true })))
    clock:advance "3h"
    assert(engine:run())
    assert.equal("started ask, escalated ask", kit.trail(engine, instance))
    assert(engine.tasks:complete(id, { by = "eve", role = "chief" }))
    assert(engine:run())
    assert.completed(engine, instance)
  end)

  it("when it is up takes the way, or fails the node", function()
    local engine, clock = backend.fresh()
    assert(engine:load(choosing({ timeout = "2h" },
      { "approved", "timeout" })))
    local id, instance = begin(engine)
    clock:advance "3h"
    assert.equal("timeout", way(engine, instance))
    assert.equal("timed_out", assert(engine.tasks:get(id)).status)

    engine, clock = backend.fresh()
    assert(engine:load(asking { timeout = "2h" }))
    id, instance = begin(engine)
    clock:advance "3h"
    assert(engine:run())
    assert.failed(engine, instance)
    assert.equal("timed_out", assert(engine.tasks:get(id)).status)
  end)

  it("is not up for what was completed in time", function()
    local a, b, clock
    local task
    local flow = pawl.workflow { code = "t.task", start = "both" }
    flow:fork("both", { next = { "ask", "work" } })
    flow:task("ask", { title = "Ask", timeout = "1h",
      next = { done = "good", timeout = "bad" } })
    for _, name in ipairs { "good", "bad" } do
      flow:step(name, { next = "close",
        run = function(ctx) ctx.vars.way = name end })
    end
    flow:timer("work", { after = "59m", next = "more" })
    flow:step("more", { next = "close", run = function()
      assert(b.tasks:complete(task, { by = "ann" }))
      clock:advance "2m" -- the timeout is due when this is over
    end })
    flow:join("close", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    a, b, clock = kit.pair(backend, { flow }, { lease = "10m" })
    local id
    task, id = begin(a)
    clock:advance "59m"
    assert.equal("good", way(a, id))
  end)
end)

---- its instance --------------------------------------------------------------

kit.describe("a task of an instance that ends", function(backend)
  it("is cancelled when that fails", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "both" }
    flow:fork("both", { next = { "ask", "work" } })
    flow:task("ask", { title = "Ask", role = "clerk", next = "close" })
    flow:timer("work", { after = 1, next = "bad" })
    flow:step("bad", { retry = false, next = "close",
      run = function() error "no" end })
    flow:join("close", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local task, id = begin(engine)
    clock:advance(2)
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("cancelled", assert(engine.tasks:get(task)).status)
    assert.same({}, assert(engine.tasks:list { role = "clerk",
      status = { "pending", "running" } }))
    assert.same({ task }, ids(assert(engine.tasks:list { role = "clerk" })))
  end)

  it("is cancelled when another branch ends it", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "both" }
    flow:fork("both", { next = { "ask", "work" } })
    flow:task("ask", { title = "Ask", next = "z" })
    flow:timer("work", { after = 1, next = "stop" })
    flow:finish("stop", { terminate = true })
    flow:finish "z"
    assert(engine:load(flow))
    local task, id = begin(engine)
    clock:advance(2)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("cancelled", assert(engine.tasks:get(task)).status)
  end)
end)
