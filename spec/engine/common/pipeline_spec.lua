-- Batches that are sent ahead: results are applied in order, once each.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
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
      assert.completed(engine, id)
      assert.equal("step a, step b, step c", kit.trail(engine, id))
    end
  end)
end)

-- Before a step in a transaction of its own all plans are sent at once; else
-- they are sent ahead, where the store can do that.
kit.describe("a plan", function(backend)
  local function quiet()
    local flow = pawl.workflow { code = "t.flow", start = "a" }
    flow:step("a", { next = "b", run = function(ctx)
      ctx.vars.n = ctx.input.n
      ctx.emit("seen", ctx.input.n)
    end })
    flow:step("b", { next = "t", run = function(ctx) ctx.vars.m = 1 end })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    return flow
  end

  local function loud()
    local flow = pawl.workflow { code = "t.loud", start = "a" }
    for from, to in pairs { a = "b", b = "c", c = "z" } do
      flow:step(from, { next = to, transactional = true,
        run = function() end })
    end
    flow:finish "z"
    return flow
  end

  --- Without what is stored of t.loud, and under which lease the others ran.
  local function cut(rows)
    local gone
    rows.counter = nil -- of all workflows
    for _, row in ipairs(rows.instance) do
      if row.workflow == "t.loud" then gone = row.id end
      row.lease = nil
    end
    for _, list in pairs(rows) do
      for i = #list, 1, -1 do
        if gone and (list[i].id == gone or list[i].instance == gone) then
          table.remove(list, i)
        end
      end
    end
    return rows
  end

  local function stored(is_beside)
    local engine, _, url = backend.fresh()
    assert(engine:load(quiet()))
    assert(engine:load(loud()))
    for i = 1, 3 do assert(engine:start("t.flow", { n = i })) end
    if is_beside then
      assert(engine:start("t.loud", nil, { priority = -1 }))
    end
    assert(engine:run())
    return cut(kit.everything(backend, url))
  end

  it("is stored alike, sent at once or ahead", function()
    local ahead = stored(false)
    assert.equal(3, #ahead.instance)
    assert.equal(3, #ahead.outbox)
    assert.same(ahead, stored(true))
  end)
end)
