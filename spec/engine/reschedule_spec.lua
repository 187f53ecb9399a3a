-- Timers that an event moves while they stand.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local function moved(more, version)
  local flow = pawl.workflow { code = "t.moved", version = version }
  local options = {
    at = function(ctx) return ctx.vars.when or ctx.input.when end,
    reschedule = { event = "timer.moved", into = "when" },
  }
  for name, value in pairs(more or {}) do options[name] = value or nil end
  flow:timer("t", options)
  flow:finish "z"
  return flow
end

kit.describe("a timer that an event moves", function(backend)
  local engine, clock, url

  local function begun(flow, input)
    engine, clock, url = backend.fresh()
    assert(engine:load(flow or moved()))
    input = input or { when = clock:now() + 3600 }
    local id = assert(engine:start("t.moved", input))
    assert(engine:run())
    return id
  end

  local function move(id, seconds, event)
    return assert(engine:signal { name = "timer.moved", instance = id,
      id = event, data = clock:now() + seconds })
  end

  local function due_in(seconds)
    assert(engine:run())
    assert.equal(clock:now() + seconds, assert(engine:next_due()))
  end

  it("is due when that says, sooner or later", function()
    local id = begun()
    move(id, 7200)
    due_in(7200)
    move(id, 60)
    due_in(60)
    assert.equal(clock:now() + 60, assert(engine:get(id)).variables.when)
    clock:advance(59)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal("started t, rescheduled t, rescheduled t, timer t",
      kit.trail(engine, id))
    assert.equal(0, kit.count(backend, url, "subscription"))
  end)

  it("fires at once where that has passed", function()
    local id = begun()
    move(id, -5)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is moved by what came before it stood", function()
    engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.moved" }
    flow:step("a", { run = function() end })
    flow:timer("u", { after = "1h" })
    flow:timer("t", { after = "1h", reschedule = "timer.moved" })
    assert(engine:load(flow))
    local id = assert(engine:start "t.moved")
    move(id, 0)
    due_in(3600)
    clock:advance "50m"
    move(id, 0) -- for that which listens: the one behind this
    assert(engine:run())
    clock:advance "10m"
    -- both lay there: it begins no earlier than it does
    due_in(3600)
    assert.equal("t", assert(engine:get(id)).node)
  end)

  it("is moved by what comes as it is due, and not by what comes later",
    function()
      local id = begun()
      clock:advance "1h"
      move(id, 100)
      due_in(100)
      clock:advance(100.000001)
      move(id, 100)
      assert(engine:run())
      assert.completed(engine, id)
      local rows = assert(engine:history(id, { type = "untaken" }))
      assert.equal(1, #rows)
    end)

  it("takes what is asked twice once, and of several the last", function()
    local id = begun()
    move(id, 500, "one")
    clock:advance(1)
    move(id, 900, "one")
    due_in(499)
    move(id, 200)
    move(id, 300)
    due_in(300)
    assert.equal(3, #assert(engine:history(id, { type = "rescheduled" })))
  end)

  it("is found by its key, though that was sent before", function()
    local flow = moved { reschedule = { event = "timer.*", key = "order",
      into = "when" } }
    local id = begun(flow, { when = 0, order = "17" })
    assert.completed(engine, id)
    local when = clock:now() + 900
    assert(engine:signal { name = "timer.moved", key = "17", data = when })
    assert(engine:signal { name = "timer.moved", key = "18",
      data = clock:now() })
    assert(engine:start("t.moved", { when = clock:now() + 60, order = "17" }))
    due_in(900)
    assert.equal(1, assert(engine:signal { name = "timer.set", key = "17",
      data = clock:now() + 5 }))
    due_in(5)
    local keyless = begun(flow, { when = 1 })
    local err = assert(engine:get(keyless)).error
    assert.matches('timer "t": its key "order" is neither', err.message, 1,
      true)
  end)

  it("begins again as the event was received, where it lasts so long",
    function()
      local id = begun(moved { at = false, reschedule = "seen",
        after = function(ctx) return ctx.event and "10m" or "1h" end })
      clock:advance "59m"
      assert(engine:signal { name = "seen", instance = id })
      clock:advance "1m" -- it is looked at late
      due_in(540)
      clock:advance "9m"
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("stays as it was where no time comes of it", function()
    local id = begun()
    for _, wrong in ipairs { "soon", { 1 } } do
      assert(engine:signal { name = "timer.moved", instance = id,
        data = wrong })
    end
    due_in(3600)
    assert.is_nil(assert(engine:get(id)).variables.when)
    local rows = assert(engine:history(id, { type = "refused" }))
    assert.equal(2, #rows)
    assert.equal('`at` refused event "timer.moved"', rows[1].text)
    assert.equal("value", rows[1].error.code)
    local _, err = engine:ask(id, "timer.moved", "soon", { event = "1",
      timeout = 0 })
    assert.equal("timeout", err.code)
    assert(engine:run())
    _, err = engine:ask(id, "timer.moved", "soon", { event = "1" })
    assert.equal("value", err.code)
    move(id, 60)
    due_in(60)
  end)

  it("leaves nothing of that in what is stored along with it", function()
    local flow = pawl.workflow { code = "t.moved", start = "both" }
    flow:fork("both", { next = { "t", "note" } })
    flow:timer("t", { at = function(ctx)
      return ctx.vars.when or ctx.input.when
    end, reschedule = { event = "timer.moved", into = "when" }, next = "met" })
    flow:wait("note", { event = "noted", into = "note", next = "met" })
    flow:join("met", { next = "z" })
    flow:finish "z"
    for _, order in ipairs { { "timer.moved", "noted" },
                             { "noted", "timer.moved" } } do
      local id = begun(flow)
      for _, name in ipairs(order) do
        assert(engine:signal { name = name, instance = id, data = "soon" })
      end
      due_in(3600)
      assert.same({ note = "soon" }, assert(engine:get(id)).variables)
      assert.equal(1, #assert(engine:history(id, { type = "refused" })))
    end
  end)

  it("is moved by whoever takes over from a worker that died", function()
    local id = begun()
    move(id, 7200)
    kit.claim(kit.store(url, clock), id)
    clock:advance(31)
    due_in(7169)
    assert.equal("started t, recovered t, rescheduled t",
      kit.trail(engine, id))
  end)

  it("can be woken, suspended and put off as any other", function()
    local id = begun()
    move(id, 7200)
    due_in(7200)
    assert(engine:suspend(id))
    move(id, 100)
    clock:advance(50)
    assert(engine:resume(id, { shift = true }))
    due_in(50)
    assert(engine:wake(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is one of those in an instance that are moved together", function()
    local flow = pawl.workflow { code = "t.moved" }
    flow:fork("f", { next = { "t", "u", "v" } })
    flow:timer("t", { after = "1h", reschedule = "busy", next = "j" })
    flow:timer("u", { after = "2h", reschedule = "busy", next = "j" })
    flow:timer("v", { after = "3h", next = "j" })
    flow:join "j"
    local id = begun(flow, {})
    clock:advance "30m"
    assert(engine:signal { name = "busy", instance = id })
    due_in(3600)
    clock:advance "1h"
    due_in(3600)
    clock:advance "1h"
    due_in(1800)
    clock:advance "30m"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("listens for what another version names", function()
    local id = begun(moved({ at = false, after = "1h" }, 1))
    assert(engine:load(moved({ at = false, after = "2h",
      reschedule = "timer.set" }, 2)))
    assert(engine:load(moved({ at = false, after = "2h", reschedule = false },
      3)))
    assert(engine:load(moved({ reschedule = { event = "timer.set",
      key = "none", into = "when" } }, 4)))
    assert(engine.workflows:transfer("t.moved", 1, 2))
    due_in(7200)
    clock:advance "1h"
    move(id, 1)
    due_in(3600)
    assert(engine:signal { name = "timer.set", instance = id })
    due_in(7200)
    assert(engine.workflows:transfer("t.moved", 2, 3))
    assert(engine:run())
    assert.equal(0, kit.count(backend, url, "subscription"))
    local _, refused = assert(engine.workflows:transfer("t.moved", 3, 4))
    assert.equal(1, #refused)
    due_in(7200)
  end)

  it("is not what a wait takes for itself, which is seen at load", function()
    local function waits(options)
      options.event, options.timeout = "q", "1h"
      local flow = pawl.workflow { code = "t.own" }
      flow:wait("w", options)
      flow:finish "z"
      return (backend.fresh()):load(flow)
    end
    local function handler() return "1" end
    for _, options in ipairs { { reschedule = "q" },
      { reschedule = { event = "q", into = "x" } },
      { key = "k", reschedule = { event = "q", key = "k" } } } do
      kit.refused("definition", 'wait "w": `reschedule` names the event that '
        .. "it waits for itself, which moves it on", "another event",
        waits(options))
    end
    for _, options in ipairs { { reschedule = "q.later" },
      { key = "k", reschedule = "q" }, -- of the instance, without a key
      { key = "k", reschedule = { event = "q", key = "other" } },
      { key = handler, reschedule = { event = "q", key = handler } },
      { match = handler, reschedule = "q" },
      { accepts = "string", reschedule = "q" },
      { answer = handler, reschedule = "q" },
      { key = "k", take = "one",
        reschedule = { event = "q", key = "k" } } } do
      assert(waits(options))
    end
  end)

  it("is told of as such", function()
    local id = begun()
    local why = assert(engine:explain(id)).tokens[1].waiting_for
    assert.equal("time", why.what)
    assert.equal("timer.moved", why.event)
    local text = table.concat(assert(engine:explain(id)).sentences, "\n")
    assert.matches("`pawl signal timer.moved --instance " .. id
      .. "` has its time worked out anew.", text, 1, true)
  end)
end)

kit.describe("a wait whose timeout an event moves", function(backend)
  local engine, clock, url

  local function waiting(more, version)
    local flow = pawl.workflow { code = "t.wait", version = version }
    local options = {
      event = "paid", key = "order", into = "paid",
      timeout = function(ctx) return ctx.vars.grace or "1h" end,
      reschedule = { event = "paid.later", key = "order", into = "grace" },
      next = { received = "z", timeout = "late" },
    }
    for name, value in pairs(more or {}) do options[name] = value or nil end
    flow:wait("w", options)
    flow:finish "late"
    flow:finish "z"
    return flow
  end

  local function begun(flow)
    engine, clock, url = backend.fresh()
    assert(engine:load(flow or waiting()))
    local id = assert(engine:start("t.wait", { order = "17" }))
    assert(engine:run())
    return id
  end

  local function later(grace)
    return assert(engine:signal { name = "paid.later", key = "17",
      data = grace })
  end

  it("gives up later, or not at all", function()
    local id = begun()
    assert.equal(2, kit.count(backend, url, "subscription"))
    clock:advance "50m"
    assert.equal(1, later "2h")
    assert(engine:run())
    assert.equal(clock:now() + 7200, assert(engine:next_due()))
    local w = assert(engine:explain(id)).tokens[1].waiting_for
    assert.equal("paid", w.event)
    assert.same({ "paid.later", "17" }, { w.moved_by.event, w.moved_by.key })
    assert.matches("`pawl signal paid.later --key 17` has that worked out "
      .. "anew.", table.concat(assert(engine:explain(id)).sentences), 1, true)
    clock:advance(7199)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.equal("late", assert(engine:get(id)).node)
    assert.equal(0, kit.count(backend, url, "subscription"))
    id = begun(waiting { timeout = function(ctx)
      return not ctx.event and "1h" or nil
    end })
    later()
    assert(engine:run())
    clock:advance "30d"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("takes its own event as before, also one that was kept", function()
    local id = begun()
    later "2h"
    assert(engine:signal { name = "paid", key = "17", data = 5 })
    assert(engine:run())
    assert.equal("z", assert(engine:get(id)).node)
    assert.equal("2h", assert(engine:get(id)).variables.grace)
    -- both are kept for the next one
    id = assert(engine:start("t.wait", { order = "17" }))
    assert(engine:run())
    assert.equal("z", assert(engine:get(id)).node)
    assert.equal("rescheduled w, received w",
      kit.trail(engine, id):gsub("^started w, ", ""), 1)
  end)

  it("is moved by whoever takes over, and stays so in another version",
    function()
      local id = begun(waiting(nil, 1))
      later "3h"
      kit.claim(kit.store(url, clock), id)
      clock:advance(31)
      assert(engine:run())
      local due = clock:now() + 3 * 3600 - 31
      assert.equal(due, assert(engine:next_due()))
      assert(engine:load(waiting({ reschedule = { event = "paid.soon",
        into = "grace" } }, 2)))
      assert(engine:load(waiting({ reschedule = false }, 3)))
      assert(engine.workflows:transfer("t.wait", 1, 2))
      later "9h"
      assert(engine:signal { name = "paid.soon", instance = id,
        data = "5h" })
      assert(engine:run())
      assert.equal(clock:now() + 5 * 3600, assert(engine:next_due()))
      assert(engine.workflows:transfer("t.wait", 2, 3))
      assert(engine:run())
      assert.equal(1, kit.count(backend, url, "subscription"))
    end)

  it("has a timeout", function()
    local ok, err = pcall(waiting, { timeout = false, next = "late" })
    assert.is_false(ok)
    assert.matches("'reschedule', which moves a 'timeout', but none",
      err.message, 1, true)
  end)
end)

describe("a timer that an event moves", function()
  it("says what does in words that are known", function()
    local function refused(reschedule, message)
      local ok, err = pcall(moved, { reschedule = reschedule })
      assert.is_false(ok)
      assert.equal(message, err.message)
      return err.hint
    end
    refused(7, "'reschedule' of timer \"t\" must be an event or a table, "
      .. "not an integer")
    refused({ into = "x" }, "'reschedule' of timer \"t\" has no 'event'")
    assert.equal("did you mean 'into'?", refused({ event = "a", inot = "x" },
      "unknown field 'inot' of 'reschedule' of timer \"t\""))
  end)

  for _, level in ipairs { "limited", "isolated" } do
    it("may be one of a script that is " .. level, function()
      local engine = assert(pawl.open(":memory:", { trust = level }))
      assert(engine:load(tmp.file("flow.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "mod.moved" }
        flow:timer("t", {
          after = function(ctx) return ctx.vars.n or "1h" end,
          reschedule = { event = "moved", into = "n" },
        })
        return flow]])))
      local id = assert(engine:start "mod.moved")
      assert(engine:run())
      assert(engine:signal { name = "moved", instance = id, data = "oops" })
      assert(engine:run())
      assert.equal("waiting", assert(engine:get(id)).status)
      assert(engine:signal { name = "moved", instance = id, data = 0 })
      assert(engine:run())
      assert.completed(engine, id)
      engine:close()
    end)
  end
end)

kit.describe("what else an event moves", function(backend)
  local engine, clock, url

  --- One node "w" of that kind, whose time "later" moves by its key.
  local KINDS = {
    task = { title = "Do it", next = { done = "z", timeout = "late" } },
    call = { workflow = "t.away", next = { completed = "z",
      timeout = "late" } },
    each = { workflow = "t.away", items = function() return { 1, 2 } end,
      next = "z", on_error = { timeout = "late" } },
  }

  local function flow_of(kind, more, version)
    local flow = pawl.workflow { code = "t.else", version = version }
    local options = { reschedule = { event = "later", into = "grace",
      key = function(ctx) return "k" .. ctx.input.n end } }
    for name, value in pairs(KINDS[kind]) do options[name] = value end
    for name, value in pairs(more) do options[name] = value or nil end
    flow[kind](flow, "w", options)
    if type(options.next) == "table" or options.on_error then
      flow:finish "late"
    end
    flow:finish "z"
    return flow
  end

  local function begun(flow)
    engine, clock, url = backend.fresh()
    local away = pawl.workflow { code = "t.away" }
    away:timer("t", { after = "30d" })
    assert(engine:load(away))
    assert(engine:load(flow))
    local id = assert(engine:start("t.else", { n = 7 }))
    assert(engine:run())
    return id
  end

  local function later(grace, key)
    assert(engine:signal { name = "later", key = key or "k7", data = grace })
    assert(engine:run())
  end

  local function grace(ctx) return ctx.vars.grace or "1h" end

  for kind in pairs(KINDS) do
    it("is the timeout of a " .. kind, function()
      local id = begun(flow_of(kind, { timeout = grace }))
      clock:advance "30m"
      later("3h", "k8")
      assert.equal(clock:now() + 1800, assert(engine:next_due()))
      later "3h"
      assert.equal(clock:now() + 3 * 3600, assert(engine:next_due()))
      local why = assert(engine:explain(id)).tokens[1].waiting_for
      assert.same({ "later", "k7" }, { why.moved_by.event, why.moved_by.key })
      assert.matches("later --key k7` has that worked out anew",
        table.concat(assert(engine:explain(id)).sentences, " "), 1, true)
      clock:advance "3h"
      assert(engine:run())
      assert.equal("late", assert(engine:get(id)).node)
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)

    it("listens no more when that " .. kind .. " is done", function()
      local id = begun(flow_of(kind, { timeout = "5h" }))
      if kind == "task" then
        local task = assert(engine.tasks:list { instance = id })[1]
        assert(engine.tasks:complete(task.id, { by = "ann", take = "done" }))
      else
        for _, child in ipairs(assert(engine:list { parent = id })) do
          assert(engine:wake(child.id))
        end
      end
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)

    it("stays so in another version of a " .. kind, function()
      local id = begun(flow_of(kind, { timeout = "5h" }, 1))
      assert(engine:load(flow_of(kind, { timeout = "5h" }, 2)))
      assert(engine:load(flow_of(kind, { timeout = "5h", reschedule = false },
        3)))
      assert(engine.workflows:transfer("t.else", 1, 2))
      assert(engine:run())
      clock:advance "1h"
      later()
      assert.equal(clock:now() + 5 * 3600, assert(engine:next_due()))
      assert.equal(1, #assert(engine:history(id, { type = "rescheduled" })))
      assert(engine.workflows:transfer("t.else", 2, 3))
      assert(engine:run())
      assert.equal(0, kit.count(backend, url, "subscription"))
    end)
  end

  it("is when a task is due, as people see it", function()
    local function due(ctx)
      if ctx.vars.grace == "never" then return nil end
      return grace(ctx)
    end
    local id = begun(flow_of("task", { due = due, next = "z",
      escalate = { role = "boss" } }))
    local function seen()
      return assert(engine.tasks:list { instance = id })[1].due
    end
    clock:advance "1h"
    assert(engine:run())
    assert.equal(1, #assert(engine:history(id, { type = "escalated" })))
    later "2h"
    assert.equal(pawl.date(clock:now() + 7200).value, seen())
    clock:advance "2h"
    assert(engine:run())
    assert.equal(2, #assert(engine:history(id, { type = "escalated" })))
    later "never"
    assert.is_nil(seen())
    assert.is_nil(engine:next_due())
    later "soon" -- is no time: it stays as it was
    local row = assert(engine:history(id, { type = "refused" }))[1]
    assert.equal('`due` refused event "later"', row.text)
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("is the next time of a boundary, which listens on", function()
    for _, every in ipairs { "1d", function() return "1d" end } do
      local fired = 0
      local id = begun(flow_of("task", { next = "z", reschedule = false,
        on_timer = { every = every, reschedule = { event = "later",
          key = function() return "k7" end },
          run = function() fired = fired + 1 end } }))
      clock:advance "20h"
      later()
      assert.equal(clock:now() + 86400, assert(engine:next_due()))
      clock:advance "1d"
      assert(engine:run())
      assert.equal(1, fired)
      clock:advance "20h"
      later()
      assert.equal(clock:now() + 86400, assert(engine:next_due()))
      assert.equal(1, kit.count(backend, url, "subscription"))
      assert(engine:cancel(id))
      assert(engine:run())
      assert.equal(0, kit.count(backend, url, "subscription"))
    end
  end)

  it("is not, where there is no time, or its key is none", function()
    local ok, err = pcall(flow_of, "each", {})
    assert.is_false(ok)
    assert.matches("'reschedule', which moves a 'timeout', but none",
      err.message, 1, true)
    ok, err = pcall(flow_of, "task", { next = "z" })
    assert.is_false(ok)
    assert.matches("moves a 'due' or a 'timeout', but none", err.message, 1,
      true)
    local id = begun(flow_of("task", { timeout = "1h", reschedule = {
      event = "later", key = function() return {} end } }))
    err = assert(engine:get(id)).error
    assert.matches('task "w": `key` returned neither a text nor a number',
      err.message, 1, true)
  end)
end)
