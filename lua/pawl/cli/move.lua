--- pawl move [ID...] --to NODE
local act = require "pawl.cli.act"
local options = require "pawl.cli.options"

return {
  name = "move", args = "[ID...]", max = math.huge,
  summary = "put a token elsewhere",
  about = "The instance's token stands at the node --to from then on, whatever "
    .. "it waited for before; what stands beside its node ends. `pawl workflow "
    .. "transfer` has instances go on in another version."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "to", arg = "NODE", help = "where to" },
    { long = "token", arg = "N", type = "count",
      help = "which token, when there are several" },
  },
  examples = {
    { "pawl move 019aa1f2 --to approve", "its token" },
  },
  run = function(opts, args)
    if not opts.to then options.usage("move needs --to NODE") end
    return act.instance(opts, args, "move", "moved",
      { to = opts.to, token = opts.token })
  end,
}
