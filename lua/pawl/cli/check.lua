--- pawl check FILE...
local format = require "pawl.cli.format"
local lints = require "pawl.lints"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function plain(err)
  return { code = err.code, message = err.message, where = err.where,
    hint = err.hint }
end

--- What is no mistake, but seldom meant.
local function warnings(graph, path)
  local file <close> = io.open(path)
  return lints.of(graph, file and file:read "a" or "")
end

local function tell(path, found)
  for _, one in ipairs(found) do
    term.print(path, ": warning: ", term.clean(one.text), " (", one.name, ")")
    term.print(" hint: ", one.hint)
  end
end

local function check_one(engine, path, opts)
  local ok, graph, err = pcall(engine.check, engine, path)
  if not ok then -- misuse is raised: os.exit in the file, for one
    if type(graph) ~= "table" then error(graph, 0) end
    graph, err = nil, graph
  end
  if graph then
    if not opts.json then
      term.print(("%s: ok: %s %s, %d nodes"):format(path, graph.code,
        graph.version, #graph.nodes))
    end
    local found = warnings(graph, path)
    if not opts.json then tell(path, found) end
    return { file = path, ok = true, workflow = graph.code,
      version = graph.version, warnings = pawl.array(found) }
  end
  if not opts.json then
    local where = err.where or path
    term.print(term.clean(("%s: %s: %s"):format(where, err.code,
      err.message)))
    if err.hint then term.print(" hint: ", term.clean(err.hint)) end
  end
  return { file = path, ok = false, error = plain(err) }
end

local function run(opts, args)
  if opts.json then term.divert() end -- a file's top level may print
  local engine <close> = store.aside(opts)
  local results, code = pawl.array(), 0
  for _, path in ipairs(args) do
    local result = check_one(engine, path, opts)
    results[#results + 1] = result
    if not result.ok then
      local why = result.error.code == "notfound" and 3 or 1
      code = (code == 0 or code == why) and why or 1
    end
  end
  if opts.json then term.print(format.json(results)) end
  return code
end

return {
  name = "check", args = "FILE...", min = 1, max = math.huge,
  summary = "look for mistakes in workflow files",
  about = "Reads each file and checks its whole graph: unknown or "
    .. "unreachable nodes, nodes that lead nowhere, missing handlers, bad "
    .. "durations. Nothing is run and no store is touched, but the file's "
    .. "own top level is executed, as whenever a workflow is loaded.\n\n"
    .. "The first mistake of each file is shown as FILE:LINE, with what to "
    .. "write instead. Exits with 1 when there was one. What is no mistake, "
    .. "but seldom meant, is warned of, by name: a way round on which nothing "
    .. "waits (busy), a step that acts outside without a key for that "
    .. "(no-key), a wait without a time (no-timeout), an error that on_error "
    .. "names and nothing raises (never-raised). A comment -- pawl: allow "
    .. "NAME in the node says that it is meant.",
  options = { options.trust },
  examples = { { "pawl check workflows/*.lua", "all files of a folder" } },
  run = run,
}
