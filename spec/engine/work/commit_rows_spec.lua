-- What most commits have none of: rows of tokens, effects, what an end leaves.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("what a step does beside its row", function(backend)
  local function forked()
    local flow = pawl.workflow { code = "t.fork", start = "f" }
    flow:fork("f", { next = { "a", "w", "p" } })
    flow:step("a", { next = "j", run = function(ctx)
      ctx.emit("done", { n = 1 })
      ctx.attrs.city = "x"
      ctx.token.data = { d = 1 }
    end })
    flow:wait("w", { event = "paid", key = "order", next = "j" })
    flow:task("p", { title = "t", users = { "ann", "bob" }, next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    return flow
  end

  it("is in the tables for it, and gone with the end", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(forked()))
    local id = assert(engine:start("t.fork", { order = "o" }))
    assert(engine:run())
    local function n(table_name, where)
      return kit.count(backend, url, table_name, where)
    end
    assert.equal(3, n("token", "state <> 'consumed'"))
    assert.equal(1, n "subscription")
    assert.equal(1, n "task")
    assert.equal(2, n "owner")
    assert.equal(1, n "outbox")
    assert.equal(1, n "attribute")
    assert(engine:kill(id))
    assert.equal(0, n("token", "state in ('active', 'waiting')"))
    assert.equal(0, n "subscription")
    assert.equal(0, n("task", "status = 'pending'"))
    assert.equal(1, n "outbox") -- it was told, whatever becomes of it
    assert.equal(0, n "agenda")
  end)

  it("costs a plain sequence no statement", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain({ function() end, function() end }, "t.a")))
    assert(engine:load(kit.chain({ function() end,
      function(ctx) ctx.emit("x", 1) end }, "t.b")))
    local function cost(code)
      assert(engine:start(code))
      local before = engine:count().statements
      assert(engine:run())
      return engine:count().statements - before
    end
    cost "t.a"
    cost "t.b"
    assert.is_true(cost "t.a" < cost "t.b")
  end)
end)
