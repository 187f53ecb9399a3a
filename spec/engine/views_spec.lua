--- What readers of the database may count on: the views that the schema makes
--- for them.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

--- A name as the dialect has it.
local function view(backend, name)
  return (backend.name == "postgres" and "pawl." or "pawl_") .. name
end

local function order(engine)
  local flow = pawl.workflow { code = "t.order", start = "pack" }
  flow:step("pack", { next = "ask", run = function(ctx)
    ctx.vars.boxes = 2
    return nil, { weight = 7 }
  end })
  flow:task("ask", { title = "May it go?", form = "yes_no",
    priority = "high", next = "try" })
  flow:step("try", { retry = { max = 2, base = 60 }, next = "z",
    run = function() error { code = "closed", message = "not today" } end })
  flow:finish "z"
  assert(engine:load(flow))
  return assert(engine:start("t.order", { to = "Oslo" },
    { business_key = "o-1" }))
end

kit.describe("the views for readers", function(backend)
  it("show an instance, its steps and its tasks", function()
    local engine, _, url = backend.fresh()
    local id = order(engine)
    assert(engine:run())

    assert.same({ { workflow = "t.order", status = "waiting",
        business_key = "o-1", node = "ask" } },
      backend.sql(url, "select workflow, status, business_key, node from "
        .. view(backend, "instance_view")))
    assert.same({ { title = "May it go?", status = "pending", form = "yes_no",
        priority = "high", workflow = "t.order", business_key = "o-1" } },
      backend.sql(url, "select title, status, form, priority, workflow, "
        .. "business_key from " .. view(backend, "task_view")))

    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann" }))
    assert(engine:run())
    local steps = backend.sql(url, "select node, status, coalesce(by, '-') as "
      .. "by, case when completed_at is null then 'no' else 'yes' end as done "
      .. "from " .. view(backend, "step_view")
      .. " order by coalesce(seq, 1000)")
    assert.same({
      { node = "pack", status = "completed", by = "-", done = "yes" },
      { node = "ask", status = "completed", by = "ann", done = "yes" },
      { node = "try", status = "failed", by = "-", done = "yes" },
      { node = "try", status = "active", by = "-", done = "no" },
    }, steps)
  end)

  it("show what is archived, apart", function()
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.told", start = "a" }
    flow:step("a", { retry = false, next = "z", run = function(ctx)
      if ctx.input.code then
        error { code = ctx.input.code, message = "no", retry = false }
      end
    end })
    flow:finish("z", { output = function(ctx) return ctx.input.out end })
    assert(engine:load(flow))
    local ids, outs = {}, { { sum = 12.5, to = { "Oslo" } }, "text", false }
    for i, input in ipairs { { out = outs[1] }, { out = outs[2] },
      { code = "closed" } } do
      ids[i] = assert(engine:start("t.told", input, { key = "k" .. i,
        tenant = "a", by = "ann" }))
    end
    assert(engine:run())
    local COLUMNS <const> = "key, status, workflow, version, tenant, "
      .. "executor_group, started_by, node, created_at, completed_at"
    local function rows(from, columns)
      return backend.sql(url, ("select %s from %s order by key"):format(
        columns or COLUMNS, view(backend, from)))
    end
    local function data(from)
      local found = rows(from, "coalesce(cast(input as text), '-') as input, "
        .. "coalesce(cast(output as text), '-') as output, "
        .. "coalesce(cast(error as text), '-') as error")
      for _, row in ipairs(found) do
        for name, text in pairs(row) do
          row[name] = text ~= "-" and pawl.json.decode(text) or "-"
        end
      end
      return found
    end
    local before, told = rows "instance_view", data "instance_view"
    assert.equal(3, #before)
    assert.same({}, rows "archived_view")
    for _, id in ipairs(ids) do
      assert(engine:archive(id, { by = "bob", reason = "old" }))
    end
    assert.same({}, rows "instance_view")
    assert.same(before, rows "archived_view")
    assert.same(told, data "archived_view")
    assert.same(outs[1], told[1].output)
    assert.equal("text", told[2].output)
    assert.equal("-", told[3].output)
    assert.equal("closed", told[3].error.code)
    assert.same({ { archived_by = "bob", reason = "old" } },
      backend.sql(url, "select distinct archived_by, reason from "
        .. view(backend, "archived_view")))
    assert(engine:purge(ids[1], { keep_attributes = true }))
    assert.equal(2, #rows "archived_view")
    backend.sql(url, ("update %s set document = 'no lines'"):format(
      view(backend, "archive")))
    assert.same({ "-", "-" }, { data "archived_view"[1].output,
      data "archived_view"[2].input })
  end)

  it("have nothing of what is deleted", function()
    local engine, _, url = backend.fresh()
    local id = order(engine)
    assert(engine:run())
    assert(engine:delete(id, { cancel = true }))
    assert(engine:run())
    for _, name in ipairs { "instance_view", "step_view", "task_view",
      "archived_view" } do
      assert.same({ { n = "0" } }, backend.sql(url,
        "select count(*) as n from " .. view(backend, name)), name)
    end
  end)
end)

kit.describe("a status that is none", function(backend)
  local WRONG = {
    { "instance", "status = 'sleeping'" },
    { "instance", "token_state = 'gone'" },
    { "task", "status = 'assigned'" },
    { "task", "priority = 'mild'" },
  }

  it("is refused by the store itself", function()
    local engine, _, url = backend.fresh()
    order(engine)
    assert(engine:run())
    for _, case in ipairs(WRONG) do
      local ok, why = pcall(backend.sql, url, ("update %s set %s"):format(
        view(backend, case[1]), case[2]))
      assert.is_false(ok, case[2])
      assert.matches("constraint", tostring(why):lower(), nil, true)
    end
  end)
end)
