--- The stores that every conformance spec runs on: an array of backends.
---
---     for _, backend in ipairs(require "spec.support.backends") do
---       describe("a lease on " .. backend.name, function()
---         after_each(backend.cleanup)
---         it("...", function()
---           local engine, clock, url = backend.fresh()
---
--- PostgreSQL takes part when PAWL_TEST_PG holds a superuser's conninfo;
--- ./dev test starts a server for it.
local pawl = require "pawl"
local shell = require "spec.support.shell"
local testing = require "pawl.testing"
local tmp = require "spec.support.tmp"

---@class spec.Backend
---@field name string  "sqlite" or "postgres": whose SQL it speaks
---@field label string  how specs call it: its name, ":memory:" or "toy"
---@field url fun(): string  of a brand-new store, empty, without schema
---@field fresh fun(options?: pawl.OpenOptions): pawl.Engine, pawl.Clock, string
---@field open fun(url: string, options?: pawl.OpenOptions): pawl.Engine
---@field sql fun(url: string, text: string): table[]  rows by column name
---@field cleanup fun()  closes and removes all of the above: for after_each

-- Columns and rows as the clients print them, apart by characters that data
-- has no use for.
local UNIT, RECORD, NULL = "\x1f", "\x1e", "\x1d"

local function split(text, separator)
  local parts = {}
  for part in text:gmatch("([^" .. separator .. "]*)" .. separator) do
    parts[#parts + 1] = part
  end
  return parts
end

--- The first line is the header; NULL becomes nil, all else stays text.
local function parse_rows(output)
  output = output:gsub("\n$", RECORD) -- psql ends its last line in its own way
  local lines = split(output, RECORD)
  local names = split((table.remove(lines, 1) or "") .. UNIT, UNIT)
  local rows = {}
  for i, line in ipairs(lines) do
    rows[i] = {}
    for k, value in ipairs(split(line .. UNIT, UNIT)) do
      if value ~= NULL then rows[i][names[k]] = value end
    end
  end
  return rows
end

--- What the backends share; `url` and `sql` are theirs, `drop` forgets urls.
local function backend(self, drop)
  local engines, urls = {}, {}
  local new_url = self.url
  self.label = self.label or self.name

  function self.url()
    local url = new_url()
    urls[#urls + 1] = url
    return url
  end

  function self.open(url, options)
    local engine = assert(pawl.open(url, options))
    engines[#engines + 1] = engine
    return engine
  end

  function self.fresh(options)
    local given = {}
    for name, value in pairs(options or {}) do given[name] = value end
    given.clock = given.clock or testing.clock()
    local url = self.ready_url and self.ready_url(given)
    if url then urls[#urls + 1] = url else url = self.url() end
    return self.open(url, given), given.clock, url
  end

  function self.cleanup()
    for _, engine in ipairs(engines) do engine:close() end
    if #urls > 0 then drop(urls) end
    engines, urls = {}, {}
  end

  return self
end

local function sqlite()
  local self = { name = "sqlite" }

  function self.url() return tmp.path("pawl.db") end

  -- Leaves the file as it was: no checkpoint when this reader goes.
  function self.sql(url, text)
    return parse_rows(shell.output {
      "sqlite3", "-batch", "-bail", "-header", "-separator", UNIT,
      "-newline", RECORD, "-nullvalue", NULL,
      "-cmd", ".output /dev/null",
      "-cmd", ".timeout 5000", "-cmd", ".dbconfig no_ckpt_on_close on",
      "-cmd", ".output", url, text,
    })
  end

  return backend(self, function(urls)
    for _, path in ipairs(urls) do
      for _, suffix in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
        os.remove(path .. suffix)
      end
    end
  end)
end

-- Everything goes, whoever is still connected.
local CLEAR = [[
set client_min_messages = error;
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid();
drop schema if exists pawl, second cascade;
drop schema public cascade;
create schema public;
select 'empty';]]

--- Names of the triggers that the schema has itself, as SQL has a list.
local function own_triggers()
  local file <close> = assert(io.open "sql/shared/migrations/0001_first.sql")
  local names = {}
  for name in file:read "a":gmatch "\ncreate trigger ([%w_]+)" do
    names[#names + 1] = ("'%s'"):format(name)
  end
  return table.concat(names, ", ")
end

-- A store that nobody has changed keeps its schema and loses its rows; says
-- "ready" then.
local CLEAN = ([[
set client_min_messages = error;
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid();
do $$
declare t record; plain boolean;
begin
  select to_regclass('pawl.migration') is not null
     and (select value = '1' from pawl.meta where key = 'shards')
     and (select length(value) >= 64 from pawl.secret)
     and not exists (select from pg_class c join pg_namespace n
                       on n.oid = c.relnamespace
                      where n.nspname not in ('pawl', 'pg_catalog',
                            'information_schema', 'pg_toast')
                        and n.nspname not like 'pg_temp%'
                        and n.nspname not like 'pg_toast%')
     and not exists (select from pg_trigger
                      where not tgisinternal and tgname not in (OWN))
     and not exists (select from pg_proc p join pg_namespace n
                       on n.oid = p.pronamespace
                      where n.nspname = 'public' or n.nspname = 'pawl'
                            and p.proname ~ '^spec_')
    into plain;
  if plain then
    for t in select tablename as name from pg_tables
              where schemaname = 'pawl'
                and tablename not in ('migration', 'meta', 'secret') loop
      if pg_total_relation_size(format('pawl.%I', t.name)) > 500000 then
        execute format('truncate pawl.%I cascade', t.name);
      else -- quicker, but what was there is still walked past for a while
        execute format('delete from pawl.%I', t.name);
      end if;
    end loop;
  else
    drop schema if exists pawl, second cascade;
    drop schema public cascade;
    create schema public;
  end if;
  perform set_config('spec.kind',
                     case when plain then 'ready' else 'empty' end, false);
end $$;
select current_setting('spec.kind');]]):gsub("OWN", own_triggers())

--- Linux takes no argument of 128 KB or more: longer text goes by a file.
local LONG = 100000

local function postgres(server)
  local self = { name = "postgres" }
  local made = 0
  local prefix = ("pawl_%d_%d"):format(os.time(), math.random(1 << 30))

  -- The last dbname of a conninfo wins.
  local function conninfo(database)
    return server .. " dbname=" .. database
  end

  local function psql(database, ...)
    return shell.output {
      "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
      "--no-align", "--pset=footer=off", "--field-separator=" .. UNIT,
      "--record-separator=" .. RECORD, "--pset=null=" .. NULL,
      "--dbname=" .. conninfo(database), ...
    }
  end

  -- Making a database takes longer than most specs, so they are used again:
  -- `ready` ones hold a store as it is made by default, without instances,
  -- `empty` ones nothing.
  local ready, empty, is_plain = {}, {}, {}

  local function create(template)
    made = made + 1
    local database = prefix .. "_" .. made
    psql("postgres", "--command=create database " .. database
      .. (template and " template " .. template or ""))
    return database
  end

  function self.url()
    return "postgres:" .. conninfo(table.remove(empty) or create())
  end

  -- On the server that ./dev test starts: what it has made to be copied.
  local template = server == os.getenv "PAWL_TEST_PG"
    and os.getenv "PAWL_TEST_PG_READY"

  --- A store of the default kind, if one lies about or can be copied.
  function self.ready_url(options)
    if options.shards or options.create ~= nil then return nil end
    local database = table.remove(ready) or not template and table.remove(empty)
      or create(template)
    local url = "postgres:" .. conninfo(database)
    is_plain[url] = true
    return url
  end

  function self.sql(url, text)
    local database = url:match "dbname=([%w_]+)$"
    if #text < LONG then
      return parse_rows(psql(database, "--command=" .. text))
    end
    local file = tmp.file("long.sql", text)
    local output = psql(database, "--single-transaction", "--file=" .. file)
    os.remove(file)
    return parse_rows(output)
  end

  return backend(self, function(urls)
    for _, url in ipairs(urls) do
      local database = url:match "dbname=([%w_]+)$"
      local told = psql(database, "--tuples-only",
        "--command=" .. (is_plain[url] and CLEAN or CLEAR))
      local list = told:find "ready" and ready or empty
      list[#list + 1] = database
      is_plain[url] = nil
    end
  end)
end

---- others, for spec/store/conformance_spec.lua -----------------------------

--- A store that one connection has: what needs a second one is passed over,
--- and what looks into the store asks that one.
local function memory()
  local self = { name = "sqlite", label = ":memory:" }
  local engine
  local second = require "spec.support.conform".second

  function self.url() return ":memory:" end

  function self.select(text)
    if not engine then second() end
    local ok, rows = pcall(engine.transaction, engine, function(tx)
      return tx:query(text)
    end)
    -- What writes is refused to it, and ids are bytes, which Lua is not given.
    return ok and rows or second()
  end

  function self.sql(_, text)
    local rows = self.select(text)
    for _, row in ipairs(rows) do
      for name, value in pairs(row) do row[name] = tostring(value) end
    end
    return rows
  end

  backend(self, function() engine = nil end)
  local open = self.open
  function self.open(url, options)
    if engine then second() end
    engine = open(url, options)
    return engine
  end
  return self
end

--- The driver of specs alone (toy.c), whose stores are files.
local function toy()
  require "spec.support.probe"
  local file = sqlite()
  local self = { name = "sqlite", label = "toy" }
  function self.url() return "toy:" .. tmp.path("pawl.db") end
  function self.sql(url, text) return file.sql(url:match "^toy:(.*)", text) end
  return backend(self, function(urls)
    for _, url in ipairs(urls) do
      for _, suffix in ipairs { "", "-wal", "-shm" } do
        os.remove(url:match "^toy:(.*)" .. suffix)
      end
    end
  end)
end

local asked = os.getenv "PAWL_SPEC_BACKEND"
if asked then
  return { assert(({ [":memory:"] = memory, toy = toy })[asked])() }
end

--- On a server of a spec's own, a backend like the others.
local backends = { sqlite(), postgres = postgres }
local server = os.getenv("PAWL_TEST_PG")
if server then
  backends[2] = postgres(server)
else
  io.stderr:write "PAWL_TEST_PG is not set: these specs run on SQLITE ALONE\n"
end

return backends
