--- pawl break CODE NODE
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function set(opts, engine, code, node)
  local info = store.try(engine.breakpoints:set { workflow = code, node = node,
    when = opts.when, lasts = opts["for"], version = opts.version,
    by = act.user(opts), reason = opts.reason })
  if opts.json then
    term.print(format.json(info))
  else
    term.print(("tokens halt before %s of %s, until %s"):format(node, code,
      format.when(info.expires, engine:now())))
  end
end

local function remove(opts, engine, code, node)
  local info = store.try(engine.breakpoints:remove { workflow = code,
    node = node, all = opts.all, by = act.user(opts), reason = opts.reason })
  if opts.json then
    term.print(format.json(info))
  else
    term.print(("removed %d breakpoint%s; %d instance%s on"):format(
      info.removed, info.removed == 1 and "" or "s", info.continued,
      info.continued == 1 and " goes" or "s go"))
  end
end

local function run(opts, args)
  local of_removal = opts.remove or opts.all
  if of_removal and (opts.when or opts["for"] or opts.version) then
    options.usage("--remove takes neither --when, --for nor "
      .. "--workflow-version", nil)
  elseif not of_removal and #args < 2 then
    options.usage("pawl break needs a CODE and a NODE", "`pawl graph CODE` "
      .. "shows its nodes")
  elseif of_removal and #args == 0 and not opts.all then
    options.usage("--remove needs a CODE, or --all", nil)
  end
  return store.guarded(store.look(opts), function(engine)
    local act_on = of_removal and remove or set
    act_on(opts, engine, args[1], args[2])
    return 0
  end)
end

return {
  name = "break", args = "[CODE [NODE]]", min = 0, max = 2,
  summary = "have instances halt before a node",
  about = "A token that comes to that node, of whatever version, halts before "
    .. "it begins: no handler is asked, no attempt counted, no worker holds "
    .. "it. `pawl list --halted` finds what stands there; show and edit it, "
    .. "then `pawl step` or `pawl continue`. After its time a breakpoint is "
    .. "none any more, and what stands there goes on by itself. A worker that "
    .. "holds an instance heeds it after that one's next commit. --remove "
    .. "takes it away, without NODE all of the workflow: what stands there "
    .. "goes on.",
  options = act.with({
    { long = "when", arg = "EXPR",
      help = "only if this is true: Lua, over vars, input, key and attempt. "
        .. "Where it fails a token halts, and says so" },
    { long = "for", arg = "SPAN", type = "duration", above_zero = true,
      help = "for so long; default: 1h" },
    { long = "workflow-version", arg = "N", type = "count", key = "version",
      help = "whose graph has the node; default: the newest" },
    { long = "remove", help = "take it away" },
    { long = "all", help = "take all of them away" },
  }, act.audited),
  examples = {
    { "pawl break shop.order ship --when 'vars.total > 1000'",
      "for an hour" },
    { "pawl break --remove shop.order ship", "what stands there goes on" },
  },
  run = run,
}
