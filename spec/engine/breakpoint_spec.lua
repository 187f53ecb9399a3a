-- Breakpoints: a token halts before a node begins, and goes on when somebody
-- lets it.
local explain = require "pawl.explain"
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a breakpoint", function(backend)
  local engine, clock

  before_each(function() halts.ran = {} end)

  local function prepared(flow, options)
    engine, clock = backend.fresh(options)
    assert(engine:load(flow))
  end

  local function words(id)
    return table.concat(explain.sentences(assert(engine:explain(id))), "\n")
  end

  local function went_on(id, what, options)
    local _, done = assert(engine[what](engine, id, options))
    assert.is_true(done)
    assert(engine:run())
  end

  it("has a token halt, with no lease and no attempt, until it goes on",
    function()
      prepared(halts.chain())
      halts.set(engine, "b")
      local id = halts.begun(engine)
      assert.same({ "a" }, halts.ran)
      local shown = assert(engine:get(id))
      assert.equal("running", shown.status)
      assert.is_nil(shown.lease)
      assert.equal("b", halts.at(engine, id))
      assert.equal("step a, halted b", kit.trail(engine, id))
      assert.equal("ann", kit.last(engine, id).by)
      local text = words(id)
      assert.matches("halted since", text, 1, true)
      assert.matches("at a breakpoint by ann", text, 1, true)
      assert.matches("pawl continue " .. id, text, 1, true)
      went_on(id, "continue", { by = "bob", reason = "seen" })
      assert.same({ "a", "b", "c" }, halts.ran)
      assert.equal("completed", kit.status(engine, id))
      assert.equal("step a, halted b, continued b, step b, step c",
        kit.trail(engine, id))
      local row = assert(engine:history(id, { type = "continued" }))[1]
      assert.same({ "bob", "seen", "b" }, { row.by, row.text, row.path })
      assert.equal(0, #assert(engine:health()))
    end)

  it("holds before the first node, and before each kind of node", function()
    prepared(halts.chain())
    halts.set(engine, "a")
    local id = halts.begun(engine)
    assert.same({}, halts.ran)
    assert.equal("a", halts.at(engine, id))
    halts.set(engine, "z")
    went_on(id, "continue")
    assert.equal("z", halts.at(engine, id))
    assert.equal("running", kit.status(engine, id))
    went_on(id, "continue")
    assert.equal("completed", kit.status(engine, id))
    assert.same({ total = 3 }, assert(engine:get(id)).output)
  end)

  it("leaves siblings, timers and deadlines alone", function()
    prepared(halts.forked())
    halts.set(engine, "b")
    local id = halts.begun(engine, {}, { deadline = "2h" })
    assert.equal("b", halts.at(engine, id))
    clock:advance "10m"
    assert(engine:run())
    assert.same({ "a", "c" }, halts.ran)
    assert.equal("b", halts.at(engine, id))
    went_on(id, "continue")
    assert.equal("completed", kit.status(engine, id))
    id = halts.begun(engine, {}, { deadline = "30m" })
    clock:advance "31m"
    assert(engine:run())
    assert.equal("failed", kit.status(engine, id))
  end)

  it("lets one node run at a step", function()
    prepared(halts.chain())
    halts.set(engine, "a")
    local id = halts.begun(engine)
    went_on(id, "step", { by = "bob" })
    assert.same({ "a" }, halts.ran)
    assert.equal("b", halts.at(engine, id))
    assert.matches("halted since .*, behind a step by bob", words(id))
    went_on(id, "step")
    assert.same({ "a", "b" }, halts.ran)
    assert.equal("c", halts.at(engine, id))
    went_on(id, "continue")
    assert.equal("completed", kit.status(engine, id))
    assert.equal("halted a, stepped a, step a, halted b, stepped b, step b, "
      .. "halted c, continued c, step c", kit.trail(engine, id))
  end)

  it("steps each branch of a fork, and one where several stand", function()
    prepared(halts.forked())
    halts.set(engine, "f")
    local id = halts.begun(engine)
    went_on(id, "step")
    assert.equal("a t", halts.at(engine, id))
    kit.refused("conflict", "several tokens", nil, engine:step(id))
    went_on(id, "step", { node = "a" })
    assert.equal("b t", halts.at(engine, id))
    went_on(id, "continue", { node = "t" })
    assert.equal("b", halts.at(engine, id))
    clock:advance "10m"
    assert(engine:run())
    assert.same({ "a", "c" }, halts.ran)
    assert.equal("b", halts.at(engine, id))
    went_on(id, "step")
    assert.equal("j", halts.at(engine, id))
    went_on(id, "continue")
    assert.equal("completed", kit.status(engine, id))
  end)

  it("halts again before an attempt that follows a failure", function()
    local tries = 0
    local flow = pawl.workflow { code = "t.chain" }
    flow:step("a", { retry = { max = 3, base = "1s", cap = "1s" },
      next = "z", run = function()
        tries = tries + 1
        if tries < 3 then error "again" end
      end })
    flow:finish "z"
    prepared(flow)
    halts.set(engine, "a", { when = "attempt == 2" })
    local id = halts.begun(engine)
    assert.equal(1, tries)
    clock:advance "10s"
    assert(engine:run())
    assert.equal("a", halts.at(engine, id))
    assert.equal(1, tries)
    went_on(id, "continue")
    clock:advance "10s"
    assert(engine:run())
    assert.equal("completed", kit.status(engine, id))
    assert.equal(3, tries)
  end)

  it("lets what stands there be cancelled, moved, edited and suspended",
    function()
      prepared(halts.chain())
      halts.set(engine, "b")
      local id = halts.begun(engine)
      assert(engine:cancel(id, "enough"))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      id = halts.begun(engine)
      assert(engine:edit(id, { set = { total = 9 } }))
      assert(engine:run())
      assert.equal("b", halts.at(engine, id))
      assert(engine:move(id, { to = "c" }))
      assert(engine:run())
      assert.equal("completed", kit.status(engine, id))
      id = halts.begun(engine)
      assert(engine:suspend(id))
      assert(engine:continue(id))
      assert(engine:run())
      assert.equal("suspended", kit.status(engine, id))
      assert(engine:resume(id))
      assert(engine:run())
      assert.equal("completed", kit.status(engine, id))
    end)

  it("lets a retry be about others: what has halted stays", function()
    local works
    local flow = pawl.workflow { code = "t.chain" }
    flow:fork("f", { next = { "a", "b" } })
    flow:step("a", { next = "j", retry = { max = 1 },
      on_exhausted = "suspend",
      run = function() if not works then error "no" end end })
    flow:step("b", { next = "j", run = function() end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    prepared(flow)
    halts.set(engine, "b")
    local id = halts.begun(engine)
    assert.equal("suspended", kit.status(engine, id))
    works = true
    assert(engine:retry(id))
    assert(engine:run())
    assert.equal("b", halts.at(engine, id))
    went_on(id, "continue")
    assert.equal("completed", kit.status(engine, id))
  end)
end)
