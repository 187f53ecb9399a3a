--- What the bench asks of the system: commands, files, processes, memory.
local socket = require "socket"

local system = {}

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

--- A command line of the shell.
function system.line(...)
  local words = {}
  for i, word in ipairs { ... } do words[i] = quote(word) end
  return table.concat(words, " ")
end

--- What a command line prints. Raises when it fails.
function system.output_of(line)
  local pipe = assert(io.popen(line))
  local text = pipe:read "a"
  if not pipe:close() then error("this command failed: " .. line, 2) end
  return text
end

---@param path string
---@return string?
function system.read(path)
  local file <close> = io.open(path)
  return file and file:read "a"
end

---@param seconds number
function system.sleep(seconds) socket.sleep(seconds) end

--- A random while: what came before shall be over, and the machine at rest.
---@param longest number  seconds
function system.pause(longest) socket.sleep(0.002 + math.random() * longest) end

--- Resident memory of a process now and at its highest, in MB; nil once it
--- has ended.
---@param pid integer
---@return number? now, number? highest
function system.memory(pid)
  local status = system.read(("/proc/%d/status"):format(pid)) or ""
  local now, high = status:match "VmRSS:%s*(%d+)", status:match "VmHWM:%s*(%d+)"
  if now then return now / 1024, high / 1024 end
end

--- An empty folder, removed at the end.
function system.scratch()
  local path = system.output_of "mktemp -d":match "%S+"
  return setmetatable({ path = path }, { __close = function()
    os.execute("rm -rf " .. quote(path))
  end })
end

return system
