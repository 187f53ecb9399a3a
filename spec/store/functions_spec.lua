--- What SQL may call in a transaction of its own (PostgreSQL): pawl.start,
--- pawl.signal, pawl.result. They leave the rows that the library leaves.
local kit = require "spec.engine.kit"
local attribute = require "pawl.attribute"
local core = require "pawl.core"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local shell = require "spec.support.shell"

local backend = kit.backends[2]

local function quoted(text)
  return text and "'" .. text:gsub("'", "''") .. "'" or "null"
end

local function call(name, ...)
  local words = {}
  for i, value in ipairs { ... } do
    words[i] = type(value) == "table" and quoted(pawl.json.encode(value))
      or quoted(value)
  end
  return ("select pawl.%s(%s) as it"):format(name, table.concat(words, ", "))
end

local function waiting()
  local flow = pawl.workflow { code = "t.wait", start = "a" }
  flow:wait("a", { event = "go", next = { received = "z" } })
  flow:finish("z", { output = function(ctx) return ctx.event end })
  return flow
end

local function typed(value)
  return assert(attribute.to_json(value))
end

--- All rows but ids, times, and who ran what: ids by the order in which they
--- appear, and times by whether there is one.
local TIMES <const> = { at = true, minute = true, since = true }
local ASIDE <const> = { ord = true, came = true, lease = true, no = true,
  executor = true, was_executor = true }

local function line(row)
  local words = {}
  for column, value in pairs(row) do
    words[#words + 1] = ("%s=%s"):format(column, (tostring(value)
      :gsub('("%w+_at"):[^,}]+', "%1:then")
      :gsub('("begun"):[^,}]+', "%1:then"):gsub("to:%x+:", "to:")))
  end
  table.sort(words)
  return table.concat(words, " ")
end

local function rows(url)
  local found = kit.everything(backend, url)
  -- A minute that begins in the midst makes two rows of one.
  for _, row in ipairs(found.counter) do row.minute = "then" end
  found.counter = kit.folded(found.counter)
  for _, list in pairs(found) do
    for i, row in ipairs(list) do
      for column in pairs(row) do
        if ASIDE[column] then row[column] = nil
        elseif TIMES[column] or column:find "_at$" then row[column] = "then"
        end
      end
      list[i] = line(row)
    end
    table.sort(list)
  end
  found.housekeeper = nil
  return found
end

if backend then
  describe("in a transaction of SQL's own", function()
    local engine, url

    --- By the store's own clock.
    local function fresh(shards)
      local at = backend.url()
      local one = backend.open(at, { shards = shards })
      assert(one:load(kit.one()))
      assert(one:load(waiting()))
      return one, at
    end

    before_each(function() engine, url = fresh(1) end)
    after_each(function()
      kit.close_stores()
      backend.cleanup()
    end)

    local function sql(text) return kit.select(url, text)[1].it end

    local function fails(text, code, state, words)
      local rows_of, err = probe.sql(url, text)
      assert.is_nil(rows_of, text)
      assert.equal(state, err.sqlstate, tostring(err))
      assert.matches(words, err.message)
      local told = backend.sql(url, ([[create or replace function
        public.told() returns text language plpgsql as $f$
        declare detail text; begin %s; return 'nothing';
        exception when others then
          get stacked diagnostics detail = pg_exception_detail;
          return detail; end $f$; select public.told() as it]]):format(
        text:gsub("^select", "perform")))
      assert.equal("code: " .. code, told[1].it)
    end

    --- The rows of two stores, of which one was written by the library.
    local function compare(cases, by_library, by_sql)
      local one, lib = fresh(1)
      for _, case in ipairs(cases) do
        by_library(one, case)
        by_sql(case)
      end
      return lib, one
    end

    it("finds the key of what was archived, and does not change it", function()
      local id = assert(engine:start("t.one", {}, { key = "k" }))
      assert(engine:run())
      assert(engine:archive(id))
      assert.equal(id, sql(call("start", "t.one", {}, { key = "k" })))
      assert.equal(0, kit.count(backend, url, "instance"))
      fails(call("signal", "go", {}, { instance = id }), "conflict", "55000",
        "is archived")
    end)

    --- Fails, or ends with what its input says.
    local function telling()
      local flow = pawl.workflow { code = "t.told", start = "a" }
      flow:step("a", { retry = false, next = "z", run = function(ctx)
        if ctx.input.code then error { code = ctx.input.code } end
      end })
      flow:finish("z", { output = function(ctx) return ctx.input.out end })
      return flow
    end

    it("tells what came of one that is archived as before", function()
      assert(engine:load(telling()))
      local function told(id)
        return kit.select(url, "select * from pawl.result('" .. id .. "')")[1]
      end
      for _, input in ipairs { { out = { sum = 12.50, to = "Ösl\no" } }, {},
        { out = "text" }, { out = pawl.null }, { code = "closed" } } do
        local id = assert(engine:start("t.told", input))
        assert(engine:run())
        local before = told(id)
        assert(engine:archive(id))
        assert.same(before, told(id))
        assert.equal(input.code and "failed" or "completed", before.status)
        assert(engine:purge(id, { keep_attributes = true }))
        fails("select pawl.result('" .. id .. "')", "notfound", "P0002",
          "no instance")
      end
    end)

    it("says of what is archived why it cannot tell what came of it",
      function()
        assert(engine:load(telling()))
        local id = assert(engine:start("t.told", { out = "a\0b" }))
        assert(engine:run())
        assert(engine:archive(id))
        local function refused()
          fails("select pawl.result('" .. id .. "')", "conflict", "55000",
            "its output cannot be taken from there")
        end
        refused()
        assert(engine:unarchive(id))
        assert.equal("completed", kit.select(url,
          "select * from pawl.result('" .. id .. "')")[1].status)
        assert(engine:archive(id))
        backend.sql(url, "update pawl.archive set document = 'no lines'")
        refused()
      end)

    it("starts what a start of the library starts", function()
      local cases = {
        { "t.one" }, { "t.one", { a = 1 } },
        { "t.one", pawl.json.decode '[1.0, 1e3, -0.0, "ä\\u0001", {}]' },
        { "t.one", { ["a\0"] = "\0", b = { "\\u0000", "\1" } } },
        { "t.one", {}, { key = "k-1" } }, { "t.one", {}, { key = "k-1" } },
        { "t.one", {}, { key = "k-1", tenant = "acme" } },
        { "t.wait", {}, { key = "k-1", priority = -7, group = "slow",
          tenant = "acme", correlation = "c", business_key = "b'1",
          metadata = { z = 1, a = { 2 } }, by = "ann", version = 1 } },
        { "t.one", {}, { delay_us = 3600000000 } },
        { "t.one", {}, { at_us = 4102444800000000 } },
        { "t.one", {}, { deadline_us = 7200000000, max_bytes = 500 } },
        { "t.unknown", {}, { priority = 3 } },
      }
      local lib = compare(cases, function(one, case)
        local given = {}
        for name, value in pairs(case[3] or {}) do given[name] = value end
        if given.delay_us then
          given.delay, given.delay_us = given.delay_us / 1e6, nil
        elseif given.at_us then
          given.at, given.at_us = given.at_us / 1e6, nil
        elseif given.deadline_us then
          given.deadline, given.deadline_us = given.deadline_us / 1e6, nil
        end
        assert(one:start(case[1], case[2], given))
      end, function(case) sql(call("start", table.unpack(case))) end)
      assert.same(rows(lib).instance, rows(url).instance)
      assert.same(rows(lib), rows(url))
      assert.equal(11, tonumber(kit.count(backend, url, "instance")))
    end)

    it("gives what has the key, on the shard that is the key's", function()
      engine, url = fresh(3)
      for i = 1, 40 do
        local key = ("%s-%d"):format(("é"):rep(i % 10), i)
        local options = { key = key,
          tenant = i % 2 == 0 and "acme" or nil }
        if i % 3 == 0 then
          local id = sql(call("start", "t.one", {}, options))
          assert.equal(id, assert(engine:start("t.one", {}, options)))
        else
          local id = assert(engine:start("t.one", {}, options))
          assert.equal(id, sql(call("start", "t.one", {}, options)))
        end
      end
      assert.equal(40, tonumber(kit.count(backend, url, "instance")))
    end)

    it("is undone with it, and done with it", function()
      backend.sql(url, "begin; " .. call("start", "t.one") .. "; rollback;"
        .. " select 1 as it")
      assert.equal(0, tonumber(kit.count(backend, url, "instance")))
      backend.sql(url, "begin; create table public.mine (id uuid);"
        .. " insert into public.mine select pawl.start('t.one'); commit;"
        .. " select 1 as it")
      assert(engine:run())
      local id = kit.select(url, "select id as it from public.mine")[1].it
      assert.equal("completed", kit.status(engine, id))
      local told = kit.select(url,
        "select * from pawl.result('" .. id .. "')")[1]
      assert.equal("completed", told.status)
      assert.equal("{}", told.output)
      assert.is_nil(told.error)
    end)

    it("wakes who sleeps", function()
      local store = kit.store(url)
      assert(store:wait(0.01))
      sql(call("start", "t.one"))
      local _, woken = assert(store:wait(10))
      assert.is_true(woken)
    end)

    it("signals one instance as the library does", function()
      local ids = {}
      local cases = {
        { "go", { n = 1.50 }, { id = "e1", source = "shop", by = "ann" } },
        { "go", nil, {} },
        { "go", { text = "a\0b\\u0000" }, {} },
        { "other", { 1 }, { key = "k" } },
      }
      local lib, one = compare({ 1 }, function(other)
        ids[1] = assert(other:start "t.wait")
      end, function() ids[2] = sql(call("start", "t.wait")) end)
      assert(one:run())
      assert(engine:run())
      for _, case in ipairs(cases) do
        local signal = { name = case[1], data = case[2], instance = ids[1] }
        for name, value in pairs(case[3]) do signal[name] = value end
        local reached, told = one:signal(signal)
        case[3].instance = ids[2]
        local answer = pawl.json.decode(sql(("select pawl.signal(%s, %s, %s)"
          .. " as it"):format(quoted(case[1]), case[2] and quoted(
            pawl.json.encode(case[2])) or "null",
            quoted(pawl.json.encode(case[3])))))
        assert.equal(reached, answer.reached)
        assert.equal(told.repeated, answer.repeated)
        assert.equal(ids[2], answer.instance)
      end
      local function letters(of)
        local list = kit.select(of, "select name, key, data, source, by,"
          .. " kind, addressed, taken, case when source <> '' then event_id"
          .. " end as event_id from pawl.inbox order by no")
        return list
      end
      assert.same(letters(lib), letters(url))
      cases[1][3].instance = ids[2]
      local again = pawl.json.decode(sql(call("signal", table.unpack(
        cases[1]))))
      assert.is_true(again.repeated)
      assert(one:run())
      assert(engine:run())
      assert.equal("completed", kit.status(engine, ids[2]))
      assert.same(rows(lib).history, rows(url).history)
      again = pawl.json.decode(sql(call("signal", table.unpack(cases[1]))))
      assert.is_true(again.repeated)
      fails(call("signal", "go", {}, { instance = ids[2] }),
        "already_finished", "55000", "has ended already: completed")
    end)

    it("sends an event to all that wait, behind the commit", function()
      local id = sql(call("start", "t.wait"))
      assert(engine:run())
      local told = pawl.json.decode(sql(call("signal", "go", { n = 1 },
        { id = "e1", source = "shop" })))
      assert.same({ reached = 0, id = "e1", repeated = false }, told)
      assert.is_true(pawl.json.decode(sql(call("signal", "go", { n = 2 },
        { id = "e1", source = "shop" }))).repeated)
      assert.equal(1, tonumber(kit.count(backend, url, "event",
        "not posted")))
      backend.sql(url, "update pawl.event set received_at = received_at"
        .. " - interval '6 s'; select 1 as it")
      local one <close> = assert(pawl.open(url))
      assert(one:load(waiting()))
      one:run()
      assert.equal("completed", kit.status(one, id))
      assert.equal(0, tonumber(kit.count(backend, url, "event",
        "not posted")))
      -- What is kept for a key is what the library keeps.
      sql(call("signal", "go", { n = 1 }, { key = "k", tenant = "a",
        id = "e2", ttl_us = 60000000 }))
      assert(one:signal { name = "go", data = { n = 1 }, key = "k",
        tenant = "a", id = "e3", ttl = 60 })
      local kept = kit.select(url, "select shard, source, tenant, name, key,"
        .. " data::text as data, expires_at - received_at as ttl"
        .. " from pawl.event where key = 'k' order by id")
      assert.equal(2, #kept)
      assert.same(kept[2], kept[1])
    end)

    --- The same calls by the library and by SQL, and the same runs between:
    --- each step's answer, its ids by the step that gave them first, and the
    --- failures' codes; then all rows.
    local function alike(steps)
      local one, lib = fresh(1)
      local sides = {}
      sides[1] = { engine = one, start = function(code, input, options)
        return one:start(code, input, options)
      end, signal = function(name, data, options)
        local signal = { name = name, data = data }
        for word, value in pairs(options) do signal[word] = value end
        if signal.start then
          local flat = { workflow = signal.start.workflow,
            input = signal.start.input }
          for word, value in pairs(signal.start.options or {}) do
            flat[word] = value
          end
          signal.start = flat
        end
        local reached, told = one:signal(signal)
        if not reached then return nil, told end
        return told
      end }
      local function asked(name, ...)
        local found, err = probe.sql(url, call(name, ...))
        if not found then
          return nil, { code = ({ ["23505"] = "exists", ["55000"] = "conflict",
            ["22023"] = "invalid" })[err.sqlstate], message = err.message }
        end
        return found[1].it
      end
      sides[2] = { engine = engine, start = function(code, input, options)
        local given = {}
        for word, value in pairs(options) do given[word] = value end
        if given.attributes then
          local attributes = {}
          for word, value in pairs(given.attributes) do
            attributes[word] = typed(value)
          end
          given.attributes = attributes
        end
        return asked("start", code, input, given)
      end, signal = function(name, data, options)
        local told, err = asked("signal", name, data, options)
        return told and pawl.json.decode(told), err
      end }
      local replies = {}
      for s, side in ipairs(sides) do
        local ids, names, said = {}, {}, {}
        local function name(id, i)
          if not names[id] then names[id], ids[i] = "of step " .. i, id end
          return names[id]
        end
        for i, step in ipairs(steps) do
          if step == "run" then
            assert(side.engine:run())
          else
            local options = {}
            for word, value in pairs(step[4] or {}) do
              options[word] = word == "instance" and ids[value] or value
            end
            local reply, err = side[step[1]](step[2], step[3], options)
            if not reply then
              said[i] = err.code == "already_finished" and "conflict"
                or err.code
              assert.is_not_nil(said[i], tostring(err))
            elseif step[1] == "start" then
              said[i] = name(reply, i)
            else
              said[i] = { reached = reply.reached, created = reply.created,
                repeated = reply.repeated,
                instance = name(reply.instance, i) }
            end
          end
        end
        replies[s] = said
      end
      assert.same(replies[1], replies[2])
      local by_library, by_sql = rows(lib), rows(url)
      for word, list in pairs(by_library) do
        for i, row in ipairs(list) do
          assert.equal(row, by_sql[word][i], word)
        end
        assert.equal(#list, #by_sql[word], word)
      end
      return replies[1]
    end

    it("gives a key on as the library does", function()
      local X <const>, Y <const> = kit.draw_id(), kit.draw_id()
      local said = alike {
        { "start", "t.wait", {}, { key = "k" } },
        { "start", "t.wait", {}, { key = "k", on_existing = "return" } },
        { "start", "t.wait", {}, { key = "k", on_existing = "fail" } },
        { "start", "t.wait", {}, { key = "k", on_existing = "replace",
          reuse = "failed", by = "ann" } },
        "run",
        { "signal", "go", { 1 }, { instance = 4 } },
        "run",
        { "start", "t.wait", {}, { key = "k", on_existing = "fail" } },
        { "start", "t.wait", {}, { key = "k", on_existing = "replace" } },
        { "start", "t.wait", {}, { key = "k", reuse = "failed" } },
        { "start", "t.wait", {}, { key = "k", reuse = "ended" } },
        { "start", "t.wait", {}, { key = "k", reuse = "ended" } },
        { "start", "t.wait", {}, { key = "k", on_existing = "replace",
          id = X } },
        { "start", "t.wait", {}, { key = "k", on_existing = "replace",
          id = X } },
        { "start", "t.one", {}, { id = Y } },
        { "start", "t.one", {}, { id = Y } },
        { "start", "t.wait", {}, { id = Y } },
        { "start", "t.one", {}, { id = Y, tenant = "acme" } },
        { "start", "t.one", {}, { key = "free", reuse = "ended",
          on_existing = "fail", tenant = "acme", delay = nil } },
        "run",
      }
      assert.same({ "of step 1", "of step 1", "exists", "of step 4" },
        { table.unpack(said, 1, 4) })
      assert.same({ "exists", "exists", "of step 4", "of step 11",
        "of step 11", "of step 13", "of step 13", "of step 15", "of step 15",
        "conflict", "conflict", "of step 19" }, { table.unpack(said, 8, 19) })
    end)

    it("starts by a signal as the library does", function()
      local function start(options, workflow)
        return { workflow = workflow or "t.wait", input = { n = 1 },
          options = options }
      end
      local said = alike {
        { "signal", "go", { 1 }, { start = start() } },
        { "signal", "go", { 1 }, { start = start({ tenant = "acme",
          priority = 3, correlation = "c" }), tenant = "acme", by = "ann",
          source = "shop", id = "e0", key = "x" } },
        { "signal", "go", { 1 }, { start = start(), id = "e1" } },
        { "signal", "go", { 1 }, { start = start(), id = "e1" } },
        "run",
        { "signal", "go", { 1 }, { start = start(), id = "e1" } },
        { "signal", "other", { 2 }, { start = start { key = "c" } } },
        { "signal", "other", { 3 }, { start = start { key = "c" },
          id = "e2" } },
        { "signal", "other", { 3 }, { start = start { key = "c",
          on_existing = "replace" }, id = "e3", ttl = nil } },
        { "signal", "other", { 3 }, { start = start { key = "c",
          on_existing = "replace" }, id = "e3" } },
        { "signal", "other", { 3 }, { start = start { key = "c",
          on_existing = "fail" }, id = "e4" } },
        { "signal", "go", { 3 }, { start = start { key = "c" } } },
        "run",
        { "signal", "go", { 4 }, { start = start { key = "c" } } },
        { "signal", "go", { 4 }, { start = start { key = "c",
          reuse = "ended" }, id = "e5" } },
        "run",
        { "signal", "go", { 4 }, { start = start { key = "c",
          reuse = "ended" }, id = "e5" } },
        { "signal", "go", { 4 }, { start = start({}, "t.unknown") } },
      }
      assert.same({ reached = 1, created = true, repeated = false,
        instance = "of step 9" }, said[9])
      assert.same({ reached = 0, created = false, repeated = true,
        instance = "of step 9" }, said[10])
      assert.same({ "exists", "conflict" }, { said[11], said[14] })
      assert.same({ reached = 0, created = false, repeated = true,
        instance = "of step 15" }, said[17])
    end)

    it("takes attributes, found as the library's", function()
      local random = require("pawl.testing.random").new(17)
      local steps = {}
      local function number(i)
        local digits = {}
        for k = 1, random:between(1, 40) do
          digits[k] = tostring(random:between(0, 9))
        end
        local at = random:between(1, #digits)
        local whole = table.concat(digits, "", 1, at):gsub("^0+(%d)", "%1")
        return pawl.decimal((i % 2 == 0 and "-" or "") .. whole
          .. (at < #digits and "." .. table.concat(digits, "", at + 1) or ""))
      end
      local function float()
        local bits = random:between(0, 0xffffffff) << 32
          | random:between(0, 0xffffffff)
        local value = string.unpack("d", string.pack("i8", bits))
        if value ~= value or value - value ~= 0 then return 0.5 end
        return value
      end
      local fixed = { 0, -1, 100, math.maxinteger, math.mininteger, 0.0, -0.0,
        0.1, 1.5, -99.95, 1e15, 1e22, 1e23, 2.0 ^ 63, 2.0 ^ 64, -2.0 ^ 70,
        5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0 ^ -24,
        2.0 ^ -25, 2.0 ^ -44, 1 / 3, 0.1 + 0.2, true, false, "", "Køln", "a'b",
        pawl.decimal "0", pawl.decimal "-0.00", pawl.decimal "100.50",
        pawl.decimal("-" .. ("7"):rep(900)), pawl.binary "", pawl.binary "x",
        pawl.binary "\0\255\7", pawl.date "0000-03-01", pawl.date "0001-01-01",
        pawl.date "1969-12-31T23:59:59.999999Z", pawl.date "2024-02-29",
        pawl.date "9999-12-31T23:59:59.999999Z",
        pawl.date "2026-07-01T10:00:00.5Z" }
      for n = 1, 12 do
        local attributes = {}
        if n == 1 then
          for i, value in ipairs(fixed) do attributes["f" .. i] = value end
        else
          for i = 1, 25 do
            attributes["d" .. i], attributes["r" .. i] = number(i), float()
          end
        end
        steps[n] = { "start", "t.one", {}, { attributes = attributes } }
      end
      steps[#steps + 1] = { "start", "t.wait", {}, { key = "k",
        attributes = { a = 1 } } }
      steps[#steps + 1] = { "start", "t.wait", {}, { key = "k",
        attributes = { b = 1 } } }
      alike(steps)
      -- As text, a date is read as the library reads it.
      for _, text in ipairs { "0000-03-01", "2024-02-29",
        "2026-07-01T10:00:00.5+02:00", "2026-07-01t10:00:00.12345678z",
        "1969-12-31 23:59:59-23:59", "9999-12-31T23:59:59.999999Z" } do
        assert.equal(core.time_parse(text), tonumber(sql(
          ("select pawl.read_date('%s') as it"):format(text))), text)
      end
    end)

    it("gives on the key of what was archived", function()
      local id = assert(engine:start("t.one", {}, { key = "k" }))
      assert(engine:run())
      assert(engine:archive(id))
      fails(call("start", "t.one", {}, { key = "k", on_existing = "fail" }),
        "exists", "23505", "which has ended: completed")
      local new = sql(call("start", "t.one", {}, { key = "k",
        reuse = "ended" }))
      assert.not_equal(id, new)
      assert.equal(new, kit.select(url, "select successor as it from"
        .. " pawl.archive")[1].it)
      assert.equal(new, assert(engine:start("t.one", {}, { key = "k" })))
      assert(engine:unarchive(id))
      assert.equal(new, sql(call("start", "t.one", {}, { key = "k" })))
    end)

    it("does not give on the key of what goes on in another store", function()
      local id = sql(call("start", "t.wait", {}, { key = "k" }))
      assert(engine:run())
      backend.sql(url, "update pawl.instance set away = '{}'; select 1 as it")
      fails(call("start", "t.wait", {}, { key = "k",
        on_existing = "replace" }), "conflict", "55000",
        "was carried to another store")
      assert.equal(id, sql(call("start", "t.wait", {}, { key = "k" })))
    end)

    --- A session that does so, and commits once somebody waits for a lock.
    local function rival(text)
      return assert(io.popen("env -u LD_PRELOAD psql -XAtq -v ON_ERROR_STOP=1"
        .. " -d " .. shell.quote(url:gsub("^postgres:", "")) .. " -c "
        .. shell.quote("begin") .. " -c " .. shell.quote(text) .. " -c "
        .. shell.quote([[do $rival$ begin
          perform set_config('application_name', 'spec-holds', false);
          for i in 1 .. 2000 loop
            exit when exists (select from pg_locks where not granted);
            perform pg_sleep(0.01);
          end loop;
        end $rival$]]) .. " -c commit 2>&1"))
    end

    local function until_it_holds(other)
      for _ = 1, 1000 do
        if #backend.sql(url, "select 1 as it from pg_stat_activity where"
          .. " application_name = 'spec-holds' or query like '%$rival$%'"
          .. " and pid <> pg_backend_pid()") > 0 then
          return
        end
      end
      error(other:read("a"))
    end

    local HOW <const> = {
      {}, { on_existing = "fail" }, { on_existing = "replace" },
      { reuse = "ended" }, { reuse = "ended", on_existing = "fail" },
    }

    --- What came of two that started a key at once: `theirs` first.
    local function check_rivals(how, old, id, theirs, err)
      local what = pawl.json.encode { how, old, id, theirs, tostring(err) }
      local there = kit.select(url, "select id, successor from pawl.instance"
        .. " where key = '" .. how.key .. "' order by created_at, id")
      if old and not how.reuse then -- it keeps its key
        assert.equal(1, #there, what)
        if how.on_existing then
          assert.matches("has ended", tostring(err), what)
          assert.matches("has ended", theirs, what)
        else
          assert.same({ old, old }, { id, theirs }, what)
        end
        return
      end
      local more = old and 1 or 0
      if how.on_existing == "replace" then
        assert.not_equal(id, theirs, what)
        assert.equal(more + 2, #there, what)
        for _, row in ipairs(there) do
          assert.equal(row.id == theirs and id or nil, row.successor, what)
        end
        assert(engine:run())
        assert.equal("cancelled", kit.status(engine, theirs), what)
        return
      end
      assert.equal(more + 1, #there, what)
      if how.on_existing == "fail" then
        assert.matches("is that of instance " .. theirs:gsub("%-", "%%-"),
          tostring(err), what)
      else
        assert.equal(theirs, id, what)
      end
    end

    it("has one instance of two that start a key at once", function()
      for n = 0, 19 do
        local how = { key = "k" .. n }
        for word, value in pairs(HOW[n % 5 + 1]) do how[word] = value end
        local old
        if n % 2 == 1 then
          old = assert(engine:start("t.one", {}, { key = how.key }))
          assert(engine:run())
        end
        local other = rival(call("start", "t.one", {}, how))
        if not (old and how.on_existing and not how.reuse) then
          until_it_holds(other)
        end
        local id, err
        if n < 10 then
          local found
          found, err = probe.sql(url, call("start", "t.one", {}, how))
          id = found and found[1].it
        else
          id, err = engine:start("t.one", {}, how)
        end
        local theirs = other:read("a"):gsub("%s+$", "")
        other:close()
        check_rivals(how, old, id, theirs, err)
      end
    end)

    -- The library reads what is stored, and nothing else than it would write.
    it("takes what the library can read, and refuses what it cannot", function()
      local function text(word, json)
        return ("select pawl.%s('%s', '%s') as it"):format(word,
          word == "start" and "t.one" or "go", json)
      end
      local list = ("["):rep(201) .. ("]"):rep(201)
      for _, case in ipairs {
        { '{"n":1,"n":2}', "value", 'has the key "n" twice' },
        { '{"a":[{"n":1,"n":2}]}', "value", 'has the key "n" twice' },
        { [==[{"\u0000":1,"\u0000":2}]==], "value", "twice" },
        { [==[{"z":"\u0000","\u005cu0001":1,"\\u0001":2}]==], "value",
          "twice" },
        { [==["\u0000\ud800"]==], "value", "surrogate" },
        { '[123456789012345678901234567890]', "value", "too large" },
        { "[9223372036854775808]", "value", "too large" },
        { "[1e400]", "value", "too large" },
        { "[-1e400]", "value", "too large" },
        { "[1e999999]", "value", "too large" },
        { [==["\ud800"]==], "value", "surrogate" },
        { [==[{"\udc00\ud800":1}]==], "value", "surrogate" },
        { list, "limit", "deeper than 200", "54000" },
      } do
        local wanted = { case[2], case[4] or "22023", case[3] }
        fails(text("start", case[1]), table.unpack(wanted))
        fails(text("signal", case[1]), table.unpack(wanted))
        local ok, value = pcall(pawl.json.decode, case[1])
        local is_read = case[1] == list -- with what stands around a value
        assert.equal(is_read, (ok and value ~= nil), case[1])
      end
      fails(call("start", "t.one", "{}", '{"metadata":{"n":1,"n":2}}'),
        "value", "22023", "a start's options has the key")
      fails(call("start", "t.one", "{}", [==[{"metadata":{"n":"\u0000"}}]==]),
        "value", "22023", "a start's options have a text with a zero")
      fails(call("signal", "go", "{}", [==[{"key":"\u0000"}]==]),
        "value", "22023", "a signal's options have a text with a zero")
      for _, fine in ipairs { "[9223372036854775807,-9223372036854775808]",
        "[1.7976931348623157e308,1e-300]", [==["\ud83d\ude00 \\ud800"]==],
        list:sub(9, -9), '{"a":{"n":1},"b":{"n":2}}', [==["\u0000"]==],
        [==[{"a\u0000":1,"a\u0001":2,"a\u0001\u0002":3,"a\\u0000":4,
          "a ":[{"\u0000":["\\\u0000"]}]}]==] } do
        local id = sql(text("start", fine))
        assert(engine:run())
        assert.equal("completed", assert(engine:get(id)).status)
      end
    end)

    it("says what is wrong, and does nothing", function()
      for _, case in ipairs {
        { call("start", "no code"), "invalid", "22023", "cannot be" },
        { call("start", "t.one", {}, { keys = "a" }), "invalid", "22023",
          "no option" },
        { call("start", "t.one", {}, { key = 1 }), "invalid", "22023",
          "is string" },
        { call("start", "t.one", {}, { key = "" }), "invalid", "22023",
          "1 to 255" },
        { call("start", "t.one", {}, { priority = 40000 }), "invalid",
          "22023", "from %-32768" },
        { call("start", "t.one", {}, { delay_us = 1, at_us = 1 }), "invalid",
          "22023", "exclude" },
        { call("start", "t.one", {}, { on_existing = "keep", key = "k" }),
          "invalid", "22023", "is one of return fail replace" },
        { call("start", "t.one", {}, { reuse = 1 }), "invalid", "22023",
          "is string" },
        { call("start", "t.one", {}, { reuse = "ended" }), "invalid", "22023",
          'option "reuse" needs a "key"' },
        { call("start", "t.one", {}, { id = "x" }), "invalid", "22023",
          "is a UUID of version 7" },
        { call("start", "t.one", {}, { attributes = { a = 1 } }), "value",
          "22023", "has no type and value" },
        { call("start", "t.one", {}, { attributes = { ['"'] = typed(1) } }),
          "value", "22023", "needs escaping" },
        { call("start", "t.one", {}, { attributes = {
          a = { type = "string", value = ("x"):rep(2001) } } }), "value",
          "22023", "longer than 2000" },
        { call("start", "t.one", {}, { version = 9 }), "notfound", "P0002",
          "no workflow" },
        { call("start", "t.one", { ("x"):rep(1000001) }), "limit", "54000",
          "more than" },
        { call("signal", "no name"), "invalid", "22023", "cannot be" },
        { call("signal", "go", {}, { start = "x" }), "invalid", "22023",
          "is object" },
        { call("signal", "go", {}, { start = { input = {} } }), "invalid",
          "22023", 'needs "workflow"' },
        { call("signal", "go", {}, { start = { workflow = "t.one",
          options = { delay_us = 1 } } }), "invalid", "22023",
          "cannot start an instance later" },
        { call("signal", "go", {}, { start = { workflow = "t.one" },
          instance = kit.draw_id() }), "invalid", "22023", "exclude" },
        { call("signal", "go", {}, { tenant = "a", start = {
          workflow = "t.one", options = { tenant = "b" } } }), "invalid",
          "22023", 'this is tenant "a"' },
        { call("signal", "go", {}, { instance = "x" }), "invalid", "22023",
          "whole id" },
        { call("signal", "go", {}, { instance = kit.draw_id() }), "notfound",
          "P0002", "no instance" },
      } do fails(table.unpack(case)) end
      for _, value in ipairs { { "string", 5 }, { "integer", 1.5 },
        { "integer", "1" }, { "decimal", 1 }, { "decimal", "01" },
        { "decimal", "1e5" }, { "float", "1" }, { "boolean", 1 },
        { "date", "2026-02-30" }, { "date", "2026-01-01T24:00:00Z" },
        { "date", "2026-01-01T10:00:00" }, { "date", "0000-01-01T00:00:00"
          .. "+00:01" }, { "binary", "A" }, { "binary", "A A=" },
        { "number", 1 } } do
        fails(call("start", "t.one", {}, { attributes = {
          a = { type = value[1], value = value[2] } } }), "value", "22023",
          'attribute "a" has an impossible value')
      end
      assert(engine.workflows:deactivate("t.one", 1))
      fails(call("start", "t.one"), "conflict", "55000", "no version of")
      fails(call("start", "t.one", {}, { version = 1 }), "conflict", "55000",
        'version 1 is not active')
      fails(call("start", "t.one", {}, { key = "k", on_existing = "fail" }),
        "conflict", "55000", "no version of")
      fails("select status from pawl.result('" .. kit.draw_id() .. "')",
        "notfound", "P0002", "no instance")
      for _, name in ipairs { "instance", "event", "inbox", "agenda" } do
        assert.equal(0, tonumber(kit.count(backend, url, name)))
      end
    end)

    it("draws ids as clients do, for any key's home", function()
      local seen = {}
      for i = 1, 200 do
        local home = (i * 7919) % 65536
        local id = sql(("select pawl.draw_id(%d)::text as it"):format(home))
        assert.matches("^%x+%-%x+%-7%x%x%x%-[89ab]%x%x%x%-%x+$", id)
        assert.equal(("%04x"):format(home), id:sub(-4))
        assert.is_nil(seen[id])
        seen[id] = true
      end
    end)
  end)
end
