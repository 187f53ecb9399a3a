--- The README's examples, run as they stand.
local pawl = require "pawl"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

--- The fenced blocks of one language, in order.
local function blocks(language)
  local found = {}
  for text in read("README.md"):gmatch("```" .. language .. "\n(.-)```") do
    found[#found + 1] = text
  end
  return found
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

describe("the README", function()
  it("shows a workflow of at most 30 lines of code that completes", function()
    local text = blocks("lua")[1]
    local lines = 0
    for line in text:gmatch "[^\n]+" do
      if not line:match "^%s*%-%-" then lines = lines + 1 end
    end
    assert.is_true(lines <= 30)
    local engine <close>, clock = testing.open()
    assert(engine:load(write(tmp.path "order.lua", text)))
    local id = assert(engine:start("shop.order", { price = 30, count = 4 }))
    assert(engine:run {})
    assert.equal("waiting", engine:get(id).status)
    clock:advance(1)
    assert(engine:run {})
    assert.same({ total = 120 }, engine:get(id).output)
  end)

  it("shows Lua that drives an engine and moves the clock", function()
    local all = blocks "lua"
    local folder = tmp.path "readme"
    os.execute("mkdir -p '" .. folder .. "'")
    local order = write(folder .. "/order.lua", all[1])
    local store = folder .. "/pawl.db"
    for i = 2, #all do
      local text = all[i]:gsub('"order%.lua"', ("%q"):format(order))
        :gsub('"pawl%.db"', ("%q"):format(store))
      local printed = {}
      local env = setmetatable({
        print = function(...) printed[#printed + 1] = table.concat({ ... }) end,
      }, { __index = _G })
      assert(load(text, "=README " .. i, "t", env))()
      if text:find "%-%-> completed" then
        assert.same({ "completed" }, printed)
      end
    end
    assert.is_true(#all >= 3)
    assert.is_function(pawl.open)
  end)
end)
