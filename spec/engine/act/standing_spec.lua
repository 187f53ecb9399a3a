-- What a request can be for: what waits for a time is woken, what has halted
-- at a breakpoint goes on; nothing else is counted as if it had.
local halts = require "spec.engine.halts"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function wait(timeout)
  local flow = pawl.workflow { code = "t.waits", start = "w" }
  flow:wait("w", { event = "go", timeout = timeout,
    next = { received = "z", timeout = timeout and "z" or nil } })
  flow:finish "z"
  return flow
end

local function call()
  local flow = pawl.workflow { code = "t.calls", start = "c" }
  flow:call("c", { workflow = "t.waits", timeout = "1h",
    next = { completed = "z", timeout = "z" } })
  flow:finish "z"
  return flow
end

--- A timer, then a wait for an event.
local function timed()
  local flow = pawl.workflow { code = "t.timed", start = "t" }
  flow:timer("t", { after = "1h", next = "w" })
  flow:wait("w", { event = "go", next = "z" })
  flow:finish "z"
  return flow
end

local function begun(engine, code, options)
  local id = assert(engine:start(code, {}, options))
  assert(engine:run())
  return id
end

local function rows(engine, id, kind)
  return #assert(engine:history(id, { type = kind }))
end

kit.describe("waking", function(backend)
  local engine

  before_each(function()
    engine = backend.fresh()
    for _, flow in ipairs { wait(), timed(), call() } do
      assert(engine:load(flow))
    end
  end)

  --- Of so many that are found so many are woken; why the others are not.
  local function wakes(code, found, done, options)
    options = options or {}
    local report
    for _, dry in ipairs { true, false } do
      options.dry_run = dry
      report = assert(engine:bulk("wake", { workflow = code }, options))
      assert.same({ found, done, found - done }, { report.matched,
        report.done, report.refused })
    end
    return report.refusals[1]
  end

  it("is among many of those that wait for a time", function()
    begun(engine, "t.waits")
    local id = begun(engine, "t.timed")
    local why = wakes("t.waits", 1, 0)
    assert.equal("conflict", why.code)
    assert.matches("waits for no time$", why.message)
    assert.matches("waits for no time there$",
      wakes("t.timed", 1, 0, { node = "w" }).message)
    wakes("t.timed", 1, 1, { node = "t" })
    wakes("t.timed", 1, 1) -- its time has come already
    assert.equal(1, rows(engine, id, "woken"))
    assert(engine:run())
    wakes("t.timed", 1, 0)
  end)

  it("has one begin that is to begin later", function()
    local id = begun(engine, "t.waits", { delay = "1h" })
    wakes("t.waits", 1, 0, { node = "z" })
    wakes("t.waits", 1, 1)
    assert(engine:run())
    assert.equal("waiting", kit.status(engine, id))
  end)

  it("ends by name alone what waits for children", function()
    local id = begun(engine, "t.calls")
    assert.matches("name the `node`", wakes("t.calls", 1, 0).hint)
    wakes("t.calls", 1, 1, { node = "c" })
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("has one looked at that is named, whatever it waits for", function()
    local id = begun(engine, "t.waits")
    assert.same({ true, true }, { assert(engine:wake(id)) })
    assert.same({ 0, 0 }, { rows(engine, id, "woken"),
      rows(engine, id, "refused") })
  end)
end)

kit.describe("what has halted", function(backend)
  local engine

  before_each(function()
    engine = backend.fresh()
    assert(engine:load(halts.forked()))
  end)

  it("is alone counted among those that go on", function()
    begun(engine, "t.chain")
    halts.set(engine, "a")
    local id = halts.begun(engine)
    for _, dry in ipairs { true, false } do
      local report = assert(engine:bulk("continue", { workflow = "t.chain" },
        { dry_run = dry }))
      assert.same({ 2, 1, 1 }, { report.matched, report.done,
        report.refused })
    end
    assert(engine:run())
    assert.equal("", halts.at(engine, id))
  end)

  it("is looked for by a dry run as by what it stands for", function()
    local id = halts.begun(engine)
    for _, verb in ipairs { "continue", "step" } do
      for _, dry in ipairs { true, false } do
        kit.refused("conflict", "does not stand at a breakpoint", nil,
          engine[verb](engine, id, { dry_run = dry }))
      end
    end
    assert.equal(0, rows(engine, id, "refused"))
    halts.set(engine, "f")
    id = halts.begun(engine)
    assert(engine:step(id, { dry_run = true }))
    assert(engine:step(id))
    assert(engine:run())
    assert.equal("a t", halts.at(engine, id))
    local words = 'several .-: "a" %(token %d%), "t" %(token %d%); say which'
    kit.refused("conflict", words, nil, engine:step(id, { dry_run = true }))
    assert(engine:continue(id, { dry_run = true }))
    assert(engine:step(id, { node = "a", dry_run = true }))
    kit.refused("conflict", "does not stand at a breakpoint", nil,
      engine:step(id, { node = "c", dry_run = true }))
    assert(engine:continue(id, { token = halts.token(engine, id),
      dry_run = true }))
  end)
end)
