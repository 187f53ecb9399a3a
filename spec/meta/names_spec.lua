-- A module is usable from its first page alone, and files are called what
-- they say they are. (External names and exports are checked by lint.)
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local function files(folder, pattern)
  local list = shell.output { "find", folder, "-type", "f", "-name", pattern }
  local paths = {}
  for path in list:gmatch "[^\n]+" do paths[#paths + 1] = path end
  table.sort(paths)
  return paths
end

describe("every header", function()
  for _, path in ipairs(files("src", "*.h")) do
    local name = path:match "^src/(.*)$"

    it("opens with its contract: " .. path, function()
      local first = tmp.read(path):match "^[^\n]*"
      assert.equal("/* " .. name .. ": ", first:sub(1, #name + 5))
    end)

    it("is guarded by its path: " .. path, function()
      local guard = name:upper():gsub("[^%w]", "_")
      if name ~= "pawl.h" then guard = "PAWL_" .. guard end
      assert.equal(guard, tmp.read(path):match "\n#ifndef ([%w_]+)\n")
      assert.equal(guard, tmp.read(path):match "\n#define ([%w_]+)\n")
    end)
  end
end)

describe("every Lua module", function()
  for _, path in ipairs(files("lua", "*.lua")) do
    it("opens with what it is for: " .. path, function()
      assert.matches("^%-%-%-", tmp.read(path))
    end)
  end
end)

describe("every C file", function()
  for _, path in ipairs(files("src", "*.c")) do
    it("has lines of at most 80 columns: " .. path, function()
      local number = 0
      for line in io.lines(path) do
        number = number + 1
        assert(utf8.len(line) <= 80, path .. ":" .. number)
      end
    end)
  end
end)

describe("every buffer of the engine", function()
  -- One of the C library's is not counted, and cannot be refused by a host.
  local paths = files("src/engine", "*.c")
  for _, path in ipairs(files("src/rules", "*.c")) do
    paths[#paths + 1] = path
  end
  for _, path in ipairs(paths) do
    it("has the engine's allocator: " .. path, function()
      local number = 0
      for line in io.lines(path) do
        number = number + 1
        assert(not line:find "pawl_buf [%w_]+ = {0}", path .. ":" .. number)
      end
    end)
  end
end)
