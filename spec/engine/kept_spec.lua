-- Very many events that are kept for one key: an instance that takes them one
-- after the other does not read those again that it has, and misses none that
-- is stored later than a newer one.
local box = require "spec.support.box"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local shell = require "spec.support.shell"

local BEGAN = 1767225600000000 -- the virtual clock's beginning

--- Takes event after event with the key "K", noting each one's number.
local function taker(options, version)
  local wait = { key = function() return "K" end }
  for key, value in pairs(options or {}) do wait[key] = value end
  return box.flow("t.kept", wait, { version = version })
end

local function begin(engine, n)
  local id = assert(engine:start("t.kept", { n = n or 1000 }))
  assert(engine:run())
  return id
end

--- Somebody looks at it.
local function wake(engine, id)
  assert(engine:signal { name = "other", instance = id })
  assert(engine:run())
end

local function places(engine, id)
  local detail = assert(engine:get(id)).tokens[1].detail
  return detail.kept and #detail.kept or 0
end

--- Kept as if they had been sent, a millisecond apart, all posted.
local KEEP = {
  postgres = [[
    insert into pawl.event (shard, source, id, name, key, data, came, posted,
      received_at, expires_at)
    select 0, '', 'e' || i, '$NAME', 'K', ('{"seq":' || i || '}')::json,
      lpad(to_hex(i), 32, '0')::uuid, true,
      to_timestamp($BEGAN / 1000000) + i * interval '1 ms',
      to_timestamp($BEGAN / 1000000) + interval '$LIFE s'
      from generate_series($FROM, $TO) i;]],
  sqlite = [[
    with recursive n (i) as (select $FROM union all select i + 1 from n
      where i < $TO)
    insert into pawl_event (shard, source, id, name, key, data, came, posted,
      received_at, expires_at)
    select 0, '', 'e' || i, '$NAME', 'K', '{"seq":' || i || '}',
      cast(printf('%016d', i) as blob), 1, $BEGAN + i * 1000,
      $BEGAN + $LIFE * 1000000 from n;]],
}

local function fill_in(text, options)
  return (text:gsub("%$(%u+)", options))
end

local function keep_text(backend, from, to, options)
  options = options or {}
  return fill_in(KEEP[backend.name], { FROM = tostring(from),
    TO = tostring(to), BEGAN = tostring(BEGAN), NAME = options.name or "put",
    LIFE = tostring(options.life or 86400) })
end

local function keep(backend, url, from, to, options)
  backend.sql(url, keep_text(backend, from, to, options))
end

--- The instance has taken them.
local MARK = {
  postgres = [[
    insert into pawl.inbox (shard, instance, no, kind, name, key, event_id,
      received_at, taken)
    select 0, $ID, came, 'event', name, key, ':' || id, received_at, true
      from pawl.event where key = 'K';]],
  sqlite = [[
    insert into pawl_inbox (shard, instance, no, kind, name, key, event_id,
      received_at, taken)
    select 0, $ID, came, 'event', name, key, ':' || id, received_at, 1
      from pawl_event where key = 'K';]],
}

local function mark_all(backend, url, id)
  backend.sql(url, fill_in(MARK[backend.name],
    { ID = kit.id_literal(backend, id) }))
end

kit.describe("very many events kept for one key", function(backend)
  after_each(function() probe.fault(nil) end)

  it("cost as many statements each", function()
    local function cost(n)
      local engine, clock, url = backend.fresh()
      assert(engine:load(taker()))
      local id = begin(engine, 20)
      clock:advance(60)
      keep(backend, url, 1, n)
      mark_all(backend, url, id)
      keep(backend, url, n + 1, n + 100)
      local before = engine:count()
      wake(engine, id)
      assert.completed(engine, id)
      assert.same(box.numbers(n + 1, n + 20), box.got(engine, id))
      return engine:count().statements - before.statements
    end
    local few, many = cost(100), cost(2000)
    -- once through all of them, 64 a page, two statements for each
    assert.is_true(many <= few + 80, few .. " statements, then " .. many)
  end)

  it("are read by an index from their place on", function()
    local _, _, url = backend.fresh()
    local dialect = backend.name
    local pg = dialect == "postgres"
    keep(backend, url, 1, 2000)
    local function list(kind, value)
      return pg and ("array[%s]::%s[]"):format(value, kind) or value
    end
    local at = pg and "to_timestamp(1767225601.99)" or "1767225601990000"
    local nil_id = pg and "'00000000-0000-0000-0000-000000000000'"
      or "zeroblob(16)"
    local zero = pg and "to_timestamp(0)" or "0"
    local text = kit.literal(kit.statements(dialect).event_find, {
      shard = pg and "0::smallint" or "0", no = list("integer", "0"),
      tenant = list("text", "''"), key = list("text", "'K'"),
      name = list("text", "'put'"),
      prefix = list("text", "null"), after_at = list("timestamptz", at),
      after_came = list("uuid", nil_id), late_at = list("timestamptz", zero),
      late_came = list("uuid", nil_id), since = list("bigint", "1000000000"),
      taker = list("uuid", "null"),
      max = list("integer", "64"), now = at })
    if not pg then
      local plan = shell.output { "sqlite3", "-batch", url,
        "explain query plan " .. text }
      assert.matches("pawl_event_came %(shard=%? AND tenant=%? AND key=%? AND "
        .. "%(?received_at[^\n]*>", plan)
      assert.matches("pawl_event_late %(shard=%? AND tenant=%? AND key=%? "
        .. "AND ord>%?%)", plan)
      return
    end
    for _, next_round in ipairs { "analyze pawl.event", "select 1 as a" } do
      local visited, shown = 0, {}
      for _, row in ipairs(backend.sql(url, "set enable_seqscan = off; "
        .. "set enable_bitmapscan = off; explain (analyze, timing off, "
        .. "costs off, summary off) " .. text)) do
        local line = row["QUERY PLAN"]
        shown[#shown + 1] = line
        local n = line:match "Scan.*rows=(%d+)"
          or line:match "Rows Removed by Filter: (%d+)"
        visited = visited + (tonumber(n) or 0)
      end
      assert.is_true(visited > 10 and visited < 40,
        table.concat(shown, "\n"))
      backend.sql(url, next_round)
    end
  end)

  it("are taken in their order, and no place is made for a few", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine)
    clock:advance(60)
    keep(backend, url, 1, 10)
    wake(engine, id)
    assert.equal(0, places(engine, id))
    keep(backend, url, 11, 150)
    wake(engine, id)
    assert.same(box.numbers(1, 150), box.got(engine, id))
    assert.equal(1, places(engine, id))
  end)

  it("leave none behind that was stored later than newer ones", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine)
    local late = keep_text(backend, 30, 30)
    local other
    clock:advance(60)
    if backend.name == "postgres" then -- it has begun before the others
      other = assert(io.popen("env -u LD_PRELOAD psql --no-psqlrc --quiet "
        .. "--set=ON_ERROR_STOP=1 --dbname='"
        .. url:gsub("^postgres:", "") .. "' >/dev/null", "w"))
      other:write("begin;\n", late, "\nselect 'late'::text;\n"):flush()
      for i = 1, 600 do
        local rows = backend.sql(url, "select 1 as a from pg_stat_activity "
          .. "where datname = current_database() "
          .. "and state = 'idle in transaction' and query like '%late%'")
        if #rows > 0 then break end
        assert(i < 600, "the other session does not answer")
      end
    end
    keep(backend, url, 1, 29)
    keep(backend, url, 31, 80)
    wake(engine, id)
    local expected = box.numbers(1, 29)
    table.move(box.numbers(31, 80), 1, 50, 30, expected)
    assert.same(expected, box.got(engine, id))
    assert.equal(1, places(engine, id), "it has passed those")
    if other then
      other:write "commit;\n"
      assert(other:close())
    else
      backend.sql(url, late)
    end
    wake(engine, id)
    expected[#expected + 1] = 30
    assert.same(expected, box.got(engine, id))
    keep(backend, url, 81, 120) -- and the place moves on past it
    wake(engine, id)
    table.move(box.numbers(81, 120), 1, 40, 81, expected)
    assert.same(expected, box.got(engine, id))
  end)

  it("stay for later waits when a `match` turns them down", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker { match = function(event, ctx)
      return event.data.seq ~= 3 or #ctx.vars.got >= 60
    end }))
    local id = begin(engine)
    clock:advance(60)
    keep(backend, url, 1, 90)
    wake(engine, id)
    local expected = { 1, 2 }
    table.move(box.numbers(4, 61), 1, 58, 3, expected)
    expected[#expected + 1] = 3
    table.move(box.numbers(62, 90), 1, 29, 62, expected)
    assert.same(expected, box.got(engine, id))
  end)

  it("have a place for each of two patterns", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.kept", start = "a" }
    local function note(ctx)
      ctx.vars.got = ctx.vars.got or pawl.array {}
      ctx.vars.got[#ctx.vars.got + 1] = ctx.event.data.seq
    end
    flow:wait("a", { event = "put", key = "key", next = "as" })
    flow:step("as", { run = note, next = "b" })
    flow:wait("b", { event = "pay.*", key = "key", next = "bs" })
    flow:step("bs", { run = function(ctx)
      note(ctx)
      return "more"
    end, next = { more = "a", no = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start("t.kept", { key = "K" }))
    assert(engine:run())
    clock:advance(60)
    keep(backend, url, 1, 40)
    keep(backend, url, 41, 80, { name = "pay.in" })
    keep(backend, url, 81, 90, { name = "pay.in.again" }) -- another's
    wake(engine, id)
    local expected = {}
    for i = 1, 40 do
      expected[2 * i - 1], expected[2 * i] = i, 40 + i
    end
    assert.same(expected, box.got(engine, id))
    assert.equal(2, places(engine, id))
  end)

  it("go on from their place in another version", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine)
    clock:advance(60)
    keep(backend, url, 11, 60)
    wake(engine, id)
    assert.equal(1, places(engine, id))
    assert(engine:load(taker(nil, 2)))
    local moved = assert(engine.workflows:transfer("t.kept", 1, 2))
    assert.equal(1, #moved)
    keep(backend, url, 61, 80)
    keep(backend, url, 1, 10, { name = "pay" })
    wake(engine, id)
    assert.same(box.numbers(11, 80), box.got(engine, id))
    assert(engine:load(taker({ event = "pay" }, 3)))
    assert.equal(1, #assert(engine.workflows:transfer("t.kept", 2, 3)))
    wake(engine, id)
    local expected = box.numbers(11, 80)
    table.move(box.numbers(1, 10), 1, 10, 71, expected)
    assert.same(expected, box.got(engine, id))
  end)

  it("expire, and what is sent then is found", function()
    local engine, clock, url = backend.fresh()
    assert(engine:load(taker()))
    local id = begin(engine)
    clock:advance(60)
    keep(backend, url, 1, 40, { life = 100 })
    wake(engine, id)
    assert.equal(1, places(engine, id))
    clock:advance(3600)
    assert(engine:run())
    keep(backend, url, 41, 50, { life = 100 })
    keep(backend, url, 51, 60)
    wake(engine, id)
    local expected = box.numbers(1, 40)
    table.move(box.numbers(51, 60), 1, 10, 41, expected)
    assert.same(expected, box.got(engine, id))
  end)

  if backend.name == "postgres" then
    it("are each taken once when answers are lost", function()
      local engine, clock, url = backend.fresh()
      assert(engine:load(taker()))
      local id = begin(engine, 60)
      clock:advance(60)
      keep(backend, url, 1, 60)
      for n = 3, 30, 3 do
        probe.fault(("commit.%s=drop@%d"):format(
          n % 2 == 0 and "sent" or "before_send", n))
        if n == 3 then engine:signal { name = "other", instance = id } end
        engine:run()
      end
      probe.fault(nil)
      clock:advance(60) -- what was given up is due again
      assert(engine:run())
      assert.completed(engine, id)
      assert.same(box.numbers(1, 60), box.got(engine, id))
    end)
  end
end)
