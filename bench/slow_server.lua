--- The server of bench/slow.c: it answers every byte after a while.
local system = require "system_calls"

local slow = {}

---@param build string
---@param delay number  seconds before each answer
---@return { port: integer }  ends when it is closed
function slow.start(build, delay)
  local pipe = assert(io.popen(system.line(build .. "/pawl_bench_slow",
    math.floor(delay * 1e6))))
  local port = assert(pipe:read "n", "the slow server does not start")
  return setmetatable({ port = port }, { __close = function()
    assert(require "socket".connect("127.0.0.1", port)):send "q"
    pipe:close()
  end })
end

return slow
