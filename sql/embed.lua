--- Makes C tables of sql/ and lua/, so that one binary runs with no files
--- beside it:
---
---   lua5.4 sql/embed.lua <source root> <out dir>
---
---   pawl_sql.h  PAWL_STMT_..., arguments and columns by name (store/stmt.h)
---   pawl_sql.c  pawl_stmts, and each dialect's statements and migrations
---   pawl_lua.h  pawl_lua_source
---   pawl_lua.c  the modules of lua/pawl (not lua/pawl/meta), as text and as
---               what the Lua that runs this makes of it
---
--- The .c files include "store/stmt.h": compile them with -I<root>/src and
--- -I<out dir>. The output depends on the files' names and text alone, and on
--- the release of that Lua, its sizes and byte order.
---
--- A statement file is a list of
---
---   -- name: agenda_claim
---   -- args: @shard smallint, @ids uuid[],
---   --       @now time
---   -- rows: instance uuid, takeovers integer
---   -- run: once
---   -- every: row
---   -- Free comments.
---   <sql using @shard, @ids and @now>
---
--- `rows` is left out when the statement returns nothing. Both dialects must
--- declare the same statements with the same arguments and rows; `run` is
--- SQLite's alone. With `every: row`, in both, each row of its arguments must
--- change a row, or the whole unit of work fails: SQLite's driver counts; in
--- PostgreSQL the statement itself divides by zero. A migration is
--- migrations/NNNN_name.sql and begins with `-- breaking: no` or `yes`; its
--- text is kept as it is, because SQLite keeps the comments in the schema.

local DIALECTS = { "postgres", "sqlite" }
local MAX_ARGS = 40 -- PAWL_MAX_ARGS

---@class embed.Type
---@field enum string  pawl_type
---@field bits integer  of integers, else 0

---@type table<string, embed.Type>
local TYPES = {
  boolean = { enum = "PAWL_T_BOOL", bits = 0 },
  smallint = { enum = "PAWL_T_INT", bits = 16 },
  integer = { enum = "PAWL_T_INT", bits = 32 },
  bigint = { enum = "PAWL_T_INT", bits = 64 },
  float = { enum = "PAWL_T_FLOAT", bits = 0 },
  text = { enum = "PAWL_T_TEXT", bits = 0 },
  json = { enum = "PAWL_T_JSON", bits = 0 },
  uuid = { enum = "PAWL_T_UUID", bits = 0 },
  time = { enum = "PAWL_T_TIME", bits = 0 },
  bytes = { enum = "PAWL_T_BYTES", bits = 0 },
  numeric = { enum = "PAWL_T_NUMERIC", bits = 0 },
}

---@class embed.Param
---@field name string
---@field type string
---@field list boolean  declared with []

---@class embed.Statement
---@field name string
---@field file string
---@field line integer   of `-- name:`
---@field args embed.Param[]
---@field rows embed.Param[]
---@field once boolean
---@field every boolean
---@field text string    comments gone, arguments numbered

---@class embed.Migration
---@field number integer
---@field name string    "0001_first"
---@field file string
---@field breaking boolean
---@field text string

local function fail(file, line, message, ...)
  local at = line and ("%s:%d"):format(file, line) or file
  io.stderr:write(("%s: %s\n"):format(at, message:format(...)))
  os.exit(1)
end

-- Files ---------------------------------------------------------------------

local function quote(path)
  return "'" .. path:gsub("'", "'\\''") .. "'"
end

--- Paths below `root`/`folder` that end in `.ext`, sorted by bytes.
local function list(root, folder, ext)
  local paths = {}
  local pipe = assert(io.popen(
    ("cd %s && find %s -type f -name '*.%s'")
      :format(quote(root), quote(folder), ext)))
  for path in pipe:lines() do paths[#paths + 1] = path end
  if not pipe:close() then fail(folder, nil, "cannot be listed") end
  table.sort(paths)
  return paths
end

local function read(root, path)
  local file <close> = io.open(root .. "/" .. path, "rb")
  if not file then fail(path, nil, "cannot be read") end
  return (file:read("a"):gsub("\r\n", "\n"))
end

--- Leaves a file alone that is the same already, so that nothing is compiled
--- again for it.
local function write(path, text)
  local old <close> = io.open(path, "rb")
  if old and old:read("a") == text then return end
  local file <close>, message = io.open(path, "wb")
  if not file then fail(path, nil, "cannot be written: %s", message) end
  assert(file:write(text))
end

-- Scanning SQL ---------------------------------------------------------------

--- The end (first byte behind) of the quoted thing, comment or dollar string
--- that begins at `at`, and whether it is a comment; nil when none does. An
--- unclosed one ends behind the text.
local function skip(text, at, dollars)
  local two = text:sub(at, at + 1)
  if two == "--" then
    return text:find("\n", at, true) or #text + 1, true
  elseif two == "/*" then
    local _, stop = text:find("*/", at + 2, true)
    return stop and stop + 1 or #text + 2, true
  end
  local mark = two:sub(1, 1)
  if mark == "'" or mark == '"' then
    -- A doubled quote inside is two strings side by side: the same to us.
    local stop = text:find(mark, at + 1, true)
    return stop and stop + 1 or #text + 2, false
  elseif mark == "$" and dollars then
    local tag = text:match("^%$[%a_]*[%w_]*%$", at)
    if not tag then return nil end
    local _, stop = text:find(tag, at + #tag, true)
    return stop and stop + 1 or #text + 2, false
  end
  return nil
end

-- Words in front of a table.
local BEFORE_TABLE = { from = true, join = true, update = true, into = true }

--- What a word of a statement becomes. A temporary table of a user's own
--- statement would stand in front of one of ours, for as long as the connection
--- lives: SQLite is told where ours are.
---@param before string?  the word in front of it
local function placed(stmt, word, before, line)
  if not word:find("^pawl_") and not word:find("^json_each$")
     and not word:find("^sqlite_master$") then
    return word
  elseif before and BEFORE_TABLE[before:lower()] then
    return "main." .. word
  elseif before ~= "by" then -- `indexed by`: an index is its table's
    fail(stmt.file, line, "%s: %s does not stand behind from, join, update "
         .. "or into: it would not be told to be in main", stmt.name, word)
  end
  return word
end

--- Numbers the arguments, drops comments, blank lines and the last semicolon.
---@param stmt embed.Statement
---@param body string
---@param first integer  the body's first line
local function compile(stmt, body, first, dialect)
  local sign = dialect == "sqlite" and "?" or "$"
  local numbers, used, out = {}, {}, {}
  for i, arg in ipairs(stmt.args) do numbers[arg.name] = i end
  local function line_at(at)
    return first + select(2, body:sub(1, at - 1):gsub("\n", ""))
  end

  local at, ended, before = 1, nil, nil
  while at <= #body do
    local stop, comment = skip(body, at, dialect == "postgres")
    local name = not stop and body:match("^@([%a_][%w_]*)", at)
    local word = not stop and dialect == "sqlite"
      and body:match("^[%a_][%w_]*", at)
    if stop and stop > #body + 1 then
      fail(stmt.file, line_at(at), "%s: a quote or comment is not closed",
           stmt.name)
    elseif stop and not comment then
      out[#out + 1] = body:sub(at, stop - 1)
    elseif name then
      if not numbers[name] then
        fail(stmt.file, line_at(at), "%s: @%s is not among its args",
             stmt.name, name)
      end
      used[name] = true
      out[#out + 1] = sign .. numbers[name]
      stop = at + 1 + #name
    elseif word and not ended then
      out[#out + 1] = placed(stmt, word, before, line_at(at))
      before = word
      stop = at + #word
    elseif not stop then
      local char = body:sub(at, at)
      if ended and char:find("%S") then
        fail(stmt.file, ended, "%s: text behind its end: one statement, "
             .. "please, or a `-- name:` for the next", stmt.name)
      elseif char == ";" then
        ended, char = line_at(at), ""
      end
      out[#out + 1] = char
      stop = at + 1
    end
    at = stop
  end

  for _, arg in ipairs(stmt.args) do
    if not used[arg.name] then
      fail(stmt.file, stmt.line, "%s: @%s is declared and not used",
           stmt.name, arg.name)
    end
  end
  local text = table.concat(out):gsub("[ \t]+\n", "\n"):gsub("\n\n+", "\n")
  stmt.text = text:gsub("^%s+", ""):gsub("%s+$", "")
  if stmt.text == "" then
    fail(stmt.file, stmt.line, "%s: has no SQL", stmt.name)
  end
end

-- Statement files ------------------------------------------------------------

--- "@shard smallint, @ids uuid[]" or, without marks, "instance uuid".
local function parse_params(stmt, text, mark, key, line)
  local params, seen = {}, {}
  for item in (text .. ","):gmatch("%s*(.-)%s*,") do
    local name, type, brackets =
      item:match("^" .. mark .. "([%l_][%l%d_]*)%s+(%l+)(%[?%]?)$")
    if not name or (brackets ~= "" and brackets ~= "[]") then
      fail(stmt.file, line, "%s: %s: cannot read %q (want: %sname type)",
           stmt.name, key, item, mark)
    elseif not TYPES[type] then
      fail(stmt.file, line, "%s: %s: unknown type %s of %s%s",
           stmt.name, key, type, mark, name)
    elseif seen[name] then
      fail(stmt.file, line, "%s: %s: %s%s stands there twice",
           stmt.name, key, mark, name)
    elseif key == "rows" and brackets ~= "" then
      fail(stmt.file, line, "%s: rows: %s is a list: return it as json",
           stmt.name, name)
    end
    seen[name] = true
    params[#params + 1] =
      { name = name, type = type, list = brackets ~= "" }
  end
  if #params > MAX_ARGS then
    fail(stmt.file, line, "%s: %s: %d are more than %d", stmt.name, key,
         #params, MAX_ARGS)
  end
  return params
end

local KEYS = { args = true, rows = true, run = true, every = true }
-- Any other word may begin a line of a comment; these are slips.
local MISTAKEN = { arg = "args", argument = "args", arguments = "args",
                   params = "args", row = "rows", cols = "rows",
                   columns = "rows", returns = "rows", runs = "run" }

--- The comment lines behind `-- name:`: {key = {text, line}}, and the number
--- of the first line that is not one of them.
local function parse_header(stmt, lines, at)
  local keys, open = {}, nil
  while lines[at] and lines[at]:find("^%-%-") do
    local line = lines[at]
    local key, rest = line:match("^%-%- (%l+):%s*(.-)%s*$")
    if key and key ~= "name" then
      open = { text = rest, line = at }
      if MISTAKEN[key] then
        fail(stmt.file, at, "%s: write `-- %s:`, not `-- %s:`", stmt.name,
             MISTAKEN[key], key)
      elseif keys[key] then
        fail(stmt.file, at, "%s: %s stands there twice", stmt.name, key)
      elseif KEYS[key] then
        keys[key] = open
      end
    elseif key == "name" then
      break
    elseif open and line:find("^%-%-   +%S") then
      open.text = open.text .. " " .. line:match("^%-%-%s+(.-)%s*$")
    else
      open = nil
    end
    at = at + 1
  end
  return keys, at
end

---@return embed.Statement, integer next line
local function parse_statement(file, lines, at, dialect)
  local name = lines[at]:match("^%-%- name:%s*(.-)%s*$")
  local stmt = { name = name, file = file, line = at, args = {}, rows = {} }
  if not name:find("^%l[%l%d_]*$") then
    fail(file, at, "%q is no name for a statement (a-z, 0-9 and _)", name)
  end
  local keys, body_at = parse_header(stmt, lines, at + 1)
  if keys.args then
    stmt.args = parse_params(stmt, keys.args.text, "@", "args",
                             keys.args.line)
  end
  if keys.rows then
    stmt.rows = parse_params(stmt, keys.rows.text, "", "rows",
                             keys.rows.line)
  end
  stmt.every = keys.every ~= nil
  if keys.every and keys.every.text ~= "row" then
    fail(file, keys.every.line, "%s: every: only `row` is known", name)
  end
  stmt.once = keys.run ~= nil
  if keys.run and keys.run.text ~= "once" then
    fail(file, keys.run.line, "%s: run: only `once` is known", name)
  elseif keys.run and dialect ~= "sqlite" then
    fail(file, keys.run.line, "%s: run: is for SQLite only: lists are "
         .. "arrays here already", name)
  end
  for _, arg in ipairs(stmt.once and stmt.args or {}) do
    if arg.list and (arg.type == "uuid" or arg.type == "bytes") then
      fail(file, keys.run.line, "%s: run: once passes lists as JSON, which "
           .. "has no %s: @%s", name, arg.type, arg.name)
    end
  end

  local stop = body_at
  while lines[stop] and not lines[stop]:find("^%-%- name:") do
    stop = stop + 1
  end
  compile(stmt, table.concat(lines, "\n", body_at, stop - 1), body_at,
          dialect)
  return stmt, stop
end

local function split(text)
  local lines = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

---@param into table<string, embed.Statement>
local function parse_file(root, file, dialect, into)
  local lines, at = split(read(root, file)), 1
  while lines[at] do
    if lines[at]:find("^%-%- name:") then
      local stmt
      stmt, at = parse_statement(file, lines, at, dialect)
      local other = into[stmt.name]
      if other then
        fail(file, stmt.line, "%s is declared in %s:%d already", stmt.name,
             other.file, other.line)
      end
      into[stmt.name] = stmt
    elseif lines[at]:find("%S") and not lines[at]:find("^%-%-") then
      fail(file, at, "SQL before the first `-- name:`")
    else
      at = at + 1
    end
  end
end

---@return table<string, embed.Statement>
local function parse_dialect(root, dialect)
  local statements, folder = {}, "sql/" .. dialect
  for _, file in ipairs(list(root, folder, "sql")) do
    if not file:find("/migrations/", 1, true) then
      parse_file(root, file, dialect, statements)
    end
  end
  return statements
end

---@return embed.Migration[]  by number
local function parse_migrations(root, dialect)
  local folder = ("sql/%s/migrations"):format(dialect)
  local migrations = {}
  for _, file in ipairs(list(root, folder, "sql")) do
    local name = file:match("([^/]+)%.sql$")
    local number = name:match("^(%d%d%d%d)_[%l%d_]+$")
    local text = read(root, file)
    local breaking = text:match("^%-%- breaking: (%l+)\n")
    if not number then
      fail(file, nil, "a migration is named NNNN_name.sql")
    elseif tonumber(number) ~= #migrations + 1 then
      fail(file, nil, "the next migration's number is %04d",
           #migrations + 1)
    elseif breaking ~= "yes" and breaking ~= "no" then
      fail(file, 1, "begin with `-- breaking: no` or `-- breaking: yes`")
    end
    migrations[#migrations + 1] = {
      number = tonumber(number), name = name, file = file,
      breaking = breaking == "yes", text = text,
    }
  end
  return migrations
end

-- Do the dialects agree? -----------------------------------------------------

local function describe(param, mark)
  if not param then return "nothing" end
  return mark .. param.name .. " " .. param.type .. (param.list and "[]" or "")
end

local function agree_on(a, b, key, mark)
  for i = 1, math.max(#a[key], #b[key]) do
    local x, y = describe(a[key][i], mark), describe(b[key][i], mark)
    if x ~= y then
      fail(a.file, a.line, "%s: %s: number %d is %s, but %s in %s:%d",
           a.name, key, i, x, y, b.file, b.line)
    end
  end
end

--- Statement names in order, after comparing the two.
local function agree(a, b)
  local names = {}
  for name, stmt in pairs(a) do names[#names + 1] = stmt and name end
  for name, stmt in pairs(b) do
    if not a[name] then
      fail(stmt.file, stmt.line, "%s is missing in %s", name,
           (stmt.file:gsub("sqlite", "postgres")))
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    if not b[name] then
      fail(a[name].file, a[name].line, "%s is missing in %s", name,
           (a[name].file:gsub("postgres", "sqlite")))
    end
    agree_on(a[name], b[name], "args", "@")
    agree_on(a[name], b[name], "rows", "")
    if a[name].every ~= b[name].every then
      fail(a[name].file, a[name].line, "%s: every: it is not in %s:%d", name,
           b[name].file, b[name].line)
    end
  end
  return names
end

local function agree_on_migrations(a, b)
  for i = 1, math.max(#a, #b) do
    local x, y = a[i], b[i]
    if not x or not y then
      fail((x or y).file, nil, "the other dialect has no such migration")
    elseif x.name ~= y.name then
      fail(x.file, nil, "its counterpart is named otherwise: %s", y.file)
    elseif x.breaking ~= y.breaking then
      fail(x.file, 1, "breaking differs from %s", y.file)
    end
  end
end

-- Writing C ------------------------------------------------------------------

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n",
                  ["\t"] = "\\t", ["?"] = "\\?" }

local function escape(char)
  return ESCAPES[char] or ("\\%03o"):format(char:byte())
end

--- A C string literal, one line of text a line. ("\?": no trigraphs.)
local function literal(text, indent)
  local pieces = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      pieces[#pieces + 1] =
        '"' .. line:gsub('[\\"\n\t?\0-\31\127-\255]', escape) .. '"'
    end
  end
  if #pieces == 0 then return '""' end
  return table.concat(pieces, "\n" .. indent)
end

local function banner(what)
  return ("/* %s: made by sql/embed.lua; do not edit. */\n"):format(what)
end

-- Long literals are an extension that every compiler of ours has.
local LONG_TEXT = [[
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
]]

local function header(statements, names)
  local out, owners = { banner("pawl_sql.h") }, {}
  local function add(...) out[#out + 1] = (...):format(select(2, ...)) end
  local function claim(identifier, stmt)
    local other = owners[identifier]
    if other then
      fail(stmt.file, stmt.line, "%s: makes %s, as %s does: rename one",
           stmt.name, identifier, other)
    end
    owners[identifier] = stmt.name
    return identifier
  end

  add("#ifndef PAWL_SQL_H\n#define PAWL_SQL_H\n\n")
  add("typedef enum pawl_stmt {\n")
  for _, name in ipairs(names) do
    add("  %s,\n", claim("PAWL_STMT_" .. name:upper(), statements[name]))
  end
  add("  PAWL_NSTMTS\n} pawl_stmt;\n")
  for _, name in ipairs(names) do
    local stmt = statements[name]
    if #stmt.args + #stmt.rows > 0 then
      add("\nenum { /* %s */\n", name)
      local prefix = "PAWL_" .. name:upper()
      for i, arg in ipairs(stmt.args) do
        add("  %s = %d,\n", claim(prefix .. "_" .. arg.name:upper(), stmt),
            i - 1)
      end
      for i, row in ipairs(stmt.rows) do
        add("  %s = %d,\n", claim(prefix .. "_R_" .. row.name:upper(), stmt),
            i - 1)
      end
      add("};\n")
    end
  end
  add("\n#endif\n")
  return table.concat(out)
end

local function params_table(stmt, key)
  if #stmt[key] == 0 then return "" end
  local out = { ("static const pawl_param %s_%s[] = {\n")
                :format(stmt.name, key) }
  for _, param in ipairs(stmt[key]) do
    local type = TYPES[param.type]
    out[#out + 1] = ('  {"%s", %s, %d, %d},\n'):format(
      param.name, type.enum, type.bits, param.list and 1 or 0)
  end
  out[#out + 1] = "};\n"
  return table.concat(out)
end

local function statements_table(dialect, statements, names)
  local out = { ("\nconst pawl_sql pawl_sql_%s[PAWL_NSTMTS] = {\n")
                :format(dialect) }
  for _, name in ipairs(names) do
    local stmt = statements[name]
    out[#out + 1] = ("  {/* %s */\n    %s,\n    %d},\n"):format(
      name, literal(stmt.text, "    "), stmt.once and 1 or 0)
  end
  out[#out + 1] = "};\n"
  return table.concat(out)
end

local function migrations_table(dialect, migrations)
  local out = { ("\nconst pawl_migration pawl_migrations_%s[] = {\n")
                :format(dialect) }
  for _, m in ipairs(migrations) do
    out[#out + 1] = ('  {%d, "%s", %d,\n    %s},\n'):format(
      m.number, m.name, m.breaking and 1 or 0, literal(m.text, "    "))
  end
  out[#out + 1] = "};\n"
  return table.concat(out)
end

local function source(catalogue, names, migrations)
  local first = catalogue[DIALECTS[1]]
  local out = { banner("pawl_sql.c"), LONG_TEXT,
                '#include "store/stmt.h"\n\n' }
  for _, name in ipairs(names) do
    out[#out + 1] = params_table(first[name], "args")
    out[#out + 1] = params_table(first[name], "rows")
  end
  out[#out + 1] = "\nconst pawl_stmt_info pawl_stmts[PAWL_NSTMTS] = {\n"
  for _, name in ipairs(names) do
    local stmt = first[name]
    out[#out + 1] = ('  {"%s", %s, %d, %s, %d, %d},\n'):format(
      name, #stmt.args > 0 and name .. "_args" or "0", #stmt.args,
      #stmt.rows > 0 and name .. "_rows" or "0", #stmt.rows,
      stmt.every and 1 or 0)
  end
  out[#out + 1] = "};\n"
  for _, dialect in ipairs(DIALECTS) do
    out[#out + 1] = statements_table(dialect, catalogue[dialect], names)
    out[#out + 1] = migrations_table(dialect, migrations[dialect])
  end
  out[#out + 1] = ("\nconst int pawl_nmigrations = %d;\n")
    :format(#migrations[DIALECTS[1]])
  return table.concat(out)
end

-- The Lua files --------------------------------------------------------------

local LUA_HEADER = [[
#ifndef PAWL_LUA_H
#define PAWL_LUA_H

#include <stddef.h>

typedef struct pawl_lua_source {
  const char *name; /* of the module: "pawl.workflow"; pawl.init is "pawl" */
  const char *file; /* "lua/pawl/workflow.lua" */
  const char *text; /* ends with a zero byte */
  size_t len;
  const char *code; /* the text compiled, nothing stripped; NULL: it is not */
  size_t code_len;
  const char *made_by; /* what that Lua says it is: "Lua 5.4.6  Copyright" */
} pawl_lua_source;

/* Sorted by file. */
extern const pawl_lua_source pawl_lua_sources[];
extern const int pawl_lua_nsources;

#endif
]]

local function module_name(file)
  local name = file:match("^lua/(.+)%.lua$"):gsub("/", ".")
  return (name:gsub("%.init$", ""))
end

--- The release of the Lua that runs this, as `lua_ident` has it in C; nil when
--- it does not tell: then nothing is compiled.
local function release()
  local pipe = io.popen(quote(arg[-1]) .. " -v")
  local line = pipe and pipe:read("l") or ""
  if pipe then pipe:close() end
  return line:match("^Lua %d+%.%d+%.%d+ .+")
end

--- The text compiled, under the chunk name that host/embedded.c gives it.
local function compiled(file, name, text)
  local chunk, message = load(text, "=" .. name, "t")
  if not chunk then fail(file, nil, "%s", message) end
  return string.dump(chunk)
end

--- One entry of the table.
local function lua_source(file, text, made_by)
  local name = module_name(file)
  local code = compiled(file, name, text)
  return ('  {"%s", "%s",\n    %s,\n    %d,\n    %s,\n    %d, %s},\n'):format(
    name, file, literal(text, "    "), #text,
    made_by and literal(code, "    ") or "NULL", made_by and #code or 0,
    made_by and "MADE_BY" or "NULL")
end

local function lua_sources(root)
  local made_by, n = release(), 0
  local out = { banner("pawl_lua.c"), LONG_TEXT, '#include "pawl_lua.h"\n' }
  if made_by then
    out[#out + 1] = ("\n#define MADE_BY %s\n"):format(literal(made_by, ""))
  end
  out[#out + 1] = "\nconst pawl_lua_source pawl_lua_sources[] = {\n"
  for _, file in ipairs(list(root, "lua/pawl", "lua")) do
    if not file:find("^lua/pawl/meta/") then
      out[#out + 1] = lua_source(file, read(root, file), made_by)
      n = n + 1
    end
  end
  if n == 0 then fail("lua/pawl", nil, "has no Lua file") end
  out[#out + 1] = ("};\nconst int pawl_lua_nsources = %d;\n"):format(n)
  return table.concat(out)
end

local function main(root, out)
  if not root or not out then
    fail("sql/embed.lua", nil, "usage: lua5.4 sql/embed.lua ROOT OUT")
  end
  local catalogue, migrations = {}, {}
  for _, dialect in ipairs(DIALECTS) do
    catalogue[dialect] = parse_dialect(root, dialect)
    migrations[dialect] = parse_migrations(root, dialect)
  end
  local names = agree(catalogue.postgres, catalogue.sqlite)
  agree_on_migrations(migrations.postgres, migrations.sqlite)
  if #names == 0 then fail("sql", nil, "has no statement") end
  if #migrations.sqlite == 0 then fail("sql", nil, "has no migration") end

  write(out .. "/pawl_sql.h", header(catalogue.postgres, names))
  write(out .. "/pawl_sql.c", source(catalogue, names, migrations))
  write(out .. "/pawl_lua.h", banner("pawl_lua.h") .. LUA_HEADER)
  write(out .. "/pawl_lua.c", lua_sources(root))
end

main(...)
