--- pawl unarchive [ID...]
local act = require "pawl.cli.act"

return {
  name = "unarchive", args = "[ID...]", max = math.huge,
  summary = "bring an archived instance back",
  about = "Takes back what `pawl archive` did: all of it is where it was, "
    .. "and it can be retried or restarted as before."
    .. "\n\n" .. act.about_many,
  options = act.with_filters({}, act.audited),
  examples = {
    { "pawl list --archived", "what there is to bring back" },
    { "pawl unarchive 019aa1f2", "as it was" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "unarchive", "unarchived")
  end,
}
