-- Another store has come to where ours was: it is told who we are and what we
-- have loaded.
local kit = require "spec.engine.kit"

-- The connection has to go as well: SQLite keeps its file.
kit.describe("a store that was emptied behind us", function(backend)
  if backend.name ~= "postgres" then return end

  local function emptied(engine, url)
    backend.sql(url, [[select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()]])
    assert.equal(1, kit.count(backend, url, "workflow"))
    backend.sql(url, "truncate pawl.workflow, pawl.executor")
    engine:tick() -- finds that its connection is gone
  end

  it("knows what is loaded again, and who runs it", function()
    local engine, clock, url = backend.fresh()
    local ran = 0
    assert(engine:load(kit.one(function() ran = ran + 1 end)))
    assert(engine:run())
    emptied(engine, url)
    clock:advance(1)
    assert(engine:run())
    assert.equal(1, kit.count(backend, url, "workflow"))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, ran)
    assert.equal(1, kit.count(backend, url, "executor"))
  end)
end)

kit.describe("a store that is as it was", function(backend)
  it("is not told again", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:run())
    local function cost()
      local before = engine:count().statements
      assert(engine:tick())
      return engine:count().statements - before
    end
    assert(engine:load(kit.one(nil, { code = "t.c0" }))) -- it has to look
    local one = cost()
    for i = 1, 20 do
      assert(engine:load(kit.one(nil, { code = "t.c" .. i })))
    end
    assert.equal(one, cost()) -- they were stored when they were loaded
    assert.equal(22, #assert(engine.workflows:list()))
  end)
end)
