-- ctx.signal: what a step sends when it is stored. How events travel is
-- enter/signal_spec's.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local tmp = require "spec.support.tmp"

local function waiter()
  local flow = pawl.workflow { code = "t.waiter" }
  flow:wait("w", { event = "t.go", key = "order", into = "got" })
  flow:finish("z", { output = function(ctx) return ctx.vars.got end })
  return flow
end

--- Its step does what `run` says, which is given ctx.
local function sender(run, more)
  local flow = pawl.workflow { code = "t.sender" }
  local step = { run = run, retry = { max = 2, base = 1, jitter = 0 } }
  for name, value in pairs(more or {}) do step[name] = value end
  flow:step("s", step)
  flow:finish "z"
  return flow
end

local function begin(engine, order)
  local id = assert(engine:start("t.waiter", { order = order }))
  assert(engine:run())
  return id
end

local function send(engine, input)
  local id = assert(engine:start("t.sender", input))
  assert(engine:run())
  return id
end

kit.describe("ctx.signal", function(backend)
  it("reaches who waits, by key or by id, with what was sent", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(waiter()))
    assert(engine:load(sender(function(ctx)
      ctx.signal { name = "t.go", key = 17, data = { n = 1 } }
      ctx.signal { name = "t.go", instance = ctx.input.id, key = "b" }
      ctx.signal { name = "t.go", key = "nobody" }
    end)))
    local a, b, other = begin(engine, "17"), begin(engine, "b"),
      begin(engine, "18")
    local id = send(engine, { id = b })
    assert.completed(engine, id)
    assert.same({ n = 1 }, engine:get(a).output)
    assert.completed(engine, b)
    assert.equal("waiting", engine:get(other).status)
    local row = assert(engine:history(a))[2]
    assert.same({ "received", id, "17" },
      { row.type, row.changes.event.source, row.changes.event.key })
    assert.equal(0, kit.count(backend, url, "message"))
  end)

  it("is kept for who waits for it later", function()
    local engine = backend.fresh()
    assert(engine:load(waiter()))
    assert(engine:load(sender(function(ctx)
      ctx.signal { name = "t.go", key = "late", data = 7 }
    end)))
    send(engine)
    assert.equal(7, engine:get(begin(engine, "late")).output)
  end)

  it("sends nothing of an attempt that failed, and once of all", function()
    local engine, clock = backend.fresh()
    local flow = pawl.workflow { code = "t.waiter" }
    flow:step("w", { next = "more", run = function(ctx)
      ctx.vars.n = ctx.vars.n or 0
    end })
    flow:wait("more", { event = "t.go", key = "order", timeout = "1h",
      next = { received = "count", timeout = "z" } })
    flow:step("count", { next = "more", run = function(ctx)
      ctx.vars.n = ctx.vars.n + ctx.event.data
    end })
    flow:finish("z", { output = function(ctx) return ctx.vars.n end })
    assert(engine:load(flow))
    assert(engine:load(sender(function(ctx)
      ctx.signal { name = "t.go", key = "k", data = ctx.attempt }
      if ctx.attempt == 1 then error "not yet" end
    end)))
    local id = begin(engine, "k")
    send(engine)
    clock:advance "2s"
    assert(engine:run())
    clock:advance "2h"
    assert(engine:run())
    assert.equal(2, engine:get(id).output)
  end)

  it("may be for its own instance, and from undo", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.own" }
    flow:step("s", { next = "w", run = function(ctx)
      ctx.signal { name = "t.self", instance = ctx.id, data = "me" }
    end, undo = function(ctx)
      ctx.signal { name = "t.go", key = "undone" }
    end })
    flow:wait("w", { event = "t.self", into = "got" })
    flow:step("fails", { retry = false, run = function() error "no" end })
    assert(engine:load(flow))
    assert(engine:load(waiter()))
    local other = begin(engine, "undone")
    local id = assert(engine:start("t.own"))
    assert(engine:run())
    assert.same({ "failed", "me" },
      { engine:get(id).status, engine:get(id).variables.got })
    assert.completed(engine, other)
  end)

  it("drops what is for nobody, and goes on", function()
    local engine, _, url = backend.fresh()
    assert(engine:load(sender(function(ctx)
      ctx.signal { name = "t.go",
        instance = "01a3185c-5000-7718-a5e4-de1cda92b166" }
    end)))
    assert.equal("completed", engine:get(send(engine)).status)
    assert.equal(0, kit.count(backend, url, "message"))
    assert.equal("completed", engine:get(send(engine)).status)
  end)

  it("stays within its tenant", function()
    local engine = backend.fresh()
    assert(engine:load(waiter()))
    assert(engine:load(sender(function(ctx)
      ctx.signal { name = "t.go", key = "k", data = ctx.tenant }
      ctx.signal { name = "t.go", instance = ctx.input.theirs }
    end)))
    local function of(tenant)
      local id = assert(engine:start("t.waiter", { order = "k" },
        { tenant = tenant }))
      assert(engine:run())
      return id
    end
    local a, b = of "a", of "b"
    assert(engine:start("t.sender", { theirs = b }, { tenant = "a" }))
    assert(engine:run())
    assert.equal("a", engine:get(a).output)
    assert.equal("waiting", engine:get(b).status)
  end)

  it("says what is wrong with it, where it is called", function()
    local engine = backend.fresh()
    local said = {}
    local function try(event)
      return function(ctx)
        local ok, err = pcall(ctx.signal, event)
        said[#said + 1] = not ok and err.code .. ": " .. err.message or "ok"
      end
    end
    local tries = { try "t.go", try {}, try { name = "a b" },
      try { name = "t.*" }, try { name = true },
      try { name = "t.go", kye = "x" },
      try { name = "t.go", key = {} }, try { name = "t.go", key = "" },
      try { name = "t.go", key = ("x"):rep(256) },
      try { name = "t.go", instance = "17" },
      try { name = "t.go", data = print }, try { "t.go" } }
    assert(engine:load(sender(function(ctx)
      for _, one in ipairs(tries) do one(ctx) end
    end)))
    assert.equal("completed", engine:get(send(engine)).status)
    assert.same({
      "misuse: ctx.signal: the event is a string, not a table",
      "misuse: ctx.signal: the event has no `name`",
      'value: "a b" cannot be an event\'s name',
      'value: "t.*" cannot be an event\'s name',
      "misuse: ctx.signal: option 'name' is a boolean, not text",
      "misuse: ctx.signal: there is no option `kye`",
      "misuse: ctx.signal: option 'key' is a table, not text",
      "value: ctx.signal: option 'key' must be text of 1 to 255 bytes",
      "value: ctx.signal: option 'key' must be text of 1 to 255 bytes",
      'value: ctx.signal: "17" is no instance\'s id',
      "value: a function cannot be stored",
      "misuse: ctx.signal: there is no option `[...]`",
    }, said)
  end)

  it("is for handlers that act, and not for limited workflows", function()
    local engine = backend.fresh()
    local flow = pawl.workflow { code = "t.pure" }
    local message
    flow:choice("c", { next = { a = "z", b = "z" }, choose = function(ctx)
      local _, err = pcall(ctx.signal, { name = "t.go" })
      message = err.code
      return "a"
    end })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:start "t.pure")
    assert(engine:run())
    assert.equal("misuse", message)
    local path = tmp.dir() .. "/limited.lua"
    local file <close> = assert(io.open(path, "w"))
    assert(file:write [[
      local flow = require "pawl".workflow { code = "t.limited" }
      flow:step("s", { run = function(ctx)
        ctx.signal { name = "t.go", key = "k" }
      end })
      return flow]])
    file:flush()
    assert(engine:load(path, { trust = "limited" }))
    local id = assert(engine:start "t.limited")
    assert(engine:run())
    assert.matches("ctx.signal is not granted",
      engine:get(id).error.message)
  end)
end)
