--- pawl retry [ID...]
local act = require "pawl.cli.act"

return {
  name = "retry", args = "[ID...]", max = math.huge,
  summary = "let one that failed or is suspended try again",
  about = "The step that failed is tried again, its attempts counted from the "
    .. "beginning; what was finished stays finished. To go on at another "
    .. "node, see `pawl restart`."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "token", arg = "N", type = "count", help = "only this token" },
  },
  examples = {
    { "pawl retry 019aa1f2 --reason 'the bank is back'", "with a reason" },
    { "pawl retry --status failed --error 'bank_*' --yes",
      "all that failed so" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "retry", "retried",
      { token = opts.token })
  end,
}
