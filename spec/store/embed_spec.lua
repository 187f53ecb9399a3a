-- sql/embed.lua on small trees of its own.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

--- Writes files below a new folder and runs the generator on it.
---@param generator string?  another than our own
---@return boolean ok, string output, string out  folder of what was made
local function embed(files, generator)
  local root, out = tmp.dir(), tmp.dir()
  for name, text in pairs(files) do
    local path = root .. "/" .. name
    shell.output { "mkdir", "-p", (path:gsub("/[^/]*$", "")) }
    local file <close> = assert(io.open(path, "wb"))
    file:write(text)
  end
  local ok, output = pcall(shell.output, { "lua5.4",
    generator or "sql/embed.lua", root, out })
  return ok, output, out
end

--- A tree that is right, with changes; `false` leaves a file out.
local function tree(changes)
  local files = {
    ["sql/postgres/a.sql"] = "-- name: a_get\n-- args: @id uuid\n"
      .. "-- rows: n integer\nselect n from pawl.a where id = @id;\n",
    ["sql/sqlite/a.sql"] = "-- name: a_get\n-- args: @id uuid\n"
      .. "-- rows: n integer\nselect n from pawl_a where id = @id;\n",
    ["sql/postgres/migrations/0001_first.sql"] = "-- breaking: no\nx;\n",
    ["sql/sqlite/migrations/0001_first.sql"] = "-- breaking: no\ny;\n",
    ["lua/pawl/init.lua"] = "return {}\n",
    ["lua/pawl/cli/main.lua"] = "return \"??=\\0\\255\"\n",
    ["lua/pawl/meta/core.lua"] = "---@meta\n",
  }
  for name, text in pairs(changes or {}) do files[name] = text or nil end
  return files
end

--- One more statement in both dialects.
local function both(text)
  return tree { ["sql/postgres/b.sql"] = text, ["sql/sqlite/b.sql"] = text }
end

local function refuses(files, ...)
  local ok, output = embed(files)
  assert.is_false(ok)
  for _, pattern in ipairs { ... } do
    assert.matches(pattern, tostring(output))
  end
end

--- Prints every text that the program has.
local DUMP <const> = [[
#include <stdio.h>
#include "store/stmt.h"
#define TEXT(title, which) \
  do { \
    pawl_buf room = {0}; \
    printf("%s\n%s\n", title, pawl_sqltext_read(which, &room)); \
    pawl_buf_deinit(&room); \
  } while (0)
#define DUMP(dialect) \
  for (int i = 0; i < PAWL_NSTMTS; i++) \
    TEXT(pawl_stmts[i].name, pawl_sql_##dialect[i].text); \
  for (int i = 0; i < pawl_nmigrations; i++) \
    TEXT(#dialect, pawl_migrations_##dialect[i].text);
int main(void) { PAWL_DIALECTS(DUMP) return 0; }
]]

--- What a program made of all our statements has as texts, and its size.
local function texts_of(size)
  local out = tmp.dir()
  shell.output { "lua5.4", "sql/embed.lua", ".", out, size }
  local file <close> = assert(io.open(out .. "/dump.c", "w"))
  assert(file:write(DUMP))
  file:flush()
  shell.output { "gcc", "-Wall", "-Werror", "-Isrc", "-I" .. out,
    "-D_GNU_SOURCE", "-DPAWL_POSTGRES", "-o", out .. "/dump", out .. "/dump.c",
    out .. "/pawl_sql.c", "src/store/sqltext.c", "src/base/buf.c",
    "src/base/alloc.c", "src/base/error.c", "src/base/str.c" }
  local program <close> = assert(io.open(out .. "/dump", "rb"))
  return shell.output { out .. "/dump" }, program:seek "end"
end

describe("a small program", function()
  it("has the same texts, in less than half the room", function()
    local plain, size = texts_of()
    local packed, small = texts_of "small"
    assert.matches("\nagenda_claim\nwith .*create table pawl%.instance", plain)
    assert.equal(plain, packed)
    assert.is_true(small < size / 2, small .. " of " .. size)
  end)
end)

describe("the generator", function()
  it("says where SQLite's tables are, or fails", function()
    local head = "-- name: b_get\n-- rows: n integer\n"
    local ok, output, out = embed(tree {
      ["sql/postgres/b.sql"] = head .. "select 1",
      ["sql/sqlite/b.sql"] = head .. "select n from pawl_a indexed by pawl_i"
        .. " join json_each('from pawl_x') j -- from pawl_y",
    })
    assert.is_true(ok, output)
    assert.matches("select n from main%.pawl_a indexed by pawl_i join "
      .. "main%.json_each%('from pawl_x'%) j\"", tmp.read(out
      .. "/pawl_sql.c"))
    refuses(tree {
      ["sql/postgres/b.sql"] = head .. "select 1",
      ["sql/sqlite/b.sql"] = head .. "select n from b, pawl_a",
    }, "pawl_a does not stand behind from")
  end)

  it("takes any folder below sql/ for a dialect, by its dialect.lua", function()
    local own = tmp.dir()
    shell.output { "cp", "-r", "sql/.", own }
    shell.output { "mkdir", own .. "/abacus" }
    local file <close> = assert(io.open(own .. "/abacus/dialect.lua", "w"))
    file:write 'return { sign = ":" }'
    file:close()
    local files = tree {
      ["sql/abacus/a.sql"] = "-- name: a_get\nselect n from a where id = @id",
      ["sql/abacus/migrations/0001_first.sql"] = "-- breaking: no\nz;\n",
    }
    local ok, output, out = embed(files, own .. "/embed.lua")
    assert.is_true(ok, output)
    local source = tmp.read(out .. "/pawl_sql.c")
    assert.matches("PAWL_DIALECTS%(X%) X%(postgres%) X%(abacus%) X%(sqlite%)",
                   tmp.read(out .. "/pawl_sql.h"))
    assert.matches("pawl_sql_abacus%[", source)
    assert.matches('"select n from a where id = :1"', source)
    assert.matches("pawl_migrations_abacus%[", source)
    files["sql/abacus/a.sql"] = "-- name: b\nselect 1"
    ok, output = embed(files, own .. "/embed.lua")
    assert.is_false(ok)
    assert.matches("b is missing in sql/postgres/a%.sql", output)
  end)

  it("makes tables of statements, migrations and Lua files", function()
    local ok, output, out = embed(tree())
    assert.is_true(ok, output)
    local header, source = tmp.read(out .. "/pawl_sql.h"),
                           tmp.read(out .. "/pawl_sql.c")
    assert.matches("PAWL_STMT_a_get,", header)
    assert.matches("struct pawl_a_get_args {\n  const pawl_id %*id;\n}", header)
    assert.matches("struct pawl_a_get_row {\n  int64_t n;\n}", header)
    assert.matches('"n", PAWL_T_INT, 32, 0, PAWL_NULL_NEVER, '
                   .. "offsetof%(pawl_a_get_row, n%)", source)
    assert.matches("select n from pawl%.a where id = %$1\"", source)
    assert.matches("select n from main%.pawl_a where id = \\%?1\"", source)
    assert.matches("pawl_nmigrations = 1;", source)
    local lua = tmp.read(out .. "/pawl_lua.c")
    assert.matches('"pawl", "lua/pawl/init.lua"', lua)
    assert.not_matches("pawl.cli", lua, 1, true)
    assert.matches("pawl_lua_nsources = 1;", lua)
    local cli = tmp.read(out .. "/pawl_cli.c")
    assert.matches('"pawl.cli.main", "lua/pawl/cli/main.lua"', cli)
    assert.matches("pawl_cli_nsources = 1;", cli)
    for _, text in ipairs { lua, cli } do
      assert.not_matches("meta", text)
      assert.matches('#define MADE_BY "Lua 5%.4%.%d+  Copyright', text)
      assert.equal(1, select(2, text:gsub("%d, MADE_BY}", "")))
    end
  end)

  it("names a Lua file that does not compile", function()
    refuses(tree { ["lua/pawl/b.lua"] = "return\n}" }, "lua/pawl/b.lua",
      "2:.*'}'")
  end)

  it("always makes the same", function()
    local _, _, one = embed(tree())
    local _, _, two = embed(tree())
    for _, name in ipairs { "pawl_sql.h", "pawl_sql.c", "pawl_lua.h",
                            "pawl_lua.c", "pawl_cli.c" } do
      assert.is_true(tmp.read(one .. "/" .. name) ==
                     tmp.read(two .. "/" .. name))
    end
  end)

  it("numbers arguments outside of strings and comments only", function()
    local ok, output, out = embed(both [[
-- name: b_put
-- args: @a text, @b text,
--       @long_name json
-- Free comments, one with @nobody in it.
select '@a', 'it''s @b', "@a" /* @a */, @b, @a -- @a
     , @long_name, @a || '--', '/*', @b
]])
    assert.is_true(ok, output)
    local source = tmp.read(out .. "/pawl_sql.c")
    assert.matches("'@a', 'it''s @b', \\\"@a\\\" , %$2, %$1\\n\"\n", source)
    assert.matches(", %$3, %$1 || '%-%-', '/%*', %$2\"", source)
  end)

  it("names what is wrong, and where", function()
    refuses(both "-- name: b\n-- args: @a text\nselect 1\n",
            "b%.sql:1: b: @a is declared and not used")
    refuses(both "-- name: b\n\nselect @a\n",
            "b%.sql:3: b: @a is not among its args")
    refuses(both "-- name: b\n-- args: @a string\nselect @a\n",
            "b%.sql:2: b: args: unknown type string of @a")
    refuses(both "-- name: b\n-- args: a text\nselect @a\n",
            "b%.sql:2: .*cannot read \"a text\"")
    refuses(both "-- name: b\n-- args: @a text, @a text\nselect @a\n",
            "stands there twice")
    refuses(both "-- name: b\n-- arg: @a text\nselect @a\n",
            "write `%-%- args:`, not `%-%- arg:`")
    refuses(both "-- name: b\n-- rows: n integer[]\nselect 1\n",
            "return it as json")
    refuses(both "-- name: b\nselect 1; select 2\n",
            "b%.sql:2: b: text behind its end")
    refuses(both "-- name: b\nselect 'a\n", "b%.sql:2: .*not closed")
    refuses(both "-- name: b\n-- only comments\n", "b: has no SQL")
    refuses(both "-- name: B b\nselect 1\n", "is no name")
    refuses(both "select 1\n", "b%.sql:1: SQL before the first")
    refuses(both "-- name: a_get\nselect 1\n",
            "b%.sql:1: a_get is declared in .*a%.sql:1")
    refuses(both "-- name: b\n-- run: twice\nselect 1\n", "only `once`")
    refuses(both "-- name: b\n-- run: once\nselect 1\n", "SQLite only")
    refuses(both "-- name: b\n-- every: time\nselect 1\n", "only `row`")
    refuses(both "-- name: b\n-- args: @a text?\nselect @a\n",
            "b%.sql:2: .*text of @a needs no %?: it has a null of its own")
    refuses(both "-- name: b\n-- rows: n integer?\nselect 1\n",
            "n needs no %?: a null is read as 0")
    refuses(both "-- name: b\n-- rows: like c\nselect 1\n",
            "rows: like c: there must be one above")
  end)

  it("lets a dialect say nothing of arguments and rows", function()
    local ok, output, out = embed(tree {
      ["sql/sqlite/a.sql"] = "-- name: a_get\nselect n from pawl_a "
        .. "where id = @id;\n" })
    assert.is_true(ok, output)
    assert.matches("select n from main%.pawl_a where id = \\%?1\"",
                   tmp.read(out .. "/pawl_sql.c"))
    refuses(tree { ["sql/sqlite/a.sql"] = "-- name: a_get\nselect @x\n" },
            "@x is not among its args")
  end)

  it("makes one struct of rows that are alike", function()
    local ok, output, out = embed(both("-- name: b_get\n-- args: like a_get\n"
      .. "-- rows: like a_get\nselect @id\n"))
    assert.is_true(ok, output)
    local header = tmp.read(out .. "/pawl_sql.h")
    assert.matches("typedef pawl_a_get_args pawl_b_get_args;", header)
    assert.not_matches("pawl_b_get_row", header)
    assert.matches('"b_get", a_get_args, 1, a_get_rows, 1,',
                   tmp.read(out .. "/pawl_sql.c"))
  end)

  it("writes out pieces that statements share", function()
    local files = both("-- name: b\n-- args: @id uuid[], @n integer, "
      .. "@at time[]\nselect {{piece x.y; @n}}, {{other}} {{unnested}};\n")
    for _, name in ipairs { "postgres", "sqlite" } do
      files["sql/" .. name .. "/fragments.sql"] = "-- About them.\n\n"
        .. "-- fragment: piece\n-- One.\nf({{1}},\n  {{1}}, {{2}})\n\n"
        .. "-- fragment: other\n2, {{last}}\n\n"
        .. "-- fragment: last\n({{@lists}}) as s ({{lists}})\n"
    end
    local ok, output, out = embed(files)
    assert.is_true(ok, output)
    assert.matches('"select f%(x%.y, x%.y, %$2%), 2, %(%$1, %$3%) as s '
      .. '%(id, at%) unnest%(%$1%) as id, unnest%(%$3%) as at"},',
      tmp.read(out .. "/pawl_sql.c"))
    refuses(both "-- name: b\nselect {{none}}\n",
            "b%.sql:1: b: there is no fragment none")
    files["sql/sqlite/b.sql"] = "-- name: b\nselect {{piece @n}}\n"
    refuses(files, "b%.sql:1: b: piece wants a {{2}}")
    files["sql/sqlite/b.sql"] = "-- name: b\nselect {{other}}, @n\n"
    refuses(files, "sql/sqlite/fragments%.sql: nobody uses piece")
  end)

  it("writes out columns that statements share", function()
    local files = tree {
      ["sql/shared/b.sql"] = "-- Of b.\n\n-- columns: two\n--   n integer??,\n"
        .. "--   at time? as seen\n-- Both.\n\n-- name: b_put\n"
        .. "-- args: @id uuid, @{{two}}[]\n"
        .. "update pawl.b set ({{two}}) = ({{two s.}})\n"
        .. "from {{unnested}} where id = @id;\n\n"
        .. "-- name: b_get\n-- rows: id uuid, {{two}}\n"
        .. "select id, {{two b.}} from pawl.b b;\n",
    }
    local ok, output, out = embed(files)
    assert.is_true(ok, output)
    local source = tmp.read(out .. "/pawl_sql.c")
    assert.matches("set %(n, at%) = %(s%.n, s%.at%)\\n", source)
    assert.matches("set %(n, at%) = %(\\%?2, \\%?3%)\\n", source)
    assert.matches("select id, b%.n, b%.at from pawl%.b b", source)
    assert.matches('"n", PAWL_T_INT, 32, 1, PAWL_NULL_IS_MARK,', source)
    assert.matches('"at", PAWL_T_TIME, 0, 1, PAWL_NULL_IS_ZERO,', source)
    assert.matches('"at", PAWL_T_TIME, 0, 0, PAWL_NULL_NEVER,', source)
    local header = tmp.read(out .. "/pawl_sql.h")
    assert.matches('#define PAWL_SHOWN_two \\\n  "n seen=at"\n', header)
    assert.matches('PAWL_COLUMNS_two%(X%) \\\n  X%(integer, n, n%) '
      .. '\\\n  X%(time, seen, at%)\n', header)
    refuses(both "-- name: b\n-- args: @{{none}}\nselect 1\n",
            "b%.sql:2: b: args: there are no columns none")
    refuses(both "-- columns: two\n--   n\n-- name: b\nselect {{two}}\n",
            'b%.sql:1: cannot read "n"')
    refuses(both "-- columns: two\n--   n text\n-- name: b\nselect 1\n",
            "b%.sql: nobody uses two")
  end)

  it("says in each dialect what stands once for all", function()
    local text = "-- name: b_get\n-- args: @t text\n-- rows: n integer\n"
      .. "-- run: once\nselect 'pawl.b true', {{one}}, x::int\n"
      .. "  from pawl.b -- only: postgres: why\n"
      .. "  from pawl.b indexed by pawl_i -- only: sqlite\n"
      .. " where left(@t, 2) = 'x' and true for update;\n"
    local files = tree {
      ["sql/shared/b.sql"] = text,
      ["sql/shared/fragments.sql"] = "-- fragment: one\ngreatest(1, 2)\n",
      ["sql/shared/migrations/0002_next.sql"] = "-- breaking: no\n"
        .. "create index i on pawl.b (n);\n\n-- only: postgres\nc;\nd;\n\n"
        .. "comment on table pawl.b is\n  'json;';\ncreate view pawl.w;\n",
    }
    local ok, output, out = embed(files)
    assert.is_true(ok, output)
    local source = tmp.read(out .. "/pawl_sql.c")
    local function has(wanted)
      assert.is_truthy(source:find(wanted, 1, true), wanted .. source)
    end
    has '"select \'pawl.b true\', greatest(1, 2), x::int'
    has '"select \'pawl.b true\', max(1, 2), x'
    has '"  from pawl.b\\n'
    has '"  from main.pawl_b indexed by pawl_i\\n'
    has 'left($1, 2) = \'x\' and true for update"},\n    0}'
    has 'substr(\\?1, 1, 2) = \'x\' and 1"},\n    1}'
    has '"create index i on pawl.b (n);\\n"\n    "\\n"\n    "c;\\n"'
    has '"create index pawl_i on pawl_b (n);\\n"\n    "\\n"\n    "create view p'
    files["sql/sqlite/fragments.sql"] = "-- fragment: one\n1\n"
    refuses(files, "sql/sqlite/fragments%.sql: one is in sql/shared/")
  end)

  it("knows which numbers are null", function()
    local ok, output, out = embed(both("-- name: b_put\n-- args: "
      .. "@a integer?, @b time??[]\nselect @a, @b\n"))
    assert.is_true(ok, output)
    local source = tmp.read(out .. "/pawl_sql.c")
    assert.matches('"a", PAWL_T_INT, 32, 0, PAWL_NULL_IS_ZERO,', source)
    assert.matches('"b", PAWL_T_TIME, 0, 1, PAWL_NULL_IS_MARK,', source)
  end)

  it("insists that the dialects agree", function()
    refuses(tree { ["sql/sqlite/a.sql"] = false }, "a_get is missing in "
            .. "sql/sqlite/a%.sql", "sql/postgres/a%.sql:1")
    refuses(tree {
      ["sql/postgres/b.sql"] = "-- name: b\n-- every: row\nselect 1\n",
      ["sql/sqlite/b.sql"] = "-- name: b\nselect 1\n",
    }, "b: every: it is not in sql/sqlite/b%.sql:1")
    refuses(tree { ["sql/sqlite/b.sql"] = "-- name: b\nselect 1\n" },
            "sql/sqlite/b%.sql:1: b is missing in sql/postgres/b%.sql")
    refuses(tree { ["sql/sqlite/a.sql"] = "-- name: a_get\n"
                     .. "-- args: @id text\n-- rows: n integer\n"
                     .. "select @id\n" },
            "number 1 is @id uuid, but @id text in sql/sqlite/a%.sql:1")
    refuses(tree { ["sql/sqlite/a.sql"] = "-- name: a_get\n"
                     .. "-- args: @id uuid\n-- rows: n bigint\n"
                     .. "select @id\n" }, "n integer, but n bigint")
    refuses(tree { ["sql/sqlite/migrations/0001_first.sql"] =
                     "-- breaking: yes\n" }, "breaking differs")
    refuses(tree { ["sql/sqlite/migrations/0002_second.sql"] =
                     "-- breaking: no\n" }, "no such migration")
    refuses(tree { ["sql/sqlite/migrations/0001_first.sql"] = "y;\n" },
            "begin with `%-%- breaking")
    refuses(tree { ["sql/sqlite/migrations/0001_first.sql"] = false,
                   ["sql/sqlite/migrations/0003_a.sql"] =
                     "-- breaking: no\n" }, "next migration's number is 0001")
  end)

  it("passes no ids as JSON", function()
    refuses(tree {
      ["sql/postgres/b.sql"] = "-- name: b\n-- args: @a uuid[]\nselect @a\n",
      ["sql/sqlite/b.sql"] = "-- name: b\n-- args: @a uuid[]\n"
        .. "-- run: once\nselect @a\n" }, "has no uuid: @a")
  end)
end)
