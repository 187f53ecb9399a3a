--- Child processes that can be watched, signalled and killed.
--- Plain Lua: bash starts the child in the background, tells its pid, and
--- leaves the exit code in a file when it ends.
local shell = require "spec.support.shell"
local system = require "system"
local tmp = require "spec.support.tmp"

---@class spec.Process
---@field pid integer
---@field private dir string
local Process = {}
Process.__index = Process

local process = {}
local running = {}

-- Job control (-m, which wants bash when there is no terminal) gives the child
-- a process group of its own, and SIGINT as it is by default.
local SCRIPT = [[
cd %s || exit 1
{
  set -m
  env PAWL_SPEC_CHILD=%s %s %s <%s >%s/out 2>%s/err 3>&- &
  echo $! >&3
  exec 3>&-
  wait $!
  echo $? >%s/code.new
  mv %s/code.new %s/code
} 3>&1 >/dev/null 2>&1 &
]]

local function assignments(env)
  local words = {}
  for name, value in pairs(env or {}) do
    words[#words + 1] = shell.quote(name .. "=" .. value)
  end
  return table.concat(words, " ")
end

--- Calls `ready` until it answers with something true.
---@param timeout number  seconds
---@param ready fun(): any
---@param pause number?  seconds between calls; 0.005
---@return any answer  nil when the time is up
function process.poll(timeout, ready, pause)
  local deadline = system.gettime() + timeout
  repeat
    local answer = ready()
    if answer then return answer end
    system.sleep(pause or 0.005)
  until system.gettime() > deadline
  return ready()
end

---@class spec.ProcessOptions
---@field env table<string, string>?  added to this process's environment
---@field cwd string?
---@field stdin string?  text

---@param words string[]  the command and its arguments
---@param options spec.ProcessOptions?
---@return spec.Process
function process.start(words, options)
  options = options or {}
  local dir = tmp.dir()
  local stdin = "/dev/null"
  if options.stdin then
    stdin = tmp.file("stdin", options.stdin)
  end
  local at = shell.quote(dir)
  local script = SCRIPT:format(shell.quote(options.cwd or "."), at,
                               assignments(options.env), shell.line(words),
                               shell.quote(stdin), at, at, at, at, at)
  local pipe <close> = assert(io.popen("bash -c " .. shell.quote(script)))
  local pid = assert(math.tointeger(pipe:read("n")), "no pid: " .. script)
  local self = setmetatable({ pid = pid, dir = dir }, Process)
  running[self] = true
  return self
end

--- Runs a command to its end.
---@param words string[]
---@param options spec.ProcessOptions?
---@return integer code, string output, string errors
function process.run(words, options)
  local child = process.start(words, options)
  local code = child:wait(120)
  if not code then
    child:kill("KILL")
    error("did not end within 120 s: " .. shell.line(words), 2)
  end
  return code, child:output(), child:errors()
end

local function send(signal, whom)
  os.execute(("kill -s %s -- %d 2>/dev/null"):format(signal, whom))
end

-- What children that have ended have left behind. It knows whose it is: its
-- group's number may be another's by now.
local function kill_left(root)
  local left <close> = assert(io.popen("grep -lzs "
    .. shell.quote("^PAWL_SPEC_CHILD=" .. root .. "/")
    .. " /proc/[0-9]*/environ"))
  for path in left:lines() do send("KILL", tonumber(path:match "%d+")) end
end

--- Kills what is still running, children of children too: for after_each.
function process.stop_all()
  local root
  for child in pairs(running) do
    root = child.dir:match "^(.*)/"
    child:kill_group "KILL"
    child:wait(10)
    running[child] = nil
  end
  if root then kill_left(root) end
end

--- One that has ended is left alone: its number may be another's by now.
---@param signal string  "KILL", "TERM", "STOP"...
function Process:kill(signal)
  if not self:code() then send(signal, self.pid) end
end

--- The same to its children too.
---@param signal string
function Process:kill_group(signal)
  if not self:code() then send(signal, -self.pid) end
end

---@return integer?  exit code, 128 + signal when killed; nil: still running
function Process:code()
  local text = tmp.read(self.dir .. "/code")
  return text and math.tointeger(tonumber(text))
end

---@param timeout number  seconds
---@return integer? code  nil when it is still running
function Process:wait(timeout)
  return process.poll(timeout, function() return self:code() end)
end

---@return string  what it has written to stdout so far
function Process:output()
  return tmp.read(self.dir .. "/out") or ""
end

---@return string  what it has written to stderr so far
function Process:errors()
  return tmp.read(self.dir .. "/err") or ""
end

--- Waits until stdout holds the pattern.
---@param pattern string
---@param timeout number  seconds
---@return string? match  nil when time is up or it ended without
function Process:wait_for(pattern, timeout)
  local match
  process.poll(timeout, function()
    local ended = self:code() -- asked first: what it wrote last counts
    match = self:output():match(pattern)
    return match or ended
  end)
  return match
end

return setmetatable(process, { __gc = process.stop_all })
