-- What was accepted for an instance that ends, or is undone, before anybody
-- took it: its history says so. One that has failed keeps its events instead,
-- all of them and in their order, as a retry or a restart may take them.
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
      texts[#texts + 1] = ("%s by %s"):format(entry.text, entry.by)
    end
  end
  return texts
end

--- The store refuses to record, for good, that something was taken.
local REFUSE = {
  sqlite = [[create trigger spec_refuse before insert on pawl_history
    when new.type = '%s' begin select raise(abort, 'no'); end]],
  postgres = [[create function public.spec_refuse() returns trigger
    language plpgsql as 'begin if new.type = ''%s'' then
    raise exception ''no''; end if; return new; end';
    create trigger spec_refuse before insert on pawl.history
    for each row execute function public.spec_refuse()]],
}
local ALLOW = {
  sqlite = "drop trigger spec_refuse",
  postgres = "drop trigger spec_refuse on pawl.history",
}

local MANY = 40 -- more than two pages of an inbox

local function all(first)
  local ids = {}
  for i = first or 1, MANY do ids[#ids + 1] = "e" .. i end
  return table.concat(ids, " ")
end

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

  it("is said once of events that came while its last handler waited",
    function()
      local engine, clock = backend.fresh()
      assert(engine:load(kit.one(function(ctx) ctx.await(60) end)))
      local id = assert(engine:start "t.one")
      assert(engine:tick())
      assert.equal(1, assert(engine:signal { name = "go", instance = id,
        id = "e1", source = "shop", by = "ann" }))
      assert(engine:tick())
      clock:advance(30)
      assert(engine:tick())
      clock:advance(31)
      assert(engine:run())
      assert.completed(engine, id)
      assert.same({ 'event "go" shop:e1: it has ended before that by ann' },
        untaken(engine, id))
    end)

  it("is said of a task's answer", function()
    local engine, id = begun(asking())
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", roles = { "all" } }))
    assert(engine:cancel(id))
    assert(engine:run())
    assert.same({ "a task's answer: it has ended before that by ann" },
      untaken(engine, id))
  end)

  it("is said of a task's answer to one that is undone", function()
    local engine, id = begun(asking(function() end))
    local task = assert(engine.tasks:list { instance = id })[1]
    assert(engine.tasks:complete(task.id, { by = "ann", roles = { "all" } }))
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
    assert.completed(engine, id)
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
end)

kit.describe("an instance that fails before it takes its events",
  function(backend)
    local good

    before_each(function() good = false end)

    --- A step that fails, then a wait for each of the events.
    local function collecting(options)
      local flow = pawl.workflow { code = "t.many", start = "did" }
      flow:step("did", { next = "s", run = function() end,
        undo = options.undo })
      flow:step("s", { retry = false, next = "w", run = function()
        if not good then error { code = "boom" } end
      end })
      flow:wait("w", { event = "go", next = "a" })
      flow:step("a", { next = "c", run = function(ctx)
        local got = ctx.vars.got
        ctx.vars.got = (got and got .. " " or "") .. ctx.event.data
        ctx.vars.n = (ctx.vars.n or 0) + 1
      end })
      flow:choice("c", { next = { yes = "z", no = "w" },
        choose = function(ctx)
          return ctx.vars.n == MANY and "yes" or "no"
        end })
      flow:finish("z", { output = function(ctx) return ctx.vars end })
      return flow
    end

    local function send(engine, id, i)
      return assert(engine:signal { name = "go", instance = id, id = "e" .. i,
        data = "e" .. i, source = "shop" })
    end

    local function begun(options)
      good = options.good
      local engine, clock, url = backend.fresh()
      assert(engine:load(collecting(options)))
      local id = assert(engine:start "t.many")
      if options.good then assert(engine:run()) end
      for i = 1, MANY do
        clock:advance(0.001)
        assert.equal(1, send(engine, id, i))
      end
      if options.refuse then
        backend.sql(url, REFUSE[backend.name]:format(options.refuse))
      end
      assert(engine:run())
      assert.failed(engine, id)
      return engine, id, url
    end

    local function has_all(engine, id)
      assert.same({}, untaken(engine, id))
      for _, i in ipairs { 1, 16, 17, MANY } do -- each is known, none is lost
        assert.equal(0, send(engine, id, i))
      end
    end

    local function takes_all(engine, id)
      good = true
      assert(engine:run())
      local instance = assert(engine:get(id))
      assert.equal(all(), instance.variables.got)
      assert.equal("completed", instance.status)
      assert.same({}, untaken(engine, id))
    end

    it("takes them all, in order, when it is retried", function()
      local engine, id = begun {}
      has_all(engine, id)
      good = true
      assert(engine:retry(id))
      takes_all(engine, id)
    end)

    it("takes them all when it failed twice", function()
      local engine, id = begun {}
      assert(engine:retry(id))
      assert(engine:run())
      assert.failed(engine, id)
      has_all(engine, id)
      good = true
      assert(engine:retry(id))
      takes_all(engine, id)
    end)

    it("takes them all, in order, when it is restarted", function()
      local engine, id = begun {}
      good = true
      assert(engine:restart(id, { from = "w" }))
      takes_all(engine, id)
    end)

    it("keeps them when it was undone, and a retry of it was refused",
      function()
        local engine, id = begun { undo = function() end }
        has_all(engine, id)
        assert.is_nil((engine:retry(id)))
        has_all(engine, id)
        assert(engine:restart(id, { from = "w" }))
        takes_all(engine, id)
      end)

    it("takes again the one that the store refused to give it", function()
      local engine, id, url = begun { good = true, refuse = "received" }
      has_all(engine, id)
      assert(engine:retry(id)) -- it is still refused
      assert(engine:run())
      assert.failed(engine, id)
      has_all(engine, id)
      backend.sql(url, ALLOW[backend.name])
      assert(engine:retry(id))
      takes_all(engine, id)
    end)

    it("loses a task's answer that the store refuses, and says so", function()
      local engine, _, url = backend.fresh()
      assert(engine:load(asking()))
      local id = assert(engine:start "t.ask")
      assert(engine:run())
      assert(engine:signal { name = "go", instance = id, id = "e1" })
      local function answer()
        local task = assert(engine.tasks:list { instance = id,
          status = "pending" })[1]
        assert(engine.tasks:complete(task.id,
          { by = "ann", roles = { "all" } }))
        assert(engine:run())
      end
      backend.sql(url, REFUSE[backend.name]:format "task")
      answer()
      assert.failed(engine, id)
      assert.same({ "a task's answer: it has ended before that by ann" },
        untaken(engine, id))
      backend.sql(url, ALLOW[backend.name])
      assert(engine:retry(id))
      assert(engine:run())
      answer() -- it is asked anew
      assert.completed(engine, id)
    end)
  end)
