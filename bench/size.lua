#!/usr/bin/env lua5.4
--- How large the library is, and a small program with all of it inside; what
--- that holds of memory while it has nothing to do, and what it takes of the
--- processor from exec to its first step. See docs/performance.md.
---
---   ./dev bench --size [--json]
---
---   host_bytes     the program, static and stripped
---   library_bytes  libpawl.so, stripped
---   private_kb     what it has written to; text_kb: its own pages besides,
---                  which are the file's
---   cpu_ms         until the first step, in a store that is there; new_cpu_ms:
---                  in one that is made
---
--- PAWL_LUA_SOURCE, PAWL_SQLITE_SOURCE: folders of Lua's C files and of
--- SQLite's one, which are compiled along; without them the system's archives
--- are linked, by its own compiler alone. With them musl-gcc is another way,
--- where it is there.
local RUNS <const> = 21 -- of a start

local lua_source, sqlite_source = os.getenv "PAWL_LUA_SOURCE",
  os.getenv "PAWL_SQLITE_SOURCE"

--- Aimed at, of a program of musl's.
local TARGETS <const> = { host_bytes = 1600000, private_kb = 2048, cpu_ms = 8 }

local function say(...) io.stderr:write("bench: ", string.format(...), "\n") end

local function read_from(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  return pipe:close() and text or nil
end

local function sh(command)
  if not os.execute(command) then
    say("this has failed: %s", command)
    os.exit(1)
  end
end

local function bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:seek "end"
end

local function configure(way)
  local words = { "cmake", "-S .", "-B", way.dir, "-G Ninja",
    "-DCMAKE_C_COMPILER=" .. way.compiler, "-DCMAKE_BUILD_TYPE=MinSizeRel",
    "-DPAWL_SMALL=ON", "-DPAWL_POSTGRES=OFF", "-DPAWL_COMMAND=OFF" }
  if lua_source then
    words[#words + 1] = ("-DPAWL_LUA_SOURCE='%s' -DPAWL_SQLITE_SOURCE='%s'")
      :format(lua_source, sqlite_source)
  end
  return table.concat(words, " ") .. " >&2"
end

--- Our library, and a host: everything in one file, stripped.
local function build(way)
  local libraries = lua_source and "" or " -llua5.4 -lsqlite3"
  sh(configure(way))
  sh("cmake --build " .. way.dir .. " --target pawl_static pawl_shared >&2")
  sh(("%s -Os -static -DPAWL_STATIC -Isrc bench/size_host.c %s/libpawl.a%s "
    .. "-lm -Wl,--gc-sections,-z,norelro,-z,noseparate-code,--build-id=none "
    .. "-s -o %s/size_host 2>&1 | grep -v dlopen >&2 || true"):format(
      way.compiler, way.dir, libraries, way.dir))
  sh(("strip -o %s/size.so %s/libpawl.so"):format(way.dir, way.dir))
  -- until it is on disk, the program's own text counts as written to
  sh("sync " .. way.dir .. "/size_host")
end

--- A program that has run its step, and waits.
local function start(way, store)
  local fifo = way.dir .. "/fifo"
  sh("rm -f " .. fifo .. " && mkfifo " .. fifo)
  local out = assert(io.popen(("echo $$; exec %s/size_host '%s' <%s")
    :format(way.dir, store, fifo)))
  local input = assert(io.open(fifo, "w"))
  local pid = out:read "n"
  local status, us = out:read("l", "l")
  status, us = (us or status):match "^(%S+) (%d+)$"
  assert(status == "completed", "the host has failed")
  return { pid = pid, us = tonumber(us), close = function()
    input:close()
    out:close()
  end }
end

--- In KB: { Clean =, Dirty = }.
local function private_pages(pid)
  local kb = {}
  for line in io.lines(("/proc/%d/smaps_rollup"):format(pid)) do
    local kind, n = line:match "^Private_(%a+):%s+(%d+) kB"
    if kind then kb[kind] = tonumber(n) end
  end
  return kb
end

--- The median, in ms; and the pages of the last one.
local function starts(way, store, is_new)
  local spent, pages = {}, nil
  for i = 1, RUNS do
    if is_new then sh(("rm -f %s %s-*"):format(store, store)) end
    local host = start(way, store)
    spent[i], pages = host.us, private_pages(host.pid)
    host.close()
  end
  table.sort(spent)
  return spent[RUNS // 2 + 1] / 1000, pages
end

local function measure(way)
  local store = way.dir .. "/size.db"
  local new_cpu_ms = starts(way, store, true)
  local cpu_ms, pages = starts(way, store, false)
  return { host_bytes = bytes_of(way.dir .. "/size_host"),
    library_bytes = bytes_of(way.dir .. "/size.so"),
    private_kb = pages.Dirty, text_kb = pages.Clean, cpu_ms = cpu_ms,
    new_cpu_ms = new_cpu_ms }
end

local function ways()
  local list = { { name = "gcc", compiler = "gcc", dir = "build/size-gcc" } }
  if not read_from "command -v musl-gcc" then
    say "no musl-gcc here (Debian's package musl-tools)"
  elseif not (lua_source and sqlite_source) then
    say "for musl-gcc: PAWL_LUA_SOURCE=FOLDER PAWL_SQLITE_SOURCE=FOLDER"
  else
    list[2] = { name = "musl", compiler = "musl-gcc", dir = "build/size-musl" }
  end
  return list
end

local KEYS <const> = { "host_bytes", "library_bytes", "private_kb", "text_kb",
  "cpu_ms", "new_cpu_ms" }

local function show(name, found)
  for _, key in ipairs(KEYS) do
    local target = TARGETS[key]
    print(("%-5s %-14s %10s%s"):format(name, key, found[key],
      target and (" (aimed at: %s)"):format(target) or ""))
  end
end

local function json(all)
  local parts = {}
  for name, found in pairs(all) do
    local figures = {}
    for i, key in ipairs(KEYS) do
      figures[i] = ('"%s":%.10g'):format(key, found[key])
    end
    parts[#parts + 1] = ('"%s":{%s}'):format(name, table.concat(figures, ","))
  end
  table.sort(parts)
  print("{" .. table.concat(parts, ",") .. "}")
end

local function main(as_json)
  local all = {}
  if not (lua_source and sqlite_source) then
    lua_source, sqlite_source = nil, nil
  end
  for _, way in ipairs(ways()) do
    say("%s", way.name)
    build(way)
    all[way.name] = measure(way)
    if not as_json then show(way.name, all[way.name]) end
  end
  if as_json then json(all) end
end

main(arg[1] == "--json")
