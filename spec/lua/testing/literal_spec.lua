--- Values written as Lua that gives them back.
local Random = require "pawl.testing.random"
local literal = require "pawl.testing.literal"
local pawl = require "pawl"

local function read(text)
  return assert(load("local pawl = ... return " .. text))(pawl)
end

local function drawn(random, depth)
  local kind = random:upto(depth > 4 and 6 or 8)
  if kind == 1 then return random:chance(50) end
  if kind == 2 then return pawl.null end
  if kind == 3 then
    return random:pick { 0, -1, math.maxinteger, math.mininteger, 7 }
  end
  if kind == 4 then
    return random:pick { 0.5, -1e300, 1 / 3, 2.0, 1e15, 5e-324 }
  end
  if kind < 7 then
    return random:pick { "", "a", "end", 'a"b\\', "\n\0\r\t\27x", "\u{1F600}ä",
      ("long "):rep(30) }
  end
  local out = kind == 7 and pawl.array {} or {}
  for i = 1, random:between(0, 5) do
    local key = kind == 7 and i or random:pick { "a", "end", "x y", "1", "_b" }
    out[key] = drawn(random, depth + 1)
  end
  return out
end

describe("a literal", function()
  it("gives back what it was made of, whatever that is", function()
    local random = Random.new(1)
    for _ = 1, 500 do
      local value = drawn(random, 0)
      local text = literal.of(value)
      assert.equal(pawl.json.encode(value), pawl.json.encode(read(text)), text)
      local back = read(text)
      assert.equal(math.type(value), math.type(back))
    end
  end)

  it("keeps bytes that are no text, and is read however deep it is", function()
    assert.equal("\255\0a", read(literal.of "\255\0a"))
    local deep = {}
    for _ = 1, 80 do deep = { deep } end
    assert.equal(pawl.json.encode(deep),
      pawl.json.encode(read(literal.of(deep))))
  end)

  it("is a line where it fits, and lines where not", function()
    assert.equal('{ a = 1, ["end"] = "x" }',
      literal.of { a = 1, ["end"] = "x" })
    local text = literal.of({ a = ("x"):rep(50), b = ("y"):rep(50) }, 2)
    assert.equal(('{\n    a = "%s",\n    b = "%s",\n  }'):format(("x"):rep(50),
      ("y"):rep(50)), text)
  end)
end)
