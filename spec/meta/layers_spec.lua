-- The arrows between the layers point one way: the #include lines of src
-- against the table in docs/architecture.md.
local shell = require "spec.support.shell"

local LUA = { "lua.h", "lauxlib.h", "lualib.h" }

local function set(...)
  local names = {}
  for _, list in ipairs { ... } do
    for _, name in ipairs(list) do names[name] = true end
  end
  return names
end

-- What the files of a folder may include, by folder or by name. Headers of
-- the C library and of POSIX are everyone's; those named here are not.
local CLIENTS = set(LUA, { "sqlite3.h", "libpq-fe.h" })

local LAYERS = {
  base = set { "base", "pawl.h" },
  value = set { "base", "value", "pawl.h" },
  store = set { "base", "value", "store", "pawl.h", "pawl_sql.h" },
  defs = set { "base", "value", "defs", "pawl.h" },
  host = set(LUA, { "base", "value", "defs", "host", "pawl.h", "pawl_lua.h" }),
  engine = set { "base", "value", "store", "host", "defs", "engine", "rules",
                 "pawl.h" },
  rules = set { "base", "value", "store", "host", "defs", "engine", "rules",
                "pawl.h" },
  bind = set(LUA, { "base", "value", "host", "bind", "pawl.h" }),
}

-- A decision sees what was loaded and what the handler said; no store, no
-- host, no clock.
local PURE = set { "base", "value", "defs", "rules/state.h", "rules/plan.h",
                   "pawl.h" }

local FILES = {
  ["value/luajson.c"] = set(LUA, { "base", "value", "pawl.h" }),
  ["value/luajson.h"] = set(LUA, { "base", "value", "pawl.h" }),
  ["store/sqlite.c"] = set({ "sqlite3.h" }, { "base", "value", "store" }),
  ["store/postgres.c"] = set({ "libpq-fe.h" }, { "base", "value", "store" }),
  ["pawl.c"] = set { "base", "value", "store", "defs", "host", "engine",
                     "pawl.h" },
  ["main.c"] = set(LUA, { "base", "bind", "host/embedded.h", "pawl.h" }),
}
for _, name in ipairs { "plan", "retry", "state" } do
  FILES["rules/" .. name .. ".c"] = PURE
  FILES["rules/" .. name .. ".h"] = PURE
end

-- Built for tests only, sees everything.
local EXEMPT = set { "bind/lprobe.c" }

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
  local folder = path:match "^(.*/)[^/]*$" or ""
  local up
  repeat
    included, up = included:gsub("^%.%./", "")
    if up == 1 then folder = folder:gsub("[^/]*/$", "") end
  until up == 0
  local own = io.open("src/" .. folder .. included)
  if not own then return included end -- generated, or from src/ itself
  own:close()
  return folder .. included
end

local function strays(path, allowed)
  local found = {}
  for line in io.lines("src/" .. path) do
    local quoted = line:match '^%s*#%s*include%s+"([^"]+)"'
    local system = line:match "^%s*#%s*include%s+<([^>]+)>"
    local name = quoted and resolve(path, quoted) or system
    local layer = name and name:match "^(%w+)/"
    local fine = not name or allowed[name] or
      (quoted and layer and allowed[layer]) or
      (system and not CLIENTS[system])
    if not fine then found[#found + 1] = name end
  end
  return found
end

describe("the layers of src", function()
  for _, path in ipairs(sources()) do
    local allowed = FILES[path] or LAYERS[path:match "^(%w+)/"]
    if path ~= "pawl.h" and not EXEMPT[path] then
      it("hold in " .. path, function()
        assert(allowed, path .. " belongs to no layer: see this spec's table")
        assert.same({}, strays(path, allowed))
      end)
    end
  end

  it("let pawl.h stand alone", function()
    assert.same({}, strays("pawl.h", {}))
  end)
end)
