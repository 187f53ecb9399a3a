--- How long one instance takes where nothing else is to be done: W4, W4_signal,
--- branches that wait and the cold start. Times are milliseconds, medians.
local flows = require "idle_flows"
local mono = require("pawl.core").mono
local pawl = require "pawl"
local report = require "report"
local system = require "system_calls"

local latency = {}

--- Between two, at most. A worker that is told of work no more often than now
--- and then must not look fast because the next one comes long after.
local APART, SOON = 0.25, 0.02

--- Notes of many: when it was done, and when that was on disk.
local function sum_up(store, done, durable)
  return { value = report.median(durable), p99 = report.percentile(durable, 99),
    step_done = report.median(done), raw = store:raw("three", #durable).p50_ms }
end

---- PostgreSQL: the worker is a process of its own ---------------------------

local function idle_worker(bench, store, n)
  local pipe = assert(io.popen(system.line("lua5.4", bench.here .. "/idle.lua",
    bench.build, store.url, n)))
  assert(pipe:read "l" == "ready", "the idle worker does not start")
  return pipe
end

--- `prepare` makes ready what `act` then sets off.
local function with_worker(bench, store, n, prepare, act)
  local engine <close> = assert(pawl.open(store.url))
  local pipe = idle_worker(bench, store, n + 1)
  local done, durable = {}, {}
  for i = 0, n do -- the first one warms up
    local id = prepare(engine, false)
    system.pause(APART)
    local began = mono()
    act(engine, id)
    local done_at, durable_at = pipe:read("n", "n")
    if i > 0 then
      done[i] = (done_at - began) * 1e3
      durable[i] = (durable_at - began) * 1e3
    end
  end
  pipe:close()
  return sum_up(store, done, durable)
end

---- SQLite: the worker is who starts it --------------------------------------

local function in_process(store, n, flow_of, prepare, act)
  local done_at
  local engine <close> = assert(pawl.open(store.url))
  assert(engine:load(flow_of(function() done_at = mono() end)))
  local done, durable = {}, {}
  for i = 0, n do
    local id = prepare(engine, true)
    system.pause(SOON)
    local began = mono()
    act(engine, id)
    repeat until assert(engine:tick(0)).ended > 0
    if i > 0 then
      done[i], durable[i] = (done_at - began) * 1e3, (mono() - began) * 1e3
    end
  end
  return sum_up(store, done, durable)
end

---- the measures ------------------------------------------------------------

local function nothing() end

local function start(engine) assert(engine:start "bench.idle") end

--- Started, and come to its wait; brought there by this process, or by the
--- worker.
local function wait_there(engine, is_here)
  if not is_here then system.sleep(0.06) end -- the last wake-up was just now
  local id = assert(engine:start "bench.signal")
  local deadline = mono() + 10
  repeat
    if is_here then assert(engine:tick(0)) else system.sleep(0.001) end
    assert(mono() < deadline, "an instance does not come to its wait")
  until assert(engine:get(id)).status == "waiting"
  return id
end

local function signal(engine, id)
  assert(engine:signal { name = "bench.go", instance = id })
end

--- start -> finished.
function latency.W4(bench, store, size)
  if store.name == "postgres" then
    return with_worker(bench, store, size.latency, nothing, start)
  end
  return in_process(store, size.latency, flows.step, nothing, start)
end

--- signal -> resumed and finished.
function latency.W4_signal(bench, store, size)
  if store.name == "postgres" then
    return with_worker(bench, store, size.latency, wait_there, signal)
  end
  return in_process(store, size.latency, flows.signal, wait_there, signal)
end

--- How long eight branches take that wait at one time, over how long each
--- waits.
function latency.branches(store, size)
  local SECONDS = 0.3
  local engine <close> = assert(pawl.open(store.url))
  assert(engine:load(flows.branches(8, SECONDS)))
  local times = {}
  for i = 1, math.min(size.latency, 5) do
    local began = mono()
    assert(engine:start "bench.branches")
    repeat
      local stats = assert(engine:tick(1))
      if stats.ended == 0 then assert(engine:wait(1)) end
    until stats.ended > 0
    times[i] = (mono() - began) / SECONDS
  end
  return report.median(times)
end

--- Of `pawl run` on a store that is there: from the start of the process to
--- the line that tells of a second step, which begins when the first one is on
--- disk. The shell that starts it counts too.
function latency.cold_start(bench, store, size)
  local command = ("PAWL_STORE=%s exec %s"):format(system.line(store.url),
    system.line(bench.build .. "/pawl", "run", bench.workflows
      .. "cold_start.lua"))
  local times = {}
  for i = 0, size.cold do
    system.pause(SOON)
    local began = mono()
    local pipe = assert(io.popen(command))
    repeat
      local text = assert(pipe:read "l", "no second step")
    until text:find "^step second"
    times[i] = (mono() - began) * 1e3
    pipe:read "a"
    assert(pipe:close())
  end
  return report.median(times)
end

return latency
