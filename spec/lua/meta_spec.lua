-- lua/pawl/meta/pawl.lua, which editors read, against what is really there.
local pawl = require "pawl"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

local META = tmp.read "lua/pawl/meta/pawl.lua"

local function names_of(pattern)
  local names = {}
  for name in META:gmatch(pattern) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function functions_of(t)
  local names = {}
  for name, value in pairs(t) do
    if type(value) == "function" and not name:find "^__" then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

describe("the annotations", function()
  it("name every function of the module, and no other", function()
    assert.same(functions_of(pawl), names_of "\nfunction pawl%.([%w_]+)%(")
  end)

  it("name every function of pawl.json", function()
    assert.same(functions_of(pawl.json), names_of "\nfunction json%.([%w_]+)%(")
  end)

  it("name every method of an engine", function()
    local engine <close> = assert(testing.open())
    assert.same(functions_of(getmetatable(engine).__index),
      names_of "\nfunction Engine:([%w_]+)%(")
  end)

  it("are Lua", function() assert(loadfile "lua/pawl/meta/pawl.lua") end)

  it("do not claim a field of the module that is not there", function()
    for name in META:match "%-%-%-@class pawl\n(.-)\nlocal pawl"
      :gmatch "@field ([%w_]+)" do
      assert.is_not_nil(pawl[name], name)
    end
  end)
end)
