-- Attributes that change: what they were, and what they are, in the history.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function int(n) return { type = "integer", value = n } end
local function text(s) return { type = "string", value = s } end

--- What the rows of an instance say of attributes: { seq, changes }.
local function logged(engine, id)
  local list = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.changes and row.changes.attributes then
      list[#list + 1] = row.changes.attributes
    end
  end
  return list
end

kit.describe("an attribute that changes", function(backend)
  local function ran(runs, options)
    local engine = backend.fresh()
    assert(engine:load(kit.chain(runs)))
    local id = assert(engine:start("t.chain", nil, options))
    assert(engine:run())
    return engine, id
  end

  it("leaves what it was and what it is in its step's row", function()
    local engine, id = ran({
      function(ctx)
        ctx.attrs.amount, ctx.attrs.region = 5, "eu"
        ctx.vars.seen = 1
      end,
      function(ctx) ctx.attrs.amount = 7 end,
      function() end,
      function(ctx) ctx.attrs.amount, ctx.attrs.region = nil, "eu" end,
    }, { attributes = { amount = 3 } })
    assert.same({
      { amount = { from = int(3), to = int(5) }, region = { to = text "eu" } },
      { amount = { from = int(5), to = int(7) } },
      { amount = { from = int(7) } }, -- the region is as it was
    }, logged(engine, id))
    local first = assert(engine:history(id))[1]
    assert.same({ seen = 1 }, first.changes.set)
    local asked = assert(engine:history(id, { attribute = "amount" }))
    assert.same({ int(5), int(7) }, { asked[1].value, asked[2].value })
    assert.same({ 3, nil }, { #asked, asked[3].value })
    assert.same({}, assert(engine:history(id, { attribute = "amoun" })))
    kit.refused("invalid", "exclude each other", nil,
      engine:history(id, { attribute = "a", variable = "b" }))
  end)

  it("is told in its type, and not when it stays the same", function()
    local values = { decimal = pawl.decimal "1.50", float = 2.0,
      date = pawl.date "2026-01-31T10:00:00Z", binary = pawl.binary "\0a",
      boolean = false, text = "ä\n" }
    local engine, id = ran({
      function(ctx)
        for name, value in pairs(values) do ctx.attrs[name] = value end
      end,
      function(ctx)
        for name, value in pairs(values) do ctx.attrs[name] = value end
        ctx.attrs.float = 2
      end,
    })
    local list = logged(engine, id)
    assert.equal(2, #list)
    assert.same({ type = "decimal", value = "1.50" }, list[1].decimal.to)
    assert.same({ type = "date", value = "2026-01-31T10:00:00.000000Z" },
      list[1].date.to)
    assert.same({ type = "binary", value = "AGE=" }, list[1].binary.to)
    assert.same({ type = "boolean", value = false }, list[1].boolean.to)
    assert.same(text "ä\n", list[1].text.to)
    assert.same({ float = { from = { type = "float", value = 2.0 },
      to = int(2) } }, list[2])
  end)

  it("is told of branches in one commit, one after the other", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.forked", start = "f" }
    flow:fork("f", { next = { "a", "b" } })
    for i, name in ipairs { "a", "b" } do
      flow:step(name, { next = "j",
        run = function(ctx) ctx.attrs.n = i end })
    end
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.forked")
    assert(engine:run())
    assert.same({ { n = { to = int(1) } },
      { n = { from = int(1), to = int(2) } } }, logged(engine, id))
  end)

  it("is told of a transactional step", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.tx", start = "a" }
    flow:step("a", { transactional = true, next = "b",
      run = function(ctx) ctx.attrs.n = 1 end })
    flow:step("b", { transactional = true, next = "z",
      run = function(ctx) ctx.attrs.n = 2 end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.tx")
    assert(engine:run())
    assert.same({ { n = { to = int(1) } },
      { n = { from = int(1), to = int(2) } } }, logged(engine, id))
  end)

  it("is told of what undoes a step", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.undo", start = "a" }
    flow:step("a", { run = function(ctx) ctx.attrs.n = 1 end,
      undo = function(ctx) ctx.attrs.n = nil end, next = "b" })
    flow:step("b", { run = function() error { code = "no", retry = false } end,
      next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    assert(engine:run())
    assert.same({ { n = { to = int(1) } }, { n = { from = int(1) } } },
      logged(engine, id))
    assert.equal("undone",
      assert(engine:history(id, { attribute = "n" }))[2].type)
  end)

  it("is told once where the commit is sent again", function()
    local engine, clock, url = backend.fresh()
    local refuse = true
    assert(engine:load(kit.one(function(ctx)
      ctx.attrs.n = 1
      if refuse then
        refuse = false
        assert(kit.rival(backend, url, clock):signal { name = "x",
          instance = ctx.id })
      end
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ { n = { to = int(1) } } }, logged(engine, id))
  end)

  it("is asked for once a batch, and not where none is set", function()
    local engine = backend.fresh()
    local sets = false
    assert(engine:load(kit.one(function(ctx)
      if sets then ctx.attrs.n = 1 end
    end)))
    --- Round trips for ten instances.
    local function trips()
      for _ = 1, 10 do assert(engine:start "t.one") end
      local before = engine:count().trips
      assert(engine:run())
      return engine:count().trips - before
    end
    trips()
    local without = trips()
    sets = true
    local with = trips()
    assert.is_true(with - without <= 14, with .. ", not " .. without)
  end)
end)
