#!/usr/bin/env lua5.4
--- Measures pawl next to raw SQL that does the same writes, in turns, so that
--- whatever else the machine does hits both. See docs/performance.md.
---
---   ./dev bench [--quick] [--json] [sqlite | postgres]
---
---   W1  five-step instances drained by one worker, in steps a second; raw:
---       `step` of bench/raw.h
---   W2  one-step instances likewise; raw: the same
---   W3  starting instances, one call after the other; raw: `start`
---   W1x2     W1 with two workers, on PostgreSQL; raw: `pair`
---   W3_bulk  starting 1,000 with one call; raw: `bulk`
---   W6  five-step instances whose steps wait 50 ms on a socket, up to 200 at
---       one time in one worker; raw: what that would be if nothing else took
---       any time. Needs LuaSocket; left out where that is not there
---
--- Environment: PAWL_BUILD, the folder of the build to measure; PAWL_BENCH_PG,
--- the conninfo of a PostgreSQL server to make a database on.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
local build = os.getenv "PAWL_BUILD"
if not build then
  io.stderr:write "bench: PAWL_BUILD is not set; run ./dev bench\n"
  os.exit(2)
end
package.path = ("%s/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;%s"):format(here,
  build, build, package.path)
package.cpath = build .. "/lua/?.so;" .. package.cpath

local pawl = require "pawl"
local mono = require("pawl.core").mono
local report = require "report"
local stores = require "stores"

local INPUT = { -- the state of bench/raw.h
  amount = 129.95, currency = "EUR", customer = "c-00012345",
  items = { 1, 2, 3 }, note = ("%076d"):format(7), order = "o-0000000001",
  step = 100000000,
}

local FULL = { rounds = 5, five = 4000, one = 4000, raw = 20000,
  raw_starts = 1000, bulk = 20000, waiting = 4000 }
local QUICK = { rounds = 3, five = 2000, one = 1000, raw = 10000,
  raw_starts = 300, bulk = 10000, waiting = 1000 }
local WAITS, DELAY = 200, 0.05 -- W6: handlers at one time, seconds a step
local WARM_UP = 300 -- instances run before a measure, uncounted
local ITEMS = { 1000, 10000 } -- of a fan-out: ten times as many cost ten times

---- measuring ---------------------------------------------------------------

--- Instances started a second.
local function start_each(engine, code, n)
  local began = mono()
  for _ = 1, n do assert(engine:start(code, INPUT)) end
  return n / (mono() - began)
end

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
local function drain(store, file, n, steps)
  local all, hot = store:updates()
  local engine <close> = assert(pawl.open(store.url))
  local code = assert(engine:load(here .. "/workflows/" .. file)).workflow
  start_each(engine, code, WARM_UP)
  assert(engine:run {})
  local starts = start_each(engine, code, n)
  collectgarbage()
  local counts, bytes = engine:counts(), store:bytes()
  local began = mono()
  local done = assert(engine:run {})
  local seconds = mono() - began
  assert(done.ended == n and done.steps == n * steps, "not all steps have run")
  local out = { starts = starts, rate = done.steps / seconds,
    bytes = (store:bytes() - bytes) / done.steps }
  for name, count in pairs(engine:counts()) do
    out[name] = (count - counts[name]) / done.steps
  end
  engine:close()
  if all then
    local all_now, hot_now = updates_after(store, all, done.steps)
    out.hot = (hot_now - hot) / (all_now - all)
  end
  return out
end

--- Instances started a second, 1,000 a call. They stay in the store, under a
--- code that nobody runs.
local function start_bulk(store, n)
  local engine <close> = assert(pawl.open(store.url))
  local list = {}
  for i = 1, 1000 do list[i] = { input = INPUT } end
  local began = mono()
  for _ = 1, n, #list do assert(engine:start_many("bench.bulk", list)) end
  return n / (mono() - began)
end

--- Steps a second of `workers` programs that drain `n` instances together.
local function drain_together(store, dir, n, steps, workers)
  local file = here .. "/workflows/five_steps.lua"
  do
    local engine <close> = assert(pawl.open(store.url))
    local code = assert(engine:load(file)).workflow
    local list = {}
    for i = 1, n do list[i] = { input = INPUT } end
    assert(engine:start_many(code, list))
  end
  local pipes, outs, began, ended, done = {}, {}, math.huge, 0, 0
  for i = 1, workers do
    outs[i] = ("%s/drain.%d"):format(dir, i)
    os.remove(outs[i])
    pipes[i] = assert(io.popen(stores.line("lua5.4", here .. "/drain.lua",
      build, store.url, file, outs[i]), "w"))
  end
  for i = 1, workers do
    local deadline = mono() + 10
    repeat until io.open(outs[i]) or mono() > deadline
  end
  for _, pipe in ipairs(pipes) do pipe:write "go\n" pipe:flush() end
  for i, pipe in ipairs(pipes) do
    assert(pipe:close(), "a worker has failed")
    local text <close> = assert(io.open(outs[i]))
    local from, to, ran = text:read("n", "n", "n")
    began, ended = math.min(began, from), math.max(ended, to)
    done = done + ran
  end
  assert(done == n * steps, "not all steps have run")
  return done / (ended - began)
end

--- One instance that fans out over `items` items, with one worker.
local function fan_out(store, items)
  local engine <close> = assert(pawl.open(store.url))
  local code = assert(engine:load(here .. "/workflows/each.lua")).workflow
  local id = assert(engine:start(code, { items = items }))
  collectgarbage()
  local before = engine:counts()
  local began = mono()
  local done = assert(engine:run {})
  local seconds = mono() - began
  local counts = engine:counts()
  assert(done.steps == items, "not all items have run")
  assert(#assert(engine:get(id)).variables.results == items)
  return { rate = items / seconds,
    statements = (counts.statements - before.statements) / items,
    transactions = (counts.transactions - before.transactions) / items }
end

--- The server of bench/slow.c; its port.
local function slow_server()
  local pipe = assert(io.popen(("%s/pawl_bench_slow %d"):format(build,
    DELAY * 1e6)))
  local port = assert(pipe:read "n", "the slow server does not start")
  return setmetatable({ port = port }, { __close = function()
    assert(require "socket".connect("127.0.0.1", port)):send "q"
    pipe:close()
  end })
end

--- `n` five-step instances whose steps wait, with one worker.
local function wait_much(store, n)
  if not pcall(require, "socket") then return {} end
  local server <close> = slow_server()
  local engine <close> = assert(pawl.open(store.url, { concurrency = WAITS }))
  local code = assert(engine:load(here .. "/workflows/waiting.lua")).workflow
  for _ = 1, n do assert(engine:start(code, { port = server.port })) end
  collectgarbage()
  local before = engine:counts()
  local began, clock = mono(), os.clock()
  local done = assert(engine:run { wait = true })
  local seconds = mono() - began
  local counts = engine:counts()
  assert(done.ended == n and done.steps == 5 * n, "not all steps have run")
  return { rate = done.steps / seconds,
    busy = (os.clock() - clock) / seconds,
    trips = (counts.trips - before.trips) / done.steps,
    statements = (counts.statements - before.statements) / done.steps,
    transactions = (counts.transactions - before.transactions) / done.steps }
end

local function one_round(store, size, dir)
  store:raw "setup"
  local raw = store:raw("step", size.raw)
  local five = drain(store, "five_steps.lua", size.five, 5)
  local raw_start = store:raw("start", size.raw_starts)
  local one = drain(store, "one_step.lua", size.one, 1)
  local bulk = start_bulk(store, size.bulk)
  local raw_bulk = store:raw("bulk", size.bulk)
  local two, raw_two
  if store.name == "postgres" then -- SQLite has one writer at a time
    two = drain_together(store, dir, size.five, 5, 2)
    raw_two = size.raw / store:raw("pair", size.raw).seconds
  end
  local few, many = fan_out(store, ITEMS[1]), fan_out(store, ITEMS[2])
  local waiting = wait_much(store, size.waiting)
  return {
    two = two, raw_two = raw_two, bulk = bulk,
    raw_bulk = size.bulk / raw_bulk.seconds,
    waiting = waiting.rate, ideal = WAITS / DELAY, waiting_busy = waiting.busy,
    waiting_trips = waiting.trips, waiting_statements = waiting.statements,
    waiting_transactions = waiting.transactions,
    few = few.rate, few_statements = few.statements,
    few_transactions = few.transactions,
    many = many.rate, many_statements = many.statements,
    many_transactions = many.transactions,
    raw = size.raw / raw.seconds, raw_bytes = raw.bytes / size.raw,
    five = five.rate, one = one.rate, starts = five.starts,
    raw_starts = size.raw_starts / raw_start.seconds,
    trips = five.trips, statements = five.statements,
    transactions = five.transactions, bytes = five.bytes, hot = five.hot,
  }
end

---- summing up --------------------------------------------------------------

local function column(rounds, name)
  local list = {}
  for i, round in ipairs(rounds) do list[i] = round[name] end
  return list
end

local function compare(rounds, name, raw, unit)
  local value = report.median(column(rounds, name))
  local limit = report.median(column(rounds, raw))
  return { value = value, unit = unit, raw = limit, ratio = value / limit }
end

local function sum_up(store, rounds)
  local function median(name) return report.median(column(rounds, name)) end
  local w1 = compare(rounds, "five", "raw", "steps/s")
  w1.round_trips_per_step = median "trips"
  w1.statements_per_step = median "statements"
  w1.transactions_per_step = median "transactions"
  w1[store.name == "postgres" and "wal_bytes_per_step" or "bytes_per_step"] =
    median "bytes"
  w1.raw_bytes_per_step = median "raw_bytes"
  if rounds[1].hot then w1.hot_share = median "hot" end
  local w4 = compare(rounds, "many", "few", "items/s")
  w4.raw = nil -- its measure is itself with fewer items
  w4.value_few = median "few"
  w4.statements_per_item = median "many_statements"
  w4.statements_per_item_few = median "few_statements"
  w4.transactions_per_item = median "many_transactions"
  w4.transactions_per_item_few = median "few_transactions"
  local w6
  if rounds[1].waiting then
    w6 = compare(rounds, "waiting", "ideal", "steps/s")
    w6.round_trips_per_step = median "waiting_trips"
    w6.statements_per_step = median "waiting_statements"
    w6.transactions_per_step = median "waiting_transactions"
    w6.worker_cpu_share = median "waiting_busy"
  end
  return {
    W6 = w6,
    version = store.version, durability = store.durability, W1 = w1, W4 = w4,
    W2 = compare(rounds, "one", "raw", "runs/s"),
    W3 = compare(rounds, "starts", "raw_starts", "starts/s"),
    W3_bulk = compare(rounds, "bulk", "raw_bulk", "starts/s"),
    W1x2 = rounds[1].two and compare(rounds, "two", "raw_two", "steps/s"),
  }
end

---- the command -------------------------------------------------------------

local function usage(problem)
  io.stderr:write("bench: ", problem,
    "\nusage: bench [--quick] [--json] [sqlite | postgres]\n")
  os.exit(2)
end

local function read_arguments()
  local options, names = {}, {}
  for _, word in ipairs(arg) do
    if word == "--quick" or word == "--json" then
      options[word:sub(3)] = true
    elseif word == "sqlite" or word == "postgres" then
      names[#names + 1] = word
    else
      usage(("unknown argument \"%s\""):format(word))
    end
  end
  if #names == 0 then names = { "postgres", "sqlite" } end
  return options, names
end

--- An empty folder, removed at the end.
local function scratch()
  local pipe = assert(io.popen("mktemp -d"))
  local dir = pipe:read "l"
  pipe:close()
  return setmetatable({ path = dir }, { __close = function()
    os.execute("rm -rf '" .. dir .. "'")
  end })
end

local function open_store(name, dir)
  if name == "sqlite" then return stores.sqlite(build, dir) end
  return stores.postgres(build, os.getenv "PAWL_BENCH_PG"
    or usage "PAWL_BENCH_PG is not set; run ./dev bench")
end

local function main()
  local options, names = read_arguments()
  local size = options.quick and QUICK or FULL
  local dir <close> = scratch()
  local results, texts = {}, {}
  for _, name in ipairs(names) do
    local store <close> = open_store(name, dir.path)
    local rounds = {}
    for i = 1, size.rounds do
      io.stderr:write(("%s: round %d of %d\n"):format(store.version, i,
        size.rounds))
      rounds[i] = one_round(store, size, dir.path)
    end
    results[name] = sum_up(store, rounds)
    texts[#texts + 1] = report.text(store, results[name], {
      W1 = { value = column(rounds, "five"), raw = column(rounds, "raw") },
    })
  end
  print(options.json and report.json(results) or table.concat(texts, "\n\n"))
end

main()
