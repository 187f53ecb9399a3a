--- A ctx used where it was not meant to be: while its handler waits, in
--- another instance's handler, by finalizers and metamethods that run in the
--- midst of it. It acts for its own run, or says why not.
local kit = require "spec.engine.kit"
local system = require "system"

--- Objects that call `f` when they are collected, which is soon.
local function litter(n, f)
  for _ = 1, n do setmetatable({}, { __gc = f }) end
end

--- Garbage is collected all the time, in small steps: finalizers run in the
--- midst of whatever allocates.
local function collect_often()
  collectgarbage("incremental", 1, 1000, 6)
  collectgarbage() -- sets when the next cycle begins
end
local function collect_as_usual()
  collectgarbage("incremental", 200, 100, 13)
end

local function collecting(f)
  collect_often()
  local ok, err = pcall(f)
  collect_as_usual()
  if not ok then error(err, 0) end
end

local function refused(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("misuse", err.code)
  return err.message
end

--- One that waits, and its ctx.
local function waiting(backend, options)
  local kept
  local engine, clock, url = backend.fresh(options)
  assert(engine:load(kit.one(function(ctx)
    kept = ctx
    ctx.await(60)
  end)))
  local id = assert(engine:start "t.one")
  assert(engine:tick(0))
  assert.truthy(kept)
  return engine, kept, id, clock, url
end

kit.describe("the ctx of a handler that waits", function(backend)
  it("does not ask the store between ticks", function()
    local engine, ctx, id, clock = waiting(backend)
    for name, f in pairs {
      ["ctx.heartbeat"] = function() ctx.heartbeat() end,
      ["ctx.cancelled"] = function() ctx.cancelled() end,
      ["ctx.attrs"] = function() return ctx.attrs.x end,
    } do
      assert.equal(name .. " was called while no handler runs", refused(f))
    end
    refused(ctx.heartbeat, { n = 1 })
    refused(function() ctx.attrs.x = 1 end)
    refused(function() for _ in pairs(ctx.attrs) do error "none" end end)
    refused(ctx.await, 1)
    clock:advance(61)
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({}, assert(engine:get(id)).attributes or {})
  end)

  it("keeps what needs no store, for its own instance", function()
    local lines = {}
    local engine, ctx, id, clock = waiting(backend, {
      log = function(_, message, fields) lines[message] = fields end,
    })
    ctx.log("info", "said between ticks")
    ctx.vars.seen = ctx.now()
    ctx.emit("between.ticks", { n = 1 })
    assert.equal(id, ctx.id)
    clock:advance(61)
    assert(engine:run())
    assert.equal(id, lines["said between ticks"].instance)
    assert.equal("a", lines["said between ticks"].node)
    assert.equal("number", type(assert(engine:get(id)).variables.seen))
    assert.equal("between.ticks", assert(engine.outbox:list {})[1].type)
  end)

  it("may be collected with what uses it", function()
    local outcomes = {}
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local cancelled = ctx.cancelled
      litter(1, function() outcomes[#outcomes + 1] = pcall(cancelled) end)
      ctx.await(60)
    end)))
    assert(engine:start "t.one")
    assert(engine:tick(0))
    collectgarbage()
    assert.same({ false }, outcomes)
    clock:advance(61)
    assert(engine:run())
  end)

  it("speaks for its own instance in another's handler", function()
    local lines, first, read = {}, nil, {}
    local engine, clock = backend.fresh {
      log = function(_, message, fields) lines[message] = fields end,
    }
    assert(engine:load(kit.chain {
      function(ctx) ctx.attrs.name = ctx.input.name end,
      function(ctx)
        if ctx.input.name == "alice" then
          first = ctx
          ctx.await(60)
          return
        end
        read.name = first.attrs.name
        read.told = first.heartbeat { step = 3 }
        read.cancelled = first.cancelled()
        first.log("info", "said by alice")
        first.emit("by.alice", {})
        first.vars.note = "alice's"
        read.await = refused(first.await, 1)
      end,
    }))
    local alice = assert(engine:start("t.chain", { name = "alice" }))
    while not first do assert(engine:tick(0)) end
    local bob = assert(engine:start("t.chain", { name = "bob" }))
    for _ = 1, 6 do assert(engine:tick(0)) end
    assert.completed(engine, bob)
    assert.equal("alice", read.name)
    assert.is_false(read.told)
    assert.is_false(read.cancelled)
    assert.same({ step = 3 }, assert(engine:get(alice)).progress)
    assert.equal(alice, lines["said by alice"].instance)
    clock:advance(61)
    assert(engine:run())
    assert.equal("alice's", assert(engine:get(alice)).variables.note)
    assert.is_nil(assert(engine:get(bob)).variables.note)
    local sent = assert(engine.outbox:list {})
    assert.equal(1, #sent)
    assert.equal(alice, sent[1].instance)
  end)

  it("does not ask the store in another's transaction", function()
    local engine, ctx, id, clock = waiting(backend)
    local said = {}
    assert(engine:load(kit.one(function()
      said[1] = refused(ctx.heartbeat)
      said[2] = refused(ctx.heartbeat, { n = 1 })
      said[3] = refused(ctx.cancelled)
      said[4] = refused(function() return ctx.attrs.x end)
    end, { transactional = true, code = "t.sql" })))
    local other = assert(engine:start "t.sql")
    assert(engine:tick(0))
    assert.equal(4, #said)
    assert.equal("instance " .. id .. " cannot ask the store now: a "
      .. "transactional step of another one runs", said[1])
    assert.completed(engine, other)
    clock:advance(61)
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("is refused in a callback of the engine", function()
    local ctx, said
    local engine, kept = waiting(backend, {
      trace = function(event)
        if ctx and event.outcome then said = refused(ctx.heartbeat) end
      end,
    })
    ctx = kept
    assert(engine:load(kit.one(nil, { code = "t.other" })))
    assert(engine:start "t.other")
    assert(engine:tick(0))
    assert.equal("ctx.heartbeat was called while no handler runs", said)
  end)
end)

kit.describe("finalizers in the midst of ctx", function(backend)
  it("lose none of what is emitted", function()
    local N, finalized = 300, 0
    local big = {}
    for i = 1, 100 do big["key_" .. i] = string.rep("v", 20) end
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local log = ctx.log
      collecting(function()
        for i = 1, N do
          litter(20, function()
            finalized = finalized + 1
            pcall(log, "debug", "closing", { text = string.rep("X", 30) })
          end)
          ctx.emit("outer", { n = i, data = big })
        end
      end)
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.is_true(finalized > 0)
    assert.completed(engine, id)
    local sent = assert(engine.outbox:list { limit = N + 1 })
    assert.equal(N, #sent)
    for _, one in ipairs(sent) do assert.same(big, one.payload.data) end
  end)

  it("do not change what an instance that is started gets", function()
    local engine = backend.fresh()
    assert(engine:load(kit.chain({ function() end }, "t.child")))
    assert(engine:load(kit.one(function(ctx)
      local emit = ctx.emit
      collecting(function()
        for i = 1, 60 do
          litter(20, function() pcall(emit, "closing", { i }) end)
          ctx.start("t.child", { n = i, text = string.rep("y", 200) },
            { attributes = { n = i }, metadata = { n = i } })
        end
      end)
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local seen = {}
    for _, one in ipairs(assert(engine:list { parent = id })) do
      seen[assert(engine:get(one.id)).input.n] = true
    end
    assert.equal(60, #seen)
  end)

  it("find no rows of another query", function()
    local wrong, total, answered = 0, 0, 0
    local QUERY = "with recursive c(x) as (select %d union all "
      .. "select x + 1 from c where x < %d) "
      .. "select x, 'row ' || x as name from c"
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local db = ctx.db
      total = 0 -- what a slow machine does in vain is done again
      local began = system.monotime()
      collecting(function()
        for _ = 1, 10 do
          if total > 0 and system.monotime() > began + 0.3 then return end
          litter(6, function()
            local ok, rows = pcall(db.query, db, QUERY:format(500, 699))
            if ok and #rows == 200 then answered = answered + 1 end
          end)
          local rows = db:query(QUERY:format(100, 299))
          total = total + 1
          if #rows ~= 200 then wrong = wrong + 1 end
          for k, row in ipairs(rows) do
            if row.x ~= k + 99 or row.name ~= "row " .. row.x then
              wrong = wrong + 1
            end
          end
        end
      end)
    end, { transactional = true, retry = { max = 100 } })))
    local id = assert(engine:start "t.one")
    for _ = 1, 60 do
      assert(engine:run())
      if kit.status(engine, id) == "completed" then break end
      clock:advance "1h"
    end
    assert.completed(engine, id)
    assert.is_true(total > 0)
    assert.equal(0, wrong)
    assert.is_true(answered > 0)
  end)

  it("come too late once the handler has returned", function()
    local early, late = 0, 0
    local outs = {}
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local emit, out, keep = ctx.emit, {}, {}
      emit("first", {})
      for i = 1, 300 do
        out[i] = {}
        for k = 1, 100 do out[i]["k" .. k] = k end
        keep[i] = setmetatable({}, { __gc = function()
          local ok, err = pcall(emit, "closing", { i = i })
          if ok then
            early = early + 1
          else
            late = late + 1
            outs[err.message] = true
          end
        end })
      end
      collect_often()
      assert(#keep == 300)
      for i = 1, 300 do keep[i] = nil end
      return nil, out
    end)))
    local id = assert(engine:start "t.one")
    local ok, err = engine:run()
    collect_as_usual()
    assert(ok, err)
    assert.completed(engine, id)
    assert.is_true(early + late > 0)
    assert.equal(1 + early, #assert(engine.outbox:list { limit = 1000 }))
    for message in pairs(outs) do
      assert.truthy(message:find "^ctx.emit came after the handler"
        or message:find "^ctx was used after its handler")
    end
  end)

  it("make no second table of variables, data or attributes", function()
    local counts
    local engine = backend.fresh()
    assert(engine:load(kit.chain {
      function(ctx)
        for i = 1, 2000 do ctx.vars["v" .. i] = { i } end
        for i = 1, 2000 do ctx.token.data["d" .. i] = { i } end
        for i = 1, 300 do ctx.attrs["a" .. i] = i end
      end,
      function(ctx)
        local n, set = 0, 0
        local function all()
          n = n + 1
          ctx.vars.counted = (ctx.vars.counted or 0) + 1
          ctx.token.data.counted = (ctx.token.data.counted or 0) + 1
          if pcall(function() ctx.attrs["n" .. n] = n end) then
            set = set + 1
          end
        end
        for _, first in ipairs {
          function() return ctx.vars.v1 end,
          function() return ctx.token.data.d1 end,
          function() ctx.attrs.last = 1 end,
        } do
          collecting(function()
            collectgarbage "stop"
            litter(40, all)
            collectgarbage "restart"
            first()
          end)
        end
        counts = { n, ctx.vars.counted, ctx.token.data.counted, set }
      end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(counts[1], counts[2])
    assert.equal(counts[1], counts[3])
    assert.is_true(counts[1] > 0)
    local stored = 0
    for name in pairs(assert(engine:get(id)).attributes) do
      if name:find "^n" then stored = stored + 1 end
    end
    assert.equal(counts[4], stored)
  end)
end)

kit.describe("metamethods in the midst of ctx", function(backend)
  it("leave a query's parameters alone", function()
    local got
    local engine = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      local odd = setmetatable({}, { __name = "pawl.typed",
        __index = function()
          ctx.emit("x", { y = 1 })
          return "v"
        end })
      local P = backend.name == "postgres" and "$1::text as a, $2::text as b"
        or "?1 as a, ?2 as b"
      got = ctx.db:query("select " .. P, "first", odd)[1]
    end, { transactional = true })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ a = "first", b = "v" }, got)
    assert.equal(1, #assert(engine.outbox:list {}))
  end)

  it("of an error that call ctx change nothing of it", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      error(setmetatable({}, { __index = function(_, key)
        ctx.emit("late", {})
        ctx.log("info", "x", { key = key })
        if key == "message" then return "boo" end
      end }))
    end, { retry = { max = 1 } })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    clock:advance(1)
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("boo", instance.error.message)
    assert.equal(0, #assert(engine.outbox:list {}))
  end)
end)

kit.describe("the ctx of a handler that blocks", function(backend)
  it("tells by a heartbeat that the instance is to end", function()
    local a, b, told, asked, id
    local flow = kit.one(function(ctx)
      told = { ctx.heartbeat { n = 1 }, ctx.cancelled() }
      assert(b:cancel(id, { reason = "enough", by = "ann" }))
      asked = { ctx.heartbeat(), ctx.cancelled() }
    end)
    a, b = kit.pair(backend, { flow })
    id = assert(a:start "t.one")
    assert(a:run())
    assert.same({ false, false }, told)
    assert.same({ true, true }, asked)
    assert.equal("cancelled", kit.status(a, id))
  end)

  it("is told too while a helper thread keeps its lease", function()
    local b, id
    local url, told, before = backend.url(), false, 0
    local a = backend.open(url, { heartbeat_thread = true, heartbeat = 0.01 })
    b = backend.open(url)
    assert(a:load(kit.one(function(ctx)
      for _ = 1, 50 do -- beside those of the thread: none is a lost lease
        if ctx.heartbeat { at = before } then return end
        before = before + 1
      end
      assert(b:cancel(id, { reason = "enough", by = "ann" }))
      told = ctx.heartbeat() and ctx.cancelled()
    end)))
    id = assert(a:start "t.one")
    assert(a:run())
    assert.equal(50, before)
    assert.is_true(told)
    assert.equal("cancelled", kit.status(a, id))
  end)

  it("is not told of what asks for something else", function()
    local a, b, told, id
    local flow = kit.one(function(ctx)
      assert(b:signal { name = "x.y", instance = id })
      told = { ctx.heartbeat(), ctx.cancelled() }
    end)
    a, b = kit.pair(backend, { flow })
    id = assert(a:start "t.one")
    assert(a:run())
    assert.same({ false, false }, told)
    assert.completed(a, id)
  end)
end)
