--- How many in a second: W1, W1x2, W2, W2x2, W3, W3_bulk, W6, W7, W7_single
--- and each. Every function measures once and gives a sample: value, raw and
--- counts.
local mono = require("pawl.core").mono
local others = require "others"
local pawl = require "pawl"
local slow = require "slow_server"

local throughput = {}

throughput.INPUT = { -- the state of bench/raw.h
  amount = 129.95, currency = "EUR", customer = "c-00012345",
  items = { 1, 2, 3 }, note = ("%076d"):format(7), order = "o-0000000001",
  step = 100000000,
}

local INPUT = throughput.INPUT
local WARM_UP = 300 -- instances run before a measure, uncounted
local WAITS, DELAY = 200, 0.05 -- W6: handlers at one time, seconds a step

---- counting ----------------------------------------------------------------

local COUNTED = { trips = "round_trips", statements = "statements",
  transactions = "transactions" }

--- Calls `work`; then puts what the engine and the store counted meanwhile
--- into `sample`, per `unit`.
---@param work fun(): integer  how many of the unit it did
local function count(store, engine, sample, unit, work)
  local before, bytes = engine:count(), store:bytes()
  local began = mono()
  local n = work()
  sample.value = n / (mono() - began)
  for name, number in pairs(engine:count()) do
    sample[("%s_per_%s"):format(COUNTED[name], unit)] =
      (number - before[name]) / n
  end
  sample[store.bytes_name .. unit] = (store:bytes() - bytes) / n
  return sample
end

---- filling -----------------------------------------------------------------

--- Starts `n` instances, 1,000 a call.
---@param options? table  of each: see engine:start_many
function throughput.fill(engine, code, n, options)
  local list = {}
  for i = 1, math.min(n, 1000) do
    list[i] = { input = INPUT }
    for name, value in pairs(options or {}) do list[i][name] = value end
  end
  while n > 0 do
    if n < #list then list = table.move(list, 1, n, 1, {}) end
    assert(engine:start_many(code, list))
    n = n - #list
  end
end

---- draining ----------------------------------------------------------------

--- HOT and other updates are told when the session has ended, or a little
--- later.
local function updates_after(store, before, steps)
  local deadline = mono() + 5
  local all, hot
  repeat
    all, hot = store:updates()
  until not all or all >= before + steps or mono() > deadline
  return all, hot
end

--- Runs `n` instances of `steps` steps to their end with one worker.
---@return table sample  without raw
function throughput.drain(bench, store, file, n, steps)
  local sample = {}
  local all, hot = store:updates()
  do
    local engine <close> = assert(pawl.open(store.url))
    local code = assert(engine:load(bench.workflows .. file)).workflow
    throughput.fill(engine, code, math.min(WARM_UP, n))
    assert(engine:run {})
    throughput.fill(engine, code, n)
    collectgarbage()
    count(store, engine, sample, "step", function()
      local done = assert(engine:run {})
      assert(done.ended == n and done.steps == n * steps,
        "not all steps have run")
      return done.steps
    end)
  end
  if all then
    local all_now, hot_now = updates_after(store, all, n * steps)
    sample.hot_share = (hot_now - hot) / (all_now - all)
  end
  return sample
end

--- Starts `n` instances and drains them with processes beside this one.
--- `before` are words of a command that runs each, "" for none.
---@return table[] workers  what each has told, by name
function throughput.drain_apart(bench, store, file, n, workers, before)
  local path, jobs = bench.workflows .. file, {}
  do
    local engine <close> = assert(pawl.open(store.url))
    throughput.fill(engine, assert(engine:load(path)).workflow, n)
  end
  for i = 1, workers do jobs[i] = { "drain", path } end
  local started = others.start(bench, store, jobs, before)
  others.go(started)
  return others.finish(started)
end

--- Steps a second of two programs that drain `n` instances together.
local function drain_together(bench, store, file, n, steps)
  local bytes = store:bytes()
  local told = throughput.drain_apart(bench, store, file, n, 2, "")
  local sum = { began = math.huge, ended = 0, steps = 0, trips = 0,
    statements = 0, transactions = 0 }
  for _, one in ipairs(told) do
    sum.began = math.min(sum.began, one.began)
    sum.ended = math.max(sum.ended, one.ended)
    for _, name in ipairs { "steps", "trips", "statements",
      "transactions" } do
      sum[name] = sum[name] + one[name]
    end
  end
  assert(sum.steps == n * steps, "not all steps have run")
  local sample = { value = sum.steps / (sum.ended - sum.began),
    [store.bytes_name .. "step_and_start"] = (store:bytes() - bytes)
      / sum.steps }
  for name, key in pairs(COUNTED) do
    sample[key .. "_per_step"] = sum[name] / sum.steps
  end
  return sample
end

---- the measures ------------------------------------------------------------

--- With raw runs before and after, as neither the machine nor the store stays
--- the same.
local function between(store, what, n, work)
  local before = store:raw(what, n)
  local sample = work()
  local after = store:raw(what, n)
  sample.raw = 2 * n / (before.seconds + after.seconds)
  if before.bytes then
    sample["raw_" .. store.bytes_name .. "step"] =
      (before.bytes + after.bytes) / (2 * n)
  end
  return sample
end

function throughput.W1(bench, store, size)
  return between(store, "step", size.raw, function()
    return throughput.drain(bench, store, "five_steps.lua", size.five, 5)
  end)
end

function throughput.W2(bench, store, size)
  return between(store, "step", size.raw, function()
    return throughput.drain(bench, store, "one_step.lua", size.one, 1)
  end)
end

--- SQLite has one writer at a time.
local function two_workers(file, field, steps)
  return function(bench, store, size)
    if store.name ~= "postgres" then return nil end
    local sample = drain_together(bench, store, file, size[field], steps)
    sample.raw = store:raw_rate("pair", size.raw)
    return sample
  end
end

throughput.W1x2 = two_workers("five_steps.lua", "five", 5)
throughput.W2x2 = two_workers("one_step.lua", "one", 1)

--- Into a store of their own, as nobody shall run them.
local function start(store, raw, n, work)
  local apart <close> = store:another "starts"
  local engine <close> = assert(pawl.open(apart.url))
  throughput.fill(engine, "bench.start", 20)
  local sample = count(apart, engine, {}, "start", function()
    work(engine)
    return n
  end)
  engine:close()
  sample.raw = store:raw_rate(raw, n)
  return sample
end

--- One call after the other.
function throughput.W3(_, store, size)
  return start(store, "start", size.starts, function(engine)
    for _ = 1, size.starts do assert(engine:start("bench.start", INPUT)) end
  end)
end

function throughput.W3_bulk(_, store, size)
  return start(store, "bulk", size.bulk, function(engine)
    throughput.fill(engine, "bench.start", size.bulk)
  end)
end

--- One instance that fans out over `items` items: branches, or (`child`, the
--- file of theirs) children.
local function fan_out(bench, store, items, file, child)
  local engine <close> = assert(pawl.open(store.url))
  if child then assert(engine:load(bench.workflows .. child)) end
  local code = assert(engine:load(bench.workflows .. file)).workflow
  local id = assert(engine:start(code, { items = items }))
  collectgarbage()
  local sample = count(store, engine, {}, "item", function()
    local done = assert(engine:run {})
    assert(done.steps == items, "not all items have run")
    return items
  end)
  assert(#assert(engine:get(id)).variables.results == items)
  return sample
end

--- Measured by itself with a tenth of the items.
local function by_few(fan, items)
  local few, many = fan(items // 10), fan(items)
  many.raw = few.value
  many.statements_per_item_of_few = few.statements_per_item
  many.transactions_per_item_of_few = few.transactions_per_item
  return many
end

--- Its measure is itself with a tenth of the items: an item costs the same.
function throughput.each(bench, store, size)
  return by_few(function(items)
    return fan_out(bench, store, items, "each.lua")
  end, size.items)
end

--- The same over children.
function throughput.children(bench, store, size)
  return by_few(function(items)
    return fan_out(bench, store, items, "children.lua", "one_step.lua")
  end, size.items)
end

--- Steps that wait on a socket. Raw is what they would take if nothing else
--- took any time.
function throughput.W6(bench, store, size)
  local server <close> = slow.start(bench.build, DELAY)
  local engine <close> = assert(pawl.open(store.url, { concurrency = WAITS }))
  local code = assert(engine:load(bench.workflows .. "waiting.lua")).workflow
  local n = size.waiting
  for _ = 1, n do assert(engine:start(code, { port = server.port })) end
  collectgarbage()
  local clock = os.clock()
  local sample = count(store, engine, {}, "step", function()
    local done = assert(engine:run { wait = true })
    assert(done.ended == n and done.steps == 5 * n, "not all steps have run")
    return done.steps
  end)
  sample.worker_cpu_share = (os.clock() - clock) * sample.value / (5 * n)
  sample.raw = math.min(WAITS, n) / DELAY
  return sample
end

--- Events to one instance; queued: all sent before it looks, else each is
--- taken before the next is sent.
local function drain(bench, store, n, queued)
  local engine <close> = assert(pawl.open(store.url))
  local code = assert(engine:load(bench.workflows .. "inbox.lua")).workflow
  local id = assert(engine:start(code, { events = n }))
  assert(engine:run {})
  local function send()
    assert(engine:signal { name = "bench.put", instance = id })
  end
  if queued then for _ = 1, n do send() end end
  collectgarbage()
  local sample = count(store, engine, {}, "event", function()
    if not queued then
      for _ = 1, n do
        send()
        assert(engine:run {})
      end
    end
    assert(engine:run {})
    return n
  end)
  assert(assert(engine:get(id)).status == "completed")
  return sample
end

--- A long queue for one instance. Its measure is itself with a tenth of the
--- queue: an event costs the same.
function throughput.W7(bench, store, size)
  local few = drain(bench, store, size.events // 10, true)
  local many = drain(bench, store, size.events, true)
  many.raw = few.value
  many.statements_per_event_of_few = few.statements_per_event
  return many
end

--- The same one by one, sending included; raw: taken from a queue.
function throughput.W7_single(bench, store, size)
  local queued = drain(bench, store, size.events // 10, true)
  local single = drain(bench, store, size.events // 10)
  single.raw = queued.value
  return single
end

return throughput
