-- Names are kept once; a key's events have one shard.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("a key's events", function(backend)
  it("are kept in one shard, whoever sends them and whoever waits", function()
    local engine, clock, url = backend.fresh { shards = 4 }
    local other = kit.rival(backend, url, clock)
    local flow = pawl.workflow { code = "t.wait", start = "w" }
    flow:wait("w", { event = "paid", key = "order", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    for i = 1, 12 do
      for _, sender in ipairs { engine, other } do
        assert(sender:signal { name = "paid", key = "o" .. i })
      end
    end
    local rows = kit.select(url, ([[select key, count(*) as n,
      count(distinct shard) as shards from %s where key is not null
      group by key]])
      :format(kit.table(backend, "event")))
    assert.equal(12, #rows)
    for _, row in ipairs(rows) do
      assert.equal(2, row.n)
      assert.equal(1, row.shards, row.key)
    end
    assert.is_true(kit.select(url, ([[select count(distinct shard) as n
      from %s]]):format(kit.table(backend, "event")))[1].n > 1)
    local id = assert(engine:start("t.wait", { order = "o7" }))
    assert(engine:run())
    assert.completed(engine, id)
  end)
end)

kit.describe("a node's name", function(backend)
  it("stays what it is when its definition is loaded anew", function()
    local engine, clock = backend.fresh()
    local name = ("n"):rep(60)
    local function flow(version)
      local made = pawl.workflow { code = "t.name", version = version,
        start = name }
      made:timer(name, { after = "1h", next = "z" })
      made:finish "z"
      return made
    end
    assert(engine:load(flow(1)))
    local id = assert(engine:start "t.name")
    assert(engine:run())
    for version = 2, 5 do assert(engine:load(flow(version))) end
    collectgarbage()
    clock:advance "2h"
    assert(engine:run())
    assert.equal("started " .. name .. ", timer " .. name,
      kit.trail(engine, id))
  end)
end)
