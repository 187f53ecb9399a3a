--- What a step takes by how far its workflow is trusted: W1 in memory, where
--- nothing but the engine, Lua and, isolated, the way to another process is
--- measured. The levels take turns; of each the best of all rounds counts, as
--- all that disturbs a round makes it slower.
local mono = require("pawl.core").mono
local pawl = require "pawl"
local throughput = require "throughput"

local trust = {}

local LEVELS <const> = { "trusted", "limited", "isolated" }
local STEPS <const> = 5

--- Microseconds of a step, once all is warm.
local function drain(bench, level, n)
  local engine <close> = assert(pawl.open(":memory:", { state = "private",
    trust = { level = level, helper = bench.build .. "/pawl", time = 60 } }))
  assert(engine:load(bench.workflows .. "five_steps.lua"))
  assert(engine:start("bench.five_steps", throughput.INPUT))
  assert(engine:run())
  local items = {}
  for i = 1, n do items[i] = { input = throughput.INPUT } end
  assert(engine:start_many("bench.five_steps", items))
  local began = mono()
  assert(engine:run())
  return (mono() - began) * 1e6 / (n * STEPS)
end

--- Of SQLite alone: the store is none of it.
function trust.measure(bench, store, size)
  if store.name ~= "sqlite" then return end
  local best = {}
  for _ = 1, size.trust_rounds do
    for _, level in ipairs(LEVELS) do
      best[level] = math.min(best[level] or math.huge,
        drain(bench, level, size.trust))
    end
  end
  return { trusted_us = best.trusted, limited_us = best.limited,
    isolated_us = best.isolated,
    limited_ratio = best.limited / best.trusted,
    isolated_ratio = best.isolated / best.limited }
end

return trust
