--- What was measured, for people and for programs.
local json = require("pawl").json

local report = {}

---@param list number[]
function report.median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local half = #sorted // 2
  if #sorted % 2 == 1 then return sorted[half + 1] end
  return (sorted[half] + sorted[half + 1]) / 2
end

local function round(x, digits)
  local scale = 10 ^ digits
  return math.floor(x * scale + 0.5) / scale
end

--- Rates are whole numbers; what is counted per step is not.
local function tidy(measure)
  local out = {}
  for name, value in pairs(measure) do
    if type(value) ~= "number" then
      out[name] = value
    elseif value >= 100 then
      out[name] = math.tointeger(round(value, 0))
    else
      out[name] = round(value, 4)
    end
  end
  return out
end

---@param results table<string, table<string, table>>  store, measure
function report.json(results)
  local out = {}
  for store, measures in pairs(results) do
    out[store] = {}
    for name, measure in pairs(measures) do
      out[store][name] = type(measure) == "table" and tidy(measure) or measure
    end
  end
  return json.encode(out)
end

local TITLES = {
  W1 = "five steps an instance, one worker",
  W2 = "one step an instance, one worker",
  W3 = "starts, one at a time",
  W1x2 = "five steps an instance, two workers",
  W3_bulk = "starts, 1,000 a call",
}

--- Behind the rates: { field, text }.
local DETAILS = {
  { "round_trips_per_step", "%.4f round trips" },
  { "statements_per_step", "%.4f statements" },
  { "transactions_per_step", "%.4f transactions" },
  { "wal_bytes_per_step", "%.0f bytes of WAL" },
  { "bytes_per_step", "%.0f bytes written" },
  { "raw_bytes_per_step", "(raw %.0f)" },
}

local function details(measure)
  local words = {}
  for _, detail in ipairs(DETAILS) do
    local value = measure[detail[1]]
    if value then words[#words + 1] = detail[2]:format(value) end
  end
  return table.concat(words, ", "):gsub(", %(", " (")
end

local function spread(list)
  local low, high = math.huge, 0
  for _, x in ipairs(list) do
    low, high = math.min(low, x), math.max(high, x)
  end
  return ("%.0f to %.0f"):format(low, high)
end

---@param store bench.Store
---@param measures table<string, table>
---@param rounds table<string, { value: number[], raw: number[] }>
function report.text(store, measures, rounds)
  local lines = { ("%s (%s)"):format(store.version, store.durability) }
  for _, name in ipairs { "W1", "W1x2", "W2", "W3", "W3_bulk" } do
    local m = measures[name]
    lines[#lines + 1] = m and
      ("  %-7s %-36s %7.0f %-8s raw %7.0f   ratio %.2f"):format(name,
      TITLES[name], m.value, m.unit, m.raw, m.ratio)
    if name == "W1" then
      lines[#lines + 1] = "     a step: " .. details(m)
      if m.hot_share then
        lines[#lines + 1] = ("     %.0f %% of the updates of pawl.instance "
          .. "are HOT"):format(100 * m.hot_share)
      end
      lines[#lines + 1] = ("     rounds: %s, raw %s"):format(
        spread(rounds.W1.value), spread(rounds.W1.raw))
    end
  end
  local waiting = measures.W6
  if waiting then
    lines[#lines + 1] = ("  W6 %-36s %7.0f %-8s ideal %5.0f   ratio %.2f")
      :format("steps that wait 50 ms, 200 at a time", waiting.value,
        waiting.unit, waiting.raw, waiting.ratio)
    lines[#lines + 1] = "     a step: " .. details(waiting)
  end
  local m = measures.W4
  lines[#lines + 1] = ("  W4 %-36s %7.0f %-8s few %7.0f   ratio %.2f")
    :format("10,000 items in one each, one worker", m.value, m.unit,
      m.value_few, m.ratio)
  lines[#lines + 1] = ("     an item: %.4f statements (of 1,000: %.4f), "
    .. "%.4f transactions (%.4f)"):format(m.statements_per_item,
    m.statements_per_item_few, m.transactions_per_item,
    m.transactions_per_item_few)
  return table.concat(lines, "\n")
end

return report
