--- The stores that are tortured. Each has
---
---     name      "sqlite", "postgres", "pooler"
---     dialect   "sqlite", "postgres"
---     url       for the driver: safe, of the store of this round
---     ways      how workers and clients reach it, the safe one first:
---               { url =, pooler =, breaks = }
---     renew()   a new store, empty, with the ledger
---     sql(text) rows, tables written as in PostgreSQL: pawl.history
---     keep(dir) copies it to a folder
---     forget()  those made so far
---     start(), stop()
---
--- and, where it can be, terminate(), restart() and restart_pooler(); and
--- calm(), which returns when what was broken is no more felt.
local backends = require "spec.support.backends"
local Cluster = require "spec.support.cluster"
local pawl = require "pawl"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local system = require "system"

local LEDGER = "create table ledger (instance text, node text, mark text)"
local WIRE_BYTES = 60000 -- that pass between two cuts

local stores = {}

---- SQLite --------------------------------------------------------------------

function stores.sqlite()
  local self = { name = "sqlite", dialect = "sqlite" }
  local backend = backends[1]

  function self.start() end

  function self.renew()
    self.url = backend.url()
    self.ways = { { url = self.url } }
    assert(pawl.migrate(self.url))
    self.sql(LEDGER)
  end

  function self.sql(text)
    return backend.sql(self.url, (text:gsub("pawl%.", "pawl_")))
  end

  function self.keep(dir)
    for _, suffix in ipairs { "", "-wal" } do
      os.execute(shell.line { "cp", self.url .. suffix, dir })
    end
  end

  function self.forget() backend.cleanup() end

  function self.stop() end

  return self
end

---- PostgreSQL ----------------------------------------------------------------

local function socket_path(dir, port)
  return ("%s/.s.PGSQL.%d"):format(dir, port)
end

local function wait_for_socket(child, path)
  assert(process.poll(10, function()
    return child:code() or os.execute(shell.line { "test", "-S", path })
  end) == true, child:output() .. child:errors())
end

--- A wire that breaks, from a port of the cluster's folder to another.
local function start_wire(cluster, from, to)
  local path = socket_path(cluster.dir, from)
  local wire = process.start({ "lua5.4", "spec/support/torture/wire.lua", path,
    socket_path(cluster.dir, to), tostring(from), tostring(WIRE_BYTES) },
    { env = { LUA_PATH = "./?.lua;;", LD_PRELOAD = "" } })
  wait_for_socket(wire, path)
  return wire
end

local function count_cuts(wire)
  local n = 0
  for _ in wire:output():gmatch "cut after" do n = n + 1 end
  return n
end

function stores.postgres()
  local self = { name = "postgres", dialect = "postgres" }
  local cluster, wire

  function self.start()
    cluster = Cluster.start("max_connections=200", "log_min_messages=fatal")
    wire = start_wire(cluster, cluster.port + 1, cluster.port)
    self.cluster = cluster
  end

  function self.at_port(offset)
    return (self.url:gsub("port=%d+", "port=" .. cluster.port + offset))
  end

  function self.renew()
    self.url = cluster.backend.url()
    self.ways = { { url = self.url },
      { url = self.at_port(1), breaks = true } }
    assert(pawl.migrate(self.url))
    self.sql(LEDGER)
  end

  function self.sql(text) return cluster.backend.sql(self.url, text) end

  --- Ends the sessions of one of those at work, or of all.
  function self.terminate(of_all)
    self.sql(([[select pg_terminate_backend(pid) from (
      select pid from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid()
       order by random() %s) x]]):format(of_all and "" or "limit 1"))
  end

  function self.restart() cluster:restart() end

  function self.cuts() return count_cuts(wire) end

  function self.keep(dir)
    shell.output { "pg_dump", "--file=" .. dir .. "/store.sql",
      "--dbname=" .. self.url:match "dbname=([%w_]+)$", "--username=postgres",
      "--host=" .. cluster.dir, "--port=" .. cluster.port }
  end

  function self.forget() cluster.backend.cleanup() end

  function self.stop()
    if wire then wire:kill "KILL" end
    if cluster then cluster:stop() end
  end

  return self
end

---- PgBouncer -----------------------------------------------------------------

local CONFIG = [[
[databases]
* = host=%s port=%d user=postgres
[pgbouncer]
unix_socket_dir = %s
unix_socket_mode = 0777
listen_addr =
listen_port = %d
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_login_retry = %d
ignore_startup_parameters = extra_float_digits
]]

--- Seconds for which the pooler refuses clients, once the server was away.
local LOGIN_RETRY = 1

--- The server behind a pooler in transaction mode with three sessions, and a
--- wire that breaks before it.
function stores.pooler()
  local self = stores.postgres()
  local start, renew, stop = self.start, self.renew, self.stop
  local pooler, wire, words
  self.name = "pooler"

  local function start_pooler()
    local path = socket_path(self.cluster.dir, self.cluster.port + 2)
    os.remove(path)
    pooler = process.start(words, { cwd = "/", env = { LD_PRELOAD = "" } })
    wait_for_socket(pooler, path)
  end

  function self.start()
    start()
    local dir, port = self.cluster.dir, self.cluster.port
    local config = dir .. "/pgbouncer.ini"
    local file <close> = assert(io.open(config, "w"))
    file:write(CONFIG:format(dir, port, dir, port + 2, LOGIN_RETRY))
    file:close()
    words = { "pgbouncer", "--quiet", config }
    if shell.output { "id", "-u" } == "0\n" then -- which it refuses to run as
      shell.output { "chmod", "644", config }
      words = { "runuser", "-u", "postgres", "--", table.unpack(words) }
    end
    start_pooler()
    wire = start_wire(self.cluster, port + 3, port + 2)
  end

  function self.renew()
    renew()
    self.ways = { { url = self.at_port(2), pooler = true },
      { url = self.at_port(3), pooler = true, breaks = true } }
  end

  function self.restart_pooler()
    pooler:kill_group "KILL"
    pooler:wait(5)
    start_pooler()
  end

  function self.calm() system.sleep(1.5 * LOGIN_RETRY) end

  function self.cuts() return count_cuts(wire) end

  function self.stop()
    if wire then wire:kill "KILL" end
    if pooler then pooler:kill_group "KILL" end
    stop()
  end

  return self
end

return stores
