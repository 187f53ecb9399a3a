-- Declared input: refused where it is given, or as an instance begins.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local TYPES = { price = "number >= 0", count = "integer > 0",
  note = "string?" }
local GOOD = { price = 1.5, count = 2 }

local function typed(options, types)
  local flow = pawl.workflow { code = options and options.code or "t.typed",
    input = types or TYPES, trigger = options and options.trigger,
    version = options and options.version }
  flow:step("a", { run = function(ctx) ctx.vars.count = ctx.input.count end })
  flow:finish("z", { output = function(ctx) return ctx.vars.count end })
  return flow
end

kit.describe("a declared input", function(backend)
  it("is refused with its path, before anything is stored", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(typed()))
    for _, wrong in ipairs {
      { { price = 1, count = 0 }, "input.count",
        "input.count: expected integer > 0, found 0" },
      { { count = 1 }, "input.price",
        "input.price: expected number >= 0, found nothing" },
      { { price = 1, count = 1, noet = "x" }, "input",
        'input has no "noet"' },
      { { price = 1, count = {} }, "input.count",
        "input.count: expected integer > 0, found an empty object" },
      { "text", "input", 'input: expected an object, found "text"' },
    } do
      local id, err = engine:start("t.typed", wrong[1])
      assert.is_nil(id)
      assert.equal("value", err.code)
      assert.equal(wrong[2], err.where)
      assert.equal('workflow "t.typed": ' .. wrong[3], err.message)
    end
    assert.equal("value", select(2, engine:start "t.typed").code)
    local ids, err = engine:start_many("t.typed", { { input = GOOD },
      { input = { price = -1, count = 1 } } })
    assert.is_nil(ids)
    assert.equal('item 2: workflow "t.typed": input.price: expected number '
      .. ">= 0, found -1", err.message)
    assert.equal(0, kit.count(backend, url, "instance"))
    local id = assert(engine:start("t.typed", GOOD))
    assert(engine:start_many("t.typed", { { input = GOOD } }))
    assert(engine:run())
    assert.equal(2, assert(engine:get(id)).output)
  end)

  it("is looked at as it begins, whoever has started it", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    local id = assert(other:start("t.typed", { price = 1, count = "x" }))
    assert(engine:load(typed()))
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("value", instance.error.code)
    assert.equal('input.count: expected integer > 0, found "x"',
      instance.error.message)
    assert.equal("failed", kit.trail(engine, id))
    assert(engine:retry(id))
    assert(engine:run())
    assert.failed(engine, id)
  end)

  it("is looked at of children and of what an event starts", function()
    local engine = backend.fresh()
    assert(engine:load(typed { trigger = "order.placed" }))
    local flow = pawl.workflow { code = "t.parent" }
    flow:call("c", { workflow = "t.typed", next = { completed = "z",
      failed = "bad" }, input = function(ctx) return ctx.input end })
    flow:finish("z", { output = function() return "good" end })
    flow:finish("bad", { output = function(ctx) return ctx.event.data end })
    assert(engine:load(flow))
    local good = assert(engine:start("t.parent", GOOD))
    local bad = assert(engine:start("t.parent", { count = 1 }))
    assert(engine:signal { name = "order.placed", data = { price = "x" } })
    assert(engine:run())
    assert.equal("good", assert(engine:get(good)).output)
    assert.equal("value", assert(engine:get(bad)).output.code)
    local failed = assert(engine:list { workflow = "t.typed",
      status = "failed" })
    assert.equal(2, #failed)
  end)

  it("is caught by who has called it", function()
    local engine = backend.fresh()
    assert(engine:load(typed()))
    local flow = pawl.workflow { code = "t.parent" }
    flow:call("c", { workflow = "t.typed", next = "z",
      input = function(ctx) return ctx.input end,
      on_error = { value = "caught" } })
    flow:finish "z"
    flow:finish("caught", { output = function(ctx) return ctx.error.code end })
    assert(engine:load(flow))
    local id = assert(engine:start("t.parent", { count = 1 }))
    assert(engine:run())
    assert.equal("value", assert(engine:get(id)).output)
  end)

  it("is that of the version that is started", function()
    local engine = backend.fresh()
    assert(engine:load(typed({ version = 1 })))
    assert(engine:load(typed({ version = 2 }, { ["*"] = "any" })))
    assert(engine:start("t.typed", { anything = true }))
    assert.equal("value", select(2, engine:start("t.typed",
      { anything = true }, { version = 1 })).code)
  end)
end)

kit.describe("a declared input's schema", function(backend)
  it("is shown with what is stored of the workflow", function()
    local engine = backend.fresh()
    assert(engine:load(typed({ version = 1 }, { n = "integer 1..9" })))
    assert(engine:load(typed({ version = 2 }, { ["n?"] = "string" })))
    assert(engine:load(kit.one(function() end)))
    local function schema(version)
      return assert(engine.workflows:get("t.typed", version)).schema
    end
    assert.same({ type = "integer", minimum = 1, maximum = 9 },
      schema(1).properties.n)
    assert.same({ "n" }, schema(1).required)
    assert.same({ type = { "string", "null" } }, schema().properties.n)
    assert.is_nil(schema().required)
    assert.is_nil(assert(engine.workflows:get "t.one").schema)
  end)
end)

kit.describe("a declared input of lists", function(backend)
  it("says of an empty one what it lacks, and not that it is none", function()
    local engine = backend.fresh()
    assert(engine:load(typed(nil, { count = "array 1.." })))
    for _, empty in ipairs { {}, pawl.array {} } do
      local _, err = engine:start("t.typed", { count = empty })
      assert.equal('workflow "t.typed": input.count: expected array 1.., '
        .. "found an empty array", err.message)
    end
    assert(engine:start("t.typed", { count = { 1 } }))
  end)
end)

kit.describe("a declared input of one of some numbers", function(backend)
  it("takes what its schema says, and no text", function()
    local engine = backend.fresh()
    assert(engine:load(typed(nil, { count = "one of 1, 2, many" })))
    assert.same({ 1, 2, "many" },
      assert(engine.workflows:get "t.typed").schema.properties.count.enum)
    for _, count in ipairs { 2, 2.0, "many" } do
      assert(engine:start("t.typed", { count = count }))
    end
    local _, err = engine:start("t.typed", { count = "2" })
    assert.equal('workflow "t.typed": input.count: expected one of 1, 2, '
      .. 'many, found "2"', err.message)
  end)
end)

kit.describe("a wait with declared data", function(backend)
  it("refuses what is something else, and goes on", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.typed" }
    flow:wait("w", { event = "paid", into = "sum",
      accepts = { sum = "number > 0" } })
    flow:finish("z", { output = function(ctx) return ctx.vars.sum.sum end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.typed")
    assert(engine:run())
    assert(engine:signal { name = "paid", instance = id })
    assert(engine:signal { name = "paid", instance = id,
      data = { sum = -1 } })
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    local rows = assert(engine:history(id, { type = "refused" }))
    assert.equal('`accepts` refused event "paid"', rows[1].text)
    assert.equal("data: expected an object, found null",
      rows[1].error.message)
    assert.equal("data.sum: expected number > 0, found -1",
      rows[2].error.message)
    engine:ask(id, "paid", { sum = 0 }, { event = "1", timeout = 0 })
    assert(engine:run())
    local _, err = engine:ask(id, "paid", { sum = 0 }, { event = "1" })
    assert.equal("value", err.code)
    assert(engine:signal { name = "paid", instance = id, data = { sum = 5 } })
    assert(engine:run())
    assert.equal(5, assert(engine:get(id)).output)
  end)
end)

kit.describe("a task with a declared output", function(backend)
  it("is completed with nothing else, and tells of it", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.task" }
    flow:task("ask", { title = "Sum", into = "sum", next = "z",
      accepts = { sum = "number > 0", ["note?"] = "string" } })
    flow:finish("z", { output = function(ctx) return ctx.vars.sum end })
    assert(engine:load(flow))
    local id = assert(engine:start "t.task")
    assert(engine:run())
    local task = assert(engine.tasks:list { instance = id })[1].id
    local accepts = { sum = "number > 0", ["note?"] = "string" }
    assert.same(accepts, assert(engine.tasks:get(task)).accepts)
    local told = assert(engine:explain(id))
    assert.same(accepts, told.tokens[1].waiting_for.accepts)
    assert.same({ ["$schema"] = "https://json-schema.org/draft/2020-12/schema",
      type = "object", required = { "sum" }, additionalProperties = false,
      properties = { sum = { type = "number", exclusiveMinimum = 0 },
        note = { type = { "string", "null" } } } },
      assert(engine.tasks:get(task)).schema)
    assert.is_nil(assert(engine.tasks:list { instance = id })[1].schema)
    assert.matches("Its output is to be { note%?: string, sum: number > 0 }",
      table.concat(told.sentences or require("pawl.explain").sentences(told),
        " "))
    for _, case in ipairs {
      { { sum = 0 }, "output.sum: expected number > 0, found 0" },
      { { sum = 1, nota = "x" }, 'output has no "nota"' },
      { nil, "output: expected " },
    } do
      local done, err = engine.tasks:complete(task, { by = "ann",
        output = case[1] })
      assert.is_nil(done)
      assert.equal("value", err.code)
      assert.matches(case[2], tostring(err), 1, true)
    end
    assert.equal("waiting", kit.status(engine, id))
    assert(engine.tasks:complete(task, { by = "ann", output = { sum = 3 } }))
    assert(engine:run())
    assert.same({ sum = 3 }, assert(engine:get(id)).output)
  end)
end)

describe("the checker", function()
  it("names what is no type, and where", function()
    local engine = assert(pawl.open ":memory:")
    local _, err = engine:load(tmp.file("flow.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.a",
  input = { lines = { { count = "intger > 0" } } } }
flow:wait("w", { event = "go", accepts = "strnig" })
return flow]]))
    assert.equal("definition", err.code)
    assert.matches('input.lines.count: "intger > 0" is no type', err.message, 1,
      true)
    assert.equal('did you mean "integer"?', err.hint)
    assert.matches("flow.lua:2", err.where, 1, true)
    _, err = engine:load(tmp.file("flow.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.a",
  input = { a = "string", ["a?"] = "string" } }
flow:wait("w", { event = "go" })
return flow]]))
    assert.equal("definition", err.code)
    assert.matches('input.a is declared twice, by "a" and "a?"', err.message,
      1, true)
    _, err = engine:load(tmp.file("flow.lua", [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.a" }
flow:wait("w", { event = "go", accepts = "strnig" })
return flow]]))
    assert.matches('wait "w": accepts: "strnig" is no type', err.message, 1,
      true)
    assert.matches("flow.lua:3", err.where, 1, true)
    engine:close()
    local ok, why = pcall(pawl.workflow, { code = "t.a", input = 7 })
    assert.is_false(ok)
    assert.matches("'input' of workflow \"t.a\" must be a type",
      why.message, 1, true)
  end)
end)
