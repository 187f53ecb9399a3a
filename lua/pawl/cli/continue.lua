--- pawl continue [ID...]
local act = require "pawl.cli.act"
local options = require "pawl.cli.options"

return {
  name = "continue", args = "[ID...]", max = math.huge,
  summary = "let go on what has halted at a breakpoint",
  about = "What has halted in the instance goes on; one that steps steps no "
    .. "more. The breakpoint stays, for whoever comes there next: `pawl break "
    .. "--remove` takes it away.\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "node", arg = "NODE", many = true,
      help = "only there; may be given several times" },
    { long = "token", arg = "N", type = "count", help = "only this one" },
    { long = "all", help = "all that has halted" },
  },
  examples = {
    { "pawl continue 019aa1f2", "one instance" },
    { "pawl continue --all --yes", "whatever has halted" },
  },
  run = function(opts, args)
    if #args > 0 and opts.all then
      options.usage("ids, or --all: one of them", nil)
    elseif #args == 0 then -- of what the filters find, that alone
      opts.halted = opts.all or nil
    end
    local nodes = act.nodes(opts, args)
    return act.instance(opts, args, "continue", "let go on",
      { node = nodes, token = opts.token })
  end,
}
