--- pawl audit
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

--- What it was done to, and why.
local function detail(entry)
  local parts = {}
  if entry.node then parts[#parts + 1] = "node " .. entry.node end
  if entry.task then parts[#parts + 1] = "task " .. entry.task end
  if entry.text then parts[#parts + 1] = term.clean(entry.text) end
  return table.concat(parts, "; ")
end

local columns = {
  { title = "TIME", value = function(e) return format.time(e.at) end },
  { title = "BY", flex = true, value = function(e) return e.by end },
  { title = "TYPE", value = function(e) return e.type end },
  { title = "INSTANCE", value = function(e) return e.shown end },
  { title = "WORKFLOW", flex = true, drop = 1, value = function(e)
    return format.workflow(e.workflow, e.version)
  end },
  { title = "DETAIL", flex = true, value = detail },
}

local function run(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("audit", opts)
  if opts.json then
    term.json((store.try(engine:audit(query, "json"))))
    return 0
  end
  local entries = store.try(engine:audit(query))
  if #entries == 0 then
    term.print "nothing like that was done"
  else
    local of_instances = {}
    for _, entry in ipairs(entries) do
      if entry.instance then of_instances[#of_instances + 1] = entry end
    end
    term.shorten(of_instances, "instance")
    table_of(columns, entries)
  end
  return 0
end

return {
  name = "audit", max = 0,
  summary = "who did what, and when, over all instances",
  about = "Lists what was done from outside, newest first: to instances, as "
    .. "their histories tell it, and who started them; to tasks, as they went "
    .. "from hand to hand; to workflows; with what was emitted; and what was "
    .. "imported or purged. It has what somebody gave a name for with --by, "
    .. "and what was done to tasks, to workflows, with what was emitted and by "
    .. "imports by whomever. --json has each entry's cursor, for the next "
    .. "page.",
  options = {
    { long = "by", arg = "WHO", help = "what this person did" },
    { long = "since", arg = "TIME", type = "since",
      help = "since then" },
    { long = "until", arg = "TIME", type = "since", help = "before then" },
    { long = "type", arg = "TYPE",
      help = "of a type: cancelled, changed, started, claimed, ..." },
    { long = "workflow", short = "w", arg = "CODE", type = "code",
      help = "to instances of a workflow, or to itself" },
    { long = "instance", arg = "ID", help = "to this instance" },
    { long = "limit", short = "n", arg = "N", type = "count",
      max = 10000, help = "at most so many; default 100" },
    { long = "before", arg = "CURSOR", help = "the page behind this entry" },
  },
  examples = {
    { "pawl audit --by ann --since 2026-01-31", "what ann has done since" },
    { "pawl audit --type cancelled -n 20", "who has cancelled what" },
  },
  run = run,
}
