-- Where else it compiles: other compilers, word sizes, processors and C
-- libraries, C++, and systems that lack what only Linux has. Those compilers
-- that are not here are named, and not asked.
--
-- PAWL_LUA_SOURCE, PAWL_SQLITE_SOURCE: folders of Lua's C files and of SQLite's
-- one, as for `./dev bench --size`. With them a host is linked, with both of
-- them in it, and runs a step, in its memory and in a file.
local build = require "spec.support.build"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local lua_source, sqlite_source = os.getenv "PAWL_LUA_SOURCE",
  os.getenv "PAWL_SQLITE_SOURCE"

--- Each with the Debian packages that have it. `on`: what runs its programs
--- where this processor does not, and the package of that.
local COMPILERS <const> = {
  { "gcc", "gcc" },
  { "clang", "clang" },
  -- what the package gcc-multilib would link to, and cannot be beside another
  { "gcc -m32", "libc6-dev-i386, lib32gcc-12-dev",
    more = "-idirafter /usr/include/$(gcc -print-multiarch)", on = { "" } },
  { "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu",
    on = { "qemu-aarch64", "qemu-user" } },
  { "musl-gcc", "musl-tools", on = { "" } },
}

--- What is Linux's alone, or hardly anybody else's.
local LINUX <const> = { "pipe2", "memfd_create", "sched_getaffinity",
  "fopencookie", "renameat2", "prctl", "epoll_create1", "eventfd", "signalfd",
  "timerfd_create", "accept4", "ppoll", "SOCK_CLOEXEC", "MSG_NOSIGNAL",
  "F_OFD_SETLK", "F_OFD_GETLK", "st_mtim", "getrandom", "fallocate",
  "sigtimedwait", "clock_nanosleep", "fdatasync", "O_TMPFILE", "O_PATH",
  "POLLRDHUP", "CLOCK_BOOTTIME", "secure_getenv", "statx", "splice" }

--- Lines of a source that say one of them where nothing asks whether it is
--- there: by its own name, which may be given there, or by the system's.
local function unasked(path, text)
  local asked, found, number, given = {}, {}, 0, {}
  text = text:gsub("/%*.-%*/", function(c) return c:gsub("[^\n]", "") end)
  for line in text:gmatch "([^\n]*)\n" do
    number = number + 1
    if line:find "^%s*#%s*if" then
      asked[#asked + 1] = line
      given[line:match "^%s*#%s*ifndef%s+([%w_]+)" or ""] = true
    elseif line:find "^%s*#%s*endif" then
      asked[#asked] = nil
    else
      local conditions = table.concat(asked, " ")
      for _, word in ipairs(LINUX) do
        if not given[word] and line:find("%f[%w_]" .. word .. "%f[^%w_]")
          and not conditions:find("__linux__", 1, true)
          and not conditions:find("__APPLE__", 1, true)
          and not conditions:find("RENAME_NOREPLACE", 1, true)
          and not conditions:find("SECCOMP_MODE_FILTER", 1, true)
          and not conditions:find(word, 1, true) then
          found[#found + 1] = ("%s:%d: %s"):format(path, number, word)
        end
      end
    end
  end
  return found
end

local function run(dir, line)
  local code, out, err = process.run({ "env", "-u", "LD_PRELOAD", "sh", "-ec",
    line }, { cwd = dir })
  return code, out .. err
end

--- Is there such a compiler, for a program that does nothing?
local function compiles(dir, compiler, more)
  return run(dir, ("echo 'int main(void) { return 0; }' >empty.c; %s %s "
    .. "empty.c -o empty"):format(compiler, more)) == 0
end

--- A host with all in it, as it is linked for a device.
local function link(dir, compiler, more)
  local lua, sqlite = shell.quote(lua_source), shell.quote(sqlite_source)
  local command = ("%s -std=gnu11 -O0 -w %s -DPAWL_STATIC -DLUA_USE_POSIX "
    .. "-DSQLITE_OMIT_LOAD_EXTENSION -I. -I%s -I%s "):format(compiler, more,
      lua, sqlite)
  for _, words in ipairs { "-c pawl.c", ("-c %s/sqlite3.c"):format(sqlite),
    ("-c $(ls %s/l*.c | grep -vE '/(lua|luac|ltests)[.]c$')"):format(lua),
    "-static host.c *.o -lpthread -lm -o host && rm -f *.o" } do
    local code, said = run(dir, command .. words)
    assert.equal(0, code, said)
  end
end

describe("the sources", function()
  it("call nothing of Linux alone where others are not thought of", function()
    assert.same({ "x.c:3: pipe2" },
      unasked("x.c", "#ifdef __linux__\n#endif\nx = pipe2(a, 0);\n"))
    assert.same({}, unasked("x.c",
      "#ifdef __linux__\npipe2(a, 0);\n#endif\n/* pipe2 */\n"))
    local found = {}
    for path in shell.output { "find", "src", "-name", "*.[ch]" }
      :gmatch "[^\n]+" do
      for _, line in ipairs(unasked(path, tmp.read(path))) do
        found[#found + 1] = line
      end
    end
    assert.same({}, found)
  end)

  it("have a header for C++17", function()
    local code, said = run(".", "printf '#include <pawl.h>\\n"
      .. "pawl_config config = PAWL_CONFIG_INIT;\\n' | g++ -std=c++17 -Wall "
      .. "-Wextra -Wpedantic -Werror -fsyntax-only -Isrc -x c++ -")
    assert.equal(0, code, said)
  end)
end)

describe("the library in one file", function()
  local dir

  setup(function()
    dir = tmp.dir()
    shell.output { "cmake", "--build", build.dir, "--target",
      "pawl_amalgamation" }
    -- headers of others that are the same for all; a cross compiler looks
    -- elsewhere for those of the system
    shell.output { "sh", "-ec", ([[
      cp build/amalgamation/* %s
      cp bench/size_host.c %s/host.c
      mkdir %s/include
      for name in lua5.4 sqlite3 libpq; do
        folder=$(pkg-config --variable=includedir "$name")
        cp "$folder"/sqlite3*.h "$folder"/libpq-fe.h "$folder"/postgres_ext.h \
          "$folder"/pg_config_ext.h "$folder"/lua*.h "$folder"/lua5.4/*.h \
          "$folder"/lauxlib.h "$folder"/lualib.h %s/include 2>/dev/null || true
      done
      cp $(find /usr/include -name "lua5.4-deb-*.h") %s/include || true]])
      :format(dir, dir, dir, dir, dir) }
  end)

  for _, one in ipairs(COMPILERS) do
    local compiler, package = table.unpack(one)
    local more = one.more or ""
    it("compiles by " .. compiler, function()
      if not compiles(dir, compiler, more) then
        pending(("no %s here (Debian's %s)"):format(compiler, package))
        return
      end
      local code, said = run(dir, ("%s -std=c11 -O0 -Wall -Werror %s "
        .. "-DPAWL_POSTGRES -Iinclude -fsyntax-only pawl.c"):format(compiler,
          more))
      assert.equal(0, code, said)
    end)

    if one.on and lua_source and sqlite_source then
      it("runs a step in a program of " .. compiler .. " #slow", function()
        local runner, of = table.unpack(one.on)
        if not compiles(dir, compiler, more .. " -static") then
          pending(("no %s here (Debian's %s)"):format(compiler, package))
          return
        elseif run(dir, runner .. " ./empty") ~= 0 then
          pending(("no %s here (Debian's %s)"):format(
            runner == "" and "such processor" or runner, of or "kernel"))
          return
        end
        link(dir, compiler, more)
        for _, store in ipairs { ":memory:", "host.db", "host.db" } do
          local code, said = run(dir, ("%s ./host %s </dev/null"):format(runner,
            store))
          assert.matches("^completed %d+\n$", said)
          assert.equal(0, code)
        end
        run(dir, "rm -f host.db*")
      end)
    end
  end
end)
