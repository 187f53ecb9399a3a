--- What stands once for all dialects, in sql/shared and in PostgreSQL's words,
--- as one of them says it:
---
---   create table pawl.token (
---     no integer not null,
---     ...
---   ) with (fillfactor = 50); -- only: postgres
---   ) without rowid; -- only: sqlite
---
--- What a table's statements are about is said at the head of its file there.
--- A line with such a mark is that dialect's alone; a mark on a line of its own
--- is for all lines until another, `-- for all` or an empty one. What else
--- differs in every statement, a dialect.lua has: which words are others there
--- (`words`), what is written another way (`says`: pattern, replacement), which
--- statements it has not (`lacks`: what their first line begins with), and
--- whether it is sent the rows of a statement's lists one by one
--- (`sends_single_rows`).
local shared = {}

--- The end (first byte behind) of the quoted thing, comment or dollar string
--- that begins at `at`, and whether it is a comment; nil when none does. An
--- unclosed one ends behind the text.
function shared.skip(text, at, dollars)
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

--- The lines that a dialect has, those of others empty.
local function own_lines(text, dialect)
  local out, alone, lacking = {}, nil, false
  for line in text:gmatch("([^\n]*)\n") do
    local said, whose = line:match("^(.-)%s*%-%- only: (%l+)")
    if said == "" or line == "" or line == "-- for all" then alone = whose end
    lacking = lacking or dialect.lacks ~= nil
      and line:find("^" .. dialect.lacks) ~= nil
    local is_own = (whose or alone or dialect.name) == dialect.name
    out[#out + 1] = is_own and not lacking and (said or line) or ""
    lacking = lacking and not line:find(";$")
  end
  return out
end

--- The text as a dialect has it, on as many lines.
---@param text string  ends with a line feed
---@param dialect embed.Dialect
---@return string
function shared.text(text, dialect)
  local out, at, from = {}, 1, 1
  local function add(stop)
    local piece = text:sub(from, stop)
    for _, rule in ipairs(dialect.says or {}) do
      piece = piece:gsub(rule[1], rule[2])
    end
    out[#out + 1] = piece:gsub("%a[%w_]*", dialect.words or {})
  end
  text = table.concat(own_lines(text, dialect), "\n") .. "\n"
  while at <= #text do
    local stop = shared.skip(text, at, true)
    if stop then
      add(at - 1)
      out[#out + 1] = text:sub(at, stop - 1)
      from = stop
    end
    at = stop or at + 1
  end
  add(#text)
  return table.concat(out)
end

--- Rows of a statement's lists: a dialect that is sent them one by one has an
--- argument @id where s.id is a row's.
---@param lists string[]  names of the statement's arguments with []
function shared.rows(text, dialect, lists)
  if not dialect.sends_single_rows then return text end
  for _, name in ipairs(lists) do
    text = text:gsub("%f[%w_]s%." .. name .. "%f[^%w_]", "@" .. name)
  end
  return text
end

return shared
