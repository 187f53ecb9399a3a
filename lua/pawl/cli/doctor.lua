--- pawl doctor
local format = require "pawl.cli.format"
local keys = require "pawl.keys"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"

local ailing = 1 -- exit code: somebody should do something

local headings = {
  { state = "open", text = "to be done:", color = "red" },
  { state = "guarded", text = "known, and guarded against:" },
  { state = "rare", text = "known, and hardly ever met:" },
}

local function version_of(library)
  return library.version or "is not there"
end

local function tell_store(opts, found)
  local version = found.version and " " .. found.version or ""
  term.print(("%s%s: %s"):format(found.kind, version, found.name))
  if found.error then
    term.print("  it cannot be looked at: ", found.error.message)
    local hint = store.hint_of(opts, found.error)
    if hint then term.print("  ", hint) end
    return
  end
  local names = keys(found.settings)
  for i, name in ipairs(names) do
    names[i] = ("%s %s"):format(name, found.settings[name])
  end
  term.print("  ", table.concat(names, ", "))
end

--- "to be done:", and what is in that state, a few lines of each.
local function tell_findings(report, heading)
  local said
  for _, finding in ipairs(report.findings) do
    if finding.state == heading.state then
      if not said then
        said = true
        term.print()
        term.print(heading.color and term.paint(heading.color, heading.text)
          or heading.text)
      end
      term.print(("  %s: %s%s"):format(finding.of, finding.text,
        finding.fixed and (" (mended in %s)"):format(finding.fixed) or ""))
      term.print("    ", finding.guard)
      term.print("    ", finding.source)
    end
  end
end

local function tell(opts, report)
  local parts = { "pawl " .. report.pawl }
  for _, library in ipairs(report.libraries) do
    parts[#parts + 1] = library.name .. " " .. version_of(library)
  end
  term.print(table.concat(parts, ", "))
  if report.store then tell_store(opts, report.store) end
  for _, heading in ipairs(headings) do tell_findings(report, heading) end
  term.print()
  if report.sound then
    term.print "nothing is to be done"
  elseif report.store and report.store.error then
    term.print "the store cannot be looked at: see above"
  else
    term.print "something is to be done: see above"
  end
end

local function run(opts)
  local report = store.try(pawl.doctor(opts.store,
    { pooler = opts.pooler, schema = opts.schema }))
  if opts.json then
    term.print(format.json(report))
  else
    tell(opts, report)
  end
  return report.sound and 0 or ailing
end

return {
  name = "doctor", max = 0,
  summary = "what is known to be wrong with what pawl runs on",
  about = "Says what the installed Lua, SQLite and libpq, and with --store the "
    .. "database's server, are known to get wrong, by upstream's own lists of "
    .. "bugs; and how it is set up, where that may cost what was acknowledged. "
    .. "Of each it says whether pawl guards against it, or what to do. A "
    .. "distribution may have mended a bug in an older version, which its "
    .. "number does not tell.\n\n"
    .. "Nothing is changed, and no store is made. What is stored is not looked "
    .. "at: that is `pawl health`. Exits with 0 when nothing is to be done, "
    .. "with 1 when something is, or the store cannot be looked at.",
  options = {},
  examples = {
    { "pawl doctor", "the libraries alone" },
    { "pawl doctor --store postgres://db/app", "and the server" },
    { "pawl doctor --json | jq '.findings[] | select(.state == \"open\")'",
      "for programs" },
  },
  run = run,
}
