--- pawl suspend [ID...]
local act = require "pawl.cli.act"

return {
  name = "suspend", args = "[ID...]", max = math.huge,
  summary = "hold an instance",
  about = "Nothing of the instance runs until it is resumed; a step under way "
    .. "is finished. `pawl workflow suspend` holds all of a workflow."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {},
  examples = {
    { "pawl suspend 019aa1f2 --reason 'wrong price'", "one instance" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "suspend", "suspended")
  end,
}
