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

  -- What is wrong to give, by what it is called.
  local WRONG <const> = {
    { "#3 to 'assert.failed' (string expected, got number)", "failed", 7 },
    { "#3 to 'assert.waiting_at' (node's name expected, got nil)",
      "waiting_at" },
    { "#3 to 'assert.path' (list of nodes' names expected, got nil)", "path" },
    { "#3 to 'assert.path' (list of nodes' names expected, got string)", "path",
      "reserve" },
    { "#3 to 'assert.vars' (table of variables by their names expected, got "
      .. "nil)", "vars" },
    { "#3 to 'assert.output' (value; pawl.null: none expected, got nil)",
      "output" },
    { "#3 to 'assert.emitted' (string expected, got nil)", "emitted" },
    { "#3 to 'assert.task_for' (string expected, got nil)", "task_for" },
    { "#3 to 'assert.compensated' (list of nodes' names expected, got string)",
      "compensated", "reserve" },
    { "#4 to 'assert.ran_times' (integer, 0 or more expected, got nil)",
      "ran_times", "charge" },
    { "#3 to 'assert.due_in' (seconds, or words like \"2h\" expected, got "
      .. "string)", "due_in", "soon" },
    { "#3 to 'assert.history' (file's path expected, got nil)", "history" },
  }

  it("says what an argument is to be, and where", function()
    start()
    for _, wrong in ipairs(WRONG) do
      for _, negated in ipairs { "", "not_" } do
        local ok, err = pcall(function()
          assert[negated .. wrong[2]](engine, id, wrong[3])
        end)
        assert.is_false(ok, wrong[2])
        assert.matches("^spec/lua/testing/asserts_spec.lua:%d+: ", err)
        assert.matches(": bad argument " .. wrong[1], err, 1, true)
      end
    end
  end)

  it("says which nodes there are where one is named that is not there",
    function()
      start()
      for name, arguments in pairs {
        not_waiting_at = { "aprove" }, waiting_at = { "aprove" },
        ran_times = { "aprove", 0 }, not_ran_times = { "aprove", 1 },
        not_due_in = { "2h", "aprove" }, not_task_for = { "ann", "aprove" },
        not_path = { { "reserve", "aprove" } },
        not_compensated = { { "aprove" } },
      } do
        local text = said(assert[name], id, table.unpack(arguments))
        assert.matches(("assert.%s: there is no node 'aprove' (did you mean "
          .. "'approve'?)"):format(name:gsub("^not_", "")), text, 1, true)
      end
      local other = engine
      engine = assert(test.open())
      assert(engine:load(order()))
      local plain = assert(engine:start("t.order", {}))
      assert.matches("there is no node 'zzz' (known: approve, charge, last, "
        .. "nap, reserve, size, z)", said(assert.not_waiting_at, plain, "zzz"),
        1, true)
      assert.is_not.waiting_at(engine, plain, "nap")
      engine:close()
      engine = other
    end)

  it("takes no task for anybody for that of nobody", function()
    start()
    local flow = pawl.workflow { code = "t.open" }
    flow:task("ask", { title = "Anybody?" })
    assert(engine:load(flow))
    local open = assert(engine:start "t.open")
    engine:run_until_idle()
    assert.is_not.task_for(engine, open, "ann")
    assert.matches("bad argument #3 to 'assert.task_for'",
      said(assert.task_for, open, nil), 1, true)
  end)

  it("knows an instance that has completed and gave nothing", function()
    local flow = pawl.workflow { code = "t.quiet" }
    flow:timer("nap", { after = "1h" })
    assert(engine:load(flow))
    local quiet = assert(engine:start "t.quiet")
    engine:run_until_idle()
    assert.is_not.output(engine, quiet, pawl.null)
    clock:advance "1h"
    assert.output(engine, quiet, pawl.null)
  end)

  it("is there without luassert, and raises where it was called", function()
    start()
    local check = asserts.plain()
    check.waiting_at(engine, id, "approve")
    check.equal(1, check(1))
    for text, fn in pairs {
      ["expected completed\n"] = function() check.completed(engine, id) end,
      ["there is no node 'aprove'"] = function()
        check.waiting_at(engine, id, "aprove")
      end,
      ["expected 1, is 2"] = function() check.equal(1, 2) end,
    } do
      local ok, err = pcall(fn)
      assert.is_false(ok)
      assert.matches("^spec/lua/testing/asserts_spec.lua:%d+: ", err)
      assert.matches(text, err, 1, true)
    end
  end)

  it("takes any engine of ours, and says what else it is given", function()
    local plain <close> = assert(test.open())
    assert(plain:load(order()))
    local other = assert(plain:start("t.order", {}))
    assert(plain:run())
    assert.ran_times(plain, other, "reserve", 1)
    local ok, err = pcall(assert.completed, other)
    assert.is_false(ok)
    assert.matches("bad argument #1 to 'assert.completed' (engine expected, "
      .. "got string)", err, 1, true)
    ok, err = pcall(assert.completed, plain)
    assert.is_false(ok)
    assert.matches("bad argument #2 to 'assert.completed' (instance's id "
      .. "expected, got nil)", err, 1, true)
    ok, err = pcall(assert.completed, plain, "nothing")
    assert.is_false(ok)
    assert.matches("is not an instance's id", err)
  end)
end)
