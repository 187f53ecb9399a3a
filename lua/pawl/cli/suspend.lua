--- pawl suspend ID | --workflow CODE | --prefix TEXT
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function run(opts, args)
  act.one_of("suspend", opts, args)
  if args[1] then
    return act.instance(opts, args[1], "suspend", "suspended")
  end
  local engine <close> = store.look(opts)
  local info = store.try(engine:suspend(act.asked(opts, {
    workflow = opts.workflow, prefix = opts.prefix,
  })))
  if opts.json then
    term.print(format.json(info))
  else
    term.print("suspended ", info.workflow or info.prefix .. "*",
      ": none of their steps begins until they are resumed")
  end
  return 0
end

return {
  name = "suspend", args = "[ID]", max = 1,
  summary = "hold an instance, or all of a workflow",
  about = "Nothing of the instance runs until it is resumed; a step under way "
    .. "is finished. With --workflow or --prefix it is all instances of a "
    .. "workflow, or of all whose codes begin so: new ones may be started, "
    .. "and wait.",
  options = act.with {
    { long = "workflow", short = "w", arg = "CODE", type = "name",
      help = "all of it" },
    { long = "prefix", arg = "TEXT", type = "name",
      help = "all workflows whose codes begin so" },
  },
  examples = {
    { "pawl suspend 019aa1f2 --reason 'wrong price'", "one instance" },
    { "pawl suspend --prefix billing.", "everything that bills" },
  },
  run = run,
}
