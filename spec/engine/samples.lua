--- Workflows that several specs of the engine take, and ways to begin with
--- them.
local luassert = require "luassert"
local pawl = require "pawl"

local samples = {}

--- All of `from` in `to`.
function samples.copy(from, to)
  to = to or {}
  for key, value in pairs(from or {}) do to[key] = value end
  return to
end

--- t waits for an hour, then a, then z.
function samples.waiting(code)
  local flow = pawl.workflow { code = code or "t.waiting", start = "t" }
  flow:timer("t", { after = "1h", next = "a" })
  flow:step("a", { next = "z", run = function(ctx)
    ctx.vars.ran = (ctx.vars.ran or 0) + 1
  end })
  flow:finish "z"
  return flow
end

--- Version 1: a, then an hour's t, then b. Version 2 calls t `pause`, and b
--- does more.
function samples.first()
  local flow = pawl.workflow { code = "t.order", version = 1, start = "a" }
  flow:step("a", { next = "t", run = function(ctx) ctx.vars.a = 1 end })
  flow:timer("t", { after = "1h", next = "b" })
  flow:step("b", { next = "z", run = function(ctx) ctx.vars.by = 1 end })
  flow:finish "z"
  return flow
end

function samples.second(name)
  local flow = pawl.workflow { code = "t.order", version = 2, start = "a" }
  flow:step("a", { next = name, run = function(ctx) ctx.vars.a = 2 end })
  flow:timer(name, { after = "1h", next = "b" })
  flow:step("b", { next = "z", run = function(ctx) ctx.vars.by = 2 end })
  flow:finish "z"
  return flow
end

--- A workflow "t.m" of the version whose nodes `build` adds.
function samples.version(n, start, build, options)
  local flow = pawl.workflow(samples.copy(options,
    { code = "t.m", version = n, start = start }))
  build(flow)
  flow:finish "z"
  return flow
end

--- Version 1 runs until it stands; version 2 is there.
function samples.between(backend, one, two, input)
  local engine, clock, url = backend.fresh()
  assert(engine:load(one))
  local id = assert(engine:start("t.m", input or {}))
  assert(engine:run())
  assert(engine:load(two))
  return engine, id, clock, url
end

--- One task, "ask", then the finish "z". `options` are more of the task's.
function samples.asking(options, more)
  local given = samples.copy(options, { title = "Look at it" })
  given.next = given.next or "z"
  local flow = pawl.workflow(samples.copy(more,
    { code = "t.task", start = "ask" }))
  flow:task("ask", given)
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- Leaves rows in every table that has some of an instance.
function samples.rich()
  local flow = pawl.workflow { code = "t.rich", start = "a" }
  flow:step("a", { next = "split", undo = function() end, run = function(ctx)
    ctx.token.data.kept = true
    ctx.attrs.colour = "red"
    ctx.vars.large = ("x"):rep(20000)
    ctx.vars.list = pawl.array { 1, 2, 3 }
    ctx.emit("told", {})
  end })
  flow:fork("split", { next = { "ask", "items" } })
  flow:task("ask", { title = "Yes?", role = "boss", group = "all",
    next = { completed = "meet" } })
  flow:each("items", { items = function(ctx) return ctx.vars.list end,
    branch = "one", into = "got", next = "meet" })
  flow:step("one", { run = function() end, next = "items" })
  flow:join("meet", { expect = "all", next = "hear" })
  flow:wait("hear", { event = "go", next = "z" })
  flow:finish "z"
  return flow
end

--- An instance of it that has ended.
function samples.rich_ended(engine, key)
  local id = assert(engine:start("t.rich", { a = 1 }, { key = key or "k" }))
  assert(engine:signal { name = "other", instance = id })
  assert(engine:run())
  local task = assert(engine.tasks:list { instance = id })[1]
  assert(engine.tasks:complete(task.id, { by = "ann", role = "boss" }))
  assert(engine:run())
  assert(engine:signal { name = "go", instance = id })
  assert(engine:run())
  luassert.equal("completed", assert(engine:get(id)).status)
  return id
end

return samples
