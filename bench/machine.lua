--- What was measured on, and with what.
local pawl = require "pawl"
local system = require "system_calls"

local machine = {}

local function first(text, pattern) return (text or ""):match(pattern) end

function machine.facts()
  local cpu = system.read "/proc/cpuinfo"
  local memory = first(system.read "/proc/meminfo", "MemTotal:%s*(%d+)")
  return {
    cores = math.tointeger(tonumber(system.output_of "nproc")),
    cpu = first(cpu, "model name%s*:%s*([^\n]+)"),
    memory_gb = memory and memory / 1024 ^ 2,
    os = first(system.read "/etc/os-release", 'PRETTY_NAME="([^"]*)"'),
    kernel = first(system.output_of "uname -sr", "[^\n]+"),
  }
end

--- Those of the stores are known once they are open.
function machine.versions()
  return { pawl = pawl.version(),
    lua = first(system.output_of "lua5.4 -v", "Lua (%S+)") }
end

return machine
