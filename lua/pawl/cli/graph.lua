--- pawl graph FILE | CODE[@VERSION]
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

--- The edges of a node, in an order that does not change: from, to, label,
--- whether it is an error's way.
local function edges(node)
  local out = {}
  local function add(routes, is_error)
    if type(routes) == "string" then
      out[#out + 1] = { to = routes }
    elseif type(routes) == "table" then
      local names = {}
      for name in pairs(routes) do names[#names + 1] = name end
      table.sort(names)
      for _, name in ipairs(names) do
        out[#out + 1] = { to = routes[name], label = name, error = is_error }
      end
    end
  end
  add(node.next, false)
  add(node.on_error, true)
  return out
end

local function escape_mermaid(text)
  return (text:gsub("[\"#<>&]", function(c)
    return ("#%d;"):format(c:byte())
  end))
end

local mermaid_shapes = {
  step = { "[", "]" }, choice = { "{", "}" }, timer = { "([", "])" },
  finish = { "((", "))" },
}

local function mermaid(graph)
  local ids = {}
  local out = { "flowchart TD" }
  for i, node in ipairs(graph.nodes) do
    ids[node.name] = "n" .. i
    local shape = mermaid_shapes[node.kind] or { "[", "]" }
    out[#out + 1] = ("  n%d%s\"%s\"%s"):format(i, shape[1],
      escape_mermaid(node.name), shape[2])
  end
  out[#out + 1] = ("  begin(( )) --> %s"):format(ids[graph.start] or "n1")
  for _, node in ipairs(graph.nodes) do
    for _, edge in ipairs(edges(node)) do
      local arrow = edge.error and "-.->" or "-->"
      local label = edge.label
        and ("|\"%s\"|"):format(escape_mermaid(edge.label)) or ""
      out[#out + 1] = ("  %s %s%s %s"):format(ids[node.name], arrow, label,
        ids[edge.to])
    end
  end
  return table.concat(out, "\n")
end

local function quote_dot(text)
  return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

local dot_shapes = { step = "box", choice = "diamond", timer = "oval",
  finish = "doublecircle" }

local function dot(graph)
  local out = {
    ("digraph %s {"):format(quote_dot(graph.code)),
    "  rankdir=TB;",
    "  node [fontname=\"sans-serif\"];",
    "  \"\" [shape=point];",
    ("  \"\" -> %s;"):format(quote_dot(graph.start)),
  }
  for _, node in ipairs(graph.nodes) do
    out[#out + 1] = ("  %s [shape=%s];"):format(quote_dot(node.name),
      dot_shapes[node.kind] or "box")
    for _, edge in ipairs(edges(node)) do
      local attributes = {}
      if edge.label then
        attributes[#attributes + 1] = "label=" .. quote_dot(edge.label)
      end
      if edge.error then attributes[#attributes + 1] = "style=dashed" end
      out[#out + 1] = ("  %s -> %s%s;"):format(quote_dot(node.name),
        quote_dot(edge.to), #attributes > 0
        and " [" .. table.concat(attributes, ", ") .. "]" or "")
    end
  end
  out[#out + 1] = "}"
  return table.concat(out, "\n")
end

local function load_graph(opts, name)
  if name:find("/", 1, true) or name:find("%.lua$") or sys.kind(name) then
    term.divert() -- its top level may print
    local engine <close> = store.try(pawl.open(":memory:",
      { state = "private" }))
    return store.try(engine:check(name))
  end
  local code, version = name:match("^(.-)@(%d+)$")
  local engine <close> = store.look(opts)
  return store.try(engine:graph(code or name,
    version and math.tointeger(tonumber(version))))
end

local function run(opts, args)
  local form = opts.dot and "dot" or opts.format or "mermaid"
  if form ~= "mermaid" and form ~= "dot" then
    options.usage("unknown format '%s'", "mermaid or dot", form)
  end
  local graph = load_graph(opts, args[1])
  if opts.json then
    term.print(format.json(graph))
  else
    term.print(form == "dot" and dot(graph) or mermaid(graph))
  end
  return 0
end

return {
  name = "graph", args = "FILE|CODE[@VERSION]", min = 1, max = 1,
  summary = "draw a workflow as Mermaid or DOT",
  about = "Draws a workflow file, or a workflow that the store knows, as "
    .. "text for Mermaid (READMEs and code hosts show it) or Graphviz. "
    .. "Dashed edges are where errors are routed.",
  options = {
    { long = "format", arg = "NAME", help = "mermaid (default) or dot" },
    { long = "dot", help = "the same as --format dot" },
  },
  examples = {
    { "pawl graph order.lua", "Mermaid text" },
    { "pawl graph order.fulfil@2 --dot | dot -Tsvg >order.svg",
      "version 2 from the store as a picture" },
  },
  run = run,
}
