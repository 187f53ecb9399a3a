--- engine:ask and ctx.answer, ctx.publish and engine:published: what a workflow
--- tells whoever asks.
local command = require "spec.support.command"
local conform = require "spec.support.conform"
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local process = require "spec.support.process"
local tmp = require "spec.support.tmp"

-- A cart: `add` is answered as it is taken, `pay` by the step behind it.
local CART <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.cart", version = 1, start = "begin" }
flow:step("begin", { next = "open", run = function(ctx)
  ctx.vars.sum = 0
  ctx.publish("sum", 0)
end })
flow:wait("open", { event = "cart.*", into = "item", next = "take",
  answer = function(event, ctx)
    if event.name == "cart.add" then
      if not (event.data or {}).price then
        error { code = "no_price", message = "what is it?" }
      end
      return { sum = ctx.vars.sum + event.data.price }
    end
  end })
flow:choice("take", { next = { add = "add", pay = "pay" },
  choose = function(ctx)
    return ctx.event.name == "cart.add" and "add" or "pay"
  end })
flow:step("add", { next = "open", run = function(ctx)
  ctx.vars.sum = ctx.vars.sum + ctx.vars.item.price
  ctx.publish("sum", ctx.vars.sum)
  ctx.publish("last", ctx.vars.item)
end })
flow:step("pay", { next = "z", run = function(ctx)
  ctx.answer("said once, by the wait")
  ctx.publish("paid", ctx.vars.sum)
end })
flow:finish("z", { output = function(ctx) return ctx.vars.sum end })
return flow]]

-- Answered by the step behind the wait.
local DESK <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.desk", version = 1, start = "open" }
flow:wait("open", { event = "desk.ask", timeout = "30d",
  next = { received = "think", timeout = "z" } })
flow:step("think", { next = "open",
  retry = { max = 3, base = 1, jitter = 0 },
  run = function(ctx)
    if ctx.attempt < 3 and ctx.event.data == "hard" then error "no idea" end
    ctx.answer { of = ctx.event.data, attempt = ctx.attempt }
  end })
flow:finish "z"
return flow]]

-- Answered by a second attempt, so many seconds behind the first.
local SLOW <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.slow", start = "open" }
flow:wait("open", { event = "slow.ask", next = "think" })
flow:step("think", { next = "rest", retry = { max = 2, base = %g, jitter = 0 },
  run = function(ctx)
    if ctx.attempt == 1 then error "not yet" end
    ctx.answer "slow"
  end })
flow:timer("rest", { after = "1h" })
return flow]]

kit.describe("a workflow that answers", function(backend)
  after_each(process.stop_all)

  --- An engine, and an instance that waits.
  local function begun(source, code)
    local engine, clock, url = backend.fresh()
    assert(engine:load(tmp.file("flow.lua", source)))
    local id = assert(engine:start(code))
    assert(engine:run())
    return engine, id, clock, url
  end

  --- Asks without waiting, runs, and asks again.
  local function ask(engine, id, name, data, event)
    kit.refused("timeout", "has not answered in time", event,
      engine:ask(id, name, data, { event = event, timeout = 0 }))
    assert(engine:run())
    return engine:ask(id, name, data, { event = event, timeout = 0 })
  end

  it("tells what its `answer` gives, once for each event", function()
    local engine, id, _, url = begun(CART, "t.cart")
    assert.same({ sum = 30 },
      (assert(ask(engine, id, "cart.add", { price = 30 }, "e1"))))
    assert.same({ sum = 35 },
      (assert(ask(engine, id, "cart.add", { price = 5 }, "e2"))))
    -- the same again, with other data: it is known
    assert.same({ sum = 30 }, (assert(engine:ask(id, "cart.add",
      { price = 99 }, { event = "e1", timeout = 0 }))))
    assert(engine:run())
    assert.equal(35, engine:get(id).variables.sum)
    assert.equal(2, kit.count(backend, url, "published", "answers"))
  end)

  it("refuses by an error, and waits on", function()
    local engine, id = begun(CART, "t.cart")
    local answer, err = ask(engine, id, "cart.add", { name = "?" }, "e1")
    assert.is_nil(answer)
    assert.equal("no_price", err.code)
    assert.matches("what is it", err.message)
    assert.same({ id, "e1" }, { err.instance, err.event })
    assert.equal("open", engine:get(id).node)
    local row = kit.last(engine, id)
    assert.equal("refused", row.type)
    assert.equal("no_price", row.error.code)
    assert.same({ sum = 7 },
      (assert(ask(engine, id, "cart.add", { price = 7 }, "e2"))))
  end)

  it("tells once, by whoever answers first", function()
    local engine, id = begun(CART, "t.cart")
    assert.equal(pawl.null, (assert(ask(engine, id, "cart.pay", nil, "e"))))
    assert.completed(engine, id)
    assert.equal(0, (assert(engine:result(id))))
    -- it is over, and its answers are known
    assert.equal(pawl.null, (assert(engine:ask(id, "cart.pay", nil,
      { event = "e" }))))
    kit.refused("already_finished", "ended", nil,
      engine:ask(id, "cart.pay", nil, { event = "other" }))
  end)

  it("answers by the step behind the wait, when that is stored", function()
    local engine, id, clock = begun(DESK, "t.desk")
    assert.same({ of = "easy", attempt = 1 },
      (assert(ask(engine, id, "desk.ask", "easy", "e1"))))
    kit.refused("timeout", "", nil,
      ask(engine, id, "desk.ask", "hard", "e2"))
    for _ = 1, 2 do
      clock:advance(10)
      assert(engine:run())
    end
    assert.same({ of = "hard", attempt = 3 }, (assert(engine:ask(id,
      "desk.ask", "hard", { event = "e2", timeout = 0 }))))
  end)

  it("is told by the wait that takes it, where another refuses", function()
    local engine, id = begun([[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.two", start = "f" }
      flow:fork("f", { next = { "a", "b" } })
      flow:wait("a", { event = "go", next = "j", timeout = "1d",
        answer = function(event)
          if event.data == 1 then error { code = "mine" } end
          return "a"
        end })
      flow:wait("b", { event = "go", next = "j", timeout = "1d",
        answer = function(event)
          if event.data ~= 1 then error { code = "other" } end
          return "b"
        end })
      flow:join("j", { next = "z" })
      flow:finish "z"
      return flow]], "t.two")
    assert.equal("b", (assert(ask(engine, id, "go", 1, "e1"))))
    local none, err = ask(engine, id, "go", 1, "e2")
    assert.is_nil(none)
    assert.equal("mine", err.code)
    assert.equal("a", (assert(ask(engine, id, "go", 2, "e3"))))
    assert.completed(engine, id)
    assert(engine:archive(id))
    assert.equal("b", (assert(engine:ask(id, "go", 1, { event = "e1" }))))
  end)

  it("does not answer what has a source, which nobody asked", function()
    local engine, id, _, url = begun(CART, "t.cart")
    assert(engine:signal { name = "cart.add", instance = id, id = "17",
      source = "shop", data = { price = 3 } })
    assert(engine:run())
    assert.equal(0, kit.count(backend, url, "published", "answers"))
    assert.same({ sum = 8 },
      (assert(ask(engine, id, "cart.add", { price = 5 }, "17"))))
  end)

  it("keeps an event for later that it could not look at", function()
    local engine, id, clock = begun(CART, "t.cart")
    kit.refused("timeout", "", nil, engine:ask(id, "cart.add", { price = 5 },
      { event = "e", timeout = 0 }))
    engine:interrupt()
    engine:tick(1)
    clock:advance(60)
    assert(engine:run())
    assert.same({ sum = 5 }, (assert(engine:ask(id, "cart.add", nil,
      { event = "e", timeout = 0 }))))
  end)

  it("says that nobody answered, when it has ended", function()
    local engine, id = begun([[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.mute", start = "w" }
      flow:wait("w", { event = "go" })
      flow:finish "z"
      return flow]], "t.mute")
    kit.refused("already_finished", "without an answer", "pawl show",
      ask(engine, id, "go", nil, "e"))
  end)

  it("says how it ended, when it failed before it answered", function()
    local engine, id = begun([[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.mute", start = "w" }
      flow:wait("w", { event = "go" })
      flow:step("sell", { retry = false, run = function(ctx)
        error { code = "sold_out", message = "none is left" }
      end })
      return flow]], "t.mute")
    kit.refused("already_finished", "sold_out: none is left", "pawl show",
      ask(engine, id, "go", nil, "e"))
  end)

  it("refuses behind the wait, and goes on", function()
    for _, level in ipairs { "trusted", "limited", "isolated" } do
      local engine = backend.fresh()
      assert(engine:load(tmp.file("shop.lua", [[
        local pawl = require "pawl"
        local flow = pawl.workflow { code = "t.shop", endless = true }
        flow:wait("w", { event = "go", next = "sell" })
        flow:step("sell", { next = "w", retry = false, run = function(ctx)
          if ctx.event.data == "odd" then
            local ok, err = pcall(ctx.answer, nil, { code = 7 })
            ctx.answer(nil, tostring(err.message or err))
          else
            ctx.answer(nil, ctx.event.data)
          end
        end })
        return flow]]), { trust = level }))
      local id = assert(engine:start "t.shop")
      assert(engine:run())
      kit.refused("sold_out", "none is left", nil,
        ask(engine, id, "go", { code = "sold_out", message = "none is left" },
          "a"))
      kit.refused("refused", "no money", nil,
        ask(engine, id, "go", "no money", "b"))
      kit.refused("refused", "the error's code is a number", nil,
        ask(engine, id, "go", "odd", "c"))
      assert.equal("waiting", kit.status(engine, id), level)
    end
  end)

  it("is asked from another process than that which runs it", function()
    if backend.label == "toy" then return end -- another has no such driver
    if backend.label == ":memory:" then conform.second() end
    local url = select(3, backend.fresh())
    local file = tmp.file("desk.lua", DESK)
    local own = assert(pawl.open(url))
    assert(own:load(file))
    local id = assert(own:start "t.desk")
    process.start { command.path, "worker", file, "--store", url }
    for i = 1, 3 do
      assert.same({ of = i, attempt = 1 },
        (assert(own:ask(id, "desk.ask", i, { timeout = 60, by = "ann" }))))
    end
    own:close()
  end)

  it("comes from another process, that tells it in the commit", function()
    if backend.label == "toy" then return end -- another has no such driver
    if backend.label == ":memory:" then conform.second() end
    local url = select(3, backend.fresh())
    -- Looked for after 0.01, 0.05, 0.2, 0.9, 3.4 and 13.6 seconds: what is
    -- answered after some 4 is known before the last of these by being told.
    local file = tmp.file("slow.lua", SLOW:format(
      backend.name == "postgres" and 4 or 0.5))
    local own = assert(pawl.open(url))
    assert(own:load(file))
    local id = assert(own:start "t.slow")
    process.start { command.path, "worker", file, "--store", url }
    assert.equal("slow", (assert(own:ask(id, "slow.ask", nil,
      { timeout = 60 }))))
    local row = assert(own:history(id, { type = "step" }))[1]
    kit.told_at_once(backend, url, own, row.completed)
    own:close()
  end)

  it("shows what it publishes, the last of each name", function()
    local engine, id, _, url = begun(CART, "t.cart")
    assert.same({ sum = 0 }, (assert(engine:published(id))))
    ask(engine, id, "cart.add", { price = 30 }, "e1")
    assert.same({ sum = 30, last = { price = 30 } },
      (assert(engine:published(id))))
    assert.equal(30, (engine:published(id, "sum")))
    assert.is_nil((engine:published(id, "nothing")))
    ask(engine, id, "cart.pay", nil, "e2")
    assert(engine:archive(id))
    assert.equal(30, (engine:published(id, "paid")))
    assert.equal(0, kit.count(backend, url, "published"))
    assert(engine:unarchive(id))
    assert.equal(30, (engine:published(id, "paid")))
    assert(engine:purge(id))
    assert.equal(0, kit.count(backend, url, "published"))
    kit.refused("notfound", "", nil, engine:published(id))
  end)

  it("shows nothing of an attempt that failed", function()
    local engine, id = begun([[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.twice", start = "a" }
      flow:step("a", { retry = { max = 2, base = 0, jitter = 0 },
        run = function(ctx)
          ctx.publish("try", ctx.attempt)
          if ctx.attempt == 1 then ctx.publish("first", true) error "no" end
          ctx.publish("try", "last")
        end })
      return flow]], "t.twice")
    assert(engine:run { id = id, wait = true })
    assert.same({ try = "last" }, (assert(engine:published(id))))
  end)

  it("carries what it shows and has answered to another store", function()
    local engine, id = begun(CART, "t.cart")
    ask(engine, id, "cart.add", { price = 30 }, "e1")
    local lines = assert(engine:export(id, { move = true }))
    local other = backend.fresh()
    assert(other:import(lines))
    assert.equal(30, (other:published(id, "sum")))
    assert.same({ sum = 30 }, (assert(other:ask(id, "cart.add", nil,
      { event = "e1", timeout = 0 }))))
  end)

  it("says what is wrong with what it tells", function()
    local engine, id = begun([[
      local pawl = require "pawl"
      local flow = pawl.workflow { code = "t.wrong", start = "a" }
      flow:step("a", { run = function(ctx)
        local said = {}
        for i, call in ipairs {
          function() ctx.answer(1) end,
          function() ctx.publish() end,
          function() ctx.publish("", 1) end,
          function() ctx.publish(("x"):rep(256), 1) end,
          function() ctx.publish("f", print) end,
        } do
          local ok, err = pcall(call)
          said[i] = ok and "nothing" or err.code .. ": " .. err.message
        end
        ctx.vars.said = said
      end })
      return flow]], "t.wrong")
    local said = engine:get(id).variables.said
    for i, words in ipairs { "misuse: .*no event has led here",
      "misuse: .*name is a nil", "value: .*1 to 255", "value: .*1 to 255",
      "value: .*function" } do
      assert.matches(words, said[i])
    end
    assert.same({}, (assert(engine:published(id))))
    assert.has_error(function() engine:ask(id, "x", 1, { time = 1 }) end)
    kit.refused("invalid", "cannot be an event's name", nil,
      engine:ask(id, "not a name"))
  end)
end)
