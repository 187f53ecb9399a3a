-- Children that end with their parent, though nobody runs their group.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

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

  local function began(group, child_code, options)
    options = options or {}
    options.shards = 3
    local engine, clock, url = backend.fresh(options)
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
  after_each(function() probe.fault(nil) end)

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
    assert.completed(engine, id)
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

  --- Ends the parent; who has told the child so dies before it is reached.
  local function left_alone(child_group, group, ...)
    local engine, id, kid, clock, url = began(child_group, ...)
    assert(engine:signal { name = "end", instance = id })
    probe.fault "engine.reach=fail@1"
    assert(engine:run())
    probe.fault(nil)
    assert.completed(engine, id)
    assert.not_equal("cancelled", kit.status(engine, kid))
    engine:close()
    return kit.rival(backend, url, clock, { group = group }), kid, clock, url
  end

  it("is cancelled though whoever told it so died before it could", function()
    local other, kid, _, url = left_alone "dead"
    assert(other:run())
    assert.equal("cancelled", kit.status(other, kid))
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "ending"))
  end)

  it("is cancelled by a worker of any group", function()
    local other, kid = left_alone("dead", "third")
    assert(other:run())
    assert.equal("cancelled", kit.status(other, kid))
  end)

  it("is cancelled where its group has workers that do not serve it",
    function()
      local engine, id, kid, clock = began("default", "t.leaf",
        { prefixes = { "t.parent" } })
      assert(engine:cancel(id))
      clock:advance "1m"
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, kid))
    end)

  it("waits for who holds it, and outlives him", function()
    local engine, id, kid, clock, url = began "dead"
    local own = kit.rival(backend, url, clock, { group = "dead",
      lease = "30s" })
    assert(own:load(leaf "t.leaf"))
    assert(own:run())
    local store = kit.store(url, clock)
    kit.run(store, "agenda_wake", { shard = kit.shard(kid, 3), id = kid,
      now = store:now() })
    assert.equal(1, #kit.run(store, "agenda_claim_one", {
      shard = kit.shard(kid, 3), id = kid, lease = kit.draw_id(),
      executor = kit.draw_id(), lease_us = 30000000, now = store:now(),
    }))
    assert(engine:signal { name = "end", instance = id })
    assert(engine:run())
    clock:advance "5s"
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, kid))
    assert.equal(1, kit.count(backend, url, "ending"))
    clock:advance "5m" -- he has died: his lease ends
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, kid))
    assert.equal(0, kit.count(backend, url, "ending"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  local function many(log)
    local engine, clock, url = backend.fresh { shards = 3, log = log }
    local flow = pawl.workflow { code = "t.many", start = "s" }
    flow:step("s", { next = "w", run = function(ctx)
      for _ = 1, 5 do
        ctx.start("t.leaf", {}, { group = "dead", parent_end = "cancel" })
      end
    end })
    flow:wait("w", { event = "end", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(leaf "t.leaf"))
    local id = assert(engine:start "t.many")
    assert(engine:run())
    local kids = assert(engine:children(id))
    local bad = kids[3].id
    return engine, clock, url, id, bad, kids
  end

  local function refuse(url, id)
    if backend.name == "postgres" then
      backend.sql(url, [[
        create function public.spec_refuse() returns trigger
          language plpgsql as $f$ begin raise exception 'spec'; end $f$]])
    end
    local text = backend.name == "postgres" and [[
        create trigger spec_refuse before update of lease on pawl.agenda
          for each row when (new.instance = %s)
          execute function public.spec_refuse()]]
      or [[
        create trigger spec_refuse before update of lease on pawl_agenda
          when new.instance = %s begin select raise(abort, 'spec'); end]]
    backend.sql(url, text:format(kit.id_literal(backend, id)))
  end

  local function ended_but(engine, bad, kids)
    local n = 0
    for _, kid in ipairs(kids) do
      if kit.status(engine, kid.id) == "cancelled" then
        n = n + 1
        assert.not_equal(bad, kid.id)
      end
    end
    assert.equal(4, n)
  end

  it("keeps no other from being reached when the store refuses it", function()
    local said = {}
    local engine, clock, url, id, bad, kids = many(function(level, message)
      if level == "warn" then said[#said + 1] = message end
    end)
    refuse(url, bad)
    assert(engine:signal { name = "end", instance = id })
    assert(engine:run())
    ended_but(engine, bad, kids)
    assert.equal(1, #said)
    assert.matches(bad, said[1], 1, true)
    backend.sql(url, backend.name == "postgres"
      and "drop trigger spec_refuse on pawl.agenda"
      or "drop trigger spec_refuse")
    clock:advance "5m"
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, bad))
    assert.equal(0, kit.count(backend, url, "ending"))
  end)

  it("is tried again when its row was damaged", function()
    local engine, clock, url, id, bad, kids = many()
    local turn = ("update %s set seq = -1 - seq where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, bad))
    backend.sql(url, turn)
    assert(engine:signal { name = "end", instance = id })
    assert(engine:run())
    ended_but(engine, bad, kids)
    backend.sql(url, turn)
    clock:advance "5m"
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, bad))
  end)
end)
