--- pawl reclaim [ID...]
local act = require "pawl.cli.act"

return {
  name = "reclaim", args = "[ID...]", max = math.huge,
  summary = "take back what was exported with --move",
  about = "An instance that `pawl export --move` has fenced off goes on here, "
    .. "as it stood. Only when nobody has imported it: it would go on twice. "
    .. "What came for it meanwhile is taken then.\n\n" .. act.about_many,
  options = act.with_filters {},
  examples = {
    { "pawl reclaim 019aa1f2", "the other store was never reached" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "reclaim", "reclaimed")
  end,
}
