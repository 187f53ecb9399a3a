--- An HTTP server that is slow: it answers nobody before `n` requests are
--- open, then all of them. So that many must wait at one time, however long
--- that takes.
local socket = require "socket"

local slow = {}

local Server = {}
Server.__index = Server

---@return table server  its `url`
function slow.start()
  local listener = assert(socket.bind("127.0.0.1", 0, 1024))
  local _, port = listener:getsockname()
  listener:settimeout(0)
  return setmetatable({ listener = listener, open = {},
    url = ("http://127.0.0.1:%d/"):format(port) }, Server)
end

--- Takes what has come in: how many requests are open now.
function Server:open_requests()
  while true do
    local client = self.listener:accept()
    if not client then break end
    client:settimeout(1)
    repeat
      local line = assert(client:receive "*l")
    until line == ""
    self.open[#self.open + 1] = client
  end
  return #self.open
end

--- Answers all that are open, the last one first.
function Server:answer(text)
  for i = #self.open, 1, -1 do
    self.open[i]:send(("HTTP/1.0 200 OK\r\ncontent-length: %d\r\n\r\n%s")
      :format(#text, text))
    self.open[i]:close()
  end
  self.open = {}
end

function Server:close()
  self:answer ""
  self.listener:close()
end

--- As a program: slow.lua N [ROUNDS]
if arg and arg[0] and arg[0]:find "slow%.lua$" then
  local n, rounds = tonumber(arg[1]), tonumber(arg[2] or 1)
  local server = slow.start()
  print(server.url)
  io.stdout:flush()
  for _ = 1, rounds do
    while server:open_requests() < n do socket.sleep(0.005) end
    server:answer "slow and steady"
  end
end

return slow
