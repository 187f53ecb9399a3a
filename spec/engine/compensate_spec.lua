-- Undoing what was done when an instance fails or is cancelled: the plan, its
-- order, its record, and what may come in between.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- Notes what is undone, with its output, in the variable `undone`.
local function note(ctx)
  local list = ctx.vars.undone or {}
  list[#list + 1] = ctx.node .. "=" .. tostring(ctx.output)
  ctx.vars.undone = list
end

local function fails() error { code = "boom", message = "no" } end

--- Steps named by letters; each may be undone, save for the last, whose `run`
--- fails. `options` by node are more of them.
local function chain(nodes, options, flow)
  local given = { code = "t.undo", start = nodes:sub(1, 1) }
  for key, value in pairs(flow or {}) do given[key] = value end
  local made = pawl.workflow(given)
  for i = 1, #nodes do
    local name, following = nodes:sub(i, i), nodes:sub(i + 1, i + 1)
    local node = { next = following == "" and "z" or following }
    if following == "" then
      node.run, node.retry = fails, false
    else
      node.run = function() return nil, "out " .. name end
      node.undo = note
    end
    for key, value in pairs(options and options[name] or {}) do
      node[key] = value
    end
    made:step(name, node)
  end
  made:finish "z"
  return made
end

--- The steps a, b with undo, then t for an hour; for cancelling.
local function pausing(undo, flow)
  local given = { code = "t.undo", start = "a" }
  for key, value in pairs(flow or {}) do given[key] = value end
  local made = pawl.workflow(given)
  for i, name in ipairs { "a", "b" } do
    made:step(name, { run = function() return nil, "out " .. name end,
      undo = undo or note, retry = false, next = i == 1 and "b" or "t" })
  end
  made:timer("t", { after = "1h", next = "z" })
  made:finish "z"
  return made
end

local function get(engine, id) return assert(engine:get(id)) end

local function begin(engine, input)
  local id = assert(engine:start("t.undo", input))
  assert(engine:run())
  return id
end

local function undone(engine, id)
  return table.concat(get(engine, id).variables.undone or {}, " ")
end

--- The nodes of a plan, in its order.
local function planned(compensation)
  local names = {}
  for i, entry in ipairs(compensation.plan) do names[i] = entry.node end
  return table.concat(names, " ")
end

--- History's rows of one type.
local function rows(engine, id, kind)
  local found = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == kind then found[#found + 1] = row end
  end
  return found
end

kit.describe("an instance that fails", function(backend)
  it("has what it completed undone, the newest first", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(chain "abcd"))
    local id = begin(engine)
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("boom", instance.error.code)
    assert.equal("d", instance.node, "where it failed")
    assert.equal("c=out c b=out b a=out a", undone(engine, id))
    assert.equal("step a, step b, step c, failed d, undone c, undone b, "
      .. "undone a, compensated d", kit.trail(engine, id))
    local record = instance.compensation
    assert.equal("completed", record.status)
    assert.equal("failed", record["end"])
    assert.equal("c b a", planned(record))
    assert.same({ 3, 2, 1 }, record.completed)
    assert.same({}, record.failed)
    assert.equal("boom", record.error.code)
    assert.is_string(record.started_at)
    assert.is_string(record.completed_at)
    assert.same({}, instance.tokens)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("says in its history which row each undo takes back", function()
    local engine = backend.fresh()
    assert(engine:load(chain "abc"))
    local list = rows(engine, begin(engine), "undone")
    assert.same({ { 2 }, { 1 } }, { list[1].previous, list[2].previous })
    assert.is_string(list[1].completed)
    assert.truthy(list[1].changes, "what the handler wrote is there")
  end)

  it("undoes only where there is a handler", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { run = function() return nil, 1 end, undo = note,
      next = "b" })
    flow:step("b", { run = function() end, next = "c" })
    flow:step("c", { run = fails, undo = note, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    assert.equal("a=1", undone(engine, id), "what failed was not done")
  end)

  it("just ends where there is nothing to undo", function()
    local engine = backend.fresh()
    assert(engine:load(chain("ab", { a = { run = fails, retry = false } })))
    local id = begin(engine)
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("boom", instance.error.code)
    assert.same({}, (instance.compensation or {}).plan or {})
    assert.equal("", undone(engine, id))
    assert.equal(1, #rows(engine, id, "failed"))
  end)

  it("undoes each visit of a loop, with its own output", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", {
      run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 4 and "again" or "on", ctx.vars.n
      end,
      undo = note, next = { again = "a", on = "b" } })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert.equal("a=4 a=3 a=2 a=1", undone(engine, begin(engine)))
  end)

  it("undoes waits, tasks and calls too", function()
    local engine = backend.fresh()
    local child = pawl.workflow { code = "t.child", start = "z" }
    child:finish("z", { output = function() return "born" end })
    local flow = pawl.workflow { code = "t.undo", start = "w" }
    flow:wait("w", { event = "go", undo = note, next = "k" })
    flow:task("k", { title = "Do it", undo = note, next = "c" })
    flow:call("c", { workflow = "t.child", undo = note, next = "b" })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = begin(engine)
    assert(engine:signal { name = "go", instance = id, data = "heard" })
    assert(engine:run())
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", output = "told" }))
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("c=born k=told w=heard", undone(engine, id))
  end)

  it("does not undo what was not done: timeouts and error routes", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "w" }
    flow:wait("w", { event = "go", undo = note, timeout = "1h",
      next = { received = "z", timeout = "k" } })
    flow:task("k", { title = "Do it", undo = note, timeout = "1h",
      next = { done = "z", timeout = "s" } })
    flow:step("s", { run = fails, undo = note, retry = false, next = "z",
      on_error = { boom = "b" } })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    for _ = 1, 2 do
      clock:advance "61m"
      assert(engine:run())
    end
    assert.failed(engine, id)
    assert.equal("", undone(engine, id))
  end)

  it("does not undo a call whose child failed or was cancelled", function()
    local engine = backend.fresh()
    local child = pawl.workflow { code = "t.child", start = "c" }
    child:choice("c", { choose = function(ctx) return ctx.input.way end,
      next = { fail = "no", wait = "w", done = "z" } })
    child:wait("w", { event = "never", next = "z" })
    child:finish("no", { status = "failed" })
    child:finish("z", { output = function() return "born" end })
    local flow = pawl.workflow { code = "t.undo", start = "c1" }
    for i, way in ipairs { "fail", "wait", "done" } do
      local to = "c" .. i + 1
      flow:call("c" .. i, { workflow = "t.child", undo = note,
        input = { way = way },
        next = { completed = to, failed = to, cancelled = to } })
    end
    flow:step("c4", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = begin(engine)
    local waits = assert(engine:children(id, { status = "waiting" }))
    assert(engine:cancel(waits[1].id))
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("c3=born", undone(engine, id))
  end)

  it("undoes the steps of parallel branches by their completion", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "f" }
    flow:fork("f", { next = { left = "t1", right = "t2" } })
    flow:timer("t1", { after = "2h", next = "l" })
    flow:timer("t2", { after = "1h", next = "r" })
    flow:step("l", { run = function() return nil, 1 end, undo = note,
      next = "j" })
    flow:step("r", { run = function() return nil, 2 end, undo = note,
      next = "j" })
    flow:join("j", { next = "b" })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    for _ = 1, 2 do
      clock:advance "1h"
      assert(engine:run())
    end
    assert.equal("l=1 r=2", undone(engine, id))
  end)

  it("drops what its other branches wait for first", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { run = function() return nil, 1 end, undo = note,
      next = "f" })
    flow:fork("f", { next = { "w", "k", "t", "b" } })
    flow:wait("w", { event = "go", next = "j" })
    flow:task("k", { title = "Do it", next = "j" })
    flow:timer("t", { after = "1h", next = "j" })
    flow:step("b", { run = fails, retry = false, next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    assert.failed(engine, id)
    assert.equal("a=1", undone(engine, id))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal("cancelled",
      assert(engine.tasks:list { instance = id })[1].status)
    clock:advance "2h"
    assert.equal(0, assert(engine:run()).claimed)
    for _, token in ipairs(assert(engine:tokens(id, { all = true }))) do
      assert.is_truthy(token.state == "dropped" or token.state == "consumed",
        token.state)
    end
  end)

  it("at a failed finish is undone, and keeps its output", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { run = function() return nil, 1 end, undo = note,
      next = "no" })
    flow:finish("no", { status = "failed",
      output = function() return { why = "sold out" } end })
    assert(engine:load(flow))
    local id = begin(engine)
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("no", instance.error.code)
    assert.same({ why = "sold out" }, instance.output)
    assert.equal("a=1", undone(engine, id))
  end)

  it("keeps the error that routed it to a failed finish", function()
    local engine = backend.fresh()
    local flow = chain("ab", { b = { on_error = { boom = "no" } } })
    flow:finish("no", { status = "failed" })
    assert(engine:load(flow))
    local id = begin(engine)
    assert.equal("boom", get(engine, id).error.code)
    assert.equal("a=out a", undone(engine, id))
  end)

  it("is not undone where its workflow says so", function()
    local engine = backend.fresh()
    assert(engine:load(chain("ab", nil, { compensate = false })))
    local id = begin(engine)
    assert.failed(engine, id)
    assert.equal("", undone(engine, id))
    assert.is_nil(get(engine, id).compensation)
  end)

  it("keeps the token of an item with what undoes it", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "e" }
    flow:each("e", { items = function() return { "x", "y" } end,
      branch = "s", next = "b" })
    flow:step("s", { undo = note, next = "e",
      run = function(ctx) return nil, ctx.token.data.item end })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    assert.equal("s=y s=x", undone(engine, id))
    local plan = get(engine, id).compensation.plan
    assert.is_true(plan[1].token ~= plan[2].token)
  end)

  it("shows what undoes a step the data that its token had", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "r" }
    local seen = {}
    local function see(ctx) seen[#seen + 1] = ctx.token.data end
    flow:step("r", { undo = see, next = "e",
      run = function(ctx) ctx.token.data = { root = true } end })
    flow:each("e", { items = function() return { "x", "y" } end,
      branch = "s", next = "f" })
    flow:step("s", { undo = see, run = function() end, next = "e" })
    flow:fork("f", { next = { "l", "k" } })
    flow:step("l", { undo = see, next = "j",
      run = function(ctx) ctx.token.data = { left = true } end })
    flow:step("k", { undo = see, run = function() end, next = "j" })
    flow:join("j", { next = "b" })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    begin(engine)
    assert.same({ root = true }, seen[1], "k: what it was forked with")
    assert.same({ left = true }, seen[2])
    assert.same({ "y", 2 }, { seen[3].item, seen[3].index })
    assert.same({ "x", 1 }, { seen[4].item, seen[4].index })
    assert.same({ root = true }, seen[5])
  end)

  it("shows it the data of a lone token too", function()
    local engine = backend.fresh()
    local seen
    assert(engine:load(chain("ab", { a = {
      run = function(ctx) ctx.token.data = { n = 7 } end,
      undo = function(ctx) seen = ctx.token.data end } })))
    local id = begin(engine)
    assert.same({ n = 7 }, seen)
    assert.failed(engine, id)
  end)

  it("may emit and use ctx in an undo, in the undo's own commit", function()
    local engine = backend.fresh()
    local seen
    assert(engine:load(chain("ab", { a = { undo = function(ctx)
      ctx.emit("a.undone", ctx.output)
      ctx.attrs.undone = true
      seen = { node = ctx.node, attempt = ctx.attempt, input = ctx.input }
    end } })))
    local id = begin(engine, { n = 1 })
    assert.same({ node = "a", attempt = 1, input = { n = 1 } }, seen)
    local list = assert(engine.outbox:list())
    assert.equal(1, #list)
    assert.same({ "a.undone", "out a" }, { list[1].type, list[1].payload })
    assert.is_true(get(engine, id).attributes.undone)
  end)
end)

kit.describe("an undo that fails", function(backend)
  --- b's undo fails `times` times.
  local function flaky(times, options)
    local runs = { n = 0, keys = {} }
    local given = { retry = { max = 3, base = 10, factor = 2, jitter = 0 },
      undo = function(ctx)
        runs.n = runs.n + 1
        runs.attempt = ctx.attempt
        runs.keys[ctx.idempotency_key()] = true
        if runs.n <= times then error("no luck " .. runs.n) end
        note(ctx)
      end }
    for key, value in pairs(options or {}) do given[key] = value end
    return chain("abc", { b = given }), runs
  end

  it("is tried again by its node's policy", function()
    local engine, clock = backend.fresh()
    local flow, runs = flaky(2)
    assert(engine:load(flow))
    local begun = clock:now()
    local id = begin(engine)
    assert.equal(1, runs.n)
    assert.equal(begun + 10, assert(engine:next_due()))
    clock:advance(10)
    assert(engine:run())
    assert.equal(2, runs.n)
    assert.equal(begun + 30, assert(engine:next_due()))
    clock:advance(20)
    assert(engine:run())
    assert.equal(3, runs.attempt)
    assert.is_not_nil(next(runs.keys))
    assert.is_nil(next(runs.keys, (next(runs.keys))), "one key")
    local instance = get(engine, id)
    assert.equal("completed", instance.compensation.status)
    assert.equal("b=out b a=out a", undone(engine, id))
    assert.equal("step a, step b, failed c, failed b, failed b, undone b, "
      .. "undone a, compensated c", kit.trail(engine, id))
  end)

  it("shows the plan while it waits, under the status running", function()
    local engine, clock = backend.fresh()
    assert(engine:load((flaky(1))))
    local id = begin(engine)
    local instance = get(engine, id)
    assert.equal("running", instance.status)
    local record = instance.compensation
    assert.equal("running", record.status)
    assert.equal("b a", planned(record))
    assert.same({}, record.completed)
    assert.equal("boom", record.error.code)
    assert.is_nil(record.completed_at)
    assert.equal("b", instance.tokens[1].node)
    assert.equal("active", instance.tokens[1].state)
    assert.equal(1, #instance.tokens)
    clock:advance(9)
    assert(engine:run())
    assert.equal("running", kit.status(engine, id))
    clock:advance(1)
    assert(engine:run())
    assert.failed(engine, id)
  end)

  it("for good is recorded, and the others go on", function()
    local engine, clock = backend.fresh()
    local flow = flaky(9)
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance(10)
    assert(engine:run())
    clock:advance(20)
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("boom", instance.error.code, "the original error")
    local record = instance.compensation
    assert.equal("completed_with_errors", record.status)
    assert.same({ 1 }, record.completed)
    assert.equal(1, #record.failed)
    assert.equal(2, record.failed[1].seq)
    assert.equal("b", record.failed[1].node)
    assert.matches("no luck 3", record.failed[1].error.message)
    assert.equal("2026-01-01T00:00:30.000000Z", record.failed[1].at)
    assert.equal("a=out a", undone(engine, id))
    assert.equal("step a, step b, failed c, failed b, failed b, "
      .. "undo_failed b, undone a, compensated c", kit.trail(engine, id))
    local last = rows(engine, id, "compensated")[1]
    assert.equal("completed with errors", last.text)
  end)

  it("is not tried again when its error says so", function()
    local engine = backend.fresh()
    assert(engine:load(chain("abc", { b = { undo = function()
      error { code = "gone", retry = false }
    end } })))
    local id = begin(engine)
    local record = get(engine, id).compensation
    assert.equal("completed_with_errors", record.status)
    assert.equal("gone", record.failed[1].error.code)
  end)

  it("is passed over though its node is to be suspended when exhausted",
    function()
      local engine = backend.fresh()
      assert(engine:load((flaky(9, { retry = false,
        on_exhausted = "suspend" }))))
      local id = begin(engine)
      assert.failed(engine, id)
      assert.equal("a=out a", undone(engine, id))
    end)

  it("leaves no variables and no rows in the outbox behind", function()
    local engine = backend.fresh()
    assert(engine:load(chain("ab", { a = { retry = false,
      undo = function(ctx)
        ctx.vars.bad = true
        ctx.emit("bad")
        error "no"
      end } })))
    local id = begin(engine)
    assert.is_nil(get(engine, id).variables.bad)
    assert.same({}, assert(engine.outbox:list()))
  end)
end)

kit.describe("an instance that is cancelled", function(backend)
  it("has what it completed undone, and keeps who and why", function()
    local engine = backend.fresh()
    assert(engine:load(pausing()))
    local id = begin(engine)
    assert(engine:cancel(id, { reason = "changed my mind", by = "ann",
      source = "user", event_id = "e7" }))
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("cancelled", instance.status)
    assert.equal("b=out b a=out a", undone(engine, id))
    assert.is_nil(instance.error)
    assert.equal("cancelled", instance.compensation["end"])
    assert.same({ "changed my mind", "ann", "user", "e7" }, {
      instance.cancellation.reason, instance.cancellation.by,
      instance.cancellation.source, instance.cancellation.event_id })
    assert.equal("step a, step b, cancelled t, undone b, undone a, "
      .. "compensated t", kit.trail(engine, id))
  end)

  it("says that it is not done before that is undone", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { run = function() end, next = "t",
      retry = { max = 2, base = 60, jitter = 0 },
      undo = function(ctx) if ctx.attempt == 1 then error "later" end end })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine)
    local ok, done = assert(engine:cancel(id))
    assert.is_true(ok)
    assert.is_false(done)
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("running", instance.status)
    assert.is_truthy(instance.cancellation, "who asked is there already")
    assert.equal("running", instance.compensation.status)
    clock:advance "1m"
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("by an event is undone too", function()
    local engine = backend.fresh()
    assert(engine:load(pausing(nil, { cancel_on = "shop.closed" })))
    local id = begin(engine)
    assert.equal(1, assert(engine:signal { name = "shop.closed", id = "e1",
      by = "bob" }))
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("cancelled", instance.status)
    assert.equal("event", instance.cancellation.source)
    assert.equal("b=out b a=out a", undone(engine, id))
  end)

  for name, given in pairs {
    ["its workflow"] = { flow = { compensate = false } },
    ["whoever cancels it"] = { cancel = { compensate = false } },
  } do
    it("is not undone where " .. name .. " says so", function()
      local engine = backend.fresh()
      assert(engine:load(pausing(nil, given.flow)))
      local id = begin(engine)
      assert(engine:cancel(id, given.cancel))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      assert.equal("", undone(engine, id))
      assert.is_nil(get(engine, id).compensation)
    end)
  end

  it("is undone where whoever cancels it asks, against its workflow",
    function()
      local engine = backend.fresh()
      assert(engine:load(pausing(nil, { compensate = false })))
      local id = begin(engine)
      assert(engine:cancel(id, { compensate = true }))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      assert.equal("b=out b a=out a", undone(engine, id))
    end)

  it("before it began has nothing to undo", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(chain "ab"))
    local id = assert(engine:start("t.undo", nil, { delay = "1h" }))
    local _, done = assert(engine:cancel(id))
    assert.is_true(done)
    assert.equal("cancelled", kit.trail(engine, id))
    clock:advance "2h"
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("cancelled", instance.status)
    assert.is_nil(instance.compensation)
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("while its last step runs has that step undone as well", function()
    local a, b
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { undo = note, next = "z", run = function(ctx)
      assert(b:cancel(ctx.id, { by = "ann" }))
      return nil, "out a"
    end })
    flow:finish("z", { output = function() return "never" end })
    a, b = kit.pair(backend, { flow })
    local id = begin(a)
    local instance = get(a, id)
    assert.equal("cancelled", instance.status)
    assert.is_nil(instance.output)
    assert.equal("a=out a", undone(a, id))
    assert.equal("step a, cancelled z, undone a, compensated z",
      kit.trail(a, id))
  end)

  it("while it waits to try again drops the attempt, and is undone",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(chain("ab", { b = { retry = { max = 5,
        base = 60 } } })))
      local id = begin(engine)
      assert.equal("running", kit.status(engine, id))
      assert(engine:cancel(id))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      assert.is_nil(get(engine, id).error)
      assert.equal("a=out a", undone(engine, id))
      clock:advance "1h"
      assert.equal(0, assert(engine:run()).claimed)
    end)

  it("while it is suspended is undone", function()
    local engine = backend.fresh()
    assert(engine:load(pausing()))
    local id = begin(engine)
    assert(engine:suspend(id))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("b=out b a=out a", undone(engine, id))
  end)
end)

kit.describe("while it is undone", function(backend)
  --- b's undo calls `act` with the instance's id.
  local function acting(act)
    local calls = { n = 0 }
    local a, b, clock, url = kit.pair(backend, { pausing(function(ctx)
      calls.n = calls.n + 1
      if ctx.node == "b" and calls.n == 1 then act(ctx, calls) end
      note(ctx)
    end) })
    calls.rival, calls.clock, calls.url = b, clock, url
    return a, calls
  end

  it("another cancel is refused, and recorded", function()
    local engine, calls = acting(function(ctx, calls)
      local ok, done = calls.rival:cancel(ctx.id, { by = "bob",
        reason = "me too" })
      assert(ok == true and done == false)
    end)
    local id = begin(engine)
    assert(engine:cancel(id, { by = "ann", reason = "first" }))
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("cancelled", instance.status)
    assert.equal("first", instance.cancellation.reason)
    assert.equal("b=out b a=out a", undone(engine, id))
    local refused = rows(engine, id, "refused")
    assert.equal(1, #refused)
    assert.matches("being undone", refused[1].text)
    assert.equal("bob", refused[1].by)
    assert.equal(0, kit.count(backend, calls.url, "inbox"))
  end)

  it("after a failure a cancel does not change how it ends", function()
    local a, b
    a, b = kit.pair(backend, { chain("abc", { b = { undo = function(ctx)
      assert(b:cancel(ctx.id, { by = "bob" }))
      note(ctx)
    end } }) })
    local id = begin(a)
    local instance = get(a, id)
    assert.equal("failed", instance.status)
    assert.equal("boom", instance.error.code)
    assert.is_nil(instance.cancellation)
    assert.equal(1, #rows(a, id, "refused"))
    assert.equal("b=out b a=out a", undone(a, id))
  end)

  it("a kill ends it at once", function()
    local engine, calls = acting(function(ctx, calls)
      assert(calls.rival:kill(ctx.id, { by = "bob", reason = "enough" }))
    end)
    local id = begin(engine)
    assert(engine:cancel(id))
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("cancelled", instance.status)
    assert.equal("", undone(engine, id), "the one under way was fenced off")
    assert.equal(1, calls.n, "and the other never ran")
    assert.equal("stopped", instance.compensation.status)
    assert.equal("b a", planned(instance.compensation))
    assert.same({}, instance.compensation.completed)
    assert.is_true(instance.cancellation.killed)
    assert.equal("enough", instance.cancellation.reason)
    assert.equal("step a, step b, cancelled t, killed b",
      kit.trail(engine, id))
    assert.equal(0, kit.count(backend, calls.url, "agenda"))
    assert.equal(0, kit.count(backend, calls.url, "inbox"))
  end)

  it("events do not reach it, and leave nothing behind", function()
    local seen
    local engine, calls = acting(function(ctx, calls)
      seen = calls.rival:signal { name = "go", instance = ctx.id }
    end)
    local id = begin(engine)
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal(1, seen)
    assert.equal("b=out b a=out a", undone(engine, id))
    assert.equal(0, #rows(engine, id, "received"))
    assert.equal(0, kit.count(backend, calls.url, "inbox"))
  end)

  it("a crash does not undo twice what was committed", function()
    local engine, calls = acting(function(_, calls)
      calls.clock:advance(31) -- as good as dead: another takes over
      assert(calls.rival:run())
    end)
    local id = begin(engine)
    assert(engine:cancel(id))
    local stats = assert(engine:run())
    assert.equal(1, stats.lost)
    assert.equal(3, calls.n, "b twice, as its first result was lost")
    assert.equal("b=out b a=out a", undone(engine, id))
    local record = get(engine, id).compensation
    assert.equal("completed", record.status)
    assert.same({ 2, 1 }, record.completed)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(1, #rows(engine, id, "recovered"))
    assert.equal(1, #rows(engine, id, "compensated"))
  end)

  it("a crash before the plan was made loses nothing", function()
    local a, clock, url = backend.fresh()
    assert(a:load(pausing()))
    local id = begin(a)
    assert(a:cancel(id)) -- planned, and given back
    assert.equal("planning", get(a, id).compensation.status)
    assert(a:load(pausing(nil, { version = 2 })))
    local gone, refused = a.workflows:transfer("t.undo", 1, 2, { plan = true })
    assert.same({}, gone)
    assert.equal("its compensation is under way", refused[1].reason)
    kit.claim(kit.store(url, clock), id) -- a worker that dies with it
    clock:advance(31)
    local b = kit.rival(backend, url, clock)
    assert(b:load(pausing()))
    assert(b:run())
    assert.equal("cancelled", kit.status(b, id))
    assert.equal("b=out b a=out a", undone(b, id))
  end)

  it("a crash between two undos goes on with the next", function()
    local a, b, clock, url
    local n = 0
    a, b, clock, url = kit.pair(backend, { pausing(function(ctx)
      n = n + 1
      note(ctx)
      if n == 1 then a:interrupt() end
    end) })
    local id = begin(a)
    assert(a:cancel(id))
    assert(a:tick(1))
    assert.equal(1, n)
    assert.same({ 2 }, get(a, id).compensation.completed)
    kit.claim(kit.store(url, clock), id) -- a worker that dies with it
    clock:advance(31)
    assert(b:run())
    assert.equal(2, n)
    assert.equal("cancelled", kit.status(b, id))
    assert.equal("b=out b a=out a", undone(b, id))
  end)

  it("one that kills its workers is suspended, resumed, and goes on",
    function()
      local engine, clock, url = backend.fresh { recoveries = 2 }
      assert(engine:load(pausing()))
      local id = begin(engine)
      assert(engine:cancel(id))
      local store = kit.store(url, clock)
      for _ = 1, 3 do
        kit.claim(store, id)
        clock:advance(31)
      end
      assert(engine:run())
      assert.equal("suspended", kit.status(engine, id))
      assert.equal("poisoned", get(engine, id).error.code)
      assert(engine:resume(id))
      assert(engine:run())
      local instance = get(engine, id)
      assert.equal("cancelled", instance.status)
      assert.is_nil(instance.error)
      assert.equal("b=out b a=out a", undone(engine, id))
    end)

  it("it can be suspended and resumed", function()
    local engine = acting(function(ctx, calls)
      assert(calls.rival:suspend(ctx.id, { by = "bob" }))
    end)
    local id = begin(engine)
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert.equal("b=out b", undone(engine, id))
    assert(engine:resume(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("b=out b a=out a", undone(engine, id))
  end)

  it("its deadline does not count", function()
    local engine, clock = backend.fresh()
    local flow = chain("ab", { a = { retry = { max = 2, base = 7200,
      cap = 7200, jitter = 0 }, undo = function(ctx)
        if ctx.attempt == 1 then error "later" end
        note(ctx)
      end } }, { deadline = "1h" })
    assert(engine:load(flow))
    local id = begin(engine)
    clock:advance "90m"
    assert(engine:run())
    assert.equal("running", kit.status(engine, id))
    clock:advance "30m"
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal("boom", get(engine, id).error.code)
    assert.equal("a=out a", undone(engine, id))
  end)
end)

kit.describe("an instance that was undone", function(backend)
  it("and restarted has only what it did since undone", function()
    local engine = backend.fresh()
    assert(engine:load(chain "abc"))
    local id = begin(engine)
    assert.equal("b=out b a=out a", undone(engine, id))
    assert(engine:restart(id, { from = "b" }))
    assert.is_nil(get(engine, id).compensation)
    assert(engine:run())
    local instance = get(engine, id)
    assert.equal("failed", instance.status)
    assert.equal("b", planned(instance.compensation))
    assert.equal(3, #rows(engine, id, "undone"))
    assert(engine:restart(id, { from = "c" }))
    assert(engine:run())
    assert.same({}, get(engine, id).compensation.plan)
  end)

  it("in part, and restarted, has the rest undone as well", function()
    local a, b
    a, b = kit.pair(backend, { chain("abcd", { b = { undo = function(ctx)
      note(ctx)
      b:suspend(ctx.id)
    end } }) })
    local id = begin(a)
    assert.equal("suspended", kit.status(a, id))
    assert.equal("c=out c b=out b", undone(a, id))
    assert(a:restart(id, { from = "c" }))
    assert(a:run())
    local instance = get(a, id)
    assert.equal("failed", instance.status)
    assert.equal("c a", planned(instance.compensation))
  end)
end)

kit.describe("undoing many steps", function(backend)
  --- Step a runs as often as its input says, then b fails.
  local function loop(undo)
    local flow = pawl.workflow { code = "t.undo", start = "a",
      busy_limit = 100000 }
    flow:step("a", { undo = undo, next = { again = "a", on = "b" },
      run = function(ctx)
        local n = (ctx.vars.n or 0) + 1
        ctx.vars.n = n
        return n < ctx.input.n and "again" or "on", n
      end })
    flow:step("b", { run = fails, retry = false, next = "z" })
    flow:finish "z"
    return flow
  end

  it("costs as much for each, however many there are", function()
    local cost, record = {}, {}
    for _, n in ipairs { 100, 1010 } do
      local a, b, before, last
      a, b = kit.pair(backend, { loop(function(ctx)
        local left = ctx.output
        if left == n - 10 then before = a:count().statements end
        if left == 10 then
          last = a:count().statements
          record[n] = assert(b:explain(ctx.id)).compensation
        end
        if left <= 2 then error { code = "no", retry = false } end
      end) })
      local id = begin(a, { n = n })
      local whole = get(a, id).compensation
      assert.same({ "completed_with_errors", n, n - 2, 2 }, { whole.status,
        whole.planned, whole.undone, whole.undo_failed })
      local shown = math.min(n, 1000) -- of each list
      assert.same({ shown, math.min(n - 2, 1000), 2 },
        { #whole.plan, #whole.completed, #whole.failed })
      assert.equal(n, whole.plan[1].seq)
      cost[n] = (last - before) / (n - 20)
      record[n] = #pawl.json.encode(record[n])
    end
    assert.is_true(math.abs(cost[100] - cost[1010]) < 1,
      cost[100] .. " and " .. cost[1010] .. " statements an undo")
    assert.is_true(record[1010] - record[100] < 10,
      record[100] .. " and " .. record[1010] .. " bytes in its record")
  end)

  it("does each once, newest first, past pages and crashes", function()
    local a, b, clock, url, at_work
    local list = {}
    local flow = loop(function(ctx)
      list[#list + 1] = ctx.output
      if ctx.output == 90 or ctx.output == 59 then at_work:interrupt() end
    end)
    a, b, clock, url = kit.pair(backend, { flow })
    local id = assert(a:start("t.undo", { n = 130 }))
    for i, stop in ipairs { 90, 59 } do
      at_work = i == 1 and a or b
      for _ = 1, 200 do
        if list[#list] == stop then break end
        assert(at_work:tick(1))
      end
      assert.equal(stop, list[#list])
      kit.claim(kit.store(url, clock), id) -- a worker that dies with it
      clock:advance(31)
    end
    b = kit.rival(backend, url, clock)
    assert(b:load(flow))
    assert(b:run())
    assert.equal(130, #list)
    for i, n in ipairs(list) do assert.equal(131 - i, n) end
    local record = get(b, id).compensation
    assert.equal("completed", record.status)
    assert.same({ 130, 130, 0 },
      { record.planned, record.undone, record.undo_failed })
    assert.equal(130, #record.plan)
    assert.equal(130, #record.completed)
    assert.equal(130, record.completed[1])
  end)

  it("finds them among many that cannot be undone", function()
    local engine = backend.fresh()
    local way = pawl.workflow { code = "t.undo", start = "a",
      busy_limit = 100000 }
    way:step("a", { run = function() return nil, "first" end, undo = note,
      next = "l" })
    way:step("l", { next = { again = "l", on = "c" }, run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 300 and "again" or "on"
    end })
    way:step("c", { run = function() return nil, "last" end, undo = note,
      next = "b" })
    way:step("b", { run = fails, retry = false, next = "z" })
    way:finish "z"
    assert(engine:load(way))
    local id = begin(engine)
    assert.equal("c=last a=first", undone(engine, id))
  end)
end)
