-- What get, list, children, tokens and outbox tell.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function nothing() end

local function flow_of(code, start)
  return pawl.workflow { code = code, start = start }
end

kit.describe("asking", function(backend)
  it("tells parents, roots and children", function()
    local engine = backend.fresh { shards = 3 }
    local grand = flow_of("t.grand", "c")
    grand:call("c", { workflow = "t.call", next = "z" })
    grand:finish "z"
    local flow = flow_of("t.call", "c")
    flow:call("c", { workflow = "t.timer", next = "z" })
    flow:finish "z"
    assert(engine:load(grand))
    assert(engine:load(flow))
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.grand")
    assert(engine:start "t.timer")
    assert(engine:run())
    local middle = assert(engine:children(id))
    assert.equal(1, #middle)
    local child = assert(engine:children(middle[1].id))[1]
    assert.equal("t.timer", child.workflow)
    local got = assert(engine:get(child.id))
    assert.equal(middle[1].id, got.parent)
    assert.equal(id, got.root)
    assert.equal("c", got.parent_node)
    assert.equal(2, #assert(engine:list { root = id }))
    assert.equal(1, #assert(engine:list { root = id, workflow = "t.call" }))
    assert.equal(1, #assert(engine:list { parent = id, root = id }))
    assert.equal(0, #assert(engine:list { parent = id,
      status = "completed" }))
    assert.equal(0, #assert(engine:children(child.id)))
    assert.is_nil(got.deadline)
  end)

  it("pages through children", function()
    local engine = backend.fresh { shards = 2 }
    assert(engine:load(kit.one()))
    local flow = flow_of("t.many", "a")
    flow:step("a", { run = function(ctx)
      for _ = 1, 5 do ctx.start("t.one", {}, { parent_end = "leave" }) end
    end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.many")
    assert(engine:run())
    local first = assert(engine:children(id, { limit = 3 }))
    assert.equal(3, #first)
    local rest = assert(engine:children(id, { limit = 3,
      before = first[3].id }))
    assert.equal(2, #rest)
    assert.equal("completed", rest[1].status)
    assert.has_error(function() engine:children(7) end)
  end)

  it("tells of each token when it was made, wherever it has come", function()
    local engine, clock = backend.fresh()
    local flow = flow_of("t.made", "a")
    flow:timer("a", { after = "1h", next = "f" })
    flow:fork("f", { next = { "t", "u" } })
    flow:timer("t", { after = "1h", next = "w" })
    flow:wait("w", { event = "go", next = "j" })
    flow:wait("u", { event = "go", next = "j" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.made")
    local function made()
      local found = {}
      for _, t in ipairs(assert(engine:tokens(id))) do
        found[t.no] = t.created and t.created:sub(12, 16)
      end
      return found
    end
    assert(engine:run())
    assert.same({ "00:00" }, made())
    for _ = 1, 2 do
      clock:advance "1h"
      assert(engine:run())
    end
    assert.same({ [2] = "01:00", [3] = "01:00" }, made())
    local entered = {}
    for _, t in ipairs(assert(engine:tokens(id))) do
      entered[t.node] = t.entered:sub(12, 16)
    end
    assert.same({ u = "01:00", w = "02:00" }, entered)
  end)

  it("tells a deadline and since when it is suspended", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.dead", start = "t",
      deadline = "3h" }
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.dead")
    assert(engine:run())
    assert(engine:suspend(id, { by = "ann" }))
    local got = assert(engine:get(id))
    assert.equal("2026-01-01T03:00:00.000000Z", got.deadline)
    assert.equal("2026-01-01T00:00:00.000000Z", got.suspended_at)
  end)

  it("lists tokens that live, and all there were", function()
    local engine, clock = backend.fresh()
    local flow = flow_of("t.any", "f")
    flow:fork("f", { next = { "t", "u" } })
    flow:timer("t", { after = "1h", next = "j" })
    flow:timer("u", { after = "2h", next = "j" })
    flow:join("j", { expect = "any", losers = "cancel", next = "last" })
    flow:timer("last", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.any")
    assert(engine:run())
    local tokens = assert(engine:tokens(id))
    assert.equal(2, #tokens)
    assert.equal("f", tokens[1].fork)
    assert.equal("t", tokens[1].branch)
    assert.equal(1, tokens[1].parent)
    assert.equal("1", tokens[1].scope)
    clock:advance "1h"
    assert(engine:run())
    tokens = assert(engine:tokens(id))
    assert.equal(1, #tokens)
    assert.equal("last", tokens[1].node)
    local states = {}
    for _, token in ipairs(assert(engine:tokens(id, { all = true }))) do
      states[token.node .. "/" .. (token.branch or "")] = token.state
    end
    assert.equal("dropped", states["u/u"])
    assert.equal("consumed", states["j/t"] or states["t/t"])
    local _, err = engine:tokens "ffffffff"
    assert.equal("notfound", err.code)
  end)

  it("tells which rows led to one behind a join", function()
    local engine = backend.fresh()
    local flow = flow_of("t.all", "f")
    flow:fork("f", { next = { "a", "b" } })
    flow:step("a", { run = nothing, next = "j" })
    flow:step("b", { run = nothing, next = "j" })
    flow:join("j", { next = "c" })
    flow:step("c", { run = nothing, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.all")
    assert(engine:run())
    local of, last = {}, nil
    for _, row in ipairs(assert(engine:history(id))) do
      if row.type == "step" then of[row.node], last = row.seq, row end
    end
    assert.equal("c", last.node)
    assert.equal("integer", math.type(last.token))
    assert.same({ of.a, of.b }, last.previous)
  end)

  it("lists what was emitted, oldest first, page by page", function()
    local engine, clock = backend.fresh { shards = 3 }
    assert(engine:load(kit.one(function(ctx)
      ctx.emit("made", { n = ctx.input.n })
      ctx.emit("told")
    end)))
    local ids = {}
    for n = 1, 4 do
      ids[n] = assert(engine:start("t.one", { n = n }))
      assert(engine:run())
      clock:advance(1)
    end
    local rows = assert(engine.outbox:list())
    assert.equal(8, #rows)
    assert.equal(ids[1], rows[1].instance)
    assert.equal("made", rows[1].type)
    assert.same({ n = 1 }, rows[1].payload)
    assert.equal(0, rows[1].attempts)
    assert.equal("told", rows[2].type)
    local seen, after = {}, nil
    repeat
      local page = assert(engine.outbox:list { type = "made", limit = 3,
        after = after })
      for _, row in ipairs(page) do
        seen[#seen + 1] = row.payload.n
        after = row.place
      end
    until #page < 3
    assert.same({ 1, 2, 3, 4 }, seen)
    assert.equal(2, #assert(engine.outbox:list { instance = ids[2] }))
    assert.equal(4, #assert(engine.outbox:list {
      emitted_before = clock() - 2 }))
    local _, err = engine.outbox:list { after = "nowhere" }
    assert.equal("invalid", err.code)
    assert.has_error(function() engine.outbox:list { typ = "made" } end)
  end)
end)

kit.describe("a status", function(backend)
  it("is told alone, of what lives, has ended, or is out of the way", function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert.equal("created", assert(engine:status(id)))
    assert(engine:tick())
    assert.equal("waiting", assert(engine:status(id)))
    assert.equal("waiting", assert(engine:status(id:sub(-12))))
    assert(engine:suspend(id))
    assert.equal("suspended", assert(engine:status(id)))
    assert(engine:resume(id))
    clock:advance(3601)
    assert(engine:run())
    assert.equal("completed", assert(engine:status(id)))
    assert(engine:archive(id))
    assert.equal("completed", assert(engine:status(id)))
    local _, err = engine:status(kit.draw_id())
    assert.equal("notfound", err.code)
  end)

  it("is asked for by one statement", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    local before = engine:count()
    assert(engine:status(id))
    assert.equal(1, engine:count().statements - before.statements)
  end)
end)

kit.describe("a filter that is empty", function(backend)
  local function refused(name, _, err)
    assert.is_table(err, name)
    assert.equal("invalid", err.code)
    assert.equal(name, err.where)
  end

  it("is refused, and is not taken for no filter", function()
    local engine = backend.fresh()
    for _, name in ipairs { "workflow", "tenant", "correlation",
      "business_key", "key" } do
      refused(name, engine:list { [name] = "" })
    end
    refused("status", engine:list { status = "" })
    assert.error_matches(function() engine:list { status = {} } end,
      "'status' must be")
    refused("type", engine.outbox:list { type = "" })
    refused("after", engine.outbox:list { after = "" })
    refused("workflow", engine.workflows:list { workflow = "" })
  end)
end)
