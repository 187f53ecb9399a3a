-- What is registered: versions, and what lives of each.
local kit = require "spec.engine.kit"

kit.describe("a list of workflows", function(backend)
  local function listed(engine, query)
    local words = {}
    for i, flow in ipairs(assert(engine.workflows:list(query))) do
      words[i] = flow.workflow .. " " .. flow.version
    end
    return words
  end

  it("has every version, and can be narrowed to one workflow", function()
    local engine = backend.fresh()
    assert.same({}, listed(engine))
    assert(engine:load(kit.one(nil, { version = 1 })))
    assert(engine:load(kit.one(nil, { version = 3 })))
    assert(engine:load(kit.timer()))
    local all = listed(engine)
    table.sort(all)
    assert.same({ "t.one 1", "t.one 3", "t.timer 1" }, all)
    assert.same({ "t.timer 1" }, listed(engine, { workflow = "t.timer" }))
    assert.same({}, listed(engine, { workflow = "t.tim" }))
    local flow = assert(engine.workflows:list { workflow = "t.timer" })[1]
    assert.is_true(flow.active)
    assert.is_false(flow.suspended)
    assert.is_true(flow.inline)
    assert.equal(2, flow.nodes)
  end)

  it("counts what lives of each, when asked", function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.timer()))
    for _ = 1, 5 do assert(engine:start "t.timer") end
    assert(engine:run())
    local function live()
      return assert(engine.workflows:list { live = true })[1].live
    end
    local alive = live()
    clock:advance "2h"
    assert(engine:run())
    assert.not_same(alive, live())
    assert.is_nil(assert(engine.workflows:list())[1].live)
  end)
end)
