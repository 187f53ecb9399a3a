--- pawl list
local filters = require "pawl.cli.filters"
local format = require "pawl.cli.format"
local listing = require "pawl.cli.listing"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"
local watch = require "pawl.cli.watch"

local function count(engine, query, opts)
  local n, more = store.try(engine:tally(query))
  if opts.json then
    term.print(format.json { count = n, more = more })
  else
    term.print((more and "more than %d" or "%d"):format(n))
  end
  return 0
end

local function tell(opts)
  local query = filters.read(opts)
  local engine <close> = store.look(opts)
  filters.found(engine, query)
  if opts.count then return count(engine, query, opts) end
  if opts.json then
    term.json((store.try(engine:list(query, "json"))))
    return 0
  end
  query.waits = true
  local rows = store.try(engine:list(query))
  if #rows == 0 then
    term.print("no instances")
  else
    listing(engine, rows)
    if #rows == (opts.limit or 100) then
      local oldest = opts.sort == "oldest"
      term.warn(("%s %d; the next page: --%s %s"):format(
        oldest and "the oldest" or opts.after and "the next"
        or "the newest", #rows, (oldest or opts.after and not opts.before)
        and "after" or "before",
        rows[(oldest or opts.before or not opts.after) and #rows or 1].shown))
    end
  end
  return 0
end

local most_watched = 20 -- that a screen has room for

local function run(opts)
  opts.limit = opts.limit or opts.watch and most_watched or nil
  return watch.run(opts, function() return tell(opts) end)
end

return {
  name = "list",
  summary = "instances, newest first",
  about = "Lists instances, newest first. Filters narrow it down; they must "
    .. "all hold; times in them are UTC. On a terminal the ends of ids are "
    .. "shown, which every command takes; in a pipe and with --json they are "
    .. "whole.\n\n"
    .. "KEY is the business key, or else the key of its start. WHY is an "
    .. "error's first line, or what is waited for: an event, a task, a time, "
    .. "a worker; that is told of the first 100. On a terminal the table is "
    .. "cut to its width and ends with totals.",
  options = filters.behind {
    { long = "limit", short = "n", arg = "N", type = "count",
      max = 10000, help = "at most so many; default 100, 10000 at most" },
    { long = "count", help = "only how many there are, up to 10000, or to "
      .. "--limit" },
    watch.option,
  },
  examples = {
    { "pawl list --status failed,suspended", "what needs somebody" },
    { "pawl list -w order.fulfil -n 5 --json", "the newest five, as JSON" },
    { "pawl list --attr region=eu --attr 'amount>=100'",
      "by what they were given as attributes" },
    { "pawl list --watch", "the newest 20, again and again" },
    { "pawl list --error 'card_*' --created-after 2026-01-31",
      "those that failed so since then" },
  },
  run = run,
}
