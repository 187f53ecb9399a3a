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
    assert.completed(engine, whole)
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

  --- Instances one of which, in the end, has been damaged.
  local function standing(flow, damage, within)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id, whole = assert(engine:start(flow.code)),
      assert(engine:start(flow.code))
    assert(engine:run())
    local name, set = damage:match "^(%l+) (.*)$"
    backend.sql(url, ("update %s set %s and %s = %s"):format(
      kit.table(backend, name), set, name == "token" and "instance" or "id",
      kit.id_literal(backend, id)))
    clock:advance(within or "1h")
    assert(engine:run())
    assert.completed(engine, whole)
    return engine, id, clock, url
  end

  --- It is suspended, once, and is looked at no more.
  local function is_suspended(words, engine, id, clock, url)
    local instance = assert(engine:get(id))
    assert.equal("suspended", instance.status)
    assert.equal("definition", instance.error.code)
    assert.matches(words, instance.error.message)
    local rows = #assert(engine:history(id))
    assert.equal("suspended", kit.last(engine, id).type)
    clock:advance "1d"
    assert.equal(0, assert(engine:run()).claimed)
    assert.equal(rows, #assert(engine:history(id)))
    assert.equal(0, kit.count(backend, url, "agenda"))
  end

  it("suspends the instance that waits at no node, to be put at another",
    function()
      local engine, id, clock, url = standing(kit.timer "1h",
        "instance node = 'nap' where node = 't'")
      local words = '^token 1 stands at node "nap", and workflow "t.timer" '
        .. "version 1 has no such node$"
      is_suspended(words, engine, id, clock, url)
      assert.matches("pawl move", assert(engine:get(id)).error.hint)
      assert(engine:resume(id)) -- nothing was mended
      assert(engine:run())
      is_suspended(words, engine, id, clock, url)
      assert(engine:move(id, { to = "t" }))
      assert(engine:resume(id))
      assert(engine:run())
      clock:advance "1h"
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("leaves it to a person who puts it at a node before", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    backend.sql(url, ("update %s set node = 'nap'"):format(
      kit.table(backend, "instance")))
    clock:advance "2h"
    assert(engine:move(id, { to = "t" }))
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
    clock:advance "1h"
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("suspends the instance whose next attempt is at no node", function()
    is_suspended('stands at node "nap"', standing(kit.one(function(ctx)
      if ctx.attempt == 1 then error "not yet" end
    end, { retry = { max = 3, base = 60 } }),
      "instance node = 'nap' where node = 'a'"))
  end)

  it("suspends the instance one of whose branches, or items, is at no node",
    function()
      local flow = pawl.workflow { code = "t.wide", start = "split" }
      flow:fork("split", { next = { "nap", "each" } })
      flow:timer("nap", { after = "1h", next = "meet" })
      flow:each("each", { items = function() return { 1, 2 } end,
        branch = "item", next = "meet" })
      flow:timer("item", { after = "1h", next = "each" })
      flow:join("meet", { expect = "all", next = "z" })
      flow:finish "z"
      for _, node in ipairs { "nap", "item", "each" } do
        is_suspended('stands at node "lost"', standing(flow,
          ("token node = 'lost' where node = '%s'"):format(node)))
      end
    end)

  it("suspends the instance that waits where nothing waits, or for no time",
    function()
      local flow = pawl.workflow { code = "t.both", start = "split" }
      flow:fork("split", { next = { "nap", "long" } })
      flow:timer("nap", { after = "1m", next = "meet" })
      flow:timer("long", { after = "1h", next = "meet" })
      flow:join("meet", { expect = "all", next = "a" })
      flow:step("a", { run = function() end, next = "z" })
      flow:finish "z"
      is_suspended('waits at step "a" where nothing waits$', standing(flow,
        "token node = 'a' where node = 'nap'"))
      is_suspended('waits at join "meet" for a time', standing(flow,
        "token node = 'meet' where node = 'nap'"))
    end)

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
