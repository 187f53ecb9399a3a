--- Specs of workflows as people write them: an engine each on a store in
--- memory, something stubbed, an instance that runs and what it came to. What
--- busted takes is not in it. In rounds, the median of which counts: by the
--- clock, and of processor time, which others at work disturb less.
local mono = require("pawl.core").mono
local pawl = require "pawl"
local report = require "report"
local test = require "pawl.testing"

local kit = {}

local function order()
  local flow = pawl.workflow { code = "bench.order",
    input = { price = "number > 0" } }
  flow:step("reserve", { run = function(ctx) ctx.vars.items = 1 end })
  flow:step("charge", { run = function(ctx)
    return ctx.host.charge { price = ctx.input.price,
      key = ctx.idempotency_key() }
  end, into = "payment" })
  flow:timer("wait", { after = "14d" })
  flow:finish("done", { output = function(ctx) return ctx.vars.payment end })
  return flow
end

local function spec(seed)
  local engine <close>, clock = test.engine { load = order(), seed = seed,
    store = "memory", host = { charge = true } }
  engine:stub_host("charge", { returns = { paid = 30 } })
  local id = engine:start("bench.order", { price = 30 })
  engine:run_until_idle()
  assert(test.path(engine, id)[2] == "charge")
  clock:advance "14d"
  local done = engine:get(id)
  assert(done.status == "completed" and done.output.paid == 30)
end

--- Of SQLite alone: a schema of PostgreSQL is nobody's unit test.
function kit.measure(_, store, size)
  if store.name ~= "sqlite" then return end
  local ms, cpu_ms = {}, {}
  for i = 1, size.rounds do
    local began, cpu = mono(), os.clock()
    for seed = 1, size.specs do spec(seed) end
    ms[i] = (mono() - began) * 1000 / size.specs
    cpu_ms[i] = (os.clock() - cpu) * 1000 / size.specs
  end
  return { specs = size.specs, ms = report.median(ms),
    cpu_ms = report.median(cpu_ms) }
end

return kit
