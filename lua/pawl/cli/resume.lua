--- pawl resume ID | --workflow CODE | --prefix TEXT
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function run(opts, args)
  act.one_of("resume", opts, args)
  if args[1] then
    return act.instance(opts, args[1], "resume", "resumed",
      { shift = opts.shift })
  end
  local engine <close> = store.look(opts)
  local info = store.try(engine:resume(act.asked(opts, {
    workflow = opts.workflow, prefix = opts.prefix, shift = opts.shift,
  })))
  if opts.json then
    term.print(format.json(info))
  else
    term.print("resumed ", info.workflow or info.prefix .. "*")
  end
  return 0
end

return {
  name = "resume", args = "[ID]", max = 1,
  summary = "let go on what was suspended",
  about = "Times that have passed meanwhile are due at once; with --shift "
    .. "timers, retries and timeouts are put off by as long as it was "
    .. "suspended. A workflow or a prefix is resumed as it was suspended: one "
    .. "suspended by --prefix with the same --prefix.",
  options = act.with {
    { long = "workflow", short = "w", arg = "CODE", type = "name",
      help = "all of it" },
    { long = "prefix", arg = "TEXT", type = "name",
      help = "all workflows whose codes begin so" },
    { long = "shift", help = "put its times off by as long as it took" },
  },
  examples = {
    { "pawl resume 019aa1f2", "one instance" },
    { "pawl resume --prefix billing. --shift", "no timer fires early" },
  },
  run = run,
}
