--- How many instances may begin each other where they are not trusted: counted
--- by the store from the first of them on, however one begins the next.
local kit = require "spec.engine.kit"
local tmp = require "spec.support.tmp"

local LINE <const> = [[
local flow = require("pawl").workflow { code = "%s", start = "a", %s }
%s
return flow]]

local CALL <const> = [[
flow:call("a", { workflow = "%s", next = "z" }):finish "z"]]
local START <const> = [[
flow:step("a", { retry = { max = 1 }, next = "z", run = function(ctx)
  ctx.start("mod.one", {}, { track = %s })
end }):finish "z"]]
local EACH <const> = [[
flow:each("a", { items = function() return { 1 } end, workflow = "mod.one",
  next = "z" }):finish "z"]]
local SIGNAL <const> = [[
flow:step("a", { next = "z", run = function(ctx)
  ctx.signal { name = "mod.go", key = "k" }
end }):finish "z"]]
local NAP <const> = [[
flow:timer("a", { after = 60, next = "b" })
flow:step("b", { retry = { max = 1 }, next = "z", run = function(ctx)
  ctx.start("mod.one", {}, { track = false })
end }):finish "z"]]
local FAIL <const> = [[
flow:step("a", { next = "z", retry = { max = 1 }, run = function(ctx)
  error "it fails"
end }):finish "z"]]

local TRUST <const> = { time = 60, per_instance = { ancestors = 3 },
  may = { start = { "mod.*", "game.two" }, signal = "mod.*" } }

local function load(engine, code, body, options)
  assert(engine:load(tmp.file("flow.lua",
    LINE:format(code, options or "", body)),
    { trust = code:find "^mod" and TRUST or nil }))
end

local function oldest_first(engine)
  local list = assert(engine:list { limit = 100 })
  table.sort(list, function(a, b) return a.id < b.id end)
  return list
end

--- All that came of one.
local function all_of(engine, code)
  assert(engine:start(code or "mod.one"))
  for _ = 1, 12 do engine:run() end
  return oldest_first(engine)
end

local function codes_of(list)
  local codes = {}
  for i, one in ipairs(list) do codes[i] = one.workflow end
  return table.concat(codes, " ")
end

local MOST <const> = "^ancestors: what it starts would have 4; 3 are the most"

local function assert_has_too_many(engine, id)
  local err = assert(engine:get(id)).error
  assert.equal("limit", err.code)
  assert.matches("^ancestors: the instance would have 4; 3 are the most",
    err.message)
end

local function assert_ends_there(engine, list)
  assert.equal(4, #list)
  local last = assert(engine:get(list[4].id))
  assert.equal("failed", last.status)
  assert.equal("limit", last.error.code)
  assert.matches(MOST, last.error.message)
  assert.matches("per_instance", last.error.hint)
end

kit.describe("who is not trusted", function(backend)
  for name, body in pairs { call = CALL:format "mod.one",
    ["ctx.start"] = START:format "true",
    ["a start that nobody tracks"] = START:format "false", each = EACH } do
    it("begins itself no more often than it may, by " .. name, function()
      local engine = backend.fresh()
      load(engine, "mod.one", body)
      assert_ends_there(engine, all_of(engine))
    end)
  end

  it("is counted by what is stored, whoever runs it", function()
    local engine, clock, url = backend.fresh()
    load(engine, "mod.one", NAP)
    assert(engine:start "mod.one")
    for _ = 1, 6 do
      engine:run()
      engine:close()
      clock:advance(61)
      engine = kit.rival(backend, url, clock)
      load(engine, "mod.one", NAP)
    end
    assert_ends_there(engine, oldest_first(engine))
    engine:close()
  end)

  it("is counted on through others that are", function()
    local engine = backend.fresh()
    load(engine, "mod.one", CALL:format "game.two")
    load(engine, "game.two", CALL:format "mod.one")
    local list = all_of(engine)
    assert.equal("mod.one game.two mod.one game.two mod.one", codes_of(list))
    assert_has_too_many(engine, list[5].id)
  end)

  it("is counted when its events start it", function()
    local engine = backend.fresh()
    load(engine, "mod.one", SIGNAL, "trigger = 'mod.go'")
    local list = all_of(engine)
    assert.equal(5, #list)
    assert_has_too_many(engine, list[5].id)
  end)

  it("is counted when its failures start it", function()
    local engine = backend.fresh()
    load(engine, "mod.one", FAIL,
      "on_failure = { start = 'mod.two' }")
    load(engine, "mod.two", START:format "false")
    local list = all_of(engine)
    assert.equal("mod.one mod.two mod.one mod.two", codes_of(list))
    assert.matches(MOST, assert(engine:get(list[4].id)).error.message)
  end)

  it("may be begun anew as often as one likes from outside", function()
    local engine = backend.fresh()
    load(engine, "mod.one", 'flow:finish "a"')
    load(engine, "game.two", CALL:format "mod.one")
    for _ = 1, 6 do
      local id = assert(engine:start "game.two")
      engine:run()
      assert.equal("completed", kit.status(engine, id))
    end
  end)
end)

kit.describe("who is trusted", function(backend)
  it("is not counted, and has nothing written for it", function()
    local engine, _, url = backend.fresh()
    load(engine, "game.one", [[
      flow:choice("a", { next = { more = "c", out = "z" },
        choose = function(ctx)
          return (ctx.input.n or 0) < 9 and "more" or "out" end })
      flow:call("c", { workflow = "game.one", next = "z",
        input = function(ctx) return { n = (ctx.input.n or 0) + 1 } end })
      flow:finish "z"]])
    local list = all_of(engine, "game.one")
    assert.equal(10, #list)
    for _, one in ipairs(list) do assert.equal("completed", one.status) end
    assert.equal(0, kit.count(backend, url, "instance",
      "cast(parent_place as text) like '%ancestors%'"))
  end)
end)
