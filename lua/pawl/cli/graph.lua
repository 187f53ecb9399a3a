--- pawl graph FILE | CODE[@VERSION] | ID
local drawing = require "pawl.cli.drawing"
local format = require "pawl.cli.format"
local keys = require "pawl.keys"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local function is_file(name)
  return name:find("/", 1, true) or name:find("%.lua$") or sys.kind(name)
end

local function graph_of_file(opts, path)
  term.divert() -- its top level may print
  local engine <close> = store.aside(opts)
  return store.try(engine:check(path))
end

--- A code may look like a shortened id; then the workflow is meant.
local function is_id(engine, name)
  if not name:find "^%x[%x-]+$" or #name < 4
    or engine.workflows:graph(name) then
    return false
  end
  local id, err = engine:find(name)
  if not id and err.code ~= "notfound" then error(err, 0) end
  return id
end

--- The version that an instance runs; one that has not begun may have none.
local function graph_of_instance(engine, id)
  local instance = store.try(engine:get(id))
  local graph = store.try(engine.workflows:graph(instance.workflow,
    instance.version > 0 and instance.version or nil))
  return graph, drawing.marks(graph, instance, store.try(engine:history(id)),
    store.try(engine:tokens(id, { all = true })))
end

local function load_graph(opts, name)
  if is_file(name) then return graph_of_file(opts, name) end
  local engine <close> = store.look(opts)
  local id = is_id(engine, name)
  if id then return graph_of_instance(engine, id) end
  local code, version = name:match("^(.-)@(%d+)$")
  return store.try(engine.workflows:graph(code or name,
    version and math.tointeger(tonumber(version))))
end

--- Says which of the nodes that specs have gone through are not in the graph:
--- it is another version that is drawn.
local function warn_of_others(path, graph, marks)
  local others = {}
  for name in pairs(marks) do others[name] = true end
  for _, node in ipairs(graph.nodes) do others[node.name] = nil end
  if not next(others) then return end
  term.warn(("warning: %s tells of nodes that this %s does not have, as of "
    .. "another version: %s"):format(term.clean(path), graph.code,
    term.clean(table.concat(keys(others), ", "))))
end

--- The marks of a workflow in what `pawl test --coverage` wrote.
local function marks_of_coverage(path, graph)
  local file, why = io.open(path, "rb")
  if not file then
    options.usage("cannot read %s for --coverage: %s", nil, path,
      why:match ": (.*)" or why)
  end
  local text = file:read "a"
  file:close()
  local report = pawl.json.decode(text)
  if type(report) ~= "table" or type(report.workflows) ~= "table" then
    options.usage("%s is not what `pawl test --coverage` wrote", nil, path)
  end
  for _, one in ipairs(report.workflows) do
    if one.code == graph.code then
      warn_of_others(path, graph, one.nodes)
      return one.nodes
    end
  end
  options.usage("%s tells nothing of %s", "no spec has loaded it", path,
    graph.code)
end

local function run(opts, args)
  local form = opts.dot and "dot" or opts.format or "mermaid"
  if form ~= "mermaid" and form ~= "dot" then
    options.usage("unknown format '%s'", "mermaid or dot", form)
  end
  local graph, marks = load_graph(opts, args[1])
  if opts.coverage then marks = marks_of_coverage(opts.coverage, graph) end
  if opts.json then
    graph.marks = marks
    term.print(format.json(graph))
  else
    term.lines(drawing[form](graph, marks))
  end
  return 0
end

return {
  name = "graph", args = "FILE|CODE[@VERSION]|ID", min = 1, max = 1,
  summary = "draw a workflow as Mermaid or DOT",
  about = "Draws a workflow file, a workflow that the store knows, or an "
    .. "instance, as text for Mermaid (READMEs and code hosts show it) or "
    .. "Graphviz. Dashed edges are where errors are routed. For an instance "
    .. "the nodes are marked: live (it stands there), passed, failed, "
    .. "dropped; with --json they are in `marks`.",
  options = {
    options.trust,
    { long = "format", arg = "NAME", help = "mermaid (default) or dot" },
    { long = "dot", help = "the same as --format dot" },
    { long = "coverage", arg = "FILE", help = "mark what specs have gone "
      .. "through, as `pawl test --coverage` wrote it: passed, partly, "
      .. "missed" },
  },
  examples = {
    { "pawl graph order.lua", "Mermaid text" },
    { "pawl graph order.fulfil@2 --dot | dot -Tsvg >order.svg",
      "version 2 from the store as a picture" },
    { "pawl graph 019aa1f2", "one instance: where it has been and stands" },
  },
  run = run,
}
