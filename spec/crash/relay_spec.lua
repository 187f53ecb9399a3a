--- kill -9 of `pawl relay` at each of its steps: nothing is lost, an instance's
--- events come in order, and what comes again is what came before.
local pawl = require "pawl"
local process = require "spec.support.process"
local Site = require "spec.support.site"
local tmp = require "spec.support.tmp"

local INSTANCES <const>, EVENTS <const> = 4, 4

Site.each("a relay that is killed", function(new)
  local POINTS <const> = { "engine.relay.claimed", "engine.relay.publish",
    "engine.relay.published", "engine.relay.store", "engine.relay.stored" }

  local function relay(site, fault)
    return site.folder:start("relay", "--exec", "cat >> got", "--once",
      "--lease", "1s", "--batch", "3", "--store", site.url,
      { env = { PAWL_FAULT = fault or "" } }):wait(60)
  end

  local function left(site)
    return site:number("select count(*) from pawl.outbox "
      .. "where published_at is null")
  end

  --- By instance, the events in the order in which each came first.
  local function received(site)
    local came, known = {}, {}
    for line in (tmp.read(site.folder.dir .. "/got") or ""):gmatch "[^\n]+" do
      local event = assert(pawl.json.decode(line))
      local list = came[event.subject] or {}
      came[event.subject] = list
      assert.equal(known[event.id] or line, line)
      if not known[event.id] then list[#list + 1] = event.data.i end
      known[event.id] = line
    end
    return came
  end

  for _, point in ipairs(POINTS) do
    it("loses nothing, and keeps the order: " .. point, function()
      local site = new(Site.flow { { "a",
        ('for i = 1, %d do ctx.emit("e", { i = i }) end'):format(EVENTS) } })
      local ids = site:start(INSTANCES)
      site:drain()
      local deaths, passage = 0, 1
      while deaths < 3 and left(site) > 0 do
        local code = relay(site, ("%s=kill@%d"):format(point, passage))
        if code == 137 then
          deaths, passage = deaths + 1, math.random(1, 4)
        end
        process.poll(1.1, function() end, 0.1) -- its leases end
      end
      assert.is_true(deaths > 0)
      assert.truthy(process.poll(60, function()
        assert.equal(0, relay(site))
        return left(site) == 0
      end, 0.3))
      local came = received(site)
      for _, id in ipairs(ids) do
        local want = {}
        for i = 1, EVENTS do want[i] = i end
        assert.same(want, came[id])
      end
    end)
  end
end)
