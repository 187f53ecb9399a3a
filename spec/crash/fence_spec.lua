--- Several workers on one store: one that is stopped past its lease, and long
--- handlers whose leases a helper thread keeps.
local process = require "spec.support.process"
local Site = require "spec.support.site"

-- The first one to come waits at one gate, the second at another.
local GATED = { "a", [[
    if exists "first.reached" then gate "second" else gate "first" end]] }

local function stop(...)
  for _, worker in ipairs { ... } do
    worker:kill "TERM"
    assert.equal(0, worker:wait(10), worker:errors())
  end
end

Site.each("a worker that is stopped past its lease", function(new)
  --- One is stopped in a handler, and another one comes to the same.
  local function taken_over()
    local site = new(Site.flow { GATED, { "b" } })
    local ids = site:start(1)
    local late = site:worker { "--lease", "2" }
    site:wait_gate "first"
    late:kill "STOP"
    local other = site:worker { "--lease", "2" }
    site:wait_gate "second"
    return site, ids, late, other
  end

  local function is_fenced_off(site, late)
    site:open "first"
    late:kill "CONT"
    assert.truthy(late:wait_for("warn: lease lost", 10),
      late:output() .. late:errors())
  end

  local function is_as_if_never(site, ids, late)
    assert.matches("stopped: 1 steps, 0 instances ended", late:output())
    site:assert_complete(ids)
    assert.equal(3, #site:runs()) -- a twice, b once
    assert.equal(1, site:number "select count(distinct executor) from \
      pawl.history")
  end

  it("is fenced off while another is at its work", function()
    local site, ids, late, other = taken_over()
    is_fenced_off(site, late)
    assert.equal(0, site:recorded())
    site:open "second"
    assert.truthy(site:wait_ended(1, 20), other:output() .. other:errors())
    stop(late, other)
    is_as_if_never(site, ids, late)
  end)

  it("is fenced off when its work is done", function()
    local site, ids, late, other = taken_over()
    site:open "second"
    assert.truthy(site:wait_ended(1, 20), other:output() .. other:errors())
    is_fenced_off(site, late)
    stop(late, other)
    is_as_if_never(site, ids, late)
  end)
end)

Site.each("a handler longer than the lease", function(new)
  local function both(node)
    local site = new(Site.flow { { "a", GATED[2], node }, { "b" } })
    local ids = site:start(1)
    local first = site:worker { "--lease", "2" }
    site:wait_gate "first"
    site:open "second" -- who takes over need not wait
    return site, ids, first, site:worker { "--lease", "2" }
  end

  it("is not taken over while its worker lives", function()
    local site, ids, first, second = both()
    -- the lease's end has moved by more than a lease
    local us = site.backend.name == "sqlite" and "due_at"
      or "(extract(epoch from due_at) * 1000000)::bigint"
    local due = site:number("select max(" .. us .. ") from pawl.agenda")
    assert.truthy(process.poll(20, function()
      return site:number(("select count(*) from pawl.agenda where %s >= %d")
        :format(us, due + 2500000)) == 1
    end, 0.1))
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
    local site, ids, first, second = both "timeout = 1,"
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
    assert.truthy(site:number "select count(distinct executor) from \
      pawl.history" > 1)
  end)
end)
