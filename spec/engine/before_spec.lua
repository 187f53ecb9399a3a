-- What came before an instance was started, and what started it.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("the event that starts an instance", function(backend)
  local function flow(more)
    local one = pawl.workflow { code = "t.trig", start = "w",
      trigger = "order.changed", cancel_on = more }
    one:wait("w", { event = "order.changed", key = "order", into = "got",
      next = "z" })
    one:finish("z", { output = function(ctx) return ctx.vars.got end })
    return one
  end
  local function change(engine, n)
    assert(engine:signal { name = "order.changed", key = "17",
      id = "e" .. n, source = "shop", data = { order = "17", n = n } })
    assert(engine:run())
  end

  it("is not taken by its own wait, which takes the next", function()
    local engine = backend.fresh { shards = 3 }
    assert(engine:load(flow()))
    change(engine, 1)
    local one = assert(engine:list { workflow = "t.trig" })[1]
    assert.equal("waiting", one.status)
    change(engine, 2)
    assert.same({ order = "17", n = 2 }, assert(engine:get(one.id)).output)
    assert.equal(2, #assert(engine:list { workflow = "t.trig" }))
  end)

  it("is not taken either where its own wait began before it was posted",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(flow()))
      change(engine, 1)
      local id = assert(engine:list { workflow = "t.trig" })[1].id
      local store = kit.store(url, clock)
      kit.run(store, "inbox_insert_many", { shard = 0, id = { id },
        no = { kit.draw_id() }, name = "order.changed", key = "17",
        event_id = "shop:e1", source = "shop", addressed = false,
        now = store:now() })
      assert.equal(0, kit.count(backend, url, "inbox"))
      kit.run(store, "inbox_insert_many", { shard = 0, id = { id },
        no = { kit.draw_id() }, name = "order.changed", key = "17",
        event_id = "shop:e2", source = "shop", addressed = false,
        now = store:now() })
      assert.equal(1, kit.count(backend, url, "inbox"))
    end)

  it("does not cancel it, but the next does", function()
    local engine = backend.fresh()
    assert(engine:load(flow { { event = "order.changed", key = "order" } }))
    change(engine, 1)
    local one = assert(engine:list { workflow = "t.trig" })[1]
    assert.equal("waiting", one.status)
    change(engine, 2)
    assert.equal("cancelled", kit.status(engine, one.id))
  end)
end)

kit.describe("an event that would cancel, in the instant of the start,",
  function(backend)
    local function timer()
      local flow = pawl.workflow { code = "t.newer", start = "t",
        cancel_on = { { event = "newer", key = "group" } } }
      flow:timer("t", { after = "1s", next = "z" })
      flow:finish "z"
      return flow
    end

    for _, id in ipairs { "drawn", "given" } do
      local function signal(engine, n)
        assert(engine:signal { name = "newer", key = "g",
          id = id == "given" and "zz" .. n or nil })
      end

      it("does not when it came before: its id is " .. id, function()
        local engine, clock = backend.fresh()
        assert(engine:load(timer()))
        signal(engine, 1)
        local one = assert(engine:start("t.newer", { group = "g" }))
        assert(engine:run())
        clock:advance(2)
        assert(engine:run())
        assert.completed(engine, one)
      end)

      it("does when it came behind: its id is " .. id, function()
        local engine = backend.fresh()
        assert(engine:load(timer()))
        local one = assert(engine:start("t.newer", { group = "g" }))
        signal(engine, 1)
        assert(engine:run())
        assert.equal("cancelled", kit.status(engine, one))
      end)

      it("is told by microseconds from one before: its id is " .. id,
        function()
          local engine, clock = backend.fresh()
          assert(engine:load(timer()))
          signal(engine, 1)
          clock:advance(0.000001)
          local one = assert(engine:start("t.newer", { group = "g" }))
          local other = assert(engine:start("t.newer", { group = "g" },
            { delay = "1h" }))
          assert(engine:run())
          assert.equal("waiting", kit.status(engine, one))
          clock:advance(0.000001)
          signal(engine, 2)
          assert(engine:run())
          assert.equal("cancelled", kit.status(engine, one))
          clock:advance "2h"
          assert(engine:run())
          assert.equal("cancelled", kit.status(engine, other))
        end)
    end
  end)

kit.describe("an event for an instance that waits for it twice",
  function(backend)
    it("is taken by every wait that stands there, and by none that comes later",
      function()
        for _, key in ipairs { "order", false } do
          local engine = backend.fresh()
          local flow = pawl.workflow { code = "t.two", start = "f" }
          flow:fork("f", { next = { "a", "b" } })
          for _, name in ipairs { "a", "b" } do
            flow:wait(name, { event = "job", key = key or nil, into = name,
              next = "j" })
          end
          flow:join("j", { next = "c" })
          flow:wait("c", { event = "job", key = key or nil, next = "z" })
          flow:finish "z"
          assert(engine:load(flow))
          local id = assert(engine:start("t.two", { order = "17" }))
          assert(engine:run())
          assert(engine:signal { name = "job", key = key and "17", data = 1,
            instance = not key and id or nil, id = "j1" })
          assert(engine:run())
          local instance = assert(engine:get(id))
          assert.same({ a = 1, b = 1 }, instance.variables)
          assert.equal("waiting", instance.status)
          assert.equal("c", instance.node)
        end
      end)
  end)
