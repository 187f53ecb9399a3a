--- Resident memory of a worker, in MB: of `pawl worker` while it drains
--- five-step instances.
local depth = require "depth"
local pawl = require "pawl"
local system = require "system_calls"
local throughput = require "throughput"

local memory = {}

--- The highest that a worker has had when all were done.
local function busy_worker(bench, store, n)
  local path = bench.workflows .. "five_steps.lua"
  do
    local engine <close> = assert(pawl.open(store.url))
    throughput.fill(engine, assert(engine:load(path)).workflow, n)
  end
  local pipe = assert(io.popen("echo $$; exec " .. system.line(
    bench.build .. "/pawl", "worker", path, "--store", store.url,
    "--processes", 1, "--until-idle", "--quiet")))
  local pid, highest = assert(pipe:read "n"), 0
  repeat
    local now, high = system.memory(pid)
    highest = math.max(highest, high or 0)
    system.sleep(0.005)
  until not now
  assert(pipe:close(), "the worker has failed")
  return highest
end

--- Of a busy worker, and the same beside `size.asleep` instances that wait for
--- an event, of what it is on an empty store.
---@param beside bench.Store  the waiting ones are put there
function memory.measure(bench, beside, size)
  local empty <close> = beside:another "memory"
  depth.fill_waiting(bench, beside, size.asleep)
  local alone = busy_worker(bench, empty, size.five)
  local among = busy_worker(bench, beside, size.five)
  return { rss_mb = alone, rss_waiting_mb = among,
    rss_waiting_ratio = among / alone, waiting = size.asleep }
end

return memory
