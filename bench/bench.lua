#!/usr/bin/env lua5.4
--- Measures pawl next to raw SQL that does the same writes, in turns, so that
--- whatever else the machine does hits both. See docs/performance.md.
---
---   ./dev bench [--quick] [--json] [--baseline FILE] [--save] [--record]
---               [--beside] [--frame] [--trust] [--kit] [--counts]
---               [--only W1,W2] [sqlite | postgres]
---
---   throughput.lua  W1, W1x2, W2, W2x2, W3, W3_bulk, W6, W7,
---                   W7_single, each, children
---   latency.lua     W4, W4_signal, branches that wait, the cold start
---   depth.lua       W5
---   memory.lua      rss_mb, rss_waiting_ratio
---   record.lua      questions to a record of many years; with --record alone
---   beside.lua      W1 while half of a record is pruned and its events are
---                   relayed; with --beside alone
---   frame.lua       ticks of two milliseconds, sixty a second; with --frame
---                   alone
---   trust.lua       a step of a trusted, a limited and an isolated workflow;
---                   with --trust alone
---   kit.lua         specs by pawl.testing, an engine each; with --kit alone
---   counts.lua      allocations, instructions, what a small change writes;
---                   with --counts alone, of a step of W1 and of W2
---   with --only, of those that take turns in throughput.lua and latency.lua
---   the named ones alone
---   targets.lua     what is aimed at
---   baseline.lua    what is worse or better than it was
---   peers.lua       other engines, when PAWL_PEERS names a kit that runs them
---
--- --save puts the run into FILE, bench/baseline.json by default. --tiny is
--- for the spec of the bench: it measures everything and means nothing.
---
--- Environment: PAWL_BUILD, the folder of the build to measure; PAWL_BENCH_PG,
--- the conninfo of a PostgreSQL server to make databases on; PAWL_PEERS.
local here = arg[0]:match "^(.*)/[^/]*$" or "."
local build = os.getenv "PAWL_BUILD"
if not build then
  io.stderr:write "bench: PAWL_BUILD is not set; run ./dev bench\n"
  os.exit(2)
end
package.path = ("%s/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;%s"):format(here,
  build, build, package.path)
package.cpath = build .. "/lua/?.so;" .. package.cpath

local mono = require("pawl.core").mono

local baseline = require "baseline"
local beside = require "beside"
local counts = require "counts"
local depth = require "depth"
local frame = require "frame"
local kit = require "kit"
local latency = require "latency"
local machine = require "machine"
local memory = require "memory"
local peers = require "peers"
local record = require "record"
local report = require "report"
local stores = require "stores"
local system = require "system_calls"
local targets = require "targets"
local throughput = require "throughput"
local trust = require "trust"

--- rounds: of all measures that take turns; one, five: instances of W2, W1;
--- raw: steps of the raw program; finished, timers, asleep: rows to be beside;
--- depth: rounds of W5, which has double the instances of W2;
--- probe: instances under observation, few and many;
--- record: finished ones in the record, whose tenth waits beside;
--- live, frames: instances and frames of that; paced: sixty a second.
--- trust: instances of each drain, so many times (trust_rounds).
--- specs: of a round.
--- beside: instances of W1 in each turn beside what works on that, so many
--- seconds at most (patience); rate: events a second that are relayed.
local SIZES = {
  full = { rounds = 5, five = 4000, one = 10000, raw = 20000, starts = 1000,
    bulk = 20000, items = 10000, events = 10000, waiting = 4000, latency = 40,
    cold = 40, finished = 1000000, timers = 100000, depth = 7, asleep = 1000000,
    probe = { 128, 384 }, changes = 40,
    record = 1000000, beside = 2000, patience = 270, rate = 400,
    live = 10000, frames = 3600, paced = true, trust = 500,
    trust_rounds = 15, specs = 1000 },
  quick = { rounds = 3, five = 2000, one = 4000, raw = 10000, starts = 1000,
    bulk = 10000, items = 2000, events = 2000, waiting = 4000, latency = 20,
    cold = 20, finished = 100000, timers = 10000, depth = 5, asleep = 100000,
    probe = { 64, 192 }, changes = 20,
    record = 100000, beside = 500, patience = 150, rate = 200,
    live = 10000, frames = 1200, paced = true, trust = 300,
    trust_rounds = 9, specs = 1000 },
  tiny = { rounds = 1, five = 20, one = 20, raw = 640, starts = 5, bulk = 20,
    items = 20, events = 20, waiting = 4, latency = 2, cold = 1, finished = 50,
    timers = 5, depth = 1, asleep = 50, probe = { 4, 8 }, changes = 2,
    record = 100, beside = 20, patience = 60, rate = 200,
    live = 40, frames = 20, trust = 4, trust_rounds = 1, specs = 5 },
}

--- Those that take turns, in this order.
local ROUND = {
  { "W1", throughput.W1, "steps/s" }, { "W2", throughput.W2, "steps/s" },
  { "W1x2", throughput.W1x2, "steps/s" },
  { "W2x2", throughput.W2x2, "steps/s" },
  { "W3", throughput.W3, "starts/s" },
  { "W3_bulk", throughput.W3_bulk, "starts/s" },
  { "W4", latency.W4, "ms" }, { "W4_signal", latency.W4_signal, "ms" },
  { "W6", throughput.W6, "steps/s" }, { "each", throughput.each, "items/s" },
  { "children", throughput.children, "items/s" },
  { "W7", throughput.W7, "events/s" },
  { "W7_single", throughput.W7_single, "events/s" },
}

---- measuring ---------------------------------------------------------------

local function say(...) io.stderr:write(string.format(...), "\n") end

local function usage(problem)
  say("bench: %s\nusage: bench [--quick] [--json] [--baseline FILE] [--save] "
    .. "[--record]\n             [--beside] [--frame] [--trust] [--kit] "
    .. "[--counts] [--only W1,W2]\n"
    .. "             [sqlite | postgres]",
    problem)
  os.exit(2)
end

--- Those of ROUND that are asked for.
---@param names string  "W1,W2"
local function named(names)
  local by_name, out = {}, {}
  for _, measure in ipairs(ROUND) do by_name[measure[1]] = measure end
  for name in names:gmatch "[^,]+" do
    out[#out + 1] = by_name[name]
      or usage(("no measure \"%s\" takes turns"):format(name))
  end
  return out
end

--- All rounds of these, summed up by measure.
local function in_turns(bench, store, size, measures)
  local samples, out = {}, {}
  store:raw "setup"
  for i = 1, size.rounds do
    local took = {}
    for k, measure in ipairs(measures) do
      local name, began = measure[1], mono()
      samples[name] = samples[name] or {}
      samples[name][i] = measure[2](bench, store, size)
      took[k] = ("%s %.0f s"):format(name, mono() - began)
    end
    say("%s: round %d of %d: %s", store.name, i, size.rounds,
      table.concat(took, ", "))
  end
  for _, measure in ipairs(measures) do
    local list = samples[measure[1]]
    if list[1] then out[measure[1]] = report.sum_up(list, measure[3]) end
  end
  return out
end

--- Those that can be asked for alone, by an option each, and come last.
local ALONE = {
  { "record", record.measure, "a record of %d" },
  { "beside", beside.measure, "beside who prunes and relays, a record of %d" },
  { "frame", frame.measure, "frames" },
  { "trust", trust.measure, "levels of trust" },
  { "kit", kit.measure, "specs" },
}

--- Of these what is asked for, or else all.
---@param options? table<string, boolean>
local function measure_alone(bench, store, size, options)
  local out = {}
  for _, one in ipairs(ALONE) do
    local name, measure, what = table.unpack(one)
    if not options or options[name] then
      say("%s: " .. what, store.name, size.record)
      out[name] = measure(bench, store, size)
    end
  end
  return out
end

local function add_counts(bench, store, size, out)
  say("%s: counts", store.name)
  for workload, told in pairs(counts.of_a_step(bench, store, size)) do
    for name, value in pairs(told) do out[workload][name] = value end
  end
end

--- What a step takes, which does not hang on what else the machine does.
local function measure_counts(bench, store, size)
  local out = in_turns(bench, store, size, { ROUND[1], ROUND[2] })
  add_counts(bench, store, size, out)
  return out
end

local function measure_store(bench, store, size)
  local out = in_turns(bench, store, size, ROUND)
  add_counts(bench, store, size, out)
  out[store.bytes_name:gsub("per_$", "small_change")] =
    counts.small_change(bench, store, size)
  out.branches_ratio = latency.branches(store, size)
  if store.name == "sqlite" then
    out.cold_start_ms = latency.cold_start(bench, store, size)
  end
  say("%s: beside %d finished ones and %d timers", store.name, size.finished,
    size.timers)
  local deep <close> = store:another "deep"
  out.W5 = depth.W5(bench, deep, size)
  say("%s: beside %d that wait", store.name, size.asleep)
  for name, value in pairs(memory.measure(bench, deep, size)) do
    out[name] = value
  end
  for name, value in pairs(measure_alone(bench, store, size)) do
    out[name] = value
  end
  return out
end

---- the command -------------------------------------------------------------

--- Options that stand for themselves.
local FLAGS = { ["--json"] = "json", ["--save"] = "save",
  ["--counts"] = "counts" }
for _, one in ipairs(ALONE) do FLAGS["--" .. one[1]] = one[1] end

--- What follows from them.
local function complete(options)
  if #options.stores == 0 then options.stores = { "postgres", "sqlite" } end
  options.is_part = options.counts or options.only
  for _, one in ipairs(ALONE) do
    options.is_part = options.is_part or options[one[1]]
  end
  if options.is_part and options.save then
    usage "--save wants all of it, not a part"
  end
  return options
end

local function read_arguments()
  local options = { size = "full", baseline = here .. "/baseline.json",
    stores = {} }
  local i = 1
  while arg[i] do
    local word = arg[i]
    if word == "--quick" or word == "--tiny" then
      options.size = word:sub(3)
    elseif FLAGS[word] then
      options[FLAGS[word]] = true
    elseif word == "--only" and arg[i + 1] then
      i = i + 1
      options.only = named(arg[i])
    elseif word == "--baseline" and arg[i + 1] then
      i = i + 1
      options.baseline = arg[i]
    elseif word == "sqlite" or word == "postgres" then
      table.insert(options.stores, word)
    else
      usage(("unknown argument \"%s\""):format(word))
    end
    i = i + 1
  end
  return complete(options)
end

local function open_store(name, dir)
  if name == "sqlite" then return stores.sqlite(build, dir) end
  return stores.postgres(build, os.getenv "PAWL_BENCH_PG"
    or usage "PAWL_BENCH_PG is not set; run ./dev bench")
end

local function measure_part(bench, store, size, options)
  if options.only then return in_turns(bench, store, size, options.only) end
  if options.counts then return measure_counts(bench, store, size) end
  return measure_alone(bench, store, size, options)
end

local function measure_all(options, results)
  local dir <close> = system.scratch()
  local size = SIZES[options.size]
  local bench = { here = here, build = build, dir = dir.path,
    workflows = here .. "/workflows/" }
  for _, name in ipairs(options.stores) do
    local store <close> = open_store(name, dir.path)
    results[name] = options.is_part
      and measure_part(bench, store, size, options)
      or measure_store(bench, store, size)
    results[name].version, results[name].settings = store.version,
      store.settings
    results.versions[name] = store.version
  end
  if not options.is_part then
    results.peers = peers.run(dir.path, options.size)
  end
end

--- What is told of all stores together: the cold start of the one that needs
--- no server, and the most that a worker takes.
local function add_totals(options, results)
  if results.sqlite then -- its key is the same whoever serves the others
    results.frame, results.sqlite.frame = results.sqlite.frame, nil
  end
  if options.is_part then return end
  results.rss_mb = 0
  for _, name in ipairs { "postgres", "sqlite" } do
    local store = results[name] or {}
    results.rss_mb = math.max(results.rss_mb, store.rss_mb or 0)
    results.cold_start_ms = results.cold_start_ms or store.cold_start_ms
  end
end

--- With the run of this size, or else with one of another.
local function compare(options, results)
  local runs = baseline.read(options.baseline) or {}
  local size = runs[options.size] and options.size or next(runs)
  return { file = options.baseline, size = size,
    changes = size and baseline.compare(runs[size], results) }
end

local function main()
  local options = read_arguments()
  local results = { size = options.size, machine = machine.facts(),
    versions = machine.versions() }
  measure_all(options, results)
  add_totals(options, results)
  if not options.is_part then
    results.targets = targets.check(results)
    results.baseline = compare(options, results)
  end
  if options.save then baseline.save(options.baseline, results) end
  print(options.json and report.json(results) or report.text(results))
end

main()
