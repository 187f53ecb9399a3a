--- pawl note [ID...] TEXT
local act = require "pawl.cli.act"
local filters = require "pawl.cli.filters"
local options = require "pawl.cli.options"

return {
  name = "note", args = "[ID...] TEXT", min = 1, max = math.huge,
  summary = "add a note to an instance's history",
  about = "Adds a row of type note to the history of an instance, also of one "
    .. "that has ended. Nothing else comes of it."
    .. "\n\n" .. act.about_many,
  options = act.with_filters({
    { long = "data", arg = "JSON", type = "json",
      help = "any value; kept as the row's output" },
  }, { act.options[2] }),
  examples = {
    { "pawl note 019aa1f2 'the customer called: ship it tomorrow'",
      "for whoever reads the history" },
    { "pawl note 'the bank was down' --error 'bank_*' --dry-run",
      "to how many that would be told" },
  },
  run = function(opts, args)
    local ids = table.move(args, 1, #args - 1, 1, {})
    if #ids == 0 and not filters.any(filters.read(opts)) then
      options.usage("note needs an ID and TEXT, or filters and TEXT", nil)
    end
    return act.instance(opts, ids, "note", "noted",
      { text = args[#args], data = opts.data and opts.data.value })
  end,
}
