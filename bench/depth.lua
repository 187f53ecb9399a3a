--- What many other rows cost: W5, and the memory of a worker beside waiting
--- instances. The rows are copies of those of real instances: whatever such an
--- instance has in the store, each copy has too, under an id of its own.
local mono = require("pawl.core").mono
local pawl = require "pawl"
local report = require "report"
local throughput = require "throughput"

local depth = {}

---- copying -----------------------------------------------------------------

--- Ids in the order of time, as real ones are: UUIDv7. `kind` tells apart
--- what is made in different calls.
local function postgres_ids(kind, n)
  return ([[
    create temp table ids as
      select i, (lpad(to_hex(%d + i), 12, '0') || '7%03d8000'
          || lpad(to_hex(i), 12, '0'))::uuid as id
        from generate_series(1, %d) i;]])
    :format(1700000000000 + kind * 10000000, kind, n)
end

local function sqlite_ids(kind, n)
  local bytes = {}
  for i = 0, 255 do bytes[i + 1] = ("(%d, x'%02x')"):format(i, i) end
  return ([[
    pragma synchronous = off;
    create temp table byte (n integer primary key, b blob);
    insert into byte values %s;
    create temp table ids (i integer primary key, id blob);
    insert into ids
      select x.n * 65536 + y.n * 256 + z.n,
             cast(x'%012x7%03d8000000000' || x.b || y.b || z.b as blob)
        from byte x, byte y, byte z
       where x.n * 65536 + y.n * 256 + z.n between 1 and %d;]])
    :format(table.concat(bytes, ", "), 1700000000000 + kind, kind, n)
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
    select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c
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

--- One statement: copies of the template's rows of one table.
local function copy(name, columns, id_column, id)
  local values = {}
  for i, column in ipairs(columns) do
    values[i] = column == id_column and "x.id" or "t." .. column
  end
  return ("insert into %s (%s) select %s from (select * from %s where %s = %s)"
    .. " t cross join ids x order by x.i;"):format(name,
    table.concat(columns, ", "), table.concat(values, ", "), name, id_column,
    id)
end

--- Puts `n` copies of the instance `id` into the store.
---@param kind integer  another one for each call
local function multiply(store, id, kind, n)
  local postgres = store.name == "postgres"
  local literal = postgres and ("'%s'::uuid"):format(id)
    or ("x'%s'"):format(id:gsub("-", ""))
  local script = { postgres and postgres_ids(kind, n) or sqlite_ids(kind, n),
    "begin;" }
  for name, columns in pairs(tables(store)) do
    local key
    for _, column in ipairs(columns) do
      if column == "instance" then key = column end
    end
    if name:gsub("^pawl_", "") == "instance" then key = "id" end
    if key then
      script[#script + 1] = copy(postgres and "pawl." .. name or name, columns,
        key, literal)
    end
  end
  script[#script + 1] = "commit;"
  store:ask(table.concat(script, "\n"))
end

---- templates ---------------------------------------------------------------

--- Starts one of a workflow file and runs it until it ends or waits.
local function one_of(bench, store, file, input)
  local engine <close> = assert(pawl.open(store.url))
  local code = assert(engine:load(bench.workflows .. file)).workflow
  local id = assert(engine:start(code, input))
  assert(engine:run {})
  return id
end

---@param size { finished: integer, timers: integer }
function depth.fill_past(bench, store, size)
  local id = one_of(bench, store, "one_step.lua", throughput.INPUT)
  multiply(store, id, 1, size.finished)
  multiply(store, one_of(bench, store, "tomorrow.lua"), 2, size.timers)
  store:settle()
end

function depth.fill_waiting(bench, store, n)
  multiply(store, one_of(bench, store, "waits.lua"), 3, n)
  store:settle()
end

---- W5 ----------------------------------------------------------------------

--- W2 in `deep`, over W2 in an empty store; in turns.
function depth.W5(bench, deep, size)
  local empty <close> = deep:another "empty"
  local began = mono()
  depth.fill_past(bench, deep, size)
  local filled = mono() - began
  local rounds = {}
  for i = 1, size.depth do
    local bare = throughput.drain(bench, empty, "one_step.lua", 2 * size.one, 1)
    rounds[i] = throughput.drain(bench, deep, "one_step.lua", 2 * size.one, 1)
    rounds[i].raw = bare.value
  end
  local measure = report.sum_up(rounds, "steps/s")
  measure.finished, measure.timers = size.finished, size.timers
  measure.fill_seconds = filled
  return measure
end

return depth
