--- pawl health
local store = require "pawl.cli.store"
local format = require "pawl.cli.format"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"

local ailing = 1 -- exit code: something is wrong, and was not put right

local columns = {
  { title = "INSTANCE", value = function(p) return p.instance end },
  { title = "WORKFLOW", flex = true, value = function(p)
    return p.workflow
  end },
  { title = "NODE", flex = true, value = function(p) return p.node end },
  { title = "WHAT", flex = true, value = function(p)
    return p.group and ("%s: %s"):format(p.text, p.group) or p.text
  end },
}

local function count(n, one, many)
  return ("%d %s"):format(n, n == 1 and one or many)
end

local function wrong(report)
  return report.unseen + report.stray + report.unserved
end

local function bytes(n)
  for _, unit in ipairs { "B", "kB", "MB" } do
    if n < 10000 then return ("%d %s"):format(n, unit) end
    n = n // 1024
  end
  return ("%d GB"):format(n)
end

local most_tables = 5

local table_columns = {
  { title = "TABLE", flex = true, value = function(t) return t.table end },
  { title = "SIZE", right = true, value = function(t)
    return bytes(t.bytes)
  end },
  { title = "ROWS", right = true, value = function(t) return t.rows end },
  { title = "DEAD", right = true, value = function(t) return t.dead end },
}

--- The largest ones, where the store knows without reading them.
local function tell_tables(tables)
  if #tables == 0 then return end
  table_of(table_columns, table.move(tables, 1, math.min(#tables, most_tables),
    1, {}))
end

local function known(value)
  return type(value) ~= "userdata" and value or nil
end

--- "postgres, schema 1, 12 MB, 16 MB of WAL, 3 dead rows; clock +2 ms".
local function tell_store(report, now)
  local s = report.store
  local parts = { s.kind, "schema " .. s.schema }
  local function add(value, text, ...)
    if known(value) then parts[#parts + 1] = text:format(...) end
  end
  add(s.bytes, "%s", known(s.bytes) and bytes(s.bytes))
  add(s.free_bytes, "%s of it free", known(s.free_bytes)
    and bytes(s.free_bytes))
  add(s.wal_bytes, "%s of WAL", known(s.wal_bytes) and bytes(s.wal_bytes))
  add(s.dead_rows, "%s dead rows", known(s.dead_rows))
  add(s.clock_us, "clock %+.3f s", s.clock_us / 1e6)
  term.print(table.concat(parts, ", "))
  for name, since in pairs { ["oldest lease"] = s.oldest_lease,
    ["oldest transaction"] = s.oldest_transaction } do
    if known(since) then
      term.print(("the %s: since %s"):format(name, format.when(since, now)))
    end
  end
  if #s.hidden > 0 then
    term.print("this role may not see: ", table.concat(s.hidden, ", "))
  end
  tell_tables(s.tables)
  for _, warning in ipairs(report.warnings) do
    term.print("warning: ", warning.text)
  end
end

local function tell(report, now)
  tell_store(report, now)
  local agenda = report.agenda
  term.print(("%s, %s: %d due, %d held"):format(
    count(report.instances, "instance lives", "instances live"),
    count(agenda.rows, "row on the agenda", "rows on the agenda"),
    agenda.due, agenda.held))
  if report.sound then
    term.print "nobody waits unseen"
    return
  end
  table_of(columns, report.problems)
  local more = wrong(report) - #report.problems
  if more > 0 then term.print("and ", more, " more") end
end

local function run(opts)
  local engine <close> = store.look(opts)
  local report = store.try(engine:health { repair = opts.repair })
  if opts.json then
    term.print(format.json(report))
  else
    tell(report, engine:now())
    if opts.repair and report.repaired == 0 and not report.sound then
      term.print("nothing was put right")
    elseif opts.repair and not report.sound then
      term.print(count(report.repaired, "was", "were"),
        " put right: a worker looks at them next")
    elseif wrong(report) > report.unserved then
      term.print("`", store.point(opts, "pawl health --repair"),
        "` puts them right")
    end
    if report.unserved > 0 then
      term.print(count(report.unserved, "is due and needs", "are due and need"),
        " a worker: `", store.point(opts, "pawl worker --group NAME FILE"),
        "`")
    end
  end
  return (wrong(report) > report.repaired or #report.warnings > 0) and ailing
    or 0
end

return {
  name = "health", max = 0,
  summary = "what is wrong in the store, and put it right",
  about = "Looks for instances that wait for what is there already (an event, "
    .. "a letter, items), or for their turn, and that nobody will look at, "
    .. "because they are not on the agenda; and for agenda rows that lead to "
    .. "no instance, or have been due for a minute while no worker of their "
    .. "group is running. It reads in pages, without locks, and may be run "
    .. "beside workers; what they do at that moment may show for once.\n\n"
    .. "With --repair the instances are put on the agenda, so that a worker "
    .. "looks at them (`pawl wake ID` does that for one), the rows are taken "
    .. "off, and what was asked to end and has no worker is ended.\n\n"
    .. "It also tells how the store itself is: how large, since when the "
    .. "oldest lease and the oldest transaction are held, dead rows, the "
    .. "write-ahead log, how far its clock is from this host's, and on "
    .. "PostgreSQL its largest tables; it warns where that is much. "
    .. "Exits with 0 when nothing is wrong, or all was "
    .. "put right, with 1 when something is, or warns, with 5 when the store "
    .. "is out of reach.",
  options = {
    { long = "repair", help = "put right what is found" },
  },
  examples = {
    { "pawl health", "is everything looked at?" },
    { "pawl health --repair", "and put right what is not" },
    { "pawl health --json | jq '.problems[].instance'", "for programs" },
  },
  run = run,
}
