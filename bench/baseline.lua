--- Which figures are worse, or better, than those of an earlier run. The file
--- holds one run for each size: what is measured with few rows is not what is
--- measured with many.
local json = require("pawl").json
local report = require "report"
local system = require "system_calls"

local baseline = {}

--- How far a figure may be off, and in which direction it is worse. Rates and
--- times are not compared: they are the machine's.
local COUNT, RATIO = 0.02, 0.2
local RULES = { -- pattern of the path; the first one that fits counts
  { "%.W4[^.]*%.ratio$", RATIO, "less" },
  { "%.ratio$", RATIO, "more" },
  { "rss_waiting_ratio$", RATIO, "less" },
  { "branches_ratio$", RATIO, "less" },
  { "rss_mb$", RATIO, "less" },
  { "^cold_start_ms$", RATIO, "less" },
  { "hot_share$", COUNT, "more" },
  { "%.raw_[^.]*$" }, -- not ours
  { "%.beside%.[^.]*_per_%a+$" }, -- hangs on how the turns fell
  { "_per_%a+$", COUNT, "less" },
  { "_small_change$", COUNT, "less" },
}

local function rule_of(path)
  for _, rule in ipairs(RULES) do
    if path:find(rule[1]) then return rule[2] and rule end
  end
end

--- All numbers of a run, by path.
local function flatten(value, path, out)
  if type(value) == "number" then
    out[path] = value
  elseif type(value) == "table" then
    for name, inner in pairs(value) do
      flatten(inner, path == "" and name or path .. "." .. name, out)
    end
  end
  return out
end

local function figures(results)
  return flatten({ postgres = results.postgres, sqlite = results.sqlite,
    cold_start_ms = results.cold_start_ms }, "", {})
end

--- What differs by more than it may.
---@param old table  results of an earlier run
---@param new table  those of this one
---@return { figure: string, was: number, is: number, worse: boolean }[]
function baseline.compare(old, new)
  local before, out = figures(old), {}
  for path, is in pairs(figures(new)) do
    local was, rule = before[path], rule_of(path)
    if was and rule and math.abs(is - was) > rule[2] * math.abs(was) then
      out[#out + 1] = { figure = path, was = was, is = is,
        worse = (is < was) == (rule[3] == "more") }
    end
  end
  table.sort(out, function(a, b)
    if a.worse ~= b.worse then return a.worse end
    return a.figure < b.figure
  end)
  return out
end

---@param path string
---@return table?  runs, by size
function baseline.read(path)
  local text = system.read(path)
  return text and assert(json.decode(text))
end

--- Puts this run in the place of the one of its size.
function baseline.save(path, results)
  local runs = baseline.read(path) or {}
  local kept = {}
  for name, value in pairs(results) do kept[name] = value end
  kept.baseline, kept.targets, kept.peers = nil, nil, nil
  runs[results.size] = kept
  local file <close> = assert(io.open(path, "w"))
  file:write(report.pretty(runs), "\n")
end

return baseline
