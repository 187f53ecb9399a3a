-- What lists ask of attributes: equality, ranges, sets, prefixes.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local random = require "pawl.testing.random"

local function starts(engine, list)
  local of = {}
  for name, attributes in pairs(list) do
    of[assert(engine:start("t.one", nil, { attributes = attributes }))] = name
  end
  return of
end

--- The names of those that a condition finds, in order.
local function finder(engine, of)
  return function(attributes, more)
    local query, found = { attributes = attributes }, {}
    for name, value in pairs(more or {}) do query[name] = value end
    for _, row in ipairs(assert(engine:list(query))) do
      found[#found + 1] = of[row.id]
    end
    table.sort(found)
    return table.concat(found, " ")
  end
end

kit.describe("an attribute that a list asks for", function(backend)
  local engine
  before_each(function()
    engine = backend.fresh { shards = 2 }
    assert(engine:load(kit.one()))
  end)

  it("equals a value of its type", function()
    local found = finder(engine, starts(engine, {
      text = { v = "1" }, integer = { v = 1 }, yes = { v = true },
      no = { v = false }, day = { v = pawl.date "2026-01-31" },
      other = { w = 1 }, empty = { v = "" }, bytes = { v = pawl.binary "1" },
    }))
    assert.equal("text", found { v = "1" })
    assert.equal("integer", found { v = 1 })
    assert.equal("yes", found { v = true })
    assert.equal("no", found { v = false })
    assert.equal("day", found { v = pawl.date "2026-01-31" })
    assert.equal("empty", found { v = "" })
    assert.equal("other", found { w = 1 })
    assert.equal("", found { v = 2 })
    assert.equal("integer", found { v = { "=", 1 } })
    assert.equal("integer text", found { v = { "in", 1, "1", 1, "2" } })
    assert.equal("", found { v = 1, w = 1 })
    assert.equal("integer", found({ v = 1 }, { status = "created" }))
    assert.equal("", found({ v = 1 }, { status = "completed" }))
    assert.equal("empty text", found { v = { "prefix", "" } })
    assert.equal("no yes", found { v = { ">=", false } })
  end)

  it("is a number, whether an integer, a float or a decimal", function()
    local found = finder(engine, starts(engine, {
      a = { n = 10 }, b = { n = 9.5 }, c = { n = pawl.decimal "9.500" },
      d = { n = -10 }, e = { n = pawl.decimal "-9.75" }, f = { n = 0 },
      g = { n = -0.0 }, h = { n = 100 }, i = { n = 0.1 },
      j = { n = pawl.decimal "0.1" }, k = { n = math.maxinteger },
      l = { n = 1e300 }, m = { n = math.mininteger }, o = { n = -1e-300 },
    }))
    assert.equal("b c", found { n = 9.5 })
    assert.equal("b c", found { n = pawl.decimal "9.5" })
    assert.equal("f g", found { n = 0 })
    assert.equal("i j", found { n = pawl.decimal "0.10" })
    assert.equal("a", found { n = 10.0 })
    assert.equal("h k l", found { n = { ">", 10 } })
    assert.equal("a h k l", found { n = { ">=", 10 } })
    assert.equal("d e m o", found { n = { "<", 0 } })
    assert.equal("m", found { n = { "<", -10 } })
    assert.equal("d e m", found { n = { "<=", pawl.decimal "-9.75" } })
    assert.equal("a b c i j", found { n = { ">", 0, "<", 100 } })
    assert.equal("k", found { n = math.maxinteger })
    assert.equal("k l", found { n = { ">=", math.maxinteger } })
    assert.equal("", found { n = { ">", 100, "<", 100 } })
  end)

  it("is a date or a string in a range", function()
    local found = finder(engine, starts(engine, {
      a = { d = pawl.date "1969-12-31", s = "Zebra" },
      b = { d = pawl.date "2026-01-31T10:00:00.000001Z", s = "apple" },
      c = { d = pawl.date "0001-01-01", s = "apples" },
      d = { s = "äpfel" }, e = { s = "app\u{10ffff}x" },
    }))
    assert.equal("b", found { d = { ">", pawl.date "2026-01-31T10:00:00Z" } })
    assert.equal("a c", found { d = { "<", pawl.date "1970-01-01" } })
    assert.equal("a", found { d = { ">=", pawl.date "0001-01-02",
      "<", pawl.date "1970-01-01" } })
    assert.equal("b c e", found { s = { "prefix", "app" } })
    assert.equal("c", found { s = { "prefix", "apples" } })
    assert.equal("e", found { s = { "prefix", "app\u{10ffff}" } })
    assert.equal("a", found { s = { "<", "a" } })
    assert.equal("d", found { s = { ">=", "b" } })
    assert.equal("c e", found { s = { ">", "apple", "<", "b" } })
    assert.equal("a b", found { s = { "in", "Zebra", "apple" } })
  end)

  it("is one of several conditions, and one of all that is asked", function()
    local found = finder(engine, starts(engine, {
      a = { region = "eu", amount = 5 }, b = { region = "eu", amount = 50 },
      c = { region = "us", amount = 50 }, d = { amount = 50 },
    }))
    assert.equal("b", found { region = "eu", amount = { ">=", 10 } })
    assert.equal("b c", found { region = { "prefix", "" },
      amount = { ">=", 10 } })
    assert.equal("b c d", found { amount = { ">=", 10 } })
    assert.equal("", found({ region = "eu" }, { key = "k" }))
    assert.equal("a b", found({ region = "eu" }, { workflow = "t.one" }))
    assert.equal("", found({ region = "eu" }, { tenant = "x" }))
  end)

  it("is what it was set to last", function()
    assert(engine:load(kit.one(function(ctx)
      ctx.attrs.n = ctx.input.n
      ctx.attrs.s = "new"
    end, { code = "t.set" })))
    local id = assert(engine:start("t.set", { n = 7 },
      { attributes = { n = 1, s = "old", gone = true } }))
    assert(engine:run())
    local found = finder(engine, { [id] = "it" })
    assert.equal("it", found { n = 7, s = "new", gone = true })
    assert.equal("", found { n = 1 })
    assert.equal("", found { s = "old" })
  end)

  it("is found page by page", function()
    local ids = {}
    for i = 1, 7 do
      ids[i] = assert(engine:start("t.one", nil, { attributes = {
        region = "eu", n = i } }))
    end
    for _, attributes in ipairs { { region = "eu" },
      { region = { "in", "eu", "us" } }, { n = { ">", 0 } } } do
      local seen, last = {}, nil
      repeat
        local page = assert(engine:list { attributes = attributes, limit = 3,
          before = last })
        for _, row in ipairs(page) do table.insert(seen, 1, row.id) end
        last = page[#page].id
      until #page < 3
      assert.same(ids, seen)
      local first = assert(engine:list { attributes = attributes, limit = 2,
        sort = "oldest" })
      assert.same({ ids[1], ids[2] }, { first[1].id, first[2].id })
    end
  end)

  it("sorts numbers as a naive comparison does", function()
    local rand, numbers, list = random.new(17), {}, {}
    for i = 1, 60 do
      local digits = rand:between(0, 3)
      local text = ("%d"):format(rand:between(0, 10 ^ rand:between(0, 4) // 1))
      if digits > 0 then
        text = text .. (".%0" .. digits .. "d"):format(rand:between(0,
          10 ^ digits // 1 - 1))
      end
      if rand:upto(2) == 1 then text = "-" .. text end
      numbers[i] = text
      list[tostring(i)] = { n = pawl.decimal(text) }
    end
    local found = finder(engine, starts(engine, list))
    for _ = 1, 10 do
      local bound, want = numbers[rand:upto(#numbers)], {}
      for i, text in ipairs(numbers) do
        if tonumber(text) < tonumber(bound) then
          want[#want + 1] = tostring(i)
        end
      end
      table.sort(want)
      assert.equal(table.concat(want, " "),
        found { n = { "<", pawl.decimal(bound) } })
    end
  end)

  local function refused(words, attributes)
    local ok, done, err = pcall(engine.list, engine,
      { attributes = attributes })
    local said = ok and err and (err.message .. " " .. (err.hint or ""))
      or tostring(done)
    assert.is_true(not ok or done == nil)
    assert.matches(words, said)
    if ok then assert.equal("attributes", err.where) end
  end

  it("is refused when it is no condition", function()
    refused("<=, >, >=, prefix or in", { n = { "=>", 1 } })
    refused('did you mean "prefix"', { n = { "prefx", "a" } })
    refused("prefix or in", { n = { "between", 1, 2 } })
    refused("where a comparison should stand", { n = { 1, 2 } })
    refused("is empty", { n = {} })
    refused("not said with what", { n = { ">=" } })
    refused("not said with what", { n = { ">=", 1, "<" } })
    refused("set of nothing", { n = { "in" } })
    refused('"in" behind', { n = { ">", 1, "in", 2 } })
    refused("two types", { n = { ">", 1, "<", "b" } })
    refused("no string", { n = { "prefix", 1 } })
    refused("bytes", { n = pawl.binary "x" })
    refused("no attribute", {})
    refused("no type and value", { n = { ">", { "a" } } })
    refused("function", { n = print })
    refused("2000 bytes", { n = ("x"):rep(2001) })
    refused("needs escaping", { ["a\\b"] = 1 })
    local many = { "in" }
    for i = 1, 101 do many[i + 1] = i end
    refused("more than 100", { n = many })
  end)
end)
