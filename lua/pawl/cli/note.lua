--- pawl note ID TEXT
local act = require "pawl.cli.act"

return {
  name = "note", args = "ID TEXT", min = 2, max = 2,
  summary = "add a note to an instance's history",
  about = "Adds a row of type note to the history of an instance, also of one "
    .. "that has ended. Nothing else comes of it.",
  options = {
    act.options[2], act.of_change[1], act.of_change[2],
    { long = "data", arg = "JSON", type = "json",
      help = "any value; kept as the row's output" },
  },
  examples = {
    { "pawl note 019aa1f2 'the customer called: ship it tomorrow'",
      "for whoever reads the history" },
  },
  run = function(opts, args)
    return act.instance(opts, { args[1] }, "note", "noted",
      { text = args[2], data = opts.data and opts.data.value })
  end,
}
