--- pawl cancel ID
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function run(opts, args)
  local engine <close> = store.look(opts)
  local id = store.try(engine:find(args[1]))
  local given = act.asked(opts)
  if opts.no_undo then given.compensate = false end
  local _, done = store.try(engine:cancel(id, given))
  if opts.json then
    term.print(format.json { id = id, done = done })
  elseif done then
    term.print("cancelled ", id)
  else
    term.print("asked to cancel ", id,
      ": a worker stops it before its next step, and undoes what is to be "
      .. "undone")
  end
  return 0
end

return {
  name = "cancel", args = "ID", min = 1, max = 1,
  summary = "ask an instance to end",
  about = "Records that the instance is to be cancelled. One that nobody "
    .. "works on is cancelled at once; otherwise its worker does it before "
    .. "the next step. A step that runs is not cut short. What its steps did "
    .. "is undone by a worker, where they say how. Exits with 4 when the "
    .. "instance has already finished.",
  options = act.with {
    { long = "no-undo", help = "undo nothing" },
  },
  examples = {
    { "pawl cancel 019aa1f2 --reason 'ordered twice'", "with a reason" },
  },
  run = run,
}
