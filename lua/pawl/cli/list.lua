--- pawl list
local format = require "pawl.cli.format"
local listing = require "pawl.cli.listing"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"
local watch = require "pawl.cli.watch"

local statuses = verb_args.words("list", "status")

local function status_list(given)
  if not given then return nil end
  local out, known = {}, {}
  for _, name in ipairs(statuses) do known[name] = true end
  for _, text in ipairs(given) do
    for name in (text .. ","):gmatch("%s*(.-)%s*,") do
      if name == "" then
        options.usage("--status has an empty name in '%s'", "names are "
          .. "separated by one comma: --status failed,suspended", text)
      elseif not known[name] then
        options.usage("unknown status '%s'", nearest.hint(name, statuses),
          name)
      end
      out[#out + 1] = name
    end
  end
  return out
end

--- A number exactly, a boolean, @TIME as a date; else text.
local function value_of(text)
  if text == "true" then return true end
  if text == "false" then return false end
  if text:find "^%-?%d+$" or text:find "^%-?%d+%.%d+$" then
    local ok, number = pcall(pawl.decimal, text)
    if ok then return number end
  elseif text:find "^@" then
    local ok, date = pcall(pawl.date, text:sub(2))
    if ok then return date end
    options.usage("--attr: '%s' is not a time", 'write UTC: '
      .. '"@2026-01-31" or "@2026-01-31T10:00:00Z"', text:sub(2))
  end
  return text
end

--- One NAME>=VALUE, added to what its name is given already: several that are
--- equal are a set.
local function add_condition(out, text)
  local name, forced, how, value = text:match "^([^=:<>]+)(:?)([<>]?=?)(.*)$"
  if not name or how == "" then
    options.usage("--attr takes NAME=VALUE, or another of < <= > >=, got '%s'",
      "--attr region=eu --attr 'amount>=100' --attr 'name=a*'", text)
  end
  local given = out[name] or {}
  out[name] = given
  if forced == "" and how == "=" and value:find "%*$" then
    how, value = "prefix", value:sub(1, -2)
  elseif forced == "" then
    value = value_of(value)
  end
  if how == "=" and (#given == 0 or given[1] == "in") then
    given[1] = "in"
  elseif given[1] == "in" or how == "=" and #given > 0 then
    options.usage("--attr compares '%s' and says what it equals, too", nil,
      name)
  else
    given[#given + 1] = how
  end
  given[#given + 1] = value
end

local function conditions(list)
  if not list then return nil end
  local out = {}
  for _, text in ipairs(list) do add_condition(out, text) end
  for name, given in pairs(out) do
    if given[1] == "in" and #given == 2 then out[name] = given[2] end
  end
  return out
end

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
  local status = status_list(opts.status)
  local engine <close> = store.look(opts)
  local query = verb_args.among("list", opts)
  query.status, query.attributes = status, conditions(opts.attr)
  for _, name in ipairs { "before", "after", "parent", "root" } do
    query[name] = opts[name] and store.try(engine:find(opts[name]))
  end
  if opts.count then return count(engine, query, opts) end
  if opts.json then
    term.json((store.try(engine:list(query, "json"))))
    return 0
  end
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
  options = {
    { long = "workflow", short = "w", arg = "CODE",
      help = "of this workflow" },
    { long = "status", arg = "NAME", many = true,
      help = "created, running, waiting, suspended, completed, failed or "
        .. "cancelled; several with commas, or given again" },
    { long = "tenant", arg = "ID", help = "of this tenant" },
    { long = "correlation", arg = "ID", help = "with this correlation" },
    { long = "key", arg = "KEY", help = "started with this key" },
    { long = "business-key", arg = "KEY",
      help = "with this business key; 'order-*': one that begins so" },
    { long = "group", arg = "NAME", help = "of this group of executors" },
    { long = "node", arg = "NAME", help = "that stand there, or ended there" },
    { long = "error", arg = "CODE", help = "whose error has this code; "
      .. "'card_*': one that begins so. Completed ones only if --status "
      .. "names them" },
    { long = "attr", arg = "NAME=VALUE", many = true,
      help = "with this attribute; also < <= > >=, 'NAME=a*' for one that "
        .. "begins so, and @2026-01-31 for a date. NAME:=TEXT is text. The "
        .. "same name again: one of several, or a range" },
    { long = "created-after", arg = "TIME", type = "time",
      help = "created at that time or later: \"2026-01-31\" or "
        .. "\"2026-01-31T10:00:00Z\"" },
    { long = "created-before", arg = "TIME", type = "time",
      help = "created earlier" },
    { long = "updated-after", arg = "TIME", type = "time",
      help = "changed at that time or later" },
    { long = "updated-before", arg = "TIME", type = "time",
      help = "not changed since" },
    { long = "completed-after", arg = "TIME", type = "time",
      help = "ended, however, at that time or later" },
    { long = "completed-before", arg = "TIME", type = "time",
      help = "ended earlier" },
    { long = "parent", arg = "ID", help = "children of this instance" },
    { long = "root", arg = "ID", help = "all that descend from it" },
    { long = "sort", arg = "ORDER", type = "name",
      one_of = verb_args.words("list", "sort"),
      help = "newest or oldest first; newest" },
    { long = "deleted", help = "those that were deleted, and no others" },
    { long = "limit", short = "n", arg = "N", type = "count",
      max = 10000, help = "at most so many; default 100, 10000 at most" },
    { long = "count", help = "only how many there are, up to 10000, or to "
      .. "--limit" },
    { long = "before", arg = "ID", help = "those older than this instance" },
    { long = "after", arg = "ID", help = "those newer, the nearest to it" },
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
