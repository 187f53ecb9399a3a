-- Whole workflows: suspended and resumed, active or not.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local samples = require "spec.engine.samples"

local last, refused = kit.last, kit.refused

local waiting, first, second = samples.waiting, samples.first, samples.second

local HOUR = 3600

kit.describe("a workflow that is suspended", function(backend)
  local function counted(state, code)
    return kit.one(function() state.runs = (state.runs or 0) + 1 end,
      { code = code })
  end

  it("takes new instances, which wait", function()
    local engine, _, url = backend.fresh()
    local state, other = {}, {}
    assert(engine:load(counted(state, "billing.charge")))
    assert(engine:load(counted(other, "billings")))
    local info = assert(engine.workflows:suspend { workflow = "billing.charge",
      by = "ann", reason = "bank" })
    assert.is_true(info.suspended)
    local id = assert(engine:start "billing.charge")
    assert(engine:start "billings")
    assert(engine:run())
    assert.is_nil(state.runs)
    assert.equal(1, other.runs)
    assert.equal("created", kit.status(engine, id))
    local row = kit.select(url, "select reason, by from "
      .. kit.table(backend, "suspension"))[1]
    assert.same({ reason = "bank", by = "ann" }, row)
    assert(engine.workflows:resume { workflow = "billing.charge" })
    assert(engine:run())
    assert.equal(1, state.runs)
    assert.equal(0, kit.count(backend, url, "suspension"))
  end)

  it("may be many, by what their codes begin with", function()
    local engine = backend.fresh()
    local one, two, other = {}, {}, {}
    assert(engine:load(counted(one, "bill_ing.charge")))
    assert(engine:load(counted(two, "bill_ing.refund")))
    assert(engine:load(counted(other, "billXing.charge")))
    assert(engine.workflows:suspend { prefix = "bill_ing." })
    for _, code in ipairs { "bill_ing.charge", "bill_ing.refund",
      "billXing.charge" } do
      assert(engine:start(code))
    end
    assert(engine:run())
    assert.is_nil(one.runs)
    assert.is_nil(two.runs)
    assert.equal(1, other.runs, "'_' is an ordinary character")
    refused("conflict", "is not suspended", "as it was written",
      engine.workflows:resume { workflow = "bill_ing.charge" })
    assert(engine.workflows:resume { prefix = "bill_ing." })
    assert(engine:run())
    assert.equal(1, one.runs)
    assert.equal(1, two.runs)
  end)

  it("holds an instance that another engine runs at its next claim", function()
    local a, b
    local state = {}
    local flow = pawl.workflow { code = "t.slow", start = "a" }
    flow:step("a", { next = "t", run = function()
      assert(b.workflows:suspend { workflow = "t.slow" })
    end })
    flow:timer("t", { after = "1h", next = "b" })
    flow:step("b", { next = "z", run = function() state.ran = true end })
    flow:finish "z"
    local clock
    a, b, clock = kit.pair(backend, { flow })
    local id = assert(a:start "t.slow")
    assert(a:run())
    clock:advance "2h"
    assert(a:run())
    assert(b:run { id = id })
    assert.is_nil(state.ran)
    assert(a.workflows:resume { workflow = "t.slow" })
    assert(a:run())
    assert.is_true(state.ran)
    assert.completed(b, id)
  end)

  it("still hears requests", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    local id = assert(engine:start "t.waiting")
    assert(engine:run())
    assert(engine.workflows:suspend { workflow = "t.waiting" })
    assert(engine:edit(id, { set = { x = 1 } }))
    assert.equal(1, assert(engine:get(id)).variables.x)
    local _, done = assert(engine:cancel(id))
    assert.is_true(done)
    assert.equal("cancelled", kit.status(engine, id))
  end)

  it("has all its times put off, when asked", function()
    local engine, clock, url = backend.fresh { shards = 3 }
    assert(engine:load(waiting()))
    assert(engine:load(kit.timer("1h", "t.other")))
    local ids = {}
    for i = 1, 250 do ids[i] = assert(engine:start "t.waiting") end
    local other = assert(engine:start "t.other")
    assert(engine:run())
    clock:advance(HOUR / 2)
    assert(engine.workflows:suspend { workflow = "t.waiting" })
    clock:advance "3h"
    assert(engine:run())
    assert.completed(engine, other)
    local info = assert(engine.workflows:resume { workflow = "t.waiting",
      shift = true,
      by = "ann" })
    assert.equal(250, info.shifted)
    assert(engine:run())
    assert.equal(250, #assert(engine:list { workflow = "t.waiting",
      status = "waiting", limit = 1000 }))
    assert.equal("shifted", last(engine, ids[7]).type)
    assert.equal("ann", last(engine, ids[7]).by)
    clock:advance(HOUR / 2 + 1)
    assert(engine:run())
    assert.equal(250, #assert(engine:list { workflow = "t.waiting",
      status = "completed", limit = 1000 }))
    assert.equal(0, kit.count(backend, url, "inbox"))
  end)

  it("is refused twice, and where nobody knows it", function()
    local engine = backend.fresh()
    assert(engine:load(waiting()))
    assert(engine.workflows:suspend { workflow = "t.waiting", by = "ann" })
    refused("conflict", 'suspended already, by ann', nil,
      engine.workflows:suspend { workflow = "t.waiting" })
    refused("notfound", 'no workflow "t.nobody"', "prefix",
      engine.workflows:suspend { workflow = "t.nobody" })
    assert(engine.workflows:suspend { prefix = "t.nobody" })
    assert.error_matches(function() engine.workflows:suspend {} end,
      "give { workflow")
    assert.error_matches(function()
      engine.workflows:suspend { workflow = "a", prefix = "b" }
    end, "give { workflow")
  end)
end)

kit.describe("a version that is not active", function(backend)
  local function versions()
    local engine, clock, url = backend.fresh()
    assert(engine:load(first()))
    assert(engine:load(second "t"))
    return engine, clock, url
  end

  local function version_of(engine, id)
    return assert(engine:get(id)).version
  end

  it("starts no new instances; its own go on", function()
    local engine, clock, url = versions()
    local old = assert(engine:start("t.order", {}, { version = 1 }))
    assert(engine:run())
    assert(engine.workflows:deactivate("t.order", 1, { by = "ann" }))
    local ok, err = engine:start("t.order", {}, { version = 1 })
    assert.is_nil(ok)
    assert.equal("conflict", err.code)
    assert.matches('"t.order" version 1 is not active', err.message)
    ok, err = engine:start("t.order", {}, { version = 1, key = "k" })
    assert.is_nil(ok)
    assert.matches("version 1 is not active", err.message)
    assert.equal(1, kit.count(backend, url, "instance"))
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, old)
    assert(engine.workflows:activate("t.order", 1))
    assert(engine:start("t.order", {}, { version = 1 }))
  end)

  it("is not the newest", function()
    local engine, clock, url = versions()
    assert(engine.workflows:deactivate("t.order", 2))
    local id = assert(engine:start "t.order")
    assert.equal(1, assert(engine:get(id)).version)
    local keyed = assert(engine:start("t.order", {}, { key = "k" }))
    assert.equal(1, assert(engine:get(keyed)).version)
    local client = kit.rival(backend, url, clock)
    assert.equal(1, version_of(client, assert(client:start "t.order")))
    assert(engine.workflows:deactivate("t.order", 1))
    for _, who in ipairs { engine, client } do
      local ok, err = who:start "t.order"
      assert.is_nil(ok)
      assert.equal("conflict", err.code)
      assert.matches('no version of workflow "t.order" is active',
        err.message)
    end
    -- what its key names was started before
    local again, created = engine:start("t.order", {}, { key = "k" })
    assert.equal(keyed, again)
    assert.is_false(created)
  end)

  it("stays so when it is loaded again", function()
    local engine, clock, url = versions()
    assert(engine.workflows:deactivate("t.order", 2))
    local other = kit.rival(backend, url, clock)
    assert(other:load(second "t"))
    assert.equal(1, version_of(other, assert(other:start "t.order")))
  end)

  it("is listed as such", function()
    local engine = versions()
    assert(engine:start("t.order", {}, { version = 1 }))
    assert(engine.workflows:deactivate("t.order", 1, { by = "ann",
      reason = "old" }))
    assert(engine.workflows:suspend { workflow = "t.order" })
    local list = assert(engine.workflows:list { workflow = "t.order",
      live = true })
    assert.equal(2, #list)
    assert.is_false(list[1].active)
    assert.equal("ann", list[1].by)
    assert.equal("old", list[1].reason)
    assert.equal(1, list[1].live)
    assert.equal(4, list[1].nodes)
    assert.is_true(list[2].active)
    assert.equal(0, list[2].live)
    assert.is_true(list[2].suspended)
    assert.equal(64, #list[2].sha256)
    assert.equal(2, #assert(engine.workflows:list()))
    assert.same({}, assert(engine.workflows:list { workflow = "t.nobody" }))
  end)

  it("must be one that is there", function()
    local engine = versions()
    local ok, err = engine.workflows:activate("t.order", 3)
    assert.is_nil(ok)
    assert.equal("notfound", err.code)
  end)
end)

kit.describe("a workflow that is switched off", function(backend)
  local function is_off(engine, options)
    kit.refused("conflict", "active", nil,
      engine:start("t.order", {}, options))
  end

  it("starts nothing, whoever has loaded what; what runs goes on", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(first()))
    assert(engine:load(second "t"))
    local old = assert(engine:start("t.order", {}, { version = 1 }))
    assert(engine:run())
    assert.same({ workflow = "t.order", off = true },
      assert(engine.workflows:off("t.order", { by = "ann",
        reason = "recall" })))
    local client = kit.rival(backend, url, clock)
    for _, who in ipairs { engine, client } do
      is_off(who)
      is_off(who, { version = 1 })
      is_off(who, { version = 2, key = "k" })
    end
    local list = assert(client.workflows:list { workflow = "t.order" })
    for i = 1, 2 do
      assert.same({ false, true, "ann", "recall" }, { list[i].active,
        list[i].off, list[i].by, list[i].reason })
    end
    assert.is_true(assert(client.workflows:get "t.order").off)
    clock:advance "2h"
    assert(engine:run())
    assert.completed(engine, old)
    assert.equal("switched_off", assert(engine:audit { by = "ann" })[1].type)
  end)

  it("takes no version that comes later, nor a hot-fix of one", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(first()))
    assert(engine.workflows:off "t.order")
    local other = kit.rival(backend, url, clock)
    assert(other:load(second "t"))
    is_off(other)
    assert(other:load(first()))
    is_off(other, { version = 1 })
    kit.refused("conflict", "switched off", "workflow on",
      engine.workflows:activate("t.order", 2))
    kit.refused("conflict", "switched off", nil,
      engine.workflows:deactivate("t.order", 1))
    assert(engine.workflows:on "t.order")
    local id = assert(other:start "t.order")
    assert.equal(2, assert(other:get(id)).version)
    assert(other:start("t.order", {}, { version = 1 }))
  end)

  it("has the same versions start as before, once it is on", function()
    local engine = backend.fresh()
    assert(engine:load(first()))
    assert(engine:load(second "t"))
    assert(engine.workflows:deactivate("t.order", 1))
    assert(engine.workflows:off "t.order")
    assert(engine.workflows:on("t.order", { by = "bob" }))
    kit.refused("conflict", "version 1 is not active", nil,
      engine:start("t.order", {}, { version = 1 }))
    assert(engine:start("t.order", {}, { version = 2 }))
    assert.is_false(assert(engine.workflows:get "t.order").off)
    assert.equal("switched_on", assert(engine:audit { by = "bob" })[1].type)
  end)

  it("is told once, and must be there", function()
    local engine = backend.fresh()
    assert(engine:load(first()))
    kit.refused("conflict", "is not switched off", nil,
      engine.workflows:on "t.order")
    assert(engine.workflows:off "t.order")
    kit.refused("conflict", "is switched off already", nil,
      engine.workflows:off "t.order")
    kit.refused("notfound", 'no workflow "t.none"', nil,
      engine.workflows:off "t.none")
    assert.error_matches(function()
      engine.workflows:off("t.order", { version = 1 })
    end, "version")
  end)

  it("stays off after a hot-fix of its only version", function()
    local engine = backend.fresh()
    local file = require "spec.support.tmp".file
    local flow = [[local pawl = require "pawl"
      local f = pawl.workflow { code = "t.file", start = "a" }
      f:step("a", { run = function() return nil, %d end, next = "z" })
      f:finish "z" return f]]
    assert(engine:load(file("one.lua", flow:format(1))))
    assert(engine.workflows:off "t.file")
    assert(engine.workflows:hotfix(file("two.lua", flow:format(2))))
    kit.refused("conflict", "active", nil, engine:start "t.file")
    assert(engine.workflows:on "t.file")
    assert(engine:start "t.file")
  end)
end)
