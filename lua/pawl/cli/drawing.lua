--- Drawings of a workflow's graph: text for Mermaid and for Graphviz.
local keys = require "pawl.keys"
local kinds = require "pawl.kinds"

local drawing = {}

---@class pawl.cli.Edge
---@field to string
---@field label? string
---@field error? boolean  an error's way
---@field beside? boolean  to a boundary

---- what is drawn, in either form --------------------------------------------

--- The edges of a node, in an order that does not change: a fork's as they
--- were written, others by name.
---@return pawl.cli.Edge[]
local function edges(node)
  local out = {}
  local function add(routes, is_error, order)
    if type(routes) == "string" then
      out[#out + 1] = { to = routes }
    elseif type(routes) == "table" then
      for _, name in ipairs(order or keys(routes)) do
        local to = routes[name]
        local told = node.order and name == to -- a branch, by its node's name
        out[#out + 1] = { to = to, label = not told and name or nil,
          error = is_error }
      end
    end
  end
  if node.branch then
    out[#out + 1] = { to = node.branch, label = "each item" }
  end
  add(node.next, false, node.order)
  add(node.on_error, true)
  return out
end

--- Whose boundaries each node has, by its name.
local function boundaries(graph)
  local on = {}
  for _, node in ipairs(graph.nodes) do
    if node.on then
      on[node.on] = on[node.on] or {}
      table.insert(on[node.on], { to = node.name, beside = true,
        label = node.interrupt and "interrupts" or nil })
    end
  end
  return on
end

--- All of a node's edges: those to its boundaries are the last.
local function all_edges(node, on)
  local out = edges(node)
  for _, edge in ipairs(on[node.name] or {}) do out[#out + 1] = edge end
  return out
end

--- How a node is drawn; one whose kind a newer pawl has stored, as a step.
local function drawn(node) return kinds[node.kind] or kinds.step end

--- A node's lines of text.
local function lines(node)
  local detail = drawn(node).detail
  return node.name, detail and detail(node)
end

--- The states of marked nodes, as the legend lists them.
local states = { "live", "failed", "dropped", "missed", "partly", "passed" }

local function present(marks)
  local there, out = {}, {}
  for _, state in pairs(marks) do there[state] = true end
  for _, state in ipairs(states) do
    if there[state] then out[#out + 1] = state end
  end
  return out
end

---- Mermaid ------------------------------------------------------------------

local function escape_mermaid(text)
  return (text:gsub("[\"#<>&]", function(c)
    return ("#%d;"):format(c:byte())
  end))
end

local mermaid_styles = {
  live = "stroke:#1f6feb,stroke-width:4px",
  failed = "stroke:#cf222e,stroke-width:3px,color:#cf222e",
  dropped = "stroke:#999,stroke-dasharray:4 3,color:#999",
  missed = "stroke:#cf222e,stroke-dasharray:4 3",
  partly = "fill:#fff8c5,stroke:#9a6700,color:#111",
  passed = "fill:#dafbe1,stroke:#2da44e,color:#111",
}

local function mermaid_legend(out, marks)
  local there = present(marks)
  if #there == 0 then return end
  out[#out + 1] = "  subgraph legend"
  for _, state in ipairs(there) do
    out[#out + 1] = ("    legend_%s[\"%s\"]:::%s"):format(state, state, state)
  end
  out[#out + 1] = "  end"
  for _, state in ipairs(there) do
    out[#out + 1] = ("  classDef %s %s"):format(state, mermaid_styles[state])
  end
end

--- What follows when an instance fails, in words: nothing leads there but a
--- failure of any node.
local function on_failure(graph)
  local f, parts = graph.on_failure, {}
  if not f then return nil end
  if f.emit then parts[#parts + 1] = "emits " .. f.emit end
  if f.start then parts[#parts + 1] = "starts " .. f.start end
  return "on failure: " .. table.concat(parts, ", ")
end

---@param graph table
---@param marks? table<string, string>  states of nodes, by name
---@return string
function drawing.mermaid(graph, marks)
  local ids = {}
  local out = { "flowchart TD" }
  for i, node in ipairs(graph.nodes) do
    ids[node.name] = "n" .. i
    local shape = drawn(node).mermaid
    local name, detail = lines(node)
    local text = escape_mermaid(name)
    if detail then text = text .. "<br/>" .. escape_mermaid(detail) end
    local state = marks and marks[node.name]
    out[#out + 1] = ("  n%d%s\"%s\"%s%s"):format(i, shape[1], text, shape[2],
      state and ":::" .. state or "")
  end
  out[#out + 1] = ("  begin(( )) --> %s"):format(ids[graph.start] or "n1")
  if graph.on_cancel then
    out[#out + 1] = ('  cancel(( )) -.->|"cancelled"| %s'):format(
      ids[graph.on_cancel])
  end
  local on = boundaries(graph)
  for _, node in ipairs(graph.nodes) do
    for _, edge in ipairs(all_edges(node, on)) do
      local arrow = edge.beside and "-.-" or edge.error and "-.->" or "-->"
      local label = edge.label
        and ("|\"%s\"|"):format(escape_mermaid(edge.label)) or ""
      out[#out + 1] = ("  %s %s%s %s"):format(ids[node.name], arrow, label,
        ids[edge.to])
    end
  end
  local told = on_failure(graph)
  if told then
    out[#out + 1] = ('  failure>"%s"]'):format(escape_mermaid(told))
  end
  if marks then mermaid_legend(out, marks) end
  return table.concat(out, "\n")
end

---- Graphviz -----------------------------------------------------------------

local function escape_dot(text) return (text:gsub('[\\"]', "\\%0")) end

local function quote_dot(text) return '"' .. escape_dot(text) .. '"' end

local dot_styles = {
  live = 'color="#1f6feb", penwidth=4',
  failed = 'color="#cf222e", fontcolor="#cf222e", penwidth=3',
  dropped = 'color="#999999", fontcolor="#999999", style=dashed',
  missed = 'color="#cf222e", style=dashed',
  partly = 'color="#9a6700", style=filled, fillcolor="#fff8c5"',
  passed = 'color="#2da44e", style=filled, fillcolor="#dafbe1"',
}

local function dot_node(node, state)
  local name, detail = lines(node)
  local attributes = { "shape=" .. drawn(node).dot }
  if detail then
    attributes[2] = ('label="%s\\n%s"'):format(escape_dot(name),
      escape_dot(detail))
  end
  if state then attributes[#attributes + 1] = dot_styles[state] end
  return ("  %s [%s];"):format(quote_dot(name),
    table.concat(attributes, ", "))
end

local function dot_edge(node, edge)
  local attributes = {}
  if edge.label then
    attributes[#attributes + 1] = "label=" .. quote_dot(edge.label)
  end
  if edge.error then attributes[#attributes + 1] = "style=dashed" end
  if edge.beside then
    attributes[#attributes + 1] = "style=dotted, dir=none"
  end
  return ("  %s -> %s%s;"):format(quote_dot(node.name), quote_dot(edge.to),
    #attributes > 0 and " [" .. table.concat(attributes, ", ") .. "]" or "")
end

--- Names of nodes may be anything, so the legend's begin with a blank.
local function dot_legend(out, marks)
  local there = present(marks)
  if #there == 0 then return end
  out[#out + 1] = "  subgraph cluster_legend {"
  out[#out + 1] = "    label=legend;"
  for _, state in ipairs(there) do
    out[#out + 1] = ('    " %s" [shape=box, label="%s", %s];'):format(state,
      state, dot_styles[state])
  end
  out[#out + 1] = "  }"
end

---@param graph table
---@param marks? table<string, string>
---@return string
function drawing.dot(graph, marks)
  local out = {
    ("digraph %s {"):format(quote_dot(graph.code)),
    "  rankdir=TB;",
    "  node [fontname=\"sans-serif\"];",
    "  \"\" [shape=point];",
    ("  \"\" -> %s;"):format(quote_dot(graph.start)),
  }
  if graph.on_cancel then
    out[#out + 1] = '  " cancel" [shape=point, label=""];'
    out[#out + 1] = ('  " cancel" -> %s [label="cancelled", style=dashed];')
      :format(quote_dot(graph.on_cancel))
  end
  local on = boundaries(graph)
  for _, node in ipairs(graph.nodes) do
    out[#out + 1] = dot_node(node, marks and marks[node.name])
    for _, edge in ipairs(all_edges(node, on)) do
      out[#out + 1] = dot_edge(node, edge)
    end
  end
  local told = on_failure(graph)
  if told then
    out[#out + 1] = '  " failure" [shape=note, label=' .. quote_dot(told)
      .. "];"
  end
  if marks then dot_legend(out, marks) end
  out[#out + 1] = "}"
  return table.concat(out, "\n")
end

---- marks --------------------------------------------------------------------

local failures = { failed = true, undo_failed = true }
local deeds = { step = true, timer = true, received = true, timeout = true,
  task = true, child = true, each = true, routed = true, undone = true }

--- Names of nodes in a path: "check=big > both (ship > sent, bill)".
local function in_path(path)
  return path:gmatch "[^>;,()=%s][^>;,()=]*"
end

--- What became of each node in one instance, so far: the newest record tells,
--- and where a token stands is live.
---@param graph table
---@param instance pawl.Instance
---@param history table[]
---@param tokens pawl.StandingToken[]
---@return table<string, "live"|"failed"|"dropped"|"passed">
function drawing.marks(graph, instance, history, tokens)
  local known, marks = {}, {}
  for _, node in ipairs(graph.nodes) do known[node.name] = node end
  local function mark(name, state)
    if known[name] then marks[name] = state end
  end
  for _, entry in ipairs(history) do
    for name in in_path(entry.path or "") do
      name = name:gsub("%s+$", "")
      if not marks[name] then mark(name, "passed") end
    end
    if entry.type == "dropped" then
      if marks[entry.node] ~= "passed" then mark(entry.node, "dropped") end
    elseif failures[entry.type] then
      mark(entry.node, "failed")
    elseif deeds[entry.type] then
      mark(entry.node, "passed")
    end
  end
  local last = known[instance.node]
  if instance.status == "failed" and last and not last.next then
    mark(last.name, "failed")
  end
  for _, token in ipairs(tokens) do
    if token.state == "active" or token.state == "waiting" then
      mark(token.node, "live")
    elseif token.state == "dropped" and marks[token.node] ~= "failed" then
      mark(token.node, "dropped")
    end
  end
  return marks
end

return drawing
