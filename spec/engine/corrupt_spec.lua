--- What the store holds was damaged by somebody else: that is said, and what is
--- whole goes on.
local kit = require "spec.engine.kit"

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
