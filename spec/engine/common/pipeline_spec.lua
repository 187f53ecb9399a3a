-- Batches that are sent ahead: results are applied in order, once each.
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

kit.describe("a batch that was sent ahead", function(backend)
  after_each(function() probe.fault(nil) end)

  local function filled(n, options)
    local engine, _, url = backend.fresh(options)
    local runs = {}
    local function step(ctx)
      local key = ctx.id .. ctx.node
      runs[key] = (runs[key] or 0) + 1
    end
    assert(engine:load(kit.chain { step, step, step }))
    local items = {}
    for i = 1, n do items[i] = {} end
    return engine, assert(engine:start_many("t.chain", items)), runs, url
  end

  it("keeps each instance's steps in their order", function()
    local engine, ids, runs, url = filled(50, { batch = 8 })
    assert(engine:run())
    for _, id in ipairs(ids) do
      assert.equal("step a, step b, step c", kit.trail(engine, id))
    end
    for _, n in pairs(runs) do assert.equal(1, n) end
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("is all done when a tick returns what it holds", function()
    local engine = filled(30, { batch = 4 })
    local stats = assert(engine:tick())
    while stats.next_due == 0 do stats = assert(engine:tick()) end
    assert.equal(0, stats.held)
    assert.equal(0, #assert(engine:list { status = "running" }))
  end)

  it("loses nothing by a connection that goes", function()
    if backend.name ~= "postgres" then return end
    local engine, ids = filled(30, { batch = 4 })
    probe.fault "commit.after=drop@3"
    local ok
    for _ = 1, 5 do ok = ok or engine:run() end -- one of them is told of it
    assert.is_truthy(ok)
    for _, id in ipairs(ids) do
      assert.equal("completed", kit.status(engine, id))
      assert.equal("step a, step b, step c", kit.trail(engine, id))
    end
  end)
end)
