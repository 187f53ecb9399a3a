--- The stores under measurement, and the raw program of each.
local system = require "system_calls"

local line, output_of = system.line, system.output_of

local stores = {}

---@class bench.Store
---@field name string            "sqlite" or "postgres"
---@field url string             pawl's store, empty at first
---@field version string
---@field settings table<string, string>  what makes a commit durable
---@field raw_place string       WHERE of the raw program
---@field raw_program string
---@field ask fun(self, sql: string): string  rows a line, fields by "|"
---@field bytes fun(self): integer   written to the log so far
---@field bytes_name string     how counts of bytes begin: "bytes_per_"
---@field updates fun(self): integer?, integer?  of pawl.instance: all, HOT
---@field another fun(self, name: string): bench.Store  empty, of this kind;
---                              goes with this one
---@field settle fun(self)       after much was put in
local Store = {}
Store.__index = Store

--- Runs the raw program: "setup", or a measure and how many of it; what it
--- prints, by name.
---@param what "setup"|"step"|"start"|"bulk"|"three"|"pair"
---@param n? integer
---@return table<string, number>
function Store:raw(what, n)
  local out = {}
  local text = output_of(line(self.raw_program, self.raw_place, what, n))
  for name, value in text:gmatch "(%S+) (%S+)" do
    out[name] = tonumber(value)
  end
  return out
end

--- Steps or starts a second of the raw program.
function Store:raw_rate(what, n) return n / self:raw(what, n).seconds end

---- SQLite ------------------------------------------------------------------

local SQLite = setmetatable({ name = "sqlite" }, Store)
SQLite.__index = SQLite

local function remove(path)
  for _, ending in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
    os.remove(path .. ending)
  end
end

function SQLite:__close() remove(self.path) end

function SQLite:ask(sql)
  return output_of(line("sqlite3", "-batch", "-bail", "-cmd",
    ".timeout 10000", self.path, sql))
end

--- WAL and database file together, as this process gave them to write().
function SQLite.bytes()
  local file <close> = assert(io.open("/proc/self/io"))
  return math.tointeger(tonumber(file:read("a"):match("wchar: (%d+)")))
end

--- Bytes that this process has given to write() so far.
function stores.written() return SQLite.bytes() end

SQLite.bytes_name = "bytes_per_"

function SQLite.updates() end

function SQLite:settle()
  self:ask "analyze; pragma wal_checkpoint(truncate);"
end

function SQLite:raw(what, n)
  if what == "setup" then remove(self.raw_place) end
  return Store.raw(self, what, n)
end

function SQLite:another(name)
  return stores.sqlite(self.build, self.dir, name)
end

---@param build string  folder of the release build
---@param dir string    a folder for the files
---@param name? string
function stores.sqlite(build, dir, name)
  local path = ("%s/%s.db"):format(dir, name or "pawl")
  return setmetatable({
    build = build, dir = dir, path = path, url = "sqlite:" .. path,
    version = output_of("sqlite3 --version"):match "%S+",
    settings = { journal_mode = "wal", synchronous = "full" },
    raw_place = dir .. "/raw.db",
    raw_program = build .. "/pawl_bench_raw_sqlite",
  }, SQLite)
end

---- PostgreSQL --------------------------------------------------------------

local Postgres = setmetatable({ name = "postgres" }, Store)
Postgres.__index = Postgres

local function ask(conninfo, sql)
  return (output_of(line("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d",
    conninfo, "-c", sql)):gsub("\n$", ""))
end

Postgres.bytes_name = "wal_bytes_per_"

function Postgres:ask(sql) return ask(self.raw_place, sql) end

--- Bytes of WAL.
function Postgres:bytes()
  return math.tointeger(tonumber(self:ask
    "select pg_current_wal_insert_lsn() - '0/0'"))
end

function Postgres:updates()
  local all, hot = self:ask([[
    select coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_hot_upd), 0)
      from pg_stat_user_tables
     where schemaname = 'pawl' and relname = 'instance']]):match "(%d+)|(%d+)"
  return math.tointeger(tonumber(all)), math.tointeger(tonumber(hot))
end

function Postgres:settle()
  self:ask "vacuum analyze"
  self:ask "checkpoint"
end

--- Databases go all together, at the end: PostgreSQL makes a checkpoint when
--- it drops one, and what is written next is whole pages.
function Postgres:__close()
  if self.parent then return end
  for _, database in ipairs(self.databases) do
    ask(self.server, ("drop database %s with (force)"):format(database))
  end
end

function Postgres:another()
  local store = stores.postgres(self.build, self.server)
  store.parent = self.parent or self
  table.insert(store.parent.databases, store.databases[1])
  return store
end

local SETTINGS = { "fsync", "synchronous_commit", "full_page_writes",
  "wal_sync_method", "shared_buffers", "max_wal_size", "checkpoint_timeout" }

--- A database of its own on the server at `conninfo` ("host=... user=...",
--- of somebody who may make databases and ask for a checkpoint).
---@param build string
---@param conninfo string
function stores.postgres(build, conninfo)
  if conninfo:find "://" then
    error("PAWL_BENCH_PG: write it as host=... user=..., not as a URL", 0)
  end
  local database = ("pawl_bench_%d_%06x"):format(os.time(),
    math.random(0xffffff))
  ask(conninfo, "create database " .. database)
  local place = conninfo .. " dbname=" .. database -- the last one counts
  local settings = {}
  for _, name in ipairs(SETTINGS) do
    settings[name] = ask(place, "show " .. name)
  end
  return setmetatable({
    build = build, server = conninfo, databases = { database },
    url = "postgres:" .. place, settings = settings,
    version = ask(place, "show server_version"):match "%S+",
    raw_place = place,
    raw_program = build .. "/pawl_bench_raw_postgres",
  }, Postgres)
end

return stores
