-- An attribute's text for sorting, as it is stored.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("the sortable text of an attribute", function(backend)
  --- That of each value, in their order.
  local function texts(values)
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local attributes = {}
    for i, value in ipairs(values) do
      attributes[("a%02d"):format(i)] = value
    end
    assert(engine:start("t.one", nil, { attributes = attributes }))
    local found = {}
    for i, row in ipairs(kit.select(url, ("select sortable from %s order by "
      .. "name"):format(kit.table(backend, "attribute")))) do
      found[i] = row.sortable or ""
    end
    return found
  end

  it("is the same in every store", function()
    assert.same({ "sKøln", "s", "b0", "b1", "n25000112", "n25000112",
      "n2499981", "n1", "n1", "n04999887~", "n250001125", "n2500031", "" },
      texts { "Køln", "", false, true, 1.2, pawl.decimal "1.20",
        pawl.decimal "0.001", 0, -0.0, -1.2, pawl.decimal "1.25", 100,
        pawl.binary "x" })
  end)

  it("sorts as the values of a type do", function()
    local D <const> = pawl.decimal
    for _, values in ipairs {
      { math.mininteger, -1e15, -101, D "-100.5", -100, -99, -1, D "-0.5",
        D "-0.25", -1e-7, 0, 1e-300, 1e-7, D "0.25", 0.5, 1, 9, 10, 99, 100,
        D "100.5", 101, 2 ^ 53, math.maxinteger, 2.0 ^ 63, 1e300 },
      { "", "A", "Z", "a", "a\1", "aa", "b", "\u{d7ff}", "\u{e000}",
        "\u{10ffff}" },
      { pawl.date "0001-01-01", pawl.date "1969-12-31T23:59:59.999999Z",
        pawl.date "1970-01-01", pawl.date "9999-12-31" },
      { false, true },
    } do
      local found = texts(values)
      assert.equal(#values, #found)
      for i = 2, #found do
        assert.is_true(found[i - 1] < found[i] or os.setlocale() ~= "C",
          found[i - 1] .. " and " .. found[i])
      end
    end
  end)

  it("fits beside a name into an index", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local bytes = {} -- that do not become fewer when they are packed
    for i = 1, 2000 do bytes[i] = string.char(33 + i * i * 7 % 90) end
    local name, text = ("n"):rep(255), table.concat(bytes)
    local id = assert(engine:start("t.one", nil, { attributes = {
      [name] = text, digits = pawl.decimal("-" .. ("7"):rep(999)) } }))
    for _, attributes in ipairs { { [name] = text },
      { digits = pawl.decimal("-" .. ("7"):rep(999)) } } do
      assert.equal(id, assert(engine:list { attributes = attributes })[1].id)
    end
  end)
end)
