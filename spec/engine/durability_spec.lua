--- When commits reach the disk: each at once, in groups, or when it is asked.
--- Which of them are synced on SQLite is counted in spec/c/sync_test.c, what a
--- kill leaves in spec/crash/durability_spec.lua.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local system = require "system"

kit.describe("an engine whose commits may wait for the disk", function(backend)
  local function opened(options)
    local engine, clock, url = backend.fresh(options)
    assert(engine:load(kit.one()))
    assert(engine:tick()) -- a file's first commit does not wait
    assert(engine:save())
    return engine, clock, url
  end

  it("does the same as one that takes each there", function()
    local stored = {}
    for i, kind in ipairs { "every", "grouped", "save" } do
      local engine, _, url = opened { durability = kind }
      for _ = 1, 3 do assert(engine:start "t.one") end
      assert.equal(3, assert(engine:run()).ended)
      stored[i] = kit.stored(backend, url)
      engine:close()
      backend.cleanup()
    end
    assert.same(stored[1], stored[2])
    assert.same(stored[1], stored[3])
  end)

  it("tells what is at risk, until it is saved", function()
    local engine = opened { durability = "save" }
    assert(engine:start "t.one")
    local stats = assert(engine:tick(1))
    if backend.label == ":memory:" then -- nothing of it is ever on a disk
      assert.equal(0, stats.unsaved)
      return
    end
    assert.is_true(stats.unsaved >= 2, stats.unsaved) -- the start, the end
    assert.is_true(stats.unsaved_for > 0)
    assert.is_true(assert(engine:save()))
    stats = assert(engine:tick())
    assert.equal(0, stats.unsaved)
    assert.equal(0, stats.unsaved_for)
  end)

  it("has nothing at risk when each is taken there", function()
    local engine = opened()
    assert(engine:start "t.one")
    assert.equal(0, assert(engine:tick(1)).unsaved)
    assert.is_true(assert(engine:save()))
  end)

  it("takes a group there when its time has come, by a tick", function()
    if backend.name ~= "sqlite" then return end -- the server does it
    local engine = opened { durability = "grouped", flush = 0.05 }
    assert(engine:start "t.one")
    assert(engine:tick(1))
    system.sleep(0.06)
    assert.equal(0, assert(engine:tick(0.002)).unsaved)
  end)

  it("is told to the server once, and again behind a user's SQL", function()
    if backend.name ~= "postgres" then return end
    --- Who has said so, as the server's own default may be anything.
    local function shown(engine)
      local rows
      assert(engine:transaction(function(tx)
        rows = tx:query [[select setting || ' by ' || source as is
          from pg_catalog.pg_settings where name = 'synchronous_commit']]
        return true
      end))
      return rows[1].is
    end
    assert.equal("off by session", shown(opened { durability = "grouped" }))
    local engine = opened { durability = "save" }
    assert.equal("off by session", shown(engine))
    assert.equal("off by session", shown(engine))
    assert.is_true(assert(engine:save()))
    assert.equal("off by session", shown(engine))
    assert.not_equal("off by session", shown(opened()))
  end)

  it("saves by closing", function()
    local engine, clock, url = opened { durability = "save" }
    if backend.label == ":memory:" then return end
    local id = assert(engine:start "t.one")
    assert(engine:run())
    engine:close()
    local other = kit.rival(backend, url, clock)
    assert.equal("completed", kit.status(other, id))
  end)

  it("cannot save inside of a transaction", function()
    local engine = opened { durability = "save" }
    assert(engine:transaction(function()
      local ok, err = pcall(engine.save, engine)
      assert.is_false(ok)
      assert.matches("cannot be a part of the transaction", tostring(err))
      return true
    end))
  end)

  it("refuses a kind that there is not", function()
    local ok, err = pcall(pawl.open, ":memory:", { durability = "never" })
    assert.is_false(ok)
    assert.matches("durability", tostring(err))
    assert.matches("grouped", tostring(err))
  end)
end)
