--- pawl cancel [ID...]
local act = require "pawl.cli.act"

local function run(opts, args)
  local given = {}
  if opts.no_undo then given.compensate = false end
  return act.instance(opts, args, "cancel", "cancelled", given, {
    asked = "asked to cancel",
    later = ": a worker stops it before its next step, and undoes what is to "
      .. "be undone",
  })
end

return {
  name = "cancel", args = "[ID...]", max = math.huge,
  summary = "ask an instance to end",
  about = "Records that the instance is to be cancelled. One that nobody "
    .. "works on is cancelled at once; otherwise its worker does it before "
    .. "the next step. A step that runs is not cut short. What its steps did "
    .. "is undone by a worker, where they say how. Exits with 4 when the "
    .. "instance has already finished.\n\n"
    .. "Like every command that takes an id it takes several: each is "
    .. "cancelled by itself, what was refused is told with its id, and the "
    .. "exit code is that of the worst."
    .. "\n\n" .. act.about_many,
  options = act.with_filters {
    { long = "no-undo", help = "undo nothing" },
  },
  examples = {
    { "pawl cancel 019aa1f2 --reason 'ordered twice'", "with a reason" },
    { "pawl cancel 52107083 90caf5d0", "two, by the ends of their ids" },
    { "pawl cancel -w order.fulfil --node ship --dry-run",
      "how many stand there" },
  },
  run = run,
}
