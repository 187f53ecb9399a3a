--- What a step costs a worker in allocations and instructions, and what a
--- small change writes beside much that stays. None of it depends on how fast
--- the machine is.
local pawl = require "pawl"
local report = require "report"
local system = require "system_calls"
local throughput = require "throughput"

local counts = {}

local WORK <const> = {
  W1 = { file = "five_steps.lua", steps = 5 },
  W2 = { file = "one_step.lua", steps = 1 },
}

local TIMES = 2 -- each; the least counts, as a slow worker does more

--- The least of several observations.
local function least(n, observed)
  local out = observed(n)
  for _ = 2, TIMES do
    for name, number in pairs(observed(n)) do
      out[name] = math.min(out[name], number)
    end
  end
  return out
end

--- Runs a workload with two numbers of steps in a process under observation;
--- the difference is what steps cost, without what starting up does.
---@param work { file: string, steps: integer }  of each instance
---@param size integer[]  instances of five steps: few, many
---@param observed fun(n: integer): table<string, number>
local function per_step(work, size, observed)
  local few = least(size[1] * 5 // work.steps, observed)
  local many = least(size[2] * 5 // work.steps, observed)
  local out = {}
  for name, number in pairs(many) do
    out[name] = (number - few[name]) / (5 * (size[2] - size[1]))
  end
  return out
end

local function drain(bench, store, work, n, before)
  throughput.drain_apart(bench, store, work.file, n, 1, before)
end

--- Of Lua's allocator and of everything else. {} where the library that
--- counts is not to be had.
local function allocations(bench, store, work, size)
  local library = bench.build .. "/pawl_bench_allocs.so"
  if not system.read(library) then return {} end
  local told = bench.dir .. "/allocs"
  local found = per_step(work, size, function(n)
    drain(bench, store, work, n,
      ("env LD_PRELOAD=%s PAWL_BENCH_ALLOCS=%s"):format(system.line(library),
        system.line(told)))
    local lua, c = system.read(told):match "lua (%d+)%s+c (%d+)"
    return { lua = tonumber(lua), c = tonumber(c) }
  end)
  return { lua_allocations_per_step = found.lua,
    c_allocations_per_step = found.c }
end

--- Instructions of the worker's process, the server's not among them.
local function instructions(bench, store, work, size)
  if not os.execute "command -v valgrind >/dev/null" then return {} end
  local log = bench.dir .. "/callgrind"
  local found = per_step(work, size, function(n)
    drain(bench, store, work, n, system.line("valgrind", "--tool=callgrind",
      "--callgrind-out-file=/dev/null", "--log-file=" .. log))
    return { n = tonumber(system.read(log):match "Collected : (%d+)") }
  end)
  return { instructions_per_step = found.n }
end

--- Of a step of each workload.
---@return table<string, table<string, number>>
function counts.of_a_step(bench, store, size)
  local out = {}
  for workload, work in pairs(WORK) do
    out[workload] = allocations(bench, store, work, size.probe)
    for name, n in pairs(instructions(bench, store, work, size.probe)) do
      out[workload][name] = n
    end
  end
  return out
end

--- Median of the bytes that a step writes which changes a number beside 100 KB
--- of other variables.
function counts.small_change(bench, store, size)
  local engine <close> = assert(pawl.open(store.url))
  local code = assert(engine:load(bench.workflows .. "small_change.lua"))
    .workflow
  assert(engine:start(code, { times = size.changes + 3 }))
  for _ = 1, 3 do assert(engine:tick(0)) end
  local bytes = {}
  for i = 1, size.changes do
    local before = store:bytes()
    assert(assert(engine:tick(0)).steps == 1, "not one step")
    bytes[i] = store:bytes() - before
  end
  assert(engine:run {})
  return report.median(bytes)
end

return counts
