--- pawl resume [ID...]
local act = require "pawl.cli.act"

return {
  name = "resume", args = "[ID...]", max = math.huge,
  summary = "let go on what was suspended",
  about = "Times that have passed meanwhile are due at once; with --shift "
    .. "timers, retries and timeouts are put off by as long as it was "
    .. "suspended. `pawl workflow resume` is for all of a workflow."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "shift", help = "put its times off by as long as it took" },
  },
  examples = {
    { "pawl resume 019aa1f2", "one instance" },
    { "pawl resume 019aa1f2 --shift", "no timer fires early" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "resume", "resumed",
      { shift = opts.shift })
  end,
}
