--- pawl retry ID...
local act = require "pawl.cli.act"

return {
  name = "retry", args = "ID...", min = 1, max = math.huge,
  summary = "let one that failed or is suspended try again",
  about = "The step that failed is tried again, its attempts counted from the "
    .. "beginning; what was finished stays finished. To go on at another "
    .. "node, see `pawl restart`.",
  options = act.with {
    { long = "token", arg = "N", type = "count", help = "only this token" },
  },
  examples = {
    { "pawl retry 019aa1f2 --reason 'the bank is back'", "with a reason" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "retry", "retried",
      { token = opts.token })
  end,
}
