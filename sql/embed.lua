--- Makes C tables of sql/ and lua/, so that one binary runs with no files
--- beside it:
---
---   lua5.4 sql/embed.lua <source root> <out dir> [small]
---
--- small: SQL is packed (pack.lua), where src/store/sqltext.h says how.
---
---   pawl_sql.h  PAWL_STMT_..., structs of arguments and rows (store/stmt.h),
---               PAWL_SHOWN_..., PAWL_COLUMNS_... (fragments.lua)
---   pawl_sql.c  pawl_stmts, and each dialect's statements and migrations
---   pawl_lua.h  pawl_lua_source
---   pawl_lua.c  the modules of lua/pawl that the library has, as text and as
---               what the Lua that runs this makes of it
---   pawl_cli.c  those of lua/pawl/cli and testing: the command's alone
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
--- `rows` is left out when the statement returns nothing. A dialect behind the
--- first may leave out both: a statement's arguments and rows are then those
--- that the first one declares; what it does declare must be the same. `rows:
--- like agenda_claim` (`args` too) shares the other statement's struct. Nulls
--- (store/stmt.h): `integer?` is null when it is 0, `integer??` when it is
--- PAWL_NULL; so with every type of integer, boolean and time. `run` is
--- SQLite's alone. With `every: row`, in all, each row of its arguments must
--- change a row, or the whole unit of work fails: SQLite's driver counts; in
--- PostgreSQL the statement itself divides by zero. What statements share is in
--- fragments.sql, or in front of them, as columns are; fragments.lua says how
--- they name it. What is the same for all
--- dialects stands once, in sql/shared, as shared.lua tells. A migration is
--- migrations/NNNN_name.sql and begins with `-- breaking: no` or `yes`; its
--- comments are kept, because SQLite keeps them in the schema.

local MAX_ARGS = 64 -- PAWL_MAX_ARGS

local OWN = arg[0]:match("^(.*/)") or ""
local fragments = assert(loadfile(OWN .. "fragments.lua"))()
local shared = assert(loadfile(OWN .. "shared.lua"))()
local pack = assert(loadfile(OWN .. "pack.lua"))()

--- A folder below sql/ is a dialect; its dialect.lua (beside this file) says
--- what is its own.
---@class embed.Dialect
---@field name string      the folder
---@field is_first boolean?  declares the arguments and rows of all
---@field needs string?    what a build without its driver does not define
---@field sign string      in front of an argument's number
---@field has_dollar_quotes boolean?  $$ and $tag$ are quotes
---@field no_run string?   why `-- run:` is refused
---@field word (fun(word: string, before: string?): string?, string?)?  what a
---            word of a statement becomes behind another; nil, why not
---@field words table<string, string>?  as are `says` and `lacks`: shared.lua
---@field says string[][]?
---@field lacks string?
---@field sends_single_rows boolean?

---@class embed.Type
---@field enum string  pawl_type
---@field bits integer  of integers, else 0
---@field c string       what a struct's member is

---@type table<string, embed.Type>
local TYPES = {
  boolean = { enum = "PAWL_T_BOOL", bits = 0, c = "int64_t " },
  smallint = { enum = "PAWL_T_INT", bits = 16, c = "int64_t " },
  integer = { enum = "PAWL_T_INT", bits = 32, c = "int64_t " },
  bigint = { enum = "PAWL_T_INT", bits = 64, c = "int64_t " },
  float = { enum = "PAWL_T_FLOAT", bits = 0, c = "double " },
  text = { enum = "PAWL_T_TEXT", bits = 0, c = "pawl_str " },
  json = { enum = "PAWL_T_JSON", bits = 0, c = "pawl_str " },
  uuid = { enum = "PAWL_T_UUID", bits = 0, c = "const pawl_id *" },
  time = { enum = "PAWL_T_TIME", bits = 0, c = "int64_t " },
  bytes = { enum = "PAWL_T_BYTES", bits = 0, c = "pawl_str " },
  numeric = { enum = "PAWL_T_NUMERIC", bits = 0, c = "pawl_str " },
}

---@class embed.Param
---@field name string
---@field type string
---@field list boolean  declared with []
---@field null string   pawl_nulls

---@class embed.Statement
---@field name string
---@field file string
---@field line integer   of `-- name:`
---@field args embed.Param[]
---@field rows embed.Param[]
---@field shares table<string, string>  of args and rows: whose they are
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

local function is_shared(file)
  return file:find("^sql/shared/") ~= nil
end

--- The same; what stands for all dialects, as this one says it.
local function read_for(root, path, dialect)
  local text = read(root, path)
  return is_shared(path) and shared.text(text, dialect) or text
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

--- Numbers the arguments, drops comments, blank lines and the last semicolon.
---@param stmt embed.Statement
---@param body string
---@param first integer  the body's first line
local function compile(stmt, body, first, dialect)
  local numbers, used, out = {}, {}, {}
  for i, arg in ipairs(stmt.args) do numbers[arg.name] = i end
  local function line_at(at)
    return first + select(2, body:sub(1, at - 1):gsub("\n", ""))
  end

  local at, ended, before = 1, nil, nil
  while at <= #body do
    local stop, comment = shared.skip(body, at, dialect.has_dollar_quotes)
    local name = not stop and body:match("^@([%a_][%w_]*)", at)
    local word = not stop and dialect.word
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
      out[#out + 1] = dialect.sign .. numbers[name]
      stop = at + 1 + #name
    elseif word and not ended then
      local placed, why = dialect.word(word, before)
      if not placed then
        fail(stmt.file, line_at(at), "%s: %s", stmt.name, why)
      end
      out[#out + 1] = placed
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

-- What a mark behind a type says, and of which members it may: the other
-- kinds have a null of their own.
local NULLS = { [""] = "PAWL_NULL_NEVER", ["?"] = "PAWL_NULL_IS_ZERO",
                ["??"] = "PAWL_NULL_IS_MARK" }

--- "@shard smallint, @ids uuid[]" or, without marks, "instance uuid".
local function parse_params(stmt, text, mark, key, line)
  local params, seen = {}, {}
  for item in (text .. ","):gmatch("%s*(.-)%s*,") do
    local name, type, null, brackets =
      item:match("^" .. mark .. "([%l_][%l%d_]*)%s+(%l+)(%??%??)(%[?%]?)$")
    if not name or (brackets ~= "" and brackets ~= "[]") then
      fail(stmt.file, line, "%s: %s: cannot read %q (want: %sname type)",
           stmt.name, key, item, mark)
    elseif not TYPES[type] then
      fail(stmt.file, line, "%s: %s: unknown type %s of %s%s",
           stmt.name, key, type, mark, name)
    elseif null ~= "" and TYPES[type].c ~= "int64_t " then
      fail(stmt.file, line, "%s: %s: %s of %s%s needs no %s: it has a null "
           .. "of its own", stmt.name, key, type, mark, name, null)
    elseif key == "rows" and null == "?" then
      fail(stmt.file, line, "%s: rows: %s needs no ?: a null is read as 0",
           stmt.name, name)
    elseif seen[name] then
      fail(stmt.file, line, "%s: %s: %s%s stands there twice",
           stmt.name, key, mark, name)
    elseif key == "rows" and brackets ~= "" then
      fail(stmt.file, line, "%s: rows: %s is a list: return it as json",
           stmt.name, name)
    end
    seen[name] = true
    params[#params + 1] =
      { name = name, type = type, null = NULLS[null], list = brackets ~= "" }
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

local MARKS = { args = "@", rows = "" }

--- What the head says of arguments or rows; nothing: as in `face`.
---@param face embed.Statement?  the first dialect's
local function take_params(stmt, key, said, all, face, known)
  local other = said and said.text:match("^like%s+([%l%d_]+)$")
  if other and all[other] and not all[other].shares[key] then
    stmt[key], stmt.shares[key] = all[other][key], other
  elseif other then
    fail(stmt.file, said.line, "%s: %s: like %s: there must be one above, "
         .. "with %s of its own", stmt.name, key, other, key)
  elseif said then
    local text = fragments.expand_params(said.text, known,
      function(message, ...)
        fail(stmt.file, said.line, "%s: %s: " .. message, stmt.name, key, ...)
      end)
    stmt[key] = parse_params(stmt, text, MARKS[key], key, said.line)
  elseif face then
    stmt[key], stmt.shares[key] = face[key], face.shares[key]
  end
end

---@param all table<string, embed.Statement>     of this dialect, until now
---@param faces table<string, embed.Statement>?  of the first dialect
---@return embed.Statement, integer next line
local function parse_statement(file, lines, at, dialect, all, faces)
  local name = lines[at]:match("^%-%- name:%s*(.-)%s*$")
  local stmt = { name = name, file = file, line = at, args = {}, rows = {},
                 shares = {} }
  if not name:find("^%l[%l%d_]*$") then
    fail(file, at, "%q is no name for a statement (a-z, 0-9 and _)", name)
  end
  local keys, body_at = parse_header(stmt, lines, at + 1)
  local face = not keys.args and not keys.rows and faces and faces[name]
  take_params(stmt, "args", keys.args, all, face, dialect.fragments)
  take_params(stmt, "rows", keys.rows, all, face, dialect.fragments)
  stmt.every = keys.every ~= nil
  if keys.every and keys.every.text ~= "row" then
    fail(file, keys.every.line, "%s: every: only `row` is known", name)
  end
  if is_shared(file) and dialect.no_run then keys.run = nil end
  stmt.once = keys.run ~= nil
  if keys.run and keys.run.text ~= "once" then
    fail(file, keys.run.line, "%s: run: only `once` is known", name)
  elseif keys.run and dialect.no_run then
    fail(file, keys.run.line, "%s: run: is %s", name, dialect.no_run)
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
  local body, lists = table.concat(lines, "\n", body_at, stop - 1), {}
  for _, arg in ipairs(stmt.args) do
    if arg.list then lists[#lists + 1] = arg.name end
  end
  body = fragments.expand(body, dialect.fragments, lists,
    function(message, ...)
      fail(file, stmt.line, "%s: " .. message, name, ...)
    end)
  if is_shared(file) then body = shared.rows(body, dialect, lists) end
  compile(stmt, body, body_at, dialect)
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
local function parse_file(root, file, dialect, into, faces)
  local lines, at = split(read_for(root, file, dialect)), 1
  while lines[at] do
    if lines[at]:find("^%-%- name:") then
      local stmt
      stmt, at = parse_statement(file, lines, at, dialect, into, faces)
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

--- What a dialect is made of: what stands once for all, then its own.
---@return string[] paths
local function files_of(root, dialect, pattern)
  local files = {}
  for _, folder in ipairs { "shared", dialect.name } do
    for _, file in ipairs(list(root, "sql", "sql")) do
      if file:find("^sql/" .. folder .. "/" .. pattern) then
        files[#files + 1] = file
      end
    end
  end
  return files
end

---@param faces table<string, embed.Statement>?  of the first dialect
---@return table<string, embed.Statement>
local function parse_dialect(root, dialect, faces)
  local statements, from = {}, {}
  dialect.fragments = {}
  local function take(file, found)
    for name, fragment in pairs(found) do
      if from[name] then fail(file, nil, "%s is in %s", name, from[name]) end
      dialect.fragments[name], from[name] = fragment, file
    end
  end
  for _, file in ipairs(files_of(root, dialect, "[^/]+$")) do
    local text = read_for(root, file, dialect)
    if file:find("/fragments%.sql$") then
      take(file, fragments.read(text:gmatch("[^\n]*")))
    else
      take(file, fragments.read_columns(split(text),
        function(line, ...) fail(file, line, ...) end))
    end
  end
  for _, file in ipairs(files_of(root, dialect, "[^/]+$")) do
    if not file:find("/fragments%.sql$") then
      parse_file(root, file, dialect, statements, faces)
    end
  end
  for name, fragment in pairs(dialect.fragments) do
    if not fragment.used then fail(from[name], nil, "nobody uses %s", name) end
  end
  return statements
end

---@return embed.Migration[]  by number
local function parse_migrations(root, dialect)
  local migrations, files = {}, files_of(root, dialect, "migrations/")
  local function base(file) return file:match("([^/]+)%.sql$") end
  table.sort(files, function(a, b) return base(a) < base(b) end)
  for _, file in ipairs(files) do
    local name = base(file)
    local number = name:match("^(%d%d%d%d)_[%l%d_]+$")
    local text = read_for(root, file, dialect):gsub("\n\n\n+", "\n\n")
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

--- The folders below sql/, that which declares for all in front.
---@return embed.Dialect[]
local function find_dialects(root)
  local names, dialects = {}, {}
  for _, file in ipairs(list(root, "sql", "sql")) do
    local name = file:match("^sql/([^/]+)/")
    if name and name ~= "shared" and not names[name] then
      local dialect = assert(loadfile(OWN .. name .. "/dialect.lua"))()
      names[name], dialect.name = true, name
      table.insert(dialects, dialect.is_first and 1 or #dialects + 1, dialect)
    end
  end
  return dialects
end

-- Do the dialects agree? -----------------------------------------------------

local NULL_MARKS = { PAWL_NULL_NEVER = "", PAWL_NULL_IS_ZERO = "?",
                     PAWL_NULL_IS_MARK = "??" }

local function describe(param, mark)
  if not param then return "nothing" end
  return mark .. param.name .. " " .. param.type .. NULL_MARKS[param.null]
    .. (param.list and "[]" or "")
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

--- The same file in another dialect.
local function twin(file, dialect)
  return (file:gsub("^sql/[^/]+", "sql/" .. dialect.name))
end

--- Statement names in order, after comparing the two.
local function agree(first, other)
  local a, b, names = first.statements, other.statements, {}
  for name, stmt in pairs(a) do names[#names + 1] = stmt and name end
  for name, stmt in pairs(b) do
    if not a[name] then
      fail(stmt.file, stmt.line, "%s is missing in %s", name,
           twin(stmt.file, first))
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    if not b[name] then
      fail(a[name].file, a[name].line, "%s is missing in %s", name,
           twin(a[name].file, other))
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

-- Behind the structs, of which C asks for no more than one by one.
local READ = [[
static inline pawl_%s_row pawl_read_%s(const struct pawl_rows *r, int k) {
  pawl_%s_row row;
  pawl_rows_read(r, PAWL_STMT_%s, k, &row);
  return row;
}
]]

-- Of C's words those that may be a column's: `inline` becomes `inline_`.
local KEYWORDS = { ["auto"] = true, ["break"] = true, ["case"] = true,
                   ["const"] = true, ["default"] = true, ["double"] = true,
                   ["float"] = true, ["inline"] = true, ["int"] = true,
                   ["long"] = true, ["register"] = true, ["short"] = true,
                   ["static"] = true, ["switch"] = true, ["void"] = true }

local function member(param)
  return param.name .. (KEYWORDS[param.name] and "_" or "")
end

local KEY_SUFFIX = { args = "args", rows = "row" }

--- "pawl_agenda_claim_row", or the struct of another statement.
local function struct_name(stmt, key)
  return ("pawl_%s_%s"):format(stmt.shares[key] or stmt.name, KEY_SUFFIX[key])
end

--- A struct and its name; of arguments that another declares, the name alone.
local function struct(stmt, key)
  if #stmt[key] == 0 or (key == "rows" and stmt.shares.rows) then return "" end
  local own = ("pawl_%s_%s"):format(stmt.name, KEY_SUFFIX[key])
  if stmt.shares[key] then
    return ("typedef %s %s;\n"):format(struct_name(stmt, key), own)
  end
  local out = { ("typedef struct %s {\n"):format(own) }
  for _, param in ipairs(stmt[key]) do
    out[#out + 1] = ("  %s%s;\n"):format(TYPES[param.type].c,
                                           member(param))
  end
  out[#out + 1] = ("} %s;\n"):format(own)
  return table.concat(out)
end

--- The lists of columns.
local function columns_lists(dialect)
  local out = {}
  for name, of in pairs(dialect.fragments) do
    out[#out + 1] = of.columns
      and ("#define PAWL_COLUMNS_%s(X) \\\n  %s\n"):format(name,
        fragments.listed(of.columns))
        .. ("#define PAWL_SHOWN_%s \\\n  %s\n\n"):format(name,
          literal(fragments.shown(of.columns), ""))
  end
  table.sort(out)
  return table.concat(out)
end

local function header(dialects, names, is_small)
  local statements = dialects[1].statements
  local out = { banner("pawl_sql.h") }
  local function add(...) out[#out + 1] = (...):format(select(2, ...)) end
  local function each_structs()
    for _, name in ipairs(names) do
      for _, key in ipairs { "args", "rows" } do
        coroutine.yield(statements[name], key)
      end
    end
  end

  add("#ifndef PAWL_SQL_H\n#define PAWL_SQL_H\n\n#define PAWL_DIALECTS(X)")
  for _, dialect in ipairs(dialects) do add(" X(%s)", dialect.name) end
  add("\n\n")
  if is_small then add("#define PAWL_SQL_PACKED\n\n") end
  out[#out + 1] = columns_lists(dialects[1])
  add("typedef enum pawl_stmt {\n")
  for _, name in ipairs(names) do add("  PAWL_STMT_%s,\n", name) end
  add("  PAWL_NSTMTS\n} pawl_stmt;\n\n")
  add("struct pawl_rows;\nvoid pawl_rows_read(const struct pawl_rows *r, "
      .. "pawl_stmt stmt, int k,\n                    void *out);\n")
  -- those that are shared stand in front of those that share them
  for own = 1, 0, -1 do
    for stmt, key in coroutine.wrap(each_structs) do
      if (own == 1) == (stmt.shares[key] == nil) then
        add("%s", struct(stmt, key))
      end
    end
  end
  for _, name in ipairs(names) do
    local stmt = statements[name]
    if #stmt.rows > 0 and not stmt.shares.rows then
      add(READ, name, name, name, name)
    end
  end
  add("\n#endif\n")
  return table.concat(out)
end

local function params_table(stmt, key)
  if #stmt[key] == 0 or stmt.shares[key] then return "" end
  local out = { ("static const pawl_param %s_%s[] = {\n")
                :format(stmt.name, key) }
  for _, param in ipairs(stmt[key]) do
    local type = TYPES[param.type]
    out[#out + 1] = ('  {"%s", %s, %d, %d, %s, offsetof(%s, %s)},\n'):format(
      param.name, type.enum, type.bits, param.list and 1 or 0, param.null,
      struct_name(stmt, key), member(param))
  end
  out[#out + 1] = "};\n"
  return table.concat(out)
end

local function params_name(stmt, key)
  if #stmt[key] == 0 then return "NULL" end
  return (stmt.shares[key] or stmt.name) .. "_" .. key
end

local function plain(text) return ("{%s}"):format(literal(text, "    ")) end

--- Numbers of 16 bits, a dozen a line.
local function numbers(all)
  return (table.concat(all, ","):gsub(("[^,]*,"):rep(12), "%0\n  "))
end

--- A dialect's texts, packed: tables in C, and what is said of a text there.
---@return string tables, fun(text: string): string said
local function packed(dialect, names)
  local texts, at, all, ends = {}, {}, {}, {}
  for i, name in ipairs(names) do texts[i] = dialect.statements[name].text end
  for _, m in ipairs(dialect.migrations) do texts[#texts + 1] = m.text end
  local found = pack(texts)
  for i, text in ipairs(texts) do
    at[text] = #all
    table.move(found.texts[i], 1, #found.texts[i], #all + 1, all)
    all[#all + 1] = 0
  end
  for i, word in ipairs(found.words) do ends[i] = (ends[i - 1] or 0) + #word end
  if ends[#ends] > 65535 then fail("sql", nil, "has too many words") end
  local couples = {}
  for i, pair in ipairs(found.pairs) do
    couples[i] = ("{%d,%d}"):format(pair[1], pair[2])
  end
  local name = dialect.name
  return ([[

static const char words_%s[] =
    %s;
static const uint16_t ends_%s[] = {
  %s};
static const uint16_t pairs_%s[][2] = {
  %s};
static const uint16_t texts_%s[] = {
  %s};
static const pawl_packing packing_%s = {words_%s, ends_%s, %d, pairs_%s};
]]):format(name, literal(table.concat(found.words), "    "),
    name, numbers(ends), name,
    table.concat(couples, ",\n  "), name, numbers(all), name, name, name,
    #found.words, name), function(text)
    return ("{texts_%s + %d, &packing_%s}"):format(name, at[text], name)
  end
end

local function statements_table(dialect, statements, names, said)
  local out = { ("\nconst pawl_sql pawl_sql_%s[PAWL_NSTMTS] = {\n")
                :format(dialect) }
  for _, name in ipairs(names) do
    local stmt = statements[name]
    out[#out + 1] = ("  {/* %s */\n    %s,\n    %d},\n"):format(
      name, said(stmt.text), stmt.once and 1 or 0)
  end
  out[#out + 1] = "};\n"
  return table.concat(out)
end

local function migrations_table(dialect, migrations, said)
  local out = { ("\nconst pawl_migration pawl_migrations_%s[] = {\n")
                :format(dialect) }
  for _, m in ipairs(migrations) do
    out[#out + 1] = ('  {%d, "%s", %d,\n    %s},\n'):format(
      m.number, m.name, m.breaking and 1 or 0, said(m.text))
  end
  out[#out + 1] = "};\n"
  return table.concat(out)
end

local function source(dialects, names, is_small)
  local first = dialects[1].statements
  local out = { banner("pawl_sql.c"), LONG_TEXT,
                '#include "store/stmt.h"\n\n#include <stddef.h>\n\n' }
  for _, name in ipairs(names) do
    out[#out + 1] = params_table(first[name], "args")
    out[#out + 1] = params_table(first[name], "rows")
  end
  out[#out + 1] = "\nconst pawl_stmt_info pawl_stmts[PAWL_NSTMTS] = {\n"
  for _, name in ipairs(names) do
    local stmt = first[name]
    out[#out + 1] = ('  {"%s", %s, %d, %s, %d, %d},\n'):format(
      name, params_name(stmt, "args"), #stmt.args, params_name(stmt, "rows"),
      #stmt.rows,
      stmt.every and 1 or 0)
  end
  out[#out + 1] = "};\n"
  for _, d in ipairs(dialects) do
    if d.needs then out[#out + 1] = ("\n#ifdef %s"):format(d.needs) end
    local tables, said = "", plain
    if is_small then tables, said = packed(d, names) end
    out[#out + 1] = tables
    out[#out + 1] = statements_table(d.name, d.statements, names, said)
    out[#out + 1] = migrations_table(d.name, d.migrations, said)
    if d.needs then out[#out + 1] = "#endif\n" end
  end
  out[#out + 1] = ("\nconst int pawl_nmigrations = %d;\n")
    :format(#dialects[1].migrations)
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

/* The library's, and those that only the command has; each sorted by file. */
extern const pawl_lua_source pawl_lua_sources[];
extern const int pawl_lua_nsources;
extern const pawl_lua_source pawl_cli_sources[];
extern const int pawl_cli_nsources;

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

--- The text without what the compiler does not look at, as far as its lines
--- stay what they are: lines that are comments, and indentation. Where that
--- compiles to something else, as within a long string, it is left as it is.
local function squeezed(file, name, text)
  local out = {}
  for line in text:gmatch "([^\n]*)\n" do
    out[#out + 1] = line:find "^%s*%-%-" and "" or line:match "^%s*(.*)$"
  end
  local small = table.concat(out, "\n") .. "\n"
  local chunk = load(small, "=" .. name, "t")
  local same = chunk and string.dump(chunk) == compiled(file, name, text)
  return same and small or text
end

--- One entry of the table.
local function lua_source(file, text, made_by)
  local name = module_name(file)
  text = squeezed(file, name, text)
  local code = compiled(file, name, text)
  if not made_by then
    return ('  {"%s", "%s",\n    %s,\n    %d, NULL, 0, NULL},\n'):format(
      name, file, literal(text, "    "), #text)
  end
  return ([[
  {"%s", "%s",
    %s,
    %d,
#ifdef PAWL_SMALL
    NULL, 0, NULL},
#else
    %s,
    %d, MADE_BY},
#endif
]]):format(name, file, literal(text, "    "), #text, literal(code, "    "),
    #code)
end

--- Who has a file of lua/pawl: nil, nobody.
---@return "lua" | "cli" | nil
local function owner(file)
  local folder = file:match "^lua/pawl/(%w+)/"
  if folder == "meta" then return nil end
  return (folder == "cli" or folder == "testing") and "cli" or "lua"
end

---@param whose "lua" | "cli"
local function lua_sources(root, whose)
  local made_by, n = release(), 0
  local out = { banner("pawl_" .. whose .. ".c"), LONG_TEXT,
                '#include "pawl_lua.h"\n' }
  if made_by then
    out[#out + 1] = ("\n#ifndef PAWL_SMALL\n#define MADE_BY %s\n#endif\n")
      :format(literal(made_by, ""))
  end
  out[#out + 1] = ("\nconst pawl_lua_source pawl_%s_sources[] = {\n")
    :format(whose)
  for _, file in ipairs(list(root, "lua/pawl", "lua")) do
    if owner(file) == whose then
      out[#out + 1] = lua_source(file, read(root, file), made_by)
      n = n + 1
    end
  end
  if n == 0 then
    fail("lua/pawl", nil, "has no Lua file for pawl_%s.c", whose)
  end
  out[#out + 1] = ("};\nconst int pawl_%s_nsources = %d;\n")
    :format(whose, n)
  return table.concat(out)
end

local function main(root, out, size)
  if not root or not out or size and size ~= "small" then
    fail("sql/embed.lua", nil, "usage: lua5.4 sql/embed.lua ROOT OUT [small]")
  end
  local dialects = find_dialects(root)
  local first = dialects[1] or fail("sql", nil, "has no dialect")
  for _, dialect in ipairs(dialects) do
    dialect.statements = parse_dialect(root, dialect, first.statements)
    dialect.migrations = parse_migrations(root, dialect)
  end
  local names
  for i = #dialects, 1, -1 do
    names = agree(first, dialects[i])
    agree_on_migrations(first.migrations, dialects[i].migrations)
  end
  if #names == 0 then fail("sql", nil, "has no statement") end
  if #first.migrations == 0 then fail("sql", nil, "has no migration") end

  write(out .. "/pawl_sql.h", header(dialects, names, size))
  write(out .. "/pawl_sql.c", source(dialects, names, size))
  write(out .. "/pawl_lua.h", banner("pawl_lua.h") .. LUA_HEADER)
  write(out .. "/pawl_lua.c", lua_sources(root, "lua"))
  write(out .. "/pawl_cli.c", lua_sources(root, "cli"))
end

main(...)
