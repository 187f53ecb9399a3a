--- pawl step ID
local act = require "pawl.cli.act"

return {
  name = "step", args = "ID...", min = 1, max = math.huge,
  summary = "let what has halted at a breakpoint run one node",
  about = "The token that has halted runs its node, and halts again before "
    .. "the next one of the instance; behind a fork each branch does. Where "
    .. "several have halted, --node or --token says which. `pawl continue` "
    .. "lets it go on for good.",
  options = act.with_change {
    { long = "node", arg = "NODE", help = "the one that has halted there" },
    { long = "token", arg = "N", type = "count", help = "this one" },
    { long = "for", arg = "SPAN", type = "duration", above_zero = true,
      help = "it halts at the next for so long; default: 1h" },
  },
  examples = {
    { "pawl step 019aa1f2", "to the next node" },
    { "pawl step 019aa1f2 --node ship", "of several that have halted" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "step", "stepped",
      { node = opts.node, token = opts.token, lasts = opts["for"] })
  end,
}
