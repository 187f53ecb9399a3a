--- The build under test, installed to a folder of its own, and programs that
--- are built against it as their own people would do.
local build = require "spec.support.build"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

-- name: of the folder that it is installed to
local installed = { name = "prefix" }
local prefix = nil

--- What a compiler is told besides, by the environment: a program that links a
--- library with the sanitizers inside needs them itself.
local function flags()
  if not build.dir:find "sanitize" then return {} end
  local both = "-fsanitize=address,undefined"
  return { CFLAGS = both, CXXFLAGS = both, LDFLAGS = both }
end

---@return string  the folder; made once for a file of specs
function installed.prefix()
  if not prefix then
    prefix = tmp.dir() .. "/" .. installed.name
    shell.output { "cmake", "--install", build.dir, "--prefix", prefix }
  end
  return prefix
end

--- Environment in which both of pkg-config and CMake find what is installed.
function installed.env()
  local env = flags()
  env.PKG_CONFIG_PATH = installed.prefix() .. "/lib/pkgconfig"
  env.CMAKE_PREFIX_PATH = installed.prefix()
  env.LD_LIBRARY_PATH = installed.prefix() .. "/lib"
  env.PATH = installed.prefix() .. "/bin:" .. os.getenv "PATH"
  return env
end

--- Runs a line of sh in a folder; what it wrote. Raises when it fails.
---@param dir string
---@param line string
---@param more table<string, string>?  environment besides
---@return string output
function installed.sh(dir, line, more)
  local env = installed.env()
  for name, value in pairs(more or {}) do env[name] = value end
  local code, out, err = process.run(
    { "env", "-u", "LD_PRELOAD", "sh", "-ec", line }, { cwd = dir, env = env })
  if code ~= 0 then
    error(("%s%s\nexit %d: %s"):format(out, err, code, line), 2)
  end
  return out
end

return installed
