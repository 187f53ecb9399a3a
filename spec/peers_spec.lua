--- examples/peers: each sample does what its first lines say, also where that
--- is awkward; and it is no longer than the peer's own.
local kit = require "spec.engine.kit"
local pawl = require "pawl"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local FOLDER <const> = os.getenv "PWD" .. "/examples/peers/"

---- the table of its README -------------------------------------------------

local function lines_of_code(name)
  local n = 0
  for line in assert(tmp.read(FOLDER .. name .. ".lua")):gmatch "[^\n]+" do
    if line:find "%S" and not line:find "^%s*%-%-" then n = n + 1 end
  end
  return n
end

--- A row: the sample's files, whose it is, and lines there and here.
local function rows()
  local found = {}
  for line in tmp.read(FOLDER .. "README.md"):gmatch "\n| (%[[^\n]+)" do
    local links, of, there, here = line:match
      "^(.-) | (.-) | (%d+) | (%d+) | "
    local names = {}
    for name in links:gmatch "%(([%w_]+)%.lua%)" do
      names[#names + 1] = name
    end
    found[#found + 1] = { names = names, of = of, there = tonumber(there),
      here = tonumber(here) }
  end
  return found
end

describe("examples/peers/README.md", function()
  it("has fourteen samples, all files of the folder", function()
    local told, there = {}, {}
    for _, row in ipairs(rows()) do
      for _, name in ipairs(row.names) do told[#told + 1] = name .. ".lua" end
    end
    local find = { "find", FOLDER, "-name", "*.lua" }
    for path in shell.output(find):gmatch "[^\n]+" do
      there[#there + 1] = path:match "[^/]+$"
    end
    table.sort(told)
    table.sort(there)
    assert.same(there, told)
    assert.equal(14, #rows())
  end)

  it("counts their lines, which are no more than the peer's", function()
    for _, row in ipairs(rows()) do
      local n = 0
      for _, name in ipairs(row.names) do n = n + lines_of_code(name) end
      assert.equal(row.here, n, row.names[1])
      assert.is_true(n <= row.there, row.names[1])
      local head = tmp.read(FOLDER .. row.names[1] .. ".lua")
        :match "^(.-)\nlocal":gsub("\n%-%- ", " ")
      assert.matches(("%d lines"):format(row.there), head, 1, true)
      assert.matches(row.of, head, 1, true)
    end
  end)
end)

---- the samples -------------------------------------------------------------

kit.describe("the sample", function(backend)
  local clock, url

  local function load_all(engine, names)
    for name in names:gmatch "%S+" do
      assert(engine:load(FOLDER .. name .. ".lua"))
    end
    return engine
  end

  --- An engine on a new store that has loaded these samples.
  local function opened(names, options)
    local engine
    engine, clock, url = backend.fresh(options)
    return load_all(engine, names)
  end

  --- Another worker on that store.
  local function another(names, options)
    return load_all(kit.rival(backend, url, clock, options), names)
  end

  local function begun(engine, code, input, options)
    local id = assert(engine:start("peers." .. code, input, options))
    assert(engine:run())
    return id
  end

  local function pass(engine, duration)
    clock:advance(duration)
    assert(engine:run())
  end

  --- Asks, has the engine run, and gives the answer.
  local function ask(engine, id, name, data, event)
    local options = { event = event, timeout = 0 }
    assert.equal("timeout",
      select(2, engine:ask(id, name, data, options)).code)
    assert(engine:run())
    return engine:ask(id, name, data, options)
  end

  local function tell(engine, name, data, options)
    local event = { name = name, data = data }
    for key, value in pairs(options) do event[key] = value end
    local _, info = assert(engine:signal(event))
    assert(engine:run())
    return info
  end

  local function open_task(engine, id)
    local tasks = assert(engine.tasks:list { instance = id,
      status = { "pending", "running" } })
    assert.equal(1, #tasks)
    return tasks[1]
  end

  local function complete(engine, id, take, options)
    options = options or {}
    options.by, options.take = options.by or "ann", take
    local task = open_task(engine, id)
    local done, err = engine.tasks:complete(task.id, options)
    if done then assert(engine:run()) end
    return done, err
  end

  local function emitted(engine, id)
    local types = {}
    for i, message in ipairs(assert(engine.outbox:list { instance = id })) do
      types[i] = message.type
    end
    return types
  end

  ---- updatable_timer

  local function told_due(engine, id)
    local due = assert(engine:explain(id)).tokens[1].waiting_for.at
    return pawl.time(due) - clock:now()
  end

  it("updatable_timer is moved to and fro, and tells when it fires", function()
    local engine = opened "updatable_timer"
    local start = clock:now()
    local id = begun(engine, "updatable_timer", { wake_up = start + 60 })
    assert.equal(60, told_due(engine, id))
    tell(engine, "alarm.moved", start + 3600, { instance = id })
    assert.equal(3600, told_due(engine, id))
    tell(engine, "alarm.moved", "soon", { instance = id }) -- is no time
    pass(engine, "1m")
    assert.equal("waiting", kit.status(engine, id))
    tell(engine, "alarm.moved", start + 70, { instance = id })
    pass(engine, 9)
    assert.equal("waiting", kit.status(engine, id))
    pass(engine, 1)
    assert.equal("completed", kit.status(engine, id))
  end)

  it("updatable_timer is moved before it runs, twice, and by another worker",
    function()
      local engine = opened "updatable_timer"
      local start = clock:now()
      local id = assert(engine:start("peers.updatable_timer",
        { wake_up = start + 60 }))
      for _, at in ipairs { 600, 90 } do
        assert(engine:signal { name = "alarm.moved", instance = id,
          data = start + at })
      end
      assert(engine:run())
      assert.equal(90, told_due(engine, id))
      engine:close()
      local second = another "updatable_timer"
      tell(second, "alarm.moved", start - 1, { instance = id }) -- is past
      assert.equal("completed", kit.status(second, id))
    end)

  ---- mutex

  local MUTEX <const> = "mutex mutex_user"

  local function who_works(engine, ids)
    local found = {}
    for i, id in ipairs(ids) do
      local user = assert(engine:get(id))
      if user.node == "work" and user.status == "waiting" then
        found[#found + 1] = i
      end
    end
    return table.concat(found, " ")
  end

  --- Users of one resource, in order.
  local function users(engine, n)
    local ids = {}
    for i = 1, n do
      ids[i] = begun(engine, "mutex_user", { resource = "printer" })
    end
    return ids
  end

  it("mutex lets one of them work at a time, in their order", function()
    local engine = opened(MUTEX)
    local other = begun(engine, "mutex_user", { resource = "oven" })
    local ids = users(engine, 3)
    assert.equal("work", engine:get(other).node) -- another's lock is another
    for i = 1, 3 do
      assert.equal(tostring(i), who_works(engine, ids))
      pass(engine, 10)
    end
    assert.equal("", who_works(engine, ids))
    for _, id in ipairs(ids) do
      assert.equal("completed", kit.status(engine, id))
    end
  end)

  it("mutex is asked by all at once, of two workers", function()
    local engine = opened(MUTEX)
    local second = another(MUTEX)
    local ids = {}
    for i = 1, 8 do
      ids[i] = assert(engine:start("peers.mutex_user", { resource = "r" }))
    end
    local working = {}
    for _ = 1, 120 do
      assert(engine:tick(1))
      assert(second:tick(1))
      local now = who_works(engine, ids)
      assert.is_nil(now:find " ")
      if now ~= "" and not working[now] then
        working[now] = true
        working[#working + 1] = now
      end
      clock:advance(1)
    end
    assert.equal(8, #working)
    assert.equal("", who_works(engine, ids))
  end)

  it("mutex goes on when who holds it, or waits for it, is cancelled",
    function()
      local engine = opened(MUTEX)
      local ids = users(engine, 4)
      assert(engine:cancel(ids[2])) -- while it waits
      assert(engine:run())
      assert.equal("1", who_works(engine, ids))
      assert(engine:cancel(ids[1])) -- while it works
      assert(engine:run())
      assert.equal("3", who_works(engine, ids))
      assert(engine:kill(ids[3])) -- which undoes nothing
      pass(engine, "9m")
      assert.equal("", who_works(engine, ids))
      pass(engine, "1m")
      assert.equal("4", who_works(engine, ids))
    end)

  it("mutex is made anew after it was done away with", function()
    local engine = opened(MUTEX)
    users(engine, 1)
    pass(engine, 10)
    local lock = assert(engine:list { workflow = "peers.mutex" })[1]
    tell(engine, "mutex.needless", nil, { instance = lock.id })
    assert.equal("completed", kit.status(engine, lock.id))
    local ids = users(engine, 2)
    assert.equal("1", who_works(engine, ids))
    pass(engine, 10)
    assert.equal("2", who_works(engine, ids))
  end)

  ---- sliding_window

  local WINDOW <const> = "sliding_window sliding_window_record"

  it("sliding_window begins the next as soon as one is done", function()
    local engine = opened(WINDOW)
    local id = begun(engine, "sliding_window", { records = 50 })
    local second = another(WINDOW) -- and both go on
    local most = 0
    for _ = 1, 40 do
      local live = assert(engine:tally { parent = id,
        status = { "created", "running", "waiting" } })
      most = math.max(most, live)
      clock:advance(1)
      assert(engine:run())
      assert(second:run())
    end
    assert.is_true(most > 0 and most <= 20, most)
    local output = engine:get(id).output
    assert.equal(50, output.records)
    local slept = 0
    for _, child in ipairs(assert(engine:children(id, { limit = 100 }))) do
      slept = slept + engine:get(child.id).output
    end
    assert.equal(slept, output.seconds)
  end)

  ---- synchronous_proxy

  it("synchronous_proxy answers each page, and what is wrong", function()
    local engine = opened "synchronous_proxy"
    local id = begun(engine, "synchronous_proxy")
    local answer = assert(ask(engine, id, "order.email", "ada", "e1"))
    assert.same({ page = "email", why = "this is no address" }, answer)
    assert.same({ page = "size" },
      assert(ask(engine, id, "order.email", "ada@example.com", "e2")))
    kit.refused("value", "expected one of small, medium, large", nil,
      ask(engine, id, "order.size", "huge", "e3"))
    assert.same({ page = "color" },
      assert(ask(engine, id, "order.size", "large", "e4")))
    -- the same page again, whose answer was lost
    assert.same({ page = "color" }, assert(engine:ask(id, "order.size",
      "large", { event = "e4", timeout = 0 })))
    assert.same({ page = "shipping" },
      assert(ask(engine, id, "order.color", "red", "e5")))
    assert.same({ email = "ada@example.com", size = "large", color = "red" },
      engine:get(id).output)
    assert.same({ "delivery.scheduled" }, emitted(engine, id))
  end)

  it("synchronous_proxy answers a page that comes too early in its turn",
    function()
      local engine = opened "synchronous_proxy"
      local id = begun(engine, "synchronous_proxy")
      local early = { event = "e1", timeout = 0 }
      kit.refused("timeout", "", nil,
        ask(engine, id, "order.size", "small", "e1"))
      engine:close()
      local second = another "synchronous_proxy"
      assert.same({ page = "size" },
        assert(ask(second, id, "order.email", "ada@example.com", "e2")))
      assert.same({ page = "color" },
        assert(second:ask(id, "order.size", "small", early)))
    end)

  ---- early_return

  it("early_return tells before the rest is done, once", function()
    local engine = opened "early_return"
    local id = begun(engine, "early_return", {}, { key = "7" })
    local again = begun(engine, "early_return", {}, { key = "7" })
    assert.equal(id, again)
    local event = { event = "7", timeout = 0 }
    assert.equal("timeout", select(2,
      engine:ask(id, "transfer", { amount = 30 }, event)).code)
    local told
    for _ = 1, 20 do
      told = engine:ask(id, "transfer", { amount = 30 }, event)
      if told then break end
      assert(engine:tick(1))
    end
    assert.equal("begun", told.status)
    assert(engine:run())
    assert.same({ id = told.id, status = "completed" }, engine:get(id).output)
    assert.same(told, (assert(engine:ask(id, "transfer", { amount = 30 },
      event))))
  end)

  it("early_return tells why nothing comes of it", function()
    local engine = opened "early_return"
    local id = begun(engine, "early_return")
    assert.same({ status = "cancelled", why = "nothing to transfer" },
      assert(ask(engine, id, "transfer", { amount = 0 }, "1")))
    local instance = engine:get(id)
    assert.same({ "failed", "refused" }, { instance.status, instance.node })
  end)

  ---- expense

  it("expense is paid, or refused, or fails when nobody decides", function()
    local engine = opened "expense"
    local ids = {}
    for i = 1, 3 do
      ids[i] = begun(engine, "expense", { expense = tostring(i) })
    end
    -- decided twice, as whoever did it had no answer
    for _, repeated in ipairs { false, true } do
      assert.equal(repeated, tell(engine, "expense.decided", "approved",
        { key = "1", id = "d1" }).repeated)
    end
    tell(engine, "expense.decided", "rejected", { key = 2 })
    pass(engine, "10m")
    assert.equal("paid", engine:get(ids[1]).output)
    assert.same({ "expense.entered", "expense.payable" },
      emitted(engine, ids[1]))
    assert.equal("refused", engine:get(ids[2]).output)
    assert.same({ "expense.entered" }, emitted(engine, ids[2]))
    assert.equal("timeout", engine:get(ids[3]).error.code)
  end)

  it("expense is decided before it waits", function()
    local engine = opened "expense"
    local id = assert(engine:start("peers.expense", { expense = "1" }))
    tell(engine, "expense.decided", "approved", { key = "1" })
    assert.equal("paid", engine:get(id).output)
  end)

  ---- dsl

  local function activity(name, arguments, result)
    return { activity = name, arguments = arguments, result = result }
  end

  it("dsl runs sequences and branches, one in the other", function()
    local engine = opened "dsl"
    local input = { variables = { who = "Ada", name = "Bob" }, root = {
      sequence = {
        activity("greet", { "who" }, "a"),
        { parallel = {
          activity("shout", { "a" }, "b"),
          { sequence = {
            activity("greet", { "name" }, "c"),
            { parallel = { activity("shout", { "c" }, "d") } },
          } },
        } },
        activity("join", { "b", "d" }, "e"),
      } } }
    local id = begun(engine, "dsl", input)
    local output = engine:get(id).output
    assert.equal("HELLO, ADA! HELLO, BOB!", output.e)
    assert.equal("Hello, Bob", output.c)
  end)

  it("dsl fails with the branch that fails", function()
    local engine = opened "dsl"
    local id = begun(engine, "dsl", { variables = { who = "Ada" },
      root = { parallel = { activity("greet", { "who" }, "a"),
        activity("sing", {}) } } })
    while engine:next_due() and kit.status(engine, id) ~= "failed" do
      pass(engine, math.max(0, engine:next_due() - clock:now()))
    end
    assert.equal("failed", kit.status(engine, id))
  end)

  it("dsl goes on with another worker after each step", function()
    local engine = opened "dsl"
    local id = assert(engine:start("peers.dsl", { variables = { who = "Ada" },
      root = { sequence = {
        { parallel = { activity("greet", { "who" }, "a"),
          activity("shout", { "who" }, "b") } },
        activity("join", { "a", "b" }, "c") } } }))
    for _ = 1, 30 do
      assert(engine:tick(1))
      clock:advance "1m" -- it is never heard of again
      engine = another "dsl"
      if kit.status(engine, id) == "completed" then break end
    end
    assert.equal("Hello, Ada ADA!", engine:get(id).output.c)
  end)

  ---- file_processing

  local FILES <const> = "file_processing file_processing_here"

  --- A machine: who begins, and who goes on with what that has begun.
  local function machine(name, first)
    local lent = { host = { machine = function() return name end } }
    local own = { host = lent.host, group = name }
    return (first and opened or another)(FILES, lent), another(FILES, own)
  end

  it("file_processing has one machine do all of it", function()
    local a, a_own = machine("a", true)
    local _, b_own = machine "b"
    local id = begun(a, "file_processing", { file = "x" })
    assert(b_own:run())
    assert.equal("waiting", kit.status(a, id))
    assert(a_own:run())
    assert(a:run())
    assert.equal("WHAT IS IN X", a:get(id).output)
    local child = a:children(id)[1].id
    assert.same({ "file.processed" }, emitted(a, child))
  end)

  it("file_processing begins anew when a machine has died", function()
    local a = machine("a", true)
    local b, b_own = machine "b"
    local id = begun(a, "file_processing", { file = "x" })
    a:close()
    for _ = 1, 2 do
      pass(b, "1m")
      assert(b_own:run())
    end
    assert(b:run())
    assert.equal("WHAT IS IN X", b:get(id).output)
    local statuses = {}
    for i, child in ipairs(assert(b:children(id))) do
      statuses[i] = child.status
    end
    table.sort(statuses)
    assert.same({ "cancelled", "completed" }, statuses)
  end)

  it("file_processing gives up in the end", function()
    local a = machine("a", true)
    local id = begun(a, "file_processing", { file = "x" })
    for _ = 1, 4 do pass(a, "1m") end
    assert.equal("lost", a:get(id).node)
    assert.equal("failed", kit.status(a, id))
  end)

  ---- tolerant_batch

  local function batch_of(engine, input)
    local id = begun(engine, "tolerant_batch", input)
    while kit.status(engine, id) == "running"
      or kit.status(engine, id) == "waiting" do
      pass(engine, math.max(0, assert(engine:next_due()) - clock:now()))
    end
    return engine:get(id)
  end

  it("tolerant_batch leaves out a piece that cannot be read", function()
    local engine = opened "tolerant_batch"
    local batch = batch_of(engine, { files = 12000, broken = 700 })
    assert.equal("completed", batch.status)
    assert.equal(11500, batch.output.files)
    assert.equal(12, #batch.output.means)
    assert.is_true(math.abs(batch.output.means[6] - 21) < 0.01)
  end)

  it("tolerant_batch fails when more than a twentieth is missing", function()
    local engine = opened "tolerant_batch"
    local batch = batch_of(engine, { files = 5000, broken = 700 })
    assert.equal("failed", batch.status)
    assert.equal("unreadable", batch.error.code)
  end)

  ---- reminders

  it("reminders come each day, until somebody has decided", function()
    local engine = opened "reminders"
    local id = begun(engine, "reminders", { user = "uma" })
    kit.refused("taken", "assigned to uma", nil, complete(engine, id, "sent",
      { by = "sam", groups = { "support" } }))
    assert(complete(engine, id, "sent", { by = "uma",
      output = { item = "laptop" } }))
    assert.same({ item = "laptop" }, open_task(engine, id).input)
    for _ = 1, 3 do pass(engine, "1d") end
    assert.same({ "mail.wanted", "mail.wanted", "mail.wanted" },
      emitted(engine, id))
    assert(complete(engine, id, "approved", { by = "fay",
      groups = { "finance" } }))
    assert.equal(4, #emitted(engine, id))
    pass(engine, "30d")
    assert.equal(4, #emitted(engine, id))
    assert.equal("completed", kit.status(engine, id))
  end)

  it("reminders are not heaped up while nobody runs", function()
    local engine = opened "reminders"
    local id = begun(engine, "reminders", { user = "uma" })
    pass(engine, "1h")
    assert(complete(engine, id, "sent", { by = "sam",
      groups = { "support" } })) -- it was due, and he may now
    engine:close()
    clock:jump "10d"
    local second = another "reminders"
    assert(second:run())
    assert.equal(1, #emitted(second, id))
    assert.equal("boss", open_task(second, id).users[1])
  end)

  ---- credit_application

  --- A bank whose service fails so often.
  local function bank(failures)
    local calls = { keys = {} }
    return calls, { host = { create_loan = function(loan)
      calls[#calls + 1] = loan
      calls.keys[loan.key] = true
      if #calls <= failures then error "the bank does not answer" end
      return "loan of " .. loan.application
    end } }
  end

  local function applied(failures, input)
    local calls, options = bank(failures)
    local engine = opened("credit_application", options)
    local id = begun(engine, "credit_application", input)
    assert(complete(engine, id, "accept", { roles = { "clerk" } }))
    return engine, id, calls
  end

  it("credit_application is repaired by a person, and tried again", function()
    local engine, id, calls = applied(3, { customer = "7", amount = 100 })
    for _ = 1, 2 do pass(engine, "1m") end
    assert.equal(3, #calls)
    assert.matches("the bank does not answer",
      open_task(engine, id).description)
    assert(complete(engine, id, "again", { roles = { "operator" } }))
    assert.equal(4, #calls)
    assert.same({ application = "abc7", loan = "loan of abc7" },
      engine:get(id).output)
    assert.is_true(engine.outbox:list { instance = id }[1].payload.granted)
  end)

  it("credit_application lends nothing for a preview", function()
    local engine, id, calls = applied(0, { customer = "7", amount = 100,
      preview = true })
    assert.equal(0, #calls)
    assert.same({ application = "abc7" }, engine:get(id).output)
  end)

  ---- saga

  --- Travel agents who fail at what `fails` names, so often.
  local function agents(fails)
    local done = {}
    return done, { host = { travel = function(call)
      local left = fails[call.action] or 0
      if left > 0 then
        fails[call.action] = left - 1
        error(call.action .. " fails")
      end
      done[#done + 1] = call.action
      return call.action .. " of " .. call.trip
    end } }
  end

  local function travelled(fails)
    local done, options = agents(fails)
    local engine = opened("saga saga_repair", options)
    local id = begun(engine, "saga", { trip = "oslo" })
    for _ = 1, 12 do pass(engine, "1m") end
    return engine, id, table.concat(done, " ")
  end

  it("saga books all of it, or takes it back, newest first", function()
    local engine, id, done = travelled {}
    assert.equal("reserve_flight reserve_rental pay confirm_flight "
      .. "confirm_rental", done)
    assert.same({ "trip.booked" }, emitted(engine, id))
    engine, id, done = travelled { confirm_flight = 3, refund = 2 }
    assert.equal("reserve_flight reserve_rental pay refund cancel_rental "
      .. "cancel_flight", done)
    assert.equal("completed", engine:get(id).compensation.status)
    assert.same({ "trip.failed" }, emitted(engine, id))
  end)

  it("saga has a person see to what could not be taken back", function()
    local engine, id, done = travelled { pay = 3, cancel_rental = 3 }
    assert.equal("reserve_flight reserve_rental cancel_flight", done)
    local trip = engine:get(id)
    assert.equal("completed_with_errors", trip.compensation.status)
    assert.equal("rental", trip.compensation.failed[1].node)
    local tasks = assert(engine.tasks:list { role = "operator" })
    assert.equal(1, #tasks)
    assert.same({ trip = id, node = "payment" }, tasks[1].input)
    assert.matches("pay fails", tasks[1].description)
  end)

  ---- update_with_answer

  it("update_with_answer adds once, in order, and refuses", function()
    local engine = opened "update_with_answer"
    local id = assert(engine:start "peers.update_with_answer")
    -- two ask before it has begun
    local first, second = { event = "a", timeout = 0 },
      { event = "b", timeout = 0 }
    engine:ask(id, "counter.add", 5, first)
    engine:ask(id, "counter.add", 7, second)
    assert(engine:run())
    assert.equal(0, (assert(engine:ask(id, "counter.add", 5, first))))
    assert.equal(5, (assert(engine:ask(id, "counter.add", 7, second))))
    kit.refused("value", "expected integer >= 0, found %-1", nil,
      ask(engine, id, "counter.add", -1, "c"))
    engine:close()
    local other = another "update_with_answer"
    -- asked again, of whoever is there
    assert.equal(5, (assert(other:ask(id, "counter.add", 7, second))))
    tell(other, "counter.done", nil, { instance = id })
    assert.equal(12, other:get(id).output)
  end)

  ---- cancel_in_progress

  local function build_of(engine, group)
    return assert(engine:start("peers.cancel_in_progress", { group = group },
      { key = group, reuse = "ended", on_existing = "replace" }))
  end

  --- Ten ticks a second.
  local function tick(engine, seconds)
    for _ = 1, seconds * 10 do
      assert(engine:tick())
      clock:advance(0.1)
    end
  end

  it("cancel_in_progress runs the newest of each group alone", function()
    local engine = opened "cancel_in_progress"
    local old, other = build_of(engine, "main"), build_of(engine, "fix")
    tick(engine, 2)
    local new = build_of(engine, "main")
    tick(engine, 1)
    assert.equal("cancelled", kit.status(engine, old))
    assert.equal("running", kit.status(engine, new))
    tick(engine, 20)
    assert.equal("completed", kit.status(engine, new))
    assert.equal("completed", kit.status(engine, other))
    local last = build_of(engine, "main") -- the key goes on
    tick(engine, 11)
    assert.equal("completed", kit.status(engine, last))
  end)

  it("cancel_in_progress replaces what a dead worker had", function()
    local engine = opened "cancel_in_progress"
    local old = build_of(engine, "main")
    tick(engine, 1) -- and never again
    local second = another "cancel_in_progress"
    local new = build_of(second, "main")
    tick(second, 60)
    assert.equal("cancelled", kit.status(second, old))
    assert.equal("completed", kit.status(second, new))
  end)
end)
