--- The torture's checker finds what it is there to find: into a healthy store,
--- in which all has ended, each fault is planted by hand, in a transaction that
--- is rolled back.
local checker = require "spec.support.torture.checker"
local Cluster = require "spec.support.cluster"
local process = require "spec.support.process"
local stores = require "spec.support.torture.stores"
local Wave = require "spec.support.torture.wave"

-- In statements, $one(WORKFLOW STATUS) is an instance, completed if that is
-- not said; $now a time; $id an id that nobody has. What a statement needs
-- besides stands in front of it, $of(WHAT): the same, or another word of
-- traits(), below.
local plants = {
  ["ends as modelled"] = {
    "update pawl.instance set status = 'failed' where id = $one(t.all)",
    "update pawl.instance set key = null where id = $one(t.all)",
    "update pawl.instance set key = 'x' where id = $one(t.all)",
    "update pawl.instance set status = 'waiting' where id = $one(t.kid)",
    "delete from pawl.history where type = 'step' and instance = $one(t.all)",
    [[update pawl.instance set variables =
      replace(cast(variables as text), '"sum":', '"some":')$json
      where id = $one(t.many)]],
    "update pawl.history set node = 'x' where type = 'step' \
      and instance = $one(t.timer)",
    "update pawl.history set type = 'recovered' where type = 'timer' \
      and instance = $one(t.timer)",
    "update pawl.instance set parent = null where id = $one(t.kid)",
    [[$of(t.saga failed) update pawl.instance set variables =
      replace(cast(variables as text), 'cchildba', 'cchildab')$json
      where workflow = 't.saga']],
    [[$of(t.back) update pawl.instance set variables =
      replace(cast(variables as text), '"ba', '"ab')$json
      where workflow = 't.back']],
    "$of(t.back cancelled) update pawl.history set node = 'c' \
      where type = 'step' and node = 'tidy'",
    [[update pawl.instance set variables =
      replace(cast(variables as text), '"sum":', '"some":')$json
      where id = $one(t.queue)]],
    [[$of(t.some) update pawl.instance set variables =
      replace(cast(variables as text), '"sum":', '"some":')$json
      where workflow = 't.some']],
    "update pawl.history set node = 'x' where type = 'step' \
      and instance = $one(t.pages)",
    "update pawl.history set type = 'recovered' where type = 'condition' \
      and instance = $one(t.met)",
    "update pawl.history set type = 'recovered' where type = 'rescheduled' \
      and instance = $one(t.moved)",
  },
  ["a visit ends once"] = {
    [[insert into pawl.history (shard, instance, seq, completed_at, token,
        visit, attempt, type, node)
      select shard, instance, 10000, completed_at, token, visit, attempt,
        type, node from pawl.history
      where instance = $one(t.seq) and type = 'step' and node = 'a']],
  },
  ["history has no gaps"] = {
    "delete from pawl.history where instance = $one(t.seq) and seq = 2",
    "delete from pawl.history where instance = $one(t.seq) and seq = 1",
  },
  ["history ends where the instance says"] = {
    "update pawl.instance set seq = seq + 1 where id = $one(t.seq)",
    "delete from pawl.history where instance = $one(t.seq)",
  },
  ["what is kept is not said to be untaken"] = {
    [[update pawl.history set type = 'untaken',
        text = 'event "go" shop:e1: it has ended before that'
      where seq = 1 and instance = $one(t.saga failed)]],
  },
  ["history folds to the variables"] = {
    [[update pawl.history set changes =
      replace(cast(changes as text), '"n_b":1', '"n_b":2')$json
      where instance = $one(t.seq)]],
    "update pawl.history set changes = null where instance = $one(t.seq)",
    "$of(big) delete from pawl.variable",
  },
  ["a step's variables change once"] = {
    [[$of(t.hold) update pawl.instance set variables =
      replace(cast(variables as text), '"n_b":1', '"n_b":2')$json
      where workflow = 't.hold']],
    [[$of(t.saga failed) update pawl.instance set variables =
      replace(cast(variables as text), '"u_a"', '"u_x"')$json
      where workflow = 't.saga']],
  },
  ["the ledger is exact"] = {
    "$of(t.book) insert into ledger select * from ledger where node = 'book1'",
    "$of(t.book) delete from ledger where node = 'book2'",
    "$of(t.book) update ledger set node = 'book2'",
  },
  ["the outbox is exact"] = {
    "delete from pawl.outbox where instance = $one(t.seq) and seq = \
      (select max(seq) from pawl.outbox where instance = $one(t.seq))",
    "$of(t.saga failed) delete from pawl.outbox where type = 't.undo'",
    "update pawl.outbox set type = 't.undo' where instance = $one(t.seq)",
  },
  ["a mark is left once"] = {
    [[insert into pawl.outbox (shard, instance, seq, type, payload, created_at,
        attempts, due_at)
      select shard, instance, seq + 10000, type, payload, created_at, attempts,
        due_at from pawl.outbox where instance = $one(t.seq)]],
  },
  ["a note is left once for a request"] = {
    [[update pawl.history set type = 'note', request = instance
      where instance = $one(t.seq)]],
  },
  ["a failure is told once"] = {
    "$of(t.saga failed) delete from pawl.outbox where type = 't.failed'",
    "$of(t.saga failed) delete from pawl.instance where workflow = 't.mend'",
    "$of(t.saga failed) update pawl.instance set key = 'x/' || key \
      where workflow = 't.mend'",
    [[$of(t.saga failed) insert into pawl.outbox (shard, instance, seq, type,
        payload, created_at, attempts, due_at)
      select shard, instance, seq + 10000, type, payload, created_at, attempts,
        due_at from pawl.outbox where type = 't.failed']],
    "$of(t.saga cancelled) update pawl.instance set status = 'failed' \
      where workflow = 't.saga' and status = 'cancelled'",
  },
  ["what was emitted was received"] = {
    "update pawl.outbox set published_at = null where instance = $one(t.seq)",
    "update pawl.outbox set seq = 1000 - seq where instance = $one(t.seq)",
    "delete from pawl.outbox where instance = $one(t.seq) and seq = 2",
    [[insert into pawl.outbox (shard, instance, seq, type, payload, created_at,
        attempts, due_at, published_at)
      select shard, instance, seq + 10000, type, payload, created_at, attempts,
        due_at, $now from pawl.outbox where instance = $one(t.seq)]],
  },
  ["a job is taken by one"] = {
    [[insert into pawl.history (shard, instance, seq, completed_at, token,
        visit, attempt, type, node, changes)
      select shard, instance, 10000 + seq, completed_at, token,
        visit, attempt, type, node, changes from pawl.history
      where instance = $one(t.taker) and type = 'received']],
  },
  ["an answer stays as it was told"] = {
    "$of(t.desk) delete from pawl.published where answers",
    [[$of(t.desk) update pawl.published set value =
      replace(cast(value as text), '"turn":1', '"turn":9')$json
      where answers]],
    [[$of(refusal) update pawl.published set value =
      replace(cast(value as text), 'as_told', 'another')$json
      where answers]],
  },
  ["what was received is answered in its turn"] = {
    "$of(t.desk) delete from pawl.published where answers",
    [[$of(t.desk) update pawl.published set value =
      replace(cast(value as text), '"turn":1', '"turn":2')$json
      where answers]],
    [[$of(t.desk) update pawl.published set value =
      replace(cast(value as text), '"n":', '"m":')$json
      where answers]],
    [[delete from pawl.history where type = 'received'
      and instance = $one(t.desk)]],
  },
  ["who completes it first counts"] = {
    [[$of(t.token) update pawl.instance set variables =
      replace(cast(variables as text), '"by":', '"to":')$json
      where workflow = 't.token']],
  },
  ["what is moved is over at its new time"] = {
    [[$of(t.moved) update pawl.history set due_at =
      (select max(updated_at) from pawl.instance)
      where type = 'rescheduled']],
  },
  ["nobody is leased"] = {
    [[insert into pawl.agenda (shard, instance, workflow, version,
        executor_group, priority, ready, due_at, lease, executor, takeovers,
        latch)
      values (0, $one(t.hold waiting), 't.hold', 1, 'default', 0, $false, $now,
        $id, $id, 0, 0)]],
  },
  ["nothing of the ended is scheduled"] = {
    [[insert into pawl.agenda (shard, instance, workflow, version,
        executor_group, priority, ready, due_at, takeovers, latch)
      values (0, $one(t.seq), 't.seq', 1, 'default', 0, $false, $now, 0, 0)]],
    [[insert into pawl.agenda (shard, instance, workflow, version,
        executor_group, priority, ready, due_at, takeovers, latch)
      values (0, $id, 't.seq', 1, 'default', 0, $false, $now, 0, 0)]],
  },
  ["nothing lies in the inbox of the ended"] = {
    [[insert into pawl.inbox (shard, instance, no, kind, received_at)
      values (0, $one(t.kids), $id, 'child', $now)]],
  },
  ["the ended wait for nothing"] = {
    [[insert into pawl.subscription (shard, instance, token, pattern, since)
      values (0, $one(t.put), 1, 't.never', $now)]],
  },
  ["the ended stand nowhere"] = {
    "update pawl.instance set token_no = 1, token_state = 'waiting', \
      node = 'a' where id = $one(t.seq)",
    [[insert into pawl.token (shard, instance, no, node, state, visit, scope,
        attempt, entered_at)
      values (0, $one(t.all), 99, 'left', 'active', 3, '1', 0, $now)]],
  },
  ["messages are delivered"] = {
    [[insert into pawl.message (shard, instance, seq, kind, target, created_at)
      values (0, $one(t.kid), 1, 'result', $one(t.kids), $now)]],
  },
  ["events are posted"] = {
    "$of(t.all) update pawl.event set posted = $false",
  },
  ["nobody waits unseen: it is to run"] = {
    "update pawl.instance set status = 'running' \
      where id = $one(t.hold waiting)",
    "update pawl.instance set token_state = 'active' \
      where id = $one(t.hold waiting)",
  },
  ["nobody waits unseen: a letter"] = {
    [[insert into pawl.inbox (shard, instance, no, kind, received_at)
      values (0, $one(t.hold waiting), $id, 'cancel', $now)]],
    [[insert into pawl.inbox (shard, instance, no, kind, name, received_at,
        addressed)
      values (0, $one(t.hold waiting), $id, 'event', 't.go', $now, $true)]],
  },
  ["nobody waits unseen: an event"] = {
    [[$of(t.all) update pawl.subscription set key = (select key from pawl.event
        where name = 't.answer' order by key limit 1), pattern = 't.*'
      where instance = $one(t.hold waiting)]],
  },
  ["nobody waits unseen: as if it had something"] = {
    "update pawl.subscription set free = not $true \
      where instance = $one(t.hold waiting)",
  },
  ["nobody waits unseen: children"] = {
    [[update pawl.instance set parent_place = '{"node":"hold"}',
        parent = $one(t.hold waiting) where id = $one(t.kid)]],
  },
  ["tasks are done once"] = {
    "$of(t.task) update pawl.history set type = 'recovered' \
      where type = 'task'",
    "$of(t.task) update pawl.task set status = 'cancelled'",
    [[$of(t.task) insert into pawl.history (shard, instance, seq, completed_at,
        token, visit, attempt, type, node)
      select shard, instance, 10000, completed_at, token, visit, attempt,
        type, node from pawl.history where type = 'task']],
  },
  ["nobody is asked by the ended"] = {
    "$of(t.task) update pawl.task set status = 'pending'",
  },
  ["what is counted is there"] = {
    "$of(t.seq) update pawl.counter set amount = amount + 1 \
      where status = 'completed'",
    "$of(t.saga failed) update pawl.counter set amount = 0 \
      where status = 'failed'",
  },
  ["what has failed or has a deadline is told so"] = {
    [[insert into pawl.deadline (shard, instance, deadline_at)
      select shard, id, deadline_at from pawl.instance
       where id = $one(t.timer)]],
    "$of(t.saga failed) delete from pawl.failure",
    "$of(t.saga failed) update pawl.failure set node = 'elsewhere'",
  },
  ["a task's answer is that of who completed it"] = {
    "$of(t.task) update pawl.task set completed_by = 'eve'",
  },
}

-- $place(PLACE) is an instance of which the model says that it is there.
local plants_of_thrown = {
  ["each is where it was put"] = {
    "update pawl.instance set deleted_at = null where id = $place(deleted)",
    "update pawl.instance set deleted_at = $now where id = $one(t.seq)",
    "$of(deleted) update pawl.instance set purge_at = $now \
      where deleted_at is not null",
    "delete from pawl.instance where id = $one(t.put)",
    "$of(kept) delete from pawl.archive",
    "$of(kept) update pawl.archive set rest = $true",
    "$of(kept) update pawl.archive set purged_at = null",
    [[update pawl.instance set id = $place(none) where id = $one(t.seq)]],
    [[insert into pawl.archive (shard, id, workflow, version, priority,
        executor_group, status, created_at, updated_at, archived_at, rest,
        document)
      select shard, id, workflow, version, priority, executor_group, status,
        created_at, updated_at, $now, $false, '{}' from pawl.instance
       where id = $one(t.put)]],
  },
  ["of what is gone nothing is left"] = {
    [[insert into pawl.history (shard, instance, seq, type, completed_at)
      values (0, $place(none), 1, 'note', $now)]],
    [[insert into pawl.outbox (shard, instance, seq, type, payload, created_at,
        attempts, due_at)
      values (0, $place(kept), 1, 't.step', '{}', $now, 0, $now)]],
    [[insert into pawl.ending (shard, instance, due_at, tries)
      values (0, $place(none), $now, 0)]],
    "update pawl.attribute set instance = $place(none) \
      where instance = $place(kept)",
    [[insert into pawl.audit (shard, at, id, type, instance)
      values (0, $now, $id, 'archived', $place(none))]],
    "insert into pawl.owner (shard, task, kind, id, open) \
      values (0, $id, 'user', 'ann', $false)",
    "update pawl.instance set id = $id where id = $one(t.put)",
  },
  ["a purge is told once"] = {
    "$of(kept) delete from pawl.audit where type = 'purged'",
    "$of(kept) update pawl.audit set by = 'eve' where type = 'purged'",
    [[$of(kept) insert into pawl.audit (shard, at, id, type, by, instance)
      select shard, at, $id, type, by, instance from pawl.audit
       where type = 'purged' order by instance limit 1]],
    "$of(kept) update pawl.audit set instance = $one(t.put) \
      where type = 'purged'",
  },
  ["a key is free or kept"] = {
    "update pawl.instance set key = 'x' where id = $one(t.put)",
    "update pawl.instance set deleted_at = $now where id = $one(t.put)",
    "$of(kept) update pawl.archive set purged_at = null",
    "update pawl.instance set successor = $id where id = $one(t.put)",
  },
  ["attributes stay where they are to"] = {
    "$of(deleted) delete from pawl.attribute",
    "delete from pawl.attribute where instance = $place(kept)",
    "delete from pawl.attribute where instance = $one(t.put)",
  },
}

for check, list in pairs(plants_of_thrown) do plants[check] = list end

local only_postgres = {
  ["the list agrees with the instances"] = {
    "$of(t.seq) update pawl.standing set status = 'failed' \
      where status = 'completed'",
    "$of(t.saga cancelled) delete from pawl.standing \
      where status = 'cancelled'",
    "insert into pawl.standing values (0, 't.seq', 'failed', $id)",
  },
}

local words = {
  sqlite = { json = "", now = "1", id = "x'01'", ["true"] = "1",
    ["false"] = "0" },
  postgres = { json = "::json", now = "now()", ["true"] = "true",
    ["false"] = "false",
    id = "cast('00000000-0000-0000-0000-000000000001' as uuid)" },
}

-- An id as the dialect writes it.
local function literal(id, dialect)
  return dialect == "sqlite" and ("x'%s'"):format(id:gsub("-", ""))
    or ("cast('%s' as uuid)"):format(id)
end

--- What stands in brackets: "WORKFLOW STATUS", or one other word.
local function trait(which)
  local name = which:sub(2, -2)
  return name:find "^t%.%l+$" and name .. " completed" or name
end

local function statement(text, dialect, cases)
  text = text:gsub("%$place(%b())", function(place)
    for _, case in ipairs(cases) do
      if case.place == place:sub(2, -2) and not case.heir then
        return literal(case.id, dialect)
      end
    end
    error("nobody is " .. place)
  end)
  text = text:gsub("%$of%b()", ""):gsub("%$one(%b())", function(which)
    return ([[(select id from pawl.instance where workflow = '%s'
      and status = '%s' and deleted_at is null order by key, id limit 1)]])
      :format(trait(which):match "(%S+) (%S+)")
  end)
  return (text:gsub("%$(%l+)", words[dialect]))
end

-- Children of those that end so.
local makes = { ["t.saga failed"] = "t.kid completed",
  ["t.queue completed"] = "t.taker completed" }

-- What is archived comes back for the checker.
local is_there = { hot = true, archive = true }

--- What a case surely has for plants, whatever is first.
local function traits(case)
  local has, expect = {}, case.expect
  if case.place and not case.heir and not case.is_swept then
    has[case.place] = true
  end
  if #expect.status == 1 and is_there[case.place or "hot"] then
    local ends = case.workflow .. " " .. expect.status[1]
    has[ends], has[makes[ends] or ends] = true, true
    has.big = (case.input.big or 0) > 6000 and not case.place
    local refused = (expect.rows or {}).refused
    has.refusal = refused and refused[1] > 0
  end
  return has
end

--- All that the plants ask for, by name.
local function asked_for()
  local asked = {}
  for _, lists in ipairs { plants, only_postgres } do
    for _, list in pairs(lists) do
      for which in table.concat(list, "\n"):gmatch "%$%l+(%b())" do
        asked[trait(which)] = true
      end
    end
  end
  return asked
end

--- What the plants ask for and none of the cases has.
local function lacking(cases)
  local asked, names = asked_for(), {}
  for _, case in ipairs(cases) do
    for name, is_so in pairs(traits(case)) do
      if is_so then asked[name] = nil end
    end
  end
  for name in pairs(asked) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function finished(store)
  store.start()
  store.renew()
  local wave = Wave.new(store, { seed = 1, n = 50, span = 1, workers = 2,
    is_calm = true })
  assert.same({}, lacking(wave.cases), "plants ask for what the wave lacks: "
    .. "let `ways` in spec/support/torture/model.lua have it")
  local found = wave:run()
  assert.same({}, found, wave:story())
  return wave.cases, store.heard
end

for _, name in ipairs { "sqlite", "postgres" } do
  describe("the checker of a torture on " .. name, function()
    if name == "postgres" and not Cluster.wanted then
      pending "PAWL_TEST_PG is not set"
      return
    end
    local store, cases, heard

    lazy_setup(function()
      store = stores[name]()
      cases, heard = finished(store)
    end)
    lazy_teardown(function()
      process.stop_all()
      store.forget()
      store.stop()
    end)

    local function finds(check, list)
      it("sees that " .. check, function()
        for _, text in ipairs(list) do
          local plant = statement(text, name, cases)
          local function broken(query)
            return store.sql(("begin; %s; %s; rollback"):format(plant, query))
          end
          local found = checker.check(broken, cases, name, heard,
            check)
          assert.truthy(#found > 0, text)
        end
      end)
    end

    for _, check in ipairs(checker.names()) do
      local list = plants[check]
        or name == "postgres" and only_postgres[check]
      if list then finds(check, list) end
    end

    it("has a fault planted for each of its checks", function()
      for _, check in ipairs(checker.names()) do
        assert.truthy(plants[check] or only_postgres[check], check)
      end
    end)

    it("finds nothing in a healthy store", function()
      assert.same({}, checker.check(store.sql, cases, name, heard))
    end)
  end)
end
