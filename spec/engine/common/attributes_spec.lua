-- Attributes: one column for each type, and out as they went in.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an instance's attributes", function(backend)
  it("come out as they went in, and can be given again", function()
    local engine, _, url = backend.fresh { shards = 2 }
    assert(engine:load(kit.timer()))
    local id = assert(engine:start("t.timer", {}, { attributes = {
      city = "Køln", n = 7, share = 0.5, vip = false,
      due = pawl.date "2026-02-03", price = pawl.decimal "10.50",
      key = pawl.binary "\0\255",
    } }))
    local other = assert(engine:start("t.timer"))
    local got = assert(engine:get(id)).attributes
    assert.equal("Køln", got.city)
    assert.equal("integer", math.type(got.n))
    assert.equal(0.5, got.share)
    assert.is_false(got.vip)
    local again = assert(engine:start("t.timer", {}, { attributes = got }))
    assert.same(got, assert(engine:get(again)).attributes)
    assert.same({}, assert(engine:get(other)).attributes)
    assert.equal(14, kit.count(backend, url, "attribute"))
  end)

  it("are refused when a value is none of the types", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local ok, done, err = pcall(engine.start, engine, "t.timer", {},
      { attributes = { list = { 1, 2 } } })
    assert.is_true(not ok or done == nil, "it was taken")
    assert.matches("list", tostring(ok and err or done))
    assert.equal(0, kit.count(backend, url, "instance"))
  end)
end)
