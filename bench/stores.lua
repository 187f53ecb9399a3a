--- The two stores under measurement, and the raw program of each.
local stores = {}

---@class bench.Store
---@field name string
---@field url string            pawl's store, empty at first
---@field version string
---@field durability string     what makes a commit durable
---@field raw_place string      WHERE of the raw program
---@field raw_program string
---@field bytes fun(self): integer   written to the log so far
---@field updates fun(self): integer?, integer?  of pawl.instance: all, HOT
local Store = {}
Store.__index = Store

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

--- A command line of the shell.
function stores.line(...)
  local words = {}
  for i, word in ipairs { ... } do words[i] = quote(word) end
  return table.concat(words, " ")
end

--- What a command prints. Raises when it fails.
local function output_of(...)
  local line = stores.line(...)
  local pipe = assert(io.popen(line))
  local text = pipe:read("a")
  if not pipe:close() then error("this command failed: " .. line, 2) end
  return text
end

--- Runs the raw program: "setup", or a measure and how many of it.
---@param what "setup"|"step"|"start"|"bulk"|"pair"
---@param n? integer
---@return { seconds: number, bytes: integer }
function Store:raw(what, n)
  local text = output_of(self.raw_program, self.raw_place, what, n)
  return {
    seconds = tonumber(text:match("seconds (%S+)")),
    bytes = math.tointeger(tonumber(text:match("bytes (%S+)"))),
  }
end

---- SQLite ------------------------------------------------------------------

local SQLite = setmetatable({ name = "sqlite" }, Store)
SQLite.__index = SQLite
SQLite.__close = function() end

--- WAL and database file together, as this process gave them to write().
function SQLite.bytes()
  local file <close> = assert(io.open("/proc/self/io"))
  return math.tointeger(tonumber(file:read("a"):match("wchar: (%d+)")))
end

function SQLite.updates() end

function SQLite:raw(what, n)
  if what == "setup" then
    for _, ending in ipairs { "", "-wal", "-shm" } do
      os.remove(self.raw_place .. ending)
    end
  end
  return Store.raw(self, what, n)
end

---@param build string  folder of the release build
---@param dir string    an empty folder
function stores.sqlite(build, dir)
  return setmetatable({
    url = "sqlite:" .. dir .. "/pawl.db",
    version = "SQLite " .. output_of("sqlite3", "--version"):match("%S+"),
    durability = "WAL, synchronous=FULL",
    raw_place = dir .. "/raw.db",
    raw_program = build .. "/pawl_bench_raw_sqlite",
  }, SQLite)
end

---- PostgreSQL --------------------------------------------------------------

local Postgres = setmetatable({ name = "postgres" }, Store)
Postgres.__index = Postgres

local function ask(conninfo, sql)
  return (output_of("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", " ",
    "-d", conninfo, "-c", sql):gsub("\n$", ""))
end

--- Bytes of WAL.
function Postgres:bytes()
  return math.tointeger(tonumber(ask(self.raw_place,
    "select pg_current_wal_insert_lsn() - '0/0'")))
end

function Postgres:updates()
  local all, hot = ask(self.raw_place, [[
    select coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_hot_upd), 0)
      from pg_stat_user_tables
     where schemaname = 'pawl' and relname = 'instance']]):match("(%S+) (%S+)")
  return math.tointeger(tonumber(all)), math.tointeger(tonumber(hot))
end

function Postgres:__close()
  ask(self.server, "drop database " .. self.database .. " with (force)")
end

--- A database of its own on the server at `conninfo` ("host=... user=...",
--- of somebody who may make databases and ask for a checkpoint).
---@param build string
---@param conninfo string
function stores.postgres(build, conninfo)
  if conninfo:find "://" then
    error("PAWL_BENCH_PG: write it as host=... user=..., not as a URL", 0)
  end
  local database = "pawl_bench_" .. os.time()
  ask(conninfo, "create database " .. database)
  local place = conninfo .. " dbname=" .. database -- the last one counts
  local function setting(name) return ask(place, "show " .. name) end
  return setmetatable({
    server = conninfo, database = database,
    url = "postgres:" .. place,
    version = "PostgreSQL " .. setting("server_version"):match("%S+"),
    durability = ("fsync=%s, synchronous_commit=%s"):format(
      setting "fsync", setting "synchronous_commit"),
    raw_place = place,
    raw_program = build .. "/pawl_bench_raw_postgres",
  }, Postgres)
end

return stores
