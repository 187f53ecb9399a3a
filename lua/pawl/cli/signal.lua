--- pawl signal NAME
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function check(opts)
  if opts.instance and opts.start then
    options.usage("--instance and --start exclude each other", nil)
  end
  for _, name in ipairs { "input", "start_key", "on_existing", "reuse",
    "deadline", "max_bytes" } do
    if opts[name] and not opts.start then
      options.usage("--%s goes with --start", "name the workflow: "
        .. "--start order.fulfil", (name:gsub("_", "-")))
    end
  end
end

local function say(info, opts)
  if info.repeated then
    term.print("known already: event ", info.id, " was ignored")
  elseif opts.start then
    term.print(info.created and "started and reached " or "reached ",
      info.instance)
  elseif opts.instance then
    term.print("reached ", info.instance)
  else
    term.print(("reached %d instance%s"):format(info.reached,
      info.reached == 1 and "" or "s"))
    if info.reached == 0 then
      term.print(info.kept and "kept for waits that begin later with this key"
        or "nobody waits for it, and without --key or --instance it is not "
        .. "kept: it is lost")
    end
  end
end

local function run(opts, args)
  check(opts)
  local engine <close> = opts.start and store.leave(opts) or store.look(opts)
  local start = opts.start and { workflow = opts.start,
    input = opts.input and opts.input.value, key = opts.start_key,
    on_existing = opts.on_existing, reuse = opts.reuse,
    deadline = opts.deadline, max_bytes = opts.max_bytes }
  local data = opts.data and opts.data.value
  local _, info = store.try(engine:signal {
    name = args[1], key = opts.key, id = opts.id, source = opts.source,
    instance = opts.instance and store.try(engine:find(opts.instance)),
    data = data, ttl = opts.ttl, start = start,
    by = act.user(opts),
  })
  if opts.start then store.warn_unknown(engine, opts.start) end
  -- an instance's inbox keeps what comes too early, a key what nobody awaits
  info.kept = not info.repeated
    and (opts.key or opts.instance or opts.start) ~= nil
  if opts.json then
    term.print(format.json(info))
  else
    say(info, opts)
  end
  return 0
end

return {
  name = "signal", args = "NAME", min = 1, max = 1,
  summary = "send an event to what waits for it",
  about = "Sends an event. It reaches every instance that waits for its name, "
    .. "or for a pattern such as `payment.*`, with the same key; with "
    .. "--instance that one alone, whose inbox keeps it for a later wait. "
    .. "Workflows that the event triggers are started.\n\n"
    .. "An event with a key is kept for its lifetime (--ttl), and found by "
    .. "waits that begin later; one with neither a key nor an instance that "
    .. "nobody waits for is lost. --json tells it as `kept`. With --id the "
    .. "command may be repeated safely: an id seen before, from the same "
    .. "--source, is ignored.\n\n"
    .. "With --start an instance is started, or found by --start-key, and "
    .. "gets the event in the same transaction.",
  options = {
    { long = "key", arg = "TEXT", type = "name",
      help = "ties it to waits: an order's number, say" },
    { long = "instance", arg = "ID", help = "to this instance alone" },
    { long = "data", short = "d", arg = "JSON", type = "json",
      help = "what the event tells; @FILE reads a file, - standard input" },
    { long = "id", arg = "TEXT", type = "name",
      help = "the event's own id, taken once" },
    { long = "source", arg = "TEXT", help = "whose ids these are" },
    { long = "ttl", arg = "DURATION", type = "duration", above_zero = true,
      help = "how long later waits find it; default 1d" },
    { long = "start", arg = "CODE", type = "name",
      help = "start this workflow with it" },
    { long = "input", short = "i", arg = "JSON", type = "json",
      help = "of the instance that is started" },
    { long = "start-key", arg = "TEXT", type = "name",
      help = "idempotency key of the start" },
    { long = "on-existing", arg = "HOW",
      help = "when that is in use: return, fail or replace, as `pawl start`" },
    { long = "reuse", arg = "WHEN",
      help = "begin again with the key of one that has ended, or failed" },
    { long = "deadline", arg = "DURATION", type = "duration",
      above_zero = true,
      help = "it fails when it has not ended so long after it began; default: "
        .. "its workflow's" },
    { long = "max-bytes", arg = "N", type = "count",
      help = "that its variables may have, as JSON: fewer than the engine's" },
    { long = "by", arg = "WHO", type = "name",
      help = "who sends it; default: the user's name" },
  },
  examples = {
    { "pawl signal payment.received --key order-4711 --data '{\"sum\":9}'",
      "to whoever waits for that order's payment" },
    { "pawl signal approved --instance 019aa1f2", "to one instance" },
  },
  run = run,
}
