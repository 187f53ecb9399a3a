--- pawl cancel ID
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

--- Who asks, when nobody says; nil when the system does not know either.
local function user()
  local name = os.getenv "USER"
  return name ~= "" and name or sys.login()
end

local function run(opts, args)
  local engine <close> = store.look(opts)
  local id = store.try(engine:find(args[1]))
  local _, done = store.try(engine:cancel(id, {
    reason = opts.reason, who = opts.by or user(),
  }))
  if opts.json then
    term.print(format.json { id = id, done = done })
  elseif done then
    term.print("cancelled ", id)
  else
    term.print("asked to cancel ", id,
      ": the worker that holds it stops before its next step")
  end
  return 0
end

return {
  name = "cancel", args = "ID", min = 1, max = 1,
  summary = "ask an instance to end",
  about = "Records that the instance is to be cancelled. One that nobody "
    .. "works on is cancelled at once; otherwise its worker does it before "
    .. "the next step. A step that runs is not cut short. Exits with 4 when "
    .. "the instance has already finished.",
  options = {
    { long = "reason", arg = "TEXT", help = "why; kept in the history" },
    { long = "by", arg = "WHO", help = "who asks; default: the user's name" },
  },
  examples = {
    { "pawl cancel 019aa1f2 --reason 'ordered twice'", "with a reason" },
  },
  run = run,
}
