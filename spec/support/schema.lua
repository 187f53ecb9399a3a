--- docs/schema.md, made from a store: its tables, views and columns, and what
--- is said of them there.
local schema = {}

--- One row a column, in the order in which they were made.
schema.COLUMNS = [[
select c.relname as of, c.relkind::text as kind, a.attname as name,
       format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as needed,
       obj_description(c.oid, 'pg_class') as about,
       col_description(c.oid, a.attnum) as text,
       coalesce(a.attnum = any (i.indkey), false) as keyed
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
                     and not a.attisdropped
  left join pg_index i on i.indrelid = c.oid and i.indisprimary
 where c.relnamespace = 'pawl'::regnamespace and c.relkind in ('r', 'v')
 order by c.relkind, c.oid, a.attnum]]

--- Columns that name a row of another table. There are no foreign keys: rows
--- are written in batches, by who holds the instance.
local REFERS <const> = {
  instance = "instance", parent = "instance", root = "instance",
  successor = "instance", child = "instance", target = "instance",
  task = "task", executor = "executor", workflow = "workflow",
}

local HEAD <const> = [[
# Schema

The tables and views of a store, as `pawl migrate` makes them in PostgreSQL.
This page is made from the schema by
`PAWL_WRITE=1 ./dev test spec/meta/schema_spec.lua`; the texts are the comments
that `\d+` shows in `psql`.

Views are for readers: the names and the meaning of their columns stay, whatever
becomes of the tables. SQLite has the same tables and views, named
`pawl_instance` and so on. There times are integers, microseconds since 1970
UTC; ids are 16-byte blobs, in views their hexadecimal digits; `json` and
`numeric` are text, booleans 0 and 1. It has no table `standing`.

## What refers to what

By columns that hold the other's id, or a workflow's code. A line's name is the
column.

]]

local INSTEAD <const> = { ["timestamp with time zone"] = "timestamptz" }

--- Tables and views in their order, each with its columns.
local function grouped(rows)
  local list, known = {}, {}
  for _, row in ipairs(rows) do
    local one = known[row.of]
    if not one then
      one = { name = row.of, kind = row.kind, about = row.about }
      known[row.of], list[#list + 1] = one, one
    end
    one[#one + 1] = row
  end
  return list
end

local function drawing(list)
  local lines = { "```mermaid", "erDiagram" }
  for _, one in ipairs(list) do
    for _, column in ipairs(one.kind == "r" and one or {}) do
      local to = REFERS[column.name]
      if to and column.type ~= "integer" and column.type ~= "json" then
        lines[#lines + 1] = ("  %s }o--|| %s : %s"):format(one.name, to,
          column.name)
      end
    end
  end
  lines[#lines + 1] = "```"
  return table.concat(lines, "\n")
end

local function cell(text) return (text:gsub("|", "\\|")) end

local function section(one)
  local about = (one.about or "?"):gsub("^%l", string.upper)
  local lines = { "### " .. one.name, "", about .. ".", "",
    "| column | type | |", "|---|---|---|" }
  for _, column in ipairs(one) do
    local kind = INSTEAD[column.type] or column.type
    if one.kind == "r" and column.needed ~= "t" then kind = kind .. "?" end
    lines[#lines + 1] = ("| %s`%s` | %s | %s |"):format(
      column.keyed == "t" and "key " or "", column.name, kind,
      cell(column.text or "?"))
  end
  return table.concat(lines, "\n")
end

--- What nobody has said anything of, as "table.column".
function schema.unsaid(rows)
  local list = {}
  for _, row in ipairs(rows) do
    if not row.about then list[#list + 1] = row.of end
    if not row.text then list[#list + 1] = row.of .. "." .. row.name end
  end
  return list
end

---@param rows table[]  of schema.COLUMNS
---@return string  the page
function schema.page(rows)
  local list = grouped(rows)
  local parts = { HEAD .. drawing(list), "## Tables",
    "`?` may be null; *key* is of the primary key." }
  local views = false
  for _, one in ipairs(list) do
    if one.kind == "v" and not views then
      views, parts[#parts + 1] = true, "## Views"
    end
    parts[#parts + 1] = section(one)
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return schema
