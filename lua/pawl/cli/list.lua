--- pawl list
local listing = require "pawl.cli.listing"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

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

local function run(opts)
  local status = status_list(opts.status)
  local engine <close> = store.look(opts)
  local query = {
    workflow = opts.workflow, status = status,
    tenant = opts.tenant, correlation = opts.correlation,
    key = opts.key, business_key = opts.business_key, limit = opts.limit,
    before = opts.before and store.try(engine:find(opts.before)),
    parent = opts.parent and store.try(engine:find(opts.parent)),
    root = opts.root and store.try(engine:find(opts.root)),
  }
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
      term.warn(("the newest %d; the next page: --before %s"):format(#rows,
        rows[#rows].shown))
    end
  end
  return 0
end

return {
  name = "list",
  summary = "instances, newest first",
  about = "Lists instances, newest first. Filters narrow it down; they must "
    .. "all hold. On a terminal the ends of ids are shown, which every command "
    .. "takes; in a pipe and with --json they are whole.\n\n"
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
    { long = "business-key", arg = "KEY", help = "with this business key" },
    { long = "parent", arg = "ID", help = "children of this instance" },
    { long = "root", arg = "ID", help = "all that descend from it" },
    { long = "limit", short = "n", arg = "N", type = "count",
      max = 10000, help = "at most so many; default 100, 10000 at most" },
    { long = "before", arg = "ID", help = "the page after this instance" },
  },
  examples = {
    { "pawl list --status failed,suspended", "what needs somebody" },
    { "pawl list -w order.fulfil -n 5 --json", "the newest five, as JSON" },
  },
  run = run,
}
