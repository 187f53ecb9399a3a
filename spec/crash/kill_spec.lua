--- kill -9 of a worker at the worst moments, and a handler that takes its own
--- process down.
local Site = require "spec.support.site"

Site.each("a worker that is killed", function(new)
  --- Runs 20 instances under the fault, then what is left without it.
  --- Returns how many handlers had run, and how many steps were stored, when
  --- the worker died.
  local function killed(fault)
    local site = new(Site.steps())
    local ids = site:start(20)
    local worker = site:worker { fault = fault }
    assert.equal(137, worker:wait(20), worker:output() .. worker:errors())
    local runs, recorded = #site:runs(), site:recorded()
    site:drain()
    site:assert_complete(ids)
    return runs, recorded, site
  end

  it("runs again what had run and was not stored", function()
    local runs, recorded, site = killed "engine.commit.before=kill@3"
    assert.truthy(runs > recorded and recorded > 0)
    assert.equal(100 + runs - recorded, #site:runs())
  end)

  it("does not run again what was stored", function()
    local runs, recorded, site = killed "engine.commit.after=kill@3"
    assert.equal(recorded, runs)
    assert.equal(100, #site:runs())
  end)

  it("leaves its leases to the next one, at once", function()
    local runs, recorded, site = killed "engine.claim.after=kill"
    assert.equal(0, runs)
    assert.equal(0, recorded)
    assert.equal(100, #site:runs())
    assert.equal(20, site:number "select count(*) from pawl.history \
      where type = 'recovered'")
  end)
end)

Site.each("a worker killed at each of its commits", function(new, backend)
  local points = backend.name == "sqlite"
    and { "commit.before", "commit.after" }
    or { "commit.before_send", "commit.sent" }

  for _, point in ipairs(points) do
    it("loses nothing at " .. point, function()
      local site = new(Site.flow { { "a" }, { "b" }, { "c" } })
      local all, deaths = {}, 0
      for passage = 1, 60 do
        for _, id in ipairs(site:start(3)) do all[#all + 1] = id end
        local worker = site:worker { "--until-idle",
          fault = ("%s=kill@%d"):format(point, passage) }
        local code = worker:wait(20)
        if code ~= 0 then
          assert.equal(137, code, worker:output() .. worker:errors())
          deaths = deaths + 1
          site:drain()
        end
        if code == 0 then break end
      end
      site:assert_complete(all)
      assert.truthy(deaths > 5 and deaths < 60, deaths)
    end)
  end
end)

Site.each("an instance that kills its worker", function(new)
  it("is suspended; those of its batch complete", function()
    local site = new(Site.flow {
      { "a" },
      { "b", 'if ctx.input.poison then os.execute "kill -9 $PPID" end' },
      { "c" },
    })
    local ids = site:start(10, function(i) return { poison = i == 5 } end)
    local poison, deaths = table.remove(ids, 5), 0
    local worker
    repeat
      worker = site:worker { "--until-idle", "--recoveries", "3" }
      deaths = deaths + 1
    until worker:wait(20) ~= 137 or deaths == 20
    assert.equal(0, worker:code(), worker:output() .. worker:errors())
    assert.equal(5, deaths) -- once with the others, 3 alone; the last lives
    site:assert_steps(ids)
    site:assert_at_rest()
    local shown = site.folder:json("show", poison, "--store", site.url)
    assert.equal("suspended", shown.status)
    assert.equal("poisoned", shown.error.code)
    assert.matches('its worker died 4 times in a row at node "b"',
      shown.error.message)
    local runs = { a = 0, b = 0, c = 0 }
    for _, line in ipairs(site:runs()) do
      local id, node = line:match "(%S+) (%S+)"
      if id == poison then runs[node] = runs[node] + 1 end
    end
    assert.same({ a = 1, b = 4, c = 0 }, runs)
    -- the others have run twice at most: with the poisoned one, then alone
    assert.truthy(#site:runs() <= 5 + 9 * 3 + 9)
  end)

  it("after it has waited is suspended; those that wait beside it complete",
    function()
      local site = new(Site.flow { { "a", [[
        if ctx.input.poison then
          ctx.await(0.4)
          os.execute "kill -9 $PPID"
        else
          ctx.await(2)
        end]] } })
      local poison = site:start(1, function() return { poison = true } end)[1]
      local ids = site:start(6, function() return { poison = false } end)
      local worker
      local deaths = 0
      repeat
        worker = site:worker { "--until-idle", "--recoveries", "3" }
        deaths = deaths + 1
      until worker:wait(30) ~= 137 or deaths == 12
      assert.equal(0, worker:code(), worker:output() .. worker:errors())
      assert.equal(5, deaths)
      site:assert_steps(ids) -- none of them is held for the cause
      assert.equal(#ids, site:number "select count(*) from pawl.instance \
        where status = 'completed'")
      site:assert_at_rest()
      local shown = site.folder:json("show", poison, "--store", site.url)
      assert.equal("suspended", shown.status)
      assert.equal("poisoned", shown.error.code)
    end)
end)
