-- W6 of the bench: five steps, each of which asks the server of bench/slow.c
-- and waits for its answer by ctx.await. Connections are kept.
local pawl = require "pawl"
local socket = require "socket"

local flow = pawl.workflow { code = "bench.waiting", start = "step_1" }

local idle = {}

local function connection(port)
  if #idle > 0 then return table.remove(idle) end
  local sock = assert(socket.connect("127.0.0.1", port))
  assert(sock:setoption("tcp-nodelay", true))
  return sock
end

local function run(ctx)
  local sock = connection(ctx.input.port)
  assert(sock:send "x")
  assert(ctx.await { fd = sock:getfd(), events = "r", timeout = 10 })
  assert(sock:receive(1))
  idle[#idle + 1] = sock
end

for i = 1, 5 do
  flow:step("step_" .. i, { run = run,
    next = i < 5 and "step_" .. i + 1 or "done" })
end

flow:finish("done")

return flow
