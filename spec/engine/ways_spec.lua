--- By which transition visits were entered, in all that may happen to an
--- instance: what is told may be so, as the graph and the rows before have it.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local ways = require "spec.support.ways"

local function noop() end

kit.describe("what is told of how a visit was entered", function(backend)
  local engine, clock, flows

  local function begun(flow, options)
    engine, clock = backend.fresh(options)
    flows = { flow }
    assert(engine:load(flow))
    local id = assert(engine:start(flow.code))
    assert(engine:run())
    return id
  end

  local function read(id, query)
    local rows = {}
    for _, row in ipairs(pawl.json.decode(assert(engine:history(id, query,
      "json")))) do
      if row.type ~= "trimmed" then rows[#rows + 1] = row end
    end
    return rows
  end

  --- Each row says the same in pages and lists, or nothing.
  local function check_pages(id, rows)
    local told = {}
    for _, row in ipairs(rows) do told[row.seq] = { row.transition_in } end
    local function check(query)
      for _, row in ipairs(read(id, query)) do
        assert.same(told[row.seq], { row.transition_in },
          ("row %d in %s"):format(row.seq, pawl.json.encode(query)))
      end
    end
    for _, row in ipairs(rows) do
      check { after = row.seq - 1, limit = 1 }
      check { after = row.seq - 1 }
      check { last = row.seq }
      check { type = row.type }
      if row.node ~= pawl.null then check { node = row.node } end
      if row.by ~= pawl.null then check { by = row.by } end
    end
  end

  --- "type node=transition" of all rows that have a node.
  local function told(id)
    local rows, graphs, list = read(id), {}, {}
    for i, flow in ipairs(flows) do
      graphs[i] = assert(engine.workflows:graph(flow.code, flow.version))
    end
    local wrong = ways.wrong(rows, ways.of(graphs))
    assert.is_nil(wrong)
    check_pages(id, rows)
    for _, row in ipairs(rows) do
      local way = row.transition_in
      way = way == nil and "?" or way == pawl.null and "-" or way
      if row.node ~= pawl.null then
        list[#list + 1] = ("%s %s=%s"):format(row.type, row.node, way)
      end
    end
    return list
  end

  ---- items of an each -------------------------------------------------------

  --- Items wait, go round, and go their ways.
  local function items(window)
    local flow = pawl.workflow { code = "t.items", start = "s" }
    flow:step("s", { next = { go = "e", no = "z" },
      run = function() return "go" end })
    flow:each("e", { items = function() return { 1, 2, 3, 4 } end,
      window = window, branch = "w", next = "z" })
    flow:wait("w", { event = "go", next = "c", match = function(event, ctx)
      return event.data.to == ctx.token.data.index
    end })
    flow:choice("c", { next = { again = "w", x = "x", on = "e" },
      choose = function(ctx) return ctx.event.data.way end })
    flow:step("x", { next = "e", run = noop })
    flow:finish "z"
    return flow
  end

  it("leaves out how an item begins, and says how it goes on", function()
    for window = 1, 3 do
      engine, clock = backend.fresh()
      flows = { items(window) }
      assert(engine:load(flows[1]))
      local id = assert(engine:start "t.items")
      assert(engine:run())
      local function send(...) -- in one go
        for _, what in ipairs { ... } do
          local to, way = what:match "(%d)(%a+)"
          if kit.status(engine, id) == "completed" then return end
          assert(engine:signal { name = "go", instance = id,
            data = { to = tonumber(to), way = way } })
        end
        assert(engine:run())
      end
      send("1on", "2again")
      send("2again", "1again", "3on")
      send("1x", "2on", "3again")
      for i = 1, 4 do send("1on", "2on", i .. "again", i .. "x") end
      for i = 1, 4 do send(i .. "on") end
      assert.equal("completed", kit.status(engine, id))
      local begins, seen = 0, {}
      for _, one in ipairs(told(id)) do
        local node, way = one:match "(%w+)=(.*)"
        if node == "w" and way == "?" then begins = begins + 1 end
        if node == "w" and way ~= "?" then assert.equal("again", way) end
        seen[#seen + 1] = one
        if node == "x" then assert.equal("x", way) end
        if node == "e" then assert.equal("go", way) end
      end
      assert.equal(4, begins, table.concat(seen, ", "))
    end
  end)

  it("leaves out what is behind a join in an item, where one row led to it",
    function()
      local function race(in_item)
        local over = in_item and "i" or "z"
        local flow = pawl.workflow { code = "t.race",
          start = in_item and "i" or "f" }
        if in_item then
          flow:each("i", { items = function() return { 1 } end, branch = "f",
            next = "z" })
        end
        flow:fork("f", { next = { l = "a", r = "b" } })
        flow:step("a", { next = "j", run = noop })
        flow:wait("b", { event = "never", next = "j" })
        flow:join("j", { expect = "any", losers = "cancel", next = "c" })
        flow:choice("c", { next = { yes = "e", no = over },
          choose = function() return "yes" end })
        flow:step("e", { next = "d", run = noop })
        flow:step("d", { next = over, run = noop })
        flow:finish "z"
        return told(begun(flow))
      end
      assert.same({ "started i=-", "step a=?", "dropped b=?", "step e=?",
        "step d=-", "each i=-" }, race(true))
      assert.same({ "started f=-", "step a=l", "dropped b=r", "step e=yes",
        "step d=-" }, race(false))
    end)

  it("knows forks, joins and further eachs within an item", function()
    local flow = pawl.workflow { code = "t.within", start = "e" }
    flow:each("e", { items = function() return { 1, 2 } end, branch = "a",
      window = 1, next = "z" })
    flow:step("a", { next = { go = "f" }, run = function() return "go" end })
    flow:fork("f", { next = { left = "b", right = "i" } })
    flow:step("b", { next = "j", run = noop })
    flow:each("i", { items = function() return { 1, 2 } end, branch = "d",
      next = "j" })
    flow:step("d", { next = "d2", run = noop })
    flow:step("d2", { next = "i", run = noop })
    flow:join("j", { next = "c" })
    flow:choice("c", { next = { yes = "g", no = "e" },
      choose = function() return "yes" end })
    flow:step("g", { next = "e", run = noop })
    flow:finish "z"
    local list = {}
    for _, one in ipairs(told(begun(flow))) do
      list[one] = (list[one] or 0) + 1
    end
    assert.same({ ["started e=-"] = 1, ["step a=?"] = 2,
      ["step b=left"] = 2, ["each i=right"] = 2, ["step d=?"] = 4,
      ["step d2=-"] = 4, ["step g=yes"] = 2, ["each e=-"] = 1 }, list)
  end)

  ---- boundaries -------------------------------------------------------------

  it("knows boundaries, lanes, and where they lead", function()
    local flow = pawl.workflow { code = "t.beside", start = "s" }
    flow:step("s", { next = { go = "t", no = "z" },
      run = function() return "go" end })
    flow:task("t", { title = "do", next = { yes = "f" },
      on_timer = { every = "1h", interrupt = false, next = "lane" },
      on_event = { event = "late", next = "f" } })
    flow:step("lane", { next = "gone", run = noop })
    flow:fork("f", { next = { l = "w", r = "w2" },
      on_timer = { after = "9h", next = "over" } })
    flow:wait("w", { event = "never", timeout = "1h",
      next = { received = "j", timeout = "k" } })
    flow:step("k", { next = "j", run = noop })
    flow:wait("w2", { event = "never", next = "j" })
    flow:join("j", { next = "z" })
    flow:step("over", { next = "z", on_error = { bad = "h" },
      run = function() error { code = "bad" } end, retry = { max = 2 } })
    flow:step("h", { next = "z", run = noop })
    flow:finish "gone"
    flow:finish "z"
    local id = begun(flow)
    kit.pass(engine, clock, 3 * 3600)
    assert(engine:signal { name = "late", instance = id })
    kit.pass(engine, clock, 10 * 3600)
    assert.completed(engine, id)
    local list = {}
    for _, one in ipairs(told(id)) do list[one] = (list[one] or 0) + 1 end
    assert.equal(3, list["timer t.on_timer=-"])
    assert.equal(3, list["step lane=-"])
    assert.equal(1, list["received t.on_event=-"])
    -- `previous` has the newest row, of what was dropped: that leads nowhere
    assert.equal(1, list["timeout w=?"])
    assert.equal(1, list["step k=timeout"])
    assert.equal(1, list["timer f.on_timer=-"])
    assert.equal(1, list["failed over=-"])
    assert.equal(1, list["step h=bad"])
  end)

  ---- people -----------------------------------------------------------------

  local function stopping(compensate)
    local flow = pawl.workflow { code = "t.stop", start = "s",
      compensate = compensate }
    flow:step("s", { next = { go = "a", no = "z" },
      run = function() return "go" end, undo = noop })
    flow:step("a", { next = { on = "b", no = "z" }, undo = noop,
      run = function(ctx) return ctx.visit and "on" end })
    flow:step("b", { next = "z", retry = { max = 2, base = 1 },
      run = function(ctx)
        if not (ctx.vars.ok or ctx.input and ctx.input.ok) then error "no" end
      end })
    flow:finish "z"
    return flow
  end

  it("knows undos, a restart, and what went before it", function()
    local id = begun(stopping())
    kit.pass(engine, clock, 60)
    assert.equal("failed", kit.status(engine, id))
    assert(engine:restart(id, { from = "a", by = "ann",
      reason = "again" }))
    assert(engine:edit(id, { set = { ok = true }, by = "ann" }))
    assert(engine:run())
    assert.completed(engine, id)
    assert(engine:restart(id, { from = "s", by = "ann" }))
    assert(engine:edit(id, { unset = { "ok" }, by = "ann" }))
    assert(engine:run())
    assert.same({ "step s=-", "step a=go", "failed b=on", "failed b=on",
      "undone a=-", "undone s=-" }, table.move(told(id), 1, 6, 1, {}))
    local rest = table.concat(told(id), ", ")
    assert.matches("restarted b=%?, changed a=%?, step a=%-, step b=on, ",
      rest)
    assert.matches("restarted z=%?, changed s=%?, step s=%-, step a=go, "
      .. "failed b=on$", rest)
  end)

  it("knows retries and requests between the attempts of a visit", function()
    local id = begun(stopping(false))
    assert(engine:suspend(id, { by = "ann" }))
    assert(engine:run())
    assert(engine:note(id, { by = "ann", text = "look" }))
    assert(engine:edit(id, { set = { ok = 1 }, by = "ann" }))
    assert(engine:resume(id, { by = "ann" }))
    kit.pass(engine, clock, 60)
    assert.completed(engine, id)
    for _, one in ipairs(told(id)) do
      if one:find " b=" then assert.matches("=on$", one) end
    end
  end)

  it("knows who halted, stepped and went on", function()
    engine, clock = backend.fresh()
    flows = { stopping() }
    assert(engine:load(flows[1]))
    for _, node in ipairs { "a", "b" } do
      assert(engine.breakpoints:set { workflow = "t.stop", node = node,
        by = "ann" })
    end
    local id = assert(engine:start("t.stop", { ok = true }))
    assert(engine:run())
    assert(engine:step(id, { by = "ann" }))
    assert(engine:run())
    assert(engine:continue(id, { by = "ann" }))
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ "step s=-", "halted a=go", "stepped a=go", "step a=go",
      "halted b=on", "continued b=on", "step b=on" }, told(id))
  end)

  it("knows who halted in branches, and behind a join", function()
    local flow = pawl.workflow { code = "t.lanes", start = "f" }
    flow:fork("f", { next = { l = "a", r = "b" } })
    flow:step("a", { next = "j", run = noop })
    flow:step("b", { next = "j", run = noop })
    flow:join("j", { next = "c" })
    flow:choice("c", { next = { yes = "e", no = "z" },
      choose = function() return "yes" end })
    flow:step("e", { next = "z", run = noop })
    flow:finish "z"
    engine, clock = backend.fresh()
    flows = { flow }
    assert(engine:load(flow))
    for _, node in ipairs { "a", "b", "c", "e" } do
      assert(engine.breakpoints:set { workflow = "t.lanes", node = node,
        by = "ann" })
    end
    local id = assert(engine:start "t.lanes")
    assert(engine:run())
    for _ = 1, 4 do
      engine:continue(id, { by = "ann" })
      assert(engine:run())
    end
    assert.completed(engine, id)
    local list = {}
    for _, one in ipairs(told(id)) do list[one] = (list[one] or 0) + 1 end
    for _, one in ipairs { "halted a=l", "step a=l", "halted b=r",
      "step b=r", "halted c=-", "halted e=yes", "step e=yes" } do
      assert.truthy(list[one], one)
    end
  end)

  ---- another version --------------------------------------------------------

  it("knows what came of one that went on in another version", function()
    local function version(n, name)
      local flow = pawl.workflow { code = "t.m", version = n, start = "s" }
      flow:step("s", { next = { go = name, no = "z" },
        run = function() return "go" end })
      flow:wait(name, { event = "go", timeout = "9h",
        next = { received = "a", timeout = "z" } })
      flow:step("a", { next = "z", run = noop })
      flow:finish "z"
      return flow
    end
    local id = begun(version(1, "w"))
    flows[2] = version(2, "v")
    assert(engine:load(flows[2]))
    assert(engine.workflows:transfer("t.m", 1, 2, { map = { w = "v" } }))
    assert(engine:run())
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    assert.completed(engine, id)
    local list = told(id)
    assert.equal("step s=-", list[1])
    assert.equal("step a=received", list[#list])
    -- no row says that what was "w" is "v"
    assert.equal("received v=?", list[#list - 1])
  end)

  ---- long ones --------------------------------------------------------------

  it("knows by turns which way led, and leaves out what lies far back",
    function()
      local flow = pawl.workflow { code = "t.turns", start = "s" }
      flow:step("s", { next = { go = "w" }, run = function() return "go" end })
      flow:wait("w", { event = "go", next = "a" })
      flow:step("a", { next = { odd = "c", even = "b", over = "z" },
        run = function(ctx)
          ctx.vars.n = (ctx.vars.n or 0) + 1
          return ctx.vars.n > 4 and "over"
            or ctx.vars.n % 2 == 1 and "odd" or "even"
        end })
      flow:step("b", { next = "a", run = noop })
      flow:choice("c", { next = { b = "b", a = "a" }, choose = function(ctx)
        return ctx.vars.n == 1 and "b" or "a"
      end })
      flow:finish "z"
      local id = begun(flow)
      for i = 1, 1005 do
        assert(engine:note(id, { by = "ann", text = tostring(i) }))
      end
      assert(engine:run())
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      local rows = read(id)
      local function way(at, query)
        local row = query and read(id, query)[1] or rows[at]
        return row.transition_in
      end
      assert.equal("go", way(2))
      assert.equal("go", way(1001))
      -- the whole does not know it either
      assert.is_nil(way(1007))
      assert.is_nil(way(nil, { after = 1006, limit = 1 }))
      assert.is_nil(way(nil, { type = "received" }))
      local list = {}
      for i = 1008, #rows do
        local one = rows[i].transition_in
        list[#list + 1] = rows[i].node .. "="
          .. (one == nil and "?" or one == pawl.null and "-" or one)
      end
      assert.same({ "a=-", "b=b", "a=-", "b=even", "a=-", "a=a", "b=even",
        "a=-" }, list)
      local wrong = ways.wrong(rows,
        ways.of { assert(engine.workflows:graph "t.turns") })
      assert.is_nil(wrong)
    end)
end)
