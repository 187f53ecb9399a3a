-- Who came first, when several things are found at once.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

--- A fork of m, a wait, and t, a timer of an hour, in that order or the other.
--- Behind each a chain of steps, then an `any` join. What they ran is noted.
local function race(options)
  local flow = pawl.workflow { code = "t.race", start = "f" }
  flow:fork("f", { next = options.first == "t" and { "t", "m" }
    or { "m", "t" } })
  local function chain(name, n)
    for i = 1, n do
      flow:step(name .. i, { next = i == n and "j" or name .. i + 1,
        transactional = options.transactional == name .. i,
        run = function(ctx) ctx.vars.ran = (ctx.vars.ran or "") .. name end })
    end
    return n > 0 and name .. "1" or "j"
  end
  if options.task then
    flow:task("m", { title = "m", next = chain("m", options.m) })
  else
    flow:wait("m", { event = "m", next = chain("m", options.m) })
  end
  flow:timer("t", { after = "1h", next = chain("t", options.t) })
  flow:join("j", { expect = "any", losers = "cancel", next = "d" })
  flow:finish("d", { output = function(ctx) return ctx.vars.ran or "none" end })
  return flow
end

kit.describe("what is found at once, after a time when nobody ran,",
  function(backend)
    --- The instance's output; the message comes after so long.
    local function played(options, message_at)
      local engine, clock, url = backend.fresh()
      local flow = race(options)
      assert(engine:load(flow))
      local id = assert(engine:start "t.race")
      assert(engine:run())
      clock:advance(message_at)
      if options.task then
        local task = assert(engine.tasks:list { instance = id })[1]
        assert(engine.tasks:complete(task.id, { by = "ann" }))
      else
        assert(engine:signal { name = "m", instance = id })
      end
      clock:advance "2h"
      if options.rounds then
        assert(engine:tick(0))
        engine:close()
        engine = kit.rival(backend, url, clock)
        assert(engine:load(flow))
      end
      assert(engine:run())
      assert.completed(engine, id)
      return assert(engine:get(id)).output
    end

    for _, first in ipairs { "m", "t" } do
      for _, case in ipairs { { m = 1, t = 1 }, { m = 1, t = 3 },
        { m = 3, t = 1 }, { m = 2, t = 2, task = true },
        { m = 1, t = 2, transactional = "m1" },
        { m = 2, t = 3, rounds = true } } do
        case.first = first
        local name = ("%d and %d steps, %s drawn first%s%s%s"):format(case.m,
          case.t, first, case.task and ", a task" or "",
          case.transactional and ", transactional" or "",
          case.rounds and ", by two workers" or "")

        it("is decided by the timer that was due before: " .. name, function()
          assert.equal(("t"):rep(case.t), played(case, "61m"))
        end)

        it("is decided by the message that came before: " .. name, function()
          assert.equal(("m"):rep(case.m), played(case, "59m"))
        end)
      end
    end

    it("keeps its order behind an inner join and an inner fork", function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.race", start = "f" }
      local function note(name, next)
        flow:step(name, { next = next, run = function(ctx)
          ctx.vars.ran = (ctx.vars.ran or "") .. name .. " "
        end })
      end
      flow:fork("f", { next = { "m", "g" } })
      flow:wait("m", { event = "m", next = "m1" })
      note("m1", "j")
      flow:fork("g", { next = { "t", "u" } })
      flow:timer("t", { after = "1h", next = "t1" })
      flow:timer("u", { after = "9h", next = "t1" })
      flow:join("i", { expect = "any", losers = "cancel", next = "h" })
      note("t1", "i")
      flow:fork("h", { next = { "x", "y" } })
      note("x", "k")
      note("y", "k")
      flow:join("k", { next = "t2" })
      note("t2", "j")
      flow:join("j", { expect = "any", losers = "cancel", next = "d" })
      flow:finish "d"
      assert(engine:load(flow))
      local id = assert(engine:start "t.race")
      assert(engine:run())
      clock:advance "61m"
      assert(engine:signal { name = "m", instance = id })
      assert(engine:run())
      assert.equal("t1 x y t2 ", assert(engine:get(id)).variables.ran)
    end)
  end)

kit.describe("branches that were set going one after the other",
  function(backend)
    it("all have their turn, though the first never waits", function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.spin", start = "f" }
      local n = 0
      flow:fork("f", { next = { "t", "u" } })
      flow:timer("t", { after = "1h", next = "spin" })
      flow:step("spin", { next = { again = "spin", on = "j" },
        run = function(ctx)
          n = n + 1
          return ctx.vars.u and "on" or "again"
        end })
      flow:timer("u", { after = "2h", next = "s" })
      flow:step("s", { next = "j", run = function(ctx) ctx.vars.u = true end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.spin")
      assert(engine:run())
      clock:advance "3h"
      assert(engine:run())
      assert.completed(engine, id)
      assert.is_true(n > 50 and n < 300, n)
    end)

    it("do not wait for one that is to be tried again later", function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.late", start = "f" }
      flow:fork("f", { next = { "t", "u" } })
      flow:timer("t", { after = "1h", next = "a" })
      flow:step("a", { next = "j", retry = { max = 2, base = 60, jitter = 0 },
        run = function(ctx)
          if not ctx.vars.b then error "not yet" end
        end })
      flow:timer("u", { after = "2h", next = "b" })
      flow:step("b", { next = "j", run = function(ctx) ctx.vars.b = 1 end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.late")
      assert(engine:run())
      clock:advance "3h"
      assert(engine:run())
      assert.equal(1, assert(engine:get(id)).variables.b)
      clock:advance "2m"
      assert(engine:run())
      assert.completed(engine, id)
    end)
  end)

kit.describe("an event that one branch waits for and another may come to",
  function(backend)
    --- When the second comes to it: by an event at 1, a step, and a choice.
    local function both(key)
      local flow = pawl.workflow { code = "t.both", start = "f" }
      flow:fork("f", { next = { "a", "b" } })
      flow:wait("a", { event = "first", next = "s" })
      flow:step("s", { run = function() end, next = "which" })
      flow:choice("which", { next = { w = "w", j = "j" },
        choose = function() return "w" end })
      flow:wait("w", { event = "all", key = key, next = "j" })
      flow:wait("b", { event = "all", key = key, next = "j" })
      flow:join("j", { next = "z" })
      flow:finish "z"
      return flow
    end

    for name, key in pairs { ["to the instance"] = false, ["by its key"] = "k" }
    do
      it(("is for both, sent %s, though both events are found at once"):format(
        name), function()
        local engine, clock = backend.fresh()
        assert(engine:load(both(key and function() return key end or nil)))
        local id = assert(engine:start "t.both")
        assert(engine:run())
        assert(engine:signal { name = "first", instance = id })
        clock:jump(1)
        assert(engine:signal { name = "all", key = key or nil,
          instance = not key and id or nil })
        assert(engine:run())
        assert.completed(engine, id)
      end)
    end
  end)

kit.describe("a letter that waits for what came first", function(backend)
  it("holds up nobody who is to end it, or to stop it", function()
    for verb, status in pairs { cancel = "cancelled", suspend = "suspended" } do
      local engine, clock, url = backend.fresh()
      local rival, id, ran = kit.rival(backend, url, clock), nil, 0
      local flow = pawl.workflow { code = "t.past", start = "f" }
      flow:fork("f", { next = { "a", "b" } })
      flow:wait("a", { event = "go", next = "s1" })
      for i = 1, 4 do
        flow:step("s" .. i, { next = i < 4 and "s" .. i + 1 or "j",
          run = function()
            ran = ran + 1
            if i > 1 then return end
            clock:advance(1)
            assert(rival:signal { name = "note", instance = id })
            assert(rival[verb](rival, id))
          end })
      end
      flow:wait("b", { event = "note", next = "j" })
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      id = assert(engine:start "t.past")
      assert(engine:run())
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      assert.equal(status, assert(engine:get(id)).status)
      assert.equal(1, ran)
    end
  end)
end)

kit.describe("a join that one event brings more to than it expects",
  function(backend)
    it("goes on with as many as it expects, the first of them", function()
      for expect = 1, 3 do
        local engine = backend.fresh()
        local flow = pawl.workflow { code = "t.all", start = "f" }
        flow:fork("f", { next = { "a", "b", "c", "d" } })
        for _, name in ipairs { "a", "b", "c" } do
          flow:wait(name, { event = "go", next = "j" })
        end
        flow:wait("d", { event = "other", next = "j" })
        flow:join("j", { expect = expect, next = "s" })
        flow:step("s", { run = function() end, next = "w" })
        flow:wait("w", { event = "end", next = "z" })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start "t.all")
        assert(engine:run())
        assert(engine:signal { name = "go", instance = id })
        assert(engine:run())
        local came, led, late = {}, nil, 0
        for _, entry in ipairs(assert(engine:history(id))) do
          if entry.type == "received" then came[#came + 1] = entry.seq end
          if entry.type == "step" then led = entry.previous end
          if entry.type == "dropped" then late = late + 1 end
        end
        assert.equal(3, #came)
        assert.same(table.move(came, 1, expect, 1, {}), led)
        assert.equal(3 - expect, late)
      end
    end)
  end)

--- What stands inside of what is interrupted: how it begins there, what goes
--- on with the first and the second of it, at those seconds.
local INSIDE <const> = {
  waits = { branch = function(flow, name, next)
    flow:wait(name, { event = name, next = next })
  end, pass = function(engine, id, name)
    assert(engine:signal { name = name, instance = id })
  end },
  timers = { branch = function(flow, name, next)
    flow:timer(name, { after = name == "a" and 5 or 7, next = next })
  end, pass = function() end },
  tasks = { branch = function(flow, name, next)
    flow:task(name, { title = name, next = next })
  end, pass = function(engine, id, name)
    for _, task in ipairs(assert(engine.tasks:list { instance = id })) do
      if task.node == name then
        assert(engine.tasks:complete(task.id, { by = "ann" }))
      end
    end
  end },
  children = { branch = function(flow, name, next)
    flow:call(name, { workflow = "t.kid", input = function()
      return { of = name }
    end, next = next })
  end, pass = function(engine, id, name)
    for _, kid in ipairs(assert(engine:children(id))) do
      if assert(engine:get(kid.id)).input.of == name then
        assert(engine:signal { name = "go", instance = kid.id })
        assert(engine:run { id = kid.id })
      end
    end
  end },
}

local function kid()
  local flow = pawl.workflow { code = "t.kid", start = "w" }
  flow:wait("w", { event = "go", next = "z" })
  flow:finish "z"
  return flow
end

--- A fork of a and b, at 5 and 7 seconds, with so many steps behind each, or
--- but behind that which is bare; its boundary comes at `options.at`.
local function interrupted_fork(options)
  local flow = pawl.workflow { code = "t.out", start = "f" }
  local beside = { next = "out" }
  if options.by == "event" then
    beside.event = "out"
  else
    beside.after = options.at
  end
  flow:fork("f", { next = { "a", options.nested and "g" or "b" },
    on_event = options.by == "event" and beside or nil,
    on_timer = options.by == "timer" and beside or nil })
  for _, name in ipairs { "a", "b" } do
    local join = options.nested and name == "b" and "i" or "j"
    local steps = name == options.bare and 0 or options.steps
    INSIDE[options.inside].branch(flow, name, steps > 0 and name .. 1 or join)
    for i = 1, steps do
      flow:step(name .. i, { next = i == steps and join
        or name .. i + 1, transactional = options.transactional,
        run = function() end })
    end
  end
  if options.nested then
    flow:fork("g", { next = { "b", "h" } })
    flow:step("h", { run = function() end, next = "i" })
    flow:join("i", { next = "k" })
    flow:step("k", { run = function() end, next = "j" })
  end
  flow:join("j", { next = "z" })
  flow:finish("z", { output = function() return "through" end })
  flow:finish("out", { output = function() return "out" end })
  return flow
end

--- The same with an each of a and b, as items of a branch, or as children.
local function interrupted_each(options)
  local flow = pawl.workflow { code = "t.out", start = "e" }
  local beside = { event = "out", after = options.at, next = "out" }
  beside[options.by == "event" and "after" or "event"] = nil
  flow:each("e", { items = function() return { { of = "a" }, { of = "b" } } end,
    branch = options.inside == "items" and "w" or nil, into = "results",
    workflow = options.inside == "children" and "t.kid" or nil,
    timeout = options.by == "timeout" and options.at or nil,
    on_error = options.by == "timeout" and { timeout = "out" } or nil,
    next = "z",
    on_event = options.by == "event" and beside or nil,
    on_timer = options.by == "timer" and beside or nil })
  if options.inside == "items" then
    flow:wait("w", { event = "item", key = function(ctx)
      return ctx.id .. ctx.token.data.item.of
    end, next = "s" })
    flow:step("s", { run = function() end, next = "e" })
  end
  flow:finish("z", { output = function() return "through" end })
  flow:finish("out", { output = function() return "out" end })
  return flow
end

--- An item that a fork, a join and a step are of.
local function interrupted_item()
  local flow = pawl.workflow { code = "t.item", start = "e" }
  flow:each("e", { items = function() return { 1 } end, branch = "f",
    next = "z", on_event = { event = "out", next = "out" } })
  flow:fork("f", { next = { "s", "w" } })
  flow:step("s", { run = function() end, next = "j" })
  flow:wait("w", { event = "in", next = "b" })
  flow:step("b", { run = function() end, next = "j" })
  flow:join("j", { next = "p" })
  flow:step("p", { run = function() end, next = "e" })
  flow:finish("z", { output = function() return "through" end })
  flow:finish("out", { output = function() return "out" end })
  return flow
end

kit.describe("what interrupts, seen after a time when nobody ran,",
  function(backend)
    local function pass(engine, id, options, name)
      if options.inside == "items" then
        assert(engine:signal { name = "item", key = id .. name })
      else
        INSIDE[options.inside].pass(engine, id, name)
      end
    end

    --- The instance's output. `live`: a worker runs whenever something comes.
    local function played(options, live)
      local engine, clock, url = backend.fresh()
      local flow = (options.each and interrupted_each
        or interrupted_fork)(options)
      local function load()
        assert(engine:load(kid()))
        assert(engine:load(flow))
      end
      load()
      local id = assert(engine:start "t.out")
      assert(engine:run())
      local began = clock:now()
      local events = { { at = 5, name = "a" }, { at = 7, name = "b" },
        { at = options.at, name = "out" } }
      table.sort(events, function(x, y) return x.at < y.at end)
      for _, event in ipairs(events) do
        clock:jump_to(began + event.at)
        if event.name ~= "out" then
          pcall(pass, engine, id, options, event.name) -- as it may
        elseif options.by == "event" then
          engine:signal { name = "out", instance = id } -- it may have ended
        end
        if live then assert(engine:run()) end
      end
      clock:jump_to(began + 60)
      while options.rounds and assert(engine:tick(0)).steps > 0 do
        engine:close()
        engine = kit.rival(backend, url, clock)
        load()
      end
      assert(engine:run())
      assert.completed(engine, id)
      return assert(engine:get(id)).output
    end

    local function goes(options)
      local name = {}
      for key, value in pairs(options) do
        name[#name + 1] = ("%s %s"):format(key, value)
      end
      table.sort(name)
      name = table.concat(name, ", ")
      for at, outcome in pairs { [3] = "out", [6] = "out", [8] = "through" } do
        it(("comes in its turn, at %d: %s"):format(at, name), function()
          options.at = at
          assert.equal(outcome, played(options, true))
          -- what children have done before anybody saw its time is done
          local done = options.inside == "children" and options.each
            and options.by ~= "event"
          assert.equal(done and "through" or outcome, played(options))
        end)
      end
    end

    it("comes behind an item that goes on from a join", function()
      local engine, clock = backend.fresh()
      assert(engine:load(interrupted_item()))
      local id = assert(engine:start "t.item")
      assert(engine:run())
      for _, name in ipairs { "in", "out" } do
        assert(engine:signal { name = name, instance = id })
        clock:jump(1)
      end
      assert(engine:run())
      assert.equal("through", assert(engine:get(id)).output)
    end)

    for _, by in ipairs { "event", "timer" } do
      for inside in pairs(INSIDE) do
        goes { by = by, inside = inside, steps = 0 }
        goes { by = by, inside = inside, steps = 2 }
        goes { by = by, inside = inside, steps = 1, bare = "b" }
      end
      goes { by = by, inside = "waits", steps = 1, nested = true }
      goes { by = by, inside = "timers", steps = 1, nested = true }
      goes { by = by, inside = "waits", steps = 2, transactional = true }
      goes { by = by, inside = "timers", steps = 2, rounds = true }
    end
    for _, by in ipairs { "event", "timer", "timeout" } do
      goes { by = by, inside = "items", each = true }
      goes { by = by, inside = "children", each = true }
    end
  end)

kit.describe("what interrupts a branch that goes round", function(backend)
  --- A step that returns to itself, at once or by way of a condition that holds
  --- or a time that has passed.
  local function looping(by, state)
    local flow = pawl.workflow { code = "t.loop", start = "f" }
    flow:fork("f", { next = { "a", "b" },
      on_event = { event = "out", next = "out" } })
    flow:wait("a", { event = "a", next = "s" })
    flow:step("s", { next = { again = by or "s", on = "j" }, run = function(ctx)
      state.n = (state.n or 0) + 1
      if state.run then state.run(ctx) end
      return state.n < 2000 and "again" or "on"
    end })
    if by == "c" then
      flow:wait("c", { condition = function() return true end, next = "s" })
    elseif by == "t" then
      flow:timer("t", { at = function() return 1 end, next = "s" })
    end
    flow:wait("b", { event = "b", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    flow:finish("out", { output = function() return "out" end })
    return flow
  end

  for _, by in ipairs { false, "c", "t" } do
    it(("does so in ticks that are too short for it%s"):format(by
      and ", by " .. by or ""), function()
      local state = {}
      local engine, clock = backend.fresh()
      assert(engine:load(looping(by, state)))
      local id = assert(engine:start "t.loop")
      assert(engine:run())
      assert(engine:signal { name = "a", instance = id })
      clock:advance(1)
      for _ = 1, 3 do assert(engine:tick(0)) end
      assert(engine:signal { name = "out", instance = id })
      for _ = 1, 10 do -- each gives it back after a step
        assert(engine:tick(0))
        clock:advance(1)
      end
      assert.completed(engine, id)
      assert.equal("out", assert(engine:get(id)).output)
      assert.is_true(state.n < 20, state.n)
    end)
  end

  it("does so behind any number of its steps", function()
    local state = {}
    local engine = backend.fresh()
    function state.run(ctx)
      if state.n == 150 then
        ctx.signal { name = "out", instance = ctx.id }
      end
    end
    assert(engine:load(looping(false, state)))
    local id = assert(engine:start "t.loop")
    assert(engine:run())
    assert(engine:signal { name = "a", instance = id })
    assert(engine:run())
    assert.equal("out", assert(engine:get(id)).output)
    assert.is_true(state.n < 400, state.n)
  end)

  it("does so though an older one goes round beside it", function()
    local state = {}
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.loop", start = "top" }
    flow:fork("top", { next = { "first", "f" } })
    flow:wait("first", { event = "first", next = "s" })
    flow:step("s", { next = { again = "s", on = "k" }, run = function()
      state.n = (state.n or 0) + 1
      return state.n < 2000 and "again" or "on"
    end })
    flow:fork("f", { next = { "a", "b" },
      on_event = { event = "out", next = "out" } })
    flow:wait("a", { event = "a", next = "x" })
    flow:step("x", { run = function() end, next = "j" })
    flow:wait("b", { event = "b", next = "j" })
    flow:join("j", { next = "k" })
    flow:step("out", { run = function(ctx) ctx.vars.out = true end,
      next = "k" })
    flow:join("k", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.loop")
    assert(engine:run())
    for _, name in ipairs { "first", "a", "out" } do
      assert(engine:signal { name = name, instance = id })
      clock:advance(1)
    end
    for _ = 1, 6 do
      assert(engine:tick(0))
      clock:advance(1)
    end
    assert.falsy(kit.trail(engine, id):find "received b")
    assert.truthy(kit.trail(engine, id):find "received f.on_event")
  end)

  it("waits for two hundred others, of which each came before", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.many", start = "e" }
    flow:each("e", { items = function()
      local items = {}
      for i = 1, 200 do items[i] = i end
      return items
    end, branch = "w", window = 200, next = "z",
      on_event = { event = "out", next = "out" } })
    flow:wait("w", { event = "item", key = function(ctx)
      return ("%s %d"):format(ctx.id, ctx.token.data.item)
    end, next = "s" })
    flow:step("s", { run = function() end, next = "e" })
    flow:finish("z", { output = function() return "through" end })
    flow:finish("out", { output = function() return "out" end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.many")
    assert(engine:run())
    for i = 1, 200 do
      clock:advance(1)
      assert(engine:signal { name = "item", key = ("%s %d"):format(id, i) })
    end
    clock:advance(1)
    assert(engine:signal { name = "out", instance = id })
    assert(engine:run())
    assert.equal("through", assert(engine:get(id)).output)
  end)
end)

--- What it comes to, by a worker that is there, or that comes at the end.
--- Events are names by the second in which they come; by none a time only
--- passes.
---@param events { [1]: number, [2]: string? }[]
local function outcome(backend, flow, events, live)
  local engine, clock = backend.fresh()
  assert(engine:load(flow))
  local id = assert(engine:start(flow.code))
  assert(engine:run())
  local began = clock:now()
  for _, event in ipairs(events) do
    if live then
      kit.pass(engine, clock, began + event[1] - clock:now())
    else
      clock:jump_to(began + event[1])
    end
    if event[2] then -- it may have ended
      engine:signal { name = event[2], instance = id }
    end
    if live then assert(engine:run()) end
  end
  assert(engine:run())
  assert.completed(engine, id)
  return assert(engine:get(id)).output
end

--- Both.
local function comes_to(expected, backend, flow, events)
  assert.equal(expected, outcome(backend, flow, events, true))
  assert.equal(expected, outcome(backend, flow, events))
end

--- Two branches: `c` waits for `ctx.vars.set`, for five seconds at most, and
--- "a", which `others` draws and which leads to "j", sees to that.
local function until_set(others)
  local flow = pawl.workflow { code = "t.set", start = "f" }
  flow:fork("f", { next = { "c", "a", "rest" } })
  flow:wait("c", { condition = function(ctx) return ctx.vars.set ~= nil end,
    timeout = 5, next = { met = "met", timeout = "over" } })
  for _, name in ipairs { "met", "over" } do
    flow:step(name, { next = "j", run = function(ctx) ctx.vars.is = name end })
  end
  flow:wait("rest", { event = "rest", next = "j" })
  flow:join("j", { next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.is end })
  others(flow)
  return flow
end

local function set(ctx) ctx.vars.set = 1 end

--- What makes the condition hold, when "go" comes.
local SETS <const> = {
  ["an event"] = function(flow)
    flow:wait("a", { event = "go", into = "set", next = "j" })
  end,
  ["a step"] = function(flow)
    flow:wait("a", { event = "go", next = "s" })
    flow:step("s", { run = set, next = "j" })
  end,
  ["an each"] = function(flow)
    flow:each("a", { items = function() return { 1 } end, branch = "w",
      into = "set", next = "j" })
    flow:wait("w", { event = "go", next = "s" })
    flow:step("s", { run = function() end, next = "a" })
  end,
  ["an each without items, behind a join"] = function(flow)
    flow:fork("a", { next = { "w", "s" } })
    flow:wait("w", { event = "go", next = "k" })
    flow:step("s", { run = function() end, next = "k" })
    flow:join("k", { next = "e" })
    flow:each("e", { items = function() return {} end, branch = "s2",
      into = "set", next = "j" })
    flow:step("s2", { run = function() end, next = "e" })
  end,
  ["an each without items, behind another condition"] = function(flow)
    flow:fork("a", { next = { "w", "d" } })
    flow:wait("w", { event = "go", into = "gone", next = "k" })
    flow:wait("d", { condition = function(ctx)
      return ctx.vars.gone ~= nil
    end, next = "e" })
    flow:each("e", { items = function() return {} end, branch = "s",
      into = "set", next = "k" })
    flow:step("s", { run = function() end, next = "e" })
    flow:join("k", { next = "j" })
  end,
  ["what a node undoes"] = function(flow)
    flow:step("a", { run = function() end, undo = set, next = "w" })
    flow:wait("w", { event = "go", next = "u" })
    flow:undo("u", { next = "j" })
  end,
}

kit.describe("a condition that something makes hold before its timeout",
  function(backend)
    it("is met, when one without handlers has edited, and more came", function()
      local engine, clock, url = backend.fresh()
      local other = kit.rival(backend, url, clock)
      assert(engine:load(until_set(SETS["an event"])))
      local id = assert(engine:start "t.set")
      assert(engine:run())
      clock:jump(3)
      assert(other:edit(id, { set = { set = 1 } }))
      clock:jump(7)
      for _, name in ipairs { "go", "rest" } do
        assert(engine:signal { name = name, instance = id })
      end
      assert(engine:run())
      assert.equal("met", assert(engine:get(id)).output)
      other:close()
    end)

    for name, others in pairs(SETS) do
      it("is met, whenever that is seen: " .. name, function()
        for at, expected in pairs { [3] = "met", [7] = "over" } do
          comes_to(expected, backend, until_set(others),
            { { at, "go" }, { 10, "rest" } })
        end
      end)
    end
  end)

kit.describe("an event that comes behind a join", function(backend)
  it("is for who goes on from that, too, though both are found at once",
    function()
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.behind", start = "f" }
      flow:fork("f", { next = { "g", "w" } })
      flow:fork("g", { next = { "a", "s" } })
      flow:wait("a", { event = "first", next = "i" })
      flow:step("s", { run = function() end, next = "i" })
      flow:join("i", { next = "v" })
      for _, name in ipairs { "v", "w" } do
        flow:wait(name, { event = "all", next = "j" })
      end
      flow:join("j", { next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.behind")
      assert(engine:run())
      for _, name in ipairs { "first", "all" } do
        clock:jump(1)
        assert(engine:signal { name = name, instance = id })
      end
      assert(engine:run())
      assert.completed(engine, id)
    end)
end)

--- `a`, as `others` draw it, and an event; the first of them decides.
local function against_event(others)
  local flow = pawl.workflow { code = "t.first", start = "f" }
  flow:fork("f", { next = { "a", "e" } })
  others(flow)
  flow:step("s", { next = "j", run = function(ctx) ctx.vars.is = "time" end })
  flow:wait("e", { event = "e", next = "j" })
  flow:join("j", { expect = "any", losers = "cancel", next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.is or "event" end })
  return flow
end

--- A time at three seconds, which leads to one at five.
local SECONDS <const> = {
  ["of a task that is overdue first"] = function(flow)
    flow:task("a", { title = "a", due = 3, timeout = 5,
      next = { done = "j", timeout = "s" } })
  end,
  ["that a handler says"] = function(flow)
    flow:step("a", { next = "t", run = function(ctx)
      ctx.vars.at = ctx.now() + 5
    end })
    flow:timer("t", { after = 3, next = "u" })
    flow:timer("u", { at = function(ctx) return ctx.vars.at end, next = "s" })
  end,
}

kit.describe("a time that another has led to, seen late,", function(backend)
  for name, others in pairs(SECONDS) do
    it("is before an event that came behind it: " .. name, function()
      for at, expected in pairs { [4] = "event", [7] = "time" } do
        comes_to(expected, backend, against_event(others),
          { { at, "e" }, { 10 } })
      end
    end)
  end

  it("is not that of a task, which was overdue before", function()
    local flow = pawl.workflow { code = "t.due", start = "t" }
    flow:task("t", { title = "t", due = 3, timeout = 5,
      next = { done = "z", overdue = "o", timeout = "l" } })
    flow:finish "z"
    flow:finish("o", { output = function() return "overdue" end })
    flow:finish("l", { output = function() return "timeout" end })
    comes_to("overdue", backend, flow, { { 10 } })
  end)
end)

--- Outside of all forks: a fork behind a timer of three seconds, one branch of
--- which goes on as it is come to.
local function forks_late()
  local flow = pawl.workflow { code = "t.alone" }
  flow:timer("t", { after = 3, next = "f" })
  flow:fork("f", { next = { "s1", "w" } })
  flow:step("s1", { next = "s2", run = function() end })
  flow:step("s2", { next = "j", run = function(ctx)
    ctx.vars.is = ctx.vars.is or "first"
  end })
  flow:wait("w", { event = "go", next = "s3" })
  flow:step("s3", { next = "j", run = function(ctx)
    ctx.vars.is = ctx.vars.is or "last"
  end })
  flow:join("j", { next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.is end })
  return flow
end

--- The same of a wait with a lane beside it, that waits for a variable.
local function lane_waits()
  local flow = pawl.workflow { code = "t.lane" }
  flow:wait("w", { event = "go", next = "s",
    on_event = { event = "lane", interrupt = false, next = "c" } })
  flow:step("s", { next = "v", run = function(ctx) ctx.vars.set = 1 end })
  flow:wait("v", { event = "rest", next = "z" })
  flow:wait("c", { condition = function(ctx) return ctx.vars.set end,
    timeout = 5, next = { met = "met", timeout = "over" } })
  for _, name in ipairs { "met", "over" } do
    flow:step(name, { next = "e", run = function(ctx) ctx.vars.is = name end })
  end
  flow:finish "e"
  flow:finish("z", { output = function(ctx) return ctx.vars.is end })
  return flow
end

--- A fork that is come to when the event of an each's item lies there, and,
--- since later, that of the other branch.
local function each_late()
  local flow = pawl.workflow { code = "t.items" }
  flow:wait("w", { event = "go", next = "f" })
  flow:fork("f", { next = { "e", "o" } })
  flow:each("e", { items = function() return { 1 } end, branch = "i",
    next = "s1" })
  flow:wait("i", { event = "item", next = "e" })
  flow:wait("o", { event = "out", next = "s2" })
  for i = 1, 2 do
    flow:step("s" .. i, { next = "j", run = function(ctx)
      ctx.vars.is = ctx.vars.is or i
    end })
  end
  flow:join("j", { next = "v" })
  flow:wait("v", { event = "rest", next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.is end })
  return flow
end

kit.describe("what is outside of all forks, seen late,", function(backend)
  it("goes on before what came behind that", function()
    comes_to("first", backend, forks_late(), { { 7, "go" }, { 10 } })
  end)

  it("changes variables when it would have", function()
    for at, expected in pairs { [3] = "met", [7] = "over" } do
      local engine, clock = backend.fresh()
      assert(engine:load(lane_waits()))
      local id = assert(engine:start "t.lane")
      assert(engine:signal { name = "lane", instance = id })
      assert(engine:run())
      for _, event in ipairs { { at, "go" }, { 10 - at, "rest" } } do
        clock:jump(event[1])
        assert(engine:signal { name = event[2], instance = id })
      end
      assert(engine:run())
      assert.equal(expected, assert(engine:get(id)).output)
    end
  end)

  it("takes what lies there by when that came", function()
    comes_to(1, backend, each_late(), { { 1, "item" }, { 2, "out" },
      { 3, "go" }, { 9, "rest" } })
  end)
end)

kit.describe("a lane that an escalation begins", function(backend)
  it("is as early as what led there, whenever that is seen", function()
    for _, is_late in ipairs { false, true } do
      local engine, clock = backend.fresh()
      local flow = pawl.workflow { code = "t.raise" }
      flow:fork("f", { next = { "e", "g" }, on_event = { event = "low",
        interrupt = false, run = function(ctx) ctx.vars.low = true end } })
      flow:wait("e", { event = "e", next = "tell" })
      flow:escalate("tell", { event = "low", next = "j" })
      flow:wait("g", { event = "g", next = "look" })
      flow:step("look", { next = "j", run = function(ctx)
        ctx.vars.saw = ctx.vars.low or false
      end })
      flow:join "j"
      flow:finish("z", { output = function(ctx) return ctx.vars.saw end })
      assert(engine:load(flow))
      local id = assert(engine:start "t.raise")
      assert(engine:run())
      for _, event in ipairs { "e", "g" } do
        clock:advance "1h"
        assert(engine:signal { name = event, instance = id })
        if not is_late then assert(engine:run()) end
      end
      clock:advance "1h"
      assert(engine:run())
      assert.is_true(assert(engine:get(id)).output)
      backend.cleanup()
    end
  end)
end)
