--- pawl edit ID --set NAME=JSON --unset NAME
local act = require "pawl.cli.act"
local core = require "pawl.core"
local options = require "pawl.cli.options"

--- NAME=JSON; what is no JSON is an error, so that no text slips in as one.
local function assignments(given)
  local set = {}
  for _, text in ipairs(given or {}) do
    local name, value = text:match "^([^=]+)=(.*)$"
    if not name then
      options.usage("--set takes NAME=JSON, not '%s'", nil, text)
    end
    local decoded, err = core.json_decode(value)
    if decoded == nil then
      options.usage("--set %s: that is not JSON: %s",
        ("quote texts: --set '%s=\"%s\"'"):format(name, value), name,
        err.message)
    end
    set[name] = decoded
  end
  return set
end

return {
  name = "edit", args = "ID", min = 1, max = 1,
  summary = "change an instance's variables",
  about = "Sets and removes variables of an unfinished instance. The change "
    .. "stands in its history. With --version it is made only if the instance "
    .. "made exactly so many commits (`pawl show` tells).",
  options = act.with {
    { long = "set", arg = "NAME=JSON", many = true,
      help = "may be given several times" },
    { long = "unset", arg = "NAME", many = true,
      help = "may be given several times" },
    { long = "version", arg = "N", type = "count",
      help = "only if it made so many commits" },
  },
  examples = {
    { "pawl edit 019aa1f2 --set price=9.90 --set 'note=\"as agreed\"'",
      "two variables" },
    { "pawl edit 019aa1f2 --unset coupon", "one less" },
  },
  run = function(opts, args)
    if not opts.set and not opts.unset then
      options.usage("edit needs --set NAME=JSON or --unset NAME")
    end
    return act.instance(opts, args[1], "edit", "changed", {
      set = opts.set and assignments(opts.set), unset = opts.unset,
      version = opts.version,
    })
  end,
}
