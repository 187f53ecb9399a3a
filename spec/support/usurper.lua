--- Stands for an isolated process that somebody has taken over: it begins as
--- one of ours does, and answers the handler as it is told. Its input is the
--- socket, and so is its output. See src/host/wire.h.
---
---   lua5.4 usurper.lua CASE GRAPH VERSION
local case, graph, version = arg[1], arg[2], arg[3]
local SETUP <const>, LOAD <const>, RUN <const> = 1, 3, 4
local READY <const>, LOADED <const>, DONE <const> = 8, 9, 10
local LOG <const>, ASK <const> = 11, 12

io.stdin:setvbuf "no"
io.stdout:setvbuf "no"

local function int(n) return string.pack("=i8", n) end
local function text(s) return string.pack("=i4", #s) .. s .. "\0" end

local function frame(kind, ...)
  local body = string.char(kind) .. table.concat { ... }
  return string.pack("=I4", #body) .. body
end

local function take()
  local head = io.read(4)
  if not head then os.exit(true, true) end
  local body = io.read((string.unpack("=I4", head)))
  return body:byte(), body:sub(2)
end

--- Its members, in the order of defs/result.h: an int, or a text.
local MEMBERS <const> = {}

--- What may be asked, by its name: a number (host/wire.h).
local ASKS <const> = {}

local function read(path)
  local folder = arg[0]:match "(.*)/spec/support/"
  local file <close> = assert(io.open(folder .. "/src/" .. path))
  return file:read "a"
end

do
  local n = 0
  for name in read "host/wire.h":match "enum pawl_wire_ask {(.-)}"
    :gmatch "PAWL_ASK_([%u_]+)" do
    ASKS[name], n = n, n + 1
  end
  for kind, name in read "defs/result.h":gmatch "X%((%u+), ([%l_]+)%)" do
    MEMBERS[#MEMBERS + 1] = { name = name,
      is_int = kind == "FLAG" or kind == "TIME" }
  end
end

--- A result with these in place of nothing.
local function result(given)
  local out = {}
  for i, member in ipairs(MEMBERS) do
    local value = given[member.name]
    out[i] = member.is_int and int(value or 0) or text(value or "")
  end
  return table.concat(out)
end

local function done(given) return frame(DONE, int(0), int(0), result(given)) end

local function failed(code)
  return frame(DONE, int(code), int(code), text "mine", text "", text "here",
    text "boo\27[2J", text "", text "", int(0), result {})
end

local function ask(what, ...)
  io.write(frame(ASK, int(ASKS[what]), ...))
  local _, body = take()
  return (string.unpack("=i8", body)) -- its code
end

local CASES = {}
function CASES.right() return done {} end
function CASES.cut() return frame(DONE, "xyz") end
function CASES.long() return "\255\255\255\127" .. string.char(DONE) end
function CASES.unknown() return frame(99, int(0)) end
function CASES.again() return frame(READY, text(version), int(15)) end
function CASES.more() return done {} .. done {} end
function CASES.no_json() return done { vars_changed = 1, vars = "{" } end
function CASES.start()
  return done { starts = '[{"input":{},"options":{},"id":'
    .. '"0190c5a4-1111-7222-8333-944455556666","workflow":"own.one"}]' }
end
function CASES.lease() return failed(10) end
function CASES.interrupt() return failed(27) end
function CASES.waits() return frame(DONE, int(0), int(1), int(0), int(5)) end
function CASES.stranger(serial) return frame(ASK, int(0), int(serial + 7)) end
function CASES.asks(serial) return frame(ASK, int(99), int(serial)) end
function CASES.logs(serial)
  return frame(LOG, int(serial), int(2), text "x", text "{}"):rep(5000)
end
function CASES.log_json(serial)
  return frame(LOG, int(serial), int(2), text "x", text "[")
end
function CASES.silent() while true do take() end end
function CASES.leaves() os.exit(7, true) end
--- What was not granted is refused; the rest goes on.
function CASES.not_granted(serial)
  local codes = {
    ask("HOST", int(serial), text "ban", text "1", int(1), int(0), int(0),
      int(0)),
    ask("QUERY", int(serial), text "select 1", text "[]"),
    ask("MODULE", int(serial), text "../secret"),
    ask("HEARTBEAT", int(serial), text "{no json"),
  }
  return done { has_output = 1, output = "[" .. table.concat(codes, ",")
    .. "]", vars_changed = 1, vars = ('{"codes":[%s]}'):format(
    table.concat(codes, ",")) }
end
--- Questions without an end, each of which is answered.
function CASES.endless(serial)
  while true do ask("NOW", int(serial)) end
end

while true do
  local kind, body = take()
  if kind == SETUP then
    io.write(frame(READY, text(version), int(15)))
  elseif kind == LOAD then
    io.write(frame(LOADED, int(0), text(graph), text "{}", text "{}"))
  elseif kind == RUN then
    io.write(CASES[case]((string.unpack("=i8", body))))
  end
end
