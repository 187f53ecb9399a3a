-- Instances that go from one store to another, of either kind: all of them
-- arrives, what waited goes on there, and nothing is stored half.
local audits = require "spec.engine.audits"
local backends = require "spec.support.backends"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local samples = require "spec.engine.samples"
local tmp = require "spec.support.tmp"

--- Leaves rows in every table that has some of an instance, as it goes on.
local function rich()
  local flow = pawl.workflow { code = "t.rich", start = "a" }
  flow:step("a", { next = "split", run = function(ctx)
    ctx.attrs.colour = "red"
    ctx.attrs.amount = pawl.decimal "-12.50"
    ctx.attrs.weight = -0.0
    ctx.attrs.day = pawl.date "1970-01-01"
    ctx.attrs.raw = pawl.binary "\0\1\xff"
    ctx.attrs.yes = false
    ctx.vars.large = ("x"):rep(20000)
    ctx.vars.list = pawl.array { 1, 2, 3 }
    ctx.vars.zero = -0.0
    ctx.vars.least, ctx.vars.most = math.mininteger, math.maxinteger
    ctx.vars.none, ctx.vars.null = pawl.array {}, pawl.null
    ctx.vars.odd = "a\0b\\u0000\n\u{1F600}"
    ctx.emit("told", { n = 1 })
  end, undo = function(ctx) ctx.vars.undone = true end })
  flow:fork("split", { next = { "ask", "items", "nap" } })
  flow:task("ask", { title = "Yes?", role = "boss", group = "all",
    next = { completed = "meet" } })
  flow:timer("nap", { after = "1h", next = "meet" })
  flow:each("items", { items = function(ctx) return ctx.vars.list end,
    branch = "one", into = "got", next = "meet" })
  flow:step("one", { run = function() end, next = "items" })
  flow:join("meet", { expect = "all", next = "hear" })
  flow:wait("hear", { event = "go", next = "b" })
  flow:step("b", { next = "z", retry = false, run = function(ctx)
    if ctx.input.fails then error { code = "no" } end
  end })
  flow:finish "z"
  return flow
end

local function other_of(backend)
  for _, one in ipairs(backends) do
    if one ~= backend then return one end
  end
  return backend
end

--- A store of the other kind with no workflow, under the same clock.
local function elsewhere(backend, clock, options)
  return other_of(backend).fresh(samples.copy(options, { clock = clock }))
end

--- Those that say when it was written.
local function rows_of(text)
  return (text:gsub('"at":"[^"]*"', '"at":""', 1))
end

--- The lines of one table.
local function lines_of(text, name)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    if line:find('{"is":"' .. name .. '"', 1, true) then
      found[#found + 1] = line
    end
  end
  return found
end

--- It stands at a task, a timer and in an `each` that is done.
local function standing(engine, input)
  local id = assert(engine:start("t.rich", input or {},
    { key = "k", business_key = "order-7", metadata = { a = 1 } }))
  assert(engine:signal { name = "other", instance = id })
  assert(engine:run())
  assert.equal("waiting", kit.status(engine, id))
  return id
end

--- What is left to be done, wherever it is.
local function go_on(engine, id, clock)
  local task = assert(engine.tasks:list { instance = id })[1]
  assert(engine.tasks:complete(task.id, { by = "ann", role = "boss" }))
  clock:advance(3600)
  assert(engine:run())
  assert(engine:signal { name = "go", instance = id })
  assert(engine:run())
end

local told = audits.told

--- Entries of one type, but for when it was exported.
local function audited(engine, type)
  local list = told(assert(engine:audit { type = type }))
  for i, text in ipairs(list) do
    list[i] = text:gsub("%d%d%d%d%-%S-Z", "TIME")
  end
  return list
end

kit.describe("importing", function(backend)
  after_each(function() probe.fault(nil) end)

  it("gives the same rows in a store of the other kind, and back", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local text = assert(engine:export(id))
    for _, name in ipairs { "workflow", "export", "instance", "agenda",
        "variable", "token", "item", "history", "inbox", "subscription",
        "outbox", "task", "owner", "attribute", "end" } do
      assert.truthy(#lines_of(text, name) > 0
        or name == "subscription" or name == "agenda", name)
    end
    local there = elsewhere(backend, clock, { shards = 3 })
    assert.same({ imported = { id }, there = {} },
      assert(there:import(text, { release = true })))
    local second = assert(there:export(id))
    assert.equal(rows_of(text), rows_of(second))
    assert.same(assert(engine:get(id)), assert(there:get(id)))
    assert.same(assert(engine:history(id)), assert(there:history(id)))
    local back = backend.fresh { clock = clock }
    assert(back:import(second, { release = true }))
    assert.equal(rows_of(text), rows_of(assert(back:export(id))))
  end)

  it("has what was released go on as it would have", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local there = elsewhere(backend, clock)
    assert(there:import(assert(engine:export(id)), { release = true }))
    assert(there:load(rich()))
    go_on(there, id, clock)
    local got = assert(there:get(id))
    assert.equal("completed", got.status)
    assert.equal(-1 / 0, 1 / got.variables.zero)
    assert.equal("a\0b\\u0000\n\u{1F600}", got.variables.odd)
    assert.same({ id }, { (assert(there:list {
      attributes = { amount = { "<", -12 } } })[1] or {}).id })
    assert(there.workflows:activate("t.rich", 1))
    local again, created = assert(there:start("t.rich", {}, { key = "k" }))
    assert.same({ id, false }, { again, created })
  end)

  it("counts them where they stand", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    assert(engine:start "t.timer")
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:kill(id))
    assert(engine:run())
    local there = elsewhere(backend, clock)
    for _, one in ipairs(assert(engine:list())) do
      assert(there:import(assert(engine:export(one.id)), { release = true }))
    end
    local was, is = assert(engine:stats()), assert(there:stats())
    assert.truthy(was.workflows[1].statuses)
    assert.same(was.workflows[1].statuses, is.workflows[1].statuses)
  end)

  it("is told at once: by whom, why, from where, what came along", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    local ids = assert(engine:start_many("t.timer", { {}, {}, {} }))
    assert(engine:run())
    local one = assert(engine:export(ids[1], { by = "ann" }))
    local two = assert(engine:export(ids[2]))
    local moved = assert(engine:export(ids[3], { move = true, by = "eve" }))
    local there = elsewhere(backend, clock, { shards = 3 })
    local given = { release = true, by = "bob", reason = "it burnt" }
    assert(there:import(one, given))
    local released = "bob imported (released, exported TIME by ann: it burnt)"
    local entry = assert(there:audit { by = "bob", type = "imported" })[1]
    assert.same({ ids[1], "t.timer", 1 },
      { entry.instance, entry.workflow, entry.version })
    assert.matches("exported " .. one:match '"at":"(%S-Z)"', entry.text, 1,
      true)
    assert.same({ released }, audited(there, "imported"))
    assert.same({ "bob registered (imported)" }, audited(there, "registered"))
    assert.same({ imported = {}, there = { ids[1] } },
      assert(there:import(one, given)))
    clock:advance(1)
    assert(there:import(two)) -- nobody says who
    clock:advance(1)
    assert(there:import(moved, { by = "cleo" }))
    assert.same({ "cleo imported (moved, exported TIME by eve)",
      "- imported (as a copy, exported TIME)", released },
      audited(there, "imported"))
    assert.same({ "bob registered (imported)" }, audited(there, "registered"))
    local third = elsewhere(backend, clock)
    assert(third:import(one))
    assert.matches(":%d+$", assert(third:audit { type = "registered" })[1].by)
  end)

  it("is told of nothing that was not stored", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local text = assert(engine:export(id))
    assert(engine:kill(id))
    assert(engine:run())
    assert(engine:import(text, { by = "bob" }))
    assert(engine:archive(id, { force = true }))
    assert(engine:import(text, { by = "bob" }))
    assert(engine:unarchive(id, { by = "bob" }))
    assert.same({}, audited(engine, "imported"))
    assert.equal(1, kit.count(backend, url, "audit", "type = 'registered'"))
    local there = elsewhere(backend, clock)
    local broken = text:gsub('"is":"end"(.*)"rows":', '"is":"end"%1"rows":1')
    assert.is_nil((there:import(broken, { by = "bob" })))
    assert.equal(0, #audited(there, "imported"))
    probe.fault "commit.after=drop"
    assert(there:import(text, { by = "bob" })) -- and once more by itself
    probe.fault(nil)
    assert.equal(1, #audited(there, "imported"))
    assert.equal(1, #audited(there, "registered"))
  end)

  it("has what was done be undone there", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local there = elsewhere(backend, clock)
    assert(there:import(assert(engine:export(id)), { release = true }))
    assert(there:load(rich()))
    assert(there:cancel(id, { by = "ann" }))
    assert(there:run())
    local got = assert(there:get(id))
    assert.equal("cancelled", got.status)
    assert.is_true(got.variables.undone)
  end)

  it("suspends a copy before anything of it can run", function()
    local engine, clock = backend.fresh()
    local flow = kit.one(function(ctx)
      ctx.emit("told", {})
      ctx.vars.n = 1
    end)
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    local there = elsewhere(backend, clock)
    assert(there:import(assert(engine:export(id)), { by = "bob" }))
    assert(there:load(flow))
    assert(there:run())
    local got = assert(there:get(id))
    assert.equal("suspended", got.status)
    local last = kit.last(there, id)
    assert.same({ "suspended", "bob" }, { last.type, last.by })
    assert.matches("copy", last.text)
    assert.same({}, assert(there.outbox:list()))
    assert(there:resume(id))
    assert(there:run())
    assert.equal(1, assert(there:get(id)).output.n)
  end)

  it("leaves with the original what that has still to say", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local there = elsewhere(backend, clock)
    assert.equal(1, #assert(engine.outbox:list()))
    assert(there:import(assert(engine:export(id))))
    assert.equal(0, #assert(there.outbox:list()))
  end)

  it("leaves one alone that is there", function()
    local engine = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local text = assert(engine:export(id))
    assert(engine:kill(id))
    assert(engine:run())
    assert.same({ imported = {}, there = { id } },
      assert(engine:import(text, { release = true })))
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("is done once when the answer is lost", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine)
    local text = assert(engine:export(id))
    local there = elsewhere(backend, clock)
    probe.fault "commit.after=drop"
    local report = assert(there:import(text, { release = true }))
    probe.fault(nil)
    assert.equal(1, #report.imported + #report.there)
    assert.equal(rows_of(text), rows_of(assert(there:export(id))))
  end)

  it("takes an instance that a worker holds as it was stored last", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer("1h")))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    clock:advance(3600)
    kit.claim(kit.store(url, clock), id)
    local there = elsewhere(backend, clock)
    assert(there:import(assert(engine:export(id)), { release = true }))
    assert(there:load(kit.timer("1h")))
    assert(there:run())
    assert.completed(there, id)
  end)

  it("goes on with one that failed, when it is restarted", function()
    local engine, clock = backend.fresh()
    assert(engine:load(rich()))
    local id = standing(engine, { fails = true })
    go_on(engine, id, clock)
    assert.failed(engine, id)
    local text = assert(engine:export(id))
    local there = elsewhere(backend, clock)
    assert(there:import(text))
    assert.equal(rows_of(text):gsub('{"is":"outbox"[^\n]*\n', "")
      :gsub('"rows":%d+', ""), (rows_of(assert(there:export(id)))
      :gsub('"rows":%d+', "")))
    assert(there:load(rich()))
    assert(there:restart(id, { from = "b" }))
    assert(there:run())
    assert.failed(there, id) -- its code says so again
    assert.truthy(#assert(there:history(id)) > #assert(engine:history(id)))
  end)

  describe("what is wrong", function()
    local engine, there, id, text

    before_each(function()
      local clock
      engine, clock = backend.fresh()
      assert(engine:load(rich()))
      id = standing(engine)
      text = assert(engine:export(id))
      there = elsewhere(backend, clock)
    end)

    --- Nothing of it is stored.
    local function refused(code, words, where, changed)
      assert.not_equal(text, changed)
      local ok, err = there:import(changed, { release = true })
      assert.is_nil(ok)
      assert.equal(code, err.code, tostring(err))
      assert.matches(words, err.message)
      if where then assert.equal(where, err.where) end
      assert.same({}, assert(there:list()))
    end

    local function changed(from, to)
      local result, n = text:gsub(from:gsub("%p", "%%%0"), to, 1)
      assert.equal(1, n)
      return result
    end

    it("is told with its line and its member", function()
      refused("invalid", "^line 3: there is no member `colour`",
        "line 3, colour", changed('"is":"instance"',
        '"is":"instance","colour":1'))
      refused("invalid", "`tokens` is to be an integer", "line 3, tokens",
        changed('"tokens":', '"tokens":1.5'))
      refused("invalid", "too large", "line 3, priority",
        changed('"priority":0', '"priority":70000'))
      refused("invalid", "no status", "line 3, status",
        changed('"status":"waiting","attempt', '"status":"asleep","attempt'))
      refused("invalid", "no kind of line", "line 1, is",
        changed('"is":"workflow"', '"is":"workflows"'))
      refused("invalid", "another instance", "line 3, id",
        changed('"is":"instance","id":"0', '"is":"instance","id":"1'))
    end)

    it("is a line that is missing, or stands elsewhere", function()
      refused("invalid", "rows are missing", nil,
        (text:gsub('{"is":"task".-\n', "")))
      refused("invalid", "end is missing", nil,
        (text:gsub('{"is":"end".-\n', "")))
      refused("invalid", "not the first", nil,
        (text:gsub('{"is":"instance".-\n', "")))
      refused("invalid", "outside of an export", nil,
        (text:gsub('{"is":"export".-\n', "")))
      refused("invalid", "stand in front", nil,
        (text:gsub('({"is":"token".-\n)({"is":"item".-\n)', "%2%1", 1)
          :gsub("", "")))
      refused("value", "^line 1: ", "line 1", "hello\n")
      refused("invalid", "no line of an export", "line 1, is", "[1]\n")
    end)

    it("is what the store refuses", function()
      refused("invalid", "^line %d+: ", nil,
        changed('"is":"history","seq":2,', '"is":"history","seq":1,'))
      refused("invalid", "^line 3: ", nil,
        changed('"priority":0,"executor_group":"default",', '"priority":0,'))
    end)

    it("is a workflow that is not what it says", function()
      refused("invalid", "SHA%-256", "line 1, sha256",
        changed('"sha256":"', '"sha256":"0'))
    end)

    it("is a workflow that is here with other contents", function()
      local flow = pawl.workflow { code = "t.rich", start = "z" }
      flow:finish "z"
      assert(there:load(flow))
      refused("exists", "with other contents", "line 1", text .. "\n")
    end)

    it("is a key that another has", function()
      assert(there:load(rich()))
      assert(there:start("t.rich", {}, { key = "k" }))
      local ok, err = there:import(text)
      assert.same({ nil, "conflict" }, { ok, err and err.code })
      assert.matches("has the key", err.message)
      assert.equal(1, #assert(there:list()))
    end)

    it("is what was masked, when it is to go on", function()
      text = assert(engine:export(id, { mask = "vars.large" }))
      refused("invalid", "masked", nil, text .. "\n")
      assert(there:import(text))
    end)
  end)

  it("stores each instance for itself", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    local ids = assert(engine:start_many("t.timer", { {}, {}, {} }))
    assert(engine:run())
    local texts = {}
    for i, id in ipairs(ids) do texts[i] = assert(engine:export(id)) end
    texts[3] = texts[3]:gsub('"is":"history"', '"is":"histories"', 1)
    local there = elsewhere(backend, clock)
    local ok, err = there:import(table.concat(texts))
    assert.is_nil(ok)
    assert.matches("^line %d+, is$", err.where)
    assert.equal(2, #assert(there:list()))
    local report = assert(there:import(texts[1] .. texts[2], { line = 7 }))
    assert.same({ ids[1], ids[2] }, report.there)
  end)

  it("runs the code that came along, and starts nothing by it", function()
    local engine, clock = backend.fresh()
    local path = tmp.file("two.lua", [[
      local flow = require "pawl".workflow { code = "t.two", start = "a" }
      flow:step("a", { next = "z", run = function(ctx) ctx.vars.n = 2 end })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow
    ]])
    assert(engine:load(path))
    local id = assert(engine:start "t.two")
    local there = elsewhere(backend, clock)
    assert(there:import(assert(engine:export(id)), { release = true }))
    assert(there:run())
    assert.equal(2, assert(there:get(id)).output.n)
    assert.is_false(assert(there.workflows:get "t.two").active)
    assert(there.workflows:activate("t.two", 1))
    assert(there:start "t.two")
  end)

  it("knows what the archive has, and its key", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local function ended()
      local id = assert(engine:start("t.one", nil, { key = "k",
        attributes = { colour = "red" } }))
      assert(engine:run())
      return id, assert(engine:export(id))
    end
    local id, lines = ended()
    assert(engine:archive(id))
    local rows = kit.count(backend, url, "attribute")
    local report = assert(engine:import(lines))
    assert.same({ {}, { id } }, { report.imported, report.there })
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(rows, kit.count(backend, url, "attribute"))
    assert(engine:unarchive(id))
    assert.equal("red", assert(engine:get(id)).attributes.colour)

    assert(engine:delete(id)) -- its key is free
    local other, others = ended()
    assert(engine:purge(other))
    assert(engine:undelete(id))
    assert(engine:archive(id))
    kit.refused("conflict", "another instance of its workflow", "purge",
      engine:import(others))
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("is refused of what was purged and is found still", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start("t.one", nil,
      { attributes = { colour = "red" } }))
    assert(engine:run())
    local lines = assert(engine:export(id))
    assert(engine:purge(id, { keep_attributes = true }))
    kit.refused("conflict", "was purged here", "once more",
      engine:import(lines))
    assert.equal(0, kit.count(backend, url, "instance"))
    assert.equal(1, kit.count(backend, url, "attribute"))
  end)
end)
