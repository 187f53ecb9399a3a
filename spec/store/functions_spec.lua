--- What SQL may call in a transaction of its own (PostgreSQL): pawl.start,
--- pawl.signal, pawl.result. They leave the rows that the library leaves.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

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

--- All rows but ids, times, and who ran what: ids by the order in which they
--- appear, and times by whether there is one.
local TIMES <const> = { at = true, minute = true, since = true }
local ASIDE <const> = { ord = true, came = true, lease = true, no = true,
  executor = true, was_executor = true }

local function line(row)
  local words = {}
  for column, value in pairs(row) do
    words[#words + 1] = ("%s=%s"):format(column, value)
  end
  table.sort(words)
  return table.concat(words, " ")
end

local function rows(url)
  local found = kit.everything(backend, url)
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
      fails(("select pawl.result('%s')"):format(id), "conflict", "55000",
        "is archived")
    end)

    it("starts what a start of the library starts", function()
      local cases = {
        { "t.one" }, { "t.one", { a = 1 } },
        { "t.one", pawl.json.decode '[1.0, 1e3, -0.0, "ä\\u0001", {}]' },
        { "t.one", {}, { key = "k-1" } }, { "t.one", {}, { key = "k-1" } },
        { "t.one", {}, { key = "k-1", tenant = "acme" } },
        { "t.wait", {}, { key = "k-1", priority = -7, group = "slow",
          tenant = "acme", correlation = "c", business_key = "b'1",
          metadata = { z = 1, a = { 2 } }, by = "ann", version = 1 } },
        { "t.one", {}, { delay_us = 3600000000 } },
        { "t.one", {}, { at_us = 4102444800000000 } },
        { "t.unknown", {}, { priority = 3 } },
      }
      local lib = compare(cases, function(one, case)
        local given = {}
        for name, value in pairs(case[3] or {}) do given[name] = value end
        if given.delay_us then
          given.delay, given.delay_us = given.delay_us / 1e6, nil
        elseif given.at_us then
          given.at, given.at_us = given.at_us / 1e6, nil
        end
        assert(one:start(case[1], case[2], given))
      end, function(case) sql(call("start", table.unpack(case))) end)
      assert.same(rows(lib).instance, rows(url).instance)
      assert.same(rows(lib), rows(url))
      assert.equal(9, tonumber(kit.count(backend, url, "instance")))
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
        { call("start", "t.one", {}, { attributes = { a = 1 } }),
          "unsupported", "0A000", "not there in SQL" },
        { call("start", "t.one", {}, { version = 9 }), "notfound", "P0002",
          "no workflow" },
        { call("start", "t.one", { ("x"):rep(1000001) }), "limit", "54000",
          "more than" },
        { call("signal", "no name"), "invalid", "22023", "cannot be" },
        { call("signal", "go", {}, { start = "x" }), "unsupported", "0A000",
          "not there in SQL" },
        { call("signal", "go", {}, { instance = "x" }), "invalid", "22023",
          "whole id" },
        { call("signal", "go", {}, { instance = kit.draw_id() }), "notfound",
          "P0002", "no instance" },
      } do fails(table.unpack(case)) end
      assert(engine.workflows:deactivate("t.one", 1))
      fails(call("start", "t.one"), "conflict", "55000", "not active")
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
