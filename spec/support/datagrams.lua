--- A socket that stands for systemd's: it takes what $NOTIFY_SOCKET is sent.
local tmp = require "spec.support.tmp"
local unix = require "socket.unix"

local datagrams = {}

---@class spec.Datagrams
---@field path string  what NOTIFY_SOCKET is to be
local Datagrams = {}
Datagrams.__index = Datagrams
Datagrams.__close = function(self) self.socket:close() end

---@return spec.Datagrams
function datagrams.open()
  local socket = assert(unix.dgram())
  local path = tmp.path "notify"
  assert(socket:bind(path))
  return setmetatable({ socket = socket, path = path }, Datagrams)
end

---@param seconds number
---@return string? datagram  nil: none came in that time
function Datagrams:receive(seconds)
  self.socket:settimeout(seconds)
  return (self.socket:receive())
end

return datagrams
