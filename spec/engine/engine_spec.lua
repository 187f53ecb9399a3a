-- An engine is opened with options that fit, is for one caller at a time, and
-- gives back what it holds when it is closed.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

kit.describe("an engine", function(backend)
  it("gives back what it holds when it is closed", function()
    local engine, clock, url = backend.fresh()
    local other = kit.rival(backend, url, clock)
    assert(engine:load(kit.one(function(ctx)
      ctx.await(function() return false end)
    end)))
    for _ = 1, 4 do assert(engine:start "t.one") end
    assert.equal(4, assert(engine:tick()).held)
    assert.equal(4, kit.count(backend, url, "agenda", "lease is not null"))
    engine:close()
    assert.equal(0, kit.count(backend, url, "agenda", "lease is not null"))
    assert(other:load(kit.one()))
    assert.equal(4, assert(other:run()).ended)
    engine:close() -- again is harmless
    assert.has_error(function() engine:tick() end)
  end)

  it("cannot be used by a handler of its own", function()
    local engine = backend.fresh()
    local said
    assert(engine:load(kit.one(function()
      local ok, err = pcall(engine.tick, engine)
      said = ok and "let in" or tostring(err)
      local done, why = pcall(engine.start, engine, "t.one")
      said = said .. " " .. tostring(done and "" or why)
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.is_nil(said:find "let in")
    assert.equal(1, #assert(engine:list()))
  end)

  it("is not made of what no store is", function()
    local engine, err = pawl.open("mysql://nowhere/x")
    assert.is_nil(engine)
    assert.is_string(err.code)
    assert.error_matches(function()
      pawl.open(backend.url(), { bacth = 3 })
    end, "batch")
  end)

  it("runs no instance that is not there", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local status, err = engine:tick_instance(kit.draw_id())
    assert.is_nil(status)
    assert.equal("notfound", err.code)
    local id = assert(engine:start "t.one")
    assert.equal("done", (assert(engine:tick_instance(id, 1))))
    assert.equal("done", (assert(engine:tick_instance(id, 1))))
  end)

  it("says that a lease is too long, and does not cut it", function()
    local engine, err = pawl.open(backend.url(), { lease = "61m" })
    assert.is_nil(engine)
    assert.equal("invalid", err.code)
    assert.matches("longer than an hour", err.message)
    backend.open(backend.url(), { lease = "1h" })
  end)

  it("serves no choice of workflows that is none", function()
    for _, none in ipairs { "", {}, { "" }, { "a.", "" } } do
      assert.error_matches(function()
        pawl.open(backend.url(), { prefixes = none })
      end, "'prefixes' must be a list of strings")
    end
  end)

  it("says when to look again", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    assert.is_nil(assert(engine:tick()).next_due)
    assert(engine:start "t.timer")
    local stats = assert(engine:tick())
    while stats.next_due == 0 do stats = assert(engine:tick()) end
    assert.equal(clock.us / 1e6 + 3600, stats.next_due)
  end)
end)
