--- A thousand instances under workers of which one is killed every second.
local process = require "spec.support.process"
local Site = require "spec.support.site"
local system = require "system"

local INSTANCES, WORKERS, LIMIT = 1000, 4, 60

Site.each("a thousand instances", function(new, backend)
  it("complete while their workers are killed", function()
    local site = new(Site.steps "system.sleep(0.014)")
    local ids = site:start(INSTANCES)
    local began, kills, workers = system.gettime(), 0, {}
    for i = 1, WORKERS do workers[i] = site:worker { "--quiet" } end
    local seed = os.time()
    math.randomseed(seed)
    while not site:wait_ended(INSTANCES, 1) do
      assert.truthy(system.gettime() - began < LIMIT, "not done in time")
      local victim = math.random(WORKERS)
      assert.is_nil(workers[victim]:code(), workers[victim]:output())
      workers[victim]:kill "KILL"
      assert.equal(137, workers[victim]:wait(10))
      workers[victim] = site:worker { "--quiet" }
      kills = kills + 1
    end
    local took = system.gettime() - began
    for _, worker in ipairs(workers) do
      worker:kill "TERM"
      assert.equal(0, worker:wait(10), worker:output() .. worker:errors())
      assert.not_matches("Z error: ", worker:output(), 1, true)
    end
    site:assert_complete(ids)
    local runs = #site:runs()
    io.stderr:write(("%s: %d steps in %.1f s, %d kills, %d handlers ran "
      .. "again, %d takeovers (seed %d)\n"):format(backend.name,
      INSTANCES * 5, took, kills, runs - INSTANCES * 5,
      site:number "select count(*) from pawl.history \
        where type = 'recovered'", seed))
    assert.truthy(kills >= 12, kills)
    assert.truthy(runs < INSTANCES * 5 + kills * 64)
    process.stop_all()
  end)
end)
