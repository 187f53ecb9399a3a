-- Pawl as others get it: found by CMake and by pkg-config where it was
-- installed, built along with a program, and as a Debian package.
local build = require "spec.support.build"
local installed = require "spec.support.installed"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local root = os.getenv "PWD"
installed.name = "a prefix" -- as people have them

-- C99 and C++17 at once.
local HOST = [[
#include <stdio.h>
#include <string.h>

#include <pawl.h>

static const char FLOW[] =
    "local w = require 'pawl'.workflow { code = 'a.b', start = 'one' }\n"
    "w:step('one', { next = 'z', run = function(ctx)\n"
    "  ctx.vars.n = ctx.input.n + 1\n"
    "end })\n"
    "w:finish('z', { output = function(ctx) return ctx.vars.n end })\n"
    "return w\n";

int main(void) {
  pawl_engine *engine = NULL;
  pawl_error err;
  char id[37], *text = NULL;
  int64_t n = 0;

  if (pawl_open(":memory:", NULL, &engine, &err) != PAWL_OK ||
      pawl_load_text(engine, "w.lua", FLOW, NULL, &err) != PAWL_OK ||
      pawl_start(engine, "a.b", "{\"n\":41}", NULL, id, NULL, &err) ||
      pawl_tick(engine, 1000000, NULL, &err) != PAWL_OK ||
      pawl_get(engine, id, &text, &err) != PAWL_OK ||
      pawl_int(text, "output", &n, &err) != PAWL_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  printf("%d of pawl %s\n", (int)n, pawl_version());
  pawl_free(engine, text);
  pawl_close(engine);
  return 0;
}
]]

local version = tmp.read "src/pawl.h":match '#define PAWL_VERSION "([%d.]+)"'
local SAID = "42 of pawl " .. version .. "\n"

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

--- A folder with the program, as C and as C++.
local function sources()
  local dir = tmp.dir()
  write(dir .. "/host.c", HOST)
  write(dir .. "/host.cc", HOST)
  return dir
end

local function needs_libpawl(dir, program)
  return installed.sh(dir, "readelf -d ./" .. program)
    :find("NEEDED[^\n]*libpawl") ~= nil
end

describe("an installed pawl, by pkg-config,", function()
  local dir

  setup(function() dir = sources() end)

  for _, language in ipairs {
    { "C", "cc -std=c99 host.c" }, { "C++17", "c++ -std=c++17 host.cc" },
  } do
    for _, package in ipairs { "pawl", "pawl-static" } do
      it(("is linked by a program in %s: %s"):format(language[1], package),
      function()
        -- the prefix has a space in it, which pkg-config escapes for eval
        installed.sh(dir, ('eval "%s $CFLAGS -Wall -Wextra -Werror -o by-pc '
          .. '$(pkg-config --cflags --libs %s)"'):format(language[2], package))
        assert.equal(SAID, installed.sh(dir, "./by-pc"))
        assert.equal(package == "pawl", needs_libpawl(dir, "by-pc"))
      end)
    end
  end
end)

local FOUR = [[
foreach(language c cc)
  add_executable(${language}_shared host.${language})
  target_link_libraries(${language}_shared PRIVATE pawl::pawl)
  add_executable(${language}_static host.${language})
  target_link_libraries(${language}_static PRIVATE pawl::static)
endforeach()
]]
local HEAD = [[
cmake_minimum_required(VERSION 3.20)
project(host LANGUAGES C CXX)
set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_STANDARD 17)
]]

local function check_four(dir)
  for _, language in ipairs { "c", "cc" } do
    for _, library in ipairs { "shared", "static" } do
      local program = ("build/%s_%s"):format(language, library)
      assert.equal(SAID, installed.sh(dir, program))
      assert.equal(library == "shared", needs_libpawl(dir, program))
    end
  end
end

describe("an installed pawl, by CMake,", function()
  local dir

  local function configure(find)
    write(dir .. "/CMakeLists.txt", HEAD .. find .. "\n" .. FOUR)
    return process.run({ "env", "-u", "LD_PRELOAD", "cmake", "-G", "Ninja",
      "-S", dir, "-B", dir .. "/build" }, { env = installed.env() })
  end

  before_each(function() dir = sources() end)

  it("is found, and linked by programs in C and C++17", function()
    local code, _, err = configure("find_package(pawl "
      .. version:match "%d+%.%d+" .. " REQUIRED)")
    assert.equal(0, code, err)
    installed.sh(dir, "cmake --build build")
    check_four(dir)
  end)

  it("is not found when another version is wanted", function()
    local code, _, err = configure "find_package(pawl 99.1 REQUIRED)"
    assert.equal(1, code)
    assert.matches(version, err, 1, true)
  end)
end)

describe("pawl in a program's own build #slow", function()
  it("is built along, without PostgreSQL, and installs nothing", function()
    local dir = sources()
    write(dir .. "/CMakeLists.txt", HEAD .. ([[
include(FetchContent)
set(PAWL_POSTGRES OFF CACHE BOOL "")
FetchContent_Declare(pawl SOURCE_DIR "%s")
FetchContent_MakeAvailable(pawl)
install(TARGETS c_shared)
]]):format(root):gsub("install.*", function(text)
      return FOUR .. text
    end))
    installed.sh(dir, "cmake -G Ninja -DCMAKE_BUILD_TYPE=Debug -S . -B build "
      .. "&& cmake --build build")
    check_four(dir)
    assert.equal("", installed.sh(dir, "ls -d build/_deps/pawl-build/pawl "
      .. "build/_deps/pawl-build/lua 2>/dev/null || true"))
    installed.sh(dir, "cmake --install build --prefix here")
    assert.equal("here/bin/c_shared\n", installed.sh(dir,
      "find here -type f"))
  end)
end)

describe("the Debian package", function()
  local dir, package

  setup(function()
    dir = tmp.dir()
    installed.sh(build.dir, "cpack -G DEB -B '" .. dir .. "'")
    package = installed.sh(dir, "ls pawl_*.deb"):match "[^\n]+"
    installed.sh(dir, "dpkg-deb -x " .. package .. " root")
  end)

  it("has command, library, module, man pages and completions", function()
    local files = {}
    local list = installed.sh(dir, "find root -printf '%P\\n'")
    for path in list:gmatch "[^\n]+" do
      files[path] = true
    end
    for _, path in ipairs {
      "usr/bin/pawl", "usr/include/pawl.h", "usr/lib/libpawl.a",
      "usr/lib/libpawl.so", "usr/lib/libpawl.so." .. version,
      "usr/lib/cmake/pawl/pawlConfig.cmake", "usr/lib/pkgconfig/pawl.pc",
      "usr/lib/lua/5.4/pawl/core.so", "usr/share/lua/5.4/pawl/init.lua",
      "usr/share/man/man1/pawl.1", "usr/share/man/man1/pawl-worker.1",
      "usr/share/bash-completion/completions/pawl",
      "usr/share/zsh/site-functions/_pawl",
      "usr/share/fish/vendor_completions.d/pawl.fish",
      "usr/share/doc/pawl/copyright",
      "usr/lib/systemd/system/pawl-worker@.service",
    } do
      assert.is_true(files[path], path)
    end
  end)

  it("has pages whose links lead somewhere", function()
    local pages = installed.sh(dir,
      "cd root/usr/share/doc/pawl && find . -name '*.md'")
    local seen = 0
    for page in pages:gmatch "[^\n]+" do
      local path = dir .. "/root/usr/share/doc/pawl/" .. page
      local folder = path:match "^(.*/)"
      for link in tmp.read(path):gmatch "%]%(([^)#%s]+)" do
        if not link:find "://" then
          seen = seen + 1
          local file <close> = io.open(folder .. link, "rb") -- or a folder
          assert.is_truthy(file, page .. ": " .. link)
        end
      end
    end
    assert.is_true(seen > 50)
  end)

  it("needs what it is linked with, and has the linker look again", function()
    local control = installed.sh(dir, "dpkg-deb -f " .. package)
    assert.matches("\nPackage: pawl\n", "\n" .. control, 1, true)
    assert.matches("\nVersion: " .. version, control, 1, true)
    assert.matches("libsqlite3-0 (>= 3.35)", control, 1, true)
    assert.matches("liblua5.4-0", control, 1, true)
    assert.not_matches("Depends:[^\n]*libpq", control)
    assert.equal("activate-noawait ldconfig\n",
      installed.sh(dir, "dpkg-deb -I " .. package .. " triggers"))
  end)

  it("has a command and a module that work", function()
    assert.matches("^pawl " .. version, installed.sh(dir,
      "root/usr/bin/pawl version"))
    if build.dir:find "sanitize" then return end -- wants its preload
    assert.equal(version .. "\n", installed.sh(dir,
      [[lua5.4 -e 'print(require "pawl".version())']], {
      LUA_PATH = dir .. "/root/usr/share/lua/5.4/?.lua;" .. dir
        .. "/root/usr/share/lua/5.4/?/init.lua",
      LUA_CPATH = dir .. "/root/usr/lib/lua/5.4/?.so",
    }))
  end)
end)

describe("what the library has", function()
  it("is not what only the command needs", function()
    local libraries = shell.output { "sh", "-c",
      "grep -c pawl.cli.main '" .. build.dir .. "/libpawl.so' || true" }
    assert.equal("0\n", libraries)
    assert.not_equal("0\n", shell.output { "sh", "-c",
      "grep -c pawl.cli.main '" .. build.command .. "'" })
  end)
end)
