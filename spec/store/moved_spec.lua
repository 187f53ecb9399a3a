-- Rows that somebody changes while a statement of ours waits for them, on
-- PostgreSQL: what is written by place (ctid) does not find them any more, so
-- that must have been meant.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local shell = require "spec.support.shell"

local backend
for _, b in ipairs(kit.backends) do
  if b.name == "postgres" then backend = b end
end
if not backend then return end

--- Changes rows in a session of its own, and commits once somebody waits.
local RIVAL = [[
do $rival$ begin
  %s;
  perform set_config('application_name', 'spec-holds', false);
  for i in 1 .. 2000 loop
    exit when exists (select from pg_locks where not granted);
    perform pg_sleep(0.01);
  end loop;
end $rival$;]]

local function rival(url, text)
  return assert(io.popen("env -u LD_PRELOAD psql -Xq -d " .. shell.quote(
    url:gsub("^postgres:", "")) .. " -c " .. shell.quote(RIVAL:format(text))
    .. " 2>&1"))
end

--- Until the rival has changed its row: nobody else can lock it.
local function until_held(url, text)
  for _ = 1, 1000 do
    if #backend.sql(url, text .. " for update skip locked") == 0 then return end
  end
  error "the rival has changed nothing"
end

kit.describe("a row that changes meanwhile", function(b)
  if b ~= backend then return end

  --- An instance that is held, and a store to hold it by.
  local function held()
    local engine, clock, url = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local store = kit.store(url, clock)
    return store, id, kit.claim(store, id), url, clock
  end

  local function meanwhile(url, change, row, call)
    local pipe = rival(url, change)
    until_held(url, row)
    local found, err = call()
    local said = pipe:read "a"
    pipe:close()
    assert.equal("", said)
    return found, err
  end

  local function at(id) return ("instance = '%s'"):format(id) end
  local function wake(url, id, call)
    return meanwhile(url, "update pawl.agenda set latch = latch + 1 where "
      .. at(id), "select 1 from pawl.agenda where " .. at(id), call)
  end

  it("is let go all the same", function()
    local store, id, lease, url, clock = held()
    wake(url, id, function()
      return kit.run(store, "agenda_unclaim", { shard = 0, id = { id },
        lease = { lease }, executor = { probe.null }, due_at = { clock.us } })
    end)
    local row = kit.agenda(store, id)
    assert.is_nil(row.lease)
    assert.is_true(row.ready)
    assert.equal(1, row.latch)
  end)

  it("is given back all the same after a claim whose answer was lost",
    function()
      local store, id, lease, url = held()
      wake(url, id, function()
        return kit.run(store, "agenda_unclaim_lease", { shard = 0,
          lease = lease, horizon_us = 3600000000, now = store:now() })
      end)
      local row = kit.agenda(store, id)
      assert.is_nil(row.lease)
      assert.is_true(row.ready)
    end)

  it("is not ended: its letter would never be read", function()
    local store, id, lease, url = held()
    local done = wake(url, id, function()
      assert(store:begin "batch")
      local ok = store:send("agenda_finish", { shard = 0, id = { id },
        lease = { lease }, seen = { 0 } })
      ok = ok and store:commit()
      if not ok then store:rollback() end
      return ok
    end)
    assert.is_falsy(done)
    assert.equal(1, kit.agenda(store, id).latch)
  end)

  it("is closed, when it is a task that a person has taken", function()
    local engine, clock, url = backend.fresh()
    local flow = pawl.workflow { code = "t.task", start = "ask" }
    flow:task("ask", { title = "Ask", next = { approved = "z" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.task")
    assert(engine:run())
    local store = kit.store(url, clock)
    for _, one in ipairs {
      { "task_end", { token = { 1 }, visit = { 1 },
        status = { "cancelled" } } },
      { "task_close", {} },
    } do
      backend.sql(url, "update pawl.task set status = 'pending';"
        .. "delete from pawl.agenda; insert into pawl.agenda (shard, instance,"
        .. " workflow, version, executor_group, priority, ready,"
        .. " due_at, takeovers, latch) select shard, id, workflow,"
        .. " version, executor_group, priority, true,"
        .. " to_timestamp(0), 0, 0 from pawl.instance")
      local lease = kit.claim(store, id)
      local args = { shard = 0, id = { id }, lease = { lease },
        latch = { probe.null }, updated_at = { clock.us } }
      for name, value in pairs(one[2]) do args[name] = value end
      meanwhile(url, "update pawl.task set claimed_by = 'ann',"
        .. " status = 'running'", "select 1 from pawl.task", function()
          return kit.run(store, one[1], args)
        end)
      assert.equal("cancelled",
        kit.select(url, "select status from pawl.task")[1].status, one[1])
    end
  end)
end)
