-- What goes, or has changed, while another is about to change it.
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

local QUERY = { workflow = "t.one" }
local ARCHIVED = { workflow = "t.one", archived = true }

--- So many that have ended.
---@param attributes? table
local function ended(engine, n, attributes)
  assert(engine:load(kit.one()))
  local items = {}
  for i = 1, n do items[i] = { attributes = attributes } end
  local ids = assert(engine:start_many("t.one", items))
  assert(engine:run())
  return ids
end

local function count(backend, url, name)
  return kit.count(backend, url, name)
end

kit.describe("instances that two change at once", function(backend)
  after_each(function() probe.fault(nil) end)

  --- Each of them: what the first does, and the second behind its first
  --- hundred; where they lie before; how many of them each has done.
  for _, case in ipairs {
    { "purge", QUERY, "purge", QUERY },
    { "purge", QUERY, "archive", QUERY },
    { "purge", QUERY, "delete", QUERY },
    { "archive", QUERY, "purge", QUERY },
    { "archive", QUERY, "archive", QUERY },
    { "archive", QUERY, "delete", QUERY },
    { "delete", QUERY, "delete", QUERY },
    { "delete", QUERY, "purge", QUERY },
    { "unarchive", ARCHIVED, "unarchive", ARCHIVED },
    { "unarchive", ARCHIVED, "purge", ARCHIVED },
    { "purge", ARCHIVED, "unarchive", ARCHIVED },
    { "purge", ARCHIVED, "purge", ARCHIVED },
  } do
    local verb, query, other, others = table.unpack(case)
    local filed = query == ARCHIVED
    it(("are done by one: %s and %s%s"):format(verb, other,
      filed and ", of the archive" or ""), function()
      local engine, clock, url = backend.fresh { shards = 2 }
      local rival = kit.rival(backend, url, clock)
      ended(engine, 110)
      if filed then assert(engine:bulk("archive", QUERY)) end
      local second
      local first = assert(engine:bulk(verb, query, { by = "ann",
        progress = function()
          second = second or assert(rival:bulk(other, others, { by = "bob" }))
        end }))
      assert.same({ 110, 0, 0 },
        { first.done + second.done, first.refused, second.refused })
      assert.same({ 10, 10 }, { second.done, first.skipped })
      assert.equal(110, first.matched)
      assert.equal(0, count(backend, url, "agenda"))
      assert.equal(0, count(backend, url, "inbox"))
    end)
  end

  --- What was purged but for its attributes is one thing to purge; that others
  --- keep them again is none.
  for _, other in ipairs { "purge", "keep" } do
    it("lose their attributes to one: " .. other, function()
      local engine, clock, url = backend.fresh { shards = 2 }
      local rival = kit.rival(backend, url, clock)
      ended(engine, 110, { colour = "red" })
      assert(engine:bulk("purge", QUERY, { keep_attributes = true }))
      local second
      local first = assert(engine:bulk("purge", ARCHIVED, { by = "ann",
        progress = function()
          second = second or assert(rival:bulk("purge", ARCHIVED,
            { by = "bob", keep_attributes = other == "keep" }))
        end }))
      local his = other == "purge" and 10 or 0
      assert.same({ 110, 110 - his, 0, his },
        { first.matched, first.done, first.refused, first.skipped })
      assert.same({ his, his, 0, 0 }, { second.matched, second.done,
        second.refused, second.skipped })
      assert.equal(0, count(backend, url, "archive"))
    end)
  end

  it("are told apart where both have asked already", function()
    local engine, clock, url = backend.fresh()
    local rival = kit.rival(backend, url, clock)
    local ids = ended(engine, 3)
    local asked
    probe.fault("engine.claim.after=call@1", function()
      asked = { rival:delete(ids[1], { by = "bob" }) }
    end)
    local report = assert(engine:bulk("delete", QUERY, { by = "ann" }))
    probe.fault(nil)
    assert.same({ true, false }, asked) -- it is held: left to its holder
    -- he has taken both, in their order, although nobody else is there
    local is_his = assert(engine:get(ids[1])).deleted.by == "ann"
    assert.same(is_his and { 3, 0 } or { 2, 1 },
      { report.done, report.skipped })
    assert.equal("refused", kit.last(engine, ids[1]).type)
    assert.equal(0, count(backend, url, "inbox"))
    assert.equal(0, count(backend, url, "agenda"))
  end)

  it("are passed by when letters of before were left", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.timer "100h"))
    local ids = assert(engine:start_many("t.timer", { {}, {}, {} }))
    assert(engine:run())
    local store = kit.store(url, clock)
    for i = 1, 2 do
      kit.run(store, "agenda_wake", { shard = 0, id = ids[i],
        now = store:now() })
      kit.run(store, "inbox_insert", { shard = 0, id = ids[i],
        no = "019b0000-0000-7000-8000-00000000000" .. i, kind = "suspend",
        event_id = probe.null,
        source = "user", by = "ann", data = "{}", now = store:now() })
    end
    local report = assert(engine:bulk("suspend", { workflow = "t.timer" }))
    assert.same({ 3, 1, 0, 2 }, { report.matched, report.done,
      report.refused, report.skipped })
  end)
end)

kit.describe("one that is purged", function(backend)
  after_each(function() probe.fault(nil) end)

  it("takes with it what has come in to the last", function()
    local engine, clock, url = backend.fresh()
    local id = ended(engine, 1)[1]
    probe.fault("engine.purge.last=call", function()
      local store = kit.store(url, clock)
      kit.run(store, "agenda_revive", { shard = 0, id = id,
        now = store:now(), completed = true, cancelled = true,
        deleted = true })
      kit.run(store, "inbox_insert", { shard = 0, id = id,
        no = kit.draw_id(), kind = "note", event_id = probe.null,
        source = "user", by = "bob", data = "{}", now = store:now() })
    end)
    assert(engine:purge(id))
    probe.fault(nil)
    for _, name in ipairs { "instance", "history", "inbox", "agenda" } do
      assert.equal(0, count(backend, url, name), name)
    end
  end)

  it("was purged by one, however many go on with it", function()
    local engine, clock, url = backend.fresh()
    local rival = kit.rival(backend, url, clock)
    local id = ended(engine, 1)[1]
    local helped, refused
    probe.fault("engine.purge.last=call@1", function()
      helped = { rival:purge(id) }
      refused = select(2, rival:purge(id)).code
    end)
    assert.same({ true, true }, { engine:purge(id, { by = "ann" }) })
    assert.same({ true, true, "notfound" }, { helped[1], helped[2], refused })
  end)
end)

--- A transaction of another process, that takes the instance away under the
--- lock of its agenda row, and is slow.
local function taken_slowly(backend, url, id)
  local own = kit.id_literal(backend, id)
  local ready = tmp.path "ready"
  local is_pg = backend.name == "postgres"
  local table_of = function(name) return kit.table(backend, name) end
  local pause = ("%s touch %s && sleep 0.5"):format(is_pg and "\\!" or ".shell",
    ready)
  local script = tmp.file("take.sql", table.concat({
    is_pg and "begin;" or "begin immediate;",
    ("insert into %s (shard, instance, workflow, version, executor_group,\
      priority, ready, due_at, takeovers, latch)\
      select shard, id, workflow, version, executor_group, priority, %s,\
      created_at, 0, 0 from %s where id = %s;"):format(table_of "agenda",
      is_pg and "false" or "0", table_of "instance", own),
    ("delete from %s where id = %s;"):format(table_of "instance", own),
    pause,
    ("delete from %s where instance = %s;"):format(table_of "agenda", own),
    "commit;", "" }, "\n"))
  local child = process.start(is_pg
    and { "psql", "-qX", "--set=ON_ERROR_STOP=1",
      "--dbname=" .. url:gsub("^postgres:", ""), "--file=" .. script }
    or { "sqlite3", "-bail", "-init", script, url, "select 1" })
  assert(process.poll(10, function() return os.rename(ready, ready) end))
  return child
end

kit.describe("what is asked of one that goes at that moment", function(backend)
  for _, verb in ipairs { "note", "delete", "purge", "archive", "signal" } do
    it("leaves no row behind: " .. verb, function()
      local engine, _, url = backend.fresh()
      local id
      if verb == "signal" then
        assert(engine:load(kit.timer "100h"))
        id = assert(engine:start "t.timer")
        assert(engine:run())
        backend.sql(url, "delete from " .. kit.table(backend, "agenda"))
      else
        id = ended(engine, 1)[1]
      end
      local child = taken_slowly(backend, url, id)
      local ok, err
      if verb == "signal" then
        ok, err = engine:signal { name = "go", instance = id }
      else
        ok, err = engine[verb](engine, id, { text = verb == "note" and "x"
          or nil })
      end
      assert.equal(0, child:wait(10))
      if verb ~= "signal" then
        assert.same({ nil, "notfound" }, { ok, err.code })
      end
      assert.equal(0, count(backend, url, "agenda"))
      assert.equal(0, count(backend, url, "inbox"))
    end)
  end
end)
