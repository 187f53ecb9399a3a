--- PostgreSQL behind PgBouncer in transaction mode: any statement may meet
--- another session.
local Cluster = require "spec.support.cluster"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local Site = require "spec.support.site"

local CONFIG = [[
[databases]
* = host=%s port=%d user=postgres
[pgbouncer]
unix_socket_dir = %s
listen_addr =
listen_port = %d
auth_type = any
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = extra_float_digits
]]

describe("behind a pooler in transaction mode", function()
  if not Cluster.wanted then
    pending "PAWL_TEST_PG is not set"
    return
  end
  if not os.execute "command -v pgbouncer >/dev/null" then
    io.stderr:write "pgbouncer is not installed: POOLERS ARE NOT TESTED\n"
    pending "pgbouncer is not installed"
    return
  end
  local cluster

  lazy_setup(function() cluster = Cluster.start() end)
  lazy_teardown(function() cluster:stop() end)
  after_each(function()
    process.stop_all()
    cluster.backend.cleanup()
  end)

  --- Starts the pooler; a site on a new database, and its url through it.
  local function pooled(flow)
    local site = Site.new(cluster.backend, flow)
    local port = cluster.port + 1 -- of a socket in a folder of our own
    local config = site.folder.dir .. "/pgbouncer.ini"
    site.folder:write("pgbouncer.ini", CONFIG:format(cluster.dir,
      cluster.port, cluster.dir, port))
    local words = { "pgbouncer", "--quiet", config }
    if shell.output { "id", "-u" } == "0\n" then -- which it refuses to run as
      shell.output { "cp", config, cluster.dir }
      shell.output { "chmod", "644", cluster.dir .. "/pgbouncer.ini" }
      words = { "runuser", "-u", "postgres", "--", "pgbouncer", "--quiet",
        cluster.dir .. "/pgbouncer.ini" }
    end
    local pooler = process.start(words, { cwd = "/",
      env = { LD_PRELOAD = "" } }) -- no sanitizer of ours
    local url = site.url:gsub("port=%d+", "port=" .. port)
    assert.truthy(process.poll(10, function()
      return pooler:code() or os.execute(shell.line { "test", "-S",
        ("%s/.s.PGSQL.%d"):format(cluster.dir, port) })
    end))
    assert.is_nil(pooler:code(), pooler:output() .. pooler:errors())
    return site, url
  end

  it("makes a store and runs a workflow", function()
    local site, url = pooled(Site.steps())
    local made = site.folder:pawl("migrate", "--pooler", "--store", url)
    assert.equal(0, made.code, made.err)
    local ran = site.folder:pawl("run", "flow.lua", "--pooler", "--json",
      "--store", url)
    assert.equal(0, ran.code, ran.err)
    local ids = site:start(3)
    local worker = site:worker { "--until-idle", url = url,
      env = { PAWL_POOLER = "1" } }
    assert.equal(0, worker:wait(20), worker:output() .. worker:errors())
    site:assert_steps(ids)
    site:assert_at_rest()
  end)

  it("lets two workers share a store, and one die", function()
    local site, url = pooled(Site.steps "system.sleep(0.002)")
    local ids = site:start(100)
    local first = site:worker { "--pooler", "--batch", "10", url = url,
      fault = "engine.commit.before=kill@4" }
    local second = site:worker { "--pooler", "--batch", "10", url = url }
    assert.equal(137, first:wait(30), first:output() .. first:errors())
    local third = site:worker { "--pooler", url = url }
    assert.truthy(site:wait_ended(#ids, 60),
      second:output() .. third:output())
    for _, worker in ipairs { second, third } do
      worker:kill "TERM"
      assert.equal(0, worker:wait(10), worker:errors())
      for _, trouble in ipairs { "Z warn: ", "Z error: ", "trying again" } do
        assert.not_matches(trouble, worker:output(), 1, true)
      end
    end
    site:assert_complete(ids)
  end)
end)
