-- An each that ends before all of its items have: when enough is known, and
-- when more have failed than it tolerates.
local explain = require "pawl.explain"
local fans = require "spec.support.fans"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local HOUR = 3600

local fan = fans.fan

--- A branch of one step that gives what `run` returns.
local function one(run) return fans.one(run, { retry = false }) end

--- A child of one step that gives what `run` returns of its input.
local function child(run)
  local flow = pawl.workflow { code = "t.item", start = "a" }
  flow:step("a", { retry = false, next = "z", run = function(ctx)
    ctx.vars.out = run(ctx.input.n, ctx)
  end })
  flow:finish("z", { output = function(ctx) return ctx.vars.out end })
  return flow
end

local function over_children(each)
  local given = { workflow = "t.item" }
  for key, value in pairs(each) do given[key] = value end
  return fan({}, given)
end

local function numbers(n)
  local list = pawl.array {}
  for i = 1, n do list[i] = i end
  return list
end

local function inputs(n)
  local list = pawl.array {}
  for i = 1, n do list[i] = { n = i } end
  return list
end

local function begin(engine, items)
  local id = assert(engine:start("t.each", { items = items }))
  assert(engine:run())
  return id
end

local function get(engine, id) return assert(engine:get(id)) end

local function got(engine, id)
  return pawl.json.encode(get(engine, id).variables.got)
end

local function rows(engine, id, kind, node)
  local found = {}
  for _, entry in ipairs(assert(engine:history(id))) do
    if entry.type == kind and (not node or entry.node == node) then
      found[#found + 1] = entry
    end
  end
  return found
end

local function fails_from(n)
  return function(item)
    if item >= n then error { code = "broken", message = "no luck" } end
    return item
  end
end

kit.describe("an each that has enough", function(backend)
  it("ends what is under way, begins no other, and keeps every place",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(fan({
        { "timer", "nap", { at = function(ctx)
          return ctx.now() + ctx.token.data.item * HOUR
        end, next = "item" } },
        one(function(item) return { slept = item } end),
      }, { window = 3, enough = function(_, so_far)
        return so_far.done == 2
      end })))
      local id = begin(engine, { 9, 1, 2, 1, 1 })
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      clock:advance(HOUR + 1)
      assert(engine:run())
      assert.completed(engine, id)
      assert.equal('[null,{"slept":1},{"slept":2},null,null]',
        got(engine, id))
      assert.equal("2 done, 0 failed: enough of 5",
        rows(engine, id, "each")[1].text)
      assert.equal(2, #rows(engine, id, "step"))
      for _, row in ipairs(rows(engine, id, "dropped")) do
        assert.equal("enough is known", row.text)
      end
      assert.equal(2, #rows(engine, id, "dropped"))
    end)

  it("is asked once for each item that ends while others have not", function()
    local engine = backend.fresh()
    local asked = {}
    assert(engine:load(fan({ one(fails_from(290)) }, { window = 7,
      on_failure = "collect", enough = function(ctx, so_far)
        assert(ctx.node == "each" and not ctx.token.data.item)
        assert(so_far.done + so_far.failed == #asked + 1)
        assert(so_far.total == 300 and so_far.under_way < 7)
        asked[#asked + 1] = so_far.index
        assert(so_far.index < 290 and so_far.result == so_far.index
          or so_far.error.code == "broken")
        return false
      end })))
    local id = begin(engine, numbers(300))
    assert.completed(engine, id)
    assert.equal(299, #asked)
    table.sort(asked)
    for i = 2, #asked do assert(asked[i] > asked[i - 1]) end
  end)

  it("is given what it kept of those before", function()
    local engine = backend.fresh()
    local seen = {}
    assert(engine:load(fan({ one(function(item) return item end) }, {
      window = 1, enough = function(_, so_far)
        local sum = so_far.sum or { yes = 0 }
        seen[#seen + 1] = sum.yes
        if so_far.result == "yes" then sum.yes = sum.yes + 1 end
        return sum.yes == 2, sum
      end })))
    local id = begin(engine, { "no", "yes", "no", "yes", "yes", "no" })
    assert.same({ 0, 0, 1, 1 }, seen)
    assert.equal('["no","yes","no","yes",null,null]', got(engine, id))
  end)

  it("fails, and what is under way with it, when that cannot be told",
    function()
      local engine = backend.fresh()
      local answer
      assert(engine:load(fan({
        { "choice", "which", { choose = function(ctx)
          return ctx.token.data.item == 1 and "s" or "w"
        end, next = { s = "item", w = "w" } } },
        { "wait", "w", { event = "never", next = "each" } },
        one(function() end),
        { "step", "other", { run = function(ctx)
          ctx.vars.why = ctx.error.code
        end, next = "z" } },
      }, { on_error = { odd = "other", limit = "other" },
        enough = function() return answer() end })))
      function answer() error { code = "odd" } end
      local id = begin(engine, numbers(3))
      assert.completed(engine, id)
      assert.equal("odd", get(engine, id).variables.why)
      assert.equal(2, #rows(engine, id, "dropped", "w"))
      function answer() return false, ("x"):rep(5000) end
      id = begin(engine, numbers(3))
      assert.equal("limit", get(engine, id).variables.why)
    end)

  it("may change nothing", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ one(function() end) }, {
      enough = function(ctx) ctx.vars.x = 1 end })))
    local id = begin(engine, numbers(3))
    assert.failed(engine, id)
    assert.equal("value", get(engine, id).error.code)
  end)

  it("keeps no list where nobody asks for it", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.each" }
    flow:each("each", { items = function() return { 1, 2, 3 } end,
      branch = "item", window = 1, next = "z",
      enough = function() return true end })
    flow:finish("z")
    flow:step("item", { run = function() end, next = "each" })
    assert(engine:load(flow))
    local id = begin(engine, {})
    assert.completed(engine, id)
    assert.equal(1, #rows(engine, id, "step"))
  end)

  it("goes on under another engine, between any two commits", function()
    local engine, rival = kit.pair(backend, { fan({
      one(function(item) return item end) }, { window = 2,
      enough = function(_, so_far) return so_far.done >= 5 end }) })
    local id = assert(engine:start("t.each", { items = numbers(20) }))
    local turns = 0
    while kit.status(engine, id) ~= "completed" do
      turns = turns + 1
      assert(turns < 100)
      assert((turns % 2 == 1 and engine or rival):tick(0))
    end
    assert.equal("[1,2,3,4,5" .. (",null"):rep(15) .. "]", got(engine, id))
  end)

  it("has it from the next item on in another version", function()
    local engine = backend.fresh()
    local function version(n, enough)
      return fan({ { "wait", "item", { event = "go", key = function(ctx)
        return ctx.token.data.item
      end, next = "each" } } }, { enough = enough }, { version = n })
    end
    assert(engine:load(version(1)))
    local id = begin(engine, { "a", "b", "c", "d" })
    assert(engine:signal { name = "go", key = "a" })
    assert(engine:run())
    assert(engine:load(version(2, function() return true end)))
    assert.same({ id }, (assert(engine.workflows:transfer("t.each", 1, 2))))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    assert(engine:signal { name = "go", key = "c", data = "c" })
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal('[null,null,"c",null]', got(engine, id))
  end)

  it("cancels its children, and starts no more", function()
    local engine = backend.fresh { shards = 3 }
    local flow = pawl.workflow { code = "t.item", start = "w" }
    flow:wait("w", { event = "go", next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.input.n end })
    assert(engine:load(flow))
    assert(engine:load(over_children { window = 4,
      enough = function(_, so_far) return so_far.result == 3 end }))
    local id = begin(engine, inputs(9))
    local of = {}
    for _, it in ipairs(assert(engine:children(id))) do
      of[get(engine, it.id).input.n] = it.id
    end
    for _, n in ipairs { 1, 3 } do
      assert(engine:signal { name = "go", instance = of[n] })
      assert(engine:run())
    end
    assert.equal("[1,null,3" .. (",null"):rep(6) .. "]", got(engine, id))
    local ends = {}
    for _, it in ipairs(assert(engine:children(id, { limit = 100 }))) do
      ends[get(engine, it.id).input.n] = it.status
    end
    assert.same({ "completed", "cancelled", "completed", "cancelled",
      "cancelled" }, ends)
  end)

  it("takes no result that comes behind it", function()
    local engine = backend.fresh()
    assert(engine:load(child(function(n) return n end)))
    assert(engine:load(over_children { window = 50,
      enough = function() return true end }))
    local id = begin(engine, inputs(50))
    local n = 0
    for _, result in ipairs(get(engine, id).variables.got) do
      n = n + (result ~= pawl.null and 1 or 0)
    end
    assert.equal(1, n)
    assert.equal("1 done, 0 failed: enough of 50",
      rows(engine, id, "each")[1].text)
    assert.equal(50, #assert(engine:children(id, { limit = 100 })))
  end)

  it("is told by explain", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ { "wait", "item", { event = "go",
      next = "each" } } }, { tolerate = "50%",
      enough = function() return false end })))
    local id = begin(engine, numbers(5))
    local why = assert(engine:explain(id))
    local waits = why.tokens[1].waiting_for
    assert.same({ 2, true }, { waits.tolerated, waits.early })
    assert.matches("0 of 5 are done (2 may fail), 5 under way (16 at most). "
      .. "It may end before all of them have.",
      table.concat(explain.sentences(why), " "), 1, true)
  end)
end)

kit.describe("an each that tolerates failures", function(backend)
  it("goes on with so many, told in their places", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ one(fails_from(4)) }, { tolerate = 2 })))
    local id = begin(engine, numbers(5))
    assert.completed(engine, id)
    local result = get(engine, id).variables.got
    assert.same({ 1, 2, 3 }, { table.unpack(result, 1, 3) })
    assert.equal("broken", result[4].error.code)
    assert.equal("no luck", result[5].error.message)
    assert.equal("3 done, 2 failed", rows(engine, id, "each")[1].text)
  end)

  it("fails with one more, at once", function()
    local engine = backend.fresh()
    local runs = 0
    assert(engine:load(fan({ one(function(item)
      runs = runs + 1
      return fails_from(4)(item)
    end) }, { tolerate = 2, window = 1 })))
    local id = begin(engine, numbers(20))
    assert.failed(engine, id)
    assert.equal("broken", get(engine, id).error.code)
    assert.equal(6, runs)
    assert.equal("3 of 20 items failed, 2 are tolerated",
      rows(engine, id, "failed", "each")[1].text)
  end)

  for share, most in pairs { ["10%"] = 2, ["14.99%"] = 2, ["15%"] = 3,
    ["0.5%"] = 0, ["100%"] = 20 } do
    it("counts a share down to whole items: " .. share .. " of 20", function()
      local engine = backend.fresh()
      local flow = fan({ one(function(item, ctx)
        if item <= ctx.input.fail then error "no" end
      end) }, { tolerate = share })
      assert(engine:load(flow))
      for fail, status in pairs { [most] = "completed",
        [most + 1] = most < 20 and "failed" or nil } do
        local id = assert(engine:start("t.each", { items = numbers(20),
          fail = fail }))
        assert(engine:run())
        assert.equal(status, kit.status(engine, id))
      end
    end)
  end

  it("counts children that fail or are cancelled, and cancels the others",
    function()
      local engine = backend.fresh()
      local flow = pawl.workflow { code = "t.item", start = "w" }
      flow:wait("w", { event = "go", next = "a" })
      flow:step("a", { retry = false, run = function() error "no" end,
        next = "z" })
      flow:finish "z"
      assert(engine:load(flow))
      assert(engine:load(over_children { tolerate = 1 }))
      local id = begin(engine, inputs(4))
      local children = assert(engine:children(id))
      assert(engine:cancel(children[1].id, "enough"))
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      assert(engine:signal { name = "go", instance = children[2].id })
      assert(engine:run())
      assert.failed(engine, id)
      for i, status in ipairs { "cancelled", "failed", "cancelled",
        "cancelled" } do
        assert.equal(status, kit.status(engine, children[i].id))
      end
    end)

  it("routes what is too much by the last one's code", function()
    local engine = backend.fresh()
    assert(engine:load(fan({ one(fails_from(1)),
      { "step", "other", { run = function() return "away" end, into = "how",
        next = "z" } } },
      { tolerate = 1, on_error = { broken = "other" } })))
    local id = begin(engine, numbers(3))
    assert.equal("away", get(engine, id).variables.how)
  end)

  --- Its items come back at once, before the next is begun.
  local function at_once(each)
    each.on_error = { ["*"] = "other" }
    return fan({
      { "choice", "item", { next = { a = "each", b = "each" },
        choose = function() return "a" end } },
      { "step", "other", { run = function() return "away" end, into = "how",
        next = "z" } } }, each)
  end

  it("begins no other once one that came back at once was enough", function()
    local engine = backend.fresh()
    local asked = 0
    assert(engine:load(at_once { enough = function(_, so_far)
      asked = asked + 1
      return so_far.done == 2
    end }))
    local id = begin(engine, numbers(40))
    assert.equal(2, asked)
    assert.completed(engine, id)
    assert.matches("2 done, 0 failed: enough of 40",
      engine:history(id, { type = "each" })[1].text)
  end)

  it("begins no other once one that came back at once has failed it",
    function()
      local engine = backend.fresh()
      local asked = 0
      assert(engine:load(at_once { enough = function()
        asked = asked + 1
        error { code = "unclear" }
      end }))
      local id = begin(engine, numbers(40))
      assert.equal(1, asked)
      assert.equal("away", get(engine, id).variables.how)
    end)
end)
