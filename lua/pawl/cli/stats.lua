--- pawl stats
local standing = require "pawl.cli.standing"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"
local watch = require "pawl.cli.watch"

local most_nodes = 20

local function run(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("stats", opts)
  store.check_workflow(engine, opts.workflow)
  return watch.run(opts, function()
    if opts.json then
      term.json((store.try(engine:stats(query, "json"))))
    else
      standing.tell(store.try(engine:stats(query)), engine:now(), most_nodes,
        standing.executors(engine))
    end
    return 0
  end)
end

return {
  name = "stats", max = 0,
  summary = "how many instances there are, what is due, who is behind",
  about = "Tells of each workflow's version how many instances it has of each "
    .. "status (those that were created and not begun run, too: `pawl list "
    .. "--group-by status` tells them apart) and where they wait, how many "
    .. "were started, completed and failed in the last minutes, what workers "
    .. "may claim and since when, "
    .. "what waits to be published and which tasks are open. Nothing is "
    .. "searched for that: it takes as long beside a million instances. What "
    .. "could be very many is counted to 10,000 and shown as 10000+.",
  options = {
    { long = "workflow", arg = "CODE", type = "code", help = "of this one" },
    { long = "minutes", arg = "N", type = "count", max = 14,
      help = "what happened in the last N; default 5" },
    watch.option,
  },
  examples = {
    { "pawl stats", "how the store stands" },
    { "pawl stats --json | jq .ready.since", "since when something is due" },
    { "pawl stats --watch", "again and again" },
  },
  run = run,
}
