--- What several statements of a dialect have: once, in its fragments.sql, and
--- written out where they name it.
---
---   -- fragment: unless_suspended
---   -- Free comments.
---   not exists (select from pawl.suspension p where p.code = {{1}})
---
--- `{{unless_suspended w.workflow}}` stands for it, with what stands behind the
--- name in the place of {{1}}; of several, parted by `;`, the next is {{2}}. A
--- fragment may name others. Each statement has three of its own, of its
--- arguments with []: `{{lists}}` is "id, at", `{{@lists}}` "@id, @at", and
--- `{{unnested}}` "unnest(@id) as id, unnest(@at) as at".
---
--- Columns that several name stand once too, with their types, in front of the
--- statements of their table:
---
---   -- columns: whose
---   --   tenant text, executor_group text as group
---   -- Free comments.
---
--- `{{whose}}` is "tenant, executor_group" there, `{{whose s.}}` "s.tenant,
--- s.executor_group". In a statement's head `@{{whose}}[]` are such arguments,
--- and `{{whose}}` such rows. What people call a column stands behind `as`.
---
--- For C (pawl_sql.h) PAWL_SHOWN_whose is "tenant group=executor_group", and
--- PAWL_COLUMNS_whose(X) is X(text, tenant, tenant) X(text, group,
--- executor_group): the type, what people call it, the column.
local fragments = {}

---@class embed.Column
---@field name string
---@field type string   with its marks, as in a statement's head
---@field shown string

---@class embed.Fragment
---@field text string  one line
---@field columns embed.Column[]?
---@field used boolean?

---@param lines fun(): string?  of fragments.sql
---@return table<string, embed.Fragment>
function fragments.read(lines)
  local found, open = {}, nil
  for line in lines do
    local name = line:match("^%-%- fragment: ([%l%d_]+)$")
    if name then
      open = { text = "" }
      found[name] = open
    elseif open and line:find("%S") and not line:find("^%-%-") then
      open.text = (open.text .. " " .. line):gsub("%s+", " "):gsub("^ ", "")
    end
  end
  return found
end

local function parse_columns(text, fail)
  local columns = {}
  for item in (text .. ","):gmatch("%s*(.-)%s*,") do
    local name, type, as = item:match("^([%l_][%l%d_]*)%s+(%l+%??%??)(.*)$")
    local shown = as == "" and name or as and as:match("^%s+as%s+([%l_]+)$")
    if not shown then fail("cannot read %q (want: name type)", item) end
    columns[#columns + 1] = { name = name, type = type, shown = shown }
  end
  return columns
end

---@param lines string[]  of a file of statements
---@param fail fun(line: integer, message: string, ...)
---@return table<string, embed.Fragment>
function fragments.read_columns(lines, fail)
  local found = {}
  for i, line in ipairs(lines) do
    local name = line:match("^%-%- columns: ([%l%d_]+)$")
    local text, at = {}, i + 1
    while name and (lines[at] or ""):find("^%-%-   +%S") do
      text[#text + 1] = lines[at]:match("^%-%-%s+(.-)%s*$")
      at = at + 1
    end
    if name then
      found[name] = { columns = parse_columns(table.concat(text, " "),
        function(...) fail(i, ...) end) }
    end
  end
  return found
end

--- A statement's head with the columns that it names written out.
---@param known table<string, embed.Fragment>
---@param fail fun(message: string, ...)
function fragments.expand_params(text, known, fail)
  return (text:gsub("(@?){{([%l%d_]+)}}([%[%]]*)", function(mark, name, list)
    local of, out = known[name], {}
    if not of or not of.columns then fail("there are no columns %s", name) end
    of.used = true
    for i, column in ipairs(of.columns) do
      -- in rows a null is read as 0 anyway
      local type = mark == "" and column.type:gsub("%f[?]%?$", "")
        or column.type
      out[i] = mark .. column.name .. " " .. type .. list
    end
    return table.concat(out, ", ")
  end))
end

--- How people call the columns: a list as common/answer.h takes it.
---@param columns embed.Column[]
function fragments.shown(columns)
  local out = {}
  for i, column in ipairs(columns) do
    local as = column.shown ~= column.name and column.shown .. "=" or ""
    out[i] = as .. column.name
  end
  return table.concat(out, " ")
end

--- The same as a list of C's.
---@param columns embed.Column[]
function fragments.listed(columns)
  local out = {}
  for i, column in ipairs(columns) do
    out[i] = ("X(%s, %s, %s)"):format(column.type:match("%l+"), column.shown,
      column.name)
  end
  return table.concat(out, " \\\n  ")
end

--- The text with its fragments written out, on as many lines as before.
---@param known table<string, embed.Fragment>
---@param lists string[]  names of the statement's arguments with []
---@param fail fun(message: string, ...)
---@param depth integer?  of fragments in fragments
function fragments.expand(text, known, lists, fail, depth)
  local function each(fmt)
    local out = {}
    for i, name in ipairs(lists) do out[i] = fmt:gsub("%%", name) end
    return table.concat(out, ", ")
  end
  local own = { lists = "%", ["@lists"] = "@%",
                unnested = "unnest(@%) as %" }
  return (text:gsub("{{(@?%l[%l%d_]*) ?([^{}]*)}}", function(name, given)
    local values = {}
    if own[name] then return each(own[name]) end
    if not known[name] or depth == 9 then
      fail("there is no fragment %s", name)
    end
    known[name].used = true
    if known[name].columns then
      local out = {}
      for i, column in ipairs(known[name].columns) do
        out[i] = given .. column.name
      end
      return table.concat(out, ", ")
    end
    for value in given:gmatch("[^;%s][^;]*") do values[#values + 1] = value end
    return fragments.expand(known[name].text:gsub("{{(%d)}}", function(i)
      return values[tonumber(i)] or fail("%s wants a {{%s}}", name, i)
    end), known, lists, fail, (depth or 0) + 1)
  end))
end

return fragments
