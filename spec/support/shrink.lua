--- Cuts a case of spec/support/graphs.lua down to one that still fails: events
--- of its story, nodes, ways and what its handlers do are left out one after
--- the other, as long as the same promise is broken.
local graphs = require "spec.support.graphs"

local function copy(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for key, inner in pairs(value) do out[key] = copy(inner) end
  return out
end

---- cuts --------------------------------------------------------------------

--- Everything that leads to `name` leads to `to`.
local function bypass(flow, name, to)
  for i = #flow.nodes, 1, -1 do
    if flow.nodes[i].name == name then table.remove(flow.nodes, i) end
  end
  for _, node in ipairs(flow.nodes) do
    graphs.retarget(node, function(target)
      return target == name and to or nil
    end)
  end
  if flow.start == name then flow.start = to end
  if flow.options.on_cancel == name then flow.options.on_cancel = to end
end

--- Joins that a cut has left without a fork are passed, as the checker names
--- them. nil: it cannot be played.
local function mend(case, why)
  for _ = 1, 20 do
    for _, flow in ipairs(case.flows) do graphs.prune(flow) end
    local err = why(case)
    if not err then return case end
    local name = tostring(err):match 'join "([%w]+)"'
    local node, flow
    for _, one in ipairs(case.flows) do
      node = name and graphs.by_name(one)[name]
      if node then
        flow = one
        break
      end
    end
    if not node then return nil end
    if node.expect and type(node.expect) == "number" then
      node.expect = nil
    else
      bypass(flow, name, node.ways[1].to)
    end
  end
end

--- Optional fields that a node can do without.
local SPARE = { "fails", "item_fails", "undo_fails", "undo", "transactional",
  "emits", "starts", "errors", "match", "into", "pattern", "timeout",
  "ignored", "prepare", "computed", "moved", "takes_one", "signal",
  "assignee", "escalate", "due", "output", "on_exhausted", "attempts",
  "person_fails", "expect", "losers", "failed", "terminate", "parent_end",
  "beside", "never", "at", "sees", "of", "typed", "group", "reads" }

--- Each way to make a case smaller, the larger cuts first, as functions that
--- change a copy. false: there was nothing to cut.
local function cuts(case)
  local list = {}
  local function cut(fn) list[#list + 1] = fn end
  cut(function(c)
    local had = #c.story > 0
    c.story = {}
    return had
  end)
  for i = 1, #case.story do
    cut(function(c) return table.remove(c.story, i) ~= nil end)
  end
  for f, flow in ipairs(case.flows) do
    for _, node in ipairs(flow.nodes) do
      for w = 1, #node.ways do
        cut(function(c)
          bypass(c.flows[f], node.name, node.ways[w].to)
          return true
        end)
      end
    end
  end
  for f, flow in ipairs(case.flows) do
    for n, node in ipairs(flow.nodes) do
      for w = 1, #node.ways > 1 and #node.ways or 0 do
        cut(function(c)
          local ways = c.flows[f].nodes[n].ways
          table.remove(ways, w)
          if #ways == 1 and node.kind ~= "fork" then ways[1].name = "" end
          return true
        end)
      end
      for _, field in ipairs(SPARE) do
        cut(function(c)
          local had = c.flows[f].nodes[n][field]
          c.flows[f].nodes[n][field] = nil
          return had ~= nil
        end)
      end
      for b, one in ipairs(node.beside or {}) do
        cut(function(c)
          return table.remove(c.flows[f].nodes[n].beside, b) ~= nil
        end)
        for _, field in ipairs { "key", "typed", "match", "into", "every" } do
          cut(function(c)
            c.flows[f].nodes[n].beside[b][field] = nil
            return one[field] ~= nil
          end)
        end
      end
      for _, field in ipairs { "items", "fails", "attempts", "window" } do
        cut(function(c)
          local one = c.flows[f].nodes[n]
          if (one[field] or 0) < 2 then return false end
          one[field] = one[field] - 1
          return true
        end)
      end
    end
    for name in pairs(flow.options) do
      cut(function(c)
        c.flows[f].options[name] = nil
        return true
      end)
    end
  end
  return list
end

--- A flow that nobody calls need not be there.
local function forget_flows(case)
  local used = {}
  for _, flow in ipairs(case.flows) do
    for _, node in ipairs(flow.nodes) do
      used[node.flow or 1], used[node.starts or 1] = true, true
    end
  end
  for i = #case.flows, 2, -1 do
    if used[i] then return end
    table.remove(case.flows, i)
  end
end

---- as long as it fails -----------------------------------------------------

---@param case spec.Case
---@param problem spec.Problem
---@param play fun(case: spec.Case): spec.Problem?
---@param why fun(case: spec.Case): any  nil: the checker accepts it
---@param seconds number  of this machine's time at most
---@return spec.Case case, spec.Problem problem, integer tries
return function(case, problem, play, why, seconds)
  local deadline, tries, grown = os.time() + seconds, 0, true
  while grown do
    grown = false
    local list, i = cuts(case), 1
    while i <= #list and os.time() < deadline do
      local smaller = copy(case)
      local is_smaller = list[i](smaller)
      if is_smaller then smaller = mend(smaller, why) end
      if is_smaller and smaller then
        forget_flows(smaller)
        tries = tries + 1
        local again = play(smaller)
        if again and again.what == problem.what then
          case, problem, grown = smaller, again, true
          list = cuts(case) -- what was in place i is gone: the next is there
          i = i - 1
        end
      end
      i = i + 1
    end
    if os.time() >= deadline then break end
  end
  return case, problem, tries
end
