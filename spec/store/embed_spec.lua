-- sql/embed.lua on small trees of its own.
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

--- Writes files below a new folder and runs the generator on it.
---@return boolean ok, string output, string out  folder of what was made
local function embed(files)
  local root, out = tmp.dir(), tmp.dir()
  for name, text in pairs(files) do
    local path = root .. "/" .. name
    shell.output { "mkdir", "-p", (path:gsub("/[^/]*$", "")) }
    local file <close> = assert(io.open(path, "wb"))
    file:write(text)
  end
  local ok, output = pcall(shell.output,
                           { "lua5.4", "sql/embed.lua", root, out })
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

  it("makes tables of statements, migrations and Lua files", function()
    local ok, output, out = embed(tree())
    assert.is_true(ok, output)
    local header, source = tmp.read(out .. "/pawl_sql.h"),
                           tmp.read(out .. "/pawl_sql.c")
    assert.matches("PAWL_STMT_A_GET,", header)
    assert.matches("PAWL_A_GET_ID = 0,", header)
    assert.matches("PAWL_A_GET_R_N = 0,", header)
    assert.matches("select n from pawl%.a where id = %$1\"", source)
    assert.matches("select n from main%.pawl_a where id = \\%?1\"", source)
    assert.matches("pawl_nmigrations = 1;", source)
    local lua = tmp.read(out .. "/pawl_lua.c")
    assert.matches('"pawl", "lua/pawl/init.lua"', lua)
    assert.matches('"pawl.cli.main", "lua/pawl/cli/main.lua"', lua)
    assert.not_matches("meta", lua)
    assert.matches("pawl_lua_nsources = 2;", lua)
    assert.matches('#define MADE_BY "Lua 5%.4%.%d+  Copyright', lua)
    assert.equal(2, select(2, lua:gsub("%d, MADE_BY}", "")))
  end)

  it("names a Lua file that does not compile", function()
    refuses(tree { ["lua/pawl/b.lua"] = "return\n}" }, "lua/pawl/b.lua",
      "2:.*'}'")
  end)

  it("always makes the same", function()
    local _, _, one = embed(tree())
    local _, _, two = embed(tree())
    for _, name in ipairs { "pawl_sql.h", "pawl_sql.c", "pawl_lua.h",
                            "pawl_lua.c" } do
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
    refuses(both "-- name: a\n-- args: @get_id uuid\nselect @get_id\n",
            "makes PAWL_A_GET_ID, as ")
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
