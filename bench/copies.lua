--- Stores with many rows, made fast: copies of those of real instances.
--- Whatever such an instance has in the store, each copy has too, under an id
--- of its own, so that they stay valid whatever the schema becomes.
local pawl = require "pawl"

local copies = {}

local DAY_MS = 24 * 3600 * 1000
local FIRST_MS = 1700000000000

--- How ids are drawn: UUIDv7, in the order of time, as real ones are.
---@class bench.Ids
---@field kind integer        another one for each call
---@field n integer
---@field first_ms? integer   of the first one; default: years ago
---@field step_ms? integer    from one to the next; default 1

--- Table x of numbers `i` from 1 on, times `at` and ids.
local function postgres_ids(ids)
  return ([[
    create temp table ids as
      select i, to_timestamp(ms / 1000.0) as at,
             (lpad(to_hex(ms), 12, '0') || '7%03d8000'
               || lpad(to_hex(i), 12, '0'))::uuid as id
        from (select i, %d + %d * i::bigint as ms
                from generate_series(1, %d) i) s;]])
    :format(ids.kind, ids.first_ms, ids.step_ms, ids.n)
end

--- The byte of number `what` at that place.
local function byte(what, place)
  return ("(select b from byte where n = (%s >> %d) & 255)"):format(what,
    8 * place)
end

local function sqlite_ids(ids)
  local bytes = {}
  for i = 0, 255 do bytes[i + 1] = ("(%d, x'%02x')"):format(i, i) end
  return ([[
    pragma synchronous = off;
    create temp table byte (n integer primary key, b blob);
    insert into byte values %s;
    create temp table ids (i integer primary key, at integer, id blob);
    insert into ids
      with recursive s (i, ms) as (
        select 1, %d + %d
        union all select i + 1, ms + %d from s where i < %d)
      select i, ms * 1000,
             cast(%s || %s || %s || %s || %s || %s || x'7%03d8000000000'
               || %s || %s || %s as blob)
        from s;]])
    :format(table.concat(bytes, ", "), ids.first_ms, ids.step_ms, ids.step_ms,
      ids.n, byte("ms", 5), byte("ms", 4), byte("ms", 3), byte("ms", 2),
      byte("ms", 1), byte("ms", 0), ids.kind, byte("i", 2), byte("i", 1),
      byte("i", 0))
end

local function lines_of(text)
  local lines = {}
  for one in text:gmatch "[^\n]+" do lines[#lines + 1] = one end
  return lines
end

--- Tables with rows of instances, and their columns.
local function tables(store)
  local rows = store:ask(store.name == "postgres" and [[
    select t.table_name, c.column_name from information_schema.tables t
      join information_schema.columns c using (table_schema, table_name)
     where table_schema = 'pawl' and table_type = 'BASE TABLE'
     order by 1, ordinal_position]] or [[
    select substr(m.name, 6), c.name
      from sqlite_master m, pragma_table_info(m.name) c
     where m.type = 'table' and m.name like 'pawl~_%' escape '~'
     order by 1, c.cid]])
  local found = {}
  for _, row in ipairs(lines_of(rows)) do
    local name, column = row:match "([^|]*)|(.*)"
    found[name] = found[name] or {}
    table.insert(found[name], column)
  end
  return found
end

--- Columns that have what is the instance's alone. Its id is its task's, too,
--- of which a template has one at most.
local OWN = { "instance.id", "task.id", "owner.task" }

--- One statement: copies of the template's rows of one table.
---@param columns string[]
---@param where string  which are the template's
---@param other table<string, string>  what columns have instead
local function copy(place, columns, where, other)
  local values = {}
  for i, column in ipairs(columns) do
    values[i] = other[column] or "t." .. column
  end
  return ("insert into %s (%s) select %s from (select * from %s where %s)"
    .. " t cross join ids x order by x.i;"):format(place,
    table.concat(columns, ", "), table.concat(values, ", "), place, where)
end

--- Which rows of a table are the template's, and what tells copies apart.
---@param named fun(name: string): string  a table, as the store calls it
---@param id string
local function own(name, columns, named, id)
  local other, where = {}, nil
  for _, column in ipairs(columns) do
    if column == "instance" then
      other.instance, where = "x.id", "instance = " .. id
    end
  end
  for _, one in ipairs(OWN) do
    local column = one:match("^" .. name .. "%.(.*)")
    if column then other[column] = "x.id" end
  end
  if name == "instance" then where = "id = " .. id end
  if name == "owner" then
    where = ("task in (select id from %s where instance = %s)"):format(
      named "task", id)
  end
  return where, other
end

--- Puts copies of the instance `id` into the store.
---@param ids bench.Ids
---@param other? table<string, table<string, string>>  of each table, what its
---              columns have instead: expressions of `t`, the copied row, and
---              `x`, which has `i`, the copy's number, and `at`, its time
function copies.multiply(store, id, ids, other)
  ids.first_ms, ids.step_ms = ids.first_ms or FIRST_MS, ids.step_ms or 1
  local postgres = store.name == "postgres"
  local literal = postgres and ("'%s'::uuid"):format(id)
    or ("x'%s'"):format(id:gsub("-", ""))
  local function named(name)
    return (postgres and "pawl." or "pawl_") .. name
  end
  local script = { postgres and postgres_ids(ids) or sqlite_ids(ids), "begin;" }
  for name, columns in pairs(tables(store)) do
    local where, instead = own(name, columns, named, literal)
    for column, what in pairs(other and other[name] or {}) do
      instead[column] = what
    end
    if where then
      script[#script + 1] = copy(named(name), columns, where, instead)
    end
  end
  script[#script + 1] = "commit;"
  store:ask(table.concat(script, "\n"))
end

--- Ids of the last `days` until now.
---@return bench.Ids
function copies.of_days(kind, n, days)
  return { kind = kind, n = n, first_ms = os.time() * 1000 - days * DAY_MS,
    step_ms = math.max(1, days * DAY_MS // n) }
end

--- Starts one of a workflow file and runs it until it ends or waits.
---@return string id
function copies.template(bench, store, file, input)
  local engine <close> = assert(pawl.open(store.url))
  local code = assert(engine:load(bench.workflows .. file)).workflow
  local id = assert(engine:start(code, input))
  assert(engine:run {})
  return id
end

return copies
