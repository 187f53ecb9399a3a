-- A version's source is replaced while instances run it.
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local TEXT = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.fix", start = "a" }
flow:step("a", { run = function(ctx) ctx.vars.a = "old" end, next = "t" })
flow:timer("t", { after = "1h", next = "b" })
flow:step("b", { run = function(ctx) ctx.vars.b = "old" end, next = "z" })
flow:finish "z"
return flow
]]

kit.describe("a hot-fix", function(backend)
  local function file(text) return tmp.file("fix.lua", text) end

  local function fixed(from, to)
    local text, n = TEXT:gsub(from, to)
    assert(n > 0)
    return file(text)
  end

  it("is what running instances go on with", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    assert(engine:load(file(TEXT)))
    assert(other:load(file(TEXT)))
    local id = assert(engine:start "t.fix")
    assert(engine:run())
    local ok, err = engine:load(fixed('"old"', '"new"'))
    assert.is_nil(ok)
    assert.equal("exists", err.code)
    local info = assert(engine.workflows:hotfix(fixed('"old"', '"new"'),
      { by = "ann", reason = "rounding" }))
    assert.equal(1, info.version)
    assert.equal(2, info.revision)
    clock:advance "2h"
    assert(other:run()) -- it has the old one loaded, and fetches the new one
    assert.same({ a = "old", b = "new" }, assert(engine:get(id)).variables)
    local entry = assert(engine.workflows:list())[1]
    assert.equal(2, entry.revision)
    assert.equal("ann", entry.by)
    assert.equal("rounding", entry.reason)
    local rows = kit.select(url, "select source from "
      .. kit.table(backend, "workflow") .. " order by revision")
    assert.equal(2, #rows)
    assert.equal(TEXT, rows[1].source)
  end)

  it("may be made again", function()
    local engine, clock = backend.fresh()
    assert(engine:load(file(TEXT)))
    local id = assert(engine:start "t.fix")
    assert(engine:run())
    for n = 2, 4 do
      local info = assert(engine.workflows:hotfix(fixed('"old"',
        '"' .. n .. '"')))
      assert.equal(n, info.revision)
    end
    local same = assert(engine.workflows:hotfix(fixed('"old"', '"4"')))
    assert.equal(4, same.revision)
    clock:advance "2h"
    assert(engine:run())
    assert.equal("4", assert(engine:get(id)).variables.b)
  end)

  it("may move lines, and nothing else of the graph", function()
    local engine = backend.fresh()
    assert(engine:load(file(TEXT)))
    assert(engine.workflows:hotfix(fixed("local flow",
      "-- fixed\n\nlocal flow")))
    for _, case in ipairs {
      { 'after = "1h"', 'after = "2h"',
        'node "t" is drawn otherwise.*its `after`' },
      { '"b"', '"c"', 'node "c" is not in the stored version' },
      { 'next = "z"', 'next = "z", retry = { max = 9 }',
        'node "b" is drawn otherwise.*its `retry`' },
      { 'start = "a"', 'start = "a", deadline = "9h"',
        "the workflow's `deadline` differs" },
      { 'start = "a"', 'start = "a", on_failure = { emit = "x" }',
        "the workflow's `on_failure` differs" },
    } do
      local ok, err = engine.workflows:hotfix(fixed(case[1], case[2]))
      assert.is_nil(ok)
      assert.equal("exists", err.code)
      assert.matches(case[3], err.message)
      assert.matches("version = 2", err.hint)
    end
    assert.equal(2, assert(engine.workflows:list())[1].revision)
  end)

  it("leaves who is told of a failure as the version says", function()
    local engine, clock = backend.fresh()
    local from = TEXT:gsub('start = "a"', "%0, "
      .. 'on_failure = { emit = "order.failed", start = "t.one" }')
    local function failing(code)
      return file((from:gsub('ctx.vars.b = "old"', ("error %q"):format(code))))
    end
    assert(engine:load(kit.one()))
    assert(engine:load(failing "old"))
    local id = assert(engine:start "t.fix")
    assert(engine:run())
    assert(engine.workflows:hotfix(failing "new"))
    clock:advance "2h"
    for _ = 1, 3 do
      assert(engine:run())
      clock:advance "1h"
    end
    assert.failed(engine, id)
    local told = assert(engine.outbox:list { instance = id })
    assert.same({ 1, "order.failed", "new" }, { #told, told[1].type,
      told[1].payload.error.message:match "new" })
    assert.equal(1, #assert(engine:list { workflow = "t.one" }))
  end)

  it("needs something to fix", function()
    local engine = backend.fresh()
    local ok, err = engine.workflows:hotfix(file(TEXT))
    assert.is_nil(ok)
    assert.equal("notfound", err.code)
    assert.matches("`pawl deploy` stores", err.hint)
    assert.error_matches(function()
      engine:load(file(TEXT), { by = "ann" })
    end, "workflows:hotfix")
  end)

  it("is not undone by a worker that comes with the old file", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(file(TEXT)))
    local id = assert(engine:start "t.fix")
    assert(engine:run())
    assert(engine.workflows:hotfix(fixed('"old"', '"new"'),
      { reason = "rounding" }))
    local late = kit.rival(backend, url, clock)
    local ok, err = late:load(file(TEXT))
    assert.is_nil(ok)
    assert.equal("exists", err.code)
    assert.matches("hot%-fixed", err.hint)
    clock:advance "2h"
    assert(late:run())
    assert.equal("new", assert(engine:get(id)).variables.b)
  end)

  it("is not undone by the old file when nobody uses it any more",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(file(TEXT)))
      assert(engine.workflows:hotfix(fixed('"old"', '"new"')))
      local late = kit.rival(backend, url, clock)
      local ok, err = late:load(file(TEXT))
      assert.is_nil(ok)
      assert.equal("exists", err.code)
      assert.matches("hot%-fixed", err.hint)
      assert(late:load(fixed('"old"', '"new"')))
    end)

  it("leaves an inactive version inactive", function()
    local engine = backend.fresh()
    assert(engine:load(file(TEXT)))
    assert(engine.workflows:deactivate("t.fix", 1))
    assert(engine.workflows:hotfix(fixed('"old"', '"new"')))
    assert.is_false(assert(engine.workflows:list())[1].active)
  end)
end)
