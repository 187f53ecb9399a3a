-- A request whose answer was lost is sent again, and counts once: also when
-- somebody has taken the first letter in the meantime.
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local probe = require "spec.support.probe"

local HOUR_US = 3600000000

--- The answer to a commit that stands is lost; and a commit never arrives.
local LOST = "commit.after=drop"
local FAILED = { sqlite = "commit.busy=fail",
  postgres = "commit.before_send=drop" }

--- What fails with a code that says: the same call may succeed. On PostgreSQL
--- it is a statement on the agenda, the k-th, with that code.
local REFUSALS = { sqlite = { "commit.busy" },
  postgres = { "40001", "53100" } }

--- Makes the k-th one fail, from the letter's on, while `ask` is called; what
--- that gives, and whether it came so far.
local function refused(backend, url, k, what, ask)
  if backend.name == "sqlite" then
    probe.fault("engine.act.send=call", function()
      probe.fault(("%s=fail@%d"):format(what, k))
    end)
    local ok, done = ask()
    probe.fault(nil)
    return ok, done
  end
  backend.sql(url, ([[create sequence public.spec_nth;
    create function public.spec_refuse() returns trigger language plpgsql as
    $f$ begin
    if nextval('public.spec_nth') = %d then
      raise exception 'spec: the %d. time' using errcode = '%s';
    end if; return null; end $f$;
    create trigger spec_refuse before insert or update or delete
    on pawl.agenda for each statement execute function public.spec_refuse()]])
    :format(k, k, what))
  local ok, done = ask()
  backend.sql(url, "drop trigger spec_refuse on pawl.agenda")
  local n = kit.select(url, "select last_value as n from public.spec_nth")[1].n
  return ok, done, n
end

--- What `ask` gives when the answer to its letter is lost. `between` is called
--- before it is sent again, when the first one lies there; `before` before that
--- is sent.
local function asked(backend, url, ask, between, before)
  local again = 0
  probe.fault("engine.act.send=call", function()
    if before then before() end
    probe.fault(LOST .. ",engine.act.again=call", function()
      again = again + 1
      assert.equal(1, kit.count(backend, url, "inbox"))
      between()
    end)
  end)
  local ok, done = ask()
  probe.fault(nil)
  assert.equal(1, again)
  return ok, done
end

local function rows(engine, id, kind)
  local found = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.type == kind then found[#found + 1] = row.text or "" end
  end
  return found
end

--- Timers of an hour, t and u, and a step after each; `a` may fail.
local function timers(ran, version)
  local flow = pawl.workflow { code = "t.two", version = version, start = "t" }
  flow:timer("t", { after = "1h", next = "a" })
  flow:step("a", { next = "u", retry = { max = 1 }, run = function()
    ran.a = (ran.a or 0) + 1
    if ran.fails then error "no" end
  end })
  flow:timer("u", { after = "1h", next = "b" })
  flow:step("b", { next = "z", run = function() ran.b = (ran.b or 0) + 1 end })
  flow:finish "z"
  return flow
end

kit.describe("a request that is sent again", function(backend)
  local a, b, clock, url, id, ran

  after_each(function() probe.fault(nil) end)

  --- An instance that waits at `t`.
  before_each(function()
    ran = {}
    a, b, clock, url = kit.pair(backend, { timers(ran), timers(ran, 2) })
    id = assert(a:start("t.two", {}, { version = 1 }))
    assert(a:run())
  end)

  local function take() assert(b:run()) end

  local function shift()
    return core.change(a, id, { kind = "shift", for_us = HOUR_US })
  end

  --- It was done by the first letter, whatever has happened since.
  local function counts_once(kind, ask, between, before)
    local ok, done = asked(backend, url, ask, between or take, before)
    assert.truthy(ok, tostring(done))
    assert.equal(1, #rows(a, id, kind))
    assert.equal(0, #rows(a, id, "refused"))
    assert(a:run())
    assert.equal(1, #rows(a, id, kind))
    assert.equal(0, #rows(a, id, "refused"))
    assert.equal(0, kit.count(backend, url, "inbox"))
    return ok, done
  end

  it("puts its times off once", function()
    local _, done = counts_once("shifted", shift)
    assert.is_true(done)
    clock:advance(7201)
    assert(a:run())
    assert.equal(1, ran.a)
  end)

  it("puts its times off once though it has ended since", function()
    counts_once("shifted", shift, function()
      take()
      for _ = 1, 2 do
        clock:advance "3h"
        assert(b:run())
      end
      assert.completed(b, id)
    end)
  end)

  it("moves its token to a node once", function()
    counts_once("moved", function() return a:move(id, { to = "a" }) end)
    assert.equal(1, ran.a)
  end)

  it("restarts it once though it has completed again since", function()
    local function complete(engine)
      for _ = 1, 2 do
        clock:advance "2h"
        assert(engine:run())
      end
      assert.completed(engine, id)
    end
    complete(a)
    counts_once("restarted", function()
      return a:restart(id, { from = "a" })
    end, function() take(); complete(b) end)
    assert.same({ 2, 2 }, { ran.a, ran.b })
    assert.completed(a, id)
  end)

  it("has it tried again once though it has failed again since", function()
    ran.fails = true
    clock:advance "2h"
    assert(a:run())
    assert.failed(a, id)
    counts_once("retried", function() return a:retry(id) end)
    assert.equal(2, ran.a)
    assert.failed(a, id)
  end)

  it("suspends it, and is not told that it is so already", function()
    counts_once("suspended", function() return a:suspend(id) end)
    assert.equal("suspended", kit.status(a, id))
  end)

  it("suspends it once though it was resumed since", function()
    counts_once("suspended", function() return a:suspend(id) end, function()
      take()
      assert(b:resume(id))
    end)
    assert.equal("waiting", kit.status(a, id))
  end)

  it("resumes it, and is not told that it goes on already", function()
    assert(a:suspend(id))
    counts_once("resumed", function() return a:resume(id, { shift = true }) end)
    assert.equal("waiting", kit.status(a, id))
  end)

  it("leaves the variables as somebody has made them since", function()
    local ok, done = asked(backend, url, function()
      return a:edit(id, { set = { n = 1 },
        if_commits = assert(a:get(id)).commits })
    end, function()
      take()
      assert(b:edit(id, { set = { n = 2 } }))
    end)
    assert.truthy(ok, tostring(done))
    assert.equal(2, #rows(a, id, "changed"))
    assert.same({ n = 2 }, assert(a:get(id)).variables)
  end)

  it("has one timer run out, not the next one too", function()
    counts_once("woken", function() return a:wake(id) end)
    assert.equal("u", assert(a:get(id)).tokens[1].node)
  end)

  it("cancels it, and is not told that it has ended already", function()
    local _, done = counts_once("cancelled", function()
      return a:cancel(id, "enough")
    end)
    assert.is_true(done)
    assert.equal("cancelled", kit.status(a, id))
  end)

  it("ends it at once, and is not told that it has ended already", function()
    local _, done = counts_once("killed", function() return a:kill(id) end)
    assert.is_true(done)
    assert.equal("cancelled", kit.status(a, id))
  end)

  it("moves it to another version, and says so", function()
    local moved = counts_once("transferred", function()
      return a.workflows:transfer("t.two", 1, 2)
    end)
    assert.same({ id }, moved)
  end)

  it("is told that the first was refused, whatever followed", function()
    local function suspend() assert(b:suspend(id)) end
    local ok, err = asked(backend, url, function() return a:suspend(id) end,
      function()
        take()
        assert(b:resume(id))
        clock:advance "2h"
        assert(b:run())
      end, suspend)
    assert.is_nil(ok)
    assert.equal("conflict", err.code)
    assert.matches("it is suspended already", err.message, 1, true)
    assert(a:run())
    assert.same({ "suspend: it is suspended already" }, rows(a, id, "refused"))
    assert.equal(1, #rows(a, id, "suspended"))
    assert.equal("waiting", kit.status(a, id))
  end)

  it("is one letter while the first one lies there", function()
    counts_once("shifted", shift, function() end)
  end)

  it("is done though the first never arrived", function()
    probe.fault("engine.act.send=call", function()
      probe.fault(FAILED[backend.name])
    end)
    local ok, done = shift()
    assert.is_true(ok)
    assert.is_true(done)
    assert.equal("started t, shifted t", kit.trail(a, id))
  end)

  -- 1 is the letter's own; what follows takes it at once
  for passage = 2, 5 do
    it("need not be: what is lost is the answer to trip " .. passage,
      function()
        probe.fault("engine.act.send=call", function()
          probe.fault(("%s@%d"):format(LOST, passage))
        end)
        local ok, err = shift()
        probe.fault(nil)
        assert.truthy(ok, tostring(err))
        assert(a:run())
        assert.equal("started t, shifted t", kit.trail(a, id))
      end)
  end

  -- before these comes the letter's own unit
  local from = backend.name == "sqlite" and 2 or 3
  for _, what in ipairs(REFUSALS[backend.name]) do
    for k = from, 4 do
      local function counts(kind, ask)
        local ok, done, n = refused(backend, url, k, what, ask)
        assert.truthy(ok, tostring(done))
        if n then assert.is_true(n >= k, "only " .. n) end
        assert(a:run())
        assert.equal(1, #rows(a, id, kind))
        assert.equal(0, kit.count(backend, url, "inbox"))
      end

      it(("need not be: what is refused is the %d. passage (%s)")
        :format(k, what), function()
          counts("shifted", shift)
        end)

      it(("need not be for a timer: the %d. passage (%s)"):format(k, what),
        function()
          counts("woken", function() return a:wake(id) end)
          assert.equal("u", assert(a:get(id)).tokens[1].node)
        end)

      it(("need not be for a move: the %d. passage (%s)"):format(k, what),
        function()
          counts("moved", function() return a:move(id, { to = "a" }) end)
          assert.equal(1, ran.a)
        end)
    end
  end
end)
