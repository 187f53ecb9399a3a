-- Whom a task is for, read in one way wherever it is said.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("whom a task is for", function(backend)
  local function asking(options)
    local given = { title = "t", next = "z" }
    for key, value in pairs(options) do given[key] = value end
    local flow = pawl.workflow { code = "t.task", start = "ask" }
    flow:task("ask", given)
    flow:finish "z"
    return flow
  end

  local function begin(options)
    local engine = backend.fresh()
    assert(engine:load(asking(options)))
    assert(engine:start "t.task")
    assert(engine:run())
    return engine, assert(engine.tasks:list())[1]
  end

  it("may be said as one or as a list, and in both", function()
    local engine = begin { roles = { "clerk" }, groups = { "north" } }
    local function n(query) return #assert(engine.tasks:list(query)) end
    assert.equal(1, n { role = "clerk" })
    assert.equal(1, n { roles = { "other", "clerk" } })
    assert.equal(1, n { role = "other", groups = { "north" } })
    assert.equal(0, n { role = "north" })
    assert.equal(0, n { user = "clerk" })
  end)

  it("is compared whole, and by its kind", function()
    local engine, task = begin { users = { "ann" }, roles = { "bob" } }
    local ok, err = engine.tasks:claim(task.id, { by = "an" })
    assert.is_nil(ok)
    assert.equal("taken", err.code)
    ok = engine.tasks:claim(task.id, { by = "bob" }) -- bob is a role here
    assert.is_nil(ok)
    assert(engine.tasks:claim(task.id, { by = "eve", role = "bob" }))
    assert.equal("eve", assert(engine.tasks:get(task.id)).claimed_by)
  end)

  it("has names of 1 to 255 bytes", function()
    local engine = begin { users = { "ann" } }
    assert.equal(0, #assert(engine.tasks:list { user = ("x"):rep(255) }))
    for _, name in ipairs { "", ("x"):rep(256) } do
      local ok, done, err = pcall(engine.tasks.list, engine.tasks,
        { role = name })
      assert.is_true(not ok or done == nil)
      assert.matches("role", tostring(ok and err or done))
    end
  end)
end)
