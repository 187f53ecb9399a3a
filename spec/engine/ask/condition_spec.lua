--- How a store is itself: what a monitor watches.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local system = require "system"

kit.describe("a store's own condition", function(backend)
  local sqlite = backend.name == "sqlite"
  after_each(function() probe.fault(nil) end)

  it("is told: its size, its schema, its clock", function()
    local engine = backend.fresh()
    local s = assert(engine:health()).store
    assert.equal(backend.name, s.kind)
    assert.is_true(s.schema >= 1)
    assert.is_true(s.bytes > 10000)
    assert.is_true(math.abs(s.clock_us) < 1000000)
    assert.equal(sqlite, type(s.free_bytes) == "number")
    assert.equal("number", type(s.wal_bytes)) -- the owner of the cluster
    assert.equal(not sqlite, type(s.dead_rows) == "number")
    assert.equal(sqlite, #s.tables == 0)
    assert.same({}, s.hidden)
    assert.same({}, engine:health().warnings)
  end)

  it("has no log of writes beside it in memory", function()
    if not sqlite then return end -- a server has its log elsewhere
    local file = assert(io.open("-wal", "w")) -- whoever named it so
    file:write "x"
    file:close()
    local engine <close> = assert(pawl.open ":memory:")
    local health, err = engine:health()
    os.remove "-wal"
    assert.equal(0, assert(health, err).store.wal_bytes)
  end)

  it("has the oldest lease, and the oldest transaction of a server",
    function()
      local engine, clock, url = backend.fresh()
      local rival = kit.rival(backend, url, clock)
      assert(engine:load(kit.one()))
      local id = assert(engine:start "t.one")
      assert.equal("userdata", type(engine:health().store.oldest_lease))
      kit.claim(kit.store(url, clock), id)
      assert.matches("^2026%-01%-%d+T", engine:health().store.oldest_lease)
      if sqlite then return end
      assert(rival:transaction(function(tx)
        tx:query "select 1"
        assert.matches("^%d+%-%d+%-%d+T",
          engine:health().store.oldest_transaction)
        return true
      end))
    end)

  it("warns of what is much, but does not call it unsound", function()
    local engine, _, url = backend.fresh()
    local function warned()
      local report, words = assert(engine:health()), {}
      assert.is_true(report.sound)
      for i, warning in ipairs(report.warnings) do
        words[i] = warning.what .. ": " .. warning.text
      end
      return table.concat(words, "\n")
    end
    probe.fault "health.far=fail"
    assert.matches("^clock: the store's clock is [12] s behind this host's\n"
      .. "transaction: a transaction is open for 7200 s", warned())
    probe.fault(nil)
    if sqlite then
      local wal <close> = assert(io.open(url .. "-wal", "r+b"))
      assert(wal:seek("set", 1100 << 20)) -- a hole, for the most part
      assert(wal:write "x")
      assert(wal:flush())
      assert.equal("wal: the write-ahead log has 1100 MB", warned())
      return
    end
    backend.sql(url, "alter table pawl.event set (autovacuum_enabled = false);"
      -- as if it had never been vacuumed
      .. "select pg_stat_reset_single_table_counters('pawl.event'::regclass)")
    backend.sql(url, [[insert into pawl.event (shard, source, id, name, key,
      posted, received_at, expires_at) select 0, '', i::text, 'e', 'k', true,
      now(), now() from generate_series(1, 12000) i;
      delete from pawl.event;]])
    local function made(ago)
      backend.sql(url, ("update pawl.migration set applied_at = "
        .. "clock_timestamp() - interval '%s'"):format(ago))
    end
    made "59 min"
    local function dead()
      for _, told in ipairs(assert(engine:health()).store.tables) do
        if told.table == "event" then return told.dead end
      end
    end
    --- The server tells its numbers a little later, on a busy machine more.
    local function until_told(expected, what)
      for _ = 1, 300 do
        if what() == expected then break end
        system.sleep(0.1)
      end
      assert.equal(expected, what())
    end
    until_told(12000, dead)
    assert.equal("", warned()) -- its turn has not come yet
    made "2 h"
    until_told("dead: table event has 12000 dead rows, and was not vacuumed "
      .. "for 120 min", warned)
    backend.sql(url, "vacuum pawl.event")
    assert.equal("", warned())
  end)

  it("says what a role may not see", function()
    if sqlite then return end
    local engine, _, url = backend.fresh()
    backend.sql(url, [[create role pawl_blind login;
      grant usage on schema pawl to pawl_blind;
      grant select on all tables in schema pawl to pawl_blind;]])
    local blind <close> = assert(pawl.open(url .. " user=pawl_blind"))
    local report, err = blind:health()
    blind:close()
    backend.sql(url, "drop owned by pawl_blind; drop role pawl_blind;")
    assert.is_truthy(report, tostring(err))
    assert.equal("userdata", type(report.store.wal_bytes))
    assert.same({ "oldest_transaction", "wal_bytes" }, report.store.hidden)
    assert.is_true(engine:health().sound)
  end)
end)
