-- By which transition each visit in a history was entered, as the rows before
-- tell it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- "seq node=transition": "-" stands for none, "?" for what is not told.
local function told(engine, id, query)
  local text = assert(engine:history(id, query, "json"))
  local list = {}
  for _, row in ipairs(pawl.json.decode(text)) do
    local way = row.transition_in
    way = way == nil and "?" or way == pawl.null and "-" or way
    list[#list + 1] = ("%d %s=%s"):format(row.seq,
      row.node ~= pawl.null and row.node or row.type, way)
  end
  return list
end

kit.describe("a history's visits", function(backend)
  --- Each row says the same in any page, and in any list that has it.
  local function agrees(engine, id)
    local all = told(engine, id)
    local rows = assert(engine:history(id))
    for i, row in ipairs(rows) do
      assert.same({ all[i] }, told(engine, id,
        { after = row.seq - 1, limit = 1 }))
      if row.node then
        local found = false
        for _, one in ipairs(told(engine, id, { node = row.node })) do
          found = found or one == all[i]
        end
        assert.is_true(found, all[i])
      end
    end
    assert.same({ all[#all] }, told(engine, id, { last = 1 }))
    return all
  end

  it("came by transitions of steps and choices, again and again", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.ways", start = "a" }
    flow:step("a", { next = "b", run = function() end })
    flow:step("b", { next = { ok = "c", bad = "z" },
      run = function() return "ok" end })
    flow:choice("c", { next = { again = "d", on = "e" },
      choose = function(ctx)
        return (ctx.vars.n or 0) < 2 and "again" or "on"
      end })
    flow:step("d", { next = "c", run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
    end })
    flow:step("e", { next = "z", on_error = { no = "f" },
      run = function() error { code = "no" } end })
    flow:step("f", { next = "z", run = function() end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.ways")
    assert(engine:run())
    assert.same({ "1 a=-", "2 b=-", "3 d=again", "4 d=again", "5 e=on",
      "6 f=no" }, agrees(engine, id))
  end)

  it("say where a choice has led that the instance began with", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.first", start = "c" }
    flow:choice("c", { next = { x = "a", y = "z" },
      choose = function() return "x" end })
    flow:step("a", { next = "z", run = function() end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.first")
    assert(engine:run())
    assert.same({ "1 a=x", "2 a=x" }, agrees(engine, id))
  end)

  it("say the same in each attempt", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.tries", start = "s" }
    flow:step("s", { next = { go = "a", no = "z" },
      run = function() return "go" end })
    flow:step("a", { next = "z", retry = { max = 3, base = 1 },
      run = function(ctx)
        if ctx.attempt < 3 then error "not yet" end
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.tries")
    kit.pass(engine, clock, 60)
    assert(engine:run())
    assert.same({ "1 s=-", "2 a=go", "3 a=go", "4 a=go" },
      agrees(engine, id))
  end)

  it("came from branches, and from the join of them", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.fork", start = "s" }
    flow:step("s", { next = "f", run = function() end })
    flow:fork("f", { next = { left = "a", right = "c" } })
    flow:step("a", { next = "j", run = function() end })
    flow:choice("c", { next = { big = "b", small = "j" },
      choose = function() return "big" end })
    flow:step("b", { next = "j", run = function() end })
    flow:join("j", { next = "e" })
    flow:step("e", { next = "g", run = function() end })
    flow:fork("g", { next = { one = "h", two = "i" } })
    flow:step("h", { next = "k", retry = { max = 2, base = 0 },
      run = function(ctx) if ctx.attempt < 2 then error "no" end end })
    flow:wait("i", { event = "go", next = "k" })
    flow:join("k", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.fork")
    assert(engine:run())
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    local all = agrees(engine, id)
    table.sort(all, function(x, y) return x:match " (.*)" < y:match " (.*)" end)
    for i, one in ipairs(all) do all[i] = one:match " (.*)" end
    assert.same({ "a=left", "b=big", "e=-", "h=one", "h=one", "i=two", "s=-" },
      all)
    local e = assert(engine:history(id, { node = "e" }))[1]
    assert.equal(2, #e.previous)
  end)

  it("came behind a join that another's row tells of", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.nested", start = "f" }
    flow:fork("f", { next = { in_ = "g", out = "b" } })
    flow:fork("g", { next = { x = "x", y = "y" } })
    for _, name in ipairs { "x", "y" } do
      flow:step(name, { next = "j", run = function() end })
    end
    flow:join("j", { next = "c" })
    flow:choice("c", { next = { yes = "e", no = "k" },
      choose = function() return "yes" end })
    flow:step("e", { next = "k", run = function() end })
    flow:step("b", { next = "b2", run = function() end })
    flow:step("b2", { next = "k", run = function() end })
    flow:join("k", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.nested")
    assert(engine:run())
    local ways = {}
    for _, one in ipairs(agrees(engine, id)) do
      local node, way = one:match " ([%w_]+)=(.*)"
      if not ways[node] then ways[node] = way end
    end
    assert.equal("yes", ways.e)
    assert.equal("x", ways.x)
    assert.equal("out", ways.b)
    assert.equal("-", ways.b2)
  end)

  it("came from waits, timers, tasks and calls", function()
    local engine, clock = backend.fresh()
    local child = kit.one(nil, { code = "t.child" })
    local flow = pawl.workflow { code = "t.waits", start = "w" }
    flow:wait("w", { event = "go", timeout = "1h",
      next = { received = "t", timeout = "z" } })
    flow:timer("t", { after = "1m", next = "w2" })
    flow:wait("w2", { event = "never", timeout = "1m",
      next = { received = "z", timeout = "k" } })
    flow:task("k", { title = "look", next = { yes = "c", no = "z" } })
    flow:call("c", { workflow = "t.child",
      next = { completed = "l", failed = "z" } })
    flow:step("l", { next = "z", run = function() end })
    flow:finish "z"
    assert(engine:load(child))
    assert(engine:load(flow))
    local id = assert(engine:start "t.waits")
    assert(engine:run())
    assert(engine:signal { name = "go", instance = id })
    kit.pass(engine, clock, 300)
    assert(engine:run())
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { take = "yes", by = "ann" }))
    assert(engine:run())
    local all = agrees(engine, id)
    for i, one in ipairs(all) do all[i] = one:match " (.*)" end
    assert.same({ "w=-", "w=-", "t=received", "w2=-", "k=timeout", "c=yes",
      "l=completed" }, all)
  end)

  it("were entered by nothing where a person has put it", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.moved", start = "s" }
    flow:step("s", { next = { go = "w", no = "z" },
      run = function() return "go" end })
    flow:wait("w", { event = "go", next = "a" })
    flow:step("a", { next = "z", run = function() end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.moved")
    assert(engine:run())
    assert(engine:note(id, { by = "ann", text = "look" }))
    assert(engine:move(id, { to = "a", by = "ann" }))
    assert(engine:run())
    local all = agrees(engine, id)
    assert.equal("1 s=-", all[1])
    assert.equal("2 w=go", all[2]) -- the note stands in that visit
    assert.equal("3 w=go", all[3]) -- which ends by being moved
    assert.equal("4 a=-", all[4])
  end)

  it("leave it out where rows that tell of it are gone", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.long", start = "a",
      keep_history = 100 }
    flow:step("a", { next = { again = "a", on = "z" }, run = function(ctx)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 1000 and "again" or "on"
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.long")
    assert(engine:run())
    local rows = assert(engine:history(id))
    assert.is_true(#rows < 400)
    local all, known = told(engine, id), 0
    for i = 2, #all do
      assert.is_nil(all[i]:find("a=-", 1, true))
      if all[i]:find "a=again" then known = known + 1 end
    end
    assert.is_true(known >= 10)
    assert.equal(all[#all], told(engine, id, { last = 1 })[1])
  end)

  it("are the same once the instance is archived", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.old", start = "f" }
    flow:fork("f", { next = { left = "a", right = "b" } })
    flow:step("a", { next = { go = "c" }, run = function() return "go" end })
    flow:step("c", { next = "j", run = function() end })
    flow:step("b", { next = "j", run = function() end })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.old")
    assert(engine:run())
    local before = told(engine, id)
    assert(engine:archive(id))
    assert.same(before, told(engine, id))
    assert.matches("a=left", table.concat(before, " "))
    assert.matches("c=go", table.concat(before, " "))
  end)

  it("cost no statement in a plain history, few where rows are missing",
    function()
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.many", start = "a" }
      flow:step("a", { next = { again = "f", on = "z" }, run = function(ctx)
        ctx.vars.n = (ctx.vars.n or 0) + 1
        return ctx.vars.n < 60 and "again" or "on"
      end })
      flow:fork("f", { next = { x = "x", y = "y" } })
      flow:step("x", { next = "j", run = function() end })
      flow:step("y", { next = "j", run = function() end })
      flow:join("j", { next = "a" })
      flow:finish "z"
      assert(engine:load(flow))
      local function nop() end
      assert(engine:load(kit.chain({ nop, nop }, "t.two")))
      local function sent(id, query)
        local before = engine:count().statements
        assert(engine:history(id, query))
        return engine:count().statements - before
      end
      local id = assert(engine:start "t.many")
      local two = assert(engine:start "t.two")
      assert(engine:run())
      local least = sent(two)
      assert.equal(least, sent(two))
      assert.equal(least + 1, sent(id)) -- the names of branches
      for _, query in ipairs { { node = "x" }, { node = "a" },
        { type = "step" }, { after = 50 }, { last = 20 } } do
        assert.is_true(sent(id, query) <= least + 4,
          pawl.json.encode(query))
      end
    end)
end)
