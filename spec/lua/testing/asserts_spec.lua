--- What a spec may assert of instances, and what it is told.
local asserts = require "pawl.testing.asserts"
local pawl = require "pawl"
local test = require "pawl.testing"
local tmp = require "spec.support.tmp"

local function order()
  local flow = pawl.workflow { code = "t.order" }
  flow:step("reserve", { undo = function() end, run = function(ctx)
    ctx.vars.items, ctx.vars.who = { 1, 2 }, "ann"
    ctx.emit("order.reserved", { n = 2, at = "x" })
  end })
  flow:choice("size", { choose = function() return "small" end,
    next = { small = "charge", large = "z" } })
  flow:step("charge", { undo = function() end, retry = { max = 2, base = 1,
    jitter = 0 }, run = function(ctx)
      if ctx.attempt == 1 then error { code = "later" } end
      if ctx.input.poor then
        error { code = "poor", message = "no money", retry = false }
      end
    end })
  flow:task("approve", { title = "Look", roles = { "clerk" } })
  flow:timer("nap", { after = "2h" })
  flow:step("last", { run = function(ctx)
    if ctx.input.late then error { code = "late", retry = false } end
  end })
  flow:finish("z", { output = function() return { ok = true } end })
  return flow
end

describe("the assertions", function()
  it("are those that editors and docs/testing.md are told of", function()
    local told, shown = {}, {}
    for name in tmp.read "lua/pawl/meta/assertions.lua"
      :gmatch "%-%-%-@field ([%w_]+) fun" do
      told[#told + 1] = name
    end
    for name in tmp.read "docs/testing.md"
      :gmatch "\n| `assert%.([%w_]+)%(" do
      shown[#shown + 1] = name
    end
    table.sort(told)
    table.sort(shown)
    assert.same(asserts.names(), told)
    assert.same(asserts.names(), shown)
  end)
end)

describe("assert", function()
  local engine, clock, id

  --- What it says when it does not hold.
  local function said(fn, ...)
    local ok, err = pcall(fn, engine, ...)
    assert.is_false(ok)
    return tostring(err)
  end

  local function start(input)
    id = assert(engine:start("t.order", input or {}))
    engine:run_until_idle()
    clock:advance "1s"
    return id
  end

  local function approve()
    local task = engine.tasks:list { instance = id }[1]
    assert(engine.tasks:complete(task.id, { by = "ann",
      roles = "clerk" }))
    engine:run_until_idle()
  end

  before_each(function() engine, clock = test.engine { load = order() } end)
  after_each(function() engine:close() end)

  it(".waiting_at", function()
    start()
    assert.waiting_at(engine, id, "approve")
    assert.is_not.waiting_at(engine, id, "nap")
    local text = said(assert.waiting_at, id, "nap")
    assert.matches("^expected waiting at 'nap'\n", text)
    assert.matches("instance " .. id .. " of t.order is waiting\n", text, 1,
      true)
    assert.matches("  path: reserve > size > charge\n", text, 1, true)
    assert.matches('  variables: {"items":[1,2],"who":"ann"}\n', text, 1, true)
    assert.matches('It stands at task "approve"', text, 1, true)
    assert.matches("^expected not waiting at 'approve'\n",
      said(assert.not_waiting_at, id, "approve"))
  end)

  it(".completed and .output", function()
    start()
    assert.matches("^expected completed\n", said(assert.completed, id))
    approve()
    clock:advance "2h"
    assert.completed(engine, id)
    assert.output(engine, id, { ok = true })
    assert.is_not.failed(engine, id)
    assert.matches('^expected with the output {"ok":false}\n.*'
      .. '\n  output: {"ok":true}', said(assert.output, id, { ok = false }))
  end)

  it(".failed, with its code or any", function()
    start { poor = true }
    assert.failed(engine, id)
    assert.failed(engine, id, "poor")
    assert.is_not.failed(engine, id, "rich")
    assert.matches("^expected failed with 'rich'\n.*\n  error: poor: no money "
      .. "%(.*asserts_spec.lua:%d+%)", said(assert.failed, id, "rich"))
  end)

  it(".path, choices among it", function()
    start()
    approve()
    clock:advance "2h"
    local path = { "reserve", "size", "charge", "approve", "nap", "last" }
    assert.same(path, test.path(engine, id))
    assert.path(engine, id, path)
    assert.matches("^expected on the path reserve > charge\n",
      said(assert.path, id, { "reserve", "charge" }))
  end)

  it(".vars, of those that are named", function()
    start()
    assert.vars(engine, id, { who = "ann" })
    assert.vars(engine, id, { items = { 1, 2 }, none = pawl.null })
    assert.is_not.vars(engine, id, { who = "bob" })
    assert.matches('\n  items: expected %[1%], is %[1,2%]\n  '
      .. 'x: expected 1, is nothing\n', said(assert.vars, id,
        { items = { 1 }, x = 1, who = "ann" }))
  end)

  it(".emitted, with some of its payload", function()
    start()
    assert.emitted(engine, id, "order.reserved")
    assert.emitted(engine, id, "order.reserved", { n = 2 })
    assert.is_not.emitted(engine, id, "order.reserved", { n = 3 })
    assert.matches('\n  emitted: order.reserved {"at":"x","n":2}\n',
      said(assert.emitted, id, "order.lost"))
  end)

  it(".task_for", function()
    start()
    assert.task_for(engine, id, "clerk")
    assert.task_for(engine, id, "clerk", "approve")
    assert.is_not.task_for(engine, id, "clerk", "nap")
    assert.matches('\n  task: Look at approve, for .*"roles":%["clerk"%]',
      said(assert.task_for, id, "boss"))
    approve()
    assert.matches("\n  task: none is open\n",
      said(assert.task_for, id, "clerk"))
  end)

  it(".compensated, in order", function()
    start { late = true }
    approve()
    assert.is_not.compensated(engine, id)
    clock:advance "2h"
    assert.compensated(engine, id)
    assert.compensated(engine, id, { "charge", "reserve" })
    assert.matches("\n  undone: charge, reserve\n",
      said(assert.compensated, id, { "reserve", "charge" }))
  end)

  it(".ran_times, attempts and all", function()
    start()
    assert.ran_times(engine, id, "charge", 2)
    assert.ran_times(engine, id, "nap", 0)
    assert.matches("^expected one where 'charge' ran 1 times\n  'charge' ran 2 "
      .. "times\n", said(assert.ran_times, id, "charge", 1))
  end)

  it(".due_in", function()
    start()
    approve()
    assert.due_in(engine, id, "2h")
    assert.due_in(engine, id, 7200, "nap")
    clock:advance "30m"
    assert.due_in(engine, id, "90m")
    assert.is_not.due_in(engine, id, "2h")
    assert.matches("\n  nap is due in 5400 s\n", said(assert.due_in, id, "2h"))
  end)

  it("takes any engine of ours, and says what else it is given", function()
    local plain <close> = assert(test.open())
    assert(plain:load(order()))
    local other = assert(plain:start("t.order", {}))
    assert(plain:run())
    assert.ran_times(plain, other, "reserve", 1)
    local ok, err = pcall(assert.completed, other)
    assert.is_false(ok)
    assert.matches("assert.completed takes an engine and an instance's id; "
      .. "this is a string", err, 1, true)
    ok, err = pcall(assert.completed, plain)
    assert.is_false(ok)
    assert.matches("an instance's id is wanted, not a nil", err, 1, true)
    ok, err = pcall(assert.completed, plain, "nothing")
    assert.is_false(ok)
    assert.matches("is not an instance's id", err)
  end)
end)
