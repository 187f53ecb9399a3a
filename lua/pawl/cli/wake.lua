--- pawl wake [ID...]
local act = require "pawl.cli.act"

return {
  name = "wake", args = "[ID...]", max = math.huge,
  summary = "do now what an instance waits to do later",
  about = "Timers, retries and timeouts that the instance waits for are due "
    .. "now, or at the time that --at says, if that is earlier. One that "
    .. "waits for no time is looked at by a worker, or refused where filters "
    .. "found it."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "node", arg = "NODE", many = true,
      help = "only there; may be given several times" },
    { long = "at", arg = "TIME", type = "ahead",
      help = "at this time, or in 2d; default: now" },
  },
  examples = {
    { "pawl wake 019aa1f2", "do not wait for the retry's delay" },
    { "pawl wake 019aa1f2 --node remind", "this timer only" },
  },
  run = function(opts, args)
    local nodes = act.nodes(opts, args, "wake the others by another command")
    return act.instance(opts, args, "wake", "woken",
      { nodes = nodes, at = opts.at })
  end,
}
