--- pawl undelete [ID...]
local act = require "pawl.cli.act"

return {
  name = "undelete", args = "[ID...]", max = math.huge,
  summary = "take a deleted instance back",
  about = "Takes back what `pawl delete` did. Refused when another instance "
    .. "was started with its key meanwhile, and once it is being purged."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {},
  examples = {
    { "pawl list --deleted", "what there is to take back" },
    { "pawl undelete 019aa1f2", "as it was" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "undelete", "undeleted")
  end,
}
