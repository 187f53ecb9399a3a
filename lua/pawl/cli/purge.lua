--- pawl purge [ID...]
local act = require "pawl.cli.act"

return {
  name = "purge", args = "[ID...]", max = math.huge,
  summary = "do away with an instance that has ended, for good",
  about = "Takes the instance out of the store with all that is its own: "
    .. "history, tasks, tokens, variables, attributes, what came in and what "
    .. "it emitted. It cannot be taken back. Refused while it lives, while "
    .. "its parent does, or children that end with it, and while it has "
    .. "emitted what nobody has published yet. Stopped half-way, it is "
    .. "hidden, and goes on when it is asked for again."
    .. "\n\n" .. act.about_many,
  options = act.with_filters({
    { long = "keep-attributes", help = "by them it can be found still: "
      .. "`pawl list --archived`" },
    { long = "force", help = "what it emitted may be lost unpublished" },
  }, act.audited),
  examples = {
    { "pawl purge 019aa1f2 019aa1f7", "two of them" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "purge", "purged",
      { force = opts.force, keep_attributes = opts.keep_attributes })
  end,
}
