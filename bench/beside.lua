--- W1 in a store with a record, while one process prunes half of that and
--- another relays what nobody has published.
---
--- In turns with W1 in an empty store, before and after with nothing else at
--- work (raw), and meanwhile (elsewhere), where the machine has as much to do
--- and the store has not: so that what is the store's own can be told from
--- what any other program would cost.
local mono = require("pawl.core").mono
local others = require "others"
local pawl = require "pawl"
local record = require "record"
local report = require "report"
local throughput = require "throughput"

local beside = {}

---@return table sample  of one turn
local function drain(bench, store, size)
  local sample = throughput.drain(bench, store, "five_steps.lua", size.beside,
    5)
  -- the others write, too
  sample[store.bytes_name .. "step"], sample.hot_share = nil, nil
  return sample
end

---@class bench.Rates  steps a second, a number for each turn
---@field raw number[]        nothing else is at work, the store is empty
---@field full number[]       nor here, beside the record
---@field elsewhere number[]  others are at work on the record, this is empty

local function alone(bench, full, empty, size, rates)
  for _ = 1, size.rounds do
    table.insert(rates.raw, drain(bench, empty, size).value)
    table.insert(rates.full, drain(bench, full, size).value)
  end
end

--- Turns until all others have ended. Those count to whose end all were at
--- work; in a run too small for any, the first.
---@param started bench.Other[]
---@return table[] samples  in the full store
---@return integer turns    how many of them count for that reason
local function among(bench, full, empty, size, rates, started)
  local samples, turns = {}, 0
  repeat
    local sample = drain(bench, full, size)
    local counts = others.all_at_work(started)
    if counts then turns = turns + 1 end
    if counts or #samples == 0 then samples[#samples + 1] = sample end
    local elsewhere = drain(bench, empty, size).value
    if others.all_at_work(started) or #rates.elsewhere == 0 then
      table.insert(rates.elsewhere, elsewhere)
    end
  until others.all_over(started)
  return samples, turns
end

--- What the others have told; of pruning, as record.lua does.
local function told_of(started)
  local pruned, relayed = table.unpack(others.finish(started))
  local function took(told) return told.ended - told.began end
  return {
    instances = pruned.instances, seconds = took(pruned),
    longest_ms = pruned.longest_us / 1e3,
  }, {
    events = relayed.events, seconds = took(relayed),
    rate = relayed.events / took(relayed),
  }
end

--- Nothing is left to publish, and nothing is amiss.
local function check(store)
  local engine <close> = assert(pawl.open(store.url))
  assert(#assert(engine.outbox:list { limit = 1 }) == 0,
    "the relay has left something")
  assert(assert(engine:health {}).sound, "what is left is not sound")
end

--- All turns; what they and the others came to.
local function take_turns(bench, full, empty, size)
  local rates = { raw = {}, full = {}, elsewhere = {} } ---@type bench.Rates
  alone(bench, full, empty, size, rates)
  local started = others.start(bench, full, { { "prune", record.HALF },
    { "relay" } })
  others.go(started)
  local samples, turns = among(bench, full, empty, size, rates, started)
  local pruned, relayed = told_of(started)
  alone(bench, full, empty, size, rates)
  for _, sample in ipairs(samples) do sample.raw = report.median(rates.raw) end
  local out = report.sum_up(samples, "steps/s")
  out.full, out.elsewhere = report.median(rates.full),
    report.median(rates.elsewhere)
  out.full_ratio, out.elsewhere_ratio = out.full / out.raw,
    out.value / out.elsewhere
  out.turns, out.pruned, out.relayed = turns, pruned, relayed
  return out
end

---@return table  a measure; value: beside both, in the full store
function beside.measure(bench, store, size)
  local full <close> = store:another "full"
  local empty <close> = store:another "empty"
  local began = mono()
  record.fill(bench, full, size.record)
  local filled = mono() - began
  local out = take_turns(bench, full, empty, size)
  out.finished, out.fill_seconds = size.record, filled
  check(full)
  return out
end

return beside
