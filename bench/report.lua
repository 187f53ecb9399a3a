--- What was measured, summed up, and told to people and to programs.
local json = require("pawl").json

local report = {}

---- summing up --------------------------------------------------------------

local function sorted(list)
  local out = table.move(list, 1, #list, 1, {})
  table.sort(out)
  return out
end

---@param list number[]
function report.median(list)
  local all = sorted(list)
  local half = #all // 2
  if #all % 2 == 1 then return all[half + 1] end
  return (all[half] + all[half + 1]) / 2
end

---@param list number[]
---@param percent number
function report.percentile(list, percent)
  local all = sorted(list)
  return all[math.max(1, math.ceil(#all * percent / 100))]
end

--- What is counted can only become more by what else the machine does, as a
--- slow worker commits before its batches are full.
local function of_rounds(name, list)
  if name == "hot_share" then return math.max(table.unpack(list)) end
  if name:find "_per_%a+$" then return math.min(table.unpack(list)) end
  return report.median(list)
end

--- One measure of several rounds: the least of its counts, medians of its
--- times and rates, their spread, and value over raw.
---@param rounds table<string, number>[]
---@param unit string
function report.sum_up(rounds, unit)
  local out, lists = { unit = unit }, {}
  for _, sample in ipairs(rounds) do
    for name, value in pairs(sample) do
      lists[name] = lists[name] or {}
      table.insert(lists[name], value)
    end
  end
  for name, list in pairs(lists) do out[name] = of_rounds(name, list) end
  out.lowest = math.min(table.unpack(lists.value))
  out.highest = math.max(table.unpack(lists.value))
  if out.raw then out.ratio = out.value / out.raw end
  return out
end

---- for programs ------------------------------------------------------------

--- Four digits say all that was measured.
local function tidy(value)
  if type(value) == "table" then
    local out = {}
    for name, inner in pairs(value) do out[name] = tidy(inner) end
    return out
  elseif math.type(value) ~= "float" then
    return value
  end
  local short = tonumber(("%.4g"):format(value))
  if math.abs(value) >= 1000 then short = math.floor(value + 0.5) end
  return math.tointeger(short) or short
end

---@param results table
function report.json(results) return json.encode(tidy(results)) end

local function names_of(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function write(value, indent, out)
  if type(value) ~= "table" or value[1] ~= nil then
    out[#out + 1] = json.encode(value)
    return
  end
  out[#out + 1] = "{\n"
  for i, name in ipairs(names_of(value)) do
    out[#out + 1] = ("%s%s  %s: "):format(i > 1 and ",\n" or "", indent,
      json.encode(name))
    write(value[name], indent .. "  ", out)
  end
  out[#out + 1] = "\n" .. indent .. "}"
end

--- The same with a line for each number, in a fixed order: for a file whose
--- changes are read.
function report.pretty(results)
  local out = {}
  write(tidy(results), "", out)
  return table.concat(out)
end

---- for people --------------------------------------------------------------

local TITLES = {
  { "W1", "five steps an instance, one worker" },
  { "W1x2", "the same, two workers" },
  { "W2", "one step an instance, one worker" },
  { "W2x2", "the same, two workers" },
  { "W3", "starts, one at a time" },
  { "W3_bulk", "starts, 1,000 a call" },
  { "W4", "start to finished, idle" },
  { "W4_signal", "signal to finished, idle" },
  { "W5", "W2 beside many rows; raw: without" },
  { "W6", "steps that wait 50 ms; raw: ideal" },
  { "W7", "events queued for one instance; raw: a tenth of them" },
  { "W7_single", "events to one instance, one by one; raw: queued" },
  { "each", "items of one fan-out; raw: a tenth" },
  { "children", "children of one fan-out; raw: a tenth" },
  { "beside", "W1 while pruned and relayed; raw: empty" },
}

--- Behind a measure: { field, text }. %s is what it is counted by.
local DETAILS = {
  { "round_trips_per_%s", "%.4f round trips" },
  { "statements_per_%s", "%.4f statements" },
  { "transactions_per_%s", "%.4f transactions" },
  { "wal_bytes_per_%s", "%.0f bytes of WAL" },
  { "bytes_per_%s", "%.0f bytes written" },
  { "raw_wal_bytes_per_%s", "raw %.0f" },
  { "raw_bytes_per_%s", "raw %.0f" },
  { "hot_share", "%.3f of the updates HOT" },
  { "lua_allocations_per_%s", "%.1f allocations by Lua" },
  { "c_allocations_per_%s", "%.1f by C" },
  { "instructions_per_%s", "%.0f instructions" },
  { "step_done", "the step done after %.2f ms" },
  { "p99", "p99 %.2f ms" },
}

local function details(measure)
  local words = {}
  for _, detail in ipairs(DETAILS) do
    for _, by in ipairs { "step", "start", "item" } do
      local name = detail[1]:format(by)
      if measure[name] and (by == "step" or name ~= detail[1]) then
        words[#words + 1] = detail[2]:format(measure[name])
      end
    end
  end
  return table.concat(words, ", ")
end

local function number(value)
  if not value then return "-" end
  return (value >= 100 and "%.0f" or value >= 10 and "%.1f"
    or value >= 1 and "%.3f" or "%.4f"):format(value)
end

local function pruned_line(gone, lines)
  lines[#lines + 1] = ("    pruned %d in %.1f s, %s instances/s, %.1f ms the "
    .. "longest transaction"):format(gone.instances, gone.seconds,
    number(gone.instances / gone.seconds), gone.longest_ms)
end

--- The slowest first: what is to be looked at.
local function record_lines(found, lines)
  local names = names_of(found.ms)
  table.sort(names, function(a, b) return found.ms[a] > found.ms[b] end)
  lines[#lines + 1] = ("  record of %d, filled in %.0f s; ms"):format(
    found.finished, found.fill_seconds)
  for _, name in ipairs(names) do
    lines[#lines + 1] = ("    %-24s %8s"):format(name, number(found.ms[name]))
  end
  pruned_line(found.pruned, lines)
end

local function trust_lines(t, lines)
  lines[#lines + 1] = ("  trust: a step %.1f us trusted, %.1f limited, "
    .. "%.1f isolated: %.2f of limited"):format(t.trusted_us, t.limited_us,
    t.isolated_us, t.isolated_ratio)
end

local function beside_lines(found, lines)
  lines[#lines + 1] = ("            claims %s/s, ratio %.2f; of elsewhere %.2f")
    :format(number(found.claims), found.claims_ratio,
      found.claims_elsewhere_ratio)
  lines[#lines + 1] = ("            %d whole turns; elsewhere %s, ratio %.2f; "
    .. "alone beside %d: %s, ratio %.2f"):format(found.turns,
    number(found.elsewhere), found.elsewhere_ratio, found.finished,
    number(found.full), found.full_ratio)
  pruned_line(found.pruned, lines)
  lines[#lines + 1] = ("    of that rested %.1f s"):format(found.pruned.rested)
  lines[#lines + 1] = ("    relayed %d in %.1f s, %s events/s"):format(
    found.relayed.events, found.relayed.seconds, number(found.relayed.rate))
end

local function kit_lines(k, lines)
  lines[#lines + 1] = ("  kit: a spec %.1f ms, of which processor %.1f, "
    .. "%d in each round"):format(k.ms, k.cpu_ms, k.specs)
end

local function store_lines(name, measures, lines)
  lines[#lines + 1] = name
  for _, title in ipairs(TITLES) do
    local m = measures[title[1]]
    if m then
      lines[#lines + 1] = ("  %-9s %-34s %8s %-8s raw %8s   ratio %.2f"):format(
        title[1], title[2], number(m.value), m.unit, number(m.raw), m.ratio)
      local more = details(m)
      if more ~= "" then lines[#lines + 1] = "            " .. more end
    end
  end
  for _, one in ipairs {
    { "rss_mb", "MB of a busy worker" },
    { "rss_waiting_ratio", "times that beside waiting instances" },
    { "branches_ratio", "times one wait, of eight branches that wait" },
    { "wal_bytes_small_change", "bytes of WAL for a small change" },
    { "bytes_small_change", "bytes written for a small change" },
  } do
    if measures[one[1]] then
      lines[#lines + 1] = ("  %s %s"):format(number(measures[one[1]]), one[2])
    end
  end
  if measures.beside then beside_lines(measures.beside, lines) end
  if measures.record then record_lines(measures.record, lines) end
  if measures.trust then trust_lines(measures.trust, lines) end
  if measures.kit then kit_lines(measures.kit, lines) end
end

--- Microseconds of a tick, and the share that was late by a millisecond.
local function frame_lines(results, lines)
  if not results.frame then return end
  lines[#lines + 1] = "frames (a tick of 2 ms, four instances due)"
  for _, place in ipairs { "file", "memory" } do
    for _, kind in ipairs { "every", "grouped", "threaded", "rarely",
      "save" } do
      local f = results.frame[place][kind]
      lines[#lines + 1] = ("  %-6s %-8s p50 %5.0f  p99 %5.0f  p99.9 %6.0f us, "
        .. "over by 1 ms %.4f, %5.0f bytes a step, idle %.1f us"):format(place,
        kind, f.p50_us, f.p99_us, f.p999_us, f.over_1ms, f.bytes_per_step,
        f.idle_us)
    end
  end
  lines[#lines + 1] = ("  old    %5.0f bytes a step of twenty turns each")
    :format(results.frame.old.bytes_per_step)
end

local function target_lines(results, lines)
  lines[#lines + 1] = "targets"
  for _, t in ipairs(results.targets) do
    local verdict = t.met == nil and "not measured" or t.met and "met"
      or "NOT met"
    lines[#lines + 1] = ("  %-38s %8s  %s %8s  %s%s"):format(t.figure,
      number(t.value), t.at, number(t.limit), verdict,
      t.note and ("  (%s)"):format(t.note) or "")
  end
end

local function peer_lines(results, lines)
  lines[#lines + 1] = "peers"
  for _, name in ipairs(names_of(results.peers)) do
    local words, peer = {}, results.peers[name]
    for _, measure in ipairs(names_of(peer)) do
      local value = peer[measure]
      words[#words + 1] = measure .. " "
        .. (type(value) == "number" and number(value) or value)
    end
    lines[#lines + 1] = ("  %-20s %s"):format(name, table.concat(words, ", "))
  end
end

local function baseline_lines(results, lines)
  local found = results.baseline
  local changes = found.changes
  lines[#lines + 1] = not changes
    and ("no run to compare with in %s"):format(found.file)
    or ("against the %s run in %s: %s"):format(found.size, found.file,
      #changes == 0 and "nothing worse, nothing better" or "")
  for _, one in ipairs(found.changes or {}) do
    lines[#lines + 1] = ("  %-6s %-44s was %8s, is %8s"):format(
      one.worse and "worse" or "better", one.figure, number(one.was),
      number(one.is))
  end
end

local function machine_lines(results, lines)
  local m = results.machine
  lines[1] = ("%d cores, %s, %.0f GB, %s, %s, Lua %s; %s run"):format(m.cores,
    m.cpu or "?", m.memory_gb or 0, m.os or "?", m.kernel,
    results.versions.lua, results.size)
  for _, name in ipairs { "postgres", "sqlite" } do
    local words = {}
    for _, setting in ipairs(names_of((results[name] or {}).settings or {})) do
      words[#words + 1] = setting .. "=" .. results[name].settings[setting]
    end
    lines[#lines + 1] = words[1] and name .. ": " .. table.concat(words, ", ")
  end
end

---@param results table  as printed by --json
function report.text(results)
  local lines = {}
  machine_lines(results, lines)
  for _, name in ipairs { "postgres", "sqlite" } do
    if results[name] then
      store_lines(("%s %s"):format(name, results.versions[name]),
        results[name], lines)
    end
  end
  if results.cold_start_ms then
    lines[#lines + 1] = ("cold start: %.1f ms"):format(results.cold_start_ms)
  end
  frame_lines(results, lines)
  if results.peers then peer_lines(results, lines) end
  if results.targets then target_lines(results, lines) end
  if results.baseline then baseline_lines(results, lines) end
  return table.concat(lines, "\n")
end

return report
