--- What a step costs a worker in allocations and instructions, and what a
--- small change writes beside much that stays. None of it depends on how fast
--- the machine is.
local pawl = require "pawl"
local report = require "report"
local system = require "system_calls"
local throughput = require "throughput"

local counts = {}

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

--- Runs W1 with two numbers of instances in a process under observation; the
--- difference is what steps cost, without what starting up does.
---@param size integer[]  instances: few, many
---@param observed fun(n: integer): table<string, number>
local function per_step(size, observed)
  local few, many = least(size[1], observed), least(size[2], observed)
  local out = {}
  for name, number in pairs(many) do
    out[name] = (number - few[name]) / (5 * (size[2] - size[1]))
  end
  return out
end

local function drain(bench, store, n, before)
  throughput.drain_apart(bench, store, "five_steps.lua", n, 1, before)
end

--- Of Lua's allocator and of everything else. {} where the library that
--- counts is not to be had.
local function allocations(bench, store, size)
  local library = bench.build .. "/pawl_bench_allocs.so"
  if not system.read(library) then return {} end
  local told = bench.dir .. "/allocs"
  local found = per_step(size, function(n)
    drain(bench, store, n, ("env LD_PRELOAD=%s PAWL_BENCH_ALLOCS=%s"):format(
      system.line(library), system.line(told)))
    local lua, c = system.read(told):match "lua (%d+)%s+c (%d+)"
    return { lua = tonumber(lua), c = tonumber(c) }
  end)
  return { lua_allocations_per_step = found.lua,
    c_allocations_per_step = found.c }
end

--- Instructions of the worker's process, the server's not among them.
local function instructions(bench, store, size)
  if not os.execute "command -v valgrind >/dev/null" then return {} end
  local log = bench.dir .. "/callgrind"
  local found = per_step(size, function(n)
    drain(bench, store, n, system.line("valgrind", "--tool=callgrind",
      "--callgrind-out-file=/dev/null", "--log-file=" .. log))
    return { n = tonumber(system.read(log):match "Collected : (%d+)") }
  end)
  return { instructions_per_step = found.n }
end

--- Of a step of W1.
function counts.of_a_step(bench, store, size)
  local out = allocations(bench, store, size.probe)
  for name, n in pairs(instructions(bench, store, size.probe)) do
    out[name] = n
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
