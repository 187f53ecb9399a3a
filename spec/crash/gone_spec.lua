--- A store that is taken away under a running worker: its file moved, deleted,
--- replaced; its database or schema dropped, its role locked out. What is gone
--- is waited for, and what comes to its place is worked on.
local backends = require "spec.support.backends"
local Cluster = require "spec.support.cluster"
local pawl = require "pawl"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local Site = require "spec.support.site"
local tmp = require "spec.support.tmp"

local function said(worker, pattern)
  assert.truthy(worker:wait_for(pattern, 20),
    pattern .. "\n" .. worker:output() .. worker:errors())
end

--- The store at `url` is made, and one instance started in it is run by a
--- worker that was there before. Twice as soon as it is: it knows the flow.
local function goes_on(site, worker)
  assert(pawl.open(site.url)):close()
  local engine <close> = assert(pawl.open(site.url))
  local id
  assert.truthy(process.poll(20, function()
    return engine.workflows:graph("t.crash", 1) ~= nil -- the worker has told it
  end), worker:output() .. worker:errors())
  id = assert(engine:start "t.crash")
  assert.truthy(site:wait_ended(1, 30), worker:output() .. worker:errors())
  site:assert_complete { id }
  worker:kill "TERM"
  assert.equal(0, worker:wait(10), worker:errors())
end

describe("a SQLite file", function()
  local sqlite = backends[1]
  after_each(function()
    process.stop_all()
    sqlite.cleanup()
  end)

  local function move(site, to, ...)
    for _, suffix in ipairs { "", ... } do
      os.rename(site.url .. suffix, to .. suffix)
    end
  end

  local function delete(site)
    for _, suffix in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
      os.remove(site.url .. suffix)
    end
  end

  it("that is deleted is waited for, and the next one worked on", function()
    local site = Site.new(sqlite, Site.steps())
    site:start(1)
    local worker = site:worker()
    assert.truthy(site:wait_ended(1, 20))
    delete(site)
    said(worker, "Z unreachable: %S+: the file that was open here was moved, "
      .. "deleted or replaced; trying again")
    said(worker, "Z notfound: %S+: there is no store; trying again")
    assert.falsy(tmp.read(site.url), "the worker made a store")
    goes_on(site, worker)
  end)

  it("that is replaced under a handler gets nothing of its step", function()
    local site = Site.new(sqlite, Site.flow { { "a", 'gate "g"' } })
    local old = site.url .. ".old"
    site:start(1)
    local worker = site:worker()
    site:wait_gate "g"
    move(site, old, "-wal", "-shm", "-pawl-lock")
    assert(pawl.open(site.url)):close()
    site:open "g"
    said(worker, "Z warn: the store is opened anew")
    said(worker, "the file that was open here was moved, deleted or replaced")
    goes_on(site, worker)
    local kept = sqlite.sql(old, "select count(*) as n from pawl_history "
      .. "where type = 'step'")
    assert.equal("0", kept[1].n)
    for _, suffix in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
      os.remove(old .. suffix)
    end
  end)

  it("is not opened beside the log of the one before", function()
    local site = Site.new(sqlite, Site.steps())
    local fresh = sqlite.url()
    assert(pawl.open(fresh)):close()
    site:start(1)
    local worker = site:worker()
    assert.truthy(site:wait_ended(1, 20))
    assert(os.rename(fresh, site.url))
    said(worker, "Z not_a_store: %S+: another file is there now, but the log "
      .. "beside it %(%-wal%) is still that of the one before; trying again")
    os.remove(site.url .. "-wal")
    os.remove(site.url .. "-shm")
    goes_on(site, worker)
  end)

  it("that is replaced has its instances run by its own definitions",
    function()
      local function flow(says)
        return tmp.file("flow.lua", ([[
local flow = require "pawl".workflow { code = "t.both", start = "a" }
flow:step("a", { run = function(ctx) ctx.vars.ran = %q end, next = "z" })
flow:finish "z"
return flow]]):format(says))
      end
      local mine, other = sqlite.url(), sqlite.url()
      local engine <close> = assert(pawl.open(mine))
      assert(engine:load(flow "mine"))
      assert(engine:start "t.both")
      assert(engine:run())
      local theirs = assert(pawl.open(other))
      assert(theirs:load(flow "theirs"))
      local id = assert(theirs:start "t.both")
      theirs:close()
      for _, suffix in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
        os.remove(mine .. suffix)
      end
      assert(os.rename(other, mine))
      assert.truthy(process.poll(20, function() return engine:run() end))
      assert.same({ ran = "theirs" }, assert(engine:get(id)).variables)
    end)

  it("that is gone for good ends one that ends when idle", function()
    local site = Site.new(sqlite, Site.flow { { "a", 'gate "g"' } })
    site:start(1)
    local worker = site:worker { "--until-idle" }
    site:wait_gate "g"
    delete(site)
    site:open "g"
    assert.equal(3, worker:wait(30), worker:output())
    assert.matches("pawl: notfound: %S+: there is no store", worker:errors())
  end)

  it("that has other shards ends the worker: it is to open it anew", function()
    local site = Site.new(sqlite, Site.steps())
    site:start(1)
    local worker = site:worker()
    assert.truthy(site:wait_ended(1, 20))
    delete(site)
    assert(pawl.open(site.url, { shards = 4 })):close()
    assert.equal(2, worker:wait(30), worker:output())
    assert.matches("pawl: misuse: the store that is there now has 4 shards, "
      .. "the one before had 1\n hint: open it anew: restart the program",
      worker:errors())
  end)

  it("is asked for by its path when the folder changes", function()
    local site = Site.new(sqlite,
      Site.flow { { "a", 'require("lfs").chdir "/"' } })
    local here = site.folder
    assert.equal(0, here:pawl("start", "t.crash").code)
    local worker = here:start("worker", "flow.lua", "--until-idle")
    assert.equal(0, worker:wait(20), worker:output() .. worker:errors())
    assert.not_matches("moved", worker:output())
  end)
end)

describe("in PostgreSQL,", function()
  if not Cluster.wanted then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local cluster
  lazy_setup(function() cluster = Cluster.start() end)
  lazy_teardown(function() cluster:stop() end)
  after_each(function()
    process.stop_all()
    cluster.backend.cleanup()
  end)

  local function sql(database, text)
    return shell.output { "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d",
      cluster.conninfo .. " dbname=" .. database, "-c", text }
  end

  local function name(site) return site.url:match "dbname=([%w_]+)$" end

  --- Under a supervisor, whose workers must outlast it as well.
  local function at_work(site, ...)
    site:start(1)
    local worker = site.folder:start("worker", "flow.lua", "--processes", "2",
      "--store", site.url, ...)
    assert.truthy(site:wait_ended(1, 20), worker:output() .. worker:errors())
    assert.truthy(process.poll(20, function()
      return select(2, worker:output():gsub("loaded t.crash", "")) == 2
    end))
    return worker
  end

  it("a database that is dropped is waited for", function()
    local site = Site.new(cluster.backend, Site.steps())
    local worker = at_work(site)
    sql("postgres", "drop database " .. name(site) .. " with (force)")
    said(worker, 'Z notfound: PostgreSQL: database "%S+" does not exist; '
      .. "trying again")
    sql("postgres", "create database " .. name(site))
    goes_on(site, worker)
  end)

  it("a schema that is dropped is waited for", function()
    local site = Site.new(cluster.backend, Site.steps())
    local worker = at_work(site)
    sql(name(site), "drop schema pawl cascade")
    said(worker, "Z notfound: there is no store in the database; trying again")
    goes_on(site, worker)
  end)

  it("a role that is locked out is waited for, however it is", function()
    local site = Site.new(cluster.backend, Site.steps())
    local base = site.url
    sql("postgres", "create role gone_worker login superuser")
    site.url = base:gsub("user=%S+", "user=gone_worker")
    assert.not_equal(base, site.url)
    local worker = at_work(site)
    local function locked(lock, unlock, pattern)
      local before = #worker:output()
      sql("postgres", lock)
      sql("postgres", "select pg_terminate_backend(pid) from pg_stat_activity "
        .. "where usename = 'gone_worker'")
      assert.truthy(process.poll(20, function()
        return worker:output():find(pattern, before)
      end), worker:output() .. worker:errors())
      sql("postgres", unlock)
    end
    locked("alter role gone_worker nologin", "alter role gone_worker login",
      'Z auth: PostgreSQL: role "gone_worker" is not permitted to log in; '
      .. "trying again")
    local db = name { url = base }
    locked("alter role gone_worker nosuperuser; revoke connect on database "
      .. db .. " from public", "grant connect on database " .. db
      .. " to public; alter role gone_worker superuser",
      "Z auth: PostgreSQL: permission denied for database")
    site.url = base
    local id = site:start(1)[1]
    assert.truthy(site:wait_ended(2, 30), worker:output() .. worker:errors())
    assert.truthy(id)
    worker:kill "TERM"
    assert.equal(0, worker:wait(10), worker:errors())
  end)

  it("one that is gone for good ends workers that end when idle", function()
    local site = Site.new(cluster.backend, Site.flow { { "a", 'gate "g"' } })
    site:start(1)
    local worker = site.folder:start("worker", "flow.lua", "--processes", "2",
      "--store", site.url, "--until-idle")
    site:wait_gate "g"
    sql(name(site), "drop schema pawl cascade")
    site:open "g"
    assert.equal(3, worker:wait(60), worker:output())
    assert.matches("pawl: notfound: there is no store in the database",
      worker:errors(), 1, true)
  end)

  it("a database that was never there is an error at once", function()
    local site = Site.new(cluster.backend, Site.steps())
    local ran = site.folder:pawl("worker", "flow.lua", "--processes", "2",
      "--store", site.url .. "_no")
    assert.equal(3, ran.code)
    assert.matches("pawl: notfound: ", ran.err)
  end)
end)
