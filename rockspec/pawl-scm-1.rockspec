-- From a checkout: luarocks --lua-version=5.4 make rockspec/pawl-scm-1.rockspec
-- Builds and installs the Lua module alone, for the Lua that LuaRocks serves.
rockspec_format = "3.0"
package = "pawl"
version = "scm-1"

source = {
  url = "git+file://.", -- `luarocks make` takes the current folder
}

description = {
  summary = "Durable workflows in Lua, kept in SQLite or PostgreSQL",
  detailed = [[
Pawl runs workflows written in Lua. A crash, a power cut or a redeploy never
loses a finished step: each is recorded in the same transaction as what it
changed. Needs a C compiler, CMake, SQLite 3.35 and libpq 14 or newer.]],
  license = "MIT",
  labels = { "workflow", "durable", "sqlite", "postgresql" },
}

supported_platforms = { "unix" }

dependencies = {
  "lua >= 5.4, < 5.5",
}

external_dependencies = {
  SQLITE = { header = "sqlite3.h", library = "sqlite3" },
}

build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    PAWL_LUA_CDIR = "$(LIBDIR)",
    PAWL_LUA_DIR = "$(LUADIR)",
    PAWL_MODULE_ONLY = "ON",
  },
  copy_directories = {}, -- else docs/ would be copied into the tree
}

test = {
  type = "command",
  command = "./dev test",
}
