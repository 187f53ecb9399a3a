--- pawl delete [ID...]
local act = require "pawl.cli.act"

return {
  name = "delete", args = "[ID...]", max = math.huge,
  summary = "hide an instance that has ended",
  about = "Hides the instance and its tasks from lists and gives its key free "
    .. "for a new one; what it has emitted is published all the same. "
    .. "Nothing of it is lost: `pawl show` has it, `pawl list --deleted` lists "
    .. "it, `pawl undelete` takes it back, `pawl purge` does away with it. One "
    .. "that lives is refused, unless it is to be cancelled first."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "cancel", help = "cancel it first, if it lives" },
  },
  examples = {
    { "pawl delete 019aa1f2 --reason 'a test'", "with a reason" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "delete", "deleted",
      { cancel = opts.cancel }, {
        asked = "asked to cancel",
        later = ": it is deleted when it has ended, and what is to be undone "
          .. "has been",
      })
  end,
}
