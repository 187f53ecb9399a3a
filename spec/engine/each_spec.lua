-- Dynamic fan-out: one branch, or one child, for each item of a list that is
-- known only at run time.
local fans = require "spec.support.fans"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local HOUR = 3600

local fan, one = fans.fan, fans.one

local function start(engine, items, options)
  return assert(engine:start("t.each", { items = pawl.array(items) }, options))
end

local function begin(engine, items)
  local id = start(engine, items)
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

local function of_type(engine, id, kind)
  local found = {}
  for _, entry in ipairs(assert(engine:history(id))) do
    if entry.type == kind then found[#found + 1] = entry end
  end
  return found
end

--- The token that waits at the each: its counts.
local function parked(engine, id, name)
  for _, t in ipairs(assert(engine:tokens(id))) do
    if t.node == (name or "each") and t.state == "waiting" then return t end
  end
end

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

local function branch_names(engine, id)
  local names = {}
  for _, t in ipairs(assert(engine:tokens(id))) do
    if t.branch then names[#names + 1] = t.branch end
  end
  table.sort(names, function(a, b) return tonumber(a) < tonumber(b) end)
  return table.concat(names, " ")
end

kit.describe("an each over branches", function(backend)
  it("gives the results in the order of the items", function()
    local engine = backend.fresh()
    local seen = {}
    assert(engine:load(fan { one(function(item, ctx)
      seen[#seen + 1] = { ctx.token.data.index, item, ctx.token.branch }
      return item * 10
    end) }))
    local id = begin(engine, { 3, 1, 2 })
    assert.same({ got = { 30, 10, 20 } }, get(engine, id).output)
    assert.same({ { 1, 3, "1" }, { 2, 1, "2" }, { 3, 2, "3" } }, seen)
    local ended = of_type(engine, id, "each")
    assert.equal(1, #ended)
    assert.equal("3 done, 0 failed", ended[1].text)
    assert.equal("each", ended[1].node)
  end)

  it("keeps their order though the last item ends first", function()
    local engine, clock = backend.fresh()
    assert(engine:load(fan {
      { "timer", "nap", { at = function(ctx)
        return ctx.now() + ctx.token.data.item * HOUR
      end, next = "item" } },
      one(function(item) return { slept = item } end) }))
    local id = begin(engine, { 3, 2, 1 })
    assert.equal("waiting", kit.status(engine, id))
    for n = 1, 3 do
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.equal(n == 3, kit.status(engine, id) == "completed")
    end
    assert.same({ { slept = 3 }, { slept = 2 }, { slept = 1 } },
      get(engine, id).output.got)
  end)

  it("goes straight on when there are no items", function()
    local engine, _, url = backend.fresh()
    local runs = 0
    assert(engine:load(fan { one(function() runs = runs + 1 end) }))
    local id = begin(engine, {})
    assert.completed(engine, id)
    assert.equal(0, runs)
    assert.equal('{"got":[]}', pawl.json.encode(get(engine, id).output))
    assert.equal(0, kit.count(backend, url, "item"))
    assert.equal("no items", of_type(engine, id, "each")[1].text)
  end)

  it("goes on with one item", function()
    local engine = backend.fresh()
    assert(engine:load(fan { one(function(item) return item end) }))
    assert.same({ "only" }, get(engine, begin(engine, { "only" })).output.got)
  end)

  it("brings items and results over as they are", function()
    local engine = backend.fresh()
    assert(engine:load(fan { one(function(item) return item end) }))
    local items = { false, 0, -0.0, 1.5, 1 << 62, "", "a\"b\\\u{e9}\n",
      pawl.array {}, { a = { b = { 1, 2 } } }, pawl.null }
    local id = begin(engine, items)
    assert.equal(pawl.json.encode(pawl.array(items)),
      pawl.json.encode(get(engine, id).output.got))
  end)

  it("has null where a branch gave nothing", function()
    local engine = backend.fresh()
    assert(engine:load(fan { one(function(item)
      if item ~= 2 then return item end
    end) }))
    local id = begin(engine, { 1, 2, 3 })
    assert.equal("[1,null,3]", pawl.json.encode(get(engine, id).output.got))
  end)

  it("keeps no list where nobody asks for it", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.each", start = "each" }
    flow:each("each", { items = function() return { 1, 2, 3 } end,
      branch = "item", next = "z" })
    flow:step("item", { run = function(ctx)
      ctx.vars.sum = (ctx.vars.sum or 0) + ctx.token.data.item
    end, next = "each" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    assert.same({ sum = 6 }, get(engine, begin(engine, {})).output)
  end)

  it("takes the output of the last step, whatever stands behind it",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(fan {
        one(function(item) return { of = item } end, { next = "odd" }),
        { "choice", "odd", { choose = function(ctx)
          return ctx.token.data.item % 2 == 1 and "yes" or "no"
        end, next = { yes = "nap", no = "each" } } },
        { "timer", "nap", { after = HOUR, next = "each" } } }))
      local id = begin(engine, { 1, 2, 3 })
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.same({ { of = 1 }, { of = 2 }, { of = 3 } },
        get(engine, id).output.got)
    end)

  it("takes the output of the very last step, not of one before", function()
    local engine = backend.fresh()
    assert(engine:load(fan {
      one(function(item) return item end, { next = "more" }),
      { "step", "more", { run = function(ctx)
        if ctx.token.data.item == 2 then return nil, "two" end
      end, next = "each" } } }))
    assert.equal('[null,"two"]',
      pawl.json.encode(get(engine, begin(engine, { 1, 2 })).output.got))
  end)

  it("gives a wait's event as the result", function()
    local engine = backend.fresh()
    assert(engine:load(fan {
      { "wait", "item", { event = "answer", key = function(ctx)
        return ctx.token.data.item
      end, into = "last", next = "each" } } }))
    local id = begin(engine, { "a", "b", "c" })
    for _, key in ipairs { "b", "c", "a" } do
      assert.equal(1, assert(engine:signal { name = "answer", key = key,
        data = { from = key } }))
      assert(engine:run())
    end
    assert.same({ { from = "a" }, { from = "b" }, { from = "c" } },
      get(engine, id).output.got)
  end)

  it("gives each item its own data beside what the token had", function()
    local engine = backend.fresh()
    local after
    local flow = pawl.workflow { code = "t.each", start = "s" }
    flow:step("s", { run = function(ctx) ctx.token.data.common = "c" end,
      next = "each" })
    flow:each("each", { items = function() return { 1, 2 } end,
      branch = "a", into = "got", next = "e" })
    flow:step("a", { run = function(ctx)
      ctx.token.data.mine = ctx.token.data.item * 2
    end, next = "b" })
    flow:step("b", { run = function(ctx) return nil, ctx.token.data end,
      next = "each" })
    flow:step("e", { run = function(ctx) after = ctx.token.data end,
      next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars.got end })
    assert(engine:load(flow))
    local id = begin(engine, {})
    assert.same({ { common = "c", mine = 2, item = 1, index = 1 },
      { common = "c", mine = 4, item = 2, index = 2 } },
      get(engine, id).output)
    assert.same({ common = "c" }, after)
  end)

  it("has no more under way than its window, and says how far it is",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(fan({
        { "timer", "item", { after = HOUR, next = "each" } } },
        { window = 3 })))
      local id = begin(engine, numbers(7))
      assert.equal("1 2 3", branch_names(engine, id))
      local t = parked(engine, id)
      assert.same({ 7, 0, 0 },
        { t.detail.total, t.detail.done, t.detail.failed })
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.equal("4 5 6", branch_names(engine, id))
      t = parked(engine, id)
      assert.same({ 7, 3, 0 },
        { t.detail.total, t.detail.done, t.detail.failed })
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.equal("7", branch_names(engine, id))
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("fills its window up as items end, one by one", function()
    local engine, clock = backend.fresh()
    assert(engine:load(fan({
      { "timer", "item", { at = function(ctx)
        return ctx.now() + ctx.token.data.item * HOUR
      end, next = "each" } } }, { window = 2 })))
    local id = begin(engine, { 1, 5, 1, 1 })
    for _, names in ipairs { "2 3", "2 4", "2" } do
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.equal(names, branch_names(engine, id))
    end
  end)

  it("runs a thousand items in a window of seven", function()
    local engine, _, url = backend.fresh()
    local live, most = 0, 0
    assert(engine:load(fan({
      { "step", "item", { run = function()
        live = live + 1
        most = math.max(most, live)
      end, next = "second" } },
      { "step", "second", { run = function(ctx)
        live = live - 1
        return nil, ctx.token.data.item + 1
      end, next = "each" } } }, { window = 7 })))
    local id = begin(engine, numbers(1000))
    local got = get(engine, id).output.got
    assert.equal(1000, #got)
    for i = 1, 1000 do assert(got[i] == i + 1) end
    assert.equal(7, most)
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
  end)

  it("goes on though it is woken between any two of its commits", function()
    for skip = 0, 12 do
      local engine = backend.fresh()
      assert(engine:load(fan({ one(function(item) return item end) },
        { window = 1 })))
      local id = start(engine, { 1, 2 })
      for _ = 1, skip do assert(engine:tick(0)) end
      local ok, err = engine:wake(id, { by = "spec" })
      if not ok then assert.equal("already_finished", err.code) end
      assert(engine:run())
      assert.equal("completed", kit.status(engine, id), skip)
      assert.same({ 1, 2 }, get(engine, id).variables.got)
    end
  end)

  it("keeps items apart that are all under way at once, forks and all",
    function()
      local engine = backend.fresh()
      assert(engine:load(fan({
        { "fork", "f", { next = { "a", "b" } } },
        { "step", "a", { next = "j", run = function() end } },
        { "wait", "b", { event = "go", next = "j" } },
        { "join", "j", { next = "item" } },
        one(function(item) return item * 2 end),
      }, { window = 400 })))
      local id = begin(engine, numbers(300))
      assert.equal(601, #assert(engine:tokens(id)))
      assert(engine:signal { name = "go", instance = id })
      assert(engine:run())
      local got = get(engine, id).output.got
      assert.equal(300, #got)
      for i = 1, 300 do assert(got[i] == 2 * i) end
    end)

  it("ends an item with its losers only, of many under way", function()
    local engine = backend.fresh()
    assert(engine:load(fan({
      { "fork", "f", { next = { "a", "b" } } },
      { "choice", "a", { choose = function(ctx)
        return ctx.token.data.item % 2 == 0 and "go" or "stay"
      end, next = { go = "j", stay = "w" } } },
      { "wait", "w", { event = "go", next = "j" } },
      { "wait", "b", { event = "never", next = "j" } },
      { "join", "j", { expect = "any", next = "item" } },
      one(function(item) return item end),
    }, { window = 100 })))
    local id = begin(engine, numbers(50))
    assert.equal(1 + 2 * 25, #assert(engine:tokens(id)))
    assert.equal(25, parked(engine, id).detail.done)
    assert(engine:signal { name = "go", instance = id })
    assert(engine:run())
    assert.same(numbers(50), get(engine, id).output.got)
    assert.equal(50, #of_type(engine, id, "dropped"))
  end)

  it("takes what items may ask for only, a list", function()
    local engine = backend.fresh()
    for _, wrong in ipairs { "text", 7, { a = 1 } } do
      assert(engine:load(fan({ one(function() end) },
        { items = function() return wrong end },
        { code = "t." .. type(wrong) })))
      local id = assert(engine:start("t." .. type(wrong)))
      assert(engine:run())
      local failed = get(engine, id)
      assert.equal("failed", failed.status)
      assert.matches("items", failed.error.message)
      assert.equal("each", of_type(engine, id, "failed")[1].node)
    end
  end)

  it("is told of null by its name, where that is no list", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ one(function() end) },
      { items = function(ctx) return ctx.input.list end },
      { code = "t.null" })))
    local id = assert(engine:start("t.null", { list = pawl.null }))
    assert(engine:run())
    assert.equal("`items` returned null as its list",
      get(engine, id).error.message)
  end)

  it("tells a handler's failure in items, which on_error may route",
    function()
      local engine = backend.fresh()
      assert(engine:load(fan({ one(function() end),
        { "step", "mend", { run = function(ctx) ctx.vars.mended = true end,
          next = "z" } } },
        { items = function() error { code = "no_list", message = "none" } end,
          on_error = { no_list = "mend" } })))
      local id = begin(engine, {})
      assert.same({ mended = true }, get(engine, id).output)
    end)
end)

kit.describe("a failed item", function(backend)
  local function bad(which, retry)
    return one(function(item)
      if item == which then error { code = "broken", message = "no luck" } end
      return item
    end, { retry = retry or { max = 1 } })
  end

  it("ends all others and fails the node", function()
    local engine, clock, url = backend.fresh()
    local late = 0
    assert(engine:load(fan({
      { "choice", "which", { choose = function(ctx)
        return ctx.token.data.item == 2 and "bad" or "good"
      end, next = { bad = "bad", good = "nap" } } },
      { "step", "bad", { retry = { max = 1 }, run = function()
        error { code = "broken", message = "no luck" }
      end, next = "each" } },
      { "timer", "nap", { after = HOUR, next = "late" } },
      { "step", "late", { run = function() late = late + 1 end,
        next = "each" } } })))
    local id = begin(engine, { 1, 2, 3 })
    local failed = get(engine, id)
    assert.equal("failed", failed.status)
    assert.equal("broken", failed.error.raised or failed.error.code)
    assert.same({}, assert(engine:tokens(id)))
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
    local dropped = of_type(engine, id, "dropped")
    assert.equal(3, #dropped)
    clock:advance(HOUR + 1)
    assert(engine:run())
    assert.equal(0, late)
  end)

  it("leads where the each's on_error says, with nothing left behind",
    function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(fan({ bad(2),
        { "step", "mend", { run = function(ctx) ctx.vars.mended = true end,
          next = "z" } } },
        { on_error = { broken = "mend" }, window = 1 })))
      local id = begin(engine, { 1, 2, 3 })
      assert.same({ mended = true }, get(engine, id).output)
      assert.is_nil(get(engine, id).error)
      clock:advance(HOUR)
      assert.equal(0, assert(engine:run()).steps)
      assert.equal(0, kit.count(backend, url, "token",
        "state in ('active', 'waiting')"))
    end)

  it("may be collected in its place", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ bad(2) }, { on_failure = "collect" })))
    local id = begin(engine, { 1, 2, 3 })
    local done = get(engine, id)
    assert.equal("completed", done.status)
    assert.is_nil(done.error)
    assert.same({ 1, { error = { code = "broken", message = "no luck" } }, 3 },
      done.output.got)
    assert.equal("2 done, 1 failed", of_type(engine, id, "each")[1].text)
  end)

  it("is tried again by its own step's policy", function()
    local engine, clock = backend.fresh()
    local left = 2
    assert(engine:load(fan { one(function(item)
      if item == 2 then
        left = left - 1
        if left >= 0 then error "not yet" end
      end
      return item
    end, { retry = { max = 3, base = 10, jitter = 0 } }) }))
    local id = begin(engine, { 1, 2, 3 })
    for _ = 1, 2 do
      assert.equal("2", branch_names(engine, id))
      clock:advance(60)
      assert(engine:run())
    end
    assert.same({ 1, 2, 3 }, get(engine, id).output.got)
  end)

  it("may have all failed and still be collected", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ one(function(item)
      error { code = "e" .. item, message = "m" .. item }
    end, { retry = { max = 1 } }) },
      { on_failure = "collect", window = 2 })))
    local id = begin(engine, numbers(5))
    local got = get(engine, id).output.got
    for i = 1, 5 do
      assert.same({ error = { code = "e" .. i, message = "m" .. i } }, got[i])
    end
  end)

  it("is told whole of the first eight, of all others cut, and marked",
    function()
      local engine = backend.fresh()
      local function said(item) return item .. (" word"):rep(1000) end
      assert(engine:load(fan({ one(function(item)
        error { code = "long", message = item == 1 and said(1):rep(4)
          or said(item) }
      end, { retry = { max = 1 } }) },
        { on_failure = "collect", window = 1 })))
      local id = begin(engine, numbers(10))
      local got = get(engine, id).output.got
      assert.equal(16384, #got[1].error.message)
      assert.matches(" %.%.%. %(cut%)$", got[1].error.message)
      for i = 2, 8 do assert.equal(said(i), got[i].error.message) end
      for i = 9, 10 do
        assert.is_true(#got[i].error.message < 2048)
        assert.matches("^" .. i .. " word.* %.%.%. %(cut%)$",
          got[i].error.message)
      end
    end)

  it("is the whole item's: its other branches go with it", function()
    local engine = backend.fresh()
    assert(engine:load(fan({
      { "fork", "f", { next = { "item", "w" } } },
      one(function(item)
        if item == 2 then error { code = "broken" } end
      end, { retry = { max = 1 }, next = "j" }),
      { "wait", "w", { event = "w", key = function(ctx)
        return ctx.token.data.item
      end, next = "j" } },
      { "join", "j", { next = "each" } } },
      { on_failure = "collect", branch = "f" })))
    local id = begin(engine, { 1, 2 })
    assert.equal(0, assert(engine:signal { name = "w", key = 2 }))
    assert.equal(1, assert(engine:signal { name = "w", key = 1 }))
    assert(engine:run())
    local got = get(engine, id).output.got
    assert.equal("broken", got[2].error.code)
    assert.is_nil(got[1] ~= pawl.null and got[1].error or nil)
  end)
end)

kit.describe("an end within an each", function(backend)
  it("at a finish ends that item, without a result", function()
    local engine = backend.fresh()
    assert(engine:load(fan { one(function(item) return item end,
      { next = "odd" }),
      { "choice", "odd", { choose = function(ctx)
        return ctx.token.data.item % 2 == 1 and "yes" or "no"
      end, next = { yes = "each", no = "out" } } },
      { "finish", "out" } }))
    local id = begin(engine, { 1, 2, 3 })
    assert.completed(engine, id)
    assert.equal("[1,null,3]", pawl.json.encode(get(engine, id).output.got))
  end)

  it("at a terminating finish ends everything", function()
    local engine, _, url = backend.fresh()
    local runs = 0
    assert(engine:load(fan({ one(function() runs = runs + 1 end,
      { next = "third" }),
      { "choice", "third", { choose = function(ctx)
        return ctx.token.data.item == 3 and "yes" or "no"
      end, next = { yes = "out", no = "each" } } },
      { "finish", "out", { terminate = true,
        output = function() return "stopped" end } } }, { window = 1 })))
    local id = begin(engine, numbers(9))
    assert.completed(engine, id)
    assert.equal("stopped", get(engine, id).output)
    assert.equal(3, runs)
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
  end)

  it("at a failed finish fails everything, also when items are collected",
    function()
      local engine = backend.fresh()
      assert(engine:load(fan({ one(function() end, { next = "third" }),
        { "choice", "third", { choose = function(ctx)
          return ctx.token.data.item == 3 and "yes" or "no"
        end, next = { yes = "out", no = "each" } } },
        { "finish", "out", { status = "failed" } } },
        { on_failure = "collect" })))
      local id = begin(engine, numbers(5))
      assert.failed(engine, id)
    end)

  it("by the instance's cancellation drops all of them", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(fan({
      { "wait", "item", { event = "w", next = "each" } } }, { window = 4 })))
    local id = begin(engine, numbers(9))
    assert.equal(4, kit.count(backend, url, "subscription"))
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.same({}, assert(engine:tokens(id)))
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
  end)

  it("by its own timeout drops the items and fails the node", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(fan({
      { "wait", "item", { event = "w", next = "each" } },
      { "step", "mend", { run = function(ctx) ctx.vars.late = true end,
        next = "z" } } },
      { timeout = "2h", on_error = { timeout = "mend" } })))
    local id = begin(engine, numbers(3))
    clock:advance(2 * HOUR + 1)
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ late = true }, get(engine, id).output)
    assert.equal(0, kit.count(backend, url, "subscription"))
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
  end)
end)

kit.describe("eachs and other nodes", function(backend)
  it("may be nested", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.each", start = "rows" }
    flow:each("rows", { items = function() return { { 1, 2 }, { 3 }, {} } end,
      branch = "cells", window = 2, into = "got", next = "z" })
    flow:each("cells", { items = function(ctx) return ctx.token.data.item end,
      branch = "cell", next = "sum" })
    flow:step("cell", { run = function(ctx)
      local item = ctx.token.data.item
      ctx.vars.cells = ctx.vars.cells or pawl.array {}
      table.insert(ctx.vars.cells, item)
      return nil, item * 10
    end, next = "cells" })
    flow:step("sum", { run = function(ctx)
      return nil, #ctx.token.data.item
    end, next = "rows" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local id = begin(engine, {})
    local out = get(engine, id).output
    assert.same({ 2, 1, 0 }, out.got)
    table.sort(out.cells)
    assert.same({ 1, 2, 3 }, out.cells)
  end)

  it("may stand in branches of a fork, each with its own items", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.each", start = "f" }
    flow:fork("f", { next = { "left", "right" } })
    for _, name in ipairs { "left", "right" } do
      flow:each(name, { items = function() return numbers(20) end,
        branch = name .. "_item", window = 3, into = name .. "s", next = "j" })
      flow:step(name .. "_item", { run = function(ctx)
        return nil, name .. ctx.token.data.item
      end, next = name })
    end
    flow:join("j", { next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.vars end })
    assert(engine:load(flow))
    local out = get(engine, begin(engine, {})).output
    for i = 1, 20 do
      assert.equal("left" .. i, out.lefts[i])
      assert.equal("right" .. i, out.rights[i])
    end
  end)

  it("may fork an item, whose branches meet before it ends", function()
    local engine = backend.fresh()
    assert(engine:load(fan({
      { "fork", "f", { next = { "a", "b" } } },
      { "step", "a", { run = function(ctx)
        ctx.vars["a" .. ctx.token.data.index] = ctx.token.branch
      end, next = "j" } },
      { "step", "b", { run = function(ctx)
        ctx.vars["b" .. ctx.token.data.index] = ctx.token.branch
      end, next = "j" } },
      { "join", "j", { next = "sum" } },
      { "step", "sum", { run = function(ctx)
        return nil, { ctx.token.data.item, ctx.token.branch }
      end, next = "each" } } }, { branch = "f", window = 2 })))
    local id = begin(engine, { "x", "y", "z" })
    assert.same({ got = { { "x", "1" }, { "y", "2" }, { "z", "3" } },
      a1 = "a", a2 = "a", a3 = "a", b1 = "b", b2 = "b", b3 = "b" },
      get(engine, id).output)
  end)

  it("gives the output of the step that led to an item's join last",
    function()
      local engine = backend.fresh()
      assert(engine:load(fan({
        { "fork", "f", { next = { "a", "b" } } },
        { "step", "a", { run = function() return nil, "a" end, next = "j" } },
        { "step", "b", { run = function() return nil, "b" end, next = "b2" } },
        { "step", "b2", { run = function() return nil, "b2" end,
          next = "j" } },
        { "join", "j", { next = "each" } } }, { branch = "f" })))
      local id = begin(engine, { "x", "y" })
      assert.same({ "b2", "b2" }, get(engine, id).output.got)
    end)

  it("may come again in a loop with fewer items", function()
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.each", start = "each" }
    flow:each("each", { items = function(ctx)
      return numbers(5 - 2 * (ctx.vars.n or 0))
    end, branch = "item", window = 2, into = "got", next = "n" })
    flow:step("item", { run = function(ctx)
      return nil, { ctx.vars.n or 0, ctx.token.data.item }
    end, next = "each" })
    flow:step("n", { run = function(ctx)
      ctx.vars.all = ctx.vars.all or pawl.array {}
      table.insert(ctx.vars.all, ctx.vars.got)
      ctx.vars.n = (ctx.vars.n or 0) + 1
      return ctx.vars.n < 3 and "again" or "enough"
    end, next = { again = "each", enough = "z" } })
    flow:finish("z", { output = function(ctx) return ctx.vars.all end })
    assert(engine:load(flow))
    local id = begin(engine, {})
    assert.same({ { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 0, 4 }, { 0, 5 } },
      { { 1, 1 }, { 1, 2 }, { 1, 3 } }, { { 2, 1 } } },
      get(engine, id).output)
    assert.equal(3, #of_type(engine, id, "each"))
    assert.truthy(url)
  end)
end)

kit.describe("an each in a race", function(backend)
  it("runs no further item once it is cancelled", function()
    local engine, rival, clock, url, id
    local runs = 0
    local flow = fan({ one(function(item)
      runs = runs + 1
      if item == 5 then assert(rival:cancel(id, "enough")) end
    end) }, { window = 2 })
    engine, rival, clock, url = kit.pair(backend, { flow })
    assert.truthy(clock)
    id = start(engine, numbers(50))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert(runs <= 6, runs) -- what ran beside it in the same turn
    assert.equal(runs, #of_type(engine, id, "step"))
    assert.equal(0, kit.count(backend, url, "token",
      "state in ('active', 'waiting')"))
  end)

  it("keeps what comes for one item while another runs", function()
    local engine, rival, id
    local flow = fan({
      { "choice", "which", { choose = function(ctx)
        return ctx.token.data.item == 1 and "w" or "s"
      end, next = { w = "w", s = "s" } } },
      { "wait", "w", { event = "go", into = "w", next = "each" } },
      { "step", "s", { run = function(ctx)
        if ctx.token.data.item == 2 then
          assert.equal(1, assert(rival:signal { name = "go", instance = id,
            data = "for 1" }))
        end
        return nil, ctx.token.data.item
      end, next = "each" } } }, { window = 2 })
    engine, rival = kit.pair(backend, { flow })
    id = start(engine, numbers(6))
    assert(engine:run())
    assert(rival:run())
    assert.completed(engine, id)
    assert.same({ "for 1", 2, 3, 4, 5, 6 }, get(engine, id).output.got)
    assert.equal(5, #of_type(engine, id, "step"))
  end)
end)

kit.describe("an each whose worker dies", function(backend)
  it("ends every item once, and none is lost", function()
    local engine, rival, clock, id
    local runs, stalled = {}, false
    local flow = fan({ one(function(item)
      runs[item] = (runs[item] or 0) + 1
      if item == 8 and not stalled then
        stalled = true
        clock:advance(31)
        assert(rival:run()) -- takes over, and finishes
      end
      return item
    end) }, { window = 5 })
    engine, rival, clock = kit.pair(backend, { flow })
    id = start(engine, numbers(23))
    assert.equal(1, assert(engine:run()).lost)
    assert.completed(engine, id)
    assert.same(numbers(23), get(engine, id).output.got)
    for i = 1, 23 do
      assert(runs[i] == 1 or i >= 6 and i <= 10 and runs[i] == 2, i)
    end
    assert.equal(23, #of_type(engine, id, "step"))
  end)

  it("goes on where it was under another engine, item by item", function()
    local engine, rival = kit.pair(backend, { fan({
      one(function(item) return item end) }, { window = 3 }) })
    local id = start(engine, numbers(20))
    local turns = 0
    while kit.status(engine, id) ~= "completed" do
      turns = turns + 1
      assert(turns < 100)
      assert((turns % 2 == 1 and engine or rival):tick(0))
    end
    assert.same(numbers(20), get(engine, id).output.got)
    assert.equal(20, #of_type(engine, id, "step"))
  end)
end)

kit.describe("an each over children", function(backend)
  local function child(run, more)
    local flow = pawl.workflow { code = "t.item", start = "a" }
    local options = { run = run or function() end, next = "z" }
    for key, value in pairs(more or {}) do options[key] = value end
    flow:step("a", options)
    flow:finish("z", { output = function(ctx) return ctx.vars.out end })
    return flow
  end

  local function parent(each)
    local given = { workflow = "t.item" }
    for key, value in pairs(each or {}) do given[key] = value end
    return fan({}, given)
  end

  local function double(ctx) ctx.vars.out = { twice = ctx.input.n * 2 } end

  local function inputs(n)
    local list = {}
    for i = 1, n do list[i] = { n = i } end
    return list
  end

  it("gives each its item as input, and takes its output as the result",
    function()
      local engine = backend.fresh()
      assert(engine:load(child(double)))
      assert(engine:load(parent { window = 2 }))
      local id = begin(engine, inputs(5))
      local parent_now = get(engine, id)
      assert.equal("completed", parent_now.status)
      assert.same({ { twice = 2 }, { twice = 4 }, { twice = 6 },
        { twice = 8 }, { twice = 10 } }, parent_now.output.got)
      local children = assert(engine:children(id, { limit = 100 }))
      assert.equal(5, #children)
      local seen = {}
      for _, one_child in ipairs(children) do
        local it = get(engine, one_child.id)
        assert.same({ id, id, "each" }, { it.parent, it.root, it.parent_node })
        seen[it.parent_index + 1] = it.input.n
      end
      assert.same({ 1, 2, 3, 4, 5 }, seen)
    end)

  it("goes straight on when there are no items", function()
    local engine = backend.fresh()
    assert(engine:load(child(double)))
    assert(engine:load(parent()))
    local id = begin(engine, {})
    assert.completed(engine, id)
    assert.same({}, assert(engine:children(id)))
  end)

  it("has no more children than its window", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.item", start = "t" }
    flow:timer("t", { after = HOUR, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(parent { window = 3 }))
    local id = begin(engine, inputs(7))
    for i, count in ipairs { 3, 6, 7 } do
      assert.equal(count, #assert(engine:children(id)))
      assert.equal(math.min(3 * (i - 1), 7), parked(engine, id).detail.done)
      clock:advance(HOUR + 1)
      assert(engine:run())
    end
    assert.completed(engine, id)
  end)

  it("runs a thousand items in a window of seven", function()
    local engine = backend.fresh { shards = 3 }
    local live, most = 0, 0
    assert(engine:load(child(function(ctx)
      double(ctx)
      live = live + 1
      most = math.max(most, live)
    end, { next = "b" }):step("b", { run = function()
      live = live - 1
    end, next = "z" })))
    assert(engine:load(parent { window = 7 }))
    local id = begin(engine, inputs(1000))
    local got = get(engine, id).output.got
    assert.equal(1000, #got)
    for i = 1, 1000 do assert(got[i].twice == 2 * i) end
    assert(most <= 7)
  end)

  it("stops at the first failure, and cancels the others", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.item", start = "a" }
    flow:step("a", { retry = { max = 1 }, run = function(ctx)
      if ctx.input.n == 2 then
        error { code = "broken", message = "no luck" }
      end
    end, next = "w" })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(parent { window = 3 }))
    local id = begin(engine, inputs(9))
    local failed = get(engine, id)
    assert.equal("failed", failed.status)
    assert.equal("broken", failed.error.raised or failed.error.code)
    local children = assert(engine:children(id, { limit = 100 }))
    assert.equal(3, #children)
    for _, one_child in ipairs(children) do
      local it = get(engine, one_child.id)
      assert.equal(it.input.n == 2 and "failed" or "cancelled", it.status)
    end
  end)

  it("collects failures and cancellations in their places", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.item", start = "a" }
    flow:step("a", { retry = { max = 1 }, run = function(ctx)
      if ctx.input.n == 2 then
        error { code = "broken", message = "no luck" }
      end
    end, next = "w" })
    flow:wait("w", { event = "go", next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.input.n end })
    assert(engine:load(flow))
    assert(engine:load(parent { on_failure = "collect" }))
    local id = begin(engine, inputs(3))
    for _, one_child in ipairs(assert(engine:children(id))) do
      local it = get(engine, one_child.id)
      if it.input.n == 1 then
        assert(engine:cancel(it.id, "enough"))
      elseif it.input.n == 3 then
        assert(engine:signal { name = "go", instance = it.id })
      end
    end
    assert(engine:run())
    local got = get(engine, id).output.got
    assert.equal("child_cancelled", got[1].error.code)
    assert.equal("broken", got[2].error.code)
    assert.equal(3, got[3])
  end)

  it("takes each result once though it is delivered twice", function()
    local engine, rival, clock, url = kit.pair(backend, {
      child(double), parent { window = 2 } })
    local id = start(engine, inputs(6))
    local store = kit.store(url, clock)
    local turns, again = 0, 0
    while kit.status(engine, id) ~= "completed" do
      turns = turns + 1
      assert(turns < 200)
      assert((turns % 2 == 0 and engine or rival):tick(0))
      -- as one who had read a message and was slow to hand it over
      for _, one_child in ipairs(assert(engine:children(id))) do
        local it = get(engine, one_child.id)
        if it.status == "completed" and
          kit.status(engine, id) ~= "completed" then
          kit.run(store, "agenda_wake", { shard = 0, id = id,
            now = store:now() })
          kit.run(store, "inbox_insert", { shard = 0, id = id,
            no = kit.draw_id(), kind = "child", event_id = "child:" .. it.id,
            source = "system", now = store:now(),
            data = pawl.json.encode { child = it.id, status = "completed",
              token = 1, visit = 1, node = "each", index = it.parent_index,
              output = "twice" } })
          again = again + 1
        end
      end
    end
    assert(again > 6)
    local got = get(engine, id).output.got
    assert.equal(6, #got)
    for i = 1, 6 do assert.same({ twice = 2 * i }, got[i]) end
    assert.equal(6, #assert(engine:children(id, { limit = 100 })))
  end)

  it("leaves children alone that are to be left", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.item", start = "w" }
    flow:wait("w", { event = "go", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(parent { parent_end = "leave" }))
    local id = begin(engine, inputs(2))
    assert(engine:cancel(id, "enough"))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    for _, one_child in ipairs(assert(engine:children(id))) do
      assert.equal("waiting", one_child.status)
      assert(engine:signal { name = "go", instance = one_child.id })
    end
    assert(engine:run())
    for _, one_child in ipairs(assert(engine:children(id))) do
      assert.equal("completed", one_child.status)
    end
  end)

  it("is told of a child that cannot be started", function()
    local engine = backend.fresh { unknown = "fail" }
    assert(engine:load(parent { workflow = "t.nobody",
      on_failure = "collect" }))
    local id = begin(engine, inputs(2))
    local got = get(engine, id).output.got
    assert.equal(2, #got)
    for i = 1, 2 do
      assert.truthy(got[i].error)
      assert.matches("t.nobody", got[i].error.message)
    end
  end)
end)

kit.describe("a restart inside an each", function(backend)
  it("is refused, and says from where to restart", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.each", start = "out" }
    flow:each("out", { items = function() return { 1 } end, branch = "a",
      next = "b" })
    flow:step("a", { run = function() end, next = "in" })
    flow:each("in", { items = function() return { 1, 2 } end, branch = "s",
      next = "c" })
    flow:step("s", { run = function() end, next = "t" })
    flow:timer("t", { after = 0, next = "in" })
    flow:step("c", { run = function() end, next = "out" })
    flow:step("b", { run = function() error "no" end, retry = false,
      next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.each")
    assert(engine:run())
    assert.failed(engine, id)
    local before = #assert(engine:history(id))
    for _, node in ipairs { "a", "in", "s", "t", "c" } do
      local ok, err = engine:restart(id, { from = node })
      assert.is_nil(ok)
      assert.equal("invalid", err.code)
      assert.matches('"' .. node .. '" is in the branch of each "out"',
        err.message, 1, true)
      assert.matches('restart from "out"', err.hint, 1, true)
    end
    assert.equal(before, #assert(engine:history(id)))
    for _, node in ipairs { "out", "b" } do
      assert(engine:restart(id, { from = node }))
      assert(engine:run())
    end
  end)
end)
