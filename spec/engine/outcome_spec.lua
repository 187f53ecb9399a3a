--- engine:result: what came of an instance, whoever runs it.
local command = require "spec.support.command"
local conform = require "spec.support.conform"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local NAP <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "nap.one", start = "nap" }
flow:timer("nap", { after = %g, next = "z" })
flow:finish("z", { output = function(ctx) return { n = ctx.input.n } end })
return flow]]

kit.describe("the outcome of an instance", function(backend)
  after_each(process.stop_all)

  --- One that has ended as `run` says.
  local function ended(run)
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one(run, { retry = { max = 1 } })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    return engine, id, clock, url
  end

  --- A worker of its own, for a workflow that takes so many seconds.
  local function beside(seconds)
    if backend.label == ":memory:" then conform.second() end
    local url = select(3, backend.fresh())
    local file = tmp.file("nap.lua", NAP:format(seconds))
    local own = assert(pawl.open(url))
    assert(own:load(file))
    local worker = process.start { command.path, "worker", file, "--store",
      url }
    return own, worker, url
  end

  it("is its output", function()
    local engine, id, _, url = ended(function(ctx) ctx.vars.total = 9 end)
    local before = engine:count()
    local output, err, outcome = engine:result(id)
    assert.same({ total = 9 }, output)
    assert.is_nil(err)
    assert.equal("completed", outcome.status)
    assert.equal(id, outcome.id)
    -- the id, how it stands, and what it gave: nobody waits
    assert.equal(before.transactions + 3, engine:count().transactions)
    if backend.name == "postgres" then
      assert.equal(0, kit.count(backend, url, "waiter"))
    end
  end)

  it("is null where there is none", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    engine:run()
    clock:advance(3600)
    engine:run()
    assert.equal(pawl.null, (assert(engine:result(id))))
  end)

  it("is the error that it failed with", function()
    local engine, id = ended(function()
      error { code = "card_declined", message = "no money" }
    end)
    local output, err, outcome = engine:result(id, { timeout = "1h" })
    assert.is_nil(output)
    assert.equal("card_declined", err.code)
    assert.equal(id, err.instance)
    assert.matches("no money", tostring(err))
    assert.equal("failed", outcome.status)
    assert.equal("card_declined", outcome.error.code)
  end)

  it("is that it was cancelled, by whom and why", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    engine:run()
    assert(engine:cancel(id, { by = "ann", reason = "too late" }))
    local output, err, outcome = engine:result(id)
    assert.is_nil(output)
    assert.equal("cancelled", err.code)
    assert.matches("cancelled by ann: too late", err.message, 1, true)
    assert.equal("cancelled", outcome.status)
  end)

  it("is told of what is archived, and not of what is gone", function()
    local engine, id = ended(function(ctx) ctx.vars.total = 9 end)
    assert(engine:archive(id))
    assert.same({ total = 9 }, (assert(engine:result(id))))
    assert(engine:purge(id, { keep_attributes = true }))
    kit.refused("notfound", "was purged", "pawl show", engine:result(id))
    kit.refused("notfound", "no instance", nil,
      engine:result(kit.draw_id(), { timeout = 5 }))
  end)

  it("is not there yet when the time is over", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    engine:run()
    kit.refused("timeout", "has not ended in time", "goes on",
      engine:result(id, { timeout = 0 }))
    kit.refused("timeout", "has not ended in time", "goes on",
      engine:result(id:sub(-12), { timeout = 0.05 }))
    assert.equal("waiting", kit.status(engine, id))
    if backend.name == "postgres" then -- the second one has said so
      assert.equal(1, kit.count(backend, url, "waiter"))
    end
  end)

  it("is waited for until it is interrupted", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer()))
    local id = assert(engine:start "t.timer")
    engine:interrupt()
    kit.refused("interrupted", "while instance", nil, engine:result(id))
    kit.refused("timeout", "", nil, engine:result(id, { timeout = 0.01 }))
  end)

  it("comes from another process, that tells it in the commit", function()
    if backend.label == "toy" then return end -- another has no such driver
    -- Looked at after 0.01, 0.05, 0.2, 0.9, 3.4 and 13.6 seconds: what has
    -- ended after some 4 is known before the last of these by being told.
    local own, _, url = beside(backend.name == "postgres" and 4 or 0.5)
    local id = assert(own:start("nap.one", { n = 17 }))
    assert.same({ n = 17 }, (assert(own:result(id, { timeout = 60 }))))
    kit.told_at_once(backend, url, own,
      assert(own:get(id)).times.completed)
    own:close()
  end)

  if backend.name == "postgres" then -- elsewhere nobody is notified
    it("hears meanwhile of what is due, for who waits for that afterwards",
      function()
        local own, _, url = beside(1.5)
        local id = assert(own:start("nap.one", { n = 1 }))
        process.start { "sh", "-c", 'sleep 0.5; exec "$@"', "sh", command.path,
          "start", "nap.one", "--store", url }
        assert(own:result(id, { timeout = 60 }))
        local began = own:now()
        assert(own:wait(30))
        assert(own:now() - began < 15, "it was not woken")
        own:close()
      end)

    it("leaves nothing behind of who was killed while he waited", function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(kit.timer()))
      local id = assert(engine:start "t.timer")
      engine:run()
      engine:result(id, { timeout = 0.02 })
      local store = kit.store(url, clock)
      local function prune()
        kit.run(store, "waiter_prune", { shard = kit.shard(id), max = 10,
          now = store:now() })
      end
      prune()
      assert.equal(1, kit.count(backend, url, "waiter"))
      clock:advance(61)
      prune()
      assert.equal(0, kit.count(backend, url, "waiter"))
    end)
  end

  it("is asked for from outside, not by handlers", function()
    local engine = backend.fresh()
    local refused
    assert(engine:load(kit.one(function()
      local ok, err = pcall(engine.result, engine, kit.draw_id())
      refused = not ok and tostring(err)
    end)))
    local id = assert(engine:start "t.one")
    engine:run { id = id }
    assert.matches("misuse", refused)
    assert.has_error(function() engine:result(id, { timout = 1 }) end)
  end)
end)
