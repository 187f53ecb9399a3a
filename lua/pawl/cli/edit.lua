--- pawl edit [ID...] --set NAME=JSON --unset NAME
local act = require "pawl.cli.act"
local core = require "pawl.core"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

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
    if set[name] ~= nil then
      options.usage("--set names '%s' twice", nil, name)
    end
    set[name] = decoded
  end
  return set
end

--- Removing what is not there is no error, but may be a slip.
local function warn_absent(engine, id, names)
  local instance = store.try(engine:get(id))
  for _, name in ipairs(names or {}) do
    if instance.variables[name] == nil then
      term.warn(("warning: there was no variable '%s'"):format(
        term.clean(name)))
    end
  end
end

return {
  name = "edit", args = "[ID...]", max = math.huge,
  summary = "change an instance's variables",
  about = "Sets and removes variables of an unfinished instance. The change "
    .. "stands in its history. With --if-commits it is made only if the "
    .. "instance made exactly so many commits (`pawl show --json` tells)."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "set", arg = "NAME=JSON", many = true,
      help = "may be given several times" },
    { long = "unset", arg = "NAME", many = true,
      help = "may be given several times" },
    { long = "if-commits", arg = "N", type = "count",
      help = "only if it made so many commits" },
  },
  examples = {
    { "pawl edit 019aa1f2 --set price=9.90 --set 'note=\"as agreed\"'",
      "two variables" },
    { "pawl edit 019aa1f2 --unset coupon", "one less" },
    { "pawl edit -w order.fulfil --node ship --set carrier='\"dhl\"' --dry-run",
      "how many that would be" },
  },
  run = function(opts, args)
    if not opts.set and not opts.unset then
      options.usage("edit needs --set NAME=JSON or --unset NAME")
    end
    local set = opts.set and assignments(opts.set)
    for _, name in ipairs(opts.unset or {}) do
      if set and set[name] ~= nil then
        options.usage("--set and --unset both name '%s'", nil, name)
      end
    end
    return act.instance(opts, args, "edit", "changed",
      { set = set, unset = opts.unset, if_commits = opts.if_commits },
      { method = function(engine, id, given)
        warn_absent(engine, id, opts.unset)
        return engine:edit(id, given)
      end })
  end,
}
