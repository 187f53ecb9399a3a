--- Other engines, by a kit of theirs whose folder PAWL_PEERS names: its
--- run.sh starts a PostgreSQL of its own, and writes one JSON object a line
--- to $OUT, as { peer, m (the measure), steps_s, inst_s, ... }. Its variables
--- PEERS, ROUNDS and MEASURES choose what it runs.
local json = require("pawl").json
local report = require "report"
local system = require "system_calls"

local peers = {}

local MEASURES = { full = "w1,w1x2,w2,w2x2,w3,w4,w5,cold",
  quick = "w1,w2,w3,w4,cold", tiny = "w1" }

--- From a line of the kit: our name, and where the number is.
local READ = {
  { "w1", "W1", function(row) return row.steps_s end },
  { "w1x2", "W1x2", function(row) return row.steps_s end },
  { "w2", "W2", function(row) return row.inst_s end },
  { "w2x2", "W2x2", function(row) return row.inst_s end },
  { "w3", "W3", function(row) return row.single end },
  { "w3", "W3_bulk", function(row) return row.bulk end },
  { "w4", "W4", function(row) return row.run end },
  { "w4", "W4_signal", function(row) return row.signal end },
  { "w5 base", "W5_empty", function(row) return row.inst_s end },
  { "w5 deep", "W5_deep", function(row) return row.inst_s end },
  { "cold", "cold_start_ms", function(row) return row.ms end },
  { "cold", "rss_mb", function(row) return row.rss_mb end },
}

--- Adds a number, or all of a list.
local function add(list, value)
  if type(value) == "number" then list[#list + 1] = value end
  if type(value) == "table" then
    table.move(value, 1, #value, #list + 1, list)
  end
end

--- The kit gives a run 45 s; one that was not over by then has the rate of
--- what had ended, which says little about engines that go breadth first.
local function collect(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local row = assert(json.decode(line))
    local peer = found[row.peer] or { failed = {} }
    found[row.peer] = peer
    if row.error then table.insert(peer.failed, row.m .. ": " .. row.error) end
    if row.partial then
      table.insert(peer.failed, row.m .. ": not over in time")
    end
    for _, read in ipairs(READ) do
      if row.m == read[1] and not row.error and not row.partial then
        peer[read[2]] = peer[read[2]] or {}
        add(peer[read[2]], read[3](row))
      end
    end
  end
  return found
end

local function sum_up(found)
  local out = {}
  for name, peer in pairs(found) do
    out[name] = {}
    for measure, list in pairs(peer) do
      if measure == "failed" then
        out[name].failed = list[1] and table.concat(list, "; ")
      elseif list[1] then
        out[name][measure] = report.median(list)
      end
    end
    if out[name].W5_empty and out[name].W5_deep then
      out[name].W5 = out[name].W5_deep / out[name].W5_empty
    end
  end
  out.limit = nil -- the kit's own raw runs
  return out
end

--- Runs the kit, if there is one. PEERS, ROUNDS and MEASURES of the
--- environment go before what is chosen here.
---@return table<string, table<string, number>>?  by peer and measure
function peers.run(dir, size)
  local kit = os.getenv "PAWL_PEERS"
  if not kit or kit == "" then return nil end
  local out = dir .. "/peers.jsonl"
  io.stderr:write("peers: ", kit, "\n")
  -- not under our TMPDIR: its server may be run as somebody who cannot enter
  local line = ([[cd %s && TMPDIR=/tmp OUT=%s ROUNDS=${ROUNDS:-1} \
    MEASURES=${MEASURES:-%s} PORT=${PORT:-%d} \
    ./run.sh node bench.mjs >&2]]):format(system.line(kit), system.line(out),
    MEASURES[size], math.random(20000, 50000))
  local ok = os.execute(line)
  local text = system.read(out)
  if not text then error("peers: run.sh has told nothing; see above", 0) end
  if not ok then io.stderr:write "peers: run.sh has failed on the way\n" end
  return sum_up(collect(text))
end

return peers
