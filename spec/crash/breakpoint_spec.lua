--- kill -9 of a worker at each of its commits, while tokens come to a
-- breakpoint, stand there, and go on.
local Site = require "spec.support.site"

Site.each("a breakpoint under a worker that is killed", function(new, backend)
  local points = backend.name == "sqlite"
    and { "commit.before", "commit.after" }
    or { "commit.before_send", "commit.sent" }

  local function flow()
    return Site.flow {
      { "a", 'ctx.emit "done.a"' }, { "b", 'ctx.emit "done.b"' },
      { "c", 'ctx.emit "done.c"' } }
  end

  --- A worker dies at its commit of that number; 0: it came to its end.
  local function die(site, point, passage)
    local worker = site:worker { "--until-idle",
      fault = ("%s=kill@%d"):format(point, passage) }
    local code = worker:wait(20)
    assert.truthy(code == 0 or code == 137, worker:output()
      .. worker:errors())
    return code
  end

  local function halted(site)
    return site:number "select count(*) from pawl.instance \
      where node = 'b' and status = 'running'"
  end

  for _, point in ipairs(points) do
    it("halts and goes on once at " .. point, function()
      local site = new(flow())
      local folder, url = site.folder, site.url
      site:start(1)
      site:drain() -- its workflow is known then
      folder:pawl("break", "t.crash", "b", "--store", url, "--for", "1d")
      local deaths, begun = 0, 1
      for passage = 1, 30, 2 do
        site:start(1)
        begun = begun + 1
        local code = die(site, point, passage)
        deaths = deaths + (code == 137 and 1 or 0)
        if code == 0 then break end
      end
      site:drain()
      assert.truthy(deaths >= 2, deaths)
      assert.equal(begun - 1, halted(site))
      assert.equal(begun - 1, site:number "select count(*) from pawl.history \
        where type = 'halted'")
      local let = folder:pawl("continue", "--all", "--yes", "--store", url)
      assert.equal(0, let.code, let.err)
      folder:pawl("break", "--remove", "--all", "--store", url)
      for passage = 1, 10, 2 do
        if die(site, point, passage) == 0 then break end
      end
      site:drain()
      assert.equal(begun, site:number "select count(*) from pawl.instance \
        where status = 'completed'")
      assert.equal(3 * begun, site:number "select count(*) from pawl.outbox")
      site:assert_at_rest()
    end)
  end
end)
