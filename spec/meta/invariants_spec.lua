-- What headers keep is numbered ("Keeps    S1 an instance is written only..."),
-- and quoted by its number where code keeps it: a number stands for one thing
-- in the whole tree, and what is quoted is there.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local NUMBER = "%f[%w]([A-Z][1-9])%f[%W]"

--- It is no definition that goes on so: "N4 and N5 of slots.h", "U1 to U3".
local REFERS = { "^and [A-Z]%d", "^to [A-Z]%d", "^of [%w_/]+%.h" }

local function files(place, ...)
  local list = {}
  for _, ending in ipairs { ... } do
    for path in shell.output { "find", place, "-name", "*." .. ending }
      :gmatch "[^\n]+" do
      list[#list + 1] = path
    end
  end
  return list
end

local function add(list, more)
  return table.move(more, 1, #more, #list + 1, list)
end

local CODE = add(files("src", "c", "h"), files("spec/c", "c", "h"))

--- The comments of a file of C or SQL, without their first signs.
local function comments(path)
  local text = tmp.read(path)
  local list = {}
  if path:find "%.sql$" then
    for line in text:gmatch "%-%-([^\n]*)" do list[#list + 1] = line end
  else
    for comment in text:gmatch "/%*(.-)%*/" do list[#list + 1] = comment end
  end
  return list
end

local function refers(text)
  for _, pattern in ipairs(REFERS) do
    if text:find(pattern) then return true end
  end
  return false
end

--- Calls `found` with each number that a comment defines.
local function each_definition(comment, found)
  for line in comment:gmatch "[^\n]+" do
    line = line:gsub("^ %* Keeps ", " *  ")
    local number, text = line:match "^ %*  +([A-Z][1-9]) +(%w.*)"
    if number and not refers(text) then found(number) end
  end
end

local defined, twice = {}, {} -- by number: its file; what two have
for _, path in ipairs(CODE) do
  for _, comment in ipairs(comments(path)) do
    each_definition(comment, function(number)
      if defined[number] then
        twice[#twice + 1] = ("%s: %s, %s"):format(number, defined[number],
          path)
      end
      defined[number] = path
    end)
  end
end

describe("what a header keeps", function()
  it("has a number of its own in the whole tree", function()
    local count = 0
    for _ in pairs(defined) do count = count + 1 end
    assert.is_true(count >= 60, count)
    assert.same({}, twice)
  end)

  it("is there where it is quoted", function()
    local lost = {}
    for _, path in ipairs(add(files("sql", "sql"), CODE)) do
      for _, comment in ipairs(comments(path)) do
        for number in comment:gmatch(NUMBER) do
          if not defined[number] then
            lost[#lost + 1] = path .. ": " .. number
          end
        end
      end
    end
    assert.same({}, lost)
  end)

  it("stands in the file that docs name beside it", function()
    local lost, seen = {}, 0
    for _, path in ipairs(files("docs", "md")) do
      local text = tmp.read(path)
      for file, number in text:gmatch "`([%w_/]+%.[ch])`, ([A-Z][1-9])" do
        seen = seen + 1
        if not (defined[number] or ""):find(file, 1, true) then
          lost[#lost + 1] = path .. ": " .. number
        end
      end
    end
    assert.same({}, lost)
    assert.is_true(seen >= 2, seen)
  end)
end)
