--- What is aimed at, in one place. `figure` is a path into what `--json`
--- prints; it has to be `least` or `most`, or, with `of`, that many times
--- another figure.
local targets = {}

local PEERS = { "graphile-worker", "pg-boss", "dbos", "openworkflow" }

targets.list = {
  { figure = "postgres.W1.ratio", least = 0.8 },
  { figure = "postgres.W1.value", least = 1, of = "peers.pg-boss.W1" },
  { figure = "postgres.W1x2.ratio", least = 0.65 },
  { figure = "postgres.W1x2.value", least = 1, of = "postgres.W1.value" },
  { figure = "sqlite.W1.ratio", least = 0.6 },
  { figure = "sqlite.W1.value", least = 10,
    of = "peers.openworkflow-sqlite.W1" },
  { figure = "postgres.W2.ratio", least = 0.5 },
  { figure = "postgres.W2x2.value", least = 1, best = "W2", among = PEERS },
  { figure = "postgres.W3.ratio", least = 0.8 },
  { figure = "postgres.W3_bulk.ratio", least = 0.6 },
  { figure = "postgres.W4.ratio", most = 2 },
  { figure = "postgres.W4.step_done", most = 0.6, best = "W4",
    among = PEERS },
  { figure = "sqlite.W4.value", most = 1 },
  { figure = "postgres.W4_signal.ratio", most = 2 },
  { figure = "postgres.W4_signal.step_done", most = 0.6,
    best = "W4_signal", among = PEERS },
  { figure = "sqlite.W4_signal.value", most = 1 },
  { figure = "postgres.W5.ratio", least = 0.9 },
  { figure = "sqlite.W5.ratio", least = 0.9 },
  { figure = "postgres.W6.ratio", least = 0.9 },
  { figure = "postgres.W7.ratio", least = 0.8 },
  { figure = "sqlite.W7.ratio", least = 0.8 },
  { figure = "postgres.children.transactions_per_item", most = 2.5 },
  { figure = "sqlite.children.transactions_per_item", most = 2.5 },
  { figure = "postgres.beside.ratio", least = 0.9 },
  { figure = "postgres.beside.claims_ratio", least = 0.9 },
  { figure = "postgres.beside.elsewhere_ratio", least = 0.9 },
  { figure = "sqlite.beside.ratio", least = 0.9 },
  { figure = "sqlite.beside.claims_ratio", least = 0.9 },
  { figure = "sqlite.beside.elsewhere_ratio", least = 0.9 },
  { figure = "postgres.beside.pruned.longest_ms", most = 50 },
  { figure = "sqlite.beside.pruned.longest_ms", most = 50 },
  { figure = "postgres.record.ms.stats", most = 20 },
  { figure = "sqlite.record.ms.stats", most = 20 },
  { figure = "frame.file.grouped.over_1ms", most = 0.001 },
  { figure = "frame.file.threaded.over_1ms", most = 0.001 },
  { figure = "frame.file.save.over_1ms", most = 0.001 },
  { figure = "frame.memory.grouped.over_1ms", most = 0.001 },
  { figure = "frame.memory.save.over_1ms", most = 0.001 },
  { figure = "frame.file.grouped.bytes_per_step", most = 1024 },
  { figure = "frame.file.rarely.bytes_per_step", most = 1024 },
  { figure = "frame.file.grouped.idle_us", most = 5 },
  { figure = "sqlite.trust.isolated_ratio", most = 3 },
  { figure = "sqlite.kit.ms", most = 5 },
  { figure = "postgres.wal_bytes_small_change", most = 8192 },
  { figure = "postgres.W1.wal_bytes_per_step", most = 900 },
  { figure = "postgres.W2.wal_bytes_per_step", most = 1800 },
  { figure = "postgres.W1.hot_share", least = 0.75 },
  { figure = "postgres.W1.statements_per_step", most = 0.06 },
  { figure = "postgres.W1.round_trips_per_step", most = 0.02 },
  { figure = "postgres.W2.statements_per_step", most = 0.08 },
  { figure = "postgres.W2.round_trips_per_step", most = 0.02 },
  { figure = "postgres.branches_ratio", most = 1.33 },
  { figure = "sqlite.branches_ratio", most = 1.33 },
  { figure = "cold_start_ms", most = 15 },
  { figure = "postgres.rss_mb", most = 16 },
  { figure = "sqlite.rss_mb", most = 16 },
  { figure = "postgres.rss_waiting_ratio", most = 1.1 },
  { figure = "sqlite.rss_waiting_ratio", most = 1.1 },
}

--- The number at a path; nil where something on the way is missing.
function targets.at(results, path)
  local value = results
  for name in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return tonumber(value)
end

--- The best that a peer of a list has, and who that is.
local function best_of(results, target)
  local best, name
  for _, peer in ipairs(target.among) do
    local value = targets.at(results, ("peers.%s.%s"):format(peer,
      target.best))
    if value and (not best or target.least and value > best
      or target.most and value < best) then
      best, name = value, peer
    end
  end
  return best, name
end

--- The limit as a number, and where it comes from; nil: not measured.
local function limit_of(results, target)
  local times = target.least or target.most
  if target.of then
    local value = targets.at(results, target.of)
    return value and times * value, ("%g x %s"):format(times, target.of)
  elseif target.best then
    local value, peer = best_of(results, target)
    return value and times * value, ("%g x the best peer's %s%s"):format(
      times, target.best, peer and ": " .. peer or "")
  end
  return times
end

--- Every target that this run is about, with what was found.
---@return { figure: string, at: string, limit?: number, value?: number,
---          met?: boolean, note?: string }[]
function targets.check(results)
  local out = {}
  for _, target in ipairs(targets.list) do
    local store = target.figure:match "^[^.]+"
    if results[store] then
      local limit, note = limit_of(results, target)
      local value, met = targets.at(results, target.figure), nil
      if limit and value then
        if target.least then met = value >= limit
        else met = value <= limit end
      end
      out[#out + 1] = { figure = target.figure, limit = limit, value = value,
        at = target.least and "at least" or "at most", met = met,
        note = note }
    end
  end
  return out
end

return targets
