-- on_failure: who is told when an instance fails, or is suspended by an error.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local BOTH <const> = { emit = "order.failed", start = "repair" }

--- Step a does as it is told, then z; options are the workflow's.
local function flow(run, options, step)
  local given = { code = "order", start = "a", on_failure = BOTH }
  for key, value in pairs(options or {}) do given[key] = value or nil end
  local made = pawl.workflow(given)
  local a = { run = run, retry = false, next = "z" }
  for key, value in pairs(step or {}) do a[key] = value end
  made:step("a", a)
  made:finish "z"
  return made
end

local function broken() error { code = "card_declined", message = "no" } end

--- Takes note of what it is started with, and ends.
local function repair()
  return flow(function(ctx) ctx.vars.told = ctx.input end,
    { code = "repair", on_failure = false })
end

--- What was told: events of that instance, as data.
local function events(engine, id)
  local list = {}
  for _, row in ipairs(assert(engine.outbox:list { instance = id })) do
    assert.equal("order.failed", row.type)
    list[#list + 1] = row.payload
  end
  return list
end

local function handlers(engine, code)
  local list = {}
  local rows = assert(engine:list { workflow = code or "repair" })
  for i, row in ipairs(rows) do list[i] = assert(engine:get(row.id)) end
  return list
end

--- Each was told once, to both, with that status and code of error.
local function told(engine, id, status, code, n)
  assert(engine:run())
  local list, started = events(engine, id), handlers(engine)
  assert.equal(n or 1, #list, "events")
  assert.equal(n or 1, #started, "handlers")
  local last = list[#list]
  assert.equal(id, last.id)
  assert.equal(status, last.status)
  assert.equal(code, last.error.code)
  return last, started[1]
end

kit.describe("on_failure", function(backend)
  it("tells of a failure, in full, an event and a workflow", function()
    local engine = backend.fresh()
    assert(engine:load(flow(function(ctx)
      if not ctx.attrs.seen then
        ctx.attrs.seen = true
        return "again"
      end
      broken()
    end, { version = 3 }, { next = { again = "a", done = "z" } })))
    assert(engine:load(repair()))
    local id = assert(engine:start("order", { n = 1 }, { key = "k1",
      business_key = "B-1", correlation = "c1",
      attributes = { amount = pawl.decimal "12.50" } }))
    local body, handler = told(engine, id, "failed", "card_declined")
    assert.equal("order", body.workflow)
    assert.equal(3, body.version)
    assert.equal("no", body.error.message)
    assert.equal("a", body.node)
    assert.equal(1, body.attempt)
    assert.equal("k1", body.key)
    assert.equal("B-1", body.business_key)
    assert.equal("c1", body.correlation)
    assert.same({ amount = { type = "decimal", value = "12.50" },
      seen = { type = "boolean", value = true } }, body.attributes)
    assert.same({ "order" }, body.failures)
    assert.matches("^%d+%-%d+%-%d+T", body.at)
    assert.equal(assert(engine:get(id)).commits, body.commits)

    assert.equal("completed", handler.status)
    assert.same(body, handler.input)
    assert.equal(("%s/%d"):format(id, body.commits), handler.key)
    assert.equal("c1", handler.correlation)
    assert.equal("B-1", handler.business_key)
    assert.is_nil(handler.parent)
    assert.equal("on_failure", handler.started_by)
    local row = kit.last(engine, id)
    assert.equal("on_failure", row.type)
    assert.equal('emits "order.failed", starts repair', row.text)
  end)

  it("tells nothing of what was tried again, or went well", function()
    local engine, clock = backend.fresh()
    local n = 0
    assert(engine:load(flow(function()
      n = n + 1
      if n < 3 then broken() end
    end, nil, { retry = { max = 3, base = 1, jitter = 0 } })))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    for _ = 1, 4 do assert(engine:run()) clock:advance "1m" end
    assert.completed(engine, id)
    assert.same({}, events(engine, id))
    assert.same({}, handlers(engine))
  end)

  it("counts attempts, and tells once they are used up", function()
    local engine, clock = backend.fresh()
    assert(engine:load(flow(broken, nil,
      { retry = { max = 3, base = 1, jitter = 0 } })))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    for _ = 1, 4 do assert(engine:run()) clock:advance "1m" end
    assert.equal(3, told(engine, id, "failed", "card_declined").attempt)
  end)

  it("tells again when it is retried and fails again", function()
    local engine = backend.fresh()
    assert(engine:load(flow(broken)))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    local first = told(engine, id, "failed", "card_declined")
    assert(engine:retry(id))
    local second = told(engine, id, "failed", "card_declined", 2)
    assert.is_true(second.commits > first.commits)
  end)

  it("tells of one that is suspended when attempts are used up", function()
    local engine = backend.fresh()
    assert(engine:load(flow(broken, nil, { on_exhausted = "suspend" })))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    local body = told(engine, id, "suspended", "card_declined")
    assert.equal("a", body.node)
    assert(engine:edit(id, { set = { x = 1 } }))
    told(engine, id, "suspended", "card_declined")
    assert(engine:resume(id))
    told(engine, id, "suspended", "card_declined", 2)
  end)

  it("tells of a timeout of a node, and of the deadline", function()
    local engine, clock = backend.fresh()
    local made = pawl.workflow { code = "order", start = "w",
      on_failure = BOTH }
    made:wait("w", { event = "x", timeout = "1h", next = "z" })
    made:finish "z"
    assert(engine:load(made))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    assert(engine:run())
    clock:advance "2h"
    told(engine, id, "failed", "timeout")

    local late = pawl.workflow { code = "late", start = "t",
      on_failure = BOTH, deadline = "1h" }
    late:timer("t", { after = "3h", next = "z" })
    late:finish "z"
    assert(engine:load(late))
    local other = assert(engine:start "late")
    assert(engine:run())
    clock:advance "2h"
    assert(engine:run())
    assert.equal("deadline", events(engine, other)[1].error.code)
  end)

  it("tells of a busy loop that is held up", function()
    local engine = backend.fresh()
    assert(engine:load(flow(function() return "again" end,
      { busy_limit = 5 }, { next = { again = "a", done = "z" } })))
    assert(engine:load(repair()))
    told(engine, assert(engine:start "order"), "suspended", "busy_loop")
  end)

  it("tells of one that its worker does not survive", function()
    local engine, clock, url = backend.fresh { recoveries = 3 }
    assert(engine:load(flow(function() end)))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    local store = kit.store(url, clock)
    for _ = 1, 4 do
      kit.claim(store, id)
      clock:advance(31)
    end
    told(engine, id, "suspended", "poisoned")
    assert(engine:retry(id))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("tells of a result that the store refuses", function()
    local engine, _, url = backend.fresh()
    kit.poison(backend, url)
    assert(engine:load(flow(function() return nil, "poison" end)))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    local body = told(engine, id, "failed", engine:get(id).error
      and engine:get(id).error.code or "store")
    assert.matches("the store refused the result", body.error.message)
  end)

  it("tells of a finish that fails, of a child's failure, and of a node "
    .. "that is gone", function()
    local engine = backend.fresh()
    local made = pawl.workflow { code = "order", start = "z",
      on_failure = { emit = "order.failed" } }
    made:finish("z", { status = "failed" })
    assert(engine:load(made))
    local parent = pawl.workflow { code = "parent", start = "c",
      on_failure = { emit = "order.failed" } }
    parent:call("c", { workflow = "order", next = "z" })
    parent:finish "z"
    assert(engine:load(parent))
    local id = assert(engine:start "parent")
    assert(engine:run())
    local child = assert(engine:children(id))[1].id
    assert.equal("z", events(engine, child)[1].error.code)
    assert.equal(id, events(engine, child)[1].parent)
    assert.equal("failed", events(engine, id)[1].status)
    assert.equal("c", events(engine, id)[1].node)
  end)

  it("tells once it is undone, with the attempt that failed", function()
    local engine = backend.fresh()
    local fails = false
    local made = pawl.workflow { code = "order", start = "a",
      on_failure = BOTH }
    made:step("a", { run = function() end, retry = false,
      undo = function() if fails then broken() end end, next = "b" })
    made:step("b", { run = broken, retry = false, next = "z" })
    made:finish "z"
    assert(engine:load(made))
    assert(engine:load(repair()))
    local id = assert(engine:start "order")
    local body = told(engine, id, "failed", "card_declined")
    assert.equal("b", body.node)
    assert.equal(1, body.attempt)
    assert.equal("a", kit.trail(engine, id):match "undone (%l)")
    fails = true
    local other = assert(engine:start "order")
    assert(engine:run())
    local late = events(engine, other)[1]
    assert.equal("card_declined", late.error.code)
    assert.equal("completed_with_errors",
      assert(engine:get(other)).compensation.status)
  end)

  it("tells nobody when a person suspends, cancels or kills it", function()
    local engine = backend.fresh()
    local made = pawl.workflow { code = "order", start = "w",
      on_failure = BOTH }
    made:wait("w", { event = "x", next = "z" })
    made:finish "z"
    assert(engine:load(made))
    assert(engine:load(repair()))
    for _, verb in ipairs { "suspend", "cancel", "kill" } do
      local id = assert(engine:start "order")
      assert(engine:run())
      assert(engine[verb](engine, id))
      assert(engine:run())
      assert.same({}, events(engine, id), verb)
    end
    assert.same({}, handlers(engine))
  end)

  it("does not hinder the failure when nobody knows the workflow", function()
    local engine = backend.fresh()
    assert(engine:load(flow(broken)))
    local id = assert(engine:start "order")
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal(1, #events(engine, id))
    local waits = handlers(engine)[1] -- until somebody loads it
    assert.equal("created", waits.status)
    assert(engine:load(repair()))
    assert(engine:run())
    assert.completed(engine, waits.id)
  end)

  it("says in the history that a workflow is switched off", function()
    local engine = backend.fresh()
    assert(engine:load(flow(broken)))
    assert(engine:load(repair()))
    assert(engine.workflows:deactivate("repair", 1))
    local id = assert(engine:start "order")
    assert(engine:run())
    assert.failed(engine, id)
    assert.same({}, handlers(engine))
    local row = kit.last(engine, id)
    assert.equal("note", row.type)
    assert.matches("on_failure started nothing: no version .* is active",
      row.text)
    assert.equal("on_failure", row.by)
    assert(engine:run())
    assert.equal(row.seq, kit.last(engine, id).seq)
  end)

  it("lets a handler's own failure be handled, but not in a circle",
    function()
      local engine = backend.fresh()
      assert(engine:load(flow(broken)))
      assert(engine:load(flow(broken, { code = "repair",
        on_failure = { start = "page" } })))
      assert(engine:load(flow(broken, { code = "page",
        on_failure = { start = "repair" } })))
      local id = assert(engine:start "order")
      assert(engine:run())
      assert.equal(1, #handlers(engine, "repair"))
      local paged = handlers(engine, "page")
      assert.equal(1, #paged)
      assert.same({ "order", "repair" }, paged[1].input.failures)
      assert.equal("does not start repair, whose own failure led here",
        kit.last(engine, paged[1].id).text)
      assert.equal(handlers(engine, "repair")[1].input.id, id)
    end)

  it("keeps to its tenant", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow(broken)))
    assert(engine:load(repair()))
    local own <close> = kit.rival(backend, url, clock, { tenant = "t1" })
    local id = assert(own:start("order", {}))
    assert(engine:run())
    assert.equal("t1", events(own, id)[1].tenant)
    assert.equal("t1", handlers(own)[1].tenant)
  end)

  it("is that of the version that runs", function()
    local engine = backend.fresh()
    assert(engine:load(flow(broken, { on_failure = { emit = "e.old" } })))
    local id = assert(engine:start "order")
    assert(engine:run())
    assert.equal("e.old", engine.outbox:list { instance = id }[1].type)
    assert(engine:load(flow(broken, { version = 2,
      on_failure = { emit = "e.new" } })))
    local other = assert(engine:start "order")
    assert(engine:run())
    assert.equal("e.new", engine.outbox:list { instance = other }[1].type)
  end)

  it("is refused where it says nothing, or the wrong thing", function()
    local function refused(words, hint, on_failure)
      local ok, err = pcall(flow, broken, { on_failure = on_failure })
      assert.is_false(ok)
      assert.matches(words, tostring(err))
      assert.matches(hint, tostring(err))
    end
    refused("must be a table", "emit = ", "order.failed")
    refused("is empty", "emit = ", {})
    refused("emitt", "did you mean 'emit'", { emitt = "x" })
    refused("1 to 200 bytes", "order.failed", { emit = "" })
    refused("start", "order.fulfil", { start = "not a code" })
    local engine = backend.fresh()
    local ok, err = engine:load(flow(broken, { on_failure = {
      start = "order" } }))
    assert.is_nil(ok)
    assert.equal("definition", err.code)
    assert.matches("names the workflow itself", err.message)
  end)
end)
