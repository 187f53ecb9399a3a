-- Notes: rows of history that somebody, or a handler, adds, and nothing else.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local samples = require "spec.engine.samples"

local refused = kit.refused

--- The notes of an instance: "text by who: data".
local function notes(engine, id)
  local list = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == "note" then
      list[#list + 1] = row.text .. (row.by and " by " .. row.by or "")
        .. (row.output ~= nil and ": " .. tostring(pawl.json.encode(row.output))
          or "")
    end
  end
  return list
end

kit.describe("a note from outside", function(backend)
  local function started(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(samples.waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    return engine, id, clock, url
  end

  it("is a row of history and nothing else", function()
    local engine, id = started()
    local before = assert(engine:get(id))
    local ok, done = engine:note(id, { text = "she called", by = "ann",
      data = { urgent = true } })
    assert.same({ true, true }, { ok, done })
    assert(engine:note(id, { text = "twice" }))
    assert.same({ 'she called by ann: {"urgent":true}', "twice" },
      notes(engine, id))
    local after = assert(engine:get(id))
    assert.same(before.tokens, after.tokens)
    assert.same(before.variables, after.variables)
    assert.equal(before.status, after.status)
    assert.equal(before.due, after.due)
  end)

  it("is taken by its holder while a handler runs", function()
    local a, b, done
    a, b = kit.pair(backend, { kit.one(function(ctx)
      done = select(2, assert(b:note(ctx.id, { text = "meanwhile" })))
    end) })
    local id = assert(a:start "t.one")
    assert(a:run())
    assert.is_false(done)
    assert.completed(a, id)
    assert.same({ "meanwhile" }, notes(a, id))
  end)

  it("is added to one that has ended, which stays so", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(function(ctx)
      if ctx.input.fail then error { code = "bad", retry = false } end
    end)))
    local ended = { assert(engine:start "t.one"),
      assert(engine:start("t.one", { fail = true })),
      assert(engine:start("t.one", nil, { delay = 60 })) }
    assert(engine:run())
    assert(engine:cancel(ended[3]))
    for i, status in ipairs { "completed", "failed", "cancelled" } do
      assert.equal(status, kit.status(engine, ended[i]))
      local before = assert(engine:get(ended[i]))
      assert(engine:note(ended[i], { text = "seen", by = "ann" }))
      assert.same({ "seen by ann" }, notes(engine, ended[i]))
      local after = assert(engine:get(ended[i]))
      assert.equal(status, after.status)
      assert.same(before.error, after.error)
      assert.same(before.times.completed, after.times.completed)
      assert.is_nil(after.due)
    end
    assert.equal(0, kit.count(backend, url, "inbox"))
    assert.equal(0, kit.count(backend, url, "agenda"))
    clock:advance(120)
    assert(engine:run())
  end)

  it("leaves a restart the variables of then, and a retry its place", function()
    local engine = backend.fresh()
    local good = false
    local flow = pawl.workflow { code = "t.noted", start = "a" }
    flow:step("a", { next = "b", run = function(ctx) ctx.vars.a = 1 end })
    flow:step("b", { next = "z", retry = false, run = function(ctx)
      if not good then error { code = "bank_closed" } end
      ctx.vars.b = ctx.vars.a
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.noted")
    assert(engine:run())
    assert.failed(engine, id)
    assert(engine:note(id, { text = "the bank opens at nine" }))
    good = true
    assert(engine:retry(id))
    assert(engine:run())
    assert.completed(engine, id)
    assert(engine:note(id, { text = "again" }))
    assert(engine:restart(id, { from = "a" }))
    assert(engine:run())
    assert.completed(engine, id)
    assert.same({ a = 1, b = 1 }, assert(engine:get(id)).variables)
    assert.same({ "the bank opens at nine", "again" }, notes(engine, id))
  end)

  it("is refused when there is nothing in it, or too much", function()
    local engine, id = started { max_bytes = 2000 }
    refused("invalid", "needs `text`", nil, engine:note(id, {}))
    refused("invalid", "`text`", nil, engine:note(id, { text = "" }))
    refused("invalid", "`text`", nil,
      engine:note(id, { text = ("x"):rep(16385) }))
    refused("invalid", "`text`", nil, engine:note(id, { text = "a\0b" }))
    refused("limit", "the data would have", nil,
      engine:note(id, { text = "x", data = ("x"):rep(2000) }))
    assert.has_error(function()
      engine:note(id, { text = "x", reason = "because" })
    end)
    refused("notfound", "", nil, engine:note(kit.draw_id(), { text = "x" }))
    assert.same({}, notes(engine, id))
    assert(engine:note(id, { text = ("x"):rep(16384) }))
  end)
end)

kit.describe("ctx.note", function(backend)
  it("goes with the commit of the step, in front of its row", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.notes", start = "a" }
    flow:step("a", { next = "z", retry = { base = 1 }, run = function(ctx)
      ctx.note("attempt", { n = ctx.attempt })
      if ctx.attempt == 1 then error "once" end
      ctx.note "done"
    end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.notes")
    assert(engine:run())
    clock:advance(60)
    assert(engine:run())
    local rows = {}
    for i, row in ipairs(assert(engine:history(id))) do
      rows[i] = row.type .. " " .. (row.node or "-")
    end
    assert.same({ "failed a", "note a", "note a", "step a" },
      { table.unpack(rows, 1, 4) })
    assert.same({ 'attempt: {"n":2}', "done" }, notes(engine, id))
  end)

  it("takes nothing from the row of its step: way, due time and result",
    function()
      local engine = backend.fresh()
      local function run(noted, code)
        local flow = pawl.workflow { code = code, start = "first" }
        flow:step("first", { next = "fan", run = function(ctx)
          if noted then ctx.note("first", { no = "result" }) end
          return nil, "r1"
        end })
        flow:each("fan", { items = function() return { 1, 2 } end,
          branch = "one", into = "results", next = "split" })
        flow:step("one", { next = "fan", run = function(ctx)
          if noted then ctx.note("one", { no = "result" }) end
          return nil, ctx.token.data.item * 10
        end })
        flow:fork("split", { next = { l = "left", r = "right" } })
        for _, side in ipairs { "left", "right" } do
          flow:step(side, { next = "met", run = function(ctx)
            if noted then ctx.note(side) end
          end })
        end
        flow:join("met", { next = "nap" })
        flow:timer("nap", { after = 60, next = "z" })
        flow:finish "z"
        assert(engine:load(flow))
        local id = assert(engine:start(code))
        assert(engine:run())
        local rows = {}
        for _, row in ipairs(assert(engine:history(id))) do
          if row.type ~= "note" then
            rows[#rows + 1] = ("%s %s -> %s due %s gave %s"):format(row.type,
              row.node, row.path, row.due ~= nil, tostring(row.output))
          end
        end
        return rows, assert(engine:get(id)).variables
      end
      local plain_rows, plain_vars = run(false, "t.plain")
      local rows, vars = run(true, "t.noted")
      assert.same(plain_rows, rows)
      assert.same(plain_vars, vars)
      assert.same({ 10, 20 }, vars.results)
    end)

  it("is kept by branches and by what undoes them", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.branches", start = "split" }
    flow:fork("split", { next = { l = "left", r = "right" } })
    for _, side in ipairs { "left", "right" } do
      flow:step(side, { next = "met",
        run = function(ctx)
          ctx.note(side)
          ctx.vars[side] = true
        end,
        undo = function(ctx) ctx.note("undo " .. side) end })
    end
    flow:join("met", { next = "last" })
    flow:step("last", { next = "z", retry = false,
      run = function() error { code = "no" } end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.branches")
    assert(engine:run())
    assert.failed(engine, id)
    local list = notes(engine, id)
    table.sort(list)
    assert.same({ "left", "right", "undo left", "undo right" }, list)
    local undone = assert(engine:get(id)).compensation
    assert.equal(2, undone.undone)
  end)

  it("is refused where nothing may be done, and with what is no text",
    function()
      local engine = backend.fresh()
      local said = {}
      local function try(ctx, ...)
        local ok, err = pcall(ctx.note, ...)
        said[#said + 1] = ok and "ok" or tostring(err.message or err)
      end
      local flow = pawl.workflow { code = "t.refused", start = "a" }
      flow:step("a", { next = "c", run = function(ctx)
        try(ctx)
        try(ctx, {})
        try(ctx, "")
        try(ctx, ("x"):rep(16385))
        try(ctx, "a\0b")
        try(ctx, "\xff")
        try(ctx, "x", print)
        try(ctx, ctx, "x")
      end })
      flow:choice("c", { next = { z = "z", y = "z" }, choose = function(ctx)
        try(ctx, "x")
        return "z"
      end })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.refused")
      assert(engine:run())
      assert.completed(engine, id)
      assert.same({}, notes(engine, id))
      assert.equal(9, #said)
      for i, words in ipairs { "the text is a nil", "the text is a table",
        "has 0 bytes", "has 16385 bytes", "zero byte", "not UTF%-8",
        "function", "with a dot", "`choose` of node \"c\"" } do
        assert.matches(words, said[i])
      end
    end)
end)
