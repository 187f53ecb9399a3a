-- Carried to another store: fenced off here, it goes on there, once.
local explain = require "pawl.explain"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- Step a, a wait for `go`, then step b; `ran` counts what runs anywhere.
local function flow(ran)
  local made = pawl.workflow { code = "t.carry", start = "a" }
  made:step("a", { run = function(ctx)
    ran.a = ran.a + 1
    ctx.vars.a = ctx.input.n
    ctx.attrs.n = ctx.input.n
    ctx.emit("a.done", { n = ctx.input.n })
  end, next = "w" })
  made:wait("w", { event = "go", next = "b" })
  made:step("b", { run = function(ctx)
    ran.b = ran.b + 1
    ctx.vars.b = 1
  end, next = "z" })
  made:finish "z"
  return made
end

--- Two stores of one kind, the same workflow in both, and one that waits in
--- the first.
local function two(backend)
  local ran = { a = 0, b = 0 }
  local here, clock = backend.fresh()
  local there = backend.fresh { clock = clock }
  assert(here:load(flow(ran)))
  assert(there:load(flow(ran)))
  local id = assert(here:start("t.carry", { n = 7 }, { key = "k" }))
  assert(here:run())
  return here, there, id, ran
end

kit.describe("what is moved to another store", function(backend)
  it("goes on there, once, and stands still here", function()
    local here, there, id, ran = two(backend)
    local lines = assert(here:export(id, { move = true, by = "ann" }))
    local fenced = assert(here:get(id))
    assert.equal("suspended", fenced.status)
    assert.equal("ann", fenced.away.by)
    assert.matches("carried to another store .* by ann",
      table.concat(explain.sentences(
        assert(here:explain(id))), " "))
    local told = assert(here:explain(id))
    assert.same({ what = "reclaim" }, told.tokens[1].would_move[1])
    local said = explain.sentences(told)
    assert.matches("It stands at .*: it stands still until `pawl reclaim` "
      .. "takes the instance back%.", table.concat(said, " "))
    assert.is_nil(table.concat(said, " "):find("moves it to", 1, true))
    local row = kit.last(here, id)
    assert.equal("carried", row.type)
    assert.equal("ann", row.by)
    assert.same({ id }, assert(there:import(lines, { by = "bob" })).imported)
    assert(there:run())
    local came = assert(there:get(id))
    assert.equal("waiting", came.status)
    assert.is_nil(came.away)
    row = kit.last(there, id)
    assert.equal("arrived", row.type)
    assert.equal("bob", row.by)

    assert(here:signal { name = "go", instance = id })
    assert(here:run())
    assert.equal(0, ran.b)
    assert(there:signal { name = "go", instance = id })
    assert(there:run())
    assert.completed(there, id)
    assert.same({ a = 1, b = 1 }, ran)
    assert.equal("suspended", kit.status(here, id))
  end)

  it("refuses here whatever would change it", function()
    local here, _, id = two(backend)
    assert(here:export(id, { move = true }))
    for verb, options in pairs { resume = {}, suspend = {}, cancel = {},
      edit = { set = { x = 1 } }, wake = {}, retry = {},
      restart = { from = "a" }, move = { to = "b" },
      delete = { cancel = true } } do
      local ok, err = here[verb](here, id, options)
      assert.is_nil(ok, verb)
      assert.equal("conflict", err.code, verb)
    end
    assert(here:note(id, { text = "it is in the new store" }))
    local commits = here:get(id).commits
    assert(here:run())
    assert.equal(commits, here:get(id).commits)
  end)

  it("is the same text when it is asked for again", function()
    local here, there, id = two(backend)
    local first = assert(here:export(id, { move = true }))
    local again = assert(here:export(id, { move = true }))
    local function bare(text) return (text:gsub('"at":"[^"]*"', "")) end
    assert.equal(bare(first), bare(again))
    assert.same({ id }, assert(there:import(first)).imported)
    assert.same({ id }, assert(there:import(again)).there)
    assert(there:run())
    assert.equal("waiting", kit.status(there, id))
  end)

  it("is taken back when it was not imported", function()
    local here, _, id, ran = two(backend)
    assert(here:export(id, { move = true }))
    assert(here:signal { name = "go", instance = id }) -- lies there meanwhile
    assert(here:run())
    assert(here:reclaim(id, { by = "ann" }))
    assert.is_nil(here:get(id).away)
    assert(here:run())
    assert.completed(here, id)
    assert.same({ a = 1, b = 1 }, ran)
    kit.refused("conflict", "is not away", nil, here:reclaim(id))
  end)

  it("stays suspended there, if it was so before", function()
    local here, there, id = two(backend)
    assert(here:suspend(id))
    local lines = assert(here:export(id, { move = true }))
    assert(there:import(lines))
    assert(there:run())
    assert.equal("suspended", kit.status(there, id))
    assert.is_nil(there:get(id).away)
    assert(there:resume(id))
    assert.equal("waiting", kit.status(there, id))
  end)

  it("may have ended: then it can be tried again there alone", function()
    local here, clock = backend.fresh()
    local there = backend.fresh { clock = clock }
    local broken = kit.one(function() error "no" end, { retry = false })
    assert(here:load(broken))
    assert(there:load(broken))
    local id = assert(here:start "t.one")
    assert(here:run())
    local lines = assert(here:export(id, { move = true }))
    assert.failed(here, id)
    kit.refused("conflict", "carried", nil, here:retry(id))
    assert(there:import(lines))
    assert(there:run())
    assert.is_nil(there:get(id).away)
    assert(there:retry(id))
    assert(there:run())
    assert.failed(there, id)
    assert(here:purge(id)) -- what has arrived need not stay
    assert.is_nil(here:get(id))
  end)

  it("is a copy when the import says so", function()
    local here, there, id, ran = two(backend)
    local lines = assert(here:export(id, { move = true }))
    assert(there:import(lines, { copy = true }))
    assert(there:run())
    assert.equal("suspended", kit.status(there, id))
    assert.is_nil(there:get(id).away)
    assert.equal(0, ran.b)
    kit.refused("invalid", "exclude each other", nil,
      there:import(lines, { copy = true, release = true }))
  end)

  it("leaves what nobody has published to be so from here", function()
    local here, there, id = two(backend)
    local lines = assert(here:export(id, { move = true }))
    assert(there:import(lines))
    assert.equal(1, #assert(here.outbox:list { instance = id }))
    assert.equal(0, #assert(there.outbox:list { instance = id }))
    local n = 0
    local told = assert(here.outbox:relay { publish = function()
      n = n + 1
      return true
    end })
    assert.equal(1, told.published)
    assert.equal(1, n)
  end)

  it("does not come back to where it stands still", function()
    local here, there, id = two(backend)
    assert(there:import(assert(here:export(id, { move = true }))))
    assert(there:run())
    local back = assert(there:export(id, { move = true }))
    kit.refused("conflict", "carried away from this store", "purge it",
      here:import(back))
    assert(here:kill(id))
    assert(here:purge(id, { force = true }))
    assert.same({ id }, assert(here:import(back)).imported)
    assert(here:run())
    assert.equal("waiting", kit.status(here, id))
  end)

  it("goes with its children, parents first", function()
    local here, clock = backend.fresh()
    local there = backend.fresh { clock = clock }
    local parent = pawl.workflow { code = "t.parent", start = "c" }
    parent:call("c", { workflow = "t.kid", into = "got", next = "z" })
    parent:finish "z"
    local kid = pawl.workflow { code = "t.kid", start = "w" }
    kid:wait("w", { event = "go", next = "z" })
    kid:finish("z", { output = function() return 42 end })
    for _, engine in ipairs { here, there } do
      assert(engine:load(parent))
      assert(engine:load(kid))
    end
    local id = assert(here:start "t.parent")
    assert(here:run())
    local child = assert(here:children(id))[1].id
    kit.refused("conflict", "is a child of", "parent", here:carry(child))
    kit.refused("conflict", "has a child that goes on here", "--children",
      here:export(id, { move = true }))
    assert(here:carry(child))
    local lines = assert(here:export(id, { move = true }))
      .. assert(here:export(child, { move = true }))
    assert.same({ id, child }, assert(there:import(lines)).imported)
    assert(there:run())
    assert(there:signal { name = "go", instance = child })
    assert(there:run())
    assert.completed(there, id)
    assert.equal(42, there:get(id).variables.got)
    assert.equal("suspended", kit.status(here, id))
  end)

  it("is asked of who holds it, and waits for him", function()
    local here, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local met
    local made = pawl.workflow { code = "t.carry", start = "a" }
    made:step("a", { run = function(ctx)
      met = select(2, other:export(ctx.id, { move = true }))
    end, next = "w" })
    made:wait("w", { event = "go", next = "z" })
    made:finish "z"
    assert(here:load(made))
    local id = assert(here:start "t.carry")
    assert(here:run())
    assert.equal("busy", met.code)
    assert.matches("held by a worker", met.message)
    assert.equal("suspended", kit.status(here, id)) -- before it went on
    assert(other:export(id, { move = true }))
  end)

  it("is carried away once when that was asked for twice", function()
    local here, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local made = pawl.workflow { code = "t.carry", start = "a" }
    made:step("a", { run = function(ctx)
      for _ = 1, 2 do -- as one who was killed while he waited, and his next
        kit.refused("busy", "held by a worker", nil,
          other:export(ctx.id, { move = true }))
      end
    end, next = "w" })
    made:wait("w", { event = "go", next = "z" })
    made:finish "z"
    assert(here:load(made))
    local id = assert(here:start "t.carry")
    assert(here:run())
    local lines = assert(other:export(id, { move = true }))
    local types = {}
    for i, row in ipairs(assert(here:history(id))) do types[i] = row.type end
    assert.same({ "step", "carried" }, types)
    assert.equal(lines, assert(other:export(id, { move = true })))
  end)

  it("has no task that somebody could still do here", function()
    local here = backend.fresh()
    local made = pawl.workflow { code = "t.ask", start = "t" }
    made:task("t", { title = "T", next = "z" })
    made:finish "z"
    assert(here:load(made))
    local id = assert(here:start "t.ask")
    assert(here:run())
    local task = assert(here.tasks:list { instance = id })[1].id
    assert(here:export(id, { move = true }))
    kit.refused("conflict", "carried to another store", "reclaim",
      here.tasks:complete(task, { by = "ann" }))
    assert.same({}, assert(here.tasks:list()))
    assert.same({}, assert(here.tasks:list { status = "pending" }))
    assert.equal(0, (assert(here.tasks:tally { status = "pending" })))
    assert.equal(task, assert(here.tasks:list { instance = id })[1].id)
    assert(here:reclaim(id))
    assert.equal(1, #assert(here.tasks:list()))
    assert.equal(1, (assert(here.tasks:tally { status = "pending" })))
    assert(here.tasks:complete(task, { by = "ann" }))
  end)

  it("is not counted among those that a signal reaches", function()
    local here = backend.fresh()
    local made = pawl.workflow { code = "t.hear", start = "w" }
    made:wait("w", { event = "go", next = "z",
      key = function() return "k" end })
    made:finish "z"
    assert(here:load(made))
    local id, other = assert(here:start "t.hear"), assert(here:start "t.hear")
    assert(here:run())
    assert(here:export(id, { move = true }))
    assert.equal(1, (here:signal { name = "go", key = "k" }))
    assert(here:run())
    assert.same({ "suspended", "completed" },
      { kit.status(here, id), kit.status(here, other) })
    assert.equal(0, (here:signal { name = "go", key = "k" }))
    assert(here:reclaim(id)) -- what all were told it hears now
    assert(here:run())
    assert.completed(here, id)
  end)

  it("says what can be done with it here", function()
    local here, _, id = two(backend)
    assert(here:export(id, { move = true }))
    for _, verb in ipairs { "delete", "purge", "archive" } do
      kit.refused("conflict", "while it lives; it was carried",
        "kill it, then " .. verb, here[verb](here, id))
    end
    kit.refused("conflict", "while it lives; it was carried", "kill it",
      here:delete(id, { cancel = true, dry_run = true }))
    assert.same({ true, true }, { here:kill(id) })
    assert.same({ true, true }, { here:delete(id) })
    assert.same({ true, true }, { here:purge(id, { force = true }) })
  end)

  it("cannot be masked, nor moved within a transaction", function()
    local here, _, id = two(backend)
    kit.refused("invalid", "masked", "as a copy",
      here:export(id, { move = true, mask = "vars.a" }))
    assert.is_nil(here:get(id).away)
    local ok, why = pcall(here.transaction, here, function()
      assert(here:export(id, { move = true }))
    end)
    assert.is_false(ok)
    assert.matches("a move is two transactions", tostring(why))
    assert.is_nil(here:get(id).away)
  end)
end)
