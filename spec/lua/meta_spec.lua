-- lua/pawl/meta/pawl.lua, which editors read, against what is really there.
local option = require "pawl.option"
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

--- The fields of a class, "?" and all that follows left out.
local function fields_of(class)
  local names = {}
  local text = META:match("%-%-%-@class " .. class .. "\n(.-)\n\n")
  for name in text:gmatch "@field ([%w_]+)" do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function keys_of(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The names in a C list: from `first` to `last`, those between quotes.
local function quoted(file, first, last)
  local names, text = {}, tmp.read(file)
  local begin = assert(text:find(first, 1, true), first)
  for name in text:sub(begin, text:find(last, begin, true))
    :gmatch '"([%w_]+)"' do
    names[#names + 1] = name
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

  it("name every field of ctx, and no other", function()
    assert.same(quoted("src/host/ctx.c", "#define CTX_FIELDS", "/*"),
      fields_of "pawl%.Ctx")
    assert.same(quoted("src/host/ctx.c", "TOKEN_NAMES[]", ";"),
      fields_of "pawl%.Token")
  end)

  it("name every option of a start, and no other", function()
    assert.same(keys_of(option.start), fields_of "pawl%.StartOptions")
    assert.same(keys_of(option.child), fields_of "pawl%.ChildOptions")
  end)

  it("are Lua", function() assert(loadfile "lua/pawl/meta/pawl.lua") end)

  it("do not claim a field of the module that is not there", function()
    for name in META:match "%-%-%-@class pawl\n(.-)\nlocal pawl"
      :gmatch "@field ([%w_]+)" do
      assert.is_not_nil(pawl[name], name)
    end
  end)
end)
