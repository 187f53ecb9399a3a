-- Children that end with their parent, though nobody runs their group.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

kit.describe("a child whose group has no worker", function(backend)
  local undone

  local function child()
    local flow = pawl.workflow { code = "t.child", start = "s" }
    flow:step("s", { next = "w", run = function(ctx)
      ctx.start("t.leaf", {}, { group = "nobody", parent_end = "cancel" })
    end, undo = function() undone = (undone or 0) + 1 end })
    flow:wait("w", { event = "x", next = "z" })
    flow:finish "z"
    return flow
  end

  local function leaf(code)
    local flow = pawl.workflow { code = code, start = "w" }
    flow:wait("w", { event = "x", next = "z" })
    flow:finish "z"
    return flow
  end

  local function parent(code, child_code, group)
    local flow = pawl.workflow { code = code, start = "s" }
    flow:step("s", { next = "w", run = function(ctx)
      ctx.start(child_code, {}, { group = group, parent_end = "cancel" })
    end })
    flow:wait("w", { event = "end", next = "z" })
    flow:finish "z"
    return flow
  end

  local function began(group, child_code)
    local engine, clock, url = backend.fresh { shards = 3 }
    for _, flow in ipairs { leaf "t.leaf", child(),
      parent("t.parent", child_code or "t.leaf", group) } do
      assert(engine:load(flow))
    end
    local id = assert(engine:start "t.parent")
    assert(engine:run())
    local kin = assert(engine:children(id))
    assert.equal(1, #kin)
    return engine, id, kin[1].id, clock, url
  end

  before_each(function() undone = nil end)

  it("is cancelled with it", function()
    local engine, id, kid = began "dead"
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, kid))
  end)

  it("is cancelled when its parent ends by itself", function()
    local engine, id, kid, _, url = began "dead"
    assert(engine:signal { name = "end", instance = id })
    assert(engine:run())
    assert.equal("completed", kit.status(engine, id))
    assert.equal("cancelled", kit.status(engine, kid))
    assert.equal(0, kit.count(backend, url, "agenda"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("leaves what has to be undone to its group, and its own children too",
    function()
      local engine, id, kid, clock, url = began("dead", "t.child")
      local own = kit.rival(backend, url, clock, { group = "dead" })
      assert(own:load(child()))
      assert(own:load(leaf "t.leaf"))
      assert(own:run())
      local grandchild = assert(own:children(kid))[1].id
      assert.equal("waiting", kit.status(own, kid))
      assert(engine:cancel(id))
      assert(engine:run())
      assert.equal("running", kit.status(engine, kid))
      assert.is_nil(undone)
      assert(own:run())
      assert.equal(1, undone)
      assert.equal("cancelled", kit.status(own, kid))
      assert.equal("cancelled", kit.status(own, grandchild))
    end)

  it("is cancelled by the call that ends its parent, where nobody works",
    function()
      local engine, id, kid, clock, url = began()
      engine:close()
      local other = kit.rival(backend, url, clock, { group = "office" })
      assert(other:cancel(id))
      assert.equal("cancelled", kit.status(other, kid))
    end)
end)
