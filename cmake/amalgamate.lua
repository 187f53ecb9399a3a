-- amalgamate.lua OUT SOURCE...: makes OUT/pawl.c and OUT/pawl.h, the library in
-- one file for who compiles it along with a program.
--
-- Each header of ours is put where it is first included, each source behind the
-- other. What a source keeps to itself (static functions and variables, types,
-- constants) and another one has a name for too, gets the source's name in
-- front; its macros end with it. Those that need libpq come last, under
-- PAWL_POSTGRES. Nothing but the text is known here: what is not seen, the
-- compiler says (spec/amalgamation_spec.lua).
local OUT = table.remove(arg, 1)

local NEED_LIBPQ = { ["postgres.c"] = true, ["pgconn.c"] = true,
  ["pgwire.c"] = true }

local KEYWORDS = {}
for word in ([[auto break case char const continue default do double else
  enum extern float for goto if inline int long register restrict return
  short signed sizeof static struct switch typedef union unsigned void
  volatile while _Static_assert]]):gmatch "%S+" do KEYWORDS[word] = true end

-- What systems declare where one source asks for it; another has its own of it.
local SYSTEM = {}
for word in ([[accept access alarm bind close connect dup exec exit flock fork
  free index kill link listen lock mount open pause pipe poll read recv remove
  rename select send shutdown signal sleep socket span stat sync time truncate
  unlink wait write y0 y1 yn j0 j1 jn gamma]]):gmatch "%S+" do
  SYSTEM[word] = true
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

---- tokens --------------------------------------------------------------------

--- { kind =, text = }: "word", "sign", "other" (blanks, comments, literals), or
--- "line", a whole line for the preprocessor.
---@param is_line? boolean  of the preprocessor's, which has none inside
local function tokens_of(text, is_line)
  local list, at, fresh = {}, 1, not is_line -- nothing on this line yet
  local function add(kind, last)
    list[#list + 1] = { kind = kind, text = text:sub(at, last) }
    at = last + 1
  end
  local function quoted(quote)
    local last = at + 1
    while text:sub(last, last) ~= quote do
      last = last + (text:sub(last, last) == "\\" and 2 or 1)
    end
    add("other", last)
  end
  while at <= #text do
    local c = text:sub(at, at)
    if c == "\n" then
      add("other", at)
      fresh = not is_line
    elseif c:find "%s" then
      add("other", select(2, text:find("^[^%S\n]+", at)))
    elseif text:sub(at, at + 1) == "/*" then
      add("other", select(2, text:find("*/", at + 2, true)))
    elseif text:sub(at, at + 1) == "//" then
      add("other", (text:find("\n", at, true) or #text + 1) - 1)
    elseif c == "#" and fresh then
      local last = at
      repeat last = text:find("\n", last + 1, true) or #text + 1
      until text:sub(last - 1, last - 1) ~= "\\"
      add("line", last - 1)
    elseif c == '"' or c == "'" then
      quoted(c)
      fresh = false
    elseif c:find "[%a_]" then
      add("word", select(2, text:find("^[%w_]+", at)))
      fresh = false
    elseif c:find "%d" then
      add("other", select(2, text:find("^[%w_.]+", at)))
      fresh = false
    else
      add("sign", text:sub(at, at + 1) == "->" and at + 1 or at)
      fresh = false
    end
  end
  return list
end

local function is_word(token)
  return token and token.kind == "word" and not KEYWORDS[token.text]
end

--- Those that the grammar is about, and where each stands among all.
local function plain(list)
  local out = {}
  for _, token in ipairs(list) do
    if token.kind == "word" or token.kind == "sign" then
      out[#out + 1] = token
    end
  end
  return out
end

---- what a file has of its own ------------------------------------------------

local OPENS <const> = { ["("] = ")", ["["] = "]", ["{"] = "}" }
local CLOSES <const> = { [")"] = true, ["]"] = true, ["}"] = true }

--- The index behind the bracket that closes the one at i.
local function behind(list, i)
  local depth = 0
  repeat
    local text = list[i].kind == "sign" and list[i].text
    if OPENS[text] then depth = depth + 1 end
    if CLOSES[text] then depth = depth - 1 end
    i = i + 1
  until depth == 0
  return i
end

local function constants(list, from, to, names)
  local i = from
  while i < to do
    if is_word(list[i]) then names[list[i].text] = true end
    while i < to and list[i].text ~= "," do
      i = OPENS[list[i].text] and behind(list, i) or i + 1
    end
    i = i + 1
  end
end

--- struct, union and enum, with a name and a body; the index behind it.
local function aggregate(list, i, names)
  local word = list[i].text
  i = i + 1
  if is_word(list[i]) then
    if list[i + 1].text == "{" then names[list[i].text] = true end
    i = i + 1
  end
  if list[i].text ~= "{" then return i end
  local last = behind(list, i)
  for k = i + 1, last - 2 do list[k].inside = word end
  if word == "enum" then constants(list, i + 1, last - 1, names) end
  return last
end

--- One declaration from i on: what it names goes into `names` when that is the
--- file's own; the index behind it.
local function declaration(list, i, names)
  local own, is_typedef, last_word, done = false, false, nil, false
  while i <= #list do
    local token, following = list[i], list[i + 1]
    local text = token.text
    if text == ";" then
      if is_typedef and last_word then names[last_word] = true end
      return i + 1
    elseif text == "static" then
      own = true
      i = i + 1
    elseif text == "typedef" then
      is_typedef = true
      i = i + 1
    elseif text == "struct" or text == "union" or text == "enum" then
      i = aggregate(list, i, names)
    elseif text == "{" then -- a function's body
      return behind(list, i)
    elseif text == "=" then -- what follows is a value
      while list[i].text ~= ";" and list[i].text ~= "," do
        i = OPENS[list[i].text] and behind(list, i) or i + 1
      end
      done = false
    elseif text == "," then
      done = false
      i = i + 1
    elseif text == "(" and list[i + 1].text == "*" then -- (*name)(...)
      if own or is_typedef then
        local k = i + 2
        while list[k].text == "const" do k = k + 1 end
        if is_word(list[k]) then
          if is_typedef then last_word = list[k].text
          else names[list[k].text] = true end
        end
      end
      done, i = true, behind(list, i)
      if list[i].text == "(" then i = behind(list, i) end
      if is_typedef and last_word then
        names[last_word] = true
        last_word = nil
      end
    elseif OPENS[text] then
      i = behind(list, i)
    else
      if is_word(token) and is_typedef then last_word = text end
      if own and not is_typedef and not done and is_word(token)
        and following and ("([=;,"):find(following.text, 1, true)
        and #following.text == 1 then
        names[text] = true
        done = true
      end
      i = i + 1
    end
  end
  return i
end

local function own_names(list)
  local names, i = {}, 1
  while i <= #list do i = declaration(list, i, names) end
  return names
end

local function own_macros(list)
  local names = {}
  for _, token in ipairs(list) do
    local name = token.kind == "line"
      and token.text:match "^#%s*define%s+([%a_][%w_]*)"
    if name then names[#names + 1] = name end
  end
  return names
end

---- other names ---------------------------------------------------------------

--- A member is not a name of the file's: behind a dot, or declared in a body.
local function is_member(list, i)
  local before, after = list[i - 1], list[i + 1]
  local sign = before and before.kind == "sign" and before.text
  if sign == "->" or sign == "." then
    return not (list[i - 2] and list[i - 2].text == "."
      and before.text == "." and list[i - 3] and list[i - 3].text == ".")
  end
  if list[i].inside ~= "struct" and list[i].inside ~= "union" then
    return false
  end
  return sign ~= "[" and after and (";,:[)"):find(after.text, 1, true) ~= nil
    and not (before.kind == "word" and KEYWORDS[before.text]
      and (before.text == "struct" or before.text == "union"
        or before.text == "enum"))
end

--- A verb's name, of which a macro makes another one.
local function is_pasted(list, i)
  local macro = list[i - 2]
  return list[i - 1] and list[i - 1].text == "(" and macro ~= nil
    and macro.text == "PAWL_OPTIONS_OF"
end

local function renamed_line(text, names)
  if text:find "^#%s*include" then return text end
  local out = {}
  for _, token in ipairs(tokens_of(text, true)) do
    out[#out + 1] = token.kind == "word" and names[token.text] or token.text
  end
  return table.concat(out)
end

--- The text with `names` (old = new) in place.
local function renamed(list, names)
  local grammar, out = plain(list), {}
  for i, token in ipairs(grammar) do
    if token.kind == "word" and names[token.text]
      and not is_member(grammar, i) and not is_pasted(grammar, i) then
      token.new = names[token.text]
    end
  end
  for _, token in ipairs(list) do
    out[#out + 1] = token.new
      or token.kind == "line" and renamed_line(token.text, names)
      or token.text
  end
  return table.concat(out)
end

---- files ---------------------------------------------------------------------

--- src/engine/ask/list.c is engine_ask_list.
local function stem(path)
  return (path:match "src/(.*)%.c$" or path:match "([^/]+)%.c$")
    :gsub("/", "_")
end

local function resolve(folder, name)
  local path = folder .. "/" .. name
  local found
  repeat
    path, found = path:gsub("[^/]+/%.%./", "", 1)
  until found == 0
  return path
end

local headers = {} -- by path: the text, once it was put somewhere

--- Where a header of ours stands, by what includes it.
local function locate(folder, name, folders)
  for _, where in ipairs { folder, table.unpack(folders) } do
    local path = resolve(where, name)
    local file = io.open(path, "rb")
    if file then
      file:close()
      return path
    end
  end
  error("no header " .. name .. " for " .. folder)
end

local folders = {} -- where those are that are included by their name alone

--- What headers of ours have, too: that keeps its name.
local function count_headers(n, folder, text, seen)
  for name in text:gmatch '#%s*include%s+"([^"]+)"' do
    local path = locate(folder, name, folders)
    if not seen[path] then
      seen[path] = true
      local inner = read(path)
      for own in pairs(own_names(plain(tokens_of(inner)))) do
        n[own] = (n[own] or 0) + 1
      end
      count_headers(n, path:match "^(.*)/", inner, seen)
    end
  end
end

local expand

local function include(folder, line)
  local name = line:match '^#%s*include%s+"([^"]+)"'
  if not name then return line end
  if name == "pawl.h" or name:find "/pawl%.h$" then
    return '#include "pawl.h"'
  end
  local path = locate(folder, name, folders)
  if headers[path] then return "" end
  headers[path] = true
  return ("/* ---- %s ---- */\n%s"):format(path:match "src/(.*)"
    or path:match "[^/]+$", expand(path, read(path)))
end

--- The text with our headers in their places, and without what asks the
--- system for more than it would show, which is asked for once.
function expand(path, text)
  local folder, out = path:match "^(.*)/", {}
  for line in (text:gsub("\n?$", "\n")):gmatch "([^\n]*)\n" do
    if line:find "^#define _%u[%u_]*_SOURCE" then
      line = ""
    else
      line = include(folder, line)
    end
    out[#out + 1] = line
  end
  return table.concat(out, "\n") .. "\n"
end

--- Compiled Lua is one machine's: of the modules the text alone goes along.
local function without_bytecode(text)
  local out, depth = {}, 0
  for line in text:gmatch "([^\n]*)\n" do
    if depth > 0 then
      if line:find "^#if" then depth = depth + 1 end
      if line:find "^#endif" then depth = depth - 1 end
      if depth == 1 and line:find "^#else" then depth = -1 end
    elseif line:find "^#ifndef PAWL_SMALL" then
      depth = 1
    elseif depth == -1 and line:find "^#endif" then
      depth = 0
    else
      out[#out + 1] = line
    end
  end
  return table.concat(out, "\n") .. "\n"
end

local function sources_of(paths)
  local list = {}
  for _, path in ipairs(paths) do
    local text = read(path)
    if path:find "pawl_lua%.c$" then text = without_bytecode(text) end
    local tokens = tokens_of(text)
    list[#list + 1] = { path = path, tokens = tokens, stem = stem(path),
      names = own_names(plain(tokens)), macros = own_macros(tokens),
      text = text, late = NEED_LIBPQ[path:match "[^/]+$"] }
  end
  return list
end

--- How many files have something of each name.
local function counts(sources)
  local n, seen = {}, {}
  for _, source in ipairs(sources) do
    count_headers(n, source.path:match "^(.*)/", source.text, seen)
    for name in pairs(source.names) do n[name] = (n[name] or 0) + 1 end
  end
  return n
end

local function body(source, shared)
  local names = {}
  for name in pairs(source.names) do
    -- what is shared between files has its prefix, and is there once
    if (shared[name] > 1 or SYSTEM[name])
      and not name:lower():find "^pawl_" then
      names[name] = source.stem .. "_" .. name
    end
  end
  local out = { "\n/* ==== ", source.path:match "src/(.*)"
    or source.path:match "[^/]+$", " ==== */\n",
    expand(source.path, renamed(source.tokens, names)) }
  for _, name in ipairs(source.macros) do
    if not name:find "^_%u" then out[#out + 1] = "#undef " .. name .. "\n" end
  end
  return table.concat(out)
end

local HEAD <const> = [[
/* pawl.c: pawl %s, the library in one file, made of its sources. With
 * pawl.h it is all that a program needs beside Lua 5.4 and SQLite:
 *
 *   cc -O2 -fvisibility=hidden -c pawl.c -I/usr/include/lua5.4
 *   cc program.c pawl.o -llua5.4 -lsqlite3 -lpthread -ldl -lm
 *
 * -DPAWL_POSTGRES adds PostgreSQL (libpq's headers; the library is loaded when
 * such a store is opened). NDEBUG is not for this file: an engine that has lost
 * its footing must not commit. */
#undef NDEBUG
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#elif !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#define PAWL_BUILDING
#define PAWL_SMALL
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#pragma GCC diagnostic ignored "-Wunused-function" /* of headers */
#endif
]]

local function main(given)
  local paths = {}
  for _, path in ipairs(given) do
    if path:find "%.c$" then paths[#paths + 1] = path end
  end
  for _, path in ipairs(paths) do
    local folder = path:match "^(.*)/"
    if not path:find "src/" and folders[1] ~= folder then
      folders[1] = folder -- of what was generated
    end
  end
  local root = paths[1]:match "^(.-src)/"
  folders[#folders + 1] = root
  local header = read(root .. "/pawl.h")
  local sources = sources_of(paths)
  local shared, out = counts(sources), {
    HEAD:format(header:match '#define PAWL_VERSION "([^"]+)"') }
  for _, source in ipairs(sources) do
    if not source.late then out[#out + 1] = body(source, shared) end
  end
  out[#out + 1] = "\n#ifdef PAWL_POSTGRES\n"
  for _, source in ipairs(sources) do
    if source.late then out[#out + 1] = body(source, shared) end
  end
  out[#out + 1] = "#endif /* PAWL_POSTGRES */\n"
  local text = table.concat(out):gsub("\n\n\n+", "\n\n")
  for name, content in pairs { ["pawl.c"] = text, ["pawl.h"] = header } do
    local file <close> = assert(io.open(OUT .. "/" .. name, "wb"))
    assert(file:write(content))
  end
end

main(arg)
