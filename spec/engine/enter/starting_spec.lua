-- What all starts take, one or many: their options, and what is wrong of them.
local kit = require "spec.engine.kit"

kit.describe("the options of a start", function(backend)
  it("say what becomes of a key where there is one", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _, case in ipairs {
      { { reuse = "ended" }, "`reuse` needs a `key`" },
      { { on_existing = "fail" }, "`on_existing` needs a `key`" },
      { { key = "k", on_existing = "ignore" }, "on_existing" },
      { { key = "k", reuse = "always" }, "reuse" },
    } do
      kit.refused("invalid", case[2], nil,
        engine:start("t.one", nil, case[1]))
    end
    kit.refused("invalid", "item 2: option `reuse` needs a `key`", nil,
      engine:start_many("t.one", { { key = "a" }, {} }, { reuse = "ended" }))
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("are an item's, too, over those of all", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local ids = assert(engine:start_many("t.one", {
      { priority = 3 }, { tenant = "b", metadata = { n = 1 } },
    }, { priority = 7, tenant = "a" }))
    local first, second = assert(engine:get(ids[1])), assert(engine:get(ids[2]))
    assert.same({ 3, "a" }, { first.priority, first.tenant })
    assert.same({ 7, "b", { n = 1 } },
      { second.priority, second.tenant, second.metadata })
  end)
end)
