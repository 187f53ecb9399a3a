-- What was accepted for an instance that ends, or is undone, before anybody
-- took it: its history says so. Where a retry may bring it back, the event's id
-- is free again.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function waiting()
  local flow = pawl.workflow { code = "t.wait", start = "hear" }
  flow:wait("hear", { event = "go", next = "z" })
  flow:finish "z"
  return flow
end

local function asking(undo)
  local flow = pawl.workflow { code = "t.ask", start = "a" }
  flow:step("a", { run = function() end, undo = undo, next = "ask" })
  flow:task("ask", { title = "Ask", role = "all", next = "z" })
  flow:finish "z"
  return flow
end

local function untaken(engine, id)
  local texts = {}
  for _, entry in ipairs(assert(engine:history(id))) do
    if entry.type == "untaken" then
      texts[#texts + 1] = ("%s by %s"):format(entry.text, entry.caller)
    end
  end
  return texts
end

--- The store refuses to record, for good, that an event was received.
local REFUSE = {
  sqlite = [[create trigger spec_refuse before insert on pawl_history
    when new.type = 'received' begin select raise(abort, 'no'); end]],
  postgres = [[create function public.spec_refuse() returns trigger
    language plpgsql as 'begin if new.type = ''received'' then
    raise exception ''no''; end if; return new; end';
    create trigger spec_refuse before insert on pawl.history
    for each row execute function public.spec_refuse()]],
}

kit.describe("what is not taken any more", function(backend)
  --- Stands at the flow's first wait or task.
  local function begun(flow)
    local engine, clock, url = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start(flow.code))
    assert(engine:run())
    return engine, id, url, clock
  end

  it("is said of events that a cancel overtook", function()
    for _, way in ipairs { "cancel", "kill" } do
      local engine, id = begun(waiting())
      local function send(event)
        return engine:signal { name = "go", instance = id, id = event,
          source = "shop", by = "ann" }
      end
      assert.equal(1, assert(send "e1"))
      assert.equal(0, assert(send "e1"))
      assert(engine[way](engine, id, { by = "bob" }))
      assert.same({ 'event "go" shop:e1: it has ended before that by ann' },
        untaken(engine, id))
      assert.equal(0, assert(send "e1")) -- known: it was accepted
    end
  end)

  it("is said of events to whoever waits", function()
    local engine, id = begun(waiting())
    assert.equal(1, assert(engine:signal { name = "go", id = "e1" }))
    assert(engine:cancel(id))
    assert.equal(1, #untaken(engine, id))
  end)

  it("is said of a task's answer", function()
    local engine, id = begun(asking())
    local task = assert(engine:tasks { instance = id })[1]
    assert(engine:task_complete(task.id, { user = "ann", roles = { "all" } }))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.same({ "a task's answer: it has ended before that by ann" },
      untaken(engine, id))
  end)

  it("is said of a task's answer to one that is undone", function()
    local engine, id = begun(asking(function() end))
    local task = assert(engine:tasks { instance = id })[1]
    assert(engine:task_complete(task.id, { user = "ann", roles = { "all" } }))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.equal("cancelled", kit.status(engine, id))
    assert.equal(1, #untaken(engine, id))
  end)

  it("is not said of what was taken, nor when it ends by itself", function()
    local engine, id = begun(waiting())
    assert.equal(1, assert(engine:signal { name = "go", instance = id,
      id = "e1" }))
    assert(engine:run())
    assert.equal("completed", kit.status(engine, id))
    assert.same({}, untaken(engine, id))
    assert.equal(0, assert(engine:signal { name = "go", instance = id,
      id = "e1" })) -- this one is known
  end)

  it("is told of what nobody has looked at, too", function()
    local engine, id = begun(waiting())
    for i = 1, 30 do
      assert(engine:signal { name = "other", instance = id, id = "e" .. i })
    end
    assert(engine:cancel(id))
    local texts = untaken(engine, id)
    assert.matches("and what had not been looked at", texts[#texts])
  end)

  it("does not use up the id of an event that the store refused to give it",
    function()
      local engine, id, url = begun(waiting())
      backend.sql(url, REFUSE[backend.name])
      local function send()
        return engine:signal { name = "go", instance = id, id = "e1" }
      end
      assert.equal(1, assert(send()))
      assert(engine:run())
      assert.equal("failed", kit.status(engine, id))
      assert.equal(1, #untaken(engine, id))
      backend.sql(url, backend.name == "sqlite"
        and "drop trigger spec_refuse"
        or "drop trigger spec_refuse on pawl.history")
      assert(engine:retry(id))
      assert(engine:run())
      assert.equal("waiting", kit.status(engine, id))
      assert.equal(1, assert(send()))
      assert(engine:run())
      assert.equal("completed", kit.status(engine, id))
    end)
end)
