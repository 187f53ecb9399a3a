-- ctx.db: the user's own SQL in the transaction that records the step.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local probe = require "spec.support.probe"

kit.describe("a transactional step", function(backend)
  local pg = backend.name == "postgres"
  local P = pg and function(n) return "$" .. n end
    or function(n) return "?" .. n end
  local INSERT = ("insert into ledger (id, amount) values (%s, %s)")
    :format(P(1), P(2))

  after_each(function() probe.fault(nil) end)

  --- An engine, with the user's table beside pawl's.
  local function fresh(options)
    local engine, clock, url = backend.fresh(options)
    local name = pg and "public.ledger" or "ledger"
    assert(probe.sql(url, "create table " .. name .. " (id text primary key, "
      .. "amount bigint, note text)"))
    return engine, clock, url
  end

  --- Read by a program of its own, that needs no lock.
  local function ledger(url)
    local rows = backend.sql(url, "select id, amount from ledger order by id")
    for _, row in ipairs(rows) do
      row.amount = math.tointeger(tonumber(row.amount))
    end
    return rows
  end

  local function flow(run, options)
    local given = { transactional = true }
    for key, value in pairs(options or {}) do given[key] = value end
    return kit.one(run, given)
  end

  it("writes with its record, and reads what it wrote", function()
    local engine, _, url = fresh()
    local seen
    assert(engine:load(flow(function(ctx)
      local _, changed = ctx.db:query(INSERT, ctx.id, 42)
      seen = { changed = changed, rows = (ctx.db:query(
        "select amount, id = " .. P(1) .. " as mine from ledger",
        ctx.id)) }
      ctx.vars.done = true
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    assert.equal(1, seen.changed)
    assert.equal(1, #seen.rows)
    assert.equal(42, seen.rows[1].amount)
    assert.equal("integer", math.type(seen.rows[1].amount))
    assert.equal(1, #ledger(url))
    assert.equal("step a", kit.trail(engine, id))
  end)

  it("is not seen by others before it is recorded", function()
    local engine, _, url = fresh()
    local inside
    assert(engine:load(flow(function(ctx)
      ctx.db:query(INSERT, ctx.id, 1)
      inside = #ledger(url)
    end)))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(0, inside)
    assert.equal(1, #ledger(url))
  end)

  it("leaves nothing when it fails", function()
    for _, how in ipairs { "error", "value", "parameter", "transition" } do
      local engine, clock, url = fresh()
      local runs = 0
      assert(engine:load(flow(function(ctx)
        runs = runs + 1
        ctx.db:query(INSERT, ctx.id .. runs, runs)
        ctx.vars.x = 1
        if how == "error" then error "after all" end
        if how == "value" then ctx.vars.f = print end
        if how == "parameter" then ctx.db:query("select " .. P(1), {}) end
        if how == "transition" then return "nowhere", 1 end
      end, { retry = { max = 2, base = 1 } })))
      local id = assert(engine:start "t.one")
      for _ = 1, 3 do
        assert(engine:run())
        clock:advance "1m"
      end
      assert.equal("failed", kit.status(engine, id), how)
      assert.equal(how == "error" and 2 or 1, runs, how)
      assert.same({}, ledger(url), how)
      assert.same({}, assert(engine:get(id)).variables or {}, how)
    end
  end)

  it("counts an attempt for each failure, and then writes once", function()
    local engine, clock, url = fresh()
    local runs = 0
    assert(engine:load(flow(function(ctx)
      runs = runs + 1
      ctx.db:query(INSERT, ctx.id, runs)
      if runs < 3 then error "not yet" end
    end)))
    local id = assert(engine:start "t.one")
    for _ = 1, 3 do
      assert(engine:run())
      clock:advance "10m"
    end
    assert.equal("failed a, failed a, step a", kit.trail(engine, id))
    assert.same({ { id = id, amount = 3 } }, ledger(url))
  end)

  it("fails when the database refuses its SQL, and may catch that",
    function()
      local engine, _, url = fresh()
      local caught
      assert(engine:load(flow(function(ctx)
        ctx.db:query(INSERT, "same", 1)
        local ok, err = pcall(ctx.db.query, ctx.db, INSERT, "same", 2)
        caught = not ok and err
        if ctx.input.go_on then return end
        error(err)
      end, { retry = false })))
      local id = assert(engine:start "t.one")
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.matches("^23", caught.sqlstate) -- integrity constraint
      assert.equal("23505", instance.error.sqlstate)
      assert.same({}, ledger(url))
      -- going on does not help: the transaction is spoilt on both stores
      id = assert(engine:start("t.one", { go_on = true }))
      assert(engine:run())
      instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.equal("23505", instance.error.sqlstate)
      assert.same({}, ledger(url))
    end)

  it("has its workflow's deadline, also when its transaction was spoilt",
    function()
      local engine, clock, url = fresh()
      local given = pawl.workflow { code = "t.due", start = "a",
        deadline = "2h" }
      given:step("a", { transactional = true, next = "z",
        retry = { base = "1d", cap = "1d" }, run = function(ctx)
          pcall(ctx.db.query, ctx.db, INSERT, "twice", 1)
          pcall(ctx.db.query, ctx.db, INSERT, "twice", 1)
        end })
      given:finish "z"
      assert(engine:load(given))
      local id = assert(engine:start "t.due")
      local begun = clock:now()
      assert(engine:run())
      assert.equal(begun + 7200, engine:next_due())
      clock:advance "3h"
      assert(engine:run())
      assert.equal("deadline", assert(engine:get(id)).error.code)
      assert.same({}, ledger(url))
    end)

  for what, sql in pairs {
    ["begin"] = "begin", ["commit"] = "commit", ["rollback"] = "rollback",
    ["a savepoint"] = "savepoint s", ["a release"] = "release s",
    ["a disguised commit"] = "/* select */ COMMIT",
    ["two statements"] = "select 1; commit",
    ["writing pawl's instances"] = pg
      and "update pawl.instance set status = 'completed'"
      or "update pawl_instance set status = 'completed'",
    ["deleting pawl's history"] = pg and "delete from pawl.history"
      or "delete from pawl_history",
    ["dropping pawl's tables"] = pg and 'drop table "pawl"."agenda"'
      or 'drop table "pawl_agenda"',
    ["nothing"] = "",
  } do
    it("refuses " .. what, function()
      local engine, _, url = fresh()
      assert(engine:load(flow(function(ctx)
        ctx.db:query(INSERT, "x", 1)
        ctx.db:query(sql)
      end, { retry = false })))
      local id = assert(engine:start "t.one")
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal("failed", instance.status)
      assert.equal("failed a", kit.trail(engine, id))
      assert.same({}, ledger(url))
    end)
  end

  it("may read pawl's own tables", function()
    local engine = fresh()
    local n
    assert(engine:load(flow(function(ctx)
      n = ctx.db:query(("select count(*) as n from %s")
        :format(kit.table(backend, "instance")))[1].n
    end)))
    assert(engine:start "t.one")
    assert(engine:run())
    assert.equal(1, n)
  end)

  it("takes values as they are", function()
    local engine, _, url = fresh()
    assert(engine:load(flow(function(ctx)
      for i, value in ipairs { math.maxinteger, math.mininteger,
        pawl.null } do
        ctx.db:query(INSERT, "v" .. i, value)
      end
      ctx.db:query(("update ledger set note = %s where id = 'v1'")
        :format(P(1)), "ü '; --")
      local note = ctx.db:query("select note from ledger where id = 'v1'")
      assert(note[1].note == "ü '; --")
    end, { retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.completed(engine, id)
    local rows = ledger(url)
    assert.equal(math.maxinteger, rows[1].amount)
    assert.equal(math.mininteger, rows[2].amount)
    assert.is_nil(rows[3].amount)
  end)

  it("has no db when it is not marked", function()
    local engine = fresh()
    assert(engine:load(kit.one(function(ctx)
      ctx.db:query "select 1"
    end, { retry = false })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local err = assert(engine:get(id)).error
    assert.matches("transactional", err.message .. (err.hint or ""))
  end)

  it("commits on its own, outside the batch", function()
    local engine, _, url = fresh()
    local seen = {}
    assert(engine:load(flow(function(ctx)
      seen[#seen + 1] = #ledger(url) -- what those before me committed
      ctx.db:query(INSERT, ctx.id, 1)
      if ctx.input.bad then error "bad" end
    end, { retry = false })))
    for i = 1, 4 do assert(engine:start("t.one", { bad = i == 2 })) end
    assert(engine:run())
    assert.equal(3, #ledger(url))
    assert.equal(3, #assert(engine:list { status = "completed" }))
    table.sort(seen)
    assert.equal(0, seen[1])
    assert.is_true(seen[4] >= 2)
  end)

  it("writes nothing when another has taken over", function()
    local engine, clock, url, store
    local runs = 0
    engine, clock, url = fresh()
    store = kit.store(url, clock)
    local chain = pawl.workflow { code = "t.tx", start = "slow" }
    chain:step("slow", {
      run = function(ctx)
        runs = runs + 1
        clock:advance(31)
        kit.claim(store, ctx.id)
      end,
      next = "a",
    })
    chain:step("a", {
      transactional = true,
      run = function(ctx)
        runs = runs + 1
        ctx.db:query(INSERT, ctx.id, 1)
      end,
      next = "z",
    })
    chain:finish "z"
    assert(engine:load(chain))
    assert(engine:start "t.tx")
    assert.equal(1, assert(engine:tick(1)).lost)
    assert.equal(1, runs)
    assert.same({}, ledger(url))
  end)

  it("does not begin when its lease has passed on before", function()
    local engine, clock, url, store
    engine, clock, url = fresh()
    store = kit.store(url, clock)
    local ids, runs = {}, 0
    assert(engine:load(kit.one(function()
      clock:advance(31) -- runs first, and stalls
      kit.claim(store, ids.tx)
    end, { code = "t.first" })))
    assert(engine:load(flow(function(ctx)
      runs = runs + 1
      ctx.db:query(INSERT, ctx.id, 1)
    end)))
    assert(engine:start("t.first", nil, { priority = 9 }))
    ids.tx = assert(engine:start "t.one")
    local stats = assert(engine:tick())
    if stats.claimed == 2 then -- both in one batch, the other one first
      assert.equal(0, runs)
      assert.same({}, ledger(url))
    end
    assert.equal(2, stats.claimed)
  end)

  it("that sees a cancel request come in does not write", function()
    local a, b
    local flows = pawl.workflow { code = "t.tx", start = "slow" }
    local runs = 0
    flows:step("slow", {
      run = function(ctx) assert(b:cancel(ctx.id, "stop")) end, next = "a",
    })
    flows:step("a", {
      transactional = true,
      run = function(ctx)
        runs = runs + 1
        ctx.db:query(INSERT, ctx.id, 1)
      end,
      next = "z",
    })
    flows:finish "z"
    local clock, url
    a, clock, url = fresh()
    b = kit.rival(backend, url, clock)
    assert(a:load(flows))
    local id = assert(a:start "t.tx")
    assert(a:run())
    assert.equal("cancelled", kit.status(a, id))
    assert.equal(0, runs)
    assert.same({}, ledger(url))
  end)

  if not pg then
    it("has a second, because it keeps all others from writing",
      function()
        local engine, _, url = fresh()
        assert(engine:load(flow(function(ctx)
          ctx.db:query(INSERT, ctx.id, 1)
          local stop = os.clock() + 1.1
          while os.clock() < stop do end
        end, { retry = false })))
        local id = assert(engine:start "t.one")
        assert(engine:run())
        local instance = assert(engine:get(id))
        assert.equal("failed", instance.status)
        assert.equal("timeout", instance.error.code)
        assert.matches("1000 ms", instance.error.message)
        assert.same({}, ledger(url))
      end)
  end

  if pg then
    it("fails when its commit is refused, by a rule of the user's",
      function()
        local engine, _, url = fresh()
        backend.sql(url, [[
          create function refuse() returns trigger language plpgsql as
            $f$ begin raise exception 'over budget'; end $f$;
          create constraint trigger refuse after insert on ledger
            deferrable initially deferred for each row
            when (new.amount > 10) execute function refuse()]])
        assert(engine:load(flow(function(ctx)
          ctx.db:query(INSERT, ctx.id, ctx.input.amount)
        end, { retry = false })))
        local bad = assert(engine:start("t.one", { amount = 11 }))
        local good = assert(engine:start("t.one", { amount = 10 }))
        assert(engine:run())
        assert.completed(engine, good)
        assert.failed(engine, bad)
        assert.matches("over budget",
          assert(engine:get(bad)).error.message)
        assert.same({ { id = good, amount = 10 } }, ledger(url))
      end)

    local undo = [[create function public.undo() returns void
      language plpgsql as $$ begin %s; end $$]]
    for what, body in pairs {
      ["a lost connection"] =
        "perform pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())",
      ["a conflict"] = "raise sqlstate '40001'",
      ["a deadlock"] = "raise sqlstate '40P01'",
    } do
      for _, calls in ipairs { "raised", "caught" } do
        it(("has made no attempt when %s undid it, %s"):format(what, calls),
          function()
            local engine, _, url = fresh()
            assert(probe.sql(url, undo:format(body)))
            local query, attempts = "select public.undo()", {}
            assert(engine:load(flow(function(ctx)
              attempts[#attempts + 1] = ctx.attempt
              ctx.db:query(INSERT, ctx.id, 7)
              if #attempts > 1 then return end
              if calls == "caught" then
                pcall(ctx.db.query, ctx.db, query)
              else
                ctx.db:query(query)
              end
            end, { retry = false })))
            local id = assert(engine:start "t.one")
            assert(engine:run())
            assert.completed(engine, id)
            assert.same({ { id = id, amount = 7 } }, ledger(url))
            assert.equal("step a", kit.trail(engine, id))
            assert.same({ 1, 1 }, attempts)
          end)
      end
    end

    -- A trigger of the user's that always says so, a query that kills its
    -- session: it ran again for ever, and nothing told of it.
    for what, body in pairs {
      ["a conflict"] = "raise sqlstate '40001'",
      ["a lost connection"] =
        "perform pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())",
    } do
      for _, calls in ipairs { "raised", "caught" } do
        it(("fails by its policy when %s undoes it each time, %s")
          :format(what, calls), function()
          local engine, _, url = fresh()
          assert(probe.sql(url, undo:format(body)))
          local runs, query = 0, "select public.undo()"
          assert(engine:load(flow(function(ctx)
            runs = runs + 1
            if calls == "caught" then
              pcall(ctx.db.query, ctx.db, query)
            else
              ctx.db:query(query)
            end
          end, { retry = false })))
          local id = assert(engine:start "t.one")
          for _ = 1, 500 do
            if kit.status(engine, id) == "failed" then break end
            engine:tick(0.05)
          end
          assert.failed(engine, id)
          assert.equal(6, runs)
        end)
      end
    end

    for _, case in ipairs {
      { "before it arrived", "commit.before_send=drop@1", 2 },
      { "after it arrived", "commit.sent=drop@1" },
    } do
      it("is stored once when the connection is lost " .. case[1],
        function()
          local engine, _, url = fresh()
          local runs = 0
          assert(engine:load(flow(function(ctx)
            runs = runs + 1
            if runs == 1 then probe.fault(case[2]) end
            ctx.db:query(INSERT, ctx.id, 7)
          end)))
          local id = assert(engine:start "t.one")
          assert(engine:run())
          assert.completed(engine, id)
          assert.same({ { id = id, amount = 7 } }, ledger(url))
          assert.equal("step a", kit.trail(engine, id))
          if case[3] then assert.equal(case[3], runs) end
        end)
    end
  end
end)

-- The two ways in which a step is run: beside others, and in a transaction.
kit.describe("a step without SQL of its own", function(backend)
  --- All rows of one that does what `run` does, at its two attempts.
  local function stored(run, transactional)
    local engine, _, url = backend.fresh()
    local flow = pawl.workflow { code = "t.flow", start = "a" }
    flow:step("a", { next = { left = "z", right = "b" }, run = run,
      retry = { max = 2, base = 1, jitter = 0 }, undo = function() end,
      transactional = transactional })
    flow:step("b", { next = "t", run = function() end })
    flow:timer("t", { after = "1h", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start("t.flow", { x = 1.0 }))
    assert(engine:run())
    local rows = kit.everything(backend, url)
    rows.workflow = nil -- says which way it goes
    return rows
  end

  local function same_both_ways(run)
    local rows = stored(run)
    assert.is_true(#rows.history > 0)
    assert.same(rows, stored(run, true))
    return rows
  end

  it("is stored as any other, with all that it leaves behind", function()
    local rows = same_both_ways(function(ctx)
      ctx.vars.n = ctx.input.x
      ctx.emit("seen", { n = 1 })
      ctx.attrs.region = "eu"
      return "right", { "out" }
    end)
    assert.equal(1, #rows.outbox)
    assert.equal(1, #rows.attribute)
  end)

  it("is stored as any other when it fails", function()
    local rows = same_both_ways(function(ctx)
      ctx.vars.n = 1
      error { code = "no", message = "not today" }
    end)
    assert.equal(0, #rows.outbox)
  end)
end)
