-- What has a tenant, and whom an event is for: tenant and event meet their own
-- alone. What a tenant's engine does not see: border_spec.lua.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- Waits for an event, with the key that its input names or without one.
local function waits(code, key, also)
  local flow = pawl.workflow { code = code, start = "w", cancel_on = also }
  flow:wait("w", { event = "go", key = key and "order" or nil, next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.event end })
  return flow
end

local TENANTS = { "a", "b", "" } -- "": none

--- An instance for each tenant and for none, by tenant.
local function one_each(engine, code, input)
  local ids = {}
  for _, name in ipairs(TENANTS) do
    ids[name] = assert(engine:start(code, input or { order = "o-1" },
      { tenant = name ~= "" and name or nil }))
  end
  assert(engine:run())
  return ids
end

--- "a b", those that have the status.
local function those(engine, ids, status)
  local names = {}
  for _, name in ipairs(TENANTS) do
    if kit.status(engine, ids[name]) == status then
      names[#names + 1] = name == "" and "none" or name
    end
  end
  return table.concat(names, " ")
end

kit.describe("an event", function(backend)
  it("is for those of its own tenant, with a key and without", function()
    for _, key in ipairs { true, false } do
      local engine <close> = backend.fresh()
      assert(engine:load(waits("t.wait", key)))
      local ids = one_each(engine, "t.wait")
      local function send(tenant)
        return assert(engine:signal { name = "go", tenant = tenant,
          key = key and "o-1" or nil })
      end
      assert.equal(0, send "c")
      assert.equal(1, send "a")
      assert(engine:run())
      assert.equal("a", those(engine, ids, "completed"))
      assert.equal(1, send(nil)) -- those of none, and no others
      assert(engine:run())
      assert.equal("a none", those(engine, ids, "completed"))
    end
  end)

  it("that was kept is found by waits of its own tenant alone", function()
    local engine = backend.fresh { shards = 4 }
    assert(engine:load(waits("t.wait", true)))
    assert(engine:signal { name = "go", key = "o-1", tenant = "b" })
    local ids = one_each(engine, "t.wait")
    assert.equal("b", those(engine, ids, "completed"))
    assert(engine:signal { name = "go", key = "o-2" })
    ids = one_each(engine, "t.wait", { order = "o-2" })
    assert.equal("none", those(engine, ids, "completed"))
  end)

  it("has an id of its tenant's", function()
    local engine = backend.fresh { shards = 4 }
    assert(engine:load(waits("t.wait", true)))
    local ids = one_each(engine, "t.wait")
    for i = 1, 2 do
      for _, tenant in ipairs { "a", "b" } do
        local reached, info = assert(engine:signal { name = "go", key = "o-1",
          id = "e-1", source = "shop", tenant = tenant })
        assert.equal(i == 1 and 1 or 0, reached)
        assert.equal(i == 2, info.repeated)
      end
    end
    assert(engine:run())
    assert.equal("a b", those(engine, ids, "completed"))
  end)

  it("cancels instances of its own tenant alone", function()
    local engine = backend.fresh()
    assert(engine:load(waits("t.stop", true,
      { event = "stop", key = "order" })))
    local ids = one_each(engine, "t.stop")
    assert.equal(1, assert(engine:signal { name = "stop", key = "o-1",
      tenant = "a" }))
    assert(engine:run())
    assert.equal("a", those(engine, ids, "cancelled"))
  end)

  it("starts what it triggers for its tenant, once", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.born", start = "a",
      trigger = "born" }
    flow:step("a", { run = function() end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    for _ = 1, 2 do
      for _, tenant in ipairs { "a", "b" } do
        assert(engine:signal { name = "born", id = "e-1", tenant = tenant })
      end
    end
    assert.equal(2, assert(engine:tally { workflow = "t.born" }))
    assert.equal(1, assert(engine:tally { tenant = "b" }))
  end)

  it("to one of another tenant finds nobody", function()
    local engine = backend.fresh()
    assert(engine:load(waits("t.wait", true)))
    local ids = one_each(engine, "t.wait")
    kit.refused("notfound", "^there is no instance", nil,
      engine:signal { name = "go", tenant = "b", instance = ids.a })
    -- an operator names it by its id: that is enough
    assert.equal(1, assert(engine:signal { name = "go", instance = ids.a }))
  end)

  it("that is left behind is posted for its tenant", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(waits("t.wait", true)))
    local ids = one_each(engine, "t.wait")
    local store = kit.store(url, clock)
    kit.run(store, "event_insert", { shard = 0, tenant = "b", source = "",
      id = "e-1", name = "go", key = "o-1", data = "5",
      ttl_us = 3600 * 1000000, now = store:now() })
    clock:advance(6)
    local other = kit.rival(backend, url, clock)
    assert(other:load(waits("t.wait", true)))
    for _ = 1, 2 do assert(other:run()) end
    assert.equal("b", those(engine, ids, "completed"))
  end)
end)

kit.describe("what an instance leaves", function(backend)
  it("has its tenant: tasks, what they signal, what is emitted", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.ask", start = "e" }
    flow:step("e", { run = function(ctx) ctx.emit("told", {}) end,
      next = "t" })
    flow:task("t", { title = "Look", users = { "ann" }, signal = "go",
      next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(waits("t.wait", false)))
    local waiting = one_each(engine, "t.wait", {})
    one_each(engine, "t.ask")
    local list = assert(engine.tasks:list { tenant = "a", user = "ann" })
    assert.equal(1, #list)
    assert.equal("a", list[1].tenant)
    assert(engine.tasks:complete(list[1].id, { by = "ann" }))
    assert(engine:run())
    assert.equal("a", those(engine, waiting, "completed"))
    local told = assert(engine.outbox:list { tenant = "b" })
    assert.equal(1, #told)
    assert.equal("b", told[1].tenant)
    assert.equal(3, #assert(engine.outbox:list()))
  end)

  it("are its children, and never those of another tenant", function()
    local engine = backend.fresh()
    local parent = kit.one(function(ctx)
      local fine, err = pcall(ctx.start, "t.wait", {}, { tenant = "b" })
      ctx.vars.why = not fine and err.code or nil
      ctx.start("t.wait", {}, { tenant = ctx.tenant })
      ctx.start("t.wait", {})
    end, { code = "t.parent" })
    assert(engine:load(parent))
    assert(engine:load(waits("t.wait", false)))
    local ids = one_each(engine, "t.parent")
    assert.equal("invalid", assert(engine:get(ids.a)).variables.why)
    assert.is_nil(assert(engine:get(ids[""])).variables.why)
    assert.equal(2, assert(engine:tally { parent = ids.a, tenant = "a" }))
    assert.equal(1, assert(engine:tally { parent = ids[""], tenant = "b" }))
  end)
end)

kit.describe("a tenant", function(backend)
  it("is no empty text", function()
    local _, clock, url = backend.fresh()
    for _, name in ipairs { "", ("x"):rep(256) } do
      local ok, why = pcall(kit.rival, backend, url, clock, { tenant = name })
      assert.is_false(ok)
      assert.matches("a `tenant` has 1 to 255 bytes", tostring(why))
    end
  end)
end)
