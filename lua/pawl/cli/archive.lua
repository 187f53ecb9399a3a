--- pawl archive [ID...]
local act = require "pawl.cli.act"

return {
  name = "archive", args = "[ID...]", max = math.huge,
  summary = "put an instance that has ended out of the way",
  about = "Takes the instance out of the tables of those that live, into the "
    .. "store's archive. `pawl show`, `history`, `explain`, `export` have it "
    .. "as before; `pawl list --archived` lists it, by its attributes, too; "
    .. "other lists do not. It keeps its key. `pawl unarchive` brings it "
    .. "back, `pawl purge` does away with it. Refused while it lives, while "
    .. "its parent does, or children that end with it, and while it has "
    .. "emitted what nobody has published yet."
    .. "\n\n" .. act.about_many,
  options = act.with_filters({
    { long = "force", help = "what it emitted is not published any more" },
  }, act.audited),
  examples = {
    { "pawl archive 019aa1f2 019aa1f7", "two of them" },
    { "pawl archive --workflow order --completed-before 30d --yes",
      "all that ended so long ago" },
  },
  run = function(opts, args)
    return act.instance(opts, args, "archive", "archived",
      { force = opts.force })
  end,
}
