-- What was emitted, as CloudEvents 1.0 has it.
local emitted = require "spec.support.emitted"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local filled, receiver = emitted.filled, emitted.receiver
local relay, states = emitted.relay, emitted.states

kit.describe("an event", function(backend)
  it("hands over CloudEvents, in order, once", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.emit("order.placed", { order = 17, items = pawl.array {} })
      ctx.emit("mail.wanted", "text")
      ctx.emit("order.shipped")
    end, { code = "shop.order" })))
    local id = assert(engine:start("shop.order", nil, { tenant = "acme",
      correlation = "c-1", business_key = "order-17" }))
    assert(engine:run())
    local got = receiver()
    local told = relay(engine, got.publish)
    assert.equal(3, told.published)
    assert.equal(1, told.claimed)
    assert.is_nil(told.next_due)
    assert.same({ specversion = "1.0", id = id .. "/1",
      source = "/pawl/shop.order", type = "order.placed",
      time = "2026-01-01T00:00:00.000000Z", subject = id,
      sequence = ("0"):rep(19) .. "1", workflowversion = 1,
      correlation = "c-1", businesskey = "order-17", tenant = "acme",
      datacontenttype = "application/json",
      data = { order = 17, items = {} } }, got.list[1])
    assert.equal("text", got.list[2].data)
    assert.is_nil(got.list[3].data)
    assert.is_nil(got.list[3].datacontenttype)
    assert.equal("", states(engine))
    assert.equal(0, relay(engine, got.publish).published)
    assert.equal(3, #got)
  end)

  it("gives the event's text where that is asked for", function()
    local engine = filled(backend, 1, 1)
    local text
    relay(engine, function(given) text = given return true end,
      { how = "json", source = "urn:shop:" })
    assert.matches('^{"specversion":"1.0",', text)
    assert.matches('"source":"urn:shop:t.one"', text, 1, true)
    assert.matches('"data":{"i":1}}$', text)
  end)
end)
