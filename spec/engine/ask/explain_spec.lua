-- engine:explain: why an instance stands where it does, and what would move it.
local core = require "pawl.core"
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local function nothing() end

--- The explanation of an instance with one token, and that token.
local function explain(engine, id)
  local why = assert(engine:explain(id))
  return why, why.tokens[1]
end

local function said(why) return table.concat(why.sentences, "\n") end

local function flow_of(code, start)
  return pawl.workflow { code = code, start = start }
end

kit.describe("explaining", function(backend)
  it("says until when a timer waits, and where it goes", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local why, token = explain(engine, id)
    assert.equal("waiting", why.status)
    assert.equal("timer", token.kind)
    assert.same({ what = "time", at = "2026-01-01T01:00:00.000000Z" },
      token.waiting_for)
    assert.same({ { what = "time", at = token.waiting_for.at, to = "z" } },
      token.would_move)
    assert.same({ { kind = "worker" } }, token.may)
    assert.equal(token.waiting_for.at, why.next_look)
    assert.equal("2026-01-01T00:00:00.000000Z", token.since)
    assert.same({}, why.blocked)
    clock:advance "20m"
    assert.matches('It stands at timer "t" since 2026-01-01 00:00:00 '
      .. '(20 min ago): it waits until 2026-01-01 01:00:00 (in 40 min) and '
      .. 'goes to "z".', said(explain(engine, id)), 1, true)
  end)

  it("says how much has come in besides what it lists", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    for i = 1, 103 do
      assert(engine:signal { name = "n" .. i, instance = id })
    end
    local why = explain(engine, id)
    assert.equal(100, #why.inbox)
    assert.equal(103, why.inbox_total)
    assert.matches('event "n100", and 3 more.', said(why), 1, true)
  end)

  it("says how an attempt failed and when the next one is", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one(function()
      error { code = "no_luck", message = "not today" }
    end, { retry = { max = 3, base = 60, jitter = 0 } })))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    local why, token = explain(engine, id)
    local waiting = token.waiting_for
    assert.equal("retry", waiting.what)
    assert.equal(1, waiting.failed)
    assert.equal(3, waiting.attempts)
    assert.equal("no_luck", waiting.error.code)
    assert.equal("2026-01-01T00:01:00.000000Z", waiting.at)
    assert.equal(waiting.at, why.next_look)
    assert.matches("attempt 1 of 3 failed with no_luck: .*not today; it is "
      .. "tried again at 2026%-01%-01 00:01:00", said(why))
  end)

  it("shows what a failed attempt had told, until the visit ends", function()
    local engine, clock = backend.fresh()
    local flow = flow_of("t.told", "s")
    flow:step("s", { retry = { max = 2, base = 60, jitter = 0 },
      run = function(ctx)
        ctx.heartbeat { done = 7 }
        if ctx.attempt == 1 then error "not today" end
      end })
    flow:wait("w", { event = "go" })
    assert(engine:load(flow))
    local id = assert(engine:start "t.told")
    assert(engine:run())
    local why = explain(engine, id)
    assert.same({ done = 7 }, why.progress)
    assert.matches('It had told: {"done":7}; the next one is given that.',
      said(why), 1, true)
    clock:advance(60)
    assert(engine:run())
    why = explain(engine, id)
    assert.is_nil(why.progress)
    assert.not_matches("had told", said(why))
  end)

  it("advises `pawl complete` where a callback's token is the key", function()
    local engine = backend.fresh()
    local flow = flow_of("t.back", "s")
    flow:step("s", { run = function(ctx)
      ctx.vars.token = ctx.callback "job.done"
    end })
    flow:wait("w", { event = "job.done", key = "token" })
    assert(engine:load(flow))
    local id = assert(engine:start "t.back")
    assert(engine:run())
    local token = assert(engine:get(id)).variables.token
    assert.matches(("`pawl complete %s` moves it"):format(token),
      said((explain(engine, id))), 1, true)
    assert(engine:complete(token, 1))
    assert(engine:run())
    assert.completed(engine, id)
  end)

  it("says which event a wait wants, and what it turned down", function()
    local engine, clock = backend.fresh()
    local flow = flow_of("t.wait", "w")
    flow:wait("w", { event = "payment.*", key = "order", timeout = "1h",
      match = function(event) return event.data.ok end,
      next = { received = "z", timeout = "late" } })
    flow:finish "z"
    flow:finish "late"
    assert(engine:load(flow))
    local id = assert(engine:start("t.wait", { order = 17 }))
    assert(engine:run())
    assert(engine:signal { name = "payment.card", key = "17",
      data = { ok = false } })
    assert(engine:run())
    local why, token = explain(engine, id)
    assert.same({ what = "event", event = "payment.*", key = "17",
      match = true, turned_down = 1,
      ["until"] = "2026-01-01T01:00:00.000000Z" }, token.waiting_for)
    assert.same({ what = "event", event = "payment.*", key = "17", to = "z" },
      token.would_move[1])
    assert.equal("timeout", token.would_move[2].what)
    assert.equal("late", token.would_move[2].to)
    assert.same({ { kind = "sender" } }, token.may)
    assert.matches("`pawl signal payment.NAME --key 17` moves it to \"z\"",
      said(why), 1, true)
    assert.matches("One event was turned down", said(why))
    clock:advance "1h"
    assert(engine:run())
    assert.same({}, explain(engine, id).tokens)
  end)

  it("counts no request that was refused among the events", function()
    local engine, rival, id
    local flow = flow_of("t.wait", "w")
    flow:wait("w", { event = "paid", key = "order",
      match = function()
        for _ = 1, 2 do assert(rival:suspend(id)) end
        return false
      end })
    engine, rival = kit.pair(backend, { flow })
    id = assert(engine:start("t.wait", { order = 17 }))
    assert(engine:run())
    assert(engine:signal { name = "paid", key = "17" })
    assert(engine:run())
    assert.equal("refused", kit.last(engine, id).type)
    local _, token = explain(engine, id)
    assert.same({ 1, nil, nil }, { token.waiting_for.turned_down,
      token.waiting_for.refused, token.waiting_for.error })
  end)

  it("tells what `accepts` and `answer` refused from what `match` did",
    function()
      local engine = backend.fresh()
      local flow = flow_of("t.wait", "w")
      flow:wait("w", { event = "paid", next = "z", accepts = "number",
        answer = function() error { code = "poor", message = "too little" } end,
        on_event = { event = "void", accepts = "string", next = "z" } })
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.wait")
      local sent = { { "paid", "ten" }, { "paid", 1 }, { "void", 2 } }
      for _, one in ipairs(sent) do
        assert(engine:signal { name = one[1], instance = id, data = one[2] })
        assert(engine:run())
      end
      local why, token = explain(engine, id)
      assert.same({ 2, nil }, { token.waiting_for.refused,
        token.waiting_for.match_failed })
      assert.matches('to "z". It accepts number. It has refused 2 events, '
        .. "with poor: too little.", said(why), 1, true)
      assert.matches("It has refused 1 event, with value: data: expected "
        .. "string, found 2.", said(why), 1, true)
      assert(engine:signal { name = "void", instance = id, data = "x" })
      assert(engine:run())
      assert.completed(engine, id)
    end)

  it("tells a `match` that failed from one that declined", function()
    local engine = backend.fresh()
    local flow = flow_of("t.wait", "w")
    flow:wait("w", { event = "paid", next = "z",
      match = function(event)
        if event.data == 1 then error "cannot tell" end
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.wait")
    assert(engine:run())
    for n = 1, 3 do
      assert(engine:signal { name = "paid", instance = id, data = n })
    end
    assert(engine:run())
    local why, token = explain(engine, id)
    assert.equal(3, token.waiting_for.turned_down)
    assert.equal(1, token.waiting_for.match_failed)
    assert.matches("cannot tell", token.waiting_for.error.message)
    assert.matches("2 events were turned down by its `match`. Its `match` "
      .. "failed for 1 event, with cannot tell.", said(why), 1, true)
    assert.matches("is kept for a wait that takes it: event \"paid\"",
      said(why))
    assert.is_nil(said(why):find("still to be looked at", 1, true))
  end)

  it("says that an event goes to one of those that wait, while they do",
    function()
      local engine, clock = backend.fresh()
      local flow = flow_of("t.wait", "w")
      flow:wait("w", { event = "job", key = "order", take = "one",
        timeout = "1h", next = { received = "z", timeout = "late" } })
      flow:finish "z"
      flow:finish "late"
      assert(engine:load(flow))
      local ids = {}
      for i = 1, 2 do
        ids[i] = assert(engine:start("t.wait", { order = "A 7" }))
        assert(engine:run())
        clock:advance(1)
      end
      for _, id in ipairs(ids) do
        local why, token = explain(engine, id)
        assert.same({ "event", "job", "A 7", "one", 0 }, {
          token.waiting_for.what, token.waiting_for.event,
          token.waiting_for.key, token.waiting_for.take,
          token.waiting_for.turned_down })
        assert.same({ { kind = "sender" } }, token.may)
        assert.matches("`pawl signal job --key 'A 7'` moves it to \"z\". One "
          .. "of those that wait takes it. At 2026-01-01 01:00:0", said(why),
          1, true)
      end
      assert(engine:signal { name = "job", key = "A 7" })
      local first, second = explain(engine, ids[1]), explain(engine, ids[2])
      local sentence = '"job" was assigned to another: if that does not take '
        .. "it, it goes to more within seconds."
      assert.is_nil(first.tokens[1].waiting_for.assigned)
      assert.equal("job", second.tokens[1].waiting_for.assigned)
      assert.matches(sentence, said(second), 1, true)
      assert(engine:run())
      local left = {}
      for _, id in ipairs(ids) do
        local why, token = explain(engine, id)
        left[#left + 1] = token and token.waiting_for.take
        if token then
          assert.equal(0, token.waiting_for.turned_down)
          assert.is_nil(token.waiting_for.assigned)
          assert.is_nil(said(why):find("Has come in", 1, true))
        end
      end
      assert.same({ "one" }, left)
    end)

  it("says what moves the time of a timer, and what could not", function()
    local engine, clock = backend.fresh()
    local flow = flow_of("t.moved", "t")
    flow:timer("t", { next = "z",
      after = function(ctx) return ctx.vars.grace or "2h" end,
      reschedule = { event = "later.*", key = "order", into = "grace" } })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start("t.moved", { order = 7 }))
    assert(engine:run())
    local why, token = explain(engine, id)
    assert.same({ what = "time", at = "2026-01-01T02:00:00.000000Z",
      event = "later.*", key = "7" }, token.waiting_for)
    assert.matches('(in 2 h) and goes to "z". `pawl signal later.NAME --key 7` '
      .. "has its time worked out anew.", said(why), 1, true)
    clock:advance "1h"
    for _, data in ipairs { "soon", "3h" } do
      assert(engine:signal { name = "later.on", key = "7", data = data })
      assert(engine:run())
    end
    why, token = explain(engine, id)
    assert.same({ "2026-01-01T04:00:00.000000Z", 1, "value" }, {
      token.waiting_for.at, token.waiting_for.refused,
      token.waiting_for.error.code })
    assert.equal(token.waiting_for.at, why.next_look)
    assert.matches("worked out anew. It has refused 1 such event, with value: "
      .. "`after` returned no duration: 'soon' is not a duration.", said(why),
      1, true)
  end)

  it("tells events that move a wait's time from its own", function()
    local engine = backend.fresh()
    local flow = flow_of("t.moved", "w")
    flow:wait("w", { event = "paid", next = "z", reschedule = "later",
      match = function(event) return event.data > 9 end,
      timeout = function(ctx)
        return ctx.event and ctx.event.data
      end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.moved")
    assert(engine:run())
    assert.matches("It gives up at no time; `pawl signal later --instance "
      .. id .. "` has that worked out anew.", said(explain(engine, id)), 1,
      true)
    local sent = { { "paid", 1 }, { "later", "soon" }, { "later", -1 },
      { "paid", 2 } }
    for _, one in ipairs(sent) do
      assert(engine:signal { name = one[1], instance = id, data = one[2] })
      assert(engine:run())
    end
    local why, token = explain(engine, id)
    local waiting = token.waiting_for
    assert.same({ 2, nil }, { waiting.turned_down, waiting.refused })
    assert.same({ "later", 2, "value" }, { waiting.moved_by.event,
      waiting.moved_by.refused, waiting.moved_by.error.code })
    assert.matches("2 events were turned down by its `match`. It gives up at "
      .. "no time;", said(why), 1, true)
    assert.matches("anew. It has refused 2 such events, with value: `timeout` "
      .. "returned no duration: -1 is negative.", said(why), 1, true)
    assert(engine:signal { name = "later", instance = id, data = "1h" })
    assert(engine:run())
    why, token = explain(engine, id)
    assert.equal("2026-01-01T01:00:00.000000Z", token.waiting_for["until"])
    assert.matches('it gives up and fails with "timeout". `pawl signal later ',
      said(why), 1, true)
  end)

  it("says what has a task's due time worked out anew", function()
    local engine = backend.fresh()
    local flow = flow_of("t.moved", "k")
    flow:task("k", { title = "Do it", next = "z", reschedule = "later",
      due = function(ctx) return ctx.event and ctx.event.data or "2h" end })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.moved")
    assert(engine:run())
    local anew = "`pawl signal later --instance " .. id
      .. "` has that worked out anew."
    assert.matches("(in 2 h). " .. anew, said(explain(engine, id)), 1, true)
    for _, data in ipairs { "3h", "soon" } do
      assert(engine:signal { name = "later", instance = id, data = data })
      assert(engine:run())
    end
    assert.matches("(in 3 h). " .. anew .. " It has refused 1 such event, with "
      .. "value: `due` returned no duration", said(explain(engine, id)), 1,
      true)
  end)

  it("prints the command that the task's people may use", function()
    for options, words in pairs {
      [{ roles = { "a boss" } }] = "--by NAME --role 'a boss'",
      [{ groups = "crew" }] = "--by NAME --group crew",
      [{ assignee = "ann", roles = "boss" }] = "--by ann",
      [{}] = "--by NAME",
    } do
      local engine = backend.fresh()
      local flow = flow_of("t.task", "ask")
      options.title, options.next = "Say yes", { no = "z", yes = "z" }
      flow:task("ask", options)
      flow:finish "z"
      assert(engine:load(flow))
      local id = assert(engine:start "t.task")
      assert(engine:run())
      local why, token = explain(engine, id)
      assert.matches(("`pawl task complete %s %s --take no` moves it (or "
        .. "`--take yes`)."):format(token.waiting_for.task, words),
        said(why), 1, true)
    end
  end)

  it("says what may be done about one that failed", function()
    local engine = backend.fresh()
    local flow = flow_of("t.fails", "a")
    flow:step("a", { run = function() error "no" end, retry = { max = 1 },
      next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.fails")
    assert(engine:run())
    assert.matches(("`pawl retry %s` lets it try again where it failed, "
      .. "`pawl restart %s --from NODE` from another node."):format(id, id),
      said(explain(engine, id)), 1, true)
  end)

  it("does not say that one can be retried that stood nowhere", function()
    local engine = backend.fresh()
    local ended = flow_of("t.ended", "a")
    ended:finish("a", { status = "failed" })
    local undone = flow_of("t.undone", "a")
    undone:step("a", { run = function() end, undo = function() end,
      next = "b" })
    undone:step("b", { run = function() error "no" end, retry = false,
      next = "z" })
    undone:finish "z"
    for code, flow in pairs { ["t.ended"] = ended, ["t.undone"] = undone } do
      assert(engine:load(flow))
      local id = assert(engine:start(code))
      assert(engine:run())
      assert.failed(engine, id)
      local text = said(explain(engine, id))
      assert.not_matches("pawl retry", text, 1, true)
      assert.matches(("`pawl restart %s --from NODE` lets it go on.")
        :format(id), text, 1, true)
      assert.equal("conflict", select(2, engine:retry(id)).code)
    end
  end)

  it("says how to resume a workflow, and misses no worker then", function()
    for name, code in pairs { workflow = "t.one", prefix = "t." } do
      local option = name == "prefix" and "--prefix " or ""
      local engine = backend.fresh()
      assert(engine:load(kit.one()))
      local id = assert(engine:start "t.one")
      assert(engine.workflows:suspend { [name] = code })
      local why = explain(engine, id)
      assert.matches(("`pawl workflow resume %s%s` lets"):format(option, code),
        said(why), 1, true)
      assert.is_nil(said(why):find("no worker of", 1, true))
    end
  end)

  it("says who may do a task", function()
    local engine, clock = backend.fresh()
    local flow = flow_of("t.task", "ask")
    flow:task("ask", { title = "Say yes", roles = "manager", users = "ann",
      due = "1h", timeout = "1d",
      next = { yes = "z", no = "z", timeout = "late" } })
    flow:finish "z"
    flow:finish "late"
    assert(engine:load(flow))
    local id = assert(engine:start "t.task")
    assert(engine:run())
    local why, token = explain(engine, id)
    local waiting = token.waiting_for
    assert.equal("person", waiting.what)
    assert.equal("Say yes", waiting.title)
    assert.equal("pending", waiting.status)
    assert.is_false(waiting.overdue)
    assert.same({ { kind = "role", id = "manager" },
      { kind = "user", id = "ann" } }, token.may)
    assert.same({ "no", "yes" }, token.would_move[1].outcomes)
    assert.same({ what = "timeout", at = "2026-01-02T00:00:00.000000Z",
      to = "late" }, token.would_move[2])
    assert.equal("2026-01-01T01:00:00.000000Z", why.next_look)
    assert.matches('role "manager" or user "ann" to do the task "Say yes"',
      said(why), 1, true)
    assert(engine.tasks:claim(waiting.task, { by = "ann" }))
    clock:advance "2h"
    assert(engine:run())
    why, token = explain(engine, id)
    assert.same({ { kind = "user", id = "ann" } }, token.may)
    assert.is_true(token.waiting_for.overdue)
    assert.matches('it waits for "ann", who has claimed the task', said(why),
      1, true)
  end)

  it("says which siblings a join waits for", function()
    local engine = backend.fresh()
    local flow = flow_of("t.fork", "f")
    flow:fork("f", { next = { one = "a", two = "t", three = "gone" } })
    flow:step("a", { run = nothing, next = "j" })
    flow:timer("t", { after = "1h", next = "j" })
    flow:timer("gone", { after = "2h", next = "z" })
    flow:join("j", { next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.fork")
    assert(engine:run())
    local why = assert(engine:explain(id))
    assert.equal(3, #why.tokens)
    local joined
    for _, token in ipairs(why.tokens) do
      if token.kind == "join" then joined = token end
    end
    assert.equal("one", joined.branch)
    local waiting = joined.waiting_for
    assert.equal("siblings", waiting.what)
    assert.equal(0, waiting.expect)
    assert.equal(1, waiting.arrived)
    assert.equal(1, waiting.missing) -- the third branch cannot come here
    assert.equal("t", waiting.siblings[1].node)
    assert.equal("two", waiting.siblings[1].branch)
    assert.same({ { what = "siblings", to = "z" } }, joined.would_move)
    assert.matches('1 is here, missing is token %d+ at "t" %(branch "two"%)',
      said(why))
  end)

  it("counts the items of an each", function()
    local engine = backend.fresh()
    local flow = flow_of("t.each", "all")
    flow:each("all", { items = function() return { 1, 2, 3, 4, 5 } end,
      branch = "t", window = 2, next = "z" })
    flow:timer("t", { after = "1h", next = "all" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.each")
    assert(engine:run())
    local why = assert(engine:explain(id))
    assert.equal(3, #why.tokens)
    assert.equal("items", why.tokens[1].waiting_for.what)
    local waiting = why.tokens[1].waiting_for
    assert.equal(5, waiting.total)
    assert.equal(0, waiting.done)
    assert.equal(2, waiting.under_way)
    assert.equal(2, waiting.window)
    assert.equal("t", waiting.branch)
    assert.matches("0 of 5 are done, 2 under way %(2 at most%)",
      said(why))
  end)

  it("names the child of a call and its status", function()
    local engine = backend.fresh()
    local flow = flow_of("t.call", "c")
    flow:call("c", { workflow = "t.timer", next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.call")
    assert(engine:run())
    local why, token = explain(engine, id)
    local child = assert(engine:children(id))[1]
    assert.equal("child", token.waiting_for.what)
    assert.equal(child.id, token.waiting_for.child)
    assert.equal("t.timer", token.waiting_for.workflow)
    assert.equal("waiting", token.waiting_for.status)
    assert.equal(child.id, why.children[1].id)
    assert.equal("c", why.children[1].node)
    assert.equal(0, why.undelivered)
    assert.matches("`pawl explain " .. child.id .. "` tells more", said(why),
      1, true)
    assert.equal(id, explain(engine, child.id).parent)
    assert.matches("It was started by " .. id .. ', at "c".',
      said(explain(engine, child.id)), 1, true)
  end)

  it("says who suspended an instance, and why", function()
    local engine, clock = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine:suspend(id, { by = "ann", reason = "wait for legal" }))
    clock:advance "10m"
    local why, token = explain(engine, id)
    assert.equal("ann", why.suspended.by)
    assert.equal("wait for legal", why.suspended.reason)
    assert.equal("2026-01-01T00:00:00.000000Z", why.suspended.since)
    assert.equal(600.0, why.suspended.shift)
    assert.same({ "suspended" }, why.blocked)
    assert.same({ what = "resume" }, token.would_move[1])
    assert.same({ { kind = "operator" } }, token.may)
    assert.matches("Nothing moves: it is suspended since 2026-01-01 "
      .. "00:00:00 (10 min ago) by ann: wait for legal.", said(why), 1, true)
  end)

  it("names the people of a task that is suspended", function()
    local flow = pawl.workflow { code = "t.people", start = "k" }
    flow:task("k", { title = "look", assignee = "ann", roles = { "clerk" },
      next = "z" })
    flow:finish "z"
    local engine = backend.fresh()
    assert(engine:load(flow))
    local id = assert(engine:start "t.people")
    assert(engine:run())
    assert(engine:suspend(id))
    local why, token = explain(engine, id)
    assert.same({ { kind = "operator" }, { kind = "user", id = "ann" },
      { kind = "role", id = "clerk" } }, token.may)
    assert.matches('waits for user "ann" or role "clerk" to do the task',
      said(why), 1, true)
    assert.matches("First an operator has to resume the instance.",
      said(why), 1, true)
    assert.not_matches("operator \"", said(why), 1, true)
  end)

  it("says that the workflow as a whole is suspended", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    assert(engine.workflows:suspend { prefix = "t.", by = "ann",
      reason = "move" })
    local why = explain(engine, id)
    assert.same({ "workflow_suspended" }, why.blocked)
    assert.same({ code = "t.", prefix = true, by = "ann", reason = "move",
      since = "2026-01-01T00:00:00.000000Z" }, why.workflow_suspended)
    assert.matches('all workflows that begin with "t." are suspended',
      said(why), 1, true)
  end)

  it("says that nobody runs it", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    local why = explain(engine, id)
    assert.equal("created", why.status)
    assert.same({ "no_worker" }, why.blocked)
    assert.equal(0, why.workers)
    assert.matches('no worker of the group "default" is running', said(why))
    why = explain(engine, (assert(engine:start "t.nobody")))
    assert.same({ "unknown_workflow", "no_worker" }, why.blocked)
    assert.matches("no worker has ever loaded t.nobody", said(why))
  end)

  it("says that workers live and none takes it", function()
    local engine, clock = backend.fresh { prefixes = "other." }
    assert(engine:load(kit.one()))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    assert.same({}, explain(engine, id).blocked)
    clock:advance(15)
    assert(engine:tick())
    local why = explain(engine, id)
    assert.same({ "not_taken" }, why.blocked)
    assert.equal(1, why.workers)
    assert.matches("none of the 1 running worker of the group", said(why))
  end)

  it("says how long a first handler has run, where, and what it told",
    function()
      local why, quiet, listed, got, b
      local a, url, clock
      a, clock, url = backend.fresh()
      b = kit.rival(backend, url, clock)
      assert(a:load(kit.one(function(ctx)
        clock:advance(3)
        quiet = assert(b:explain(ctx.id))
        ctx.heartbeat { done = 7 }
        why, got = assert(b:explain(ctx.id)), assert(b:get(ctx.id))
        listed = assert(b:list { status = "running" })
      end)))
      local id = assert(a:start "t.one")
      assert.equal("created", b:list {}[1].status)
      assert(a:run())
      assert.equal(1, #listed)
      assert.equal(id, listed[1].id)
      for _, told in ipairs { quiet, why, got, listed[1] } do
        assert.equal("running", told.status)
      end
      assert.equal(3e6, core.time_parse(why.now)
        - core.time_parse(why.lease.since))
      assert.same(why.lease, got.lease)
      assert.same({ done = 7 }, got.progress)
      assert.matches("t.one 1 is running; it was created .*, and taken up "
        .. ".* %(3 s ago%)%.", said(quiet))
      assert.matches("It runs, or waits in `ctx.await`, in the worker %d+ on "
        .. "%S+, which has had it for "
        .. "3 s, or is next there%.", said(quiet))
      assert.matches('which has had it for 3 s; it last told: {"done":7}%.',
        said(why))
      assert.is_nil(said(why):find("has not begun", 1, true))
      assert.completed(b, id)
      assert.is_nil(assert(b:get(id)).lease)
    end)

  it("says who holds it, and what has come in meanwhile", function()
    local why, b
    local a, url, clock
    a, clock, url = backend.fresh()
    b = kit.rival(backend, url, clock)
    assert(a:load(kit.one(function(ctx)
      assert(b:cancel(ctx.id, { reason = "enough", by = "ann" }))
      why = assert(b:explain(ctx.id))
    end)))
    assert(a:start "t.one")
    assert(a:run())
    assert.is_string(why.lease.executor)
    assert.equal("integer", math.type(why.lease.pid))
    assert.is_string(why.lease.host)
    assert.is_false(why.lease.lapsed)
    assert.equal("cancel", why.inbox[1].kind)
    assert.equal("ann", why.inbox[1].by)
    assert.matches("The worker %d+ on .+ holds it, until", said(why))
    assert.matches("Has come in and is still to be looked at: cancel by ann",
      said(why))
  end)

  it("says that undoing is about to begin", function()
    local engine = backend.fresh()
    local flow = flow_of("t.undo", "a")
    flow:step("a", { run = nothing, next = "b", undo = nothing })
    flow:step("b", { run = function()
      error { message = "no luck", retry = false }
    end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    local why
    repeat
      assert(engine:tick(0))
      why = explain(engine, id)
    until why.completed or why.compensation
    assert.equal("planning", why.compensation.status)
    assert.matches("It has failed with no luck; what it had done is about to "
      .. "be undone, newest first.", said(why), 1, true)
    assert.is_nil(said(why):find("was undone", 1, true))
    assert(engine:run())
    assert.matches("was undone: 1 step.", said(explain(engine, id)), 1, true)
  end)

  it("says what is being undone", function()
    local engine = backend.fresh()
    local flow = flow_of("t.undo", "a")
    flow:step("a", { run = nothing, next = "b",
      undo = function() error "not yet" end })
    flow:step("b", { run = function()
      error { message = "no", retry = false }
    end, next = "z" })
    flow:finish "z"
    assert(engine:load(flow))
    local id = assert(engine:start "t.undo")
    assert(engine:run())
    local why = explain(engine, id)
    assert.equal("running", why.compensation.status)
    assert.matches("is being undone, newest first: 0 of 1 step done; next "
      .. 'is "a"', said(why))
  end)

  it("says how it ended", function()
    local engine = backend.fresh()
    assert(engine:load(kit.one()))
    assert(engine:load(kit.one(function()
      error { code = "no_luck", message = "not today", retry = false }
    end, { code = "t.bad" })))
    local good = assert(engine:start "t.one")
    local bad = assert(engine:start "t.bad")
    assert(engine:run())
    local why = explain(engine, good)
    assert.same({}, why.tokens)
    assert.equal(1, #why.sentences)
    assert.matches("t.one 1 is completed since", said(why))
    assert.matches('t.bad 1 is failed since .+, at "a": no_luck: ',
      said(explain(engine, bad)))
  end)

  it("gives the same as JSON text", function()
    local engine = backend.fresh()
    assert(engine:load(kit.timer "1h"))
    local id = assert(engine:start "t.timer")
    assert(engine:run())
    local text = assert(engine:explain(id, "json"))
    local data = assert(pawl.json.decode(text))
    assert.equal(pawl.null, data.lease)
    assert.same(assert(engine:explain(id)).sentences, data.sentences)
    local _, err = engine:explain "ffffffff"
    assert.equal("notfound", err.code)
  end)
end)
