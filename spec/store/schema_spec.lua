--- Several stores in one PostgreSQL database, each in a schema of its own.
local backends = require "spec.support.backends"
local command = require "spec.support.command"
local helper = require "spec.store.helper"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local backend = backends[2]

local function asks()
  local flow = pawl.workflow { code = "t.asks", start = "a" }
  flow:step("a", { run = function(ctx) ctx.vars.n = 1 end, next = "b" })
  flow:task("b", { title = "?", role = "clerk", next = "c" })
  flow:wait("c", { event = "go", key = "n", next = "z" })
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

describe("a schema of another name", function()
  if not backend then
    pending "PAWL_TEST_PG is not set"
    return
  end
  local first, second, url
  local open = {}

  local function opened(options)
    local engine = assert(pawl.open(url, options))
    open[#open + 1] = engine
    return engine
  end

  before_each(function()
    url = backend.url()
    first, second = opened(), opened { schema = "second" }
  end)

  after_each(function()
    for _, engine in ipairs(open) do engine:close() end
    open = {}
    backend.cleanup()
  end)

  it("is a store of its own, in the same database", function()
    assert(first:load(asks()))
    assert(second:load(asks()))
    local id = assert(second:start("t.asks", nil, { key = "k" }))
    assert.is_nil((first:get(id)))
    assert.is_not.equal(id, assert(first:start("t.asks", nil, { key = "k" })))

    assert(second:run())
    assert.same({ { n = "1" } }, backend.sql(url,
      "select count(*) as n from second.instance"))
    local task = assert(second.tasks:list { role = "clerk" })[1]
    assert(second.tasks:complete(task.id, { by = "ann",
      roles = { "clerk" } }))
    assert(second:signal { name = "go", key = "1" })
    assert(second:run())
    assert.equal("completed", assert(second:get(id)).status)
    assert.same({ { open = "f" } }, backend.sql(url,
      "select open from second.owner"))
    assert(second:purge(id))
    assert.same({ { n = "1" } }, backend.sql(url,
      "select count(*) as n from pawl.instance"))
  end)

  it("needs nothing of the other one", function()
    first:close()
    backend.sql(url, "drop schema pawl cascade")
    assert(second:load(asks()))
    local id = assert(second:start "t.asks")
    assert(second:run())
    assert.equal("waiting", assert(second:get(id)).status)
  end)

  it("is woken by what is stored there, not by the other one's", function()
    local function told(options)
      local store <close> = assert(probe.open(url, options))
      assert(helper.unit(store, "batch", { "wake" }))
    end
    local store <close> = assert(probe.open(url, { schema = "second" }))
    repeat local _, news = assert(store:wait(-1)) until not news
    told {}
    assert.is_false((select(2, assert(store:wait(0.2)))))
    told { schema = "second" }
    assert.is_true((select(2, assert(store:wait(10)))))
  end)

  it("keeps its tables from a step's own statements", function()
    local flow = pawl.workflow { code = "t.sql", start = "a" }
    flow:step("a", { transactional = true, retry = { max = 1 }, next = "z",
      run = function(ctx) ctx.db:query "delete from second.history" end })
    flow:finish "z"
    assert(second:load(flow))
    local id = assert(second:start "t.sql")
    assert(second:run())
    local got = assert(second:get(id))
    assert.equal("failed", got.status)
    assert.matches("own tables can only be read", got.error.message)
  end)

  it("must have a name that a schema can have", function()
    for _, name in ipairs { "", "1st", "Pawl", "a-b", "pg_own",
      ("x"):rep(49) } do
      local engine, err = pawl.open(url, { schema = name })
      assert.is_nil(engine, name)
      assert.equal("invalid", err.code)
      assert.matches("no name of a schema", err.message)
    end
  end)

  it("is what the command takes, too, and says in its hints", function()
    local here = command.folder()
    here:write("asks.lua", [[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.asks", start = "b" }
      flow:task("b", { title = "?", next = "z" })
      flow:finish "z"
      return flow]])
    local ran = here:pawl("migrate", "--store", url, "--schema", "second")
    assert.equal(0, ran.code, ran.err)
    ran = here:pawl("run", "asks.lua", "--store", url, "--schema", "second")
    assert.matches("--schema second", ran.out .. ran.err, 1, true)
    ran = here:pawl("list", "--store", url, "--json", { env = {
      PAWL_SCHEMA = "second" } })
    assert.equal(0, ran.code, ran.err)
    assert.equal(1, #pawl.json.decode(ran.out))
    ran = here:pawl("list", "--store", url, "--json")
    assert.equal(0, #pawl.json.decode(ran.out))
  end)
end)

describe("a store in a file", function()
  it("has no schema to be named", function()
    local engine, err = pawl.open(":memory:", { schema = "second" })
    assert.is_nil(engine)
    assert.equal("invalid", err.code)
    assert.matches("give each store a file", err.hint)
  end)
end)
