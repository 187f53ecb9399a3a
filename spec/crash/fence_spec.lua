--- Several workers on one store: one that is stopped past its lease, and long
--- handlers whose leases a helper thread keeps.
local process = require "spec.support.process"
local Site = require "spec.support.site"

local GATED = { "a", [[
    append("begun", "")
    if not exists "second" then
      append("second", "")
      gate "first"
    end]] }

Site.each("a worker that is stopped past its lease", function(new)
  it("is fenced off when it goes on", function()
    local site = new(Site.flow { GATED, { "b" } })
    local ids = site:start(1)
    local late = site:worker { "--lease", "1" }
    site:wait_gate "first"
    late:kill "STOP"
    local other = site:worker { "--lease", "1" }
    assert.truthy(site:wait_ended(1, 20), other:output() .. other:errors())
    site:open "first"
    late:kill "CONT"
    assert.truthy(late:wait_for("warn: lease lost", 10),
      late:output() .. late:errors())
    for _, worker in ipairs { late, other } do
      worker:kill "TERM"
      assert.equal(0, worker:wait(10), worker:errors())
    end
    assert.matches("stopped: 1 steps, 0 instances ended", late:output())
    site:assert_complete(ids)
    assert.equal(3, #site:runs()) -- a twice, b once
    assert.equal(1, site:number "select count(distinct executor) from \
      pawl.history")
  end)
end)

Site.each("a handler longer than the lease", function(new)
  local function both(node)
    local site = new(Site.flow { { "a", GATED[2], node }, { "b" } })
    local ids = site:start(1)
    local first = site:worker { "--lease", "1" }
    site:wait_gate "first"
    return site, ids, first, site:worker { "--lease", "1" }
  end

  local function stop(...)
    for _, worker in ipairs { ... } do
      worker:kill "TERM"
      assert.equal(0, worker:wait(10), worker:errors())
    end
  end

  it("is not taken over while its worker lives", function()
    local site, ids, first, second = both()
    -- two leases, by the store's clock: the beats have moved the lease's end
    local due = site:number(site.backend.name == "sqlite"
      and "select due_at from pawl.agenda"
      or "select (extract(epoch from due_at) * 1000000)::bigint \
          from pawl.agenda")
    assert.truthy(process.poll(20, function()
      return site:number((site.backend.name == "sqlite"
        and "select due_at >= %d from pawl.agenda"
        or "select (extract(epoch from due_at) * 1000000 >= %d)::integer \
            from pawl.agenda"):format(due + 2000000)) == 1
    end))
    assert.equal(1, #site:runs())
    site:open "first"
    assert.truthy(site:wait_ended(1, 20), first:output() .. first:errors())
    stop(first, second)
    site:assert_complete(ids)
    assert.equal(2, #site:runs())
    assert.equal(0, site:number "select count(*) from pawl.history \
      where type = 'recovered'")
  end)

  it("is taken over past its node's timeout", function()
    local site, ids, first, second = both "timeout = 2,"
    assert.truthy(site:wait_ended(1, 20), second:output() .. second:errors())
    site:open "first"
    assert.truthy(first:wait_for("warn: lease lost", 10),
      first:output() .. first:errors())
    stop(first, second)
    site:assert_complete(ids)
    assert.equal(3, #site:runs())
    assert.equal(1, site:number "select count(*) from pawl.history \
      where type = 'recovered'")
  end)
end)

Site.each("four workers", function(new)
  it("run each step once between them", function()
    local site = new(Site.steps "system.sleep(0.001)")
    local ids = site:start(200)
    local workers = {}
    for i = 1, 4 do workers[i] = site:worker { "--batch", "8" } end
    assert.truthy(site:wait_ended(#ids, 60))
    for _, worker in ipairs(workers) do
      worker:kill "TERM"
      assert.equal(0, worker:wait(10), worker:errors())
      assert.not_matches("error:", worker:output(), 1, true)
    end
    site:assert_complete(ids)
    assert.equal(1000, #site:runs())
    assert.equal(4, site:number "select count(distinct executor) from \
      pawl.history")
  end)
end)
