-- What is registered: versions, and what lives of each.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

kit.describe("a list of workflows", function(backend)
  local function listed(engine, query)
    local words = {}
    for i, flow in ipairs(assert(engine.workflows:list(query))) do
      words[i] = flow.workflow .. " " .. flow.version
    end
    return words
  end

  it("has every version, and can be narrowed to one workflow", function()
    local engine = backend.fresh()
    assert.same({}, listed(engine))
    assert(engine:load(kit.one(nil, { version = 1 })))
    assert(engine:load(kit.one(nil, { version = 3 })))
    assert(engine:load(kit.timer()))
    local all = listed(engine)
    table.sort(all)
    assert.same({ "t.one 1", "t.one 3", "t.timer 1" }, all)
    assert.same({ "t.timer 1" }, listed(engine, { workflow = "t.timer" }))
    assert.same({}, listed(engine, { workflow = "t.tim" }))
    local flow = assert(engine.workflows:list { workflow = "t.timer" })[1]
    assert.is_true(flow.active)
    assert.is_false(flow.suspended)
    assert.is_true(flow.inline)
    assert.equal(2, flow.nodes)
  end)

  it("counts what lives of each, when asked", function()
    local engine, clock = backend.fresh { shards = 2 }
    assert(engine:load(kit.timer()))
    for _ = 1, 5 do assert(engine:start "t.timer") end
    assert(engine:run())
    local function live()
      return assert(engine.workflows:list { live = true })[1].live
    end
    local alive = live()
    clock:advance "2h"
    assert(engine:run())
    assert.not_same(alive, live())
    assert.is_nil(assert(engine.workflows:list())[1].live)
  end)

  --- With a name and a description.
  local function named(code, name, description)
    local flow = pawl.workflow { code = code, name = name,
      description = description, start = "z" }
    flow:finish "z"
    return flow
  end

  it("is searched by code, name and description, and by prefix", function()
    local engine = backend.fresh()
    assert(engine:load(named("bill.send", "Invoices", "by mail")))
    assert(engine:load(named("bill_x", "Other", "100% of it")))
    assert(engine:load(named("ship.it", "Ship", "and send the INVOICE")))
    assert.same({ "bill.send 1", "ship.it 1" },
      listed(engine, { search = "invoice" }))
    assert.same({ "bill.send 1" }, listed(engine, { search = "BILL.s" }))
    assert.same({ "bill_x 1" }, listed(engine, { search = "0%" }))
    assert.same({}, listed(engine, { search = "%_" }))
    assert.same({ "bill.send 1", "bill_x 1" },
      listed(engine, { prefix = "bill" }))
    assert.same({ "bill_x 1" }, listed(engine, { prefix = "bill_" }))
    assert.same({}, listed(engine, { prefix = "ill" }))
    local flow = assert(engine.workflows:list { workflow = "bill.send" })[1]
    assert.equal("Invoices", flow.name)
    assert.equal("by mail", flow.description)
  end)

  it("can be of those alone that start, or do not", function()
    local engine = backend.fresh()
    for version = 1, 3 do
      assert(engine:load(kit.one(nil, { version = version })))
    end
    assert(engine.workflows:deactivate("t.one", 2))
    assert.same({ "t.one 1", "t.one 3" }, listed(engine, { active = true }))
    assert.same({ "t.one 2" }, listed(engine, { active = false }))
  end)

  it("comes in pages", function()
    local engine = backend.fresh()
    for _, code in ipairs { "t.a", "t.b" } do
      for version = 1, 3 do
        assert(engine:load(kit.one(nil, { code = code, version = version })))
      end
    end
    local pages, after = {}, nil
    repeat
      local page = listed(engine, { limit = 4, after = after })
      pages[#pages + 1] = page
      after = page[1] and page[#page]:gsub(" ", "@")
    until not after
    assert.same({ { "t.a 1", "t.a 2", "t.a 3", "t.b 1" },
      { "t.b 2", "t.b 3" }, {} }, pages)
    assert.same({ "t.b 1", "t.b 2" }, listed(engine, { after = "t.a@2",
      workflow = "t.b", search = "T.B", limit = 2 }))
  end)

  it("names what of a query it does not understand", function()
    local engine = backend.fresh()
    for _, after in ipairs { "t.a", "@1", "t.a@", "t.a@0", "t.a@x",
      "t.a@1x", "t.a@99999999999", "t.a@-1" } do
      kit.refused("invalid", "`after` is not CODE@VERSION", "order.fulfil@2",
        engine.workflows:list { after = after })
    end
    for _, query in ipairs { { search = "" }, { prefix = "" },
      { after = "" } } do
      kit.refused("invalid", "", nil, engine.workflows:list(query))
    end
    assert.error_matches(function()
      engine.workflows:list { serch = "x" }
    end, "search")
  end)
end)

kit.describe("what is stored of a workflow", function(backend)
  local SOURCE = [[
    local pawl = require "pawl"
    local flow = pawl.workflow { code = "t.kept", version = 2, name = "Kept",
      description = "as it was", start = "a"%s }
    flow:step("a", { run = function() return nil, %d end, next = "z" })
    flow:finish "z"
    return flow
  ]]

  it("is its source, byte by byte, its graph, and who made it", function()
    local engine = backend.fresh()
    local text = SOURCE:format("", 1) .. "-- \xc3\xa9 \t\n\n"
    local info = assert(engine:load(tmp.file("kept.lua", text)))
    local flow = assert(engine.workflows:get "t.kept")
    assert.equal(text, flow.source)
    assert.equal(info.sha256, flow.sha256)
    assert.same({ "t.kept", 2, 1, "Kept", "as it was" }, { flow.workflow,
      flow.version, flow.revision, flow.name, flow.description })
    assert.same({ true, true, false, false }, { flow.current, flow.active,
      flow.inline, flow.suspended })
    assert.same({}, flow.bundle)
    assert.same(assert(engine.workflows:graph "t.kept"), flow.graph)
    assert.equal("default", flow.group)
    assert.truthy(flow.by)
    assert.equal(1, #flow.revisions)
    assert.same(flow, assert(engine.workflows:get("t.kept", 2)))
    assert.same(flow, assert(engine.workflows:get("t.kept", 2,
      { revision = 1 })))
    local json = assert(engine.workflows:get("t.kept", nil, nil, "json"))
    assert.equal(text, pawl.json.decode(json).source)
  end)

  it("has the modules of its bundle", function()
    local dir = tmp.dir()
    local module = "kept_" .. backend.name
    local out = assert(io.open(dir .. "/" .. module .. ".lua", "w"))
    assert(out:write "return 7")
    out:close()
    out = assert(io.open(dir .. "/flow.lua", "w"))
    assert(out:write(SOURCE:format((', bundle = { "%s" }'):format(module), 1)))
    out:close()
    local engine = backend.fresh()
    assert(engine:load(dir .. "/flow.lua"))
    assert.same({ [module] = "return 7" },
      assert(engine.workflows:get "t.kept").bundle)
  end)

  it("has every revision, with its own source", function()
    local engine = backend.fresh()
    local texts = {}
    for i = 1, 3 do texts[i] = SOURCE:format("", i) end
    assert(engine:load(tmp.file("kept.lua", texts[1])))
    assert(engine:load(tmp.file("kept.lua", texts[2])))
    assert(engine:start "t.kept")
    assert(engine.workflows:hotfix(tmp.file("kept.lua", texts[3]),
      { by = "ann", reason = "rounding" }))
    local flow = assert(engine.workflows:get("t.kept", 2))
    assert.equal(texts[3], flow.source)
    assert.same({ "ann", "rounding", 3 }, { flow.by, flow.reason,
      flow.revision })
    for i, one in ipairs(flow.revisions) do
      assert.equal(i, one.revision)
      assert.equal(i == 3, one.current)
      local old = assert(engine.workflows:get("t.kept", 2, { revision = i }))
      assert.equal(texts[i], old.source)
      assert.equal(one.sha256, old.sha256)
      assert.equal(i == 3, old.current)
      assert.equal(3, #old.revisions)
    end
  end)

  it("is of the newest that starts, else of the newest", function()
    local engine = backend.fresh()
    for version = 1, 3 do
      assert(engine:load(kit.one(nil, { version = version })))
    end
    local function version() return engine.workflows:get("t.one").version end
    assert.equal(3, version())
    assert(engine.workflows:deactivate("t.one", 3))
    assert.equal(2, version())
    assert(engine.workflows:deactivate("t.one", 2))
    assert(engine.workflows:deactivate("t.one", 1))
    assert.equal(3, version())
    local flow = assert(engine.workflows:get("t.one"))
    assert.is_true(flow.inline)
    assert.is_nil(flow.source)
    assert.is_false(flow.active)
    assert(engine.workflows:suspend { prefix = "t." })
    assert.is_true(engine.workflows:get("t.one").suspended)
  end)

  it("is not found where there is none, in the caller's words", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local get = function(...) return engine.workflows:get(...) end
    kit.refused("notfound", 'there is no workflow "t.two"', "load its file",
      get "t.two")
    kit.refused("notfound", '"t.one" version 2', nil, get("t.one", 2))
    kit.refused("notfound", '"t.one" version 1 has no revision 9',
      "revisions", get("t.one", 1, { revision = 9 }))
    kit.refused("notfound", "there is no workflow", nil,
      get("t.two", 1, { revision = 9 }))
    kit.refused("notfound", "there is no workflow", nil, get "no code")
    kit.refused("invalid", "`revision` is of a `version`", "version",
      get("t.one", nil, { revision = 1 }))
    assert.error_matches(function() get("t.one", 0) end,
      "bad argument #2 to 'workflows:get' %(a version expected")
    assert.error_matches(function() get() end,
      "bad argument #1 to 'workflows:get'")
    assert.error_matches(function() get("t.one", 1, { revsion = 1 }) end,
      "revision")
  end)
end)
