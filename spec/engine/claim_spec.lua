-- Claims of several workers at one moment, each in a transaction of its own.
local kit = require "spec.engine.kit"

kit.describe("a claim beside others that are under way", function(backend)
  if backend.name ~= "postgres" then return end -- one writer at a time

  it("finds work, however many they are", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _ = 1, 60 do assert(engine:start "t.one") end
    local open, found = {}, {}
    for i = 1, 8 do
      open[i] = kit.store(url, clock)
      assert(open[i]:begin "open")
      assert(open[i]:send("agenda_claim", { shard = 0,
        executor_group = "default", workflow = { "t.one" },
        workflow_version = { 1 }, lease = kit.draw_id(),
        executor = kit.draw_id(), lease_us = 30000000, now = clock.us,
        max = 4 }))
      found[i] = #open[i]:rows(1)
    end
    for _, store in ipairs(open) do store:rollback() end
    assert.same({ 4, 4, 4, 4, 4, 4, 4, 4 }, found)
  end)
end)
