--- Cleaning up: `on_cancel` names the node from which on a cancelled instance
--- goes, behind what is undone, before it is cancelled.
local explain = require "pawl.explain"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local seen

--- A step that can be undone, a day's timer, and what `clean` draws from "tidy"
--- on.
local function flow(clean, options)
  local given = { code = "t.clean", on_cancel = "tidy" }
  for name, value in pairs(options or {}) do given[name] = value end
  local drawn = pawl.workflow(given)
  seen = {}
  drawn:step("a", { run = function() end,
    undo = function() seen[#seen + 1] = "undo a" end })
  drawn:timer("day", { after = "1d", next = "done" })
  clean(drawn)
  drawn:finish("done", { output = function(ctx) return ctx.vars end })
  return drawn
end

local function tidy(drawn, options)
  local given = { next = "done", run = function(ctx)
    seen[#seen + 1] = "tidy"
    ctx.vars.why = ctx.error
  end }
  for name, value in pairs(options or {}) do given[name] = value end
  drawn:step("tidy", given)
end

--- Tidies, and waits for an event.
local function slow(drawn)
  tidy(drawn, { next = "report" })
  drawn:wait("report", { event = "t.swept", next = "last" })
  drawn:step("last", { next = "done",
    run = function(ctx) ctx.vars.last = ctx.error.message end })
end

local function begun(backend, drawn)
  local engine, clock, url = backend.fresh()
  assert(engine:load(drawn))
  local id = assert(engine:start "t.clean")
  assert(engine:run())
  return engine, id, clock, url
end

kit.describe("an instance that is cancelled", function(backend)
  it("is undone, cleans up, and is cancelled then", function()
    local engine, id = begun(backend, flow(tidy))
    assert(engine:cancel(id, { reason = "no more", by = "ann" }))
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.equal("cancelled", got.status)
    assert.same({ "undo a", "tidy" }, seen)
    assert.same({ code = "cancelled", message = "no more", by = "ann",
      source = "user" }, got.variables.why)
    assert.equal("no more", got.cancellation.reason)
    assert.truthy(got.cancellation.cleaning_since)
    assert.equal(pawl.null, got.error or pawl.null)
    assert.equal("step a, cancelled, undone a, compensated day, step tidy",
      (kit.trail(engine, id):gsub("cancelled day", "cancelled")))
  end)

  it("cleans up though nothing is to be undone", function()
    local engine, id = begun(backend, flow(tidy))
    assert(engine:cancel(id, { compensate = false }))
    assert(engine:run())
    assert.same({ "tidy" }, seen)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("it was cancelled", engine:get(id).variables.why.message)
  end)

  it("has nothing to clean up before it has begun", function()
    local engine = backend.fresh()
    assert(engine:load(flow(tidy)))
    local id = assert(engine:start("t.clean", {}, { delay = "1h" }))
    assert(engine:cancel(id))
    assert.equal("cancelled", kit.status(engine, id))
    assert.same({}, seen)
  end)

  it("takes its time, and all kinds of nodes", function()
    local engine, id, clock = begun(backend, flow(slow))
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "waiting", "report" }, { got.status, got.node })
    local why = table.concat(explain.sentences(assert(engine:explain(id))),
      " ")
    assert.matches("It was cancelled.*enough.*, and cleans up since", why)
    clock:advance "2d"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:signal { name = "t.swept", instance = id })
    assert(engine:run())
    got = assert(engine:get(id))
    assert.same({ "cancelled", "enough" }, { got.status, got.variables.last })
  end)

  it("is cancelled once: asked again, it goes on cleaning up", function()
    local engine, id = begun(backend, flow(slow, { cancel_on = "t.stop" }))
    assert(engine:cancel(id, "first"))
    assert(engine:run())
    assert(engine:cancel(id, "second"))
    assert.matches("cancel: it was cancelled, and cleans up",
      kit.last(engine, id).text)
    assert(engine:signal { name = "t.stop", instance = id })
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:signal { name = "t.swept", instance = id })
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "first" },
      { got.status, got.cancellation.reason })
    assert.same({ "undo a", "tidy" }, seen)
  end)

  it("ends at once when it is killed", function()
    local engine, id = begun(backend, flow(slow))
    assert(engine:kill(id))
    assert.same({ {}, "cancelled" }, { seen, kit.status(engine, id) })
    id = assert(engine:start "t.clean")
    assert(engine:run())
    assert(engine:cancel(id))
    assert(engine:run())
    assert(engine:kill(id))
    local got = assert(engine:get(id))
    assert.same({ "cancelled", true }, { got.status, got.cancellation.killed })
  end)

  it("is cancelled though its cleaning up fails, which its error tells",
    function()
      local engine, id = begun(backend, flow(function(drawn)
        drawn:step("tidy", { retry = false, next = "done",
          undo = function() seen[#seen + 1] = "undo tidy" end,
          run = function() error { code = "stuck" } end })
      end))
      assert(engine:cancel(id))
      assert(engine:run())
      local got = assert(engine:get(id))
      assert.same({ "cancelled", "stuck" }, { got.status, got.error.code })
      assert.same({ "undo a" }, seen)
    end)

  it("is cancelled at a failed finish, too", function()
    local engine, id = begun(backend, flow(function(drawn)
      drawn:step("tidy", { run = function() end, next = "badly" })
      drawn:finish("badly", { status = "failed" })
    end))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("has its deadline for that", function()
    local engine, id, clock = begun(backend, flow(slow, { deadline = "12h" }))
    clock:advance "1h"
    assert(engine:cancel(id))
    assert(engine:run())
    clock:advance "12h"
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "deadline" }, { got.status, got.error.code })
  end)

  it("by an event cleans up as well", function()
    local engine, id = begun(backend, flow(tidy, { cancel_on = "t.stop" }))
    assert(engine:signal { name = "t.stop", instance = id })
    assert(engine:run())
    assert.same({ "undo a", "tidy" }, seen)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("cleans up in steps that wait or write SQL", function()
    local engine, id, clock = begun(backend, flow(function(drawn)
      tidy(drawn, { next = "sql", run = function(ctx)
        ctx.await(1)
        assert(not ctx.cancelled())
        ctx.vars.waited = true
      end })
      drawn:step("sql", { transactional = true, next = "done",
        run = function(ctx)
          ctx.vars.one = ctx.db:query("select 1 as n")[1].n
        end })
    end))
    assert(engine:cancel(id))
    assert(engine:run())
    assert(engine:cancel(id))
    clock:advance "1s"
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", true, 1 },
      { got.status, got.variables.waited, got.variables.one })
  end)

  it("goes on cleaning up when it was suspended, or tried again", function()
    local engine, id = begun(backend, flow(function(drawn)
      drawn:step("tidy", { retry = false, on_exhausted = "suspend",
        next = "done", run = function(ctx)
          seen[#seen + 1] = "tidy"
          if #seen < 3 then error "not yet" end
          ctx.vars.why = ctx.error.code
        end })
    end))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:retry(id))
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", "cancelled" }, { got.status, got.variables.why })
  end)

  it("goes on after all when it is restarted", function()
    local engine, id, clock = begun(backend, flow(slow))
    assert(engine:cancel(id))
    assert(engine:run())
    assert(engine:suspend(id))
    assert(engine:restart(id, { from = "a" }))
    assert(engine:run())
    clock:advance "1d"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("goes on under the worker that takes it over", function()
    local engine, id, clock, url = begun(backend, flow(slow))
    assert(engine:cancel(id))
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(flow(slow)))
    clock:advance "60s"
    assert(rival:run())
    assert.same({ "undo a", "tidy" }, seen)
    assert(rival:signal { name = "t.swept", instance = id })
    assert(rival:run())
    assert.equal("cancelled", kit.status(rival, id))
  end)

  it("tells its parent when it has cleaned up", function()
    local engine = backend.fresh()
    local parent = pawl.workflow { code = "t.parent" }
    parent:call("call", { workflow = "t.clean",
      next = { completed = "done", cancelled = "off" } })
    parent:finish "done"
    parent:finish "off"
    assert(engine:load(flow(slow)))
    assert(engine:load(parent))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local child = engine:children(id)[1].id
    assert(engine:cancel(child))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:signal { name = "t.swept", instance = child })
    assert(engine:run())
    assert.equal("off", engine:get(id).node)
  end)

  it("as its parent is, cleans up by itself", function()
    local engine = backend.fresh()
    local parent = pawl.workflow { code = "t.parent" }
    parent:call("call", { workflow = "t.clean" })
    assert(engine:load(flow(slow)))
    assert(engine:load(parent))
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local child = engine:children(id)[1].id
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("waiting", kit.status(engine, child))
    assert(engine:signal { name = "t.swept", instance = child })
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, child))
  end)

  it("to be deleted is so when it has cleaned up", function()
    local engine, id = begun(backend, flow(slow))
    assert(engine:delete(id, { cancel = true }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:signal { name = "t.swept", instance = id })
    assert(engine:run())
    local got = assert(engine:get(id))
    assert.same({ "cancelled", true }, { got.status, got.deleted ~= nil })
  end)
end)

describe("on_cancel", function()
  local function refused(words, on_cancel, build)
    local drawn = pawl.workflow { code = "t.wrong", on_cancel = on_cancel }
    local ok, err = pcall(function()
      build(drawn)
      drawn:finish "done"
      local engine <close> = assert(pawl.open ":memory:")
      assert(engine:load(drawn))
    end)
    assert.is_false(ok)
    assert.matches(words, tostring(err))
  end
  local function noop() end

  it("names a node, which may stand alone", function()
    refused('`on_cancel` names no node "tide".*did you mean "tidy"', "tide",
      function(drawn) drawn:step("tidy", { run = noop }) end)
    refused('step "inner": `on_cancel` begins in the branch of an each',
      "inner", function(drawn)
        drawn:each("all", { items = function() return {} end,
          branch = "inner", next = "done" })
        drawn:step("inner", { run = noop, next = "all" })
      end)
    refused("`on_cancel` begins at no boundary", "late", function(drawn)
      drawn:step("a", { run = noop, next = "done",
        on_timer = { name = "late", after = "1d", next = "done" } })
    end)
  end)
end)

kit.describe("a clean-up", function(backend)
  it("is left to who knows the workflow, with nothing to undo as well",
    function()
      local drawn = pawl.workflow { code = "t.far", on_cancel = "tidy" }
      drawn:wait("w", { event = "x", next = "z" })
      drawn:step("tidy", { next = "z",
        run = function(ctx) ctx.vars.why = ctx.error.message end })
      drawn:finish "z"
      local engine, clock, url = backend.fresh()
      assert(engine:load(drawn))
      local id = assert(engine:start "t.far")
      assert(engine:run())
      local other = kit.rival(backend, url, clock)
      assert(other:cancel(id, "too late"))
      assert(other:run())
      assert.equal("running", kit.status(engine, id))
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal("cancelled", instance.status)
      assert.equal("too late", instance.variables.why)
    end)

  it("keeps the error that led it to a failed finish", function()
    local engine = backend.fresh()
    local drawn = pawl.workflow { code = "t.sad", on_cancel = "tidy" }
    drawn:wait("w", { event = "x", next = { received = "z", timeout = "sad" },
      timeout = "1d" })
    drawn:step("tidy", { next = "z", on_error = { bad = "sad" }, retry = false,
      run = function() error { code = "bad", message = "no way" } end })
    drawn:finish "z"
    drawn:finish("sad", { status = "failed" })
    assert(engine:load(drawn))
    local id = assert(engine:start "t.sad")
    assert(engine:run())
    assert(engine:cancel(id))
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("cancelled", instance.status)
    assert.equal("bad", instance.error.code)
  end)

  it("has no deadline in a version that has none", function()
    local engine, clock = backend.fresh()
    local function version(n, deadline)
      local drawn = pawl.workflow { code = "t.two", version = n,
        on_cancel = "tidy", deadline = deadline }
      drawn:step("s", { next = "w", run = function() end,
        retry = { max = 3, base = 20, cap = 20, jitter = 0 },
        undo = function(ctx) if ctx.attempt < 2 then error "not yet" end end })
      drawn:wait("w", { event = "x", next = "z" })
      drawn:timer("tidy", { after = "5s", next = "z" })
      drawn:finish "z"
      assert(engine:load(drawn))
    end
    version(1, "10s")
    local id = assert(engine:start "t.two")
    assert(engine:run())
    version(2)
    assert(engine.workflows:transfer("t.two", 1, 2))
    assert(engine:run())
    assert(engine:cancel(id))
    for _ = 1, 6 do
      assert(engine:run())
      clock:advance(5)
    end
    local instance = assert(engine:get(id))
    assert.equal("cancelled", instance.status)
    assert.is_nil(instance.error)
    assert.equal(1, #assert(engine:history(id, { type = "timer" })))
  end)
end)
