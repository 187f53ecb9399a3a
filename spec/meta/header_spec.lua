-- pawl.h teaches: over half of it is prose, and each function says what it
-- does, how it fails, and how it is called.
local tmp = require "spec.support.tmp"

local HEADER = tmp.read "src/pawl.h"

--- Lines with prose, and lines that hold code alone.
local function count()
  local prose, code, is_inside = 0, 0, false
  for line in HEADER:gmatch "[^\n]+" do
    local begins = line:find("/*", 1, true)
    if is_inside or begins then
      prose = prose + 1
    else
      code = code + 1
    end
    local rest = begins and line:sub(begins) or line
    is_inside = (is_inside or begins) and not rest:find("*/", 1, true)
  end
  return prose, code
end

--- The functions, each with the comment above it.
local function functions()
  local list = {}
  for at, text in HEADER:gmatch "\n()(PAWL_API [^;#]-;)" do
    local comment = HEADER:sub(1, at - 1):match ".*/%*(.-)%*/\n$"
    list[#list + 1] = { name = text:match "(pawl_[%w_]+)%(",
      comment = comment or "", text = text }
  end
  return list
end

describe("pawl.h", function()
  it("is over half prose", function()
    local prose, code = count()
    assert.is_true(prose > code, ("%d of %d"):format(prose, prose + code))
  end)

  local all = functions()

  it("has a comment above each function", function()
    for _, one in ipairs(all) do assert.not_equal("", one.comment, one.name) end
    assert.is_true(#all > 30)
  end)

  for _, one in ipairs(all) do
    it("says how " .. one.name .. " fails, and shows a call", function()
      assert.is_truthy(one.comment:find "PAWL_%u" or
        one.comment:find "[Cc]annot fail")
      local example = one.comment:match "\n %*\n( %*   .*)$"
      assert.is_truthy(example and example:find(one.name .. "(", 1, true))
    end)

    it("says of the text that " .. one.name .. " gives whose it is", function()
      if one.text:find "char %*%*out" then
        assert.is_truthy(one.comment:find "caller")
      end
    end)
  end
end)
