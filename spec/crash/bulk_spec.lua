--- kill -9 of a bulk at many points, while a worker runs beside it: asked again
--- with the same request, each instance has been changed once, and no other
--- way than it would have been.
local pawl = require "pawl"
local Site = require "spec.support.site"
local system = require "system"
local kit = require "spec.engine.kit"

local INSTANCES <const> = 110 -- three that are asked together

-- Letters are passed one by one, claims and commits with others.
local PASSAGES <const> = { ["engine.act.send"] = { 1, 27, 60, 110 } }

Site.each("a bulk that is killed", function(new)
  local function bulk(site, verb, request, fault)
    return site.folder:start(verb, "-w", "t.timer", "--status",
      "waiting,suspended", "--yes", "--json", "--request", request, "--by",
      "ann", "--store", site.url, { env = { PAWL_FAULT = fault or "" } })
  end

  --- How often an instance says that it was changed by that request.
  local function answers(engine, id, request, kind)
    local n = 0
    for _, row in ipairs(assert(engine:history(id))) do
      if row.request == request then
        assert.equal(kind, row.type)
        n = n + 1
      end
    end
    return n
  end

  --- One that is killed, if it comes so far, and one that goes on.
  local function twice(site, verb, fault)
    local request = kit.draw_id()
    local first = bulk(site, verb, request, fault)
    local code = first:wait(30)
    assert.truthy(code == 137 or code == 0, first:output() .. first:errors())
    local second = bulk(site, verb, request)
    assert.equal(0, second:wait(30), second:output() .. second:errors())
    assert.equal(INSTANCES, pawl.json.decode(second:output()).matched)
    return code == 137, request
  end

  for _, point in ipairs { "engine.act.send", "engine.claim.after",
    "engine.commit.before", "engine.commit.after" } do
    it("goes on from " .. point .. " with the same request", function()
      local site = new(Site.steps())
      local engine <close> = assert(pawl.open(site.url))
      assert(engine:load(kit.timer "100h"))
      local ids, deaths = {}, 0
      for i = 1, INSTANCES do ids[i] = assert(engine:start "t.timer") end
      assert(engine:run())
      for round, passage in ipairs(PASSAGES[point] or { 1, 2, 3, 3 }) do
        local suspends = round % 2 == 1
        local died, request = twice(site, suspends and "suspend" or "resume",
          ("%s=kill@%d"):format(point, passage))
        deaths = deaths + (died and 1 or 0)
        assert(engine:run()) -- what the dead one held
        for _, id in ipairs(ids) do
          assert.equal(1, answers(engine, id, request,
            suspends and "suspended" or "resumed"))
        end
        assert.equal(INSTANCES, (engine:tally {
          status = suspends and "suspended" or "waiting" }))
      end
      assert.equal(4, deaths)
    end)
  end

  it("goes on with the same request, whenever it is killed", function()
    local site = new(Site.steps())
    local engine <close> = assert(pawl.open(site.url))
    assert(engine:load(kit.timer "100h"))
    local ids = {}
    for i = 1, INSTANCES do ids[i] = assert(engine:start "t.timer") end
    assert(engine:run())
    for round = 1, 8 do
      local verb = round % 2 == 1 and "suspend" or "resume"
      local request = kit.draw_id()
      for _ = 1, 2 do
        local child = bulk(site, verb, request)
        system.sleep(math.random() * 0.15)
        child:kill "KILL"
        child:wait(30)
      end
      local last = bulk(site, verb, request)
      assert.equal(0, last:wait(30), last:output() .. last:errors())
      assert(engine:run()) -- what the dead ones held
      for _, id in ipairs(ids) do
        assert.equal(1, answers(engine, id, request,
          verb == "suspend" and "suspended" or "resumed"))
      end
    end
  end)
end)
