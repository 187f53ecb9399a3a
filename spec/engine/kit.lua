--- What the engine's specs share: every backend in turn, small workflows,
--- engines that race each other, and the store as it is.
---
--- Two engines on one store in one process make a race a plain sequence: the
--- rival does its work inside the handler of the one that is to come too late.
local backends = require "spec.support.backends"
local busted = require "busted"
local conform = require "spec.support.conform"
local luassert = require "luassert"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local kit = { backends = backends }

--- Describes `name` on every backend. `specs` is given the backend.
function kit.describe(name, specs)
  for _, backend in ipairs(backends) do
    busted.describe(name .. " on " .. backend.label, function()
      busted.after_each(function()
        kit.close_stores()
        backend.cleanup()
      end)
      specs(backend)
    end)
  end
end

---- workflows -------------------------------------------------------------

--- One step: a, then z. `options` are more of the step's.
---@param run? fun(ctx: pawl.Ctx): string?, any
---@param options? table  of the step; `code` and `version` of the workflow
function kit.one(run, options)
  local given = { run = run or function() end, next = "z" }
  local code, version
  for key, value in pairs(options or {}) do
    if key == "code" then code = value
    elseif key == "version" then version = value
    else given[key] = value end
  end
  local flow = pawl.workflow { code = code or "t.one", version = version,
    start = "a" }
  flow:step("a", given)
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- Steps one after the other, named a, b, c ..., then z.
---@param runs (fun(ctx: pawl.Ctx): string?, any)[]
---@param code? string
function kit.chain(runs, code)
  local flow = pawl.workflow { code = code or "t.chain", start = "a" }
  for i, run in ipairs(runs) do
    flow:step(string.char(96 + i), { run = run,
      next = i == #runs and "z" or string.char(97 + i) })
  end
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- A timer and nothing else: t, then z.
function kit.timer(after, code)
  local flow = pawl.workflow { code = code or "t.timer", start = "t" }
  flow:timer("t", { after = after or "1h", next = "z" })
  flow:finish "z"
  return flow
end

--- So many of that, of one workflow, that wait; their ids, oldest first.
function kit.waiting(engine, n)
  assert(engine:load(kit.timer "100h"))
  local items = {}
  for i = 1, n do items[i] = { input = { n = i } } end
  local ids = assert(engine:start_many("t.timer", items))
  assert(engine:run())
  table.sort(ids)
  return ids
end

--- Calls one of `code`, and lives on when that has ended: until "go".
function kit.parent(code, input)
  local flow = pawl.workflow { code = "t.parent", start = "c" }
  flow:call("c", { workflow = code, input = input, next = "w" })
  flow:wait("w", { event = "go", next = "z" })
  flow:finish "z"
  return flow
end

---- engines ---------------------------------------------------------------

--- Another engine on the same store, under the same clock.
---@param options? pawl.OpenOptions
function kit.rival(backend, url, clock, options)
  local given = { clock = clock }
  for key, value in pairs(options or {}) do given[key] = value end
  return backend.open(url, given)
end

--- Two engines on a fresh store that have loaded the same workflows.
---@param flows pawl.Workflow[]
---@param options? pawl.OpenOptions
---@return pawl.Engine a, pawl.Engine b, pawl.Clock clock, string url
function kit.pair(backend, flows, options)
  local a, clock, url = backend.fresh(options)
  local b = kit.rival(backend, url, clock, options)
  for _, flow in ipairs(flows) do
    assert(a:load(flow))
    assert(b:load(flow))
  end
  return a, b, clock, url
end

--- Who waited for it was told when it was committed, at that time: not as it
--- looked again by itself; and waits no more.
function kit.told_at_once(backend, url, engine, at)
  local late = engine:now() - pawl.time(at)
  assert(late < 5, ("told %.1f s late"):format(late))
  if backend.name == "postgres" then
    luassert.equal(0, kit.count(backend, url, "waiter"))
  end
end

--- The time passes, and the engine runs each time that something is due.
function kit.pass(engine, clock, seconds)
  local stop = clock:now() + seconds
  while true do
    local due = engine:next_due()
    if not due or due > stop then break end
    if due > clock:now() then clock:advance(due - clock:now()) end
    assert(engine:run())
  end
  clock:advance(stop - clock:now())
  assert(engine:run())
end

--- Runs both, while a rival delivers whatever the engine is to deliver.
function kit.delivered_twice(engine, rival, clock)
  local points, met, inside = {}, 0, false
  for i = 1, 9 do points[i] = "engine.deliver.handed=call@" .. i end
  probe.fault(table.concat(points, ","), function()
    if inside then return end
    inside = true
    met = met + 1
    clock:advance(2) -- it looks for what a dead one has left
    assert(rival:tick(0))
    inside = false
  end)
  assert(engine:run())
  probe.fault(nil)
  assert(rival:run())
  assert(met > 0, "nothing was delivered")
end

--- An executor on this machine whose process is gone: one that had the number
--- of the store's only one before it.
---@return string id
function kit.dead_neighbour(backend, url)
  local dead, rows = kit.draw_id(), kit.table(backend, "executor")
  backend.sql(url, ([[insert into %s (id, host, boot, space, pid, begun,
    executor_group, started_at, active_at, expires_at)
    select %s, host, boot, space, pid, begun - 1, executor_group,
      started_at, active_at, expires_at from %s]])
    :format(rows, kit.id_literal(backend, dead), rows))
  return dead
end

---- what was recorded -----------------------------------------------------

--- "step a, failed b, timer t"
function kit.trail(engine, id)
  local words = {}
  for i, entry in ipairs(assert(engine:history(id))) do
    assert(entry.seq == i, "history is numbered without gaps")
    words[i] = entry.type .. (entry.node and " " .. entry.node or "")
  end
  return table.concat(words, ", ")
end

function kit.status(engine, id) return assert(engine:get(id)).status end

--- The nodes that its tokens stand at, in the order of their names.
function kit.standing(engine, id)
  local nodes = {}
  for _, token in ipairs(assert(engine:tokens(id))) do
    nodes[#nodes + 1] = token.node
  end
  table.sort(nodes)
  return table.concat(nodes, " ")
end

--- The newest row of history.
function kit.last(engine, id)
  local history = assert(engine:history(id))
  return history[#history]
end

--- Is what was refused with this code and these words?
---@param hint? string
function kit.refused(code, words, hint, ok, err)
  luassert.is_nil(ok)
  luassert.equal(code, err.code, tostring(err))
  luassert.matches(words, err.message)
  if hint then luassert.matches(hint, err.hint or "") end
end

---- the store as it is ----------------------------------------------------

local stores = {}

--- A store of its own connection, for statements by name.
---@param clock? pawl.Clock
function kit.store(url, clock)
  if url == ":memory:" then conform.second() end
  local store = assert(probe.open(url, {
    clock = clock and function() return clock.us end or nil,
  }))
  stores[#stores + 1] = store
  return store
end

function kit.close_stores()
  for _, store in ipairs(stores) do store:close() end
  stores = {}
end

--- Runs one named statement in a transaction of its own.
---@return table rows
function kit.run(store, name, args)
  assert(store:begin(name:find "_get$" and "read" or "batch"))
  assert(store:send(name, args))
  return assert(store:commit())[1]
end

--- An instance's shard: its id's last 16 bits, modulo the shards.
function kit.shard(id, shards)
  return tonumber(id:sub(-4), 16) % (shards or 1)
end

--- The instance's agenda row, or nil.
function kit.agenda(store, id)
  return kit.run(store, "agenda_get", {
    shard = kit.shard(id, store:shards()), id = id, now = store:now(),
  })[1]
end

--- A table's name in this dialect.
function kit.table(backend, name)
  return (backend.name == "postgres" and "pawl." or "pawl_") .. name
end

--- Rows of a select, on a connection of its own. On SQLite it waits for
--- writers to end: not for use inside a transactional step.
function kit.select(url, text)
  local rows = url == ":memory:" and backends[1].select(text)
    or assert(probe.sql(url, text))
  rows.changed = nil
  return rows
end

--- What differs between two runs of the same: ids, and whoever ran them.
local MASKED = { id = true, instance = true, lease = true, executor = true,
  root = true, key = true }

--- All that is stored of instances, for comparing two runs of the same.
function kit.stored(backend, url)
  local found = {}
  for name, order in pairs { instance = "id", agenda = "instance",
    history = "instance, seq", token = "instance, no",
    variable = "instance, part" } do
    found[name] = kit.select(url, ("select * from %s order by %s")
      :format(kit.table(backend, name), order))
    for _, row in ipairs(found[name]) do
      for column in pairs(MASKED) do row[column] = nil end
    end
  end
  return found
end

--- Who runs is no part of what was done; these are the same for all stores.
local ASIDE = { secret = true, meta = true, version = true, executor = true,
  breakpoint_change = true }

local function tables(backend, url)
  local rows = kit.select(url, backend.name == "postgres"
    and "select tablename as name from pg_tables where schemaname = 'pawl'"
    or "select substr(name, 6) as name from sqlite_master "
      .. "where type = 'table' and name like 'pawl!_%' escape '!'")
  local names = {}
  for _, row in ipairs(rows) do
    if not ASIDE[row.name] then names[#names + 1] = row.name end
  end
  table.sort(names)
  assert(#names > 15)
  return names
end

--- Ids become the order in which they appear: "<1>", also within texts.
local function namer()
  local known, n = {}, 0
  local function name(id)
    if not known[id] then
      n = n + 1
      known[id] = ("<%d>"):format(n)
    end
    return known[id]
  end
  local UUID <const> = ("x"):rep(8) .. ("%-xxxx"):rep(3) .. "%-" .. ("x")
    :rep(12)
  return function(value)
    if type(value) ~= "string" then return value end
    if #value == 16 and value:find "[^\32-\126]" then
      local hex = value:gsub(".", function(c) return ("%02x"):format(c:byte())
      end)
      value = hex:gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)",
        "%1-%2-%3-%4-")
    end
    return (value:gsub(UUID:gsub("x", "%%x"), name))
  end
end

--- Counters as they add up: how many rows they are depends on how many were
--- counted at once.
function kit.folded(rows)
  local list, known = {}, {}
  for _, row in ipairs(rows) do
    local words = {}
    for column, value in pairs(row) do
      if column ~= "amount" then
        words[#words + 1] = ("%s=%s"):format(column, value)
      end
    end
    table.sort(words)
    local key = table.concat(words, " ")
    if known[key] then
      known[key].amount = known[key].amount + row.amount
    else
      known[key], list[#list + 1] = row, row
    end
  end
  return list
end

--- All rows of all tables, with their ids by the order of their appearance.
--- Runs under clocks that stand alike have the same times.
---@return table<string, table[]>
function kit.everything(backend, url)
  local found, named = {}, namer()
  for _, name in ipairs(tables(backend, url)) do
    local rows = kit.select(url, ("select * from %s order by %s")
      :format(kit.table(backend, name), name == "code" and "1" or "1, 2, 3"))
    for _, row in ipairs(rows) do
      local columns = {}
      for column in pairs(row) do columns[#columns + 1] = column end
      table.sort(columns)
      for _, column in ipairs(columns) do
        row[column] = named(row[column])
      end
    end
    found[name] = name == "counter" and kit.folded(rows) or rows
  end
  return found
end

--- How many rows a table has, `where` an SQL condition.
function kit.count(backend, url, name, where)
  return kit.select(url, ("select count(*) as n from %s where %s")
    :format(kit.table(backend, name), where or "1 = 1"))[1].n
end

--- Makes the store refuse histories that mention poison.
function kit.poison(backend, url)
  if backend.name == "sqlite" then
    backend.sql(url, [[create trigger spec_poison
      before insert on pawl_history when new.output like '%poison%'
      begin select raise(abort, 'spec: poison'); end;]])
  else
    backend.sql(url, [[create function pawl.spec_poison() returns trigger
      language plpgsql as $f$ begin
      if new.output::text like '%poison%' then
        raise exception 'spec: poison' using errcode = '23514'; end if;
      return new; end $f$;
      create trigger spec_poison before insert on pawl.history
      for each row execute function pawl.spec_poison()]])
  end
end

--- Makes the store refuse to `write` rows of that table: "insert", "update";
--- those alone of which `which` is true, an expression with `new`.
---@return fun()  lets it do so again
function kit.refuse(backend, url, name, write, which)
  local sqlite = backend.name == "sqlite"
  backend.sql(url, (sqlite and [[create trigger spec_refuse
      before %s on %s when %s
      begin select raise(abort, 'spec: refused'); end;]]
    or [[create function pawl.spec_refuse() returns trigger
      language plpgsql as $f$ begin
      raise exception 'spec: refused' using errcode = '23514'; end $f$;
      create trigger spec_refuse before %s on %s
      for each row when (%s) execute function pawl.spec_refuse()]]):format(
    write, kit.table(backend, name), which or "true"))
  return function()
    backend.sql(url, sqlite and "drop trigger spec_refuse"
      or "drop function pawl.spec_refuse cascade")
  end
end

--- An id as this dialect writes it in SQL.
function kit.id_literal(backend, id)
  return backend.name == "postgres" and ("'%s'"):format(id)
    or ("x'%s'"):format((id:gsub("-", "")))
end

--- A new id, a UUIDv7 as clients draw them.
local drawn = 0
function kit.draw_id(route)
  drawn = drawn + 1
  return ("019c0000-%04x-7%03x-8000-00000000%04x"):format(drawn >> 12,
    drawn & 0xfff, route or drawn & 0xffff)
end

--- Claims one instance past the engine, as a rival that then stands still.
---@return string lease
function kit.claim(store, id, options)
  options = options or {}
  local lease = options.lease or kit.draw_id()
  local rows = kit.run(store, "agenda_claim_one", {
    shard = kit.shard(id, store:shards()), id = id, lease = lease,
    executor = options.executor or kit.draw_id(),
    lease_us = options.lease_us or 30000000, now = store:now(),
  })
  assert(#rows == 1, "the instance could not be claimed")
  return lease
end

---- named statements ------------------------------------------------------

---@class spec.Statement
---@field text string     as in its file, without comments
---@field args string[]   names
---@field types string[]  of the arguments, in PostgreSQL's words

local fragments, shared = dofile "sql/fragments.lua", dofile "sql/shared.lua"
local TYPES = { time = "timestamptz", bytes = "bytea", float = "float8" }

--- The lines of sql/shared/ and of the dialect's folder that `pattern` names.
local function lines_of(dialect, pattern)
  return coroutine.wrap(function()
    local list <close> = assert(io.popen(("ls sql/shared/%s && ls sql/%s/%s")
      :format(pattern, dialect.name, pattern)))
    for path in list:lines() do
      local file <close> = assert(io.open(path))
      local text, is_shared = file:read "a", path:find "^sql/shared/" ~= nil
      if is_shared then text = shared.text(text, dialect) end
      for line in text:gmatch "[^\n]*" do coroutine.yield(line, is_shared) end
    end
  end)
end

--- Every statement of a dialect, by name. What it does not say of its
--- arguments, PostgreSQL's says.
---@return table<string, spec.Statement>
function kit.statements(name)
  local faces = name ~= "postgres" and kit.statements "postgres" or {}
  local dialect = dofile("sql/" .. name .. "/dialect.lua")
  local found, now = {}, nil
  dialect.name = name
  local known = fragments.read(lines_of(dialect, "fragments.sql"))
  local lines = {}
  for line in lines_of(dialect, "[!f]*.sql") do lines[#lines + 1] = line end
  for list, columns in pairs(fragments.read_columns(lines, error)) do
    known[list] = columns
  end
  for line, is_shared in lines_of(dialect, "[!f]*.sql") do
    local named = line:match "^%-%- name: ([%w_]+)$"
    if named then
      local face = faces[named] or { args = {}, types = {} }
      now = { text = "", args = face.args, types = face.types,
              is_shared = is_shared }
      if is_shared then now.args, now.types = {}, {} end
      found[named] = now
    elseif line:find "^%-%- args: like " then
      local other = found[line:match "like ([%w_]+)"]
      now.args, now.types = other.args, other.types
    elseif line:find "^%-%- args:" or line:find "^%-%-   +@" then
      for arg, kind, list_of in fragments.expand_params(line, known, error)
        :gmatch "@([%w_]+) (%l+)%?*([%[%]]*)" do
        now.args[#now.args + 1] = arg
        now.types[#now.types + 1] = (TYPES[kind] or kind) .. list_of
      end
    elseif now and not line:find "^%-%-" then
      now.text = now.text .. line .. "\n"
    end
  end
  for _, one in pairs(found) do
    local lists = {}
    for i, arg in ipairs(one.args) do
      if one.types[i]:find "%[%]$" then lists[#lists + 1] = arg end
    end
    one.text = fragments.expand(one.text, known, lists, error)
    if one.is_shared then one.text = shared.rows(one.text, dialect, lists) end
    -- the driver's function (store/sqturns.h) is not known elsewhere
    one.text = one.text:gsub("pawl_turned(%b())", "(json_array%1 is not null)")
  end
  return found
end

--- A statement with its arguments written out, without its semicolon.
---@param statement spec.Statement
---@param values table<string, string>  SQL; "null" when left out
function kit.literal(statement, values)
  return (statement.text:gsub("@([%w_]+)", function(name)
    return values[name] or "null"
  end):gsub(";%s*$", ""))
end

--- What a session of ours is told of plans, as its source has it.
function kit.planner_ways()
  local source <close> = assert(io.open "src/store/pgsession.h")
  local ways = assert(source:read("a"):match "#define PAWL_PG_WAYS(.-)\n#")
  local text = {}
  for name, value in ways:gmatch "X%(([%w_]+), ([%w_]+)%)" do
    text[#text + 1] = ("set %s = %s;"):format(name, value)
  end
  assert(#text > 5)
  return table.concat(text)
end

return kit
