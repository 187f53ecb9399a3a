local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

-- A copy, because LuaRocks builds inside the folder it is run from.
local function copy_of_sources()
  local dir = tmp.dir()
  shell.output { "cp", "-r", "CMakeLists.txt", "pawl.pc.in", "cmake", "lua",
                 "pawl-static.pc.in", "rockspec", "sql", "src", dir }
  return dir
end

-- Nothing is fetched: the only server is an empty folder, and who asks another
-- one is led to a port where nobody listens.
local function run_luarocks(source, tree)
  local nowhere = "http://127.0.0.1:9"
  local code, output, errors = process.run({
    "env", "-u", "LD_PRELOAD", "luarocks", "--lua-version=5.4",
    "--tree=" .. tree, "--only-server=" .. tmp.dir(), "make",
    "rockspec/pawl-scm-1.rockspec",
  }, { cwd = source, env = { http_proxy = nowhere, https_proxy = nowhere,
    HTTP_PROXY = nowhere, HTTPS_PROXY = nowhere } })
  assert(code == 0, output .. errors)
end

local function files_of(tree)
  local list = shell.output { "find", tree, "-type", "f", "-not", "-path",
                              "*/luarocks/*", "-printf", "%P\n" }
  local files = {}
  for path in list:gmatch "[^\n]+" do files[path] = true end
  return files
end

describe("the rock #slow", function()
  local tree

  setup(function()
    tree = tmp.dir()
    run_luarocks(copy_of_sources(), tree)
  end)

  it("installs the module and nothing else", function()
    local files = files_of(tree)
    assert.is_true(files["lib/lua/5.4/pawl/core.so"])
    assert.is_true(files["share/lua/5.4/pawl/init.lua"])
    for path in pairs(files) do
      assert.matches("^%w+/lua/5%.4/pawl/", path)
    end
  end)

  it("is all that a stock lua5.4 needs to run a workflow", function()
    local script = tmp.file("hello.lua", [[
      local pawl = require "pawl"
      local hello = pawl.workflow {
        code = "test.hello", version = 1, start = "greet",
      }
      hello:step("greet", {
        run = function(ctx) ctx.vars.said = "hello " .. ctx.input.name end,
        next = "done",
      })
      hello:finish("done", {
        output = function(ctx) return { said = ctx.vars.said } end,
      })
      local engine <close> = assert(pawl.open ":memory:")
      assert(engine:load(hello))
      local id = assert(engine:start("test.hello", { name = "rock" }))
      assert(engine:run())
      io.write(assert(engine:get(id)).output.said)
    ]])
    local code, output, errors = process.run({
      "env", "-u", "LD_PRELOAD", "lua5.4", script,
    }, {
      env = {
        LUA_PATH = tree .. "/share/lua/5.4/?.lua;" ..
          tree .. "/share/lua/5.4/?/init.lua",
        LUA_CPATH = tree .. "/lib/lua/5.4/?.so",
      },
    })
    assert.equal("", errors)
    assert.equal("hello rock", output)
    assert.equal(0, code)
  end)
end)
