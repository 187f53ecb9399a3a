-- The library in one file: it compiles by the line in its head, alone, with
-- either compiler, and a program with it does what it should.
local build = require "spec.support.build"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local LIBRARIES <const> = " -llua5.4 -lsqlite3 -lpthread -ldl -lm"

local HOST <const> = [[
#include <stdio.h>
#include <pawl.h>
static const char FLOW[] =
    "local pawl = require 'pawl'\n"
    "local flow = pawl.workflow { code = 't.one', start = 'first' }\n"
    "flow:step('first', { run = function(ctx) ctx.vars.n = 7; return 'z' end,\n"
    "  next = { z = 'z' } })\n"
    "flow:finish 'z'\n"
    "return flow\n";
int main(int argc, char **argv) {
  pawl_engine *engine = NULL;
  pawl_error err;
  char id[37], *text = NULL;
  int64_t n = 0;
  pawl_code rc = pawl_open(argc > 1 ? argv[1] : NULL, NULL, &engine, &err);
  if (rc == PAWL_OK) rc = pawl_load_text(engine, "o.lua", FLOW, NULL, &err);
  if (rc == PAWL_OK)
    rc = pawl_start(engine, "t.one", NULL, NULL, id, NULL, &err);
  if (rc == PAWL_OK) rc = pawl_tick(engine, 5000000, NULL, &err);
  if (rc == PAWL_OK) rc = pawl_get(engine, id, &text, &err);
  if (rc == PAWL_OK) rc = pawl_int(text, "variables.n", &n, &err);
  printf("%s %d %s\n", pawl_code_name(rc), (int)n, rc ? err.message : "");
  pawl_free(engine, text);
  return pawl_close(engine) != PAWL_OK || rc != PAWL_OK;
}
]]

local function found(program)
  return os.execute("command -v " .. program .. " >/dev/null 2>&1") == true
end

describe("the library in one file", function()
  local dir

  setup(function()
    dir = tmp.dir()
    shell.output { "cmake", "--build", build.dir,
      "--target", "pawl_amalgamation" }
    shell.output { "cp", "build/amalgamation/pawl.c",
      "build/amalgamation/pawl.h", dir }
    local file <close> = assert(io.open(dir .. "/host.c", "w"))
    assert(file:write(HOST))
  end)

  --- Without what the tests' own build needs of the environment.
  local function run(line)
    local code, out, err = process.run({ "env", "-u", "LD_PRELOAD", "sh",
      "-ec", line }, { cwd = dir })
    assert.equal(0, code, line .. "\n" .. err)
    return out .. err
  end

  it("is a header and a source, with no machine's name in it", function()
    local text = tmp.read(dir .. "/pawl.c")
    assert.equal(tmp.read "src/pawl.h", tmp.read(dir .. "/pawl.h"))
    assert.is_nil(text:find("\n#line", 1, true))
    assert.is_nil(text:find('#include "%.'))
    assert.is_nil(text:find(assert(os.getenv "PWD"), 1, true))
    for name in text:gmatch '\n#include "([^"]+)"' do
      assert.equal("pawl.h", name)
    end
  end)

  for _, compiler in ipairs { "gcc", "clang" } do
    it("is compiled by one line, by " .. compiler, function()
      if not found(compiler) then pending("no " .. compiler) return end
      assert.equal("", run(compiler .. " -std=c11 -O0 -Wall -Werror "
        .. "-fvisibility=hidden $(pkg-config --cflags lua5.4) -c pawl.c "
        .. "-o one.o"))
      assert.equal("", run(compiler .. " -O0 -I. host.c one.o -o host"
        .. LIBRARIES))
      assert.equal("ok 7 \n", run "./host one.db")
      assert.equal("wal\n", run "sqlite3 one.db 'pragma journal_mode'")
      -- nothing but what pawl.h has could be in the way of a program's names
      for name in run "nm -g --defined-only one.o":gmatch "%S+\n" do
        assert.matches("^pawl_", name)
      end
    end)
  end

  it("has PostgreSQL where that is wanted, and says where it is not",
    function()
      run("gcc -O0 -I/usr/include/lua5.4 -I/usr/include/postgresql "
        .. "-DPAWL_POSTGRES -I. host.c pawl.c -o with" .. LIBRARIES)
      run("gcc -O0 -I/usr/include/lua5.4 -I. host.c pawl.c -o without"
        .. LIBRARIES)
      assert.matches("unsupported 0 .*without PostgreSQL",
        run("./without 'postgres://x/y' || true"))
      local said = run("./with 'postgres://nobody@127.0.0.1:1/x' || true")
      assert.matches("^unreachable 0 ", said)
    end)
end)
