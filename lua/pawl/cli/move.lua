--- pawl move ID --to NODE; pawl move --workflow CODE --from N --to N
local act = require "pawl.cli.act"
local core = require "pawl.core"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"

local function version_of(name, text)
  local n = text and text:match "^%d+$" and math.tointeger(tonumber(text))
  if not n or n < 1 then
    options.usage("--%s takes a version, got '%s'", nil, name, text or "")
  end
  return n
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

local columns = {
  { title = "ID", value = function(r) return r.id end },
  { title = "NODE", value = function(r) return r.node end },
  { title = "TOKEN", value = function(r) return r.token end },
  { title = "WHY NOT", flex = true, value = function(r)
    return r.reason
  end },
}

local function tell(opts, report)
  if opts.json then
    report.moved = core.array(report.moved)
    report.refused = core.array(report.refused)
    report.asked = report.asked and core.array(report.asked)
    term.print(format.json(report))
    return
  end
  term.print(("%d %s, %d cannot"):format(#report.moved,
    opts.plan and "can be moved" or "moved", #report.refused))
  if report.asked and #report.asked > 0 then
    term.print(("%d are held by a worker, which moves them before the next "
      .. "step"):format(#report.asked))
  end
  if #report.refused > 0 then table_of(columns, report.refused) end
end

local function move_workflow(opts)
  local from, to = version_of("from", opts.from), version_of("to", opts.to)
  local map = map_of(opts.map)
  local engine <close> = store.look(opts)
  local report = {}
  if opts.plan then
    report.refused, report.moved = store.try(engine:plan_move(opts.workflow,
      from, to, { map = map }))
  else
    if not opts.json then
      term.warn(("moving the instances of %s from version %d to %d, one by "
        .. "one; stopped, this leaves each on one of the two, and the same "
        .. "command goes on with the rest"):format(term.clean(opts.workflow),
        from, to))
    end
    report.moved, report.refused, report.asked = store.try(engine:move(
      opts.workflow, from, to, act.asked(opts, { map = map })))
  end
  tell(opts, report)
  return #report.refused > 0 and 4 or 0
end

local function run(opts, args)
  if (args[1] == nil) == (opts.workflow == nil) then
    options.usage("move needs an instance's ID, or --workflow CODE")
  end
  if not opts.to then
    options.usage("move needs --to %s", nil, args[1] and "NODE" or "VERSION")
  end
  if opts.workflow then return move_workflow(opts) end
  if opts.from or opts.map or opts.plan then
    options.usage("--from, --map and --plan go with --workflow")
  end
  return act.instance(opts, args[1], "move_token", "moved",
    { to = opts.to, token = opts.token })
end

return {
  name = "move", args = "[ID]", max = 1,
  summary = "put a token elsewhere, or instances on another version",
  about = "With an ID: the instance's token stands at the node --to from then "
    .. "on, whatever it waited for before.\n\nWith --workflow: all unfinished "
    .. "instances of version --from go on in version --to, and failed ones "
    .. "do once they are retried. Each must stand where that has a node of "
    .. "the same name, or one that --map names; what waits needs a node of "
    .. "the same kind. --plan only says which could not go, and why. Exits "
    .. "with 4 when some could not. Each is moved by itself: stopped in "
    .. "between (Ctrl-C), some are on the new version and the others are as "
    .. "they were; the same command goes on with those.",
  options = act.with {
    { long = "to", arg = "NODE|VERSION", help = "where to" },
    { long = "token", arg = "N", type = "count",
      help = "which token, when there are several" },
    { long = "workflow", short = "w", arg = "CODE", help = "all of it" },
    { long = "from", arg = "VERSION", help = "with --workflow" },
    { long = "map", arg = "OLD=NEW", many = true,
      help = "a node that is called otherwise in the new version" },
    { long = "plan", help = "change nothing, say what would happen" },
  },
  examples = {
    { "pawl move 019aa1f2 --to approve", "its token" },
    { "pawl move -w order.fulfil --from 1 --to 2 --map pay=charge --plan",
      "what would happen" },
  },
  run = run,
}
