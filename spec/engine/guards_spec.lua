-- Small conditions that each keep something apart, and that other specs do not
-- lean on.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("a suspension by prefix", function(backend)
  it("leaves alone what only begins with the same letters", function()
    local engine, clock = backend.fresh()
    local ids = {}
    for _, code in ipairs { "a.b", "a", "ab", "axb", "b.a.c" } do
      assert(engine:load(kit.timer("1h", code)))
    end
    assert(engine.workflows:suspend { prefix = "a." })
    for _, code in ipairs { "a.b", "a", "ab", "axb", "b.a.c" } do
      ids[code] = assert(engine:start(code))
    end
    assert(engine:run())
    clock:advance "2h"
    assert(engine:run())
    for code, id in pairs(ids) do
      assert.equal(code == "a.b" and "created" or "completed",
        kit.status(engine, id), code)
    end
    assert(engine.workflows:resume { prefix = "a." })
    assert(engine:run())
    clock:advance "2h"
    assert(engine:run())
    assert.equal("completed", kit.status(engine, ids["a.b"]))
  end)

  it("leaves that alone too when one is run by its id", function()
    local engine = backend.fresh()
    assert(engine.workflows:suspend { prefix = "a." })
    for _, code in ipairs { "a.b", "a", "ab", "axb", "b.a.c" } do
      assert(engine:load(kit.one(nil, { code = code })))
      local id = assert(engine:start(code))
      assert(engine:run { id = id })
      assert.equal(code == "a.b" and "created" or "completed",
        kit.status(engine, id), code)
    end
  end)
end)

kit.describe("two people who saw a task in one state", function(backend)
  it("do not both change it, though its status stays", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "t" }
    flow:task("t", { title = "x", groups = "north", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.task")
    assert(engine:run())
    local task = assert(engine.tasks:list { instance = id })[1]
    local store = kit.store(url, clock)
    local function give(to)
      return kit.run(store, "task_write", { shard = kit.shard(task.id),
        id = task.id, commits = 0, was = "pending", status = "pending",
        request = kit.draw_id(), assignee = to, now = store:now() }).changed
    end
    assert.equal(1, give "ann")
    assert.equal(0, give "bob")
    assert.equal("ann", assert(engine.tasks:get(task.id)).assignee)
  end)
end)

kit.describe("an event that was kept", function(backend)
  it("has one word where a pattern has its star", function()
    for name, takes in pairs { ["payment.a"] = true, ["payment.a.b"] = false,
      ["payments.a"] = false, ["payment"] = false } do
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.star", start = "w" }
      flow:wait("w", { event = "payment.*", key = "order", next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      assert(engine:signal { name = name, key = "17" })
      local id = assert(engine:start("t.star", { order = "17" }))
      assert(engine:run())
      assert.equal(takes and "completed" or "waiting",
        kit.status(engine, id), name)
    end
  end)
end)

kit.describe("undoing more than a page", function(backend)
  for before = 29, 33 do
    it("undoes each step once, with its branch: " .. before .. " before a fork",
      function()
        local engine = backend.fresh()
        local undone = {}
        local function undo(ctx)
          undone[#undone + 1] = ("%s%s %s"):format(ctx.node,
            ctx.output, ctx.token.branch or "-")
        end
        local flow = pawl.workflow { code = "t.page", start = "a" }
        flow:step("a", { undo = undo, next = { again = "a", on = "f" },
          run = function(ctx)
            ctx.vars.n = (ctx.vars.n or 0) + 1
            return ctx.vars.n == before and "on" or "again", ctx.vars.n
          end })
        flow:fork("f", { next = { "l", "r" } })
        for _, name in ipairs { "l", "r" } do
          flow:step(name, { undo = undo, next = name .. 2,
            run = function() return nil, 1 end })
          flow:step(name .. 2, { undo = undo, next = "j",
            run = function() return nil, 2 end })
        end
        flow:join("j", { next = "bad" })
        flow:step("bad", { retry = false, next = "z",
          run = function() error "no" end })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start "t.page")
        assert(engine:run())
        assert.failed(engine, id)
        local wanted = { "r22 r", "l22 l", "r1 r", "l1 l" }
        for n = before, 1, -1 do wanted[#wanted + 1] = "a" .. n .. " -" end
        assert.same(wanted, undone)
      end)
  end
end)

kit.describe("two inner joins that come to an `any` in one decision",
  function(backend)
    it("let the first of them go on, once", function()
      for _, first in ipairs { "l", "r" } do
        local engine, clock = backend.fresh()
        local flow = pawl.workflow { code = "t.inner", start = "f" }
        flow:fork("f", { next = { l = "lf", r = "rf" } })
        for _, side in ipairs { "l", "r" } do
          flow:fork(side .. "f", { next = { side .. "1", side .. "2" } })
          flow:timer(side .. "1", { after = side == first and "1h" or "2h",
            next = side .. "i" })
          flow:timer(side .. "2", { after = side == first and "1h" or "2h",
            next = side .. "i" })
          flow:join(side .. "i", { next = "j" })
        end
        flow:join("j", { expect = "any", next = "s" })
        flow:step("s", { next = "z", run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
        end })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start "t.inner")
        assert(engine:run())
        clock:advance "3h"
        assert(engine:run())
        local instance = assert(engine:get(id))
        assert.equal("completed", instance.status)
        assert.same({ n = 1 }, instance.variables)
        local path
        for _, row in ipairs(assert(engine:history(id))) do
          if (row.path or ""):find "i; j; s" then path = row.path end
        end
        assert.equal(first .. "i; j; s", path)
      end
    end)
  end)
