-- Arrows point one way: between the layers and the engine's rooms, by the
-- #include lines of src and by calls, as the symbols of the object files tell;
-- and between files. The tables here are those of docs/architecture.md.
local arrows = require "spec.support.arrows"
local build = require "spec.support.build"
local shell = require "spec.support.shell"

local function set(...)
  local names = {}
  for _, list in ipairs { ... } do
    for _, name in ipairs(list) do names[name] = true end
  end
  return names
end

-- ---- who may call whom ----

local ROOMS = require "spec.support.rooms"

-- What comes from outside is handed to a decision: it looks at no clock
-- itself, and tells nobody but by what it gives back.
local IMPURE = set { "base/fault.c", "base/log.c", "base/process.c" }
local CLOCKS = set { "pawl_clock_mono", "pawl_clock_now" }

-- Files of rules/ that reach each other, at most: a decision recurses.
local RULES_CIRCLE = 11

-- ---- headers ----

local LUA = { "lua.h", "lauxlib.h", "lualib.h" }
local PG = { "postgres.c", "pgconn.h", "pgwire.c" }
local SQLITE = { "sqlite.c", "sqbackup.c", "sqconn.h", "sqguard.c",
                 "sqlend.c", "sqmemory.c", "sqmend.h", "sqrestore.c",
                 "sqturns.h" }

-- Headers of the C library and of POSIX are everyone's; these are not.
local CLIENTS = set(LUA, { "sqlite3.h", "libpq-fe.h" })

-- What a room or a file may include besides, by folder or by name. Everyone
-- may include pawl.h.
local BESIDES = {
  defs = set { "pawl_kinds.h" },
  store = set { "pawl_sql.h" },
  host = set(LUA, { "pawl_lua.h" }),
  bind = set(LUA),
  ["main.c"] = set(LUA, { "pawl_lua.h" }),
  ["value/luajson.c"] = set(LUA),
  ["value/luajson.h"] = set(LUA),
  -- the types of a handler's result
  ["engine/common/engine_struct.h"] = set { "host/host.h" },
}
for _, name in ipairs(SQLITE) do
  BESIDES["store/" .. name] = set { "sqlite3.h" }
end
for _, name in ipairs(PG) do
  BESIDES["store/" .. name] = set { "libpq-fe.h" }
end

-- ---- the checks ----

-- "engine/work/claim.c" -> "engine/work"; "engine/engine.c" -> "engine"
local function room_of(path)
  local first, second = path:match "^([^/]+)/([^/]+)/"
  if first == "engine" then return first .. "/" .. second end
  return path:match "^([^/]+)/" or path
end

local function may(rooms, from, to)
  return from == to or (rooms[from] and rooms[from][to]) or false
end

-- Arrows that point up, as lines to read.
local function strays_of(list, rooms)
  local found = {}
  for _, a in ipairs(list) do
    local from, to = room_of(a.from), room_of(a.to)
    local up = not may(rooms, from, to)
    if up then
      found[#found + 1] = ("%s calls %s of %s"):format(a.from, a.symbol, a.to)
    end
  end
  table.sort(found)
  return found
end

local function sources()
  local list = shell.output { "find", "src", "-name", "*.[ch]", "-printf",
                              "%P\n" }
  local paths = {}
  for path in list:gmatch "[^\n]+" do paths[#paths + 1] = path end
  table.sort(paths)
  return paths
end

-- "../base/buf.h" in store/store.h -> "base/buf.h"
local function resolve(path, included)
  local at = (path:match "^(.*/)[^/]*$" or "") .. included
  local count
  repeat
    at, count = at:gsub("[^/.][^/]*/%.%./", "", 1)
  until count == 0
  local own = io.open("src/" .. at)
  if not own then return included end -- generated, or from src/ itself
  own:close()
  return at
end

local function may_include(path, name, rooms)
  local besides = BESIDES[path] or {}
  local room = room_of(path)
  if name == "pawl.h" or besides[name] then return true end
  if (BESIDES[room] or {})[name] then return true end
  return name:find("/", 1, true) and may(rooms, room, room_of(name))
end

-- Headers that a file includes and may not; `lines` of its text.
local function wrong_headers(path, lines, rooms)
  local found = {}
  for line in lines do
    local quoted = line:match '^%s*#%s*include%s+"([^"]+)"'
    local system = line:match "^%s*#%s*include%s+<([^>]+)>"
    local name = quoted and resolve(path, quoted) or system
    local fine = not name or (system and not CLIENTS[system]) or
      may_include(path, name, rooms)
    if not fine then found[#found + 1] = name end
  end
  return found
end

describe("the headers of src", function()
  for _, path in ipairs(sources()) do
    if path ~= "pawl.h" then
      it("are those below in " .. path, function()
        assert(ROOMS[room_of(path)],
               path .. " belongs to no room: see this spec's table")
        assert.same({}, wrong_headers(path, io.lines("src/" .. path), ROOMS))
      end)
    end
  end

  it("let pawl.h stand alone", function()
    assert.same({}, wrong_headers("pawl.h", io.lines "src/pawl.h", {}))
  end)
end)

describe("the calls of src", function()
  local calls = arrows.of_build(build.dir)

  it("point downwards", function()
    assert.same({}, strays_of(calls, ROOMS))
  end)

  it("lead from rules to no clock, log or process", function()
    for _, a in ipairs(calls) do
      local wrong = room_of(a.from) == "rules" and
        (IMPURE[a.to] or CLOCKS[a.symbol])
      assert(not wrong, a.from .. " calls " .. a.symbol)
    end
  end)

  it("lead in no circle, but for what recurses in a decision", function()
    local others = {}
    for _, circle in ipairs(arrows.circles(calls)) do
      if room_of(circle[1]) == "rules" then
        assert(#circle <= RULES_CIRCLE, table.concat(circle, "\n"))
      else
        others[#others + 1] = table.concat(circle, " ")
      end
    end
    assert.same({}, others)
  end)
end)

describe("an arrow that is wrong", function()
  local rooms = { base = set {}, ["engine/work"] = set { "base" },
                  ["engine/ask"] = set { "base" } }
  local made = [[

a/work/claim.o:
0000000000000000 T pawl_claim
                 U pawl_fail
                 U memcpy
                 U pawl_list
a/ask/list.o:
0000000000000010 T _pawl_list
                 U _pawl_fail
                 U _pawl_claim
0000000000000020 t pawl_own
a/base/error.o:
0000000000000000 T pawl_fail
a/gone.o:
                 U pawl_claim]]
  local home = { ["a/work/claim.o"] = "engine/work/claim.c",
                 ["a/ask/list.o"] = "engine/ask/list.c",
                 ["a/base/error.o"] = "base/error.c" }
  local calls = arrows.read(made, function(path) return home[path] end)

  it("is seen among the calls", function()
    assert.equal(4, #calls)
    assert.same({ "engine/ask/list.c calls pawl_claim of engine/work/claim.c",
                  "engine/work/claim.c calls pawl_list of engine/ask/list.c" },
                strays_of(calls, rooms))
  end)

  it("is seen where it closes a circle", function()
    assert.same({ { "engine/ask/list.c", "engine/work/claim.c" } },
                arrows.circles(calls))
    calls[#calls + 1] = { from = "base/error.c", to = "engine/ask/list.c" }
    assert.equal(3, #arrows.circles(calls)[1])
    assert.same({}, arrows.circles { { from = "a.c", to = "b.c" },
                                     { from = "a.c", to = "c.c" },
                                     { from = "b.c", to = "c.c" } })
  end)

  it("is seen among the headers", function()
    local function headers(path, text)
      return wrong_headers(path, text:gmatch "[^\n]+", ROOMS)
    end
    assert.same({ "engine/work/claim.h" }, headers(
      "engine/ask/explain.c",
      '#include <poll.h>\n#include "../common/time.h"\n' ..
      '#include "../work/claim.h"\n'))
    assert.same({ "engine/engine.h", "lua.h" }, headers(
      "engine/work/claim.c", '#include "../engine.h"\n#include <lua.h>\n'))
    assert.same({ "host/host.h" }, headers(
      "engine/common/time.c", '#include "../../host/host.h"\n'))
  end)
end)
