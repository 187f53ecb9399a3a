--- pawl workflow [list | show | activate...]: what is registered, which
--- versions start, and what becomes of all instances of one.
local act = require "pawl.cli.act"
local core = require "pawl.core"
local format = require "pawl.cli.format"
local keys = require "pawl.keys"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local types_of = require("pawl.words").types
local verb_args = require "pawl.args"

---- list --------------------------------------------------------------------

local GRANTED <const> = { "db", "await", "start", "signal",
  "host" }

--- What it may do with some tables alone: "db.read=game_* db.write=mod_*".
local function tables_of(tables)
  local words = {}
  for _, what in ipairs { "read", "write" } do
    if tables[what][1] then
      words[#words + 1] = ("db.%s=%s"):format(what,
        table.concat(tables[what], ","))
    end
  end
  return words[1] and table.concat(words, " ") or "db, of no table"
end

--- What a workflow that is not trusted may do besides: "db start=mod.*".
local function may_of(flow)
  local words = {}
  if not flow.grants then return nil end
  for _, name in ipairs(GRANTED) do
    local may = flow.grants.may[name]
    if name == "db" and flow.grants.may.tables then
      words[#words + 1] = tables_of(flow.grants.may.tables)
    elseif may == true then
      words[#words + 1] = name
    elseif may and may[1] then
      words[#words + 1] = name .. "=" .. table.concat(may, ",")
    end
  end
  return words[1] and table.concat(words, " ") or "nothing"
end

local columns = {
  { title = "WORKFLOW", flex = true,
    value = function(w) return w.workflow end },
  { title = "VERSION", right = true, value = function(w) return w.version end },
  { title = "REVISION", right = true, drop = 3,
    value = function(w) return w.revision end },
  { title = "STATE", value = function(w)
    if w.suspended then return "suspended" end
    if w.off then return "off" end
    return w.active and "active" or "inactive"
  end },
  { title = "TRUST", drop = 7, value = function(w) return w.trust end },
  { title = "AUTHOR", flex = true, sparse = true, drop = 6,
    value = function(w) return w.author end },
  { title = "MAY", flex = true, sparse = true, drop = 5, value = may_of },
  { title = "LIVE", right = true, sparse = true,
    value = function(w) return w.live end },
  { title = "NODES", right = true, drop = 2,
    value = function(w) return w.nodes end },
  { title = "MODIFIED", drop = 1, value = function(w)
    return format.time(w.modified)
  end },
  { title = "BY", flex = true, sparse = true, drop = 4,
    value = function(w) return w.by end },
}

local function list(opts, code)
  local engine <close> = store.look(opts)
  local query = verb_args.among("workflow_list", opts)
  -- what lives is counted of all tenants together, which none of them is told
  query.workflow, query.live = code, not opts.tenant or nil
  if opts.json then
    term.json((store.try(engine.workflows:list(query, "json"))))
    return 0
  end
  local rows = store.try(engine.workflows:list(query))
  if #rows == 0 then
    term.print("no workflows")
  else
    table_of(columns, rows)
    if #rows == opts.limit then
      local last = rows[#rows]
      term.warn(("the first %d; the next page: --after %s@%d"):format(#rows,
        last.workflow, last.version))
    end
  end
  return 0
end

---- versions ----------------------------------------------------------------

local function version_of(text)
  local n = text and text:match "^%d+$" and math.tointeger(tonumber(text))
  return n and n > 0 and n or nil
end

local revision_columns = {
  { title = "REVISION", value = function(r)
    return r.current and r.revision .. " runs" or r.revision
  end },
  { title = "SHA256", value = function(r) return r.sha256:sub(1, 12) end },
  { title = "CREATED", value = function(r) return format.time(r.created) end },
  { title = "BY", flex = true, value = function(r) return r.by end },
  { title = "REASON", flex = true, value = function(r) return r.reason end },
}

local function line(name, text)
  if text and text ~= "" then
    term.print(("%-12s "):format(name), term.clean(text))
  end
end

local function modules_of(flow)
  return table.concat(keys(flow.bundle), ", ")
end

local function state_of(flow)
  local state = flow.active and "active"
    or flow.off and "switched off: no new instances are started"
    or "not active: no new instances are started"
  return flow.suspended and state .. "; suspended" or state
end

--- As the workflow says, and those of its nodes that say otherwise.
local function durability_of(graph)
  local words = { graph.durability }
  for _, node in ipairs(graph.nodes) do
    if node.durability then
      words[#words + 1] = ("%s: %s"):format(node.name, node.durability)
    end
  end
  return words[1] and table.concat(words, ", ")
end

local function counts(object)
  local words, names = {}, keys(object)
  for i, name in ipairs(names) do
    words[i] = ("%d %s"):format(object[name], name)
  end
  return table.concat(words, ", ")
end

--- As whoever loaded it last has granted it.
local function show_grants(flow)
  local g = flow.grants
  line("author", flow.author)
  if not g then return end
  line("may", may_of(flow))
  line("codes", table.concat(g.codes, ", "))
  line("handlers", ("%d instructions, %g s, %d bytes, %d effects, "
    .. "%g s with waiting"):format(g.instructions, g.time_us / 1e6, g.memory,
    g.effects, g.wait_us / 1e6))
  line("minute", counts(g.per_minute))
  line("instance", counts(g.per_instance))
end

--- What is taken while it runs, a line for each wait that says so.
local function show_accepts(graph)
  for _, node in ipairs(graph.nodes) do
    if node.accepts then
      line("accepts", ("%s: %s"):format(node.name, types_of(node.accepts)))
    end
  end
end

local function show_workflow(flow)
  line("workflow", ("%s %d"):format(flow.workflow, flow.version))
  line("name", flow.name)
  line("description", flow.description)
  line("state", state_of(flow))
  line("trust", flow.trust)
  show_grants(flow)
  line("revision", flow.revision .. (flow.current and "" or ", an older one"))
  line("sha256", flow.sha256)
  line("input", types_of(flow.graph.input))
  line("variables", types_of(flow.graph.variables))
  show_accepts(flow.graph)
  line("nodes", tostring(#flow.graph.nodes))
  line("durability", durability_of(flow.graph))
  line("source", flow.source and ("%d bytes: --source writes them"):format(
    #flow.source) or "none: it is built by a program")
  line("bundle", modules_of(flow))
  line("group", flow.group)
  line("created", format.time(flow.created))
  line("modified", format.time(flow.modified))
  term.print()
  table_of(revision_columns, flow.revisions)
end

--- As it was loaded, byte by byte.
local function write_source(flow)
  if not flow.source then
    error({ code = "notfound", message = ("workflow \"%s\" version %d has no "
      .. "source in the store: it is built by a program"):format(flow.workflow,
      flow.version) }, 0)
  end
  term.bytes(flow.source)
end

local function show(opts, code, text)
  local version = version_of(text)
  if not code or text and not version then
    options.usage("show needs CODE, and may have a VERSION",
      "pawl workflow show order.fulfil 2")
  end
  if opts.revision and not version then
    options.usage("--revision is of a VERSION",
      "pawl workflow show order.fulfil 2 --revision 1")
  end
  local engine <close> = store.look(opts)
  local given = { revision = opts.revision }
  if opts.json then
    term.json((store.try(engine.workflows:get(code, version, given, "json"))))
    return 0
  end
  local flow = store.try(engine.workflows:get(code, version, given))
  if opts.source then write_source(flow) else show_workflow(flow) end
  return 0
end

local function set_active(kind)
  return function(opts, code, text)
    local version = version_of(text)
    if not code or not version then
      options.usage("%s needs CODE and VERSION", "pawl workflow " .. kind
        .. " order.fulfil 2", kind)
    end
    local engine <close> = store.look(opts)
    local info = store.try(engine.workflows[kind](engine.workflows, code,
      version, act.asked(opts)))
    if opts.json then
      term.print(format.json(info))
    else
      term.print(("%s version %d is %s"):format(code, version, info.active
        and "active" or "not active: no new instances are started"))
    end
    return 0
  end
end

local function switch(kind, said)
  return function(opts, code)
    if not code then options.usage("%s needs CODE", nil, kind) end
    local engine <close> = store.look(opts)
    local info = store.try(engine.workflows[kind](engine.workflows, code,
      act.asked(opts)))
    term.print(opts.json and format.json(info) or said:format(code))
    return 0
  end
end

local function hotfix(opts, file)
  if not file then options.usage("hotfix needs one FILE") end
  local engine <close> = store.look(opts)
  local info = store.try(engine.workflows:hotfix(file, act.asked(opts)))
  if opts.json then
    term.print(format.json(info))
  else
    term.print(("%s version %d runs revision %d now"):format(info.workflow,
      info.version, info.revision))
  end
  return 0
end

---- all instances -----------------------------------------------------------

local function whole(kind, said)
  return function(opts, code)
    if (code == nil) == (opts.prefix == nil) then
      options.usage("%s needs CODE or --prefix TEXT",
        code and "they exclude each other" or nil, kind)
    end
    local engine <close> = store.look(opts)
    local info = store.try(engine.workflows[kind](engine.workflows,
      act.asked(opts, { workflow = code, prefix = opts.prefix,
        shift = opts.shift })))
    if opts.json then
      term.print(format.json(info))
    else
      term.print(said:format(info.workflow or info.prefix .. "*"))
    end
    return 0
  end
end

local function map_of(given)
  if not given then return nil end
  local map = {}
  for _, text in ipairs(given) do
    local old, new = text:match "^([^=]+)=([^=]+)$"
    if not old then
      options.usage("--map takes OLD=NEW, not '%s'", nil, text)
    end
    map[old] = new
  end
  return map
end

local refused_columns = {
  { title = "ID", value = function(r) return r.id end },
  { title = "NODE", value = function(r) return r.node end },
  { title = "TOKEN", value = function(r) return r.token end },
  { title = "WHY NOT", flex = true, value = function(r)
    return r.reason
  end },
}

local beside_words = { { "begun", "begins" }, { "ended", "ends" } }

local function tell_beside(report)
  for _, words in ipairs(beside_words) do
    for _, one in ipairs(report[words[1]]) do
      term.print(("%s %s, beside %s: %d"):format(one.node, words[2], one.on,
        one.count))
    end
  end
end

local function tell_transfer(opts, report)
  if opts.json then
    for name, ids in pairs(report) do report[name] = core.array(ids) end
    term.print(format.json(report))
    return
  end
  term.print(("%d %s, %d cannot"):format(#report.gone,
    opts.plan and "can be transferred" or "transferred", #report.refused))
  if #report.asked > 0 then
    term.print(("%d are held by a worker, which does it before the next "
      .. "step"):format(#report.asked))
  end
  tell_beside(report)
  if #report.refused > 0 then table_of(refused_columns, report.refused) end
end

local function transfer(opts, code)
  if not code then options.usage("transfer needs CODE") end
  local versions = {}
  for _, name in ipairs { "from", "to" } do
    if not opts[name] then
      options.usage("transfer needs --%s VERSION", nil, name)
    end
    versions[name] = version_of(opts[name])
    if not versions[name] then
      options.usage("--%s takes a version, got '%s'", nil, name, opts[name])
    end
  end
  local map = map_of(opts.map)
  local engine <close> = store.look(opts)
  if not opts.plan and not opts.json then
    term.warn(("transferring the instances of %s from version %d to %d, one by "
      .. "one; stopped, this leaves each on one of the two, and the same "
      .. "command goes on with the rest"):format(term.clean(code),
      versions.from, versions.to))
  end
  local gone, refused, asked, beside = store.try(
    engine.workflows:transfer(code, versions.from, versions.to,
      act.asked(opts, { map = map, plan = opts.plan })))
  local report = { gone = gone, refused = refused, asked = asked,
    begun = beside.begun, ended = beside.ended }
  tell_transfer(opts, report)
  return #report.refused > 0 and 4 or 0
end

---- the command -------------------------------------------------------------

local verbs = {
  list = list, show = show, hotfix = hotfix, transfer = transfer,
  activate = set_active "activate", deactivate = set_active "deactivate",
  off = switch("off", "%s is switched off: no new instances are started"),
  on = switch("on", "%s is switched on"),
  suspend = whole("suspend",
    "suspended %s: none of their steps begins until they are resumed"),
  resume = whole("resume", "resumed %s"),
}

local order = { "list", "show", "activate", "deactivate", "off", "on",
  "hotfix", "suspend", "resume", "transfer" }

-- What goes with some verbs only.
local own = {
  prefix = { list = true, suspend = true, resume = true },
  search = { list = true }, active = { list = true }, limit = { list = true },
  after = { list = true }, source = { show = true }, revision = { show = true },
  shift = { resume = true },
  from = { transfer = true }, to = { transfer = true },
  map = { transfer = true }, plan = { transfer = true },
  trust = { hotfix = true },
}

local takes_version = { show = true, activate = true, deactivate = true }

local function run(opts, args)
  local verb = args[1] or "list"
  if not verbs[verb] then
    options.usage("workflow cannot '%s'", nearest.hint(verb, order), verb)
  end
  for key, goes_with in pairs(own) do
    if opts[key] ~= nil and not goes_with[verb] then
      options.usage("`pawl workflow %s` has no --%s", nil, verb, key)
    end
  end
  if args[3] and not takes_version[verb] then
    options.usage("unexpected argument '%s'", nil, args[3])
  end
  return verbs[verb](opts, args[2], args[3])
end

return {
  name = "workflow", args = "[" .. table.concat(order, "|")
    .. "] [CODE|FILE] [VERSION]",
  max = 3,
  summary = "what is registered, and what becomes of all of one",
  about = "list [CODE] shows what the store knows, with how many instances "
    .. "are unfinished: all, or those whose codes begin with --prefix, that "
    .. "have the text --search in code, name or description, or are "
    .. "--active.\n\nshow CODE [VERSION] shows all that is stored of one: "
    .. "the newest active one when no version is given, with its revisions. "
    .. "--source writes its source as it was loaded, of an older --revision "
    .. "too; --json has also the bundle and the graph.\n\n"
    .. "activate CODE VERSION and deactivate CODE VERSION say whether "
    .. "new instances of a version may be started; those that run go on. "
    .. "off CODE says so of all versions, also of those that come later, until "
    .. "on CODE: then those start again that did before.\n\n"
    .. "hotfix FILE replaces the source of a version whose instances run: "
    .. "they go on with it. Its graph must be the same; what a handler "
    .. "does may change.\n\nsuspend CODE holds all instances of a workflow, "
    .. "and with --prefix those of all whose codes begin so: new ones may be "
    .. "started, and wait. resume lets them go on, as they were suspended: "
    .. "those suspended by --prefix with the same --prefix.\n\n"
    .. "transfer CODE has all unfinished instances of version --from go on in "
    .. "version --to, and failed ones once they are retried. Each must stand "
    .. "where that has a node of the same name, or one that --map names; what "
    .. "waits needs a node of the same kind. --plan only says which could not "
    .. "go, and why. Exits with 4 when some could not. Each goes by itself: "
    .. "stopped in between (Ctrl-C), some are on the new version and the "
    .. "others are as they were; the same command goes on with those.",
  options = act.with {
    { long = "prefix", arg = "TEXT", type = "name",
      help = "list, suspend, resume: all workflows whose codes begin so" },
    { long = "search", arg = "TEXT", type = "name",
      help = "list: with this text in code, name or description" },
    { long = "active", help = "list: whose instances may be started" },
    { long = "limit", short = "n", arg = "N", type = "count", max = 10000,
      help = "list: at most so many; default all" },
    { long = "after", arg = "CODE@VERSION",
      help = "list: the page behind this one" },
    { long = "source", help = "show: write its source, and nothing else" },
    { long = "revision", arg = "N", type = "count",
      help = "show: this revision of the version, not the one that runs" },
    { long = "shift",
      help = "resume: put their times off by as long as it took" },
    { long = "from", arg = "VERSION", help = "transfer: those of this one" },
    { long = "to", arg = "VERSION", help = "transfer: where they go on" },
    { long = "trust", arg = "LEVEL",
      help = "hotfix: trusted (the default), limited or isolated" },
    { long = "map", arg = "OLD=NEW", many = true,
      help = "transfer: a node that is called otherwise in the new version" },
    { long = "plan",
      help = "transfer: change nothing, say what would happen" },
  },
  examples = {
    { "pawl workflow list", "all of them" },
    { "pawl workflow list --search invoice --active", "what was it called?" },
    { "pawl workflow show order.fulfil 2 --source >order.lua",
      "the source that runs, read back" },
    { "pawl workflow deactivate order.fulfil 1", "version 1 is done with" },
    { "pawl workflow off order.fulfil --reason 'recall'", "none any more" },
    { "pawl workflow hotfix order.lua --reason 'rounding'", "in place" },
    { "pawl workflow suspend --prefix billing.", "everything that bills" },
    { "pawl workflow transfer order.fulfil --from 1 --to 2 --map pay=charge "
      .. "--plan", "what would happen" },
  },
  run = run,
}
