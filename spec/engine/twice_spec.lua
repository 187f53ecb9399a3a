-- A request that is made twice while somebody holds the instance counts once.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

local HOUR = 3600

--- Puts a letter there as the engine's own functions do, past their checks.
local function post(url, clock, id, kind, data, event_id)
  local store = kit.store(url, clock)
  local shard = kit.shard(id, store:shards())
  assert(store:begin "batch")
  assert(store:send("agenda_revive", { shard = shard, id = id,
    now = store:now(), completed = true, cancelled = false,
    deleted = false }))
  assert(store:send("inbox_insert", { shard = shard, id = id,
    no = kit.draw_id(), kind = kind, event_id = event_id, source = "user",
    by = "", data = data, now = store:now() }))
  assert(store:commit())
end

local function texts(engine, id, kind)
  local found = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == kind then found[#found + 1] = row.text or "" end
  end
  return found
end

kit.describe("asked twice while its step runs,", function(backend)
  --- a, then b, whose handler asks, then c and d.
  local function asked(ask)
    local a, b, clock, id, url
    local flow = kit.chain {
      function() end,
      function() for _ = 1, 2 do ask(b, id) end end,
      function(ctx) ctx.vars.c = (ctx.vars.c or 0) + 1 end,
      function(ctx) ctx.vars.d = (ctx.vars.d or 0) + 1 end,
    }
    a, b, clock, url = kit.pair(backend, { flow })
    id = assert(a:start "t.chain")
    assert(a:run())
    return a, id, clock, url
  end

  it("is suspended once", function()
    local engine, id = asked(function(rival, id)
      assert(rival:suspend(id))
    end)
    assert.equal("step a, step b, suspended c, refused c",
      kit.trail(engine, id))
    assert.equal("suspended", kit.status(engine, id))
  end)

  it("is resumed once", function()
    local asks = 0
    local engine, id = asked(function(rival, id)
      asks = asks + 1
      if asks == 1 then
        assert(rival:suspend(id))
        assert(rival:resume(id))
      else
        local ok, err = rival:resume(id)
        assert.is_nil(ok)
        assert.equal("conflict", err.code)
      end
    end)
    assert.equal("step a, step b, suspended c, resumed c, step c, step d",
      kit.trail(engine, id))
  end)

  it("is put at a node once", function()
    local engine, id = asked(function(rival, id)
      assert(rival:move(id, { to = "d" }))
    end)
    assert.equal("step a, step b, moved c, refused d, step d",
      kit.trail(engine, id))
    assert.same({ d = 1 }, assert(engine:get(id)).variables)
  end)

  it("has the variables that were asked for", function()
    local engine, id = asked(function(rival, id)
      assert(rival:edit(id, { set = { c = 10 } }))
    end)
    assert.same({ c = 11, d = 1 }, assert(engine:get(id)).variables)
  end)

  it("is cancelled once", function()
    local engine, id = asked(function(rival, id)
      assert(rival:cancel(id))
    end)
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(1, #texts(engine, id, "cancelled"))
  end)
end)

kit.describe("tried again twice,", function(backend)
  --- a fails, as often as it is run, and asks before that.
  local function failed(max, ask)
    local runs = 0
    local engine, clock, url = backend.fresh()
    local id
    assert(engine:load(kit.one(function()
      runs = runs + 1
      if runs > 1 then ask(url, clock, id) end
      error "no"
    end, { retry = { max = max, base = "1h", jitter = 0 },
      on_exhausted = "suspend" })))
    id = assert(engine:start "t.one")
    assert(engine:run())
    clock:advance "1h"
    return engine, id, clock, url, function() return runs end
  end

  it("keeps the delay that follows its next failure", function()
    local engine, id, clock, url, runs = failed(2, function() end)
    assert(engine:run())
    assert.equal("suspended", kit.status(engine, id))
    post(url, clock, id, "retry", "{}")
    post(url, clock, id, "retry", "{}")
    assert(engine:run())
    assert.equal(3, runs())
    assert.equal(1, #texts(engine, id, "retried"))
    assert.same({ "retry: it goes on already" }, texts(engine, id, "refused"))
  end)

  it("is not run at once by one that came while it ran", function()
    local engine, id, _, _, runs = failed(3, function(url, clock, id)
      post(url, clock, id, "retry", "{}")
    end)
    assert(engine:run())
    assert.equal(2, runs())
    assert.same({ "retry: it goes on already" }, texts(engine, id, "refused"))
  end)
end)

kit.describe("restarted twice,", function(backend)
  it("runs its nodes once more, not twice", function()
    local engine, clock, url = backend.fresh()
    local ran, id = {}, nil
    assert(engine:load(kit.chain {
      function()
        ran[#ran + 1] = "a"
        if #ran == 3 then post(url, clock, id, "restart", '{"from":"a"}') end
      end,
      function() ran[#ran + 1] = "b" end,
    }))
    id = assert(engine:start "t.chain")
    assert(engine:run())
    assert(engine:restart(id, { from = "a" }))
    assert(engine:run())
    assert.same({ "a", "b", "a", "b" }, ran)
    assert.completed(engine, id)
    assert.same({ "restart: it goes on already" }, texts(engine, id, "refused"))
  end)
end)

kit.describe("moved twice to another version,", function(backend)
  --- b, then c; in version 2 c, then b: the map crosses them.
  local function flow(version, ask)
    local one = pawl.workflow { code = "t.cross", version = version,
      start = "a" }
    local first, second = "b", "c"
    if version ~= 1 then first, second = "c", "b" end
    one:step("a", { next = first, run = function(ctx) ask(ctx) end })
    for node, to in pairs { [first] = second, [second] = "z" } do
      one:step(node, { next = to, run = function(ctx)
        ctx.vars[node] = (ctx.vars[node] or 0) + version
      end })
    end
    one:finish "z"
    return one
  end
  local CROSS = { b = "c", c = "b" }

  it("is moved once", function()
    local a, b
    local ones = { flow(1, function()
      for _ = 1, 2 do
        local moved, refused, asked = assert(b.workflows:transfer("t.cross", 1,
          2,
          { map = CROSS }))
        assert.same({ 0, 0, 1 }, { #moved, #refused, #asked })
      end
    end), flow(2, error) }
    a, b = kit.pair(backend, ones)
    local id = assert(a:start("t.cross", {}, { version = 1 }))
    assert(a:run())
    assert.completed(a, id)
    assert.same({ "version 1 to 2" }, texts(a, id, "transferred"))
    assert.same({ "transfer: it runs version 2 already" },
      texts(a, id, "refused"))
    assert.same({ b = 2, c = 2 }, assert(a:get(id)).variables)
  end)

  it("stays where another request has brought it since", function()
    local a, b
    local ones = { flow(1, function()
      assert(b.workflows:transfer("t.cross", 1, 3, { map = CROSS }))
      assert(b.workflows:transfer("t.cross", 1, 2, { map = CROSS }))
    end), flow(2, error), flow(3, error) }
    a, b = kit.pair(backend, ones)
    local id = assert(a:start("t.cross", {}, { version = 1 }))
    assert(a:run())
    assert.equal(3, assert(a:get(id)).version)
    assert.same({ "transfer: it runs version 3 by now, not 1" },
      texts(a, id, "refused"))
    assert.same({ b = 3, c = 3 }, assert(a:get(id)).variables)
  end)
end)

kit.describe("put off twice with its workflow,", function(backend)
  it("is put off once, though the first was taken before the second came",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(kit.timer("1h")))
      local id = assert(engine:start "t.timer")
      assert(engine:run())
      assert(engine.workflows:suspend { workflow = "t.timer" })
      for _ = 1, 2 do
        post(url, clock, id, "shift", ('{"for_us":%d}'):format(HOUR * 1000000),
          "17:t.timer")
        assert(engine:edit(id, { set = { n = 1 } })) -- takes what lies there
      end
      assert.equal(1, #texts(engine, id, "shifted"))
      assert(engine.workflows:resume { workflow = "t.timer" })
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      clock:advance(HOUR)
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal(0, kit.count(backend, url, "inbox"))
    end)
end)
