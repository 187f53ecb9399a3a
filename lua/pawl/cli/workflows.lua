--- pawl workflows [list | activate | deactivate | hotfix]
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"

local columns = {
  { title = "WORKFLOW", flex = true,
    value = function(w) return w.workflow end },
  { title = "VERSION", value = function(w) return w.version end },
  { title = "REVISION", value = function(w) return w.revision end },
  { title = "STATE", value = function(w)
    if w.suspended then return "suspended" end
    return w.active and "active" or "inactive"
  end },
  { title = "LIVE", value = function(w) return w.live end },
  { title = "NODES", value = function(w) return w.nodes end },
  { title = "MODIFIED", value = function(w)
    return format.time(w.modified)
  end },
  { title = "BY", flex = true, value = function(w) return w.by end },
}

local function list(opts, args)
  local engine <close> = store.look(opts)
  local query = { workflow = args[2], live = true }
  if opts.json then
    term.json((store.try(engine:workflows(query, "json"))))
    return 0
  end
  local rows = store.try(engine:workflows(query))
  if #rows == 0 then
    term.print("no workflows")
  else
    table_of(columns, rows)
  end
  return 0
end

local function set_active(opts, args)
  local kind, code = args[1], args[2]
  local version = args[3] and args[3]:match "^%d+$"
    and math.tointeger(tonumber(args[3]))
  if not code or not version or version < 1 then
    options.usage("%s needs CODE and VERSION", "pawl workflows " .. kind
      .. " order.fulfil 2", kind)
  end
  local engine <close> = store.look(opts)
  local info = store.try(engine[kind](engine, code, version,
    act.asked(opts)))
  if opts.json then
    term.print(format.json(info))
  else
    term.print(("%s version %d is %s"):format(code, version,
      info.active and "active" or "not active: no new instances are started"))
  end
  return 0
end

local function hotfix(opts, args)
  if not args[2] or args[3] then
    options.usage("hotfix needs one FILE")
  end
  local engine <close> = store.look(opts)
  local info = store.try(engine:load(args[2], { hotfix = true,
    by = act.user(opts), why = opts.reason }))
  if opts.json then
    term.print(format.json(info))
  else
    term.print(("%s version %d runs revision %d now"):format(info.workflow,
      info.version, info.revision))
  end
  return 0
end

local verbs = { list = list, activate = set_active, deactivate = set_active,
  hotfix = hotfix }

local function run(opts, args)
  local verb = args[1] or "list"
  if not verbs[verb] then
    options.usage("workflows cannot '%s'",
      "list, activate, deactivate or hotfix", verb)
  end
  return verbs[verb](opts, args)
end

return {
  name = "workflows", args = "[list|activate|deactivate|hotfix] [...]",
  max = 3,
  summary = "what is registered, which versions start, hot-fixes",
  about = "list [CODE] shows what the store knows, with how many instances "
    .. "are unfinished.\n\nactivate CODE VERSION and deactivate CODE VERSION "
    .. "say whether new instances of a version may be started; those that run "
    .. "go on.\n\nhotfix FILE replaces the source of a version whose instances "
    .. "run: they go on with it. Its graph must be the same; what a handler "
    .. "does may change.",
  options = act.with {},
  examples = {
    { "pawl workflows", "all of them" },
    { "pawl workflows deactivate order.fulfil 1", "version 1 is done with" },
    { "pawl workflows hotfix order.lua --reason 'rounding'", "in place" },
  },
  run = run,
}
