--- Which ways of workflows no spec has gone: nodes that nobody stood at,
--- transitions that were never taken, errors never routed, undos never run.
---
--- Loaded, it measures: what the engines of the kit have run is taken from the
--- histories of their instances, when each is closed, or at the end. It costs
--- nothing where it is not loaded.
local core = require "pawl.core"
local keys = require "pawl.keys"

local coverage = {}

-- Of each workflow, by its code: its nodes by name, and what was met, as a set
-- of "node", "node\0transition" and "node\0undo".
---@type table<string, { nodes: table, start: string, met: table }>
local measured = {}

-- Engines that are open: { [state] = true }, see pawl.testing.engine.
local open = {}

---- what was met -------------------------------------------------------------

--- What a row's `path` says: "size=small > split (a, b); gather".
local function follow(met, path)
  for name, transition in path:gmatch "([%w_]+)=([%w_]+)" do
    met[name .. "\0" .. transition] = true
  end
  for name in path:gsub("=[%w_]+", ""):gmatch "[%w_]+" do met[name] = true end
end

local function meet(flow, row)
  local met, node = flow.met, row.node
  if row.path then follow(met, row.path) end
  if not node then return end
  if row.type == "undone" then
    met[node .. "\0undo"] = true
  elseif row.type ~= "compensated" then
    met[node] = true
  end
  local known = flow.nodes[node]
  if not row.transition or not known then return end
  met[node .. "\0" .. row.transition] = true
  local routed = row.error and known.on_error
  if routed and not routed[row.transition] then met[node .. "\0*"] = true end
end

--- Takes down a workflow's graph; nil: it is a stand-in.
local function flow_of(state, code, loaded)
  if state.doubles["workflow " .. code] then return nil end
  local flow = measured[code] or { met = {}, nodes = {} }
  measured[code] = flow
  flow.nodes, flow.start = loaded.nodes, loaded.graph.start
  return flow
end

--- What an engine's instances did. It may be closed already, or dead.
local function take(state)
  for code, loaded in pairs(state.flows) do
    local flow = not state.is_apart and flow_of(state, code, loaded)
    local list = flow and state.engine:list { workflow = code, limit = 10000 }
    for _, one in ipairs(list or {}) do
      if one.status ~= "created" then flow.met[flow.start] = true end
      for _, row in ipairs(state.engine:history(one.id) or {}) do
        meet(flow, row)
      end
    end
  end
end

--- An engine was opened.
function coverage.opened(state) open[state] = true end

--- It is to be closed.
function coverage.closing(state)
  if open[state] then take(state) end
  open[state] = nil
end

---- what there is ------------------------------------------------------------

--- The ways of a node: { key =, text = } each.
local function ways_of(node)
  local ways = {}
  local function add(transition, text)
    ways[#ways + 1] = { key = node.name .. "\0" .. transition, text = text }
  end
  local leads = node.kind ~= "fork" and type(node.next) == "table"
    and node.next or {}
  for _, field in ipairs { leads, node.on_error or {} } do
    for _, name in ipairs(keys(field)) do
      add(name, field == leads
        and ("never taken: %s =%s> %s"):format(node.name, name, field[name])
        or ("never routed: error %s of %s, to %s"):format(name, node.name,
          field[name]))
    end
  end
  if node.undo then add("undo", "never undone: " .. node.name) end
  return ways
end

--- Counts a node; what of it is missing is added to `missed`. How it stands.
local function judge(flow, node, one)
  one.total = one.total + 1
  local stood = flow.met[node.name]
  if stood then
    one.taken = one.taken + 1
  else
    one.missed[#one.missed + 1] = "never stood at: " .. node.name
  end
  local whole = stood
  for _, way in ipairs(ways_of(node)) do
    one.total = one.total + 1
    if flow.met[way.key] then
      one.taken = one.taken + 1
    else
      whole = false
      if stood then one.missed[#one.missed + 1] = way.text end
    end
  end
  return whole and "passed" or stood and "partly" or "missed"
end

local function report_of(code, flow)
  local one = { code = code, taken = 0, total = 0, nodes = {},
    missed = core.array {} }
  for _, name in ipairs(keys(flow.nodes)) do
    one.nodes[name] = judge(flow, flow.nodes[name], one)
  end
  return one
end

--- What was measured so far.
---@return pawl.Coverage
function coverage.report()
  for state in pairs(open) do take(state) end
  local report = { taken = 0, total = 0, workflows = core.array {} }
  for _, code in ipairs(keys(measured)) do
    local one = report_of(code, measured[code])
    report.workflows[#report.workflows + 1] = one
    report.taken = report.taken + one.taken
    report.total = report.total + one.total
  end
  report.share = report.total == 0 and 100
    or report.taken * 100 // report.total
  return report
end

--- The same for people.
---@param report pawl.Coverage
---@return string
function coverage.text(report)
  local lines = { ("%d of %d nodes and ways were gone: %d %%"):format(
    report.taken, report.total, report.share) }
  for _, one in ipairs(report.workflows) do
    lines[#lines + 1] = ("%s: %d of %d"):format(one.code, one.taken,
      one.total)
    for _, text in ipairs(one.missed) do lines[#lines + 1] = "  " .. text end
  end
  return table.concat(lines, "\n")
end

--- What was measured is forgotten.
function coverage.reset() measured = {} end

---@class pawl.Coverage
---@field taken integer   nodes, transitions, errors and undos that were met
---@field total integer
---@field share integer   percent
---@field workflows pawl.WorkflowCoverage[]

---@class pawl.WorkflowCoverage
---@field code string
---@field taken integer
---@field total integer
---@field nodes table<string, "passed"|"partly"|"missed">
---@field missed string[]  in words

return coverage
