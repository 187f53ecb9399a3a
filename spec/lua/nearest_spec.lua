local nearest = require "pawl.nearest"

--- The same by its definition, without a table: slow.
local function naive(a, b)
  if a == "" or b == "" then return #a + #b end
  local best = math.min(naive(a:sub(2), b) + 1, naive(a, b:sub(2)) + 1,
    naive(a:sub(2), b:sub(2)) + (a:byte() == b:byte() and 0 or 1))
  if #a > 1 and #b > 1 and a:sub(1, 1) == b:sub(2, 2)
     and a:sub(2, 2) == b:sub(1, 1) then
    best = math.min(best, naive(a:sub(3), b:sub(3)) + 1)
  end
  return best
end

local function random_word()
  local letters = {}
  for i = 1, math.random(0, 5) do
    letters[i] = string.char(math.random(97, 99))
  end
  return table.concat(letters)
end

describe("nearest", function()
  it("counts edits as its definition does", function()
    for _ = 1, 400 do
      local a, b = random_word(), random_word()
      assert.equal(naive(a, b), nearest.distance(a, b), a .. " " .. b)
    end
  end)

  it("finds the word that was meant", function()
    local names = { "approve", "reserve", "ship", "ship2" }
    assert.equal("approve", nearest("aprove", names))
    assert.equal("reserve", nearest("Reserve", names))
    assert.equal("ship", nearest("shpi", names))
    assert.equal("ship2", nearest("ship2", names))
    assert.is_nil(nearest("xyz", names))
    assert.is_nil(nearest("", names))
    assert.is_nil(nearest("a", {}))
    assert.is_nil(nearest(("a"):rep(65), { ("a"):rep(65) }))
  end)

  it("hints at the known words when none is near", function()
    assert.equal("did you mean 'next'?", nearest.hint("nxt", { "next" }))
    assert.equal("known: next, run", nearest.hint("x", { "next", "run" }))
  end)

  describe("strict", function()
    local made, t

    before_each(function()
      made = 0
      t = nearest.strict({ now = 1 }, "there is no '%s'", { later = function()
        made = made + 1
        return made
      end })
    end)

    it("makes a field when it is first read, once", function()
      assert.equal(1, t.now)
      assert.equal(0, made)
      assert.equal(1, t.later)
      assert.equal(1, t.later)
    end)

    it("lists and suggests what is not made yet", function()
      local names = {}
      for name, value in pairs(t) do names[name] = value end
      assert.same({ now = 1, later = 1 }, names)
      assert.error_matches(function() return t.latre end,
        "there is no 'latre' %(did you mean 'later'%?%)")
    end)
  end)
end)
