--- A receiver of HTTP for the specs, a program of its own:
---   lua5.4 spec/support/receiver.lua FOLDER
--- writes its port to FOLDER/port and each body to FOLDER/posted. The event's
--- type says what it answers: "status.503".
local socket = require "socket"

local folder = assert(arg[1])
local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()

local function append(name, text)
  local file <close> = assert(io.open(folder .. "/" .. name, "ab"))
  file:write(text)
end

local function read_request(client)
  local length, headers = 0, {}
  for line in function() return client:receive "*l" end do
    if line == "" then break end
    headers[#headers + 1] = line
    length = tonumber(line:lower():match "^content%-length: (%d+)") or length
    if line:lower():find "^expect: 100" then
      client:send "HTTP/1.1 100 Continue\r\n\r\n"
    end
  end
  return headers, client:receive(length)
end

append("port", port .. "\n")
while true do
  local client = assert(server:accept())
  client:settimeout(20)
  local headers, body = read_request(client)
  if body then
    append("headers", table.concat(headers, "\n") .. "\n")
    append("posted", body .. "\n")
    local status = body:match '"type":"status%.(%d+)"' or "204"
    client:send(("HTTP/1.1 %s X\r\nLocation: /elsewhere\r\n"
      .. "Content-Length: 0\r\nConnection: close\r\n\r\n"):format(status))
  end
  client:close()
end
