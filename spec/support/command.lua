--- The built `pawl` command, run in a folder of its own.
local build = require "spec.support.build"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local command = {}

command.path = os.getenv("PAWL_BIN") or build.command

-- A terminal's settings and the caller's store must not leak in.
local ENV = { PAWL_STORE = "", PAWL_PREFIXES = "", PAWL_POOLER = "",
  PAWL_TENANT = "",
  PAWL_SCHEMA = "",
  LANG = "C", LC_ALL = "C" }

---@class spec.Ran
---@field code integer
---@field out string
---@field err string

---@class spec.Folder
---@field dir string
local Folder = {}
Folder.__index = Folder

--- A new folder; its store is the command's default, pawl.db.
---@return spec.Folder
function command.folder() return setmetatable({ dir = tmp.dir() }, Folder) end

---@param name string
---@param text string
---@return string name
function Folder:write(name, text)
  local file <close> = assert(io.open(self.dir .. "/" .. name, "wb"))
  assert(file:write(text))
  return name
end

local function options(self, extra)
  local env = {}
  for name, value in pairs(ENV) do env[name] = value end
  for name, value in pairs(extra and extra.env or {}) do env[name] = value end
  return { cwd = self.dir, env = env, stdin = extra and extra.stdin }
end

--- The words of `pawl ...`, behind those that it is to run under, and where.
local function line(self, ...)
  local words = { command.path, ... }
  local extra = type(words[#words]) == "table" and table.remove(words) or nil
  local under = extra and extra.under or {}
  words = table.move(words, 1, #words, #under + 1, { table.unpack(under) })
  return words, options(self, extra)
end

--- Runs `pawl ...` to its end. A table last: { env =, stdin =, under = }, the
--- words of a command that runs the one given behind them.
---@return spec.Ran
function Folder:pawl(...)
  local code, out, err = process.run(line(self, ...))
  return { code = code, out = out, err = err }
end

--- Starts `pawl ...` and leaves it running. A table last, as above.
---@return spec.Process
function Folder:start(...)
  return process.start(line(self, ...))
end

--- The same with --json; its standard output as a value.
---@return any value
---@return spec.Ran
function Folder:json(...)
  local words = { ... }
  local extra = type(words[#words]) == "table" and table.remove(words) or {}
  words[#words + 1] = "--json"
  words[#words + 1] = extra
  local ran = self:pawl(table.unpack(words))
  return pawl.json.decode(ran.out), ran
end

return command
