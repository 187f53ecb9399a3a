-- Values survive exactly, or are refused by name: promise 6.
local pawl = require "pawl"
local kit = require "spec.engine.kit"

---- exact comparison ------------------------------------------------------

local ARRAY = assert(getmetatable(pawl.array {}))

--- Are a and b the same, bit for bit? Not by way of the codec under test.
local function same(a, b)
  if type(a) ~= type(b) or math.type(a) ~= math.type(b) then return false end
  if math.type(a) == "float" then
    return string.pack(">d", a) == string.pack(">d", b)
  end
  if type(a) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return next(a) ~= nil
    or (getmetatable(a) == ARRAY) == (getmetatable(b) == ARRAY)
end

---- random values ---------------------------------------------------------

local function random_float()
  local choice = math.random(4)
  if choice == 1 then return math.random() * 10 ^ math.random(-300, 300) end
  if choice == 2 then return math.random(-1000, 1000) + 0.0 end
  if choice == 3 then
    return ({ -0.0, 0.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308,
      -2.2250738585072014e-308, 1e15 + 0.3, 2.0 ^ 53, 2.0 ^ 63,
      -2.0 ^ 63 })[math.random(10)]
  end
  while true do -- any bits
    local value = string.unpack(">d", string.pack(">i8",
      math.random(math.mininteger, math.maxinteger)))
    if value - value == 0 then return value end
  end
end

local WORDS = { "", "a", "z\0z", "\0", "\u{1F600}", "\u{FFFF}", "\u{10FFFF}",
  "\127\1\2\31", '"\\/\b\f\n\r\t', "\u{2028}", "null", "-0.0", "ä", "'; --",
  "$1 :x @y %s ?", ("long "):rep(200) }

local function random_string()
  if math.random(2) == 1 then return WORDS[math.random(#WORDS)] end
  local bytes = {}
  for i = 1, math.random(0, 12) do bytes[i] = math.random(0, 127) end
  return string.char(table.unpack(bytes))
end

local random_value
local function random_table(depth)
  local t = {}
  if math.random(2) == 1 then
    for i = 1, math.random(0, 4) do t[i] = random_value(depth - 1) end
    return pawl.array(t)
  end
  for _ = 1, math.random(0, 4) do
    t[random_string()] = random_value(depth - 1)
  end
  return t
end

function random_value(depth)
  local choice = math.random(depth > 0 and 9 or 6)
  if choice == 1 then return math.random(math.mininteger, math.maxinteger) end
  if choice == 2 then
    return ({ 0, -1, math.maxinteger, math.mininteger, 9007199254740993,
      -9007199254740993 })[math.random(6)]
  end
  if choice == 3 then return random_float() end
  if choice == 4 then return random_string() end
  if choice == 5 then return math.random(2) == 1 end
  if choice == 6 then return pawl.null end
  return random_table(depth)
end

kit.describe("values", function(backend)
  it("come back from the store as they went in", function()
    local seed = tonumber(os.getenv("PAWL_SEED")) or os.time()
    math.randomseed(seed)
    local a, b, clock, url
    local wrong = {}
    local given = {}
    local flow = pawl.workflow { code = "t.values", start = "a" }
    local function check(ctx, value, where)
      if not same(given[ctx.input.i], value) then
        wrong[#wrong + 1] = where .. " of " .. ctx.input.i
      end
    end
    flow:step("a", {
      run = function(ctx)
        check(ctx, ctx.input.v, "input")
        ctx.vars.v = ctx.input.v
        ctx.vars[" k\0\"'"] = ctx.input.i
        return nil, ctx.input.v
      end,
      next = "t",
    })
    flow:timer("t", { after = 1, next = "b" })
    flow:step("b", {
      run = function(ctx)
        check(ctx, ctx.vars.v, "vars")
        ctx.vars.w = ctx.vars.v
      end,
      next = "z",
    })
    flow:finish("z", { output = function(ctx) return ctx.vars.w end })
    a, b, clock, url = kit.pair(backend, { flow })
    local ids = {}
    for i = 1, 60 do
      given[i] = random_value(4)
      ids[i] = assert(a:start("t.values", { i = i, v = given[i] }))
    end
    assert(a:run())
    clock:advance(1)
    assert(b:run()) -- another worker reads what the first one stored
    local reader = kit.rival(backend, url, clock)
    for i, id in ipairs(ids) do
      local instance = assert(reader:get(id))
      local history = assert(reader:history(id))
      local v = given[i]
      local found = { ["get input"] = instance.input.v,
        ["get vars"] = instance.variables.v,
        ["get key"] = instance.variables[" k\0\"'"] == i and v }
      if v ~= pawl.null then -- null is nothing where an output may be absent
        found["get output"] = instance.output
        found["history output"] = history[1].output
      end
      for where, value in pairs(found) do
        if not same(v, value) then
          wrong[#wrong + 1] = where .. " of " .. i .. ": "
            .. pawl.json.encode(v)
        end
      end
    end
    assert.equal("", table.concat(wrong, "\n"), "PAWL_SEED=" .. seed)
  end)

  for name, value in pairs {
    ["the smallest integer"] = math.mininteger,
    ["the largest integer"] = math.maxinteger,
    ["an integer that no float can hold"] = 9007199254740993,
    ["minus zero"] = -0.0,
    ["0.1 + 0.2"] = 0.1 + 0.2,
    ["a whole float"] = 3.0,
    ["the smallest float"] = 5e-324,
    ["zero bytes"] = "a\0b\0",
    ["an empty array"] = pawl.array {},
    ["an empty object"] = { o = {} },
    ["arrays in arrays"] = { pawl.array {}, { pawl.array {} } },
    ["nulls in an array"] = { pawl.null, 1, pawl.null },
    ["false"] = false,
  } do
    it("of the kind of " .. name .. " do", function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(kit.one(function(ctx)
        assert(same(value, ctx.input.v))
        ctx.vars.v = ctx.input.v
        return nil, ctx.input.v
      end, { retry = false })))
      local id = assert(engine:start("t.one", { v = value }))
      assert(engine:run())
      local reader = kit.rival(backend, url, clock)
      local instance = assert(reader:get(id))
      assert.equal("completed", instance.status)
      assert.is_true(same(value, instance.input.v), "input")
      assert.is_true(same(value, instance.variables.v), "variables")
      assert.is_true(same(value, instance.output.v), "output")
      assert.is_true(same(value, assert(reader:history(id))[1].output),
        "history")
    end)
  end

  it("that have not changed are not written again", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.chain {
      function(ctx) ctx.vars.big = ("x"):rep(1000) end,
      function(ctx) return nil, #ctx.vars.big end,
      function(ctx) ctx.vars.big = ("x"):rep(1000) end, -- the same again
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local history = assert(engine:history(id))
    assert.is_not_nil(history[1].changes)
    assert.is_nil(history[2].changes)
    assert.is_nil(history[3].changes)
    assert.equal(3, kit.count(backend, url, "history"))
  end)

  it("of a handler are copies", function()
    local engine = backend.fresh()
    local kept
    assert(engine:load(kit.chain {
      function(ctx)
        kept = { n = 1 }
        ctx.vars.t = kept
      end,
      function(ctx)
        kept.n = 2
        assert(ctx.vars.t.n == 1)
        ctx.input.changed = true -- a copy: nobody else sees it
      end,
      function(ctx) assert(ctx.input.changed == nil) end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ t = { n = 1 } }, assert(engine:get(id)).output)
  end)
end)

---- what is refused -------------------------------------------------------

local function cycle()
  local t = { a = {} }
  t.a.b = t
  return t
end

-- What to put at items[3].cb, by name.
local REFUSED = {
  { "a function", function() return print end },
  { "userdata", function() return io.stdout end },
  { "a coroutine", function() return coroutine.create(print) end },
  { "a cycle", cycle, "%.a%.b" },
  { "NaN", function() return 0 / 0 end },
  { "infinity", function() return math.huge end },
  { "minus infinity", function() return -math.huge end },
  { "an array with a hole", function() return { 1, nil, 3 } end },
  { "a table with mixed keys", function() return { 1, x = 2 } end },
  { "a table with a boolean key", function() return { [true] = 1 } end },
  { "a table with a float key", function() return { [1.5] = 1 } end },
  { "bytes that are not UTF-8", function() return "a\255b" end },
  { "half a surrogate", function() return "\xED\xA0\x80" end },
  { "a key that is not UTF-8", function() return { ["\255"] = 1 } end },
}

kit.describe("a value that cannot be stored", function(backend)
  --- The instance after its step did `what`; and nothing of it was stored.
  local function outcome(what, options)
    local engine = backend.fresh()
    local runs = 0
    local flow = kit.one(function(ctx)
      runs = runs + 1
      ctx.vars.good = 1
      ctx.attrs.good = "1"
      return what(ctx)
    end, options)
    assert(engine:load(flow))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal(1, runs) -- trying again would not help
    assert.same({}, instance.variables or {})
    assert.same({}, instance.attributes)
    local entry = assert(engine:history(id))[1]
    assert.equal("failed", entry.type)
    assert.is_nil(entry.output)
    assert.is_nil(entry.changes)
    return instance.error
  end

  it("is refused in variables, by its path", function()
    for _, case in ipairs(REFUSED) do
      local err = outcome(function(ctx)
        ctx.vars.items = { 1, 2, { cb = case[2]() } }
      end)
      assert.equal("value", err.code, case[1])
      assert.matches("vars%.items%[3%]%.cb" .. (case[3] or ""), err.where,
        1, case[1])
    end
  end)

  it("is refused in a step's output, by its path", function()
    for _, case in ipairs { REFUSED[1], REFUSED[5], REFUSED[12] } do
      local err = outcome(function()
        return nil, { items = { 1, 2, { cb = case[2]() } } }
      end)
      assert.equal("value", err.code, case[1])
      assert.matches("output%.items%[3%]%.cb", err.where, 1, case[1])
    end
  end)

  it("is refused in a start's input, by its path", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.one()))
    for _, case in ipairs(REFUSED) do
      local id, err = engine:start("t.one",
        { items = { 1, 2, { cb = case[2]() } } })
      assert.is_nil(id)
      assert.equal("value", err.code, case[1])
      assert.matches("input%.items%[3%]%.cb" .. (case[3] or ""), err.where,
        1, case[1])
    end
    assert.equal(0, kit.count(backend, url, "instance"))
  end)

  it("is refused as an attribute, where it is set", function()
    for _, what in ipairs { print, 0 / 0, { 1 }, "\255" } do
      local err = outcome(function(ctx)
        ctx.attrs.x = what
        error "not reached"
      end, { retry = false })
      assert.equal("value", err.code)
      assert.matches("attrs%.x", err.where or "", 1, tostring(what))
    end
  end)

  it("is refused when it is too much", function()
    local engine = backend.fresh { max_bytes = 2000 }
    assert(engine:load(kit.chain {
      function(ctx) ctx.vars.a = ("x"):rep(1500) end,
      function(ctx) ctx.vars.b = ("x"):rep(1500) end,
    }))
    local id = assert(engine:start "t.chain")
    assert(engine:run())
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("limit", instance.error.code)
    assert.matches("2000", instance.error.message)
    assert.equal(1500, #instance.variables.a)
    assert.is_nil(instance.variables.b)
  end)

  -- What comes from outside has the size of its own limit, so that it may be
  -- too much only together with what is there.
  local text = ("x"):rep(1500)
  local too_much = {
    wait = { { event = "go", into = "b" }, function(engine, id)
      assert(engine:signal { name = "go", instance = id, data = text })
    end },
    task = { { title = "Look", into = "b" }, function(engine, id)
      local task = assert(engine.tasks:list { instance = id })[1]
      assert(engine.tasks:complete(task.id, { by = "ann", output = text }))
    end },
    call = { { workflow = "t.text", into = "b" }, function() end },
    each = { { items = function() return { 1, 2, 3 } end, branch = "part",
      into = "b" }, function() end },
  }
  for kind, how in pairs(too_much) do
    for _, routed in ipairs { false, true } do
      it(("is refused when `into` of a %s makes it too much%s"):format(kind,
        routed and ", which on_error may route" or ""), function()
          local engine = backend.fresh { max_bytes = 2000 }
          local child = pawl.workflow { code = "t.text", start = "z" }
          child:finish("z", { output = function() return text end })
          assert(engine:load(child))
          local flow = pawl.workflow { code = "t.into", start = "a" }
          flow:step("a", { next = "n", run = function(ctx)
            ctx.vars.a = ("y"):rep(1000)
          end })
          local options = { next = "after" }
          for key, value in pairs(how[1]) do options[key] = value end
          if routed then options.on_error = { limit = "mend" } end
          flow[kind](flow, "n", options)
          if kind == "each" then
            flow:step("part", { next = "n", run = function()
              return nil, ("z"):rep(500)
            end })
          end
          flow:step("after", { next = "z", run = function(ctx)
            ctx.vars.after = true
          end })
          if routed then
            flow:step("mend", { next = "z", run = function(ctx)
              ctx.vars.a = "less"
            end })
          end
          flow:finish("z", { output = function(ctx) return ctx.vars end })
          assert(engine:load(flow))
          local id = assert(engine:start "t.into")
          assert(engine:run())
          how[2](engine, id)
          assert(engine:run())
          local instance = assert(engine:get(id))
          assert.is_nil(instance.variables.b)
          assert.is_nil(instance.variables.after)
          if routed then
            assert.equal("completed", instance.status)
            assert.same({ a = "less" }, instance.output)
            return
          end
          assert.equal("failed", instance.status)
          assert.equal("limit", instance.error.code)
          assert.matches('"b"', instance.error.message)
          assert.matches("2000", instance.error.message)
          local history = assert(engine:history(id))
          assert.same({ "failed", "n", 1 }, { history[#history].type,
            history[#history].node, history[#history].attempt })
        end)
    end
  end

  it("is refused when it is a megabyte, unless told otherwise", function()
    for limit, want in pairs { [0] = "failed", [3000000] = "completed" } do
      local engine = backend.fresh { max_bytes = limit > 0 and limit or nil }
      assert(engine:load(kit.one(function(ctx)
        ctx.vars.big = ("x"):rep(1000001)
      end)))
      local id = assert(engine:start "t.one")
      assert(engine:run())
      assert.equal(want, kit.status(engine, id))
    end
  end)
end)

---- how deep --------------------------------------------------------------

local function nested(levels)
  local value = "x"
  for _ = 1, levels do value = { a = value } end
  return value
end

local function add_parent(flow)
  flow:call("c", { workflow = "t.child", next = "w",
    input = function(ctx) return ctx.input.levels and
      nested(ctx.input.levels) or ctx.input end })
end

-- How a value comes in: how deep it may be, the nodes that come before a wait,
-- and what is done to the instance there, which gives nothing if it is refused.
local WAYS = {
  ["an input"] = { 200, input = nested },
  ["a variable"] = { 199, function(flow)
    flow:step("s", { next = "w", retry = false, run = function(ctx)
      ctx.vars.v = nested(ctx.input.levels)
    end })
  end },
  ["a step's output"] = { 200, function(flow)
    flow:step("s", { next = "w", retry = false, run = function(ctx)
      return nil, nested(ctx.input.levels)
    end })
  end },
  ["a step's output in a variable"] = { 199, function(flow)
    flow:step("s", { next = "w", retry = false, into = "v", run = function(ctx)
      return nil, nested(ctx.input.levels)
    end })
  end },
  ["a changed variable"] = { 199, act = function(engine, id, value)
    return engine:edit(id, { set = { v = value } })
  end },
  ["an event's data"] = { 200, act = function(engine, id, value)
    return engine:signal { name = "go", instance = id, data = value }
  end },
  ["an event's data in a variable"] = { 199, function(flow)
    flow:wait("e", { event = "e", into = "v", next = "w" })
  end, act = function(engine, id, value)
    return engine:signal { name = "e", instance = id, data = value }
  end },
  ["a task's output"] = { 200, function(flow)
    flow:task("t", { title = "Look", next = "w" })
  end, act = function(engine, id, value)
    local task = assert(engine.tasks:list { instance = id })[1]
    return engine.tasks:complete(task.id, { by = "ann", output = value })
  end },
  ["an error's details"] = { 200, function(flow)
    flow:task("t", { title = "Look", next = { ok = "w", failed = "w" } })
  end, act = function(engine, id, value)
    local task = assert(engine.tasks:list { instance = id })[1]
    return engine.tasks:fail(task.id, { by = "ann",
      error = { code = "no", message = "no", details = value.a } })
  end },
  ["a child's input"] = { 200, add_parent },
  ["a child's output"] = { 200, function(flow)
    flow:call("c", { workflow = "t.child", next = "w",
      input = function(ctx) return { levels = ctx.input.levels } end })
  end },
  ["a list of results"] = { 198, function(flow)
    flow:each("e", { items = function(ctx) return { ctx.input.levels } end,
      branch = "b", into = "v", next = "w" })
    flow:step("b", { next = "e", run = function(ctx)
      return nil, nested(ctx.input.levels)
    end })
  end },
}

kit.describe("a deep value", function(backend)
  local function load(engine, way)
    local child = pawl.workflow { code = "t.child" }
    child:step("s", { run = function(ctx)
      return nil, ctx.input.levels and nested(ctx.input.levels) or ctx.input
    end })
    child:finish("z", { output = function(ctx) return ctx.output.s end })
    assert(engine:load(child))
    local flow = pawl.workflow { code = "t.deep" }
    if way[2] then way[2](flow) end
    flow:wait("w", { event = "go", next = "z" })
    flow:finish("z", { output = function(ctx) return ctx.event.data end })
    assert(engine:load(flow))
  end

  --- All that shows it does, and gives the same.
  local function is_shown(engine, other, id)
    local shown = assert(engine:get(id))
    local history = assert(engine:history(id))
    assert(engine:explain(id))
    assert(engine:list { workflow = "t.deep" })
    assert(engine.tasks:list { instance = id })
    for _, one in ipairs(assert(engine:children(id))) do
      assert(engine:get(one.id))
      assert(engine:history(one.id))
    end
    assert(other:import(assert(engine:export(id))))
    local copy = assert(other:get(id))
    assert.is_true(same(shown.variables, copy.variables))
    assert.is_true(same(shown.input, copy.input))
    for i, entry in ipairs(assert(other:history(id))) do
      if history[i] then
        assert.is_true(same(history[i].changes, entry.changes))
        assert.is_true(same(history[i].output, entry.output))
      end
    end
  end

  --- It is also changed, and what was changed is shown.
  local function can_be_edited(engine, id)
    local vars = assert(engine:get(id)).variables or {}
    vars.more = 1
    assert(engine:edit(id, { set = vars }))
    assert(engine:run())
    assert.equal(1, assert(engine:get(id)).variables.more)
  end

  for name, way in pairs(WAYS) do
    it("as " .. name .. " is shown wherever it was accepted", function()
      local engine, clock = backend.fresh()
      local other = backend.fresh { clock = clock }
      load(engine, way)
      for levels = 190, 201 do
        local value = nested(levels)
        local id, why = engine:start("t.deep", way.input and value
          or { levels = levels })
        local refused = not id and why
        if id then
          assert(engine:run())
          local done, err = true, nil
          if way.act then done, err = way.act(engine, id, value) end
          assert(engine:run())
          local instance = assert(engine:get(id))
          refused = not done and err or instance.error
          is_shown(engine, other, id)
          if instance.status == "waiting" then can_be_edited(engine, id) end
        end
        assert.equal(levels <= way[1], not refused, levels)
        if refused then
          assert.matches("nested deeper than 200 levels", refused.message)
        end
      end
    end)
  end
end)
