--- What many other rows cost: W5, and the memory of a worker beside waiting
--- instances.
local copies = require "copies"
local mono = require("pawl.core").mono
local report = require "report"
local throughput = require "throughput"

local depth = {}

---- filling -----------------------------------------------------------------

local function fill(bench, store, file, kind, n, input)
  local id = copies.template(bench, store, file, input)
  copies.multiply(store, id, { kind = kind, n = n })
end

---@param size { finished: integer, timers: integer }
function depth.fill_past(bench, store, size)
  fill(bench, store, "one_step.lua", 1, size.finished, throughput.INPUT)
  fill(bench, store, "tomorrow.lua", 2, size.timers)
  store:settle()
end

function depth.fill_waiting(bench, store, n)
  fill(bench, store, "waits.lua", 3, n)
  store:settle()
end

---- W5 ----------------------------------------------------------------------

--- W2 in `deep`, over W2 in an empty store; in turns.
function depth.W5(bench, deep, size)
  local empty <close> = deep:another "empty"
  local began = mono()
  depth.fill_past(bench, deep, size)
  local filled = mono() - began
  local rounds = {}
  for i = 1, size.depth do
    local bare = throughput.drain(bench, empty, "one_step.lua", 2 * size.one, 1)
    rounds[i] = throughput.drain(bench, deep, "one_step.lua", 2 * size.one, 1)
    rounds[i].raw = bare.value
  end
  local measure = report.sum_up(rounds, "steps/s")
  measure.finished, measure.timers = size.finished, size.timers
  measure.fill_seconds = filled
  return measure
end

return depth
