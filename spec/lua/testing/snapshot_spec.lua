--- What an instance went through, in a file, and what differs from it.
local pawl = require "pawl"
local snapshot = require "pawl.testing.snapshot"
local test = require "pawl.testing"
local tmp = require "spec.support.tmp"

local function order(late)
  local flow = pawl.workflow { code = "t.order" }
  flow:step("charge", { retry = { max = 2, base = 1 }, run = function(ctx)
    if ctx.attempt == 1 then error { code = "busy", message = "try later" } end
    ctx.vars.me, ctx.vars.token = ctx.id, ctx.callback "paid"
    ctx.vars.at = "2026-01-01T10:00:00.5Z"
  end })
  if late then flow:step("tell", { run = function() end }) end
  flow:wait("paid", { event = "paid", into = "sum" })
  flow:finish("done", { output = function(ctx) return ctx.vars.sum end })
  return flow
end

describe("a snapshot", function()
  local writes

  before_each(function() writes, snapshot.writes = snapshot.writes, false end)
  after_each(function() snapshot.writes = writes end)

  --- An engine on which an order has come to its end.
  local function gone(seed, late)
    local engine, clock = test.engine { load = order(late), seed = seed,
      clock = test.clock(1767225600 + seed) }
    local id = engine:start "t.order"
    engine:run_until_waiting(id, "paid")
    clock:advance(seed)
    engine:signal { name = "paid", instance = id, data = 30, by = "ann" }
    engine:run_until_idle()
    return engine, id
  end

  it("is the same whatever the ids and the times are", function()
    local engine <close>, id = gone(1)
    local other <close>, its = gone(77)
    local text = test.history(engine, id)
    assert.equal(text, test.history(other, its))
    assert.equal([[
t.order is completed
  failed charge
    error: busy: try later
  step charge, attempt 2 -> paid
    changes: {"set":{"at":"<time>","me":"<id 1>","token":"<token>.paid"}}
  received paid -> done, by ann: paid
    output: 30
    changes: {"set":{"sum":30}}
variables: {"at":"<time>","me":"<id 1>","sum":30,"token":"<token>.paid"}
output: 30
]], text)
  end)

  it("is written where there is none, and told from what it was", function()
    local path = tmp.path "order.txt"
    local engine <close>, id = gone(1)
    assert.history(engine, id, path)
    assert.equal(test.history(engine, id), tmp.read(path))
    assert.history(engine, id, path)
    local other <close>, its = gone(2, true)
    local ok, why = pcall(assert.history, other, its, path)
    assert.is_false(ok)
    assert.matches("expected as in " .. path, tostring(why), 1, true)
    assert.matches([[
  -   step charge, attempt 2 -> paid
  +   step charge, attempt 2 -> tell
]], tostring(why), 1, true)
    assert.matches("\n  +   step tell -> paid\n", tostring(why), 1, true)
    assert.matches("PAWL_WRITE=1, or `pawl test --write`", tostring(why), 1,
      true)
    assert.is_not.history(other, its, path)
    snapshot.writes = true
    assert.history(other, its, path)
    assert.equal(test.history(other, its), tmp.read(path))
  end)

  it("says what is wrong with its path", function()
    local engine <close>, id = gone(1)
    local ok, why = pcall(assert.history, engine, id, "/none/at/all.txt")
    assert.is_false(ok)
    assert.matches("snapshot_spec.lua:%d+: history: cannot write "
      .. "/none/at/all.txt", tostring(why))
  end)

  it("is never written where it is not to be so", function()
    local path = tmp.path "none.txt"
    local engine <close>, id = gone(1)
    for _, all in ipairs { false, true } do
      snapshot.writes = all
      local ok, why = pcall(assert.is_not.history, engine, id, path)
      assert.is_false(ok)
      assert.matches(("history: cannot read %s: No such file"):format(path),
        tostring(why), 1, true)
      assert.is_nil(io.open(path))
    end
    local file = tmp.file("other.txt", "other\n")
    assert.is_not.history(engine, id, file)
    assert.equal("other\n", tmp.read(file))
  end)
end)

describe("what differs", function()
  local function text(lines) return table.concat(lines, "\n") .. "\n" end

  it("is told with what is around it, and nothing of all else", function()
    assert.same({ "  b", "  c", "- d", "+ x", "+ y", "  e", "  f" },
      snapshot.differences(text { "a", "b", "c", "d", "e", "f", "g" },
        text { "a", "b", "c", "x", "y", "e", "f", "g" }))
    assert.same({}, snapshot.differences("", ""))
    assert.same({ "+ a" }, snapshot.differences("", "a\n"))
    assert.same({ "- a", "  b", "- c" }, snapshot.differences(
      text { "a", "b", "c" }, text { "b" }))
  end)

  it("is told of many lines, too, without comparing each with each", function()
    local a, b = {}, {}
    for i = 1, 5000 do a[i], b[i] = "a" .. i, "b" .. i end
    assert.equal(10000, #snapshot.differences(text(a), text(b)))
  end)
end)
