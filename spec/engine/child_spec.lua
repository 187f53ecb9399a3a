-- Children: instances that an instance starts, waits for, and ends with.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local HOUR = 3600

--- c (a call of t.child), z. `after` are further nodes { kind, name, options };
--- `options` more of the workflow's.
local function caller(call, after, options)
  local given = { code = "t.parent", start = "c" }
  for key, value in pairs(options or {}) do given[key] = value end
  local flow = pawl.workflow(given)
  local node = { workflow = "t.child", into = "got", next = "z" }
  for key, value in pairs(call or {}) do node[key] = value end
  flow:call("c", node)
  for _, one in ipairs(after or {}) do flow[one[1]](flow, one[2], one[3]) end
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- a, z; gives what `run` returns.
local function child(run, options)
  local given = { retry = { max = 1 }, next = "z" }
  for key, value in pairs(options or {}) do given[key] = value end
  local flow = pawl.workflow { code = "t.child", start = "a" }
  given.run = function(ctx) ctx.vars.out = run and run(ctx) end
  flow:step("a", given)
  flow:finish("z", { output = function(ctx) return ctx.vars.out end })
  return flow
end

--- w, z: waits for "go"; its output is what the event brought.
local function waiting(code)
  local flow = pawl.workflow { code = code or "t.child", start = "w" }
  flow:wait("w", { event = "go", into = "out", next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.out end })
  return flow
end

local function mark(name)
  return { "step", name, { run = function(ctx) ctx.vars.at = name end,
    next = "z" } }
end

local function load(engine, ...)
  for _, flow in ipairs { ... } do assert(engine:load(flow)) end
end

local function begin(engine, input, options)
  local id = assert(engine:start("t.parent", input, options))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

local function children(engine, id)
  return assert(engine:children(id, { limit = 100 }))
end

local function only_child(engine, id)
  local list = children(engine, id)
  assert.equal(1, #list)
  return get(engine, list[1].id)
end

local function go(engine, id, data)
  assert.equal(1,
    assert(engine:signal { name = "go", instance = id, data = data }))
end

local function entries(engine, id, match)
  local found = {}
  for _, entry in ipairs(assert(engine:history(id))) do
    local same = true
    for key, value in pairs(match) do same = same and entry[key] == value end
    if same then found[#found + 1] = entry end
  end
  return found
end

local function code_of(err) return err.raised or err.code end

--- Nothing is left to be handed over, or lies where nobody reads it.
local function tidy(backend, url)
  assert.equal(0, kit.count(backend, url, "message"))
  assert.equal(0, kit.count(backend, url, "inbox", "not taken"))
end

--- Puts a message back, as it is when its deliverer died before deleting it.
local function again(backend, url, from, kind, target, data)
  assert(probe.sql(url, ([[insert into %s
    (shard, instance, seq, kind, target, data, created_at)
    values (0, %s, 1000, '%s', %s, '%s', %s)]]):format(
    kit.table(backend, "message"), kit.id_literal(backend, from), kind,
    kit.id_literal(backend, target), pawl.json.encode(data),
    backend.name == "postgres" and "now()" or "0")))
end

kit.describe("a call", function(backend)
  it("starts a child with its input, and takes its output", function()
    local engine, _, url = backend.fresh()
    local seen
    load(engine, child(function(ctx)
      seen = ctx.input
      return { sum = ctx.input.a + ctx.input.b }
    end), caller { input = { a = 1, b = 2 } })
    local id = begin(engine)
    local parent = get(engine, id)
    assert.equal("completed", parent.status)
    assert.same({ a = 1, b = 2 }, seen)
    assert.same({ got = { sum = 3 } }, parent.output)
    local record = entries(engine, id, { type = "child" })[1]
    assert.same({ "c", { sum = 3 } }, { record.node, record.output })
    tidy(backend, url)
  end)

  it("takes the output that another branch gave before the last one", function()
    local engine, rival = kit.pair(backend, {})
    local flow = pawl.workflow { code = "t.child", start = "f" }
    flow:fork("f", { next = { "a", "w" } })
    flow:step("a", { run = function() end, next = "said" })
    flow:wait("w", { event = "go", next = "silent" })
    flow:finish("said", { output = function() return { from = "a" } end })
    flow:finish("silent", {})
    for _, one in ipairs { engine, rival } do load(one, flow, caller()) end
    local id = begin(engine)
    local kid = children(engine, id)[1].id
    assert(rival:signal { name = "go", instance = kid })
    assert(rival:run())
    assert.same({ from = "a" }, get(engine, kid).output)
    assert.same({ got = { from = "a" } }, get(engine, id).output)
  end)

  it("works its input out when it gets there", function()
    local engine = backend.fresh()
    load(engine, child(function(ctx) return ctx.input end),
      caller { input = function(ctx) return { of = ctx.input.n } end })
    assert.same({ got = { of = 7 } },
      get(engine, begin(engine, { n = 7 })).output)
  end)

  it("records parent, root and the parent's node, down the generations",
    function()
      local engine = backend.fresh()
      local middle = pawl.workflow { code = "t.middle", start = "m" }
      middle:call("m", { workflow = "t.child", next = "z" })
      middle:finish "z"
      load(engine, waiting(), middle, caller { workflow = "t.middle" })
      local id = begin(engine)
      assert.equal("waiting", kit.status(engine, id))
      local below = only_child(engine, id)
      local last = only_child(engine, below.id)
      assert.is_nil(get(engine, id).parent)
      assert.same({ id, id, "c" },
        { below.parent, below.root, below.parent_node })
      assert.same({ below.id, id, "m" },
        { last.parent, last.root, last.parent_node })
      assert.is_nil(last.parent_index)
      assert.equal(2, #assert(engine:list { root = id }))
      assert.equal(1, #assert(engine:list { parent = below.id }))
      go(engine, last.id)
      assert(engine:run())
      for _, one in ipairs { id, below.id, last.id } do
        assert.completed(engine, one)
      end
    end)

  it("hands tenant and group on", function()
    local engine = backend.fresh()
    load(engine, waiting(), caller())
    local id = begin(engine, nil, { tenant = "acme" })
    assert.equal("acme", only_child(engine, id).tenant)
  end)

  it("may ask for a version", function()
    local engine = backend.fresh()
    for version = 1, 2 do
      local flow = pawl.workflow { code = "t.child", version = version,
        start = "z" }
      flow:finish("z", { output = function(ctx) return ctx.version end })
      load(engine, flow)
    end
    load(engine, caller { version = 1 })
    assert.same({ got = 1 }, get(engine, begin(engine)).output)
  end)

  it("starts another child each time it comes, and takes that one's result",
    function()
      local engine = backend.fresh()
      load(engine, child(function(ctx) return ctx.input.n end),
        caller({ input = function(ctx) return { n = ctx.vars.n or 0 } end,
          next = "s" }, { { "step", "s", { run = function(ctx)
          ctx.vars.all = ctx.vars.all or pawl.array {}
          table.insert(ctx.vars.all, ctx.vars.got)
          ctx.vars.n = (ctx.vars.n or 0) + 1
          return ctx.vars.n < 3 and "again" or "enough"
        end, next = { again = "c", enough = "z" } } } }))
      local id = begin(engine)
      assert.same({ 0, 1, 2 }, get(engine, id).output.all)
      assert.equal(3, #children(engine, id))
    end)

  it("waits in several branches for a child each", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.parent", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    for _, name in ipairs { "a", "b" } do
      flow:call(name, { workflow = "t.child", into = name,
        input = { name = name }, next = "j" })
    end
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    load(engine, waiting(), flow)
    local id = begin(engine)
    assert.equal(2, #children(engine, id))
    for _, one in ipairs(children(engine, id)) do
      local it = get(engine, one.id)
      go(engine, it.id, "from " .. it.input.name)
      assert(engine:run())
    end
    assert.same({ a = "from a", b = "from b" }, get(engine, id).output)
  end)

  it("runs its children wherever there is room, on three shards", function()
    local engine, _, url = backend.fresh { shards = 3 }
    load(engine, child(function(ctx) return ctx.input.n end),
      caller { input = function(ctx) return { n = ctx.input.n } end })
    local ids = {}
    for n = 1, 30 do
      ids[n] = assert(engine:start("t.parent", { n = n }))
    end
    assert(engine:run())
    local crossed = 0
    for n = 1, 30 do
      assert.same({ got = n }, get(engine, ids[n]).output)
      if kit.shard(ids[n], 3) ~= kit.shard(only_child(engine, ids[n]).id, 3)
      then
        crossed = crossed + 1
      end
    end
    assert(crossed > 0)
    tidy(backend, url)
  end)
end)

kit.describe("a child that fails", function(backend)
  local function broken() error { code = "broken", message = "no luck" } end

  it("fails the node with the child's own code", function()
    local engine = backend.fresh()
    load(engine, child(broken), caller())
    local id = begin(engine)
    local failed = get(engine, id)
    assert.equal("failed", failed.status)
    assert.equal("broken", code_of(failed.error))
    assert.matches("no luck", failed.error.message)
    assert.equal(1, #children(engine, id))
  end)

  it("has the code child_failed when it gave none", function()
    local engine = backend.fresh()
    load(engine, child(function() error "just so" end), caller())
    assert.equal("child_failed",
      code_of(get(engine, begin(engine)).error))
  end)

  it("leads where on_error or the transition says", function()
    local engine = backend.fresh()
    load(engine, child(broken),
      caller({ on_error = { broken = "mend" } }, { mark "mend" }))
    assert.same({ at = "mend" }, get(engine, begin(engine)).output)
    load(engine, caller({ next = { completed = "z", failed = "mend" } },
      { mark "mend" }, { version = 2 }))
    local id = begin(engine)
    assert.same({ at = "mend" }, get(engine, id).output)
    assert.equal("broken",
      code_of(entries(engine, id, { type = "child" })[1].error))
    assert.is_nil(get(engine, id).error)
  end)

  it("is tried again as a new child, by the call's policy", function()
    local engine, clock = backend.fresh()
    local runs = 0
    load(engine, child(function()
      runs = runs + 1
      if runs < 3 then broken() end
      return runs
    end), caller { retry = { max = 3, base = 10, jitter = 0 } })
    local id = begin(engine)
    for _ = 1, 2 do
      assert.equal("running", kit.status(engine, id))
      clock:advance(60)
      assert(engine:run())
    end
    assert.same({ got = 3 }, get(engine, id).output)
    assert.equal(3, #children(engine, id))
    assert.equal(2, #entries(engine, id, { type = "failed" }))
  end)

  it("that is cancelled in its last step has not completed", function()
    local engine, rival, _, url
    engine, rival, _, url = kit.pair(backend, { child(function(ctx)
      assert(rival:cancel(ctx.id, "enough"))
      return "done"
    end), caller({ next = { completed = "z", cancelled = "mend" } },
      { mark "mend" }) })
    local id = begin(engine)
    assert(engine:run())
    assert.equal("cancelled", only_child(engine, id).status)
    assert.same({ at = "mend" }, get(engine, id).output)
    tidy(backend, url)
  end)

  it("that was cancelled has the code child_cancelled, or its transition",
    function()
      local engine = backend.fresh()
      load(engine, waiting(), caller())
      local id = begin(engine)
      assert(engine:cancel(only_child(engine, id).id, "enough"))
      assert(engine:run())
      assert.equal("child_cancelled", code_of(get(engine, id).error))
      load(engine, caller({ next = { completed = "z", cancelled = "mend" } },
        { mark "mend" }, { version = 2 }))
      id = begin(engine)
      assert(engine:kill(only_child(engine, id).id))
      assert(engine:run())
      assert.same({ at = "mend" }, get(engine, id).output)
    end)

  it("could not be started: its workflow is unknown", function()
    local engine, _, url = backend.fresh { unknown = "fail" }
    load(engine, caller({ workflow = "t.nobody",
      next = { completed = "z", failed = "mend" } }, { mark "mend" }))
    local id = begin(engine)
    assert.same({ at = "mend" }, get(engine, id).output)
    load(engine, caller({ workflow = "t.nobody" }, {}, { version = 2 }))
    id = begin(engine)
    assert.failed(engine, id)
    assert.matches("t.nobody", get(engine, id).error.message)
    tidy(backend, url)
  end)

  it("could not be started: its version is unknown", function()
    local engine = backend.fresh()
    load(engine, waiting(), caller { version = 9 })
    local id = begin(engine)
    assert.failed(engine, id)
    assert.matches("9", get(engine, id).error.message)
  end)

  it("takes too long: the call goes on, the child is cancelled, and what it "
    .. "says later is ignored", function()
      local engine, clock, url = backend.fresh()
      load(engine, waiting(), caller({ timeout = "2h",
        next = { completed = "z", timeout = "late" } }, {
        { "wait", "late", { event = "go", next = "z" } } }))
      local id = begin(engine)
      clock:advance(2 * HOUR + 1)
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      assert.equal("late", get(engine, id).tokens[1].node)
      assert.equal("cancelled", only_child(engine, id).status)
      go(engine, id)
      assert(engine:run())
      assert.same({}, get(engine, id).output)
      tidy(backend, url)
    end)
end)

kit.describe("a parent's end", function(backend)
  it("cancels its children and theirs", function()
    local engine, _, url = backend.fresh()
    local middle = pawl.workflow { code = "t.middle", start = "m" }
    middle:call("m", { workflow = "t.child", next = "z" })
    middle:finish "z"
    load(engine, waiting(), middle, caller { workflow = "t.middle" })
    local id = begin(engine)
    local below = only_child(engine, id)
    local last = only_child(engine, below.id)
    assert(engine:cancel(id, { reason = "enough", by = "me" }))
    assert(engine:run())
    for _, one in ipairs { id, below.id, last.id } do
      assert.equal("cancelled", kit.status(engine, one))
    end
    assert.equal("system", get(engine, last.id).cancellation.source)
    tidy(backend, url)
  end)

  for name, how in pairs {
    ["a call's"] = {},
    ["a started one's"] = { start = true },
    ["an each's"] = { each = true },
  } do
    it("tells " .. name .. " child who wanted it, and why, and how",
      function()
        local undo = {}
        local kid = pawl.workflow { code = "t.child", start = "s" }
        kid:step("s", { run = function() end, next = "w",
          undo = function(ctx) undo[#undo + 1] = ctx.id end })
        kid:wait("w", { event = "go", next = "z" })
        kid:finish "z"
        local flow = pawl.workflow { code = "t.parent", start = "c" }
        if how.start then
          flow:step("c", { next = "w", run = function(ctx)
            ctx.start("t.child", nil, { parent_end = "cancel" })
          end })
        elseif how.each then
          flow:each("c", { items = function() return { 1 } end,
            workflow = "t.child", next = "w" })
        else
          flow:call("c", { workflow = "t.child", next = "w" })
        end
        flow:wait("w", { event = "never", next = "z" })
        flow:finish "z"
        local engine, _, url = backend.fresh()
        load(engine, kid, flow)
        for _, compensate in ipairs { 1, false, true } do
          local id = begin(engine)
          local options = { reason = "enough", by = "ann", event_id = "e7" }
          if compensate ~= 1 then options.compensate = compensate end
          assert(engine:cancel(id, options))
          assert(engine:run())
          local below = only_child(engine, id)
          local why = get(engine, below.id).cancellation
          assert.equal("cancelled", below.status)
          assert.same({ "enough", "ann", "system", "e7" },
            { why.reason, why.by, why.source, why.event_id })
          assert.is_nil(why.killed)
          assert.equal(compensate and below.id or nil, undo[#undo])
          undo = {}
        end
        local id = begin(engine)
        assert(engine:kill(id, { reason = "now", by = "bob" }))
        assert(engine:run())
        local below = only_child(engine, id)
        local why = get(engine, below.id).cancellation
        assert.equal("cancelled", below.status)
        assert.same({ "now", "bob", true }, { why.reason, why.by, why.killed })
        assert.same({}, undo, "a kill undoes nothing")
        assert.equal("killed", entries(engine, below.id,
          { type = "killed" })[1].type)
        tidy(backend, url)
      end)
  end

  it("leaves those that are to be left when it is killed", function()
    local engine = backend.fresh()
    load(engine, waiting(), caller { parent_end = "leave" })
    local id = begin(engine)
    assert(engine:kill(id, { reason = "now" }))
    assert(engine:run())
    assert.equal("waiting", only_child(engine, id).status)
  end)

  it("kills a child that is suspended, or being undone", function()
    local engine, clock, url = backend.fresh()
    local kid = pawl.workflow { code = "t.child", start = "s" }
    kid:step("s", { run = function() end, next = "w",
      retry = { max = 9, base = 600, jitter = 0 },
      undo = function() error "not yet" end })
    kid:wait("w", { event = "go", next = "z" })
    kid:finish "z"
    load(engine, kid, caller())
    for _, before in ipairs { "suspend", "cancel" } do
      local id = begin(engine)
      local below = only_child(engine, id)
      assert(engine[before](engine, below.id))
      assert(engine:run())
      assert.is_not.equal("cancelled", kit.status(engine, below.id))
      assert(engine:kill(id, { by = "bob" }))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, below.id))
      assert.is_true(get(engine, below.id).cancellation.killed)
    end
    clock:advance(HOUR)
    tidy(backend, url)
  end)

  it("begins for all of its children when its undoing begins", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.parent", start = "s" }
    flow:step("s", { next = "c", retry = { max = 2, base = 60, jitter = 0 },
      run = function(ctx)
        ctx.start("t.child", nil, { parent_end = "cancel" })
      end,
      undo = function(ctx) if ctx.attempt == 1 then error "later" end end })
    flow:call("c", { workflow = "t.child", next = "z" })
    flow:finish "z"
    load(engine, waiting(), flow)
    local id = begin(engine)
    assert.equal(2, #children(engine, id))
    assert(engine:cancel(id, { reason = "enough", by = "ann" }))
    assert(engine:run())
    assert.equal("running", kit.status(engine, id))
    for _, below in ipairs(children(engine, id)) do
      assert.equal("cancelled", below.status)
      assert.equal("ann", get(engine, below.id).cancellation.by)
    end
    clock:advance(60)
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("is told to a child that is being undone without a complaint",
    function()
      local engine, clock = backend.fresh()
      local kid = pawl.workflow { code = "t.child", start = "s" }
      kid:step("s", { run = function() end, next = "w",
        retry = { max = 2, base = 600, jitter = 0 },
        undo = function(ctx) if ctx.attempt == 1 then error "later" end end })
      kid:wait("w", { event = "go", next = "z" })
      kid:finish "z"
      local flow = pawl.workflow { code = "t.parent", start = "s" }
      flow:step("s", { run = function() end, undo = function() end,
        next = "c" })
      flow:call("c", { workflow = "t.child", next = "z" })
      flow:finish "z"
      load(engine, kid, flow)
      local id = begin(engine)
      assert(engine:cancel(id))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      local below = only_child(engine, id)
      assert.equal("running", below.status)
      clock:advance(600)
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, below.id))
      assert.same({}, entries(engine, below.id, { type = "refused" }))
    end)

  it("by kill reaches them too", function()
    local engine, _, url = backend.fresh()
    local middle = pawl.workflow { code = "t.middle", start = "m" }
    middle:call("m", { workflow = "t.child", next = "z" })
    middle:finish "z"
    load(engine, waiting(), middle, caller { workflow = "t.middle" })
    local id = begin(engine)
    local below = only_child(engine, id)
    local last = only_child(engine, below.id)
    assert(engine:kill(id, { reason = "now" }))
    assert(engine:run())
    for _, one in ipairs { id, below.id, last.id } do
      assert.equal("cancelled", kit.status(engine, one))
    end
    tidy(backend, url)
  end)

  it("by failure or by a terminating finish cancels them", function()
    local engine = backend.fresh()
    load(engine, waiting())
    for i, stop in ipairs { { status = "failed" }, { terminate = true } } do
      local flow = pawl.workflow { code = "t.parent", version = i,
        start = "f" }
      flow:fork("f", { next = { "c", "w" } })
      flow:call("c", { workflow = "t.child", next = "z" })
      flow:wait("w", { event = "go", next = "stop" })
      flow:finish("stop", stop)
      flow:finish "z"
      load(engine, flow)
      local id = begin(engine)
      go(engine, id)
      assert(engine:run())
      assert.equal(i == 1 and "failed" or "completed", kit.status(engine, id))
      assert.equal("cancelled", only_child(engine, id).status)
    end
  end)

  it("leaves children that are to be left, whose results find nobody",
    function()
      local engine, _, url = backend.fresh()
      load(engine, waiting(), caller { parent_end = "leave" })
      local id = begin(engine)
      assert(engine:cancel(id, "enough"))
      assert(engine:run())
      local left = only_child(engine, id)
      assert.equal("waiting", left.status)
      local before = pawl.json.encode(assert(engine:history(id)))
      go(engine, left.id, 7)
      assert(engine:run())
      assert.completed(engine, left.id)
      assert.equal("cancelled", kit.status(engine, id))
      assert.equal(before, pawl.json.encode(assert(engine:history(id))))
      tidy(backend, url)
      assert.is_nil(kit.agenda(kit.store(url), id))
    end)

  it("reaches a child while its handler runs: it takes no further step",
    function()
      local engine, rival, clock, url, id
      local later = 0
      local flow = pawl.workflow { code = "t.child", start = "a" }
      flow:step("a", { run = function()
        assert(rival:cancel(id, "enough"))
        assert(rival:run())
        assert.equal("cancelled", kit.status(rival, id))
      end, next = "b" })
      flow:step("b", { run = function() later = later + 1 end, next = "z" })
      flow:finish "z"
      engine, rival, clock, url = kit.pair(backend, { flow, caller() })
      assert.truthy(clock)
      id = assert(engine:start "t.parent")
      assert(engine:run())
      assert(rival:run())
      assert.equal(0, later)
      assert.equal("cancelled", only_child(engine, id).status)
      tidy(backend, url)
    end)
end)

kit.describe("a child's result", function(backend)
  it("is not lost when it comes while the parent is leased", function()
    local engine, rival, clock, url, id
    local flow = pawl.workflow { code = "t.parent", start = "f" }
    flow:fork("f", { next = { "c", "w" } })
    flow:call("c", { workflow = "t.child", into = "got", next = "j" })
    flow:wait("w", { event = "go", next = "s" })
    flow:step("s", { run = function(ctx)
      ctx.vars.s = true
      go(rival, only_child(rival, id).id, 42)
      assert(rival:run())
      assert.equal("completed", only_child(rival, id).status)
    end, next = "j" })
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    engine, rival, clock, url = kit.pair(backend, { waiting(), flow })
    assert.truthy(clock)
    id = begin(engine)
    go(engine, id)
    assert(engine:run())
    assert.same({ got = 42, s = true }, get(engine, id).output)
    assert.equal(1, #entries(engine, id, { type = "child" }))
    tidy(backend, url)
  end)

  it("is taken once though it is delivered twice", function()
    local engine, rival, clock, url = kit.pair(backend, { waiting(),
      caller({ next = "w" }, { { "wait", "w", { event = "on", next = "c2" } },
        { "call", "c2", { workflow = "t.child", into = "got2",
          next = "z" } } }) })
    local id = begin(engine)
    local first = only_child(engine, id)
    go(engine, first.id, "first")
    assert(engine:run())
    assert.equal("w", get(engine, id).tokens[1].node)
    local result = { child = first.id, status = "completed", token = 1,
      visit = 1, output = "again" }
    again(backend, url, first.id, "result", id, result)
    assert(rival:run())
    assert.equal(0, kit.count(backend, url, "message"))
    assert.equal("w", get(engine, id).tokens[1].node)
    -- and again, now that it waits for another child
    assert(engine:signal { name = "on", instance = id })
    assert(engine:run())
    assert.equal(2, #children(engine, id))
    again(backend, url, first.id, "result", id, result)
    assert(kit.rival(backend, url, clock):run())
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    for _, one in ipairs(children(engine, id)) do
      if one.status == "waiting" then go(engine, one.id, "second") end
    end
    assert(engine:run())
    assert.same({ got = "first", got2 = "second" }, get(engine, id).output)
    assert.equal(2, #entries(engine, id, { type = "child" }))
    tidy(backend, url)
  end)

  it("of an earlier attempt does not end the present one", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.child", start = "w" }
    flow:wait("w", { event = "go", into = "out", next = "c" })
    flow:choice("c", { choose = function(ctx)
      return ctx.vars.out == "bad" and "no" or "yes"
    end, next = { yes = "z", no = "bad" } })
    flow:finish("bad", { status = "failed" })
    flow:finish("z", { output = function(ctx) return ctx.vars.out end })
    load(engine, flow, caller { retry = { max = 2, base = 1, jitter = 0 } })
    local id = begin(engine)
    local first = only_child(engine, id)
    go(engine, first.id, "bad")
    assert(engine:run())
    clock:advance(10)
    assert(engine:run())
    local second
    for _, one in ipairs(children(engine, id)) do
      if one.id ~= first.id then second = one.id end
    end
    assert.truthy(second)
    again(backend, url, first.id, "result", id, { child = first.id,
      status = "failed", token = 1, visit = 1,
      error = { code = "bad", message = "again" } })
    assert(kit.rival(backend, url, clock):run())
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(1, #entries(engine, id, { type = "failed" }))
    go(engine, second, "new")
    assert(engine:run())
    assert.same({ got = "new" }, get(engine, id).output)
  end)

  it("of an earlier visit is nothing to an `each` that has come again",
    function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.parent", start = "e" }
      flow:each("e", { workflow = "t.child", items = function()
        return pawl.array { {}, {} }
      end, into = "got", timeout = "1h", parent_end = "leave",
        on_error = { timeout = "e" }, next = "z" })
      flow:finish("z", { output = function(ctx) return ctx.vars.got end })
      load(engine, waiting(), flow)
      local id = begin(engine)
      local late, seen = children(engine, id), {}
      for _, one in ipairs(late) do seen[one.id] = true end
      clock:advance "61m"
      assert(engine:run())
      assert.equal(4, #children(engine, id))
      for _, one in ipairs(late) do go(engine, one.id, "late") end
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      for _, one in ipairs(children(engine, id)) do
        if not seen[one.id] then go(engine, one.id, "present") end
      end
      assert(engine:run())
      assert.same({ "present", "present" }, get(engine, id).output)
    end)

  it("reaches a parent that was suspended, once it is resumed", function()
    local engine = backend.fresh()
    load(engine, waiting(), caller())
    local id = begin(engine)
    assert(engine:suspend(id))
    assert(engine:run())
    go(engine, only_child(engine, id).id, 5)
    assert(engine:run())
    assert.equal("completed", only_child(engine, id).status)
    assert.equal("suspended", kit.status(engine, id))
    assert(engine:resume(id))
    assert(engine:run())
    assert.same({ got = 5 }, get(engine, id).output)
  end)
end)

kit.describe("a start that is handed over twice", function(backend)
  it("makes one child, also when that has ended meanwhile", function()
    local engine, _, clock, url = kit.pair(backend, { child(), caller() })
    local id = begin(engine)
    local it = only_child(engine, id)
    assert.equal("completed", it.status)
    again(backend, url, id, "start", it.id, { workflow = "t.child",
      input = {}, options = {}, track = true, parent_end = "cancel", seq = 1,
      token = 1, visit = 1, node = "c" })
    local third = kit.rival(backend, url, clock)
    load(third, child(), caller())
    assert(third:run())
    assert.equal(1, #children(engine, id))
    assert.equal(2, kit.count(backend, url, "instance"))
    assert.equal(1, #entries(engine, it.id, { type = "step" }))
    tidy(backend, url)
  end)
end)

kit.describe("ctx.start", function(backend)
  local function starter(run, options)
    local flow = pawl.workflow { code = "t.parent", start = "a" }
    local given = { run = run, next = "w" }
    for key, value in pairs(options or {}) do given[key] = value end
    flow:step("a", given)
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    return flow
  end

  it("starts a child that is known by the id it gave", function()
    local engine, _, url = backend.fresh()
    local given
    load(engine, child(function(ctx) return ctx.input.n end),
      starter(function(ctx)
        given = ctx.start("t.child", { n = 3 }, { business_key = "b7" })
      end))
    local id = begin(engine)
    local it = only_child(engine, id)
    assert.same({ given, "completed", 3, "b7", id, id, "a" }, { it.id,
      it.status, it.output, it.business_key, it.parent, it.root,
      it.parent_node })
    assert.equal("waiting", kit.status(engine, id)) -- nobody waits for it
    tidy(backend, url)
  end)

  it("starts as many as it is asked to, in order", function()
    local engine = backend.fresh()
    local given, order = {}, {}
    load(engine, child(function(ctx) order[#order + 1] = ctx.input.n end),
      starter(function(ctx)
        for n = 1, 3 do given[n] = ctx.start("t.child", { n = n }) end
      end))
    local id = begin(engine)
    assert.equal(3, #children(engine, id))
    table.sort(order)
    assert.same({ 1, 2, 3 }, order)
    for n = 1, 3 do
      assert.equal(n, get(engine, given[n]).input.n)
    end
  end)

  it("starts nothing when its step fails, and once when that is repeated",
    function()
      local engine, clock, url = backend.fresh()
      local runs, given = 0, {}
      load(engine, child(), starter(function(ctx)
        runs = runs + 1
        given[runs] = ctx.start "t.child"
        if runs == 1 then error "not yet" end
      end, { retry = { max = 2, base = 10, jitter = 0 } }))
      local id = begin(engine)
      assert.same({}, children(engine, id))
      assert.equal(0, kit.count(backend, url, "message"))
      clock:advance(60)
      assert(engine:run())
      assert.equal(given[2], only_child(engine, id).id)
      assert.equal(2, kit.count(backend, url, "instance"))
    end)

  it("starts nothing for a worker that was overtaken", function()
    local engine, rival, clock
    local runs, given = 0, {}
    local flow = starter(function(ctx)
      runs = runs + 1
      local mine = runs
      given[mine] = ctx.start "t.child"
      if mine == 1 then
        clock:advance(31)
        assert(rival:run())
      end
    end)
    engine, rival, clock = kit.pair(backend, { child(), flow })
    local id = assert(engine:start "t.parent")
    assert.equal(1, assert(engine:run()).lost)
    assert(rival:run())
    assert.equal(given[2], only_child(engine, id).id)
  end)

  it("leaves it when its parent ends, unless it is to be cancelled",
    function()
      local engine, _, url = backend.fresh()
      local given = {}
      load(engine, waiting(), starter(function(ctx)
        given.tracked = ctx.start("t.child", nil, { parent_end = "cancel" })
        given.left = ctx.start "t.child"
        given.own = ctx.start("t.child", nil, { track = false })
      end))
      local id = begin(engine)
      assert.is_nil(get(engine, given.own).parent)
      assert.equal(id, get(engine, given.left).parent)
      assert(engine:cancel(id, "enough"))
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, given.tracked))
      assert.equal("waiting", kit.status(engine, given.left))
      assert.equal("waiting", kit.status(engine, given.own))
      tidy(backend, url)
    end)

  it("does not fail its parent when it is refused", function()
    local engine, _, url = backend.fresh()
    load(engine, starter(function(ctx) ctx.start "t.nobody" end))
    local id = begin(engine)
    assert.equal("waiting", kit.status(engine, id))
    go(engine, id)
    assert(engine:run())
    assert.completed(engine, id)
    tidy(backend, url)
  end)

  it("in two branches of a fork starts one each", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.parent", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    for _, name in ipairs { "a", "b" } do
      flow:step(name, { run = function(ctx)
        ctx.start("t.child", { from = name })
      end, next = "j" })
    end
    flow:join("j", { next = "w" })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    load(engine, waiting(), flow)
    local id = begin(engine)
    local seen = {}
    for _, one in ipairs(children(engine, id)) do
      local it = get(engine, one.id)
      seen[it.input.from] = it.parent_node
    end
    assert.same({ a = "a", b = "b" }, seen)
  end)
end)

kit.describe("children that many engines run", function(backend)
  it("report to their parents across three shards", function()
    local engine, rival, clock, url = kit.pair(backend, {
      child(function(ctx) return ctx.input.n end),
      caller { input = function(ctx) return { n = ctx.input.n } end } },
      { shards = 3 })
    assert.truthy(clock)
    local ids = {}
    for n = 1, 12 do ids[n] = assert(engine:start("t.parent", { n = n })) end
    local turns, left = 0, 12
    while left > 0 do
      turns = turns + 1
      assert(turns < 200)
      assert((turns % 2 == 0 and engine or rival):tick(0))
      left = 0
      for n = 1, 12 do
        if kit.status(engine, ids[n]) ~= "completed" then left = left + 1 end
      end
    end
    for n = 1, 12 do
      assert.same({ got = n }, get(engine, ids[n]).output)
      assert.equal(1, #children(engine, ids[n]))
    end
    tidy(backend, url)
  end)

  it("are a thousand, which end with their parent", function()
    local engine, _, url = backend.fresh { shards = 3 }
    local flow = pawl.workflow { code = "t.parent", start = "a" }
    flow:step("a", { run = function(ctx)
      for _ = 1, 250 do
        ctx.start("t.child", nil, { parent_end = "cancel" })
      end
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 4 and "again" or "on"
    end, next = { again = "a", on = "w" } })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    load(engine, waiting(), flow)
    local id = begin(engine)
    assert.equal(1000, kit.count(backend, url, "instance",
      "status = 'waiting' and parent is not null"))
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    assert.equal(1001, kit.count(backend, url, "instance",
      "status = 'cancelled'"))
    tidy(backend, url)
  end)
end)

kit.describe("children of a group and priority of their own", function(backend)
  --- Notes what it runs, in order.
  local function runs(order)
    return child(function(ctx)
      order[#order + 1] = ctx.input.name or ctx.input.item
    end)
  end

  it("are run by that group, and no other", function()
    local ran = {}
    local engine, clock, url = backend.fresh()
    local gpu = kit.rival(backend, url, clock, { group = "gpu" })
    load(engine, child(), caller({ group = "gpu", priority = 7 }))
    load(gpu, child(function() ran[1] = "gpu" end))
    local id = begin(engine)
    local one = get(engine, children(engine, id)[1].id)
    assert.same({ "gpu", 7, "created" }, { one.group, one.priority,
      one.status })
    assert(gpu:run())
    assert.same({ "gpu" }, ran)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("are asked for by functions, each time anew", function()
    local engine = backend.fresh()
    load(engine, child(), caller({
      group = function(ctx) return ctx.input.group end,
      priority = function(ctx) return ctx.input.priority end }))
    for _, case in ipairs { { { group = "a", priority = -5 }, "a", -5 },
      { {}, "default", 0 }, { { group = "b" }, "b", 0 } } do
      local id = begin(engine, case[1])
      local one = get(engine, children(engine, id)[1].id)
      assert.same({ case[2], case[3] }, { one.group, one.priority })
    end
  end)

  it("fail the node when they cannot be that", function()
    local engine = backend.fresh()
    load(engine, child(), caller({
      group = function(ctx) return ctx.input.group end,
      priority = function(ctx) return ctx.input.priority end }))
    for _, case in ipairs { { group = "" }, { group = 7 }, { group = "a\0" },
      { group = ("x"):rep(256) }, { priority = 1.5 }, { priority = "high" },
      { priority = 32768 } } do
      local id = begin(engine, case)
      local failed = get(engine, id)
      assert.equal("failed", failed.status)
      assert.matches("`%a+` must return", failed.error.message)
      assert.same({}, children(engine, id))
    end
  end)

  it("go with all of an each, also those that begin later", function()
    local order = {}
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.parent" }
    local asked = 0
    flow:each("e", { items = function() return { { item = 1 }, { item = 2 },
      { item = 3 } } end, workflow = "t.child", window = 1, priority = 3,
      group = function()
        asked = asked + 1
        return "gpu"
      end, next = "z" })
    flow:finish "z"
    local gpu = kit.rival(backend, url, clock, { group = "gpu" })
    load(engine, runs(order), flow)
    load(gpu, runs(order))
    local id = begin(engine)
    for _ = 1, 3 do
      assert(gpu:run())
      assert(engine:run())
    end
    assert.completed(engine, id)
    assert.same({ 1, 2, 3 }, order)
    assert.equal(1, asked)
    for _, one in ipairs(children(engine, id)) do
      local it = get(engine, one.id)
      assert.same({ "gpu", 3 }, { it.group, it.priority })
    end
  end)
end)
