-- Messages: what one instance's commit asks of another, delivered after it,
-- by whoever comes by; and what an engine reads of instances in many places.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local HOUR = 3600

--- A child that waits for good, unless it is told that it may go.
local function kid()
  local flow = pawl.workflow { code = "t.kid", start = "k" }
  flow:choice("k", { choose = function(ctx)
    return ctx.input.quick and "yes" or "no"
  end, next = { yes = "z", no = "w" } })
  flow:wait("w", { event = "go", next = "z" })
  flow:finish("z", { output = function(ctx) return { of = ctx.input } end })
  return flow
end

local function caller(call)
  local flow = pawl.workflow { code = "t.call", start = "c" }
  local node = { workflow = "t.kid", input = { quick = true }, into = "got",
    next = "z" }
  for key, value in pairs(call or {}) do node[key] = value end
  flow:call("c", node)
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- A step that starts children with ctx.start, then an hour of waiting.
local function starter(run)
  local flow = pawl.workflow { code = "t.starter", start = "s" }
  flow:step("s", { run = run, next = "t", retry = false })
  flow:timer("t", { after = "1h", next = "z" })
  flow:finish "z"
  return flow
end

kit.describe("a message", function(backend)
  local function of(url, id)
    return kit.select(url, ("select * from %s where id = %s"):format(
      kit.table(backend, "instance"), kit.id_literal(backend, id)))[1]
  end

  local function children(engine, id)
    return assert(engine:list { parent = id, limit = 1000 })
  end

  --- Writes one as if a process had died before it was delivered.
  local function leave(url, from, seq, kind, target, data)
    backend.sql(url, ([[insert into %s (shard, instance, seq, kind, target,
      data, created_at) values (%d, %s, %d, '%s', %s, '%s', %s)]]):format(
      kit.table(backend, "message"), 0, kit.id_literal(backend, from), seq,
      kind, kit.id_literal(backend, target), data,
      backend.name == "postgres" and "now()" or "0"))
  end

  local START = '{"workflow":"t.kid","input":{"quick":true},"options":{},'
    .. '"track":true,"place":{"node":"c","token":1,"visit":1,"end":"cancel"}}'

  it("starts a child that knows where it comes from", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kid()))
    assert(engine:load(caller()))
    local id = assert(engine:start("t.call", {}, { tenant = "acme" }))
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ of = { quick = true } },
      assert(engine:get(id)).output.got)
    local list = children(engine, id)
    assert.equal(1, #list)
    local row = of(url, list[1].id)
    assert.equal("acme", row.tenant)
    assert.equal('{"node":"c","token":1,"visit":1,"end":"cancel"}',
      row.parent_place)
    assert.equal(row.parent, row.root)
    assert.equal(0, kit.count(backend, url, "message"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("names the root of a whole family", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.top", start = "c" }
    flow:call("c", { workflow = "t.call", next = "z" })
    flow:finish "z"
    for _, one in ipairs { kid(), caller(), flow } do
      assert(engine:load(one))
    end
    local id = assert(engine:start "t.top")
    assert(engine:run())
    assert.completed(engine, id)
    local below = assert(engine:list { root = id })
    assert.equal(2, #below)
    local middle = children(engine, id)[1]
    assert.equal("t.call", middle.workflow)
    assert.equal(id, assert(engine:get(
      children(engine, middle.id)[1].id)).root)
  end)

  it("that was left behind is delivered by the next who ticks", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local child = kit.draw_id()
    leave(url, id, 1, "start", child, START)
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(kid()))
    assert(rival:run())
    assert.completed(rival, child)
    assert.equal(0, kit.count(backend, url, "message"))
    -- and delivered again, it is the same child
    leave(url, id, 1, "start", child, START)
    rival = kit.rival(backend, url, clock)
    assert(rival:run())
    assert.equal(1, #children(rival, id))
    assert.equal(0, kit.count(backend, url, "message"))
  end)

  it("that was left behind is delivered also where something new comes "
    .. "before each tick", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    local nobody = kit.draw_id()
    for _, tick in ipairs {
      function() return engine:tick(0) end,
      function(id) return engine:run { id = id } end,
    } do
      assert(tick(assert(engine:start "t.one")))
      leave(url, nobody, 1, "cancel", kit.draw_id(), "{}")
      local ends = os.time() + 10
      while kit.count(backend, url, "message") > 0 do
        assert.is_true(os.time() < ends, "it lies there")
        assert(tick(assert(engine:start "t.one")))
      end
    end
  end)

  it("for one that has ended or never was is no trouble", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    leave(url, id, 1, "result", id, '{"child":"x","status":"completed"}')
    leave(url, id, 2, "cancel", kit.draw_id(), '{"reason":"no"}')
    leave(url, id, 3, "end_children", id, "{}")
    assert(kit.rival(backend, url, clock):run())
    assert.equal(0, kit.count(backend, url, "message"))
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end)

  it("of an unknown kind is told and does not stop the others", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id, other = assert(engine:start "t.timer"),
      assert(engine:start "t.timer")
    assert(engine:run())
    leave(url, id, 1, "riddle", other, "{}")
    leave(url, id, 2, "cancel", other, '{"reason":"enough"}')
    local told
    local rival = kit.rival(backend, url, clock,
      { log = function(level, message, fields)
        if level == "error" then told = { message, fields } end
      end })
    assert(rival:load(kit.timer()))
    assert(rival:run())
    assert.equal("a message cannot be delivered", told[1])
    assert.matches("riddle", told[2].error)
    assert.equal("cancelled", kit.status(rival, other))
    assert.equal("enough", assert(rival:get(other)).cancellation.reason)
    assert.equal(0, kit.count(backend, url, "message"))
  end)

  --- Whichever unit it is that the store refuses for now.
  it("that the store does not take for now is delivered later", function()
    local refuse = backend.name == "sqlite" and "commit.busy=fail"
      or "commit.before_send=drop"
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer()))
    assert(engine:load(kid()))
    for unit = 1, 8 do
      local id, other = assert(engine:start "t.timer"),
        assert(engine:start "t.timer")
      assert(engine:run())
      local child = kit.draw_id()
      leave(url, id, 1, "start", child, START)
      leave(url, id, 2, "cancel", other, '{"reason":"enough"}')
      local rival = kit.rival(backend, url, clock, { log = function() end })
      assert(rival:load(kit.timer()))
      assert(rival:load(kid()))
      probe.fault(refuse .. "@" .. unit)
      rival:run()
      probe.fault()
      rival = kit.rival(backend, url, clock)
      assert(rival:load(kit.timer()))
      assert(rival:load(kid()))
      assert(rival:run())
      local why = "unit " .. unit
      assert.equal(0, kit.count(backend, url, "message"), why)
      assert.equal("completed", kit.status(rival, child), why)
      assert.equal("cancelled", kit.status(rival, other), why)
    end
  end)

  --- Refuses rows of a table, with an SQLSTATE, until the trigger is dropped.
  local function refuse(url, what, when, state)
    local bad = kit.table(backend, what)
    if backend.name == "sqlite" then
      backend.sql(url, "create table if not exists spec_none (n not null)")
      return backend.sql(url, ([[create trigger spec_refuse before insert on %s
        when %s begin select %s; %s end]]):format(bad, when,
        state == "P0001" and "raise(abort, 'not now')" or "1",
        state == "P0001" and "" or "insert into spec_none values (null);"))
    end
    backend.sql(url, ([[create function pawl.spec_refuse() returns trigger
      language plpgsql as $f$ begin
        if %s then raise 'not now' using errcode = '%s'; end if;
        return new;
      end $f$;
      create trigger spec_refuse before insert on %s for each row
        execute function pawl.spec_refuse()]]):format(when, state, bad))
  end

  local function admit(url, what)
    backend.sql(url, "drop trigger spec_refuse" .. (backend.name == "sqlite"
      and "" or " on " .. kit.table(backend, what)))
  end

  --- Ticks with another engine until nothing lies there any more.
  local function deliver_all(url, clock)
    local rival = kit.rival(backend, url, clock)
    assert(rival:load(kid()))
    assert(rival:load(caller()))
    assert(rival:run())
    assert.equal(0, kit.count(backend, url, "message"))
  end

  for what, when in pairs { inbox = "new.kind = 'child'",
    instance = "new.parent is not null" } do
    it("whose row the store refuses is kept until it can be delivered: "
      .. what, function()
      local told, last = 0, nil
      local engine, clock, url = backend.fresh { log = function(_, text, more)
        if text:find "kept" then told, last = told + 1, more end
      end }
      assert(engine:load(kid()))
      assert(engine:load(caller()))
      refuse(url, what, when, "P0001")
      local id = assert(engine:start "t.call")
      local began = os.time()
      for _ = 1, 30 do assert(engine:run()) end
      assert.is_true(told > 0 and told <= os.time() - began + 2, told)
      assert.matches("not now", last.error)
      assert.matches("message 1 of", last.error)
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(1, kit.count(backend, url, "message"))
      admit(url, what)
      deliver_all(url, clock)
      assert.completed(engine, id)
    end)
  end

  it("with a result that nobody can store fails the call, and says why",
    function()
      local engine, _, url = backend.fresh { log = function() end }
      assert(engine:load(kid()))
      assert(engine:load(caller()))
      refuse(url, "inbox", "new.kind = 'child' and cast(new.data as text) "
        .. "like '%\"completed\"%'", "23502")
      local id = assert(engine:start "t.call")
      assert(engine:run())
      assert.equal(0, kit.count(backend, url, "message"))
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.equal("child_failed", instance.error.code)
      assert.matches(backend.name == "sqlite" and "NOT NULL" or "not now",
        instance.error.message)
      admit(url, "inbox")
    end)

  it("read from one store is not delivered into the next", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kid()))
    local id = assert(engine:start("t.kid"))
    assert(engine:run())
    leave(url, id, 1, "riddle", id, "{}")
    leave(url, id, 2, "start", kit.draw_id(), START)
    local other
    if backend.name == "sqlite" then
      other = backend.url()
      local maker = backend.open(other, { clock = clock })
      assert(maker:load(kid()))
      maker:close()
    end
    local swapped = false
    local rival = kit.rival(backend, url, clock, { log = function(_, text)
      if swapped or text ~= "a message cannot be delivered" then return end
      swapped = true
      if other then
        for _, tail in ipairs { "", "-wal", "-shm" } do
          os.rename(url .. tail, url .. ".old" .. tail)
        end
        assert(os.rename(other, url))
      else
        backend.sql(url, [[delete from pawl.message;
          select pg_terminate_backend(pid, 5000) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()]])
      end
    end })
    assert(rival:load(kid()))
    rival:run()
    assert.is_true(swapped)
    rival:run()
    assert.equal(other and 0 or 1, kit.count(backend, url, "instance"))
  end)

  it("that asks for what cannot be started fails the call", function()
    local engine = backend.fresh()
    assert(engine:load(caller { version = 9 }))
    local id = assert(engine:start "t.call")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("child_failed", instance.error.code)
    assert.matches("version 9", instance.error.message)
  end)

  it("goes out only with the commit that wrote it", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kid()))
    assert(engine:load(starter(function(ctx)
      ctx.start("t.kid", { quick = true })
      error "broken"
    end)))
    local id = assert(engine:start "t.starter")
    assert(engine:run())
    assert.failed(engine, id)
    assert.equal(0, #children(engine, id))
    assert.equal(0, kit.count(backend, url, "message"))
  end)

  it("ends all children with their parent, however many", function()
    local engine, _, url = backend.fresh {
      shards = backend.name == "postgres" and 3 or nil }
    local left
    assert(engine:load(kid()))
    assert(engine:load(starter(function(ctx)
      for i = 1, 430 do
        ctx.start("t.kid", { i = i }, { parent_end = "cancel" })
      end
      left = ctx.start("t.kid", {}, { parent_end = "leave" })
    end)))
    local id = assert(engine:start "t.starter")
    assert(engine:run())
    local n = kit.count(backend, url, "instance", "status = 'waiting'")
    assert.equal(432, tonumber(n))
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal("waiting", kit.status(engine, left))
    assert.equal(431, tonumber(kit.count(backend, url, "instance",
      "status = 'cancelled'")))
    assert.equal(0, kit.count(backend, url, "message"))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("is numbered together with what goes into the outbox", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kid()))
    assert(engine:load(starter(function(ctx)
      ctx.emit("one", { n = 1 })
      ctx.start("t.kid", {})
      ctx.emit "two"
    end)))
    assert(engine:start "t.starter")
    assert(engine:run())
    local rows = kit.select(url, ("select seq, type, payload from %s "
      .. "order by seq"):format(kit.table(backend, "outbox")))
    assert.equal(2, #rows)
    assert.equal("one", rows[1].type)
    assert.equal("two", rows[2].type)
    local total = kit.select(url, ("select sent from %s where workflow = "
      .. "'t.starter'"):format(kit.table(backend, "instance")))[1].sent
    assert.equal(3, tonumber(total))
  end)
end)

kit.describe("an instance in many places", function(backend)
  local function forked()
    local flow = pawl.workflow { code = "t.forked", start = "f" }
    flow:fork("f", { next = { left = "a", right = "b" } })
    flow:timer("a", { after = "1h", next = "j" })
    flow:wait("b", { event = "go", key = "n", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    return flow
  end

  it("goes on where it stood under another engine", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(forked()))
    local id = assert(engine:start("t.forked", { n = 17 }))
    assert(engine:run())
    local b = kit.rival(backend, url, clock)
    assert(b:load(forked()))
    local places = {}
    for _, token in ipairs(assert(b:tokens(id))) do
      places[token.branch] = token.node
    end
    assert.same({ left = "a", right = "b" }, places)
    assert(b:signal { name = "go", key = 17 })
    clock:advance(HOUR + 1)
    assert(b:run())
    assert.completed(b, id)
    assert.equal(0, #assert(b:tokens(id)))
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
    assert.equal(0, kit.count(backend, url, "subscription"))
  end)

  it("that cannot be read is its own trouble alone", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(forked()))
    local bad = assert(engine:start("t.forked", { n = 1 }))
    local good = assert(engine:start("t.forked", { n = 2 }))
    assert(engine:run())
    backend.sql(url, ("update %s set scope = 'nowhere' where instance = %s")
      :format(kit.table(backend, "token"), kit.id_literal(backend, bad)))
    local told = 0
    local b = kit.rival(backend, url, clock, { log = function(level)
      if level == "error" then told = told + 1 end
    end })
    assert(b:load(forked()))
    assert(b:signal { name = "go", key = 1 })
    assert(b:signal { name = "go", key = 2 })
    clock:advance(HOUR + 1)
    assert(b:tick(1000))
    assert.completed(b, good)
    assert.equal("waiting", kit.status(b, bad))
    assert.is_true(told > 0)
  end)
end)
