--- docs/architecture.md tells of the rooms as layers_spec holds the sources to
--- them.
local rooms = require "spec.support.rooms"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local LOW <const> = { "base", "value", "defs", "rules", "store" }

local function add(set, names)
  for _, name in ipairs(names) do set[name] = true end
end

--- All rooms within the engine.
local function inner()
  local names = {}
  for name in pairs(rooms) do
    if name:find "^engine/" then names[#names + 1] = name end
  end
  return names
end

--- "low, `host`, all rooms of `engine`" as a set.
local function calls_of(text)
  local set, rest = {}, text
  if rest:find "low" then add(set, LOW) end
  if rest:find "all rooms of `engine`" then
    add(set, inner())
    rest = rest:gsub("all rooms of `engine`", "")
  end
  local but = rest:match "its rooms but `([%w/]+)`"
  if but then
    add(set, inner())
    set[but] = nil
    rest = rest:gsub("its rooms but `[%w/]+`", "")
  end
  for name in rest:gmatch "`([^`]+)`" do set[name] = true end
  return set
end

describe("docs/architecture.md", function()
  local page = assert(tmp.read "docs/architecture.md")

  it("says who may call whom as the sources are held to", function()
    local told = {}
    local at = assert(select(2, page:find("| room of `src` |", 1, true)))
    local rows = page:sub(at):match "\n|%-.-\n(.-)\n\n"
    for line in rows:gmatch "[^\n]+" do
      local name, calls = line:match "^| `([^`]+)` | .- | ([^|]-) |$"
      told[assert(name, line)] = calls_of(calls)
    end
    assert.same(rooms, told)
  end)

  it("names files that are there", function()
    local n = 0
    for word in page:gmatch "`([%l_]+/[%w_/]*[%w_]%.[%l]+)`" do
      n = n + 1
      if not word:find "%u%u%u" then
        assert(tmp.read(word) or tmp.read("src/" .. word)
          or tmp.read("src/engine/" .. word), word)
      end
    end
    assert(n > 50)
  end)

  it("tells of each file of the rules", function()
    local list = shell.output { "find", "src/rules", "-maxdepth", "1",
      "-name", "*.c" }
    for name in list:gmatch "([%w_]+%.c)\n" do
      assert(page:find("%f[%w_]" .. name:gsub("%.", "%%.")), name)
    end
  end)
end)
