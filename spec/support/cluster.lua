--- A PostgreSQL server of a spec's own, to be crashed and misused; see
--- postgres.sh. Commits survive a crash of the server, not of the machine.
local backends = require "spec.support.backends"
local shell = require "spec.support.shell"

---@class spec.Cluster
---@field dir string       holds its socket, and room for more
---@field conninfo string  of a superuser
---@field port integer
---@field backend spec.Backend
local Cluster = {}
Cluster.__index = Cluster

--- Is a PostgreSQL to be tested at all?
Cluster.wanted = os.getenv("PAWL_TEST_PG") ~= nil

local function bash(script, ...)
  return shell.output { "bash", "-c",
    "set -e; . spec/support/postgres.sh; " .. script, "bash", ... }
end

---@param ... string  settings, "max_connections=20"
---@return spec.Cluster
function Cluster.start(...)
  local told = bash('postgres_start "$@"; echo "$postgres_dir/$PAWL_TEST_PG"',
    "fsync=off", ...)
  local dir, conninfo = told:match "(/[%w/.%-]+)/(host=[^\n]+)"
  return setmetatable({ dir = dir, conninfo = conninfo,
    port = math.tointeger(tonumber(conninfo:match "port=(%d+)")),
    backend = backends.postgres(conninfo) }, Cluster)
end

--- What a crash and a start by the system look like to its clients.
function Cluster:restart()
  bash("postgres_dir=$1; postgres_restart", self.dir)
end

--- From now on it may only be read, until it is promoted.
function Cluster:follow()
  bash("postgres_dir=$1; postgres_follow", self.dir)
end

---@param text string  SQL for the database postgres
---@return table[] rows
function Cluster:sql(text)
  return self.backend.sql("dbname=postgres", text)
end

function Cluster:stop()
  if self.dir then bash("postgres_dir=$1; postgres_stop", self.dir) end
  self.dir = nil
end

Cluster.__gc = Cluster.stop

return Cluster
