--- PostgreSQL goes away: restarted, cut off in the middle of a commit, its
--- sessions terminated, not writable for a while.
local Cluster = require "spec.support.cluster"
local process = require "spec.support.process"
local shell = require "spec.support.shell"
local Site = require "spec.support.site"
local tmp = require "spec.support.tmp"

describe("a PostgreSQL that is lost", function()
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

  local function ran(site, n)
    assert.truthy(process.poll(30, function() return #site:runs() >= n end),
      #site:runs())
  end

  local function finish(site, n, ...)
    local errors = ""
    for _, worker in ipairs { ... } do
      errors = errors .. worker:output() .. worker:errors()
    end
    assert.truthy(site:wait_ended(n, 30), errors)
    for _, worker in ipairs { ... } do
      worker:kill "TERM"
      assert.equal(0, worker:wait(10), worker:errors())
      -- what is out of reach is waited for, in other words
      assert.not_matches("Z error: ", worker:output(), 1, true)
    end
  end

  it("by a restart is found again, and nothing is lost", function()
    local site = Site.new(cluster.backend, Site.steps "system.sleep(0.01)")
    local ids = site:start(40)
    local worker = site:worker { "--lease", "2" }
    ran(site, 40)
    cluster:restart()
    ran(site, 120)
    cluster:restart()
    finish(site, #ids, worker)
    site:assert_complete(ids)
    assert.equal(0, worker:code())
    assert.equal(200, #site:runs())
  end)

  for _, point in ipairs { "commit.before_send", "commit.sent" } do
    it("at " .. point .. " leaves no step undone or doubled", function()
      local site = Site.new(cluster.backend,
        Site.flow { { "a" }, { "b" }, { "c" } })
      local all = {}
      -- from a worker's last preparations past its last commit
      for passage = 10, 20 do
        local ids = site:start(3)
        table.move(ids, 1, 3, #all + 1, all)
        local worker = site:worker { "--lease", "1",
          fault = ("%s=drop@%d"):format(point, passage) }
        finish(site, #all, worker)
        -- its handlers have not run again, whether the commit had happened
        assert.equal(#all * 3, #site:runs(), passage)
      end
      site:assert_complete(all)
      -- only a claim whose answer was lost is left until its lease ends
      assert.truthy(site:number "select count(*) from pawl.history \
        where type = 'recovered'" <= 3)
    end)
  end

  it("while a worker has nothing to do is found again", function()
    local site = Site.new(cluster.backend, Site.steps "")
    local worker = site:worker {}
    local function sessions(what)
      return cluster:sql(([[select %s from pg_stat_activity
        where application_name = 'pawl']]):format(what))
    end
    assert.truthy(process.poll(20, function()
      local state = sessions("state, wait_event")[1]
      return state and state.wait_event == "ClientRead"
    end))
    for _ = 1, 3 do
      sessions "pg_terminate_backend(pid)"
      assert.truthy(process.poll(20, function()
        return #sessions "pid" > 0
      end))
    end
    sessions "pg_terminate_backend(pid)"
    local ids = site:start(2)
    finish(site, #ids, worker)
    site:assert_complete(ids)
  end)

  it("for a while is found again soon, not by all at once", function()
    local site = Site.new(cluster.backend, Site.steps "")
    local door = site.folder.dir .. "/door" -- the way to the server
    assert(os.execute(shell.line { "ln", "-s", cluster.dir, door }))
    local url = site.url:gsub("host=%S+", "host=" .. door)
    local workers = {}
    for i = 1, 3 do workers[i] = site:worker { "--quiet", url = url } end
    for _, worker in ipairs(workers) do -- each is at work
      assert.truthy(process.poll(20, function()
        return #cluster:sql [[select pid from pg_stat_activity
          where application_name = 'pawl' and wait_event = 'ClientRead']] >= 3
      end), worker:errors())
    end
    assert(os.remove(door))
    cluster:sql [[select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'pawl']]
    local told = 0
    for _, worker in ipairs(workers) do -- the sixth pause was 12.8 s once
      worker:wait_for(("trying again.*"):rep(6), 60)
      for seconds in worker:output():gmatch "trying again in (%S+) s" do
        assert.is_true(tonumber(seconds) <= 2, seconds)
        told = told + 1
      end
    end
    assert.is_true(told >= 18, told)
    local ids = site:start(3)
    assert(os.execute(shell.line { "ln", "-s", cluster.dir, door }))
    assert.truthy(site:wait_ended(#ids, 8))
    finish(site, #ids, table.unpack(workers))
    site:assert_complete(ids)
  end)

  it("is waited for by a relay that begins", function()
    local site = Site.new(cluster.backend, Site.steps "ctx.emit('told')")
    local ids = site:start(2)
    finish(site, #ids, site:worker())
    local door = site.folder.dir .. "/door"
    local url = site.url:gsub("host=%S+", "host=" .. door)
    local relay = site.folder:start("relay", "--exec",
      "cat >> got; echo >> got", "--store", url)
    assert.truthy(process.poll(20, function()
      return relay:errors():match "unreachable: .*trying again.*trying again"
    end), relay:errors())
    assert(os.execute(shell.line { "ln", "-s", cluster.dir, door }))
    assert.truthy(process.poll(20, function()
      local got = tmp.read(site.folder.dir .. "/got") or ""
      return select(2, got:gsub('"told"', "")) >= 10
    end), relay:errors())
    relay:kill "TERM"
    assert.equal(0, relay:wait(20))
    -- one that is to end soon says so
    assert(os.remove(door))
    local once = site.folder:pawl("relay", "--exec", "cat", "--once",
      "--store", url)
    assert.equal(5, once.code)
    assert.matches("^pawl: unreachable: ", once.err)
  end)

  it("session by session is found again", function()
    local site = Site.new(cluster.backend, Site.steps "system.sleep(0.005)")
    local ids = site:start(100)
    local one = site:worker { "--lease", "2" }
    local two = site:worker { "--lease", "2" }
    --- One of their sessions; there may be none while they connect again.
    local function terminate()
      return #cluster:sql [[
        select pg_terminate_backend(pid) from (
          select pid from pg_stat_activity where application_name = 'pawl'
           order by random() limit 1) as one]] > 0
    end
    for i = 1, 15 do
      ran(site, i * 20)
      assert.truthy(process.poll(30, terminate))
    end
    finish(site, #ids, one, two)
    site:assert_complete(ids)
    -- a result is dropped only with the lease, which a slow machine may lose
    local _, dropped = (one:output() .. two:output()):gsub("lease lost", "")
    assert.equal(500 + dropped, #site:runs())
  end)

  it("to writers is told, and waited for", function()
    local site = Site.new(cluster.backend,
      Site.steps 'if not exists "g.open" then gate "g" end')
    local ids = site:start(3)
    local worker = site:worker()
    local function set(value)
      cluster:sql("alter system set default_transaction_read_only = " .. value)
      cluster:sql "select pg_reload_conf()"
    end
    site:wait_gate "g"
    set "on"
    finally(function() set "off" end)
    local ran_start = site.folder:pawl("start", "t.crash", "--store", site.url)
    assert.matches("^pawl: readonly: ", ran_start.err)
    assert.matches("hint: connect to the primary", ran_start.err)
    site:open "g"
    assert.truthy(worker:wait_for("Z readonly: .* trying again", 10),
      worker:output())
    assert.equal(0, site:recorded())
    set "off"
    finish(site, #ids, worker)
    site:assert_complete(ids)
    assert.equal(15, #site:runs())
  end)
end)
