--- pawl worker FILE|DIR...
local options = require "pawl.cli.options"
local working = require "pawl.cli.working"

return {
  name = "worker", args = "[FILE|DIR...]", max = math.huge,
  is_daemon = true, -- runs with a closed standard output, too
  summary = "run what is due, until it is stopped",
  about = "Loads workflow files (of a folder: every *.lua) and runs "
    .. "whatever is due in the store, one line per event. As many workers as "
    .. "you like may share a store; each instance is run by one at a time, "
    .. "and what a dead worker held is taken over. Without files it runs the "
    .. "definitions that the store has. A file whose version is in use with "
    .. "other contents, or was hot-fixed, is not loaded: that is said, and "
    .. "the stored one runs. One version in two files that differ is an "
    .. "error.\n\n"
    .. "On a terminal a line has the local time and the end of an "
    .. "instance's id, and is cut to the width; the line at the bottom says "
    .. "what runs, how many steps and ends of instances there are a second, "
    .. "and how many have failed since it began. In a pipe lines are whole, "
    .. "with times in UTC; so are those of --processes.\n\n"
    .. "SIGTERM or Ctrl-C stops it cleanly: the handler that runs is "
    .. "finished and stored, what was not begun is given back, and it exits "
    .. "with 0. Handlers that wait in ctx.await are ended where they stand: "
    .. "the next worker runs them from their beginning. A second signal "
    .. "stops it at once; the next worker takes over then.\n\n"
    .. "A store that is busy or does not answer is waited for, from the "
    .. "start. So is, once the worker was at work, one that is gone: its "
    .. "file moved, deleted or replaced, its database or schema dropped, its "
    .. "user locked out. Each attempt says why, and the worker goes on with "
    .. "what is there then. At the start those are errors.\n\n"
    .. "Started by systemd (`Type=notify`) it says when it is at work and when "
    .. "it stops, and gives signs of life if its unit has WatchdogSec: after "
    .. "each look at the store, so not while a handler runs that does not "
    .. "wait. `systemctl start pawl-worker@NAME` is such a unit: it runs "
    .. "/etc/pawl/NAME/*.lua.\n\n"
    .. "With --processes it runs as several processes, each a worker of its "
    .. "own, and starts another when one has died: at once, then after longer "
    .. "and longer pauses, up to half a minute.",
  options = {
    options.trust,
    { long = "prefix", arg = "LIST", env = "PAWL_PREFIXES",
      help = "serve only codes that begin so: billing.,media. "
        .. "(PAWL_PREFIXES)" },
    { long = "group", arg = "NAME", help = "executor group served" },
    { long = "until-idle",
      help = "stop when nothing is due now, nor held by any worker of the "
        .. "group; future timers do not count. Ends with an error when the "
        .. "store fails for some seconds" },
    { long = "stored-code", arg = "own|any",
      help = "own: never run a definition from the store" },
    { long = "unknown", arg = "defer|fail",
      help = "what nobody has loaded: waits for a worker that has "
        .. "(default), or fails" },
    { long = "processes", arg = "N", type = "count", max = 1000,
      help = "worker processes; default: one a core on PostgreSQL, else 1" },
    { long = "batch", arg = "N", type = "count",
      help = "instances claimed at once; default 128" },
    { long = "concurrency", arg = "N", type = "count",
      help = "handlers that may wait (ctx.await) at once; default 100" },
    { long = "lease", arg = "DURATION", type = "duration", above_zero = true,
      help = "how long a claim holds, to an hour; default 30s" },
    { long = "recoveries", arg = "N", type = "count",
      help = "takeovers before an instance is suspended; default 5" },
    { long = "retain", arg = "DURATION", type = "retain",
      help = "prune what ended so long ago, where its workflow does not say: "
        .. "30d, or completed=7d,failed=90d (`pawl prune --help`)" },
    { long = "quiet", short = "q", help = "only warnings and errors" },
  },
  examples = {
    { "pawl worker workflows/", "all files of a folder" },
    { "pawl worker --store postgres://db/app --prefix billing.",
      "stored definitions, one team's codes" },
    { "pawl worker order.lua --until-idle --json",
      "for scripts: drain the store, then stop" },
  },
  run = function(opts, args) return working.run(opts, args) end,
}
