--- Ways round in a graph on which nothing waits: an instance that takes one
--- goes as fast as it can, and fills its history.
local cycles = {}

-- Nodes that a token passes without waiting. A step may be what polls the
-- world, which takes its time: so this is worth a word, and no mistake.
local passing = { step = true, choice = true, fork = true, join = true }

local function passes(node)
  return passing[node.kind] or node.kind == "timer" and node.after == 0
end

--- Names that a node leads to, in a fixed order.
local function ways(node)
  local names = {}
  for _, edges in ipairs { node.next or {}, node.on_error or {} } do
    if type(edges) == "string" then edges = { edges } end
    for _, name in pairs(edges) do names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- The shortest way from a node back to it, past nodes that pass; or nil.
local function way_round(nodes, from)
  local came, queue = {}, { from }
  for _, name in ipairs(queue) do -- grows as it goes
    for _, to in ipairs(ways(nodes[name])) do
      if to == from then
        local way = { from }
        while name ~= from do
          table.insert(way, 2, name)
          name = came[name]
        end
        return way
      end
      if nodes[to] and not came[to] then
        came[to] = name
        queue[#queue + 1] = to
      end
    end
  end
end

--- Each cycle without a wait as the list of its nodes, in the graph's order; of
--- those that share a node the one that is met first.
---@param graph table  as engine:check gives it
---@return string[][]
function cycles.without_wait(graph)
  local nodes, found, seen = {}, {}, {}
  for _, node in ipairs(graph.nodes) do
    if passes(node) then nodes[node.name] = node end
  end
  for _, node in ipairs(graph.nodes) do
    local way = nodes[node.name] and not seen[node.name]
      and way_round(nodes, node.name)
    if way then
      found[#found + 1] = way
      for _, name in ipairs(way) do seen[name] = true end
    end
  end
  return found
end

return cycles
