--- pawl complete TOKEN
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local function run(opts, args)
  return store.guarded(store.look(opts), function(engine)
    local done = store.try(engine:complete(args[1],
      opts.data and opts.data.value, { by = act.user(opts) }))
    if opts.json then
      term.print(format.json { repeated = not done })
    else
      term.print(done and "completed" or "it was completed before")
    end
    return 0
  end)
end

return {
  name = "complete", args = "TOKEN", min = 1, max = 1,
  summary = "complete what a workflow gave a token for",
  about = "Sends the event for which a handler gave out the token, by "
    .. "ctx.callback, to its instance. A token is good for one time: the "
    .. "command may be repeated safely, and says whether it was done before. "
    .. "What the first one told counts.",
  options = {
    { long = "data", short = "d", arg = "JSON", type = "json",
      help = "what the event tells; @FILE reads a file, - standard input" },
    { long = "by", arg = "WHO", type = "name",
      help = "who completes it; default: the user's name" },
  },
  examples = {
    { "pawl complete AZqh8gAA...paid --data '{\"sum\":30}'",
      "as the payment service would" },
  },
  run = run,
}
