--- Handlers that call a slow HTTP server, by the example that shows how.
local kit = require "spec.engine.kit"
local slow = require "spec.support.slow"

local FILE = os.getenv "PWD" .. "/examples/quotes.lua"
local N = 40

--- Ticks until it is so; each turn ends as soon as a descriptor is ready.
local function tick_until(engine, what)
  for _ = 1, 2000 do
    local stats = assert(engine:tick(1))
    if what(stats) then return stats end
    assert(engine:wait(0.01))
  end
  error "it has not come to that"
end

kit.describe("a slow server", function(backend)
  for _, state in ipairs { "host", "private" } do
    it("holds up nobody, in a " .. state .. " state", function()
      local server = slow.start()
      finally(function() server:close() end)
      local engine = backend.fresh { state = state, batch = 16 }
      assert(engine:load(FILE))
      local ids = {}
      for i = 1, N do
        ids[i] = assert(engine:start("example.quotes", { url = server.url }))
      end
      -- it answers none before it has been asked by all: they wait together
      tick_until(engine, function() return server:open_requests() == N end)
      assert.equal(N, assert(engine:tick()).waiting)
      server:answer "slow and steady"
      tick_until(engine, function(stats) return stats.waiting == 0 end)
      for _, id in ipairs(ids) do
        assert.same({ quote = "slow and steady" },
          assert(engine:get(id)).output)
      end
    end)
  end

  it("is asked by as many as may wait, while quick work goes on", function()
    local server = slow.start()
    finally(function() server:close() end)
    local engine = backend.fresh { concurrency = 10 }
    assert(engine:load(FILE))
    assert(engine:load(kit.one(function() end)))
    for _ = 1, 9 do
      assert(engine:start("example.quotes", { url = server.url }))
    end
    tick_until(engine, function() return server:open_requests() == 9 end)
    local ids = {}
    for i = 1, 50 do ids[i] = assert(engine:start "t.one") end
    assert(engine:tick(1))
    for _, id in ipairs(ids) do
      assert.completed(engine, id)
    end
    assert.equal(9, server:open_requests())
    server:answer "ok"
    tick_until(engine, function(stats) return stats.waiting == 0 end)
  end)

  it("that is gone is an error with a code", function()
    local server = slow.start()
    local url = server.url
    server:close()
    local engine = backend.fresh()
    assert(engine:load(FILE))
    local id = assert(engine:start("example.quotes", { url = url }))
    tick_until(engine, function(stats) return stats.waiting == 0 end)
    local entry = assert(engine:history(id))[1]
    assert.equal("failed", entry.type)
    assert.equal("no_answer", entry.error.code)
  end)
end)
