--- pawl kill [ID...]
local act = require "pawl.cli.act"

return {
  name = "kill", args = "[ID...]", max = math.huge,
  summary = "end an instance at once, whoever works on it",
  about = "Takes the instance from the worker that holds it and ends it; what "
    .. "that worker is doing is not stored. Nothing is undone: that is what "
    .. "`pawl cancel` does, and it should be tried first."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {},
  examples = {
    { "pawl kill 019aa1f2 --reason 'its handler hangs'", "with a reason" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "kill", "killed", {})
  end,
}
