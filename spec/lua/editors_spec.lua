--- What editors and luacheck are given, as it is installed.
local installed = require "spec.support.installed"
local pawl = require "pawl"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local LIMITED <const> = "lua/pawl/meta/luacheck.lua"
local LIBRARIES <const> = { "coroutine", "math", "os", "string", "table",
  "utf8" }
-- What Lua 5.4 has in some builds only, for programs of Lua 5.2.
local OLD <const> = { atan2 = true, cosh = true, frexp = true, ldexp = true,
  log10 = true, pow = true, sinh = true, tanh = true }

local function keys_of(t)
  local names = {}
  for name in pairs(t) do
    if not OLD[name] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- What a workflow with limits finds: of `names` those that are there, and what
--- each library has.
local function found_within_limits(names)
  local path = tmp.file("look.lua", ([[
    local flow = require "pawl".workflow { code = "t.look" }
    flow:step("look", { run = function(ctx)
      local there, fields = {}, {}
      for name in ("%s"):gmatch "%%S+" do there[name] = _ENV[name] ~= nil end
      for name in ("%s"):gmatch "%%S+" do
        fields[name] = {}
        for field in pairs(_ENV[name]) do fields[name][field] = true end
      end
      ctx.vars.there, ctx.vars.fields = there, fields
    end })
    return flow]]):format(table.concat(names, " "),
      table.concat(LIBRARIES, " ")))
  local engine <close> = assert(pawl.open ":memory:")
  assert(engine:load(path, { trust = "limited" }))
  local id = assert(engine:start "t.look")
  assert(engine:run())
  return assert(engine:get(id)).variables
end

--- What luacheck says of a file under a .luacheckrc.
local function luacheck(rc, text)
  local dir = tmp.dir()
  for name, content in pairs { [".luacheckrc"] = rc, ["flow.lua"] = text } do
    local file <close> = assert(io.open(dir .. "/" .. name, "w"))
    assert(file:write(content))
  end
  local _, out = process.run({ "env", "-u", "LD_PRELOAD", "luacheck", "-q",
    "--no-color", "--formatter=plain", "flow.lua" }, { cwd = dir })
  return out
end

describe("the std for luacheck", function()
  local std = dofile(LIMITED)

  it("has the globals that a workflow with limits has", function()
    local names, everything = {}, {}
    for key, value in pairs(std.read_globals) do
      names[#names + 1] = type(key) == "number" and value or nil
    end
    for name in pairs(_G) do everything[#everything + 1] = name end
    table.move(names, 1, #names, #everything + 1, everything)
    local expected = {}
    for _, name in ipairs(names) do expected[name] = true end
    for _, name in ipairs(LIBRARIES) do expected[name] = true end
    for name, there in pairs(found_within_limits(everything).there) do
      assert.equal(expected[name] == true, there, name)
    end
  end)

  it("has what their libraries have", function()
    local found = found_within_limits {}
    for _, name in ipairs(LIBRARIES) do
      assert.same(keys_of(found.fields[name]),
        keys_of(std.read_globals[name].fields), name)
    end
  end)

  it("is read as docs/testing.md shows", function()
    local path = installed.prefix() .. "/share/lua/5.4/pawl/meta/luacheck.lua"
    local shown = assert(tmp.read "docs/testing.md"):match
      "```lua\n(stds%.pawl_limited.-)```"
    local rc = shown:gsub('"[^"]+luacheck.lua"', ("%q"):format(path))
      :gsub('files%["mods"%]', 'files["flow.lua"]')
    assert.equal("", luacheck(rc, [[
      local day = os.date("%d", os.time())
      return string.format("%s", day)]]))
    local said = luacheck(rc, "return os.getenv 'HOME', io.open 'x'")
    assert.matches("undefined field .getenv.", said)
    assert.matches("undefined variable .io.", said)
  end)
end)

describe("the addon for LuaLS", function()
  local dir

  setup(function()
    dir = installed.prefix() .. "/share/lua/5.4/pawl/meta/luals/pawl"
  end)

  it("is laid out as addons are", function()
    local config = assert(pawl.json.decode(tmp.read(dir .. "/config.json")))
    assert.equal("Lua 5.4", config.settings["Lua.runtime.version"])
    for _, word in ipairs(config.words) do
      assert.matches(word, 'local pawl = require "pawl"')
      assert.matches(word, "local test = require('pawl.testing')")
      assert.not_matches(word, 'require "pawlowitsch"')
    end
  end)

  it("has every class that its annotations name", function()
    local text = shell.output { "sh", "-c", "find '" .. dir
      .. "/library' -name '*.lua' | xargs cat" }
    local there = {}
    for name in text:gmatch "%-%-%-@class (pawl[%.%w]+)" do
      there[name] = true
    end
    for name in text:gmatch "%-%-%-@alias (pawl%.%w+)" do there[name] = true end
    local n = 0
    for line in text:gmatch "%-%-%-[@|][^\n]+" do
      for name in line:gmatch "%f[%w]pawl%.%u%w+" do
        n = n + 1
        assert.is_true(there[name], name)
      end
    end
    assert.is_true(n > 300, n)
  end)

  it("is the library that docs/testing.md names", function()
    local line = assert(tmp.read "docs/testing.md"):match
      "\n    (%b{})\n"
    local settings = assert(pawl.json.decode(line))
    local suffix = settings["workspace.library"][1]:match "share/.*"
    assert.truthy(tmp.read(installed.prefix() .. "/" .. suffix .. "/pawl.lua"))
  end)
end)
