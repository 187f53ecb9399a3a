--- W1, and claims, in a store with a record, while one process prunes half of
--- that, as `pawl prune` does it, and another relays what nobody has published,
--- as `pawl relay --rate` does.
---
--- In turns with W1 in an empty store, before and after with nothing else at
--- work (raw), and meanwhile (elsewhere), where the machine has as much to do
--- and the store has not: so that what is the store's own can be told from
--- what any other program would cost. Where they take longer than the turns
--- may (`patience`), they end alone.
local mono = require("pawl.core").mono
local others = require "others"
local pawl = require "pawl"
local record = require "record"
local report = require "report"
local throughput = require "throughput"

local beside = {}

---@return table sample  of one turn: W1; claims: instances of one step a second
local function drain(bench, store, size)
  local n = size.beside
  local sample = throughput.drain(bench, store, "five_steps.lua", n, 5)
  -- the others write, too
  sample[store.bytes_name .. "step"], sample.hot_share = nil, nil
  sample.claims = throughput.drain(bench, store, "one_step.lua", n * 4, 1)
    .value
  return sample
end

---@class bench.Rates  W1 and claims a second, a number for each turn
---@field raw table<string, number[]>        nothing else is at work, the store
---                                          is empty
---@field full table<string, number[]>       nor here, beside the record
---@field elsewhere table<string, number[]>  others are at work on the record,
---                                          this is empty

local function note(rates, name, sample)
  table.insert(rates[name].value, sample.value)
  table.insert(rates[name].claims, sample.claims)
end

local function alone(bench, full, empty, size, rates)
  for _ = 1, size.rounds do
    note(rates, "raw", drain(bench, empty, size))
    note(rates, "full", drain(bench, full, size))
  end
end

--- Turns until all others have ended, or nobody waits for that any more. Those
--- count to whose end all were at work; in a run too small for any, the first.
---@param started bench.Other[]
---@return table[] samples  in the full store
---@return integer turns    how many of them count for that reason
local function among(bench, full, empty, size, rates, started)
  local samples, turns = {}, 0
  local deadline = mono() + size.patience
  repeat
    local sample = drain(bench, full, size)
    local counts = others.all_at_work(started)
    if counts then turns = turns + 1 end
    if counts or #samples == 0 then samples[#samples + 1] = sample end
    local elsewhere = drain(bench, empty, size)
    if others.all_at_work(started) or #rates.elsewhere.value == 0 then
      note(rates, "elsewhere", elsewhere)
    end
  until others.all_over(started) or mono() > deadline
  return samples, turns
end

--- What the others have told; of pruning, as record.lua does.
local function told_of(started)
  local pruned, relayed = table.unpack(others.finish(started))
  local function took(told) return told.ended - told.began end
  return {
    instances = pruned.instances, seconds = took(pruned),
    longest_ms = pruned.longest_us / 1e3, rested = pruned.rested_us / 1e6,
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

--- Medians of W1 beside both, and of claims, over those of one kind of turns.
local function sum_up(samples, rates)
  local raw = report.median(rates.raw.value)
  for _, sample in ipairs(samples) do sample.raw = raw end
  local out = report.sum_up(samples, "steps/s")
  out.claims_ratio = out.claims / report.median(rates.raw.claims)
  out.full = report.median(rates.full.value)
  out.full_ratio = out.full / out.raw
  out.elsewhere = report.median(rates.elsewhere.value)
  out.elsewhere_ratio = out.value / out.elsewhere
  out.claims_elsewhere_ratio = out.claims
    / report.median(rates.elsewhere.claims)
  return out
end

--- All turns; what they and the others came to.
local function take_turns(bench, full, empty, size)
  local rates = {} ---@type bench.Rates
  for _, name in ipairs { "raw", "full", "elsewhere" } do
    rates[name] = { value = {}, claims = {} }
  end
  alone(bench, full, empty, size, rates)
  local started = others.start(bench, full, { { "prune", record.HALF },
    { "relay", tostring(size.rate) } })
  others.go(started)
  local samples, turns = among(bench, full, empty, size, rates, started)
  local pruned, relayed = told_of(started)
  alone(bench, full, empty, size, rates)
  local out = sum_up(samples, rates)
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
