--- pawl ask ID NAME
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

--- It may have been sent: whatever ended the waiting, it is answered once.
local function not_told(opts, err)
  store.end_if_stopped "stopped waiting; what was sent may be answered yet"
  local event = err.code == "timeout" and not opts.event
    and err.hint:match "%S+$"
  if event then
    err.hint = ("the same again with --event %s has its answer"):format(event)
  end
  error(err, 0)
end

local function run(opts, args)
  return store.guarded(store.look(opts), function(engine)
    local id = store.try(engine:find(args[1]))
    local answer, err = engine:ask(id, args[2], opts.data and opts.data.value,
      { timeout = opts.timeout, event = opts.event, by = act.user(opts) })
    if answer == nil and not err.instance then not_told(opts, err) end
    if opts.json then
      term.print(format.json { id = id, value = answer, error = err })
    elseif answer ~= nil then
      term.print(format.json(answer))
    else
      term.warn("pawl: " .. format.under("refused", err))
    end
    return answer == nil and 1 or 0
  end)
end

return {
  name = "ask", args = "ID NAME", min = 2, max = 2,
  summary = "send an instance an event and print its answer",
  about = "Sends an event to one instance, and waits for what the workflow "
    .. "answers: by the `answer` of the wait that takes it, or by ctx.answer "
    .. "behind that. Prints the answer as JSON; where the workflow refuses "
    .. "the event it says why and exits with 1.\n\n"
    .. "An event is answered once: with --event, its id, the command may be "
    .. "repeated safely, and has the same answer.",
  options = {
    { long = "data", short = "d", arg = "JSON", type = "json",
      help = "what the event tells; @FILE reads a file, - standard input" },
    { long = "timeout", arg = "DURATION", type = "duration",
      help = "how long to wait: 90, 15m, 2h; default: without an end" },
    { long = "event", arg = "TEXT", type = "name",
      help = "the event's own id; default: a new one" },
    { long = "by", arg = "WHO", type = "name",
      help = "who asks; default: the user's name" },
  },
  examples = {
    { "pawl ask 019aa1f2 cart.add --data '{\"price\":30}'",
      "and have the new sum" },
  },
  run = run,
}
