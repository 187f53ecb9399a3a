--- Whose commit is it? An answer was lost, and the row tells: by our lease and
--- our number together. SQLite's answers are not lost.
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

kit.describe("what a row tells of a lost answer", function(backend)
  if backend.name ~= "postgres" then return end

  after_each(function() probe.fault(nil) end)

  it("does not take our lease for our commit: the one before left it too",
    function()
      local engine, _, url = backend.fresh()
      local runs = {}
      assert(engine:load(kit.chain {
        function() runs[#runs + 1] = "a" end,
        function()
          runs[#runs + 1] = "b"
          probe.fault "commit.before_send=drop@1"
        end,
        function() runs[#runs + 1] = "c" end,
      }))
      local id = assert(engine:start "t.chain")
      assert(engine:run())
      assert.equal("step a, step b, step c", kit.trail(engine, id))
      assert.same({ "a", "b", "c" }, runs)
      assert.completed(engine, id)
      assert.equal(0, kit.count(backend, url, "agenda"))
    end)

  it("does not take another's commit for ours: it has his lease", function()
    local mine, rival, clock
    local runs = {}
    local function step(name)
      return function()
        runs[#runs + 1] = name
        if table.concat(runs) ~= "ab" then return end
        clock:advance(31) -- the rival takes it over, and ends it
        assert(rival:run())
        probe.fault "commit.before_send=drop@1"
      end
    end
    mine, rival, clock = kit.pair(backend,
      { kit.chain { step "a", step "b", step "c" } })
    local id = assert(mine:start "t.chain")
    assert(mine:run())
    assert.equal("step a, recovered b, step b, step c",
      kit.trail(rival, id))
    assert.same({ "a", "b", "b", "c" }, runs) -- c by him alone
    assert.completed(rival, id)
  end)

  it("does not take the number alone for ours", function()
    local engine, url, id, _
    local runs = {}
    local function step(name)
      return function()
        runs[#runs + 1] = name
        if name ~= "b" then return end
        local other = kit.id_literal(backend, kit.draw_id())
        backend.sql(url, ("update pawl.agenda set lease = %s"):format(other))
        backend.sql(url, ("update pawl.instance set lease = %s, "
          .. "commits = commits + 1"):format(other))
        probe.fault "commit.before_send=drop@1"
      end
    end
    engine, _, url = backend.fresh()
    assert(engine:load(kit.chain { step "a", step "b", step "c" }))
    id = assert(engine:start "t.chain")
    assert.equal(1, assert(engine:run()).lost)
    assert.equal("step a", kit.trail(engine, id))
    assert.same({ "a", "b" }, runs)
  end)
end)
