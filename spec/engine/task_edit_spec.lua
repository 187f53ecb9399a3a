-- Changing what a task says and when it is due, and when each way to end is.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- A task that is due in an hour; overdue leads to "late", if it is drawn.
local function asking(options, overdue)
  local flow = pawl.workflow { code = "t.ask", start = "ask" }
  local given = { title = "Look", due = "1h", form = "look",
    description = "At length", input = { n = 1 }, metadata = { desk = 3 },
    next = { done = "z", overdue = overdue and "late" or nil } }
  for name, value in pairs(options or {}) do given[name] = value end
  flow:task("ask", given)
  flow:finish "z"
  if overdue then flow:finish "late" end
  return flow
end

local function begin(engine)
  local id = assert(engine:start "t.ask")
  assert(engine:run())
  return assert(engine.tasks:list { instance = id })[1].id, id
end

local function edit(engine, task, options)
  options.by = "ann"
  return engine.tasks:edit(task, options)
end

--- Moves the clock and runs what is due.
local function later(engine, clock, seconds)
  clock:advance(seconds)
  assert(engine:run())
end

kit.describe("to edit a task", function(backend)
  it("changes what it says", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local task = begin(engine)
    local was = assert(engine.tasks:get(task))
    assert.same({ desk = 3 }, was.metadata)
    local is = assert(edit(engine, task, { title = "Look again",
      description = "Shorter", form = "again", input = { n = 2 },
      priority = "urgent", metadata = { desk = 4 }, reason = "asked to" }))
    for name, value in pairs { title = "Look again", description = "Shorter",
      form = "again", priority = "urgent", due = was.due,
      status = "pending" } do
      assert.equal(value, is[name])
    end
    assert.same({ { n = 2 }, { desk = 4 } }, { is.input, is.metadata })
    local entry = is.log[#is.log]
    assert.same({ "edit", "ann", "asked to" },
      { entry.what, entry.by, entry.reason })
    -- what is not given stays
    is = assert(edit(engine, task, { title = "Once more" }))
    assert.same({ "Once more", "Shorter", { desk = 4 }, "urgent" },
      { is.title, is.description, is.metadata, is.priority })
    assert.equal(2, #is.log)
  end)

  it("is told with what it was before, in its log and in the audit", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(asking()))
    local task, id = begin(engine)
    local was = assert(engine.tasks:get(task)).due
    local is = assert(edit(engine, task, { title = "Hurry", form = "look",
      due = clock.us / 1e6 + 60, priority = "urgent", input = { n = 2 },
      metadata = { text = ("x"):rep(300) }, reason = "asked to" }))
    assert.same({
      title = { from = "Look", to = "Hurry" },
      input = { from = { n = 1 }, to = { n = 2 } }, metadata = {},
      due = { from = was, to = "2026-01-01T00:01:00.000000Z" },
      priority = { from = "normal", to = "urgent" },
    }, is.log[1].changes)
    is = assert(edit(engine, task, { unset = { "due", "form", "metadata" },
      description = "At length" }))
    assert.same({ form = { from = "look" }, metadata = {},
      due = { from = "2026-01-01T00:01:00.000000Z" } }, is.log[2].changes)
    is = assert(edit(engine, task, { form = "new" }))
    assert.same({ form = { to = "new" } }, is.log[3].changes)
    local texts = {}
    for _, e in ipairs(assert(engine:audit { type = "edited" })) do
      texts[#texts + 1] = e.text
    end
    table.sort(texts)
    assert.same({ "form", "form, metadata, due", "title, input, metadata, "
      .. "due, priority to urgent: asked to" }, texts)
    assert(engine:run())
    -- it was changed by a rival since it was read
    local clerk = kit.rival(backend, url, clock)
    assert(clerk.tasks:escalate(task, { by = "bob", priority = "low" }))
    is = assert(edit(engine, task, { priority = "high" }))
    assert.same({ priority = { from = "low", to = "high" } },
      is.log[#is.log].changes)
    assert.equal("to low", engine:audit({ by = "bob", instance = id })[1].text)
  end)

  it("takes away what it may be without", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local task = begin(engine)
    local is = assert(edit(engine, task, { unset = { "description", "form",
      "input", "metadata", "due" } }))
    for _, name in ipairs { "description", "form", "input", "metadata",
      "due" } do
      assert.is_true(is[name] == nil or is[name] == pawl.null, name)
    end
    assert.is_false(is.overdue)
    is = assert(edit(engine, task, { form = "new", unset = "due" }))
    assert.equal("new", is.form)
  end)

  it("does not take it from whoever has it", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local task = begin(engine)
    assert(engine.tasks:claim(task, { by = "bob" }))
    local is = assert(edit(engine, task, { title = "Other" }))
    assert.same({ "running", "bob" }, { is.status, is.claimed_by })
    assert(engine.tasks:complete(task, { by = "bob" }))
  end)

  it("is refused for what makes no sense", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local task = begin(engine)
    local function no(words, options)
      kit.refused("invalid", words, nil, edit(engine, task, options))
    end
    no("nothing is given", {})
    no("cannot be without \"titel\"", { unset = "titel" })
    no("both set and unset", { form = "x", unset = "form" })
    no("both set and unset", { due = 4e9, unset = { "due" } })
    kit.refused("invalid", "cannot be without", "did you mean \"metadata\"",
      edit(engine, task, { unset = { "metadat" } }))
    assert(engine.tasks:complete(task, { by = "bob" }))
    kit.refused("already_finished", "completed by bob", nil,
      edit(engine, task, { title = "Late" }))
  end)
end)

kit.describe("the due time of a task", function(backend)
  local function fresh(options, overdue)
    local engine, clock, url = backend.fresh()
    assert(engine:load(asking(options, overdue)))
    local task, id = begin(engine)
    return engine, clock, task, id, url
  end

  local function due_in(engine, clock, task, seconds)
    return assert(edit(engine, task, { due = clock.us / 1e6 + seconds }))
  end

  it("is when it becomes overdue, once it was put off", function()
    local engine, clock, task, id = fresh(nil, true)
    due_in(engine, clock, task, 7200)
    later(engine, clock, 3601)
    assert.equal("waiting", kit.status(engine, id))
    assert.is_false(assert(engine.tasks:get(task)).overdue)
    later(engine, clock, 3600)
    assert.equal("late", assert(engine:get(id)).node)
    assert.equal("timed_out", assert(engine.tasks:get(task)).status)
  end)

  it("is in the history whenever somebody has moved it", function()
    local engine, clock, task, id = fresh(nil, true)
    due_in(engine, clock, task, 7200)
    assert(engine:run())
    assert(engine.tasks:edit(task, { unset = "due", by = "bob" }))
    assert(edit(engine, task, { title = "Look again" }))
    assert(engine:run())
    local rows = assert(engine:history(id, { type = "put_off" }))
    assert.equal(2, #rows)
    assert.same({ "ann", "2026-01-01T02:00:00.000000Z" },
      { rows[1].by, rows[1].due })
    assert.same({ "bob", "at no time" }, { rows[2].by, rows[2].text })
    assert.is_nil(rows[2].due)
    assert.equal(1, #assert(engine:audit { by = "ann", type = "put_off" }))
    local edits = {}
    for i, e in ipairs(assert(engine:audit { type = "edited" })) do
      edits[i] = e.by
    end
    table.sort(edits)
    assert.same({ "ann", "ann", "bob" }, edits)
    assert(engine.tasks:complete(task, { by = "eve" }))
    assert(engine:run())
    local last = kit.last(engine, id)
    assert.same({ "task", rows[1].visit }, { last.type, last.visit })
    assert.equal("2026-01-01T00:00:00.000000Z", last.started)
  end)

  it("may be earlier, or past", function()
    local engine, clock, task, id = fresh(nil, true)
    due_in(engine, clock, task, 60)
    assert(engine:run())
    later(engine, clock, 61)
    assert.equal("late", assert(engine:get(id)).node)
    task, id = begin(engine)
    assert(edit(engine, task, { due = clock.us / 1e6 - 5 }))
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
  end)

  it("may be none: it is never overdue, and still times out", function()
    local engine, clock, task, id = fresh({ timeout = "3h" }, true)
    assert(edit(engine, task, { unset = "due" }))
    later(engine, clock, 2 * 3600)
    assert.equal("waiting", kit.status(engine, id))
    later(engine, clock, 3601)
    assert.failed(engine, id)
  end)

  it("makes it overdue once more", function()
    local engine, clock, task = fresh { escalate = { users = "boss" } }
    later(engine, clock, 3601)
    local first = assert(engine.tasks:get(task)).escalated
    assert.is_string(first)
    due_in(engine, clock, task, 600)
    assert(engine:run())
    later(engine, clock, 601)
    assert.is_true(assert(engine.tasks:get(task)).escalated > first)
  end)

  it("that comes after its completion changes nothing", function()
    local engine, clock, task, id, url = fresh(nil, true)
    local clerk = kit.rival(backend, url, clock)
    due_in(clerk, clock, task, 60)
    assert(clerk.tasks:complete(task, { by = "bob" }))
    assert(engine:run())
    assert.completed(engine, id)
    task, id = begin(engine)
    assert(clerk.tasks:complete(task, { by = "bob" }))
    kit.refused("already_finished", "completed", nil,
      edit(clerk, task, { due = clock.us / 1e6 + 60 }))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("waits for an instance that is suspended", function()
    local engine, clock, task, id = fresh(nil, true)
    assert(engine:suspend(id, { by = "op" }))
    due_in(engine, clock, task, 60)
    later(engine, clock, 61)
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:resume(id, { by = "op" }))
    assert(engine:run())
    later(engine, clock, 1)
    assert.equal("late", assert(engine:get(id)).node)
  end)
end)

kit.describe("the end of a task", function(backend)
  it("has a time, whoever ended it", function()
    local engine, clock = backend.fresh()
    assert(engine:load(asking(nil, true)))
    local ends = {
      completed = function(task)
        assert(engine.tasks:complete(task, { by = "ann" }))
      end,
      failed = function(task)
        assert(engine.tasks:fail(task, { by = "ann", error = "no" }))
      end,
      cancelled = function(_, id) assert(engine:kill(id, { by = "op" })) end,
      timed_out = function() later(engine, clock, 3601) end,
    }
    for status, done in pairs(ends) do
      local task, id = begin(engine)
      assert.is_true((assert(engine.tasks:get(task)).completed or pawl.null)
        == pawl.null)
      later(engine, clock, 60)
      done(task, id)
      local is = assert(engine.tasks:get(task))
      assert.equal(status, is.status)
      assert.equal(is.updated, is.completed)
      assert.is_true(is.completed > is.created)
    end
  end)

  it("is taken back when it is tried again", function()
    local engine = backend.fresh()
    assert(engine:load(asking()))
    local task = begin(engine)
    assert(engine.tasks:fail(task, { by = "ann" }))
    assert(engine:run())
    local is = assert(engine.tasks:retry(task, { by = "ann" }))
    assert.is_true(is.completed == nil or is.completed == pawl.null)
  end)
end)
