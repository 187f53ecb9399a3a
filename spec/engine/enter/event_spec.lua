-- An event's members, by way of its row: whoever posts it later has no other
-- word of it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an event that is posted by its row", function(backend)
  local function waiting(options)
    local flow = pawl.workflow { code = "t.wait" }
    options.answer = function(event)
      return { name = event.name, key = event.key, id = event.id,
        source = event.source, data = event.data, at = event.received_at }
    end
    options.into = "data"
    flow:wait("w", options)
    flow:finish("z", { output = function(ctx) return ctx.event end })
    return flow
  end

  --- What an instance has of an event whose sender got no further than its row.
  local function got(options, event)
    local engine, clock, url = backend.fresh()
    assert(engine:load(waiting(options)))
    local id = assert(engine:start("t.wait", { order = event.key },
      { tenant = event.tenant }))
    assert(engine:run())
    local sent = clock:now()
    local allow = kit.refuse(backend, url, "inbox", "insert")
    assert.equal(0, assert(engine:signal(event)))
    allow()
    assert.equal(1, kit.count(backend, url, "event", "not posted"))
    clock:advance(6)
    local other = kit.rival(backend, url, clock) -- whose first look it is
    assert(other:load(waiting(options)))
    assert(other:run())
    assert.equal(0, kit.count(backend, url, "event", "not posted"))
    local instance = assert(other:get(id))
    assert.equal("completed", instance.status)
    local rows = assert(other:history(id, { type = "received" }))
    assert.equal(1, #rows)
    return instance.output, rows[1], sent
  end

  it("comes with all that was said", function()
    local event, row, sent = got({ event = "order.paid", key = "order" },
      { name = "order.paid", key = "o-1", id = "E1", source = "shop",
        data = { list = { 1, { two = "2" } } }, by = "ann",
        tenant = "acme" })
    assert.equal("order.paid", event.name)
    assert.equal("o-1", event.key)
    assert.equal("E1", event.id)
    assert.equal("shop", event.source)
    assert.same({ list = { 1, { two = "2" } } }, event.data)
    assert.equal(sent, event.received_at)
    assert.equal("ann", row.by)
  end)

  it("comes to a pattern, with no key and nothing else", function()
    local event, row = got({ event = "order.*" }, { name = "order.paid" })
    assert.equal("order.paid", event.name)
    assert.is_nil(event.key)
    assert.is_nil(row.by)
  end)

  it("comes with members as long as they may be", function()
    local longest = ("k"):rep(255)
    local event = got({ event = "order.paid", key = "order" },
      { name = "order.paid", key = longest, id = longest, source = longest })
    assert.same({ longest, longest, longest },
      { event.key, event.id, event.source })
  end)
end)
