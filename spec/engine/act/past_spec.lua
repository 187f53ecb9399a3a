-- Going back in an instance's history: its variables as they were.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local last, refused = kit.last, kit.refused

kit.describe("how it was", function(backend)
  it("is gone back to by a restart from a node", function()
    local engine = backend.fresh()
    local flow = kit.chain {
      function(ctx) ctx.vars.n = 1 end,
      function(ctx)
        ctx.vars.n = ctx.vars.n * 10
        ctx.vars.extra = true
      end,
      function(ctx)
        ctx.vars.n = ctx.vars.n + 5
        if ctx.vars.bad then error { code = "no", retry = false } end
      end,
    }
    assert(engine:load(flow))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    assert.same({ n = 15, extra = true }, assert(engine:get(id)).variables)
    local _, done = assert(engine:restart(id, { from = "b", by = "ann",
      reason = "once more" }))
    assert.is_true(done)
    local instance = assert(engine:get(id))
    assert.same({ n = 1 }, instance.variables)
    assert.equal("b", instance.tokens[1].node)
    assert.equal("restarted", last(engine, id).type)
    assert.equal("ann", last(engine, id).by)
    assert(engine:run())
    assert.same({ n = 15, extra = true }, assert(engine:get(id)).variables)
    -- the second passage begins where the first one began
    assert(engine:restart(id, { from = "c" }))
    assert.same({ n = 10, extra = true }, assert(engine:get(id)).variables)
    -- before its very first row
    assert(engine:run())
    assert(engine:restart(id, { from = "c", seq = 1 }))
    assert.same({}, assert(engine:get(id)).variables)
  end)

  it("is found under the names that a node had then", function()
    local engine = backend.fresh()
    local function version(n, b, c)
      local flow = pawl.workflow { code = "t.named", version = n, start = "a" }
      flow:step("a", { next = b, run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end })
      flow:step(b, { next = c, run = function(ctx)
        ctx.vars.n = ctx.vars.n * 10
      end })
      flow:step(c, { next = "w", run = function(ctx)
        ctx.vars.n = ctx.vars.n + 5
      end })
      flow:wait("w", { event = "go", next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
    end
    local function goes_back(id, node, n)
      assert(engine:restart(id, { from = node }))
      assert.same({ n = n }, assert(engine:get(id)).variables)
      assert(engine:run())
      assert(engine:suspend(id))
      assert(engine:run())
    end
    local function moves(from, to, map)
      local moved, left = assert(engine.workflows:transfer("t.named", from,
        to, { map = map }))
      assert.same({}, left)
      assert.equal(4, #moved)
      assert(engine:run())
    end
    version(1, "b", "c")
    local ids = {}
    for i = 1, 4 do ids[i] = assert(engine:start "t.named") end
    assert(engine:run())
    for _, id in ipairs(ids) do assert(engine:suspend(id)) end
    assert(engine:run())
    version(2, "b2", "b") -- what is called `b` now was `c`
    moves(1, 2, { b = "b2", c = "b" })
    goes_back(ids[1], "b2", 1)
    goes_back(ids[2], "b", 10)
    goes_back(ids[1], "b", 10) -- by its name, once it was there again
    version(3, "b", "b3") -- and what is called `b` again was `b2`
    moves(2, 3, { b = "b3", b2 = "b" })
    goes_back(ids[3], "b", 1)
    goes_back(ids[4], "b3", 10)
    goes_back(ids[2], "b3", 10)
    goes_back(ids[1], "a", nil)
  end)

  it("is known of each row that there is, and no other", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain {
      function(ctx) ctx.vars.n = 1 end,
      function() error { code = "no", retry = false } end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    for _, seq in ipairs { 4, 99 } do
      refused("invalid", "its history has 2 rows; there is no row " .. seq, nil,
        engine:restart(id, { from = "b", seq = seq }))
    end
    -- never come to: with its variables as they are
    assert(engine:restart(id, { from = "z" }))
    assert.same({ n = 1 }, assert(engine:get(id)).variables)
  end)
end)
