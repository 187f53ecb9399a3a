-- pawl.h in a program's build: no warning of it, whatever is asked for, in each
-- language that it is for.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local SOURCE <const> = [[
#include <pawl.h>
static int64_t now(void *ud) { (void)ud; return 1; }
static void woken(void *ud) { (void)ud; }
struct game { pawl_config config; pawl_game_clock clock; };
int main(void);
int main(void) {
  static const pawl_config fixed = PAWL_CONFIG_INIT;
  pawl_config config = PAWL_CONFIG_INIT;
  struct game game;
  pawl_error err;
  config.clock = now;
  config.wake = woken;
  config.memory_bytes = 1000000;
  game.config = config;
  err.code = PAWL_OK;
  return err.code == PAWL_OK && game.config.size == fixed.size ? 0 : 1;
}
]]

local ALL <const> = { "-Wall", "-Wextra", "-Wpedantic", "-Werror",
  "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Wcast-qual",
  "-Wcast-align", "-Wmissing-field-initializers", "-Wmissing-declarations",
  "-Wredundant-decls" }
local OF <const> = {
  c = { "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wc++-compat" },
  ["c++"] = { "-Wold-style-cast", "-Wzero-as-null-pointer-constant",
    "-Wnon-virtual-dtor", "-Wextra-semi" },
}

local COMPILERS <const> = {
  { "gcc", "c", { "c99", "c11", "c17", "gnu11" } },
  { "clang", "c", { "c99", "c11", "c17", "gnu11" } },
  { "g++", "c++", { "c++11", "c++14", "c++17", "c++20", "gnu++17" } },
  { "clang++", "c++", { "c++11", "c++14", "c++17", "c++20", "gnu++17" } },
}

local function has(compiler)
  return os.execute("command -v " .. compiler .. " >/dev/null")
end

--- What the compiler says.
local function compile(compiler, language, standard, source)
  local command = { compiler, "-x", language, "-std=" .. standard,
    "-I" .. os.getenv "PWD" .. "/src", "-c", "-o", tmp.path "header" }
  table.move(ALL, 1, #ALL, #command + 1, command)
  table.move(OF[language], 1, #OF[language], #command + 1, command)
  command[#command + 1] = tmp.file("header.c", source)
  local _, said = pcall(shell.output, command)
  return said
end

describe("pawl.h", function()
  for _, one in ipairs(COMPILERS) do
    local compiler, language, standards = table.unpack(one)
    if has(compiler) then
      for _, standard in ipairs(standards) do
        it(("warns of nothing: %s -std=%s"):format(compiler, standard),
          function()
            assert.equal("", compile(compiler, language, standard, SOURCE))
          end)
      end
      it("would be seen to: " .. compiler, function()
        local said = compile(compiler, language, standards[1],
          (SOURCE:gsub("= PAWL_CONFIG_INIT;", "= { 1 };")))
        assert.matches("missing", said)
      end)
    end
  end
end)
