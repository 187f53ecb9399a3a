--- PostgreSQL behind PgBouncer in transaction mode: any statement may meet
--- another session.
local Cluster = require "spec.support.cluster"
local pawl = require "pawl"
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
default_pool_size = %d
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

  --- Starts the pooler, with so many sessions (3); a site on a new database,
  --- and its url through the pooler.
  local function pooled(flow, sessions)
    local site = Site.new(cluster.backend, flow)
    local port = cluster.port + 1 -- of a socket in a folder of our own
    local config = site.folder.dir .. "/pgbouncer.ini"
    site.folder:write("pgbouncer.ini", CONFIG:format(cluster.dir,
      cluster.port, cluster.dir, port, sessions or 3))
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

  it("takes a session that died for a lost connection", function()
    local site, url = pooled(Site.flow {
      { "a" },
      { "b", [[
    local row = ctx.db:query("select pg_backend_pid() as pid")[1]
    if not exists "killed" then
      append("killed", "")
      os.execute("kill -9 " .. row.pid)
    end
    ctx.db:query "select 1"
]], "transactional = true, retry = false," },
      { "c" },
    })
    local ids = site:start(3)
    local worker = site:worker { "--pooler", url = url }
    assert.truthy(process.poll(60, function() -- the server has crashed by that
      local ok, has_ended = pcall(site.wait_ended, site, #ids, 0)
      return ok and has_ended
    end, 0.2), worker:output())
    site:assert_complete(ids)
  end)

  -- Parents with many children beside chains of plain steps: batches are sent
  -- ahead all the time.
  local KID = [[
local pawl = require "pawl"
local kid = pawl.workflow { code = "t.kid", start = "a" }
kid:step("a", { run = function(ctx) ctx.vars.n = ctx.input end, next = "z" })
kid:finish("z", { output = function(ctx) return ctx.vars.n * 2 end })
return kid
]]
  local KIDS = [[
local pawl = require "pawl"
local kids = pawl.workflow { code = "t.kids", start = "all" }
kids:each("all", { items = function(ctx)
  local items = pawl.array {}
  for i = 1, ctx.input do items[i] = i end
  return items
end, workflow = "t.kid", into = "got", next = "z" })
kids:finish("z", { output = function(ctx) return ctx.vars.got end })
return kids
]]
  local NKIDS, GOT = 20, {}
  for i = 1, NKIDS do GOT[i] = 2 * i end

  --- Parents and chains, and four workers for two sessions; what they said.
  local function crowd(more)
    local site, url = pooled(Site.steps 'ctx.emit("e", {})', 2)
    site.folder:write("kid.lua", KID)
    site.folder:write("kids.lua", KIDS)
    local parents = {}
    do
      local engine <close> = assert(pawl.open(site.url))
      for _, file in ipairs { "kid.lua", "kids.lua" } do
        assert(engine:load(site.folder.dir .. "/" .. file))
      end
      for i = 1, 100 do parents[i] = assert(engine:start("t.kids", NKIDS)) end
    end
    local ids = site:start(300)
    local workers, said = {}, ""
    for i = 1, 4 do
      workers[i] = site:worker(more { "kid.lua", "kids.lua", "--quiet",
        url = url })
    end
    local all = #ids + #parents * (NKIDS + 1)
    local ended = site:wait_ended(all, 120)
    for _, worker in ipairs(workers) do
      worker:kill "TERM"
      worker:wait(10)
      said = said .. worker:output() .. worker:errors()
    end
    assert.truthy(ended, said)
    return site, ids, parents, said
  end

  local function assert_whole(site, ids, parents, said)
    for _, trouble in ipairs { "Z error: ", "trying again", "lease lost" } do
      assert.not_matches(trouble, said, 1, true)
    end
    assert.equal(0, site:number [[select count(*) from (select from pawl.history
      where type = 'step' group by instance, token, visit
      having count(*) > 1) as twice]])
    assert.equal(5 * #ids, site:number "select count(*) from pawl.outbox")
    site:assert_steps(ids)
    assert.equal(0, site:number "select count(*) from pawl.agenda")
    local engine <close> = assert(pawl.open(site.url))
    for _, id in ipairs(parents) do
      assert.same(GOT, assert(engine:get(id)).output)
    end
  end

  it("keeps units whole, with fewer sessions than workers", function()
    local site, ids, parents, said = crowd(function(words)
      words.env = { PAWL_POOLER = "1" }
      return words
    end)
    assert.not_matches("Z warn: ", said, 1, true)
    assert_whole(site, ids, parents, said)
  end)

  it("is found out when nobody has told of it", function()
    local site, ids, parents, said = crowd(function(words) return words end)
    assert.matches("Z warn: a pooler stands before the store", said, 1, true)
    assert.matches("PAWL_POOLER=1", said, 1, true)
    assert_whole(site, ids, parents, said)
  end)
end)
