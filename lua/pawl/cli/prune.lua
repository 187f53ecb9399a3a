--- pawl prune
local act = require "pawl.cli.act"
local core = require "pawl.core"
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"

local patience = 40 -- seconds: a housekeeper that died is waited for

local kinds = { "instances", "deleted", "outbox", "tasks",
  "attributes", "audit", "events", "revisions", "executors" }

-- Why something stays, as people read it.
local why = {
  parent = "parent lives", word = "parent's word is on its way",
  children = "children live", undelivered = "its word is on its way",
  unpublished = "not published", leased = "held by a worker",
  needed = "still waited for", away = "carried away",
  refused = "cannot be archived, see the log",
}

local function reasons(kept)
  local list = {}
  for reason, n in pairs(kept) do
    list[#list + 1] = ("%d: %s"):format(n, why[reason] or reason)
  end
  table.sort(list)
  return table.concat(list, ", ")
end

local function tell(report)
  local rows = {}
  for _, kind in ipairs(kinds) do
    local of = report[kind]
    if of.removed > 0 or of.archived or next(of.kept) then
      rows[#rows + 1] = { kind = kind, removed = of.removed,
        archived = of.archived, kept = reasons(of.kept) }
    end
  end
  if #rows == 0 then
    term.print(report.dry_run and "nothing would go"
      or "nothing is past its time")
  else
    table_of({
      { title = "WHAT", value = function(x) return x.kind end },
      { title = report.dry_run and "WOULD GO" or "GONE", right = true,
        value = function(x) return x.removed end },
      { title = "ARCHIVED", right = true, sparse = true,
        value = function(x) return x.archived end },
      { title = "STAYS", flex = true, value = function(x) return x.kept end },
    }, rows)
  end
  if report.freed_bytes > 0 then
    term.print(("%d bytes were given back"):format(report.freed_bytes))
  end
  if report.longest_us > 50000 then
    term.print(("others may have waited %.0f ms for one of its "
      .. "transactions"):format(report.longest_us / 1000))
  end
  if report.rested_us >= 1000000 then
    term.print(("it rested for %.0f s, to keep out of others' way; --share 100 "
      .. "has it never rest"):format(report.rested_us / 1e6))
  end
  if not report.finished then
    term.print "there may be more"
  end
end

--- A worker's piece is short: who meets one asks again, and says so when that
--- lasts.
local function persist(opts, engine, given, how)
  local began, told = core.mono(), false
  while true do
    local report, err = engine:prune(given, how)
    local waited = core.mono() - began
    if report or err.code ~= "busy" or waited > patience then
      return store.try(report, err)
    end
    store.end_if_stopped "stopped waiting; nothing was pruned"
    if waited >= 1 and not told then
      told = true
      term.warn(("waiting, %d s at most: %s"):format(patience, err.message))
      store.tell_hint(opts, err)
    end
    sys.sleep(0.1)
  end
end

local function run(opts)
  local given = type(opts.retain) == "table" and opts.retain
    or { retain = opts.retain }
  given.limit, given.dry_run, given.share = opts.limit, opts.dry_run, opts.share
  given.by = act.user(opts)
  return store.guarded(store.look(opts), function(engine)
    local report = persist(opts, engine, given)
    if opts.json then
      term.print(format.json(report))
    else
      tell(report)
    end
    if not report.finished then
      store.end_if_stopped "stopped; the same again goes on"
    end
    return 0
  end)
end

return {
  name = "prune", max = 0,
  summary = "take away what is past its time",
  about = "Purges instances that ended longer ago than their workflow retains "
    .. "them, or than --retain says; what was deleted, and what an earlier "
    .. "purge has left; published rows of the outbox, expired events, "
    .. "executors long gone. Workers do so by themselves where a workflow says "
    .. "`retain`, or they were started with --retain. It works in short "
    .. "transactions, beside whoever else uses the store, one housekeeper at a "
    .. "time; stopped half-way, it goes on when it is called again. A SQLite "
    .. "file gets smaller by what became free.\n\n"
    .. "While instances begin, end or come to wait in the store, it works a "
    .. "small part of its time and rests for the others, so that workers do "
    .. "not notice; a minute or two after the last of them it no longer rests. "
    .. "--share 100 has it never rest, --share 1 hardly work.\n\n"
    .. "--retain 30d is for instances, however they ended. By name it takes "
    .. "more: completed, failed, cancelled, deleted (since then), published "
    .. "(rows of the outbox; else 7d), tasks (that are over, of instances that "
    .. "go on), attributes (of what was purged with keep_attributes, since "
    .. "then; else for ever), audit (what no history tells: hand-overs of "
    .. "tasks, switched workflows, purges), revisions (of hot-fixed "
    .. "workflows), executors (else 7d). What it names counts for all "
    .. "workflows, whatever they say.\n\n"
    .. "Who had something taken away so, and how much went, `pawl audit` tells "
    .. "under the type pruned; of what workers take it tells nothing.\n\n"
    .. "Instances stay while their parent lives, while children live that end "
    .. "with them, and while others have not got what they sent or emitted.\n\n"
    .. "With the word `archive` in --retain instances are archived and not "
    .. "purged, with `keep_attributes` they are found by those still.",
  options = {
    { long = "retain", arg = "DURATION", type = "retain",
      help = "what ended longer ago goes: 30d, or completed=7d,failed=90d" },
    { long = "limit", short = "n", arg = "N", type = "count",
      help = "so many go at most" },
    { long = "share", arg = "N", type = "count", max = 100,
      help = "percent of its time that it works; default: 3 beside "
        .. "instances that go on, else 100" },
    { long = "dry-run", help = "only count them" },
    { long = "by", arg = "WHO",
      help = "who does it; default: the user's name" },
  },
  examples = {
    { "pawl prune --dry-run", "what would go" },
    { "pawl prune --retain 30d", "all that ended a month ago" },
    { "pawl prune --retain completed=7d,published=1d --json", "for programs" },
    { "pawl prune --retain completed=7d,archive", "out of the way, not gone" },
    { "pawl prune --retain attributes=365d", "what outlived instances" },
    { "pawl prune --retain 30d --share 50", "beside workers, but not slowly" },
  },
  run = run,
}
