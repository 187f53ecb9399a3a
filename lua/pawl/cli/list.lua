--- pawl list
local filters = require "pawl.cli.filters"
local format = require "pawl.cli.format"
local listing = require "pawl.cli.listing"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"
local watch = require "pawl.cli.watch"

--- Who means to count by something, and names a group of executors that there
--- is not, would take nothing found for an answer.
local function point_out_group(engine, opts)
  local word = opts.group
  for _, known in ipairs(verb_args.words("list", "group_by")) do
    if word == known then
      local rows = engine:list { group = word, limit = 1 }
      local executors = engine.executors:list { group = word, all = true,
        limit = 1 } or {} -- a tenant is not told
      if rows and #rows == 0 and #executors == 0 then
        store.hint(opts, ("--group is a group of executors, and none is "
          .. "called so: `pawl list --group-by %s` counts instances by %s")
          :format(word, word))
      end
    end
  end
end

local function count(engine, query, opts)
  local n, more = store.try(engine:tally(query))
  if n == 0 then point_out_group(engine, opts) end
  if opts.json then
    term.print(format.json { count = n, more = more })
  else
    term.print((more and "more than %d" or "%d"):format(n))
  end
  return 0
end

local columns = {
  { title = "COUNT", right = true, value = function(g) return g.count end },
  { title = "OF", flex = true, value = function(g) return g.of end },
}

--- How many of each.
local function groups(engine, query, opts)
  local counted = store.try(engine:tally(query))
  if opts.json then
    term.print(format.json(counted))
    return 0
  end
  for _, group in ipairs(counted.groups) do
    group.of = group[query.group_by] or "-"
    if counted.more then group.count = group.count .. "+" end
  end
  table_of(columns, counted.groups)
  if term.tty then
    term.print((counted.more and "more than %d" or "%d"):format(counted.count))
  elseif counted.more then
    term.warn(("these are the first %d: there are more"):format(counted.count))
  end
  return 0
end

local by_id = { newest = true, oldest = true }

--- How the next page is asked for, when this one is full.
local function tell_next(rows, opts)
  local sort = opts.sort or "newest"
  local ascending = (sort == "oldest" or sort == "due") ~= not not opts.reverse
  local back = opts[ascending and "before" or "after"]
    and not opts[ascending and "after" or "before"]
  local row = rows[back and 1 or #rows]
  term.warn(("%d of them; the next page: --%s %s"):format(#rows,
    ascending == not back and "after" or "before",
    by_id[sort] and row.shown or row.cursor))
end

local function tell(opts)
  local query = filters.read(opts)
  local engine <close> = store.look(opts)
  filters.found(engine, query)
  if opts.group_by then return groups(engine, query, opts) end
  if opts.count then return count(engine, query, opts) end
  if opts.json then
    local text = store.try(engine:list(query, "json"))
    if text == "[]" then
      store.check_workflow(engine, query.workflow)
      point_out_group(engine, opts)
    end
    term.json(text)
    return 0
  end
  query.waits = true
  local rows = store.try(engine:list(query))
  if #rows == 0 then
    store.check_workflow(engine, query.workflow)
    term.print("no instances")
    point_out_group(engine, opts)
  else
    listing(engine, rows)
    if #rows == (opts.limit or 100) then tell_next(rows, opts) end
  end
  return 0
end

local most_watched = 20 -- that a screen has room for

local function run(opts)
  if opts.watch and not opts.count and not opts.group_by then
    opts.limit = opts.limit or most_watched
  end
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
    { long = "group-by", arg = "WHAT", type = "name",
      one_of = verb_args.words("list", "group_by"),
      help = "only how many of each: error (its code), node, workflow or "
        .. "status" },
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
    { "pawl list --group-by error", "what has failed, by code" },
    { "pawl list --node pay --sort updated --reverse",
      "who has stood there longest" },
  },
  run = run,
}
