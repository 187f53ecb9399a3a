-- A row as a line of JSON, and back: exact for every type of column.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a line", function(backend)
  --- The attribute's value after a way there and back.
  local function carried(value)
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start("t.timer", {},
      { attributes = { a = value } }))
    local back = backend.fresh { clock = clock }
    local text = assert(engine:export(id))
    assert(back:import(text, { release = true }))
    local got = assert(back:get(id)).attributes.a
    assert.equal(tostring(value), tostring(got))
    return text, got
  end

  it("has a column of each type as it is", function()
    local text, got = carried(-0.0)
    assert.matches('"float_value":%-0%.0[,}]', text)
    assert.equal(-1 / 0, 1 / got)
    assert.matches('"float_value":1e%+308', (carried(1e308)))
    assert.matches('"number_value":"%-9223372036854775808"',
      (carried(math.mininteger)))
    assert.matches('"number_value":"12%.50"', (carried(pawl.decimal "12.50")))
    assert.matches('"boolean_value":false', (carried(false)))
    assert.matches('"bytes_value":"AAH/"', (carried(pawl.binary "\0\1\xff")))
    assert.matches('"bytes_value":""', (carried(pawl.binary "")))
    assert.matches('"date_value":"1970%-01%-01T00:00:00%.000000Z"',
      (carried(pawl.date "1970-01-01")))
    assert.matches('"text_value":""', (carried ""))
    carried("\1\"\\\n\u{7f}\u{10FFFF}")
  end)

  it("is one line, whatever JSON was given", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start("t.timer", { deep = { { {} } },
      text = "a\nb\r\n" }))
    local text = assert(engine:export(id))
    for line in text:gmatch "[^\n]+" do assert.matches("^{.*}$", line) end
    local back = backend.fresh { clock = clock }
    assert(back:import(text:gsub("\n", "\r\n\n"), { release = true }))
    assert.same(assert(engine:get(id)).input, assert(back:get(id)).input)
  end)

  it("carries what is nested to the limit", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    local deep = "x"
    for _ = 1, 199 do deep = { a = deep } end
    local id = assert(engine:start("t.timer", deep))
    local back = backend.fresh { clock = clock }
    assert(back:import(assert(engine:export(id)), { release = true }))
    assert.same(assert(engine:get(id)).input, assert(back:get(id)).input)
  end)
end)
