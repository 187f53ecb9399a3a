--- A wire cutter between pawl and PostgreSQL. It passes on what both sides say,
--- message by message, and cuts the line at the one it was told to: that one is
--- held back, passed on by half, or whole. Then the client has lost its line;
--- the server notices at once, or goes on with what it has got.
---
---     local cutter = Cutter.start(cluster)
---     cutter:arm { side = "client", at = 17, how = "half" }
---     ... what goes through cutter:url(url) ...
---     assert(cutter:seen().hit)
---
--- As a program, which is how it runs: cutter.lua LISTEN SERVER CONTROL, three
--- paths of sockets.
local socket = require "socket"
local unix = require "socket.unix"

---- the program ---------------------------------------------------------------

local LATE = 0.3 -- seconds after which the server notices, if it should late

--- Where the first message of `text` ends; the first one of a client has no
--- letter in front.
local function message_end(text, is_first)
  local head = is_first and 0 or 1
  if #text < head + 4 then return nil end
  local last = head + string.unpack(">I4", text, head + 1)
  return #text >= last and last or nil
end

local Line = {}
Line.__index = Line

local function new_line(client, path)
  local server = assert(unix())
  assert(server:connect(path))
  client:settimeout(0)
  server:settimeout(0)
  local line = setmetatable({}, Line)
  line.client = { name = "client", socket = client, text = "", first = true }
  line.server = { name = "server", socket = server, text = "" }
  line.client.other, line.server.other = line.server, line.client
  return line
end

local function send(end_, text)
  local from = 1
  end_.socket:settimeout(5)
  while from <= #text do
    local last, _, partial = end_.socket:send(text, from)
    if not last then return (partial or 0) >= #text end
    from = last + 1
  end
  end_.socket:settimeout(0)
  return true
end

local function close(line)
  line.client.socket:close()
  line.server.socket:close()
  line.closed = true
end

local function cut(line, plan, from, message)
  if plan.how == "whole" then
    send(from.other, message)
  elseif plan.how == "half" then
    send(from.other, message:sub(1, math.max(1, #message // 2)))
  end
  plan.hit = message:sub(1, 1)
  if not plan.late then return close(line) end
  line.client.socket:close()
  line.ends, line.dead = socket.gettime() + LATE, true
end

--- What has come on one end goes to the other. The plan counts the messages of
--- all lines since it was made.
local function pass(line, from, plan)
  local text, why, partial = from.socket:receive(65536)
  text = text or partial or ""
  if text == "" and why == "closed" then return close(line) end
  if line.dead then return end -- the server talks to nobody
  from.text = from.text .. text
  while true do
    local last = message_end(from.text, from.first)
    if not last then return end
    local message = from.text:sub(1, last)
    from.text, from.first = from.text:sub(last + 1), false
    plan[from.name] = plan[from.name] + 1
    if not plan.hit and plan.side == from.name and
       plan[from.name] == plan.at then
      return cut(line, plan, from, message)
    end
    if not send(from.other, message) then return close(line) end
  end
end

local function obey(words, plan)
  if words:match "^arm" then
    local side, at, how, late = words:match "^arm (%a+) (%d+) (%a+) (%a+)"
    return { client = 0, server = 0, side = side, at = tonumber(at),
      how = how, late = late == "late" }
  end
  return plan
end

local function listen(path)
  local listener = assert(unix())
  assert(listener:bind(path))
  assert(listener:listen(64))
  listener:settimeout(0)
  return listener
end

local function serve(at, server, control)
  local door, orders = listen(at), listen(control)
  local plan = { client = 0, server = 0 }
  local boss = nil
  local lines = {}
  os.execute(("chmod 777 %s %s"):format(at, control))
  while true do
    local from, of = { door, orders, boss }, {}
    for i = #lines, 1, -1 do
      local line = lines[i]
      if line.ends and socket.gettime() > line.ends and not line.closed then
        close(line)
      end
      if line.closed then
        table.remove(lines, i)
      else
        if not line.dead then
          from[#from + 1], of[line.client.socket] = line.client.socket,
            { line, line.client }
        end
        from[#from + 1], of[line.server.socket] = line.server.socket,
          { line, line.server }
      end
    end
    for _, ready in ipairs((socket.select(from, nil, 0.05))) do
      if ready == door then
        local client = door:accept()
        if client then lines[#lines + 1] = new_line(client, server) end
      elseif ready == orders then
        boss = orders:accept()
        boss:settimeout(1)
      elseif ready == boss then
        local words = boss:receive "*l"
        if not words then return end -- whoever started us has gone
        plan = obey(words, plan)
        boss:send(("%d %d %s\n"):format(plan.client, plan.server,
          plan.hit and ("%q"):format(plan.hit) or "-"))
      elseif of[ready] and not of[ready][1].closed then
        pass(of[ready][1], of[ready][2], plan)
      end
    end
  end
end

if arg and arg[0] and arg[0]:find "cutter%.lua$" then
  serve(arg[1], arg[2], arg[3])
  os.exit(0)
end

---- its owner's side ----------------------------------------------------------

local process = require "spec.support.process"

local Cutter = {}
Cutter.__index = Cutter

---@param dir string   a folder for its sockets
---@param server string  the path of PostgreSQL's socket, or a pooler's
---@return table
function Cutter.start(dir, server)
  local port = 5999
  local self = setmetatable({ dir = dir, port = port }, Cutter)
  local at = ("%s/.s.PGSQL.%d"):format(dir, port)
  local words = { "lua5.4", "spec/support/cutter.lua", at, server,
    dir .. "/control" }
  self.process = process.start(words, { env = { LD_PRELOAD = "" } })
  self.control = process.poll(10, function()
    local control = assert(unix())
    if control:connect(dir .. "/control") then return control end
    control:close()
    assert(not self.process:code(), self.process:errors())
  end)
  assert(self.control, "the wire cutter has not come up")
  self.control:settimeout(10)
  return self
end

--- The same store through the wire cutter.
function Cutter:url(url)
  return (url:gsub("host=%S+", "host=" .. self.dir)
    :gsub("port=%d+", "port=" .. self.port))
end

local function order(self, words)
  assert(self.control:send(words .. "\n"))
  local told = assert(self.control:receive "*l", self.process:errors())
  local client, server, hit = told:match "^(%d+) (%d+) (.*)$"
  return { client = tonumber(client), server = tonumber(server),
    hit = hit ~= "-" and hit or nil }
end

--- From now on messages are counted anew.
---@param plan { side: string, at: integer, how: string, late?: boolean }
function Cutter:arm(plan)
  order(self, ("arm %s %d %s %s"):format(plan.side, plan.at, plan.how,
    plan.late and "late" or "soon"))
end

--- How many messages of each side there were, and the letter of the one that
--- was cut at.
function Cutter:seen() return order(self, "seen") end

function Cutter:stop()
  self.control:close()
  self.process:wait(5)
end

return Cutter
