--- A wire that breaks, a program of its own: passes bytes between clients and
--- a server, both by sockets in the file system, and cuts each connection
--- after as many bytes as it draws, anywhere in a message; or it stalls, and
--- cuts then. Every so often one is let live.
---
---     lua wire.lua LISTEN SERVER SEED BYTES
---
--- BYTES is how many a connection passes on an average. A line is printed for
--- each cut.
-- Nothing of pawl is on its path.
local Random = dofile "lua/pawl/testing/random.lua"
local socket = require "socket"
local unix = require "socket.unix"
local system = require "system"

local listen_path, server_path = arg[1], arg[2]
local random = Random.new(tonumber(arg[3]))
local mean = tonumber(arg[4])
local stall = 3 -- seconds without an answer, before the cut

local by_end, ends, pairs_open = {}, {}, {}

local function close(pair)
  for _, one in ipairs { pair.client, pair.server } do
    one:close()
    by_end[one] = nil
    for i = #ends, 1, -1 do
      if ends[i] == one then table.remove(ends, i) end
    end
  end
  pairs_open[pair] = nil
end

local function cut(pair)
  print("cut after " .. pair.passed)
  close(pair)
end

local function open(client)
  local server = unix.stream()
  if not server:connect(server_path) then return client:close() end
  local pair = { client = client, server = server, passed = 0,
    left = random:chance(10) and math.huge or random:upto(2 * mean),
    stalls = random:chance(20) }
  for one, other in pairs { [client] = server, [server] = client } do
    one:settimeout(0)
    by_end[one] = { pair = pair, other = other }
    ends[#ends + 1] = one
  end
  pairs_open[pair] = true
end

-- All of it, however full the other's socket is; not for ever.
local function send(to, data)
  to:settimeout(5)
  local sent = to:send(data)
  to:settimeout(0)
  return sent
end

local function pass(from)
  local link = by_end[from]
  if not link or link.pair.silent_until then return end
  local pair = link.pair
  local data, err, part = from:receive(65536)
  data = data or part
  if #data > 0 then
    local some = data:sub(1, math.min(#data, pair.left))
    pair.left, pair.passed = pair.left - #some, pair.passed + #some
    if not send(link.other, some) then return close(pair) end
  end
  if pair.left <= 0 then
    if not pair.stalls then return cut(pair) end
    pair.silent_until = system.gettime() + stall
  elseif err == "closed" then
    close(pair)
  end
end

io.stdout:setvbuf "line"
local listener = unix.stream()
assert(listener:bind(listen_path))
assert(listener:listen(64))
listener:settimeout(0)
os.execute("chmod 777 " .. listen_path)
while true do
  local watched = { listener }
  for _, one in ipairs(ends) do
    if not by_end[one].pair.silent_until then watched[#watched + 1] = one end
  end
  for _, one in ipairs((socket.select(watched, nil, 0.1))) do
    if one == listener then
      local client = listener:accept()
      if client then open(client) end
    else
      pass(one)
    end
  end
  for pair in pairs(pairs_open) do
    if pair.silent_until and system.gettime() > pair.silent_until then
      cut(pair)
    end
  end
end
