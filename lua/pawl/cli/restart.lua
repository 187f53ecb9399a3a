--- pawl restart [ID...] --from NODE
local act = require "pawl.cli.act"
local options = require "pawl.cli.options"

return {
  name = "restart", args = "[ID...]", max = math.huge,
  summary = "let one that completed or failed go on at a node",
  about = "For what completed, failed or is suspended; what was cancelled or "
    .. "killed does not go on. It goes on at the node with the variables as "
    .. "they were when it last came there, or, with --seq, before that row of "
    .. "its history. Nothing is undone."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "from", arg = "NODE", help = "where it goes on" },
    { long = "seq", arg = "N", type = "count",
      help = "with the variables before this row of `pawl history`" },
  },
  examples = {
    { "pawl restart 019aa1f2 --from charge", "once more from there" },
  },
  run = function(opts, args)
    if not opts.from then options.usage("restart needs --from NODE") end
    return act.instance(opts, args, "restart", "restarted",
      { from = opts.from, seq = opts.seq })
  end,
}
