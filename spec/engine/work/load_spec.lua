--- What the store holds was damaged by somebody else: that is said, and what is
--- whole goes on.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("damaged JSON in the store", function(backend)
  --- PostgreSQL takes no text that is no JSON: its type is changed first.
  local function damage(url, column, id)
    if backend.name == "postgres" then
      backend.sql(url, "select 1") -- the store is there
    end
    backend.sql(url, ("update %s set %s = '{\"a\":' where id = %s"):format(
      kit.table(backend, "instance"), column, kit.id_literal(backend, id)))
  end

  if backend.name == "postgres" then
    it("is refused by the store itself", function()
      local engine, _, url = backend.fresh()
      assert(engine:load(kit.timer "1h"))
      local id = assert(engine:start "t.timer")
      assert(engine:run())
      assert.has_error(function() damage(url, "variables", id) end)
      assert.equal("waiting", kit.status(engine, id))
    end)
    return
  end

  local function corrupt(value, err)
    assert.is_nil(value)
    assert.equal("corrupt", err.code)
    return err
  end

  it("is named with its instance, by all that shows it", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local whole = assert(engine:start "t.timer")
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    for _, column in ipairs { "variables", "input", "error" } do
      damage(url, column, id)
      local err = corrupt(engine:get(id))
      assert.matches("damaged JSON, of " .. id, err.message, 1, true)
      assert.truthy(err.hint)
      corrupt(engine:get(id, "json"))
      backend.sql(url, ("update pawl_instance set %s = '{}'"):format(column))
    end
    damage(url, "error", id)
    corrupt(engine:list {})
    corrupt(engine:explain(id))
    assert.equal("waiting", kit.status(engine, whole))
  end)

  it("is not said to be of what is no id, though it is called so", function()
    local engine, _, url = backend.fresh()
    local text = ("z"):rep(36)
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start("t.timer", { id = text }))
    assert(engine:run())
    damage(url, "variables", id)
    local err = corrupt(engine:get(id))
    assert.matches("damaged JSON, of " .. id, err.message, 1, true)
  end)

  it("fails the step that reads it, and no other", function()
    local engine, clock, url = backend.fresh()
    local read = {}
    assert(engine:load(kit.one(function(ctx)
      read[ctx.id] = ctx.input.n
    end, { retry = { max = 3 } })))
    local id = assert(engine:start("t.one", { n = 1 }))
    local whole = assert(engine:start("t.one", { n = 2 }))
    damage(url, "input", id)
    assert(engine:run())
    clock:advance "1h"
    assert(engine:run())
    assert.same({ [whole] = 2 }, read)
    assert.equal("completed", kit.status(engine, whole))
    local failed = backend.sql(url, "select json_extract(error, '$.code') as "
      .. "code from pawl_instance where id = " .. kit.id_literal(backend, id))
    assert.equal("corrupt", failed[1].code)
    assert.equal("failed", assert(engine:list { status = "failed" })[1].status)
  end)
end)

kit.describe("a store that was damaged by hand", function(backend)
  local function fan()
    local flow = pawl.workflow { code = "t.each", start = "each" }
    flow:each("each", { items = function() return { 1, 2, 3, 4 } end,
      branch = "item", window = 1, into = "got", next = "z" })
    flow:step("item", { next = "rest",
      run = function(ctx) return nil, ctx.token.data.item end })
    flow:timer("rest", { after = "1m", next = "each" })
    flow:finish "z"
    return flow
  end

  it("fails the instance whose next item is not there", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(fan()))
    local id = assert(engine:start "t.each")
    local whole = assert(engine:start "t.each")
    assert(engine:run())
    backend.sql(url, ("delete from %s where no = 2 and instance = %s")
      :format(kit.table(backend, "item"), kit.id_literal(backend, id)))
    for _ = 1, 6 do
      clock:advance "1m"
      assert(engine:run())
    end
    local instance = assert(engine:get(id))
    assert.equal("failed", instance.status)
    assert.equal("corrupt", instance.error.code)
    assert.equal("item 3 of each \"each\" is not in the store",
      instance.error.message)
    assert.equal(0, kit.count(backend, url, "agenda"))
    local other = assert(engine:get(whole))
    assert.equal("completed", other.status)
    assert.same({ 1, 2, 3, 4 }, { table.unpack(other.variables.got) })
  end)

  --- An each whose results are all there, and an instance beside it.
  local function collected(damage)
    local engine, clock, url = backend.fresh()
    assert(engine:load(fan()))
    local id = assert(engine:start "t.each")
    local whole = assert(engine:start "t.each")
    assert(engine:run())
    for i = 1, 6 do
      clock:advance "1m"
      if i == 4 then -- the last item is under way
        backend.sql(url, (damage .. " and instance = %s")
          :format(kit.table(backend, "item"), kit.id_literal(backend, id)))
      end
      assert(engine:run())
    end
    assert.same({ 1, 2, 3, 4 },
      { table.unpack(assert(engine:get(whole)).variables.got) })
    assert.equal(0, kit.count(backend, url, "agenda"))
    return assert(engine:get(id))
  end

  for what, damage in pairs {
    ["is not there"] = "delete from %s where no = 1",
    ["is the first of two that are not there"] =
      "delete from %s where no in (1, 2)",
  } do
    it("fails the instance one of whose results " .. what, function()
      local instance = collected(damage)
      assert.equal("failed", instance.status)
      assert.equal("corrupt", instance.error.code)
      assert.equal("the result of item 2 of each \"each\" is not in the store",
        instance.error.message)
      assert.is_nil(instance.variables.got)
    end)
  end

  if backend.name == "postgres" then return end -- its columns end before

  it("leaves counters alone that nobody can count on", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    backend.sql(url, ("update %s set visit = 9223372036854775807 where id = %s")
      :format(kit.table(backend, "instance"), kit.id_literal(backend, id)))
    clock:advance "2h"
    assert(engine:tick(0))
    assert.equal("waiting", kit.status(engine, id))
    assert.equal(1, assert(engine:get(id)).commits)
  end)
end)
