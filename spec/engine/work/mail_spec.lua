-- Inboxes that hold very many events: what one look at them costs does not
-- grow, and the order and the promises are as with a few.
local box = require "spec.support.box"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

--- Takes event after event, "n" in all, noting each one's number.
local function taker(options, flow)
  return box.flow("t.box", options, flow)
end

local function begin(engine, n)
  local id = assert(engine:start("t.box", { n = n }))
  assert(engine:run())
  return id
end

local function send(engine, id, name, seq)
  assert(engine:signal { name = name, instance = id, data = { seq = seq } })
end

--- Rows of the inbox as if so many events had been sent.
local FILL = {
  postgres = [[
    insert into pawl.inbox (shard, instance, no, kind, name, event_id, data,
      received_at, addressed)
    select 0, %s, lpad(to_hex(i), 32, '0')::uuid, 'event', 'put', 'e' || i,
      ('{"seq":' || i || '}')::json,
      to_timestamp(1700000000) + i * interval '1 millisecond', true
      from generate_series(1, %d) i;]],
  sqlite = [[
    with recursive n (i) as (select 1 union all select i + 1 from n
      where i < %2$d)
    insert into pawl_inbox (shard, instance, no, kind, name, event_id, data,
      received_at, addressed)
    select 0, %1$s, cast(printf('%%016d', i) as blob), 'event', 'put',
      'e' || i, '{"seq":' || i || '}', 1700000000000000 + i * 1000, 1 from n;]],
}

local function fill(backend, url, id, n)
  local text = FILL[backend.name]:gsub("%%[12]%$", "%%")
  backend.sql(url, backend.name == "postgres"
    and text:format(kit.id_literal(backend, id), n)
    or (FILL.sqlite:gsub("%%1%$s", (kit.id_literal(backend, id)))
      :gsub("%%2%$d", tostring(n)):gsub("%%%%", "%%")))
end

kit.describe("an inbox of very many events", function(backend)
  after_each(function() probe.fault(nil) end)

  it("is read in pages of one size", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local function rows(n)
      local id = begin(engine, 1)
      fill(backend, url, id, n)
      local store = kit.store(url, clock)
      return #kit.run(store, "inbox_load",
        { shard = 0, id = { id }, events = 16, others = 256 })
    end
    assert.equal(rows(100), rows(10000))
  end)

  it("costs as many statements for each of them", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(taker()))
    local function cost(n)
      local id = begin(engine, 20)
      fill(backend, url, id, n)
      local before = engine:count()
      send(engine, id, "other", 0) -- wakes it
      assert(engine:run())
      assert.completed(engine, id)
      assert.same(box.numbers(1, 20), box.got(engine, id))
      return engine:count().statements - before.statements
    end
    local few, many = cost(100), cost(3000)
    assert.is_true(many <= few + 20, few .. " statements, then " .. many)
  end)

  it("is taken in order over its pages, past what nobody wants", function()
    local engine, clock = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine, 50)
    for i = 1, 50 do
      if i % 5 == 0 then clock:advance(0.001) end
      send(engine, id, "noise", i)
      send(engine, id, "put", i)
    end
    assert(engine:run())
    assert.completed(engine, id)
    assert.same(box.numbers(1, 50), box.got(engine, id))
  end)

  it("does not keep a cancel waiting", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine, 5000)
    fill(backend, url, id, 3000)
    clock:advance(1)
    local before = engine:count()
    assert(engine:cancel(id, "enough"))
    assert.equal("cancelled", kit.status(engine, id))
    assert.is_true(engine:count().statements - before.statements < 60)
  end)

  it("does not keep other requests waiting", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine, 5000)
    fill(backend, url, id, 3000)
    clock:advance(1)
    local before = engine:count()
    assert(engine:suspend(id, { reason = "a while" }))
    assert.equal("suspended", kit.status(engine, id))
    assert.is_true(engine:count().statements - before.statements < 60)
  end)

  it("is searched past those that a `match` turns down, before time is up",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(taker {
        match = function(event) return event.data.seq == 41 end,
        timeout = 60, next = { received = "apply", timeout = "late" },
      }))
      local id = begin(engine, 1)
      for i = 1, 41 do
        clock:advance(0.01)
        send(engine, id, "put", i)
      end
      clock:advance(3600) -- only now does somebody look
      assert(engine:run())
      assert.same({ 41 }, box.got(engine, id))
      assert.is_nil(assert(engine:get(id)).variables.late)
    end)

  for what, keyed in pairs { ["in the inbox"] = false, ["kept"] = true } do
    it("is read a few times, however many a `match` turns down, " .. what,
      function()
        local engine, clock = backend.fresh()
        local key = keyed and "key" or nil
        assert(engine:load(taker {
          key = key, match = function(event) return event.data.good end,
        }))
        local function cost(n)
          local id = assert(engine:start("t.box", { n = 3, key = "K" .. n }))
          local function tell(data)
            clock:advance(0.01)
            assert(engine:signal { name = "put", data = data,
              key = keyed and "K" .. n or nil,
              instance = not keyed and id or nil })
          end
          for i = 1, n do tell { seq = i, good = false } end
          for i = 1, 3 do tell { seq = i, good = true } end
          local before = engine:count()
          assert(engine:run())
          assert.completed(engine, id)
          assert.same({ 1, 2, 3 }, box.got(engine, id))
          return engine:count().statements - before.statements
        end
        local few, many = cost(64), cost(1000)
        -- a page of as many as were turned down by then, and then of 256
        assert.is_true(many <= 6 * few, few .. " statements, then " .. many)
      end)
  end

  -- What the one has turned down stays there, and fills whole pages. What the
  -- other waits for came after it.
  for what, keyed in pairs { ["in the inbox"] = false, ["kept"] = true } do
    it("keeps no branch from what came after another's pages, " .. what,
      function()
        local engine, clock = backend.fresh()
        local key = keyed and "key" or nil
        local flow = pawl.workflow { code = "t.two", start = "f" }
        flow:fork("f", { next = { "picky", "plain" } })
        flow:wait("picky", { event = "put", key = key, next = "j",
          match = function() return false end })
        flow:wait("plain", { event = "go", key = key, next = "took" })
        flow:step("took", {
          run = function(ctx) ctx.vars.took = ctx.event.data.seq end,
          next = "j",
        })
        flow:join("j", { expect = "all", next = "z" })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start("t.two", { key = "K" }))
        assert(engine:run())
        local function tell(name, seq)
          clock:advance(0.01)
          assert(engine:signal { name = name, data = { seq = seq },
            key = key and "K", instance = not keyed and id or nil })
        end
        for i = 1, 70 do
          tell("put", i)
          assert(engine:run())
        end
        tell("go", 7)
        for _ = 1, 20 do assert(engine:tick(0.05)) end -- it spun for ever
        assert.equal(7, assert(engine:get(id)).variables.took)
      end)
  end

  it("ends by a rule behind all that came before", function()
    local engine, clock = backend.fresh()
    assert(engine:load(taker(nil, { cancel_on = { { event = "stop" } } })))
    local function ended_at(n)
      local id = begin(engine, 1000)
      for i = 1, n do
        clock:advance(0.01)
        send(engine, id, "put", i)
      end
      clock:advance(0.01)
      send(engine, id, "stop", 0)
      for i = n + 1, n + 20 do
        clock:advance(0.01)
        send(engine, id, "put", i)
      end
      assert(engine:run())
      assert.equal("cancelled", kit.status(engine, id))
      return #box.got(engine, id)
    end
    assert.equal(1, ended_at(1))
    assert.equal(40, ended_at(40))
    assert.equal(300, ended_at(300))
  end)

  --- Letters as the engine's own functions put them there, a second apart.
  local function post(url, clock, id, kind, n, data)
    local store = kit.store(url, clock)
    for i = 1, n do
      clock:advance(1)
      kit.run(store, "agenda_wake", { shard = 0, id = id, now = store:now() })
      kit.run(store, "inbox_insert", { shard = 0, id = id,
        no = kit.draw_id(), kind = kind, source = "user", by = "",
        data = data:format(i), now = store:now() })
    end
  end

  it("takes an event after the requests that came before it", function()
    local engine, clock, url = backend.fresh()
    local seen
    local flow = pawl.workflow { code = "t.box", start = "next" }
    flow:wait("next", { event = "put", next = "z",
      match = function(_, ctx) seen = ctx.vars.n; return true end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = begin(engine, 1)
    post(url, clock, id, "edit", 300, '{"set":{"n":%d}}')
    clock:advance(1)
    send(engine, id, "put", 1)
    assert(engine:run())
    assert.equal(300, seen)
    assert.completed(engine, id)
  end)

  it("takes all requests, suspended or not", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine, 1)
    assert(engine:suspend(id))
    post(url, clock, id, "edit", 600, '{"set":{"n":%d}}')
    assert(engine:run())
    assert.equal(600, assert(engine:get(id)).variables.n)
    assert.equal(0, kit.count(backend, url, "inbox"))
    post(url, clock, id, "edit", 255, '{"set":{"n":%d}}')
    local ok, done = engine:resume(id)
    assert.truthy(ok, tostring(done))
    assert.is_true(done)
  end)

  it("resumes, however many have answered while it was suspended", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine, 1)
    assert(engine:suspend(id))
    post(url, clock, id, "task", 300, '{"token":99,"visit":%d}')
    local ok, done = engine:resume(id)
    assert.truthy(ok, tostring(done))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  if backend.name == "postgres" then
    for _, point in ipairs { "commit.before_send", "commit.sent" } do
      it("goes on when an answer is lost in the middle: " .. point, function()
        local engine, clock = backend.fresh()
        assert(engine:load(taker()))
        local id = begin(engine, 60)
        for i = 1, 60 do
          clock:advance(0.01)
          send(engine, id, "put", i)
        end
        for n = 3, 30, 3 do -- wherever that is: a read fails, and is done again
          probe.fault(("%s=drop@%d"):format(point, n))
          engine:run()
        end
        probe.fault(nil)
        clock:advance(60) -- what was given up is due again
        assert(engine:run())
        assert.completed(engine, id)
        assert.same(box.numbers(1, 60), box.got(engine, id))
      end)
    end
  end
end)
