-- How what is archived is asked: each answer is as it was, from a store in
-- memory that it is read into.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local samples = require "spec.engine.samples"

local FORCE <const> = { force = true, by = "ann", reason = "old" }

kit.describe("what is archived", function(backend)
  local function rich()
    local engine, clock, url = backend.fresh()
    assert(engine:load(samples.rich()))
    return engine, samples.rich_ended(engine), url, clock
  end

  it("exports what it has, masked where that is asked for", function()
    local engine, id = rich()
    local whole = assert(engine:export(id))
    assert(engine:archive(id, FORCE))
    local again = assert(engine:export(id))
    local function rows(text)
      return (text:gsub('{"is":"agenda".-\n', "")
        :gsub('("is":"export".-)"at":"[^"]*"', "%1"))
    end
    assert.equal(rows(whole), rows(again))
    assert.is_nil(assert(engine:export(id, { mask = "colour" }))
      :find('"red"', 1, true))
  end)

  it("is asked for a part, as what is not", function()
    local engine, id = rich()
    local function asked()
      return { assert(engine:history(id, { limit = 3 })),
        assert(engine:history(id, { after = 4, limit = 2 })),
        assert(engine:history(id, { attribute = "colour" })),
        assert(engine.tasks:list { instance = id }),
        { assert(engine.tasks:tally { instance = id }) },
        { assert(engine.tasks:tally { instance = id, status = "pending" }) },
        assert(engine:find(id:sub(-8))) }
    end
    local before = asked()
    assert.equal(3, #before[1])
    assert.equal(1, #before[4])
    assert.same({ { 1, false }, { 0, false } }, { before[5], before[6] })
    assert(engine:archive(id, FORCE))
    assert.same(before, asked())
    assert.equal(0, #assert(engine.tasks:list { instance = id,
      status = "pending" }))
    assert.error_matches(function() engine:history(id, { limits = 1 }) end,
      "limit")
  end)

  it("has a task by its own id, as it was, and does not change it", function()
    local engine, id, url, clock = rich()
    local task = assert(engine.tasks:list { instance = id })[1].id
    local before = assert(engine.tasks:get(task))
    assert(engine:archive(id, FORCE))
    assert.same(before, assert(engine.tasks:get(task)))
    assert.same(before, assert(engine.tasks:get(task:sub(1, 30))))
    assert.equal(task, assert(engine.tasks:find(task)))
    kit.refused("conflict", "instance " .. id:gsub("%-", "%%-") ..
      " is archived", "unarchive it first",
      engine.tasks:edit(task, { by = "ann", title = "No?" }))
    local other = kit.rival(backend, url, clock, { tenant = "b" })
    kit.refused("notfound", "no task", nil, other.tasks:get(task))
    assert(engine:unarchive(id))
    assert.same(before, assert(engine.tasks:get(task)))
    assert.equal(0, kit.count(backend, url, "archived_task"))
    assert(engine:archive(id, FORCE))
    assert(engine:purge(id, { keep_attributes = true }))
    kit.refused("notfound", "there is no task", "task list",
      engine.tasks:get(task))
    kit.refused("notfound", "there is no task", "task list",
      engine.tasks:edit(task, { by = "ann", title = "No?" }))
    assert.equal(0, kit.count(backend, url, "archived_task"))
  end)

  it("has a task of a tenant, for that one alone", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "ask" }
    flow:task("ask", { title = "Yes?", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local own = kit.rival(backend, url, clock, { tenant = "a" })
    local id = assert(engine:start("t.task", nil, { tenant = "a" }))
    assert(engine:run())
    assert(own:cancel(id))
    local task = assert(own.tasks:list { instance = id })[1].id
    local before = assert(own.tasks:get(task))
    assert(own:archive(id, FORCE))
    assert.same(before, assert(own.tasks:get(task)))
    assert.same(before, assert(own.tasks:get(task:sub(1, 30))))
    local other = kit.rival(backend, url, clock, { tenant = "b" })
    kit.refused("notfound", "no task", nil, other.tasks:get(task))
    kit.refused("notfound", "no task", nil,
      other.tasks:get(task:sub(1, 30)))
    kit.refused("notfound", "no task", nil,
      other.tasks:edit(task, { by = "ann", title = "No?" }))
  end)

  it("has its tasks in no list but its own", function()
    local engine, id = rich()
    local task = assert(engine.tasks:list { instance = id })[1].id
    assert(engine:archive(id, FORCE))
    assert.equal(1, (assert(engine.tasks:tally { instance = id:sub(-8) })))
    assert.equal(0, (assert(engine.tasks:tally { status = "completed" })))
    assert(engine:unarchive(id))
    assert.equal(id, assert(engine.tasks:get(task)).instance)
    assert(engine:purge(id, { keep_attributes = true, force = true }))
    assert.equal(0, (assert(engine.tasks:tally { instance = id })))
  end)

  it("is its tenant's alone", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start("t.one", {}, { tenant = "a" }))
    assert(engine:run())
    assert(engine:archive(id))
    local own = kit.rival(backend, url, clock, { tenant = "a" })
    local other = kit.rival(backend, url, clock, { tenant = "b" })
    assert.truthy(assert(own:get(id)).archived)
    assert.equal(1, #assert(own:list { archived = true }))
    assert.equal(0, #assert(other:list { archived = true }))
    for _, verb in ipairs { "get", "history", "explain", "export", "tokens",
      "unarchive", "purge" } do
      kit.refused("notfound", "no instance", nil, other[verb](other, id))
    end
    kit.refused("notfound", "no instance", nil, other:find(id:sub(-8)))
    assert.equal(0, (assert(other.tasks:tally { instance = id })))
    assert(own:unarchive(id))
    assert.is_nil(assert(engine:get(id)).archived)
  end)

  it("runs by nothing where its workflow is not known any more", function()
    local engine, id, url = rich()
    assert(engine:archive(id, FORCE))
    backend.sql(url, "delete from " .. kit.table(backend, "workflow"))
    assert.completed(engine, id)
    assert(engine:history(id))
  end)

  it("says so when its text is damaged", function()
    local engine, id, url = rich()
    assert(engine:archive(id, FORCE))
    backend.sql(url, ("update %s set document = 'no lines'"):format(
      kit.table(backend, "archive")))
    local ok, err = engine:get(id)
    assert.same({ nil, "corrupt" }, { ok, err.code })
    ok, err = engine:unarchive(id)
    assert.same({ nil, "corrupt" }, { ok, err.code })
    assert(engine:purge(id))
  end)
end)
