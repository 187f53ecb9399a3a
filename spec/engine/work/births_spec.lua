-- Children that come into being together, and what they have to tell.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- A step that starts children as `run` says, then waits for good.
local function starter(run)
  local flow = pawl.workflow { code = "t.starter", start = "s" }
  flow:step("s", { run = run, next = "w", retry = false })
  flow:wait("w", { event = "end", next = "z" })
  flow:finish "z"
  return flow
end

local function leaf(run)
  local flow = pawl.workflow { code = "t.leaf", start = "a" }
  flow:step("a", { retry = false, run = run or function() end, next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.input.n end })
  return flow
end

--- An each over `n` children in a window of all of them.
local function family(n, window)
  local flow = pawl.workflow { code = "t.family" }
  flow:each("e", { items = function()
    local list = {}
    for i = 1, n do list[i] = { n = i } end
    return list
  end, workflow = "t.leaf", window = window or n, into = "got", next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars.got end })
  return flow
end

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

kit.describe("children that are started together", function(backend)
  local function load(engine, ...)
    for _, flow in ipairs { ... } do assert(engine:load(flow)) end
  end

  local function inputs(engine, id)
    local list = {}
    for i, it in ipairs(assert(engine:children(id, { limit = 1000 }))) do
      list[i] = assert(engine:get(it.id)).input.n
    end
    table.sort(list)
    return list
  end

  for shards = 1, 3, 2 do
    it("and their results cost few transactions, in " .. shards .. " shards",
      function()
        local engine = backend.fresh { shards = shards }
        load(engine, leaf(), family(400, 16 * shards))
        local id = assert(engine:start "t.family")
        local before = engine:count().transactions
        assert(engine:run())
        assert.same(numbers(400), assert(engine:get(id)).output)
        local each = (engine:count().transactions - before) / 400
        assert.is_true(each <= 2.5, each)
      end)
  end

  it("are there once, though another delivers the same meanwhile",
    function()
      local engine, rival, clock, url = kit.pair(backend,
        { leaf(), family(30) }, { shards = 2 })
      local id = assert(engine:start "t.family")
      kit.delivered_twice(engine, rival, clock)
      assert.same(numbers(30), assert(engine:get(id)).output)
      assert.same(numbers(30), inputs(engine, id))
      assert.equal(0, kit.count(backend, url, "message"))
    end)

  it("are all there but the one that cannot be", function()
    local told = {}
    local engine, _, url = backend.fresh { log = function(_, text, more)
      told[#told + 1] = text .. ": " .. tostring(more and more.error)
    end }
    load(engine, leaf(), starter(function(ctx)
      for n = 1, 9 do
        ctx.start("t.leaf", { n = n }, { version = n == 4 and 7 or nil })
      end
    end))
    local id = assert(engine:start "t.starter")
    assert(engine:run())
    assert.same({ 1, 2, 3, 5, 6, 7, 8, 9 }, inputs(engine, id))
    assert.equal(1, #told)
    assert.matches("a child was not started: .*version 7", told[1])
    assert.equal(0, kit.count(backend, url, "message"))
  end)

  it("are told of, where their version takes no new ones", function()
    local engine = backend.fresh { log = function() end }
    load(engine, leaf(), family(3))
    assert(engine.workflows:deactivate("t.leaf", 1))
    local id = assert(engine:start "t.family")
    assert(engine:run())
    local failed = assert(engine:get(id))
    assert.equal("failed", failed.status)
    assert.matches("no version of workflow \"t.leaf\" is active",
      failed.error.message)
  end)

  it("keep the order in which a key is asked for", function()
    local engine = backend.fresh()
    load(engine, leaf(), starter(function(ctx)
      for n = 1, 6 do
        ctx.start("t.leaf", { n = n }, { key = n % 2 == 0 and "k" or nil })
      end
    end))
    local id = assert(engine:start "t.starter")
    assert(engine:run())
    assert.same({ 1, 2, 3, 5 }, inputs(engine, id))
  end)

  it("of several parents have each its own, and what that hands down",
    function()
      local engine = backend.fresh()
      load(engine, leaf(), family(5))
      local ids = {}
      for i = 1, 4 do
        ids[i] = assert(engine:start("t.family", nil, { tenant = "t" .. i }))
      end
      assert(engine:run())
      for i, id in ipairs(ids) do
        assert.same(numbers(5), assert(engine:get(id)).output)
        for _, it in ipairs(assert(engine:children(id))) do
          local child = assert(engine:get(it.id))
          assert.same({ id, id, "t" .. i },
            { child.parent, child.root, child.tenant })
        end
      end
    end)

  --- Refuses rows of a table until the trigger is dropped.
  local function refuse(url, what, when)
    local bad = kit.table(backend, what)
    backend.sql(url, backend.name == "sqlite"
      and ([[create trigger spec_refuse before insert on %s when %s
        begin select raise(abort, 'not now'); end]]):format(bad, when)
      or ([[create function pawl.spec_refuse() returns trigger
        language plpgsql as $f$ begin
          if %s then raise 'not now' using errcode = 'P0001'; end if;
          return new;
        end $f$;
        create trigger spec_refuse before insert on %s for each row
          execute function pawl.spec_refuse()]]):format(when, bad))
  end

  it("are there up to the one that the store refuses for now", function()
    local told
    local engine, clock, url = backend.fresh { log = function(_, text, more)
      if text:find "kept" then told = more.error end
    end }
    load(engine, leaf(), starter(function(ctx)
      for n = 1, 9 do ctx.start("t.leaf", { n = n }) end
    end))
    refuse(url, "instance", "cast(new.input as text) like '%:6%'")
    local id = assert(engine:start "t.starter")
    assert(engine:run())
    assert.same({ 1, 2, 3, 4, 5 }, inputs(engine, id))
    assert.matches("message 6 of", told)
    assert.equal(4, kit.count(backend, url, "message"))
    backend.sql(url, "drop trigger spec_refuse" .. (backend.name == "sqlite"
      and "" or " on " .. kit.table(backend, "instance")))
    local rival = kit.rival(backend, url, clock)
    load(rival, leaf())
    assert(rival:run())
    assert.same(numbers(9), inputs(engine, id))
  end)
end)
