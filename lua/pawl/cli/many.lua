--- One command for all instances that filters find.
local core = require "pawl.core"
local failure = require "pawl.cli.failure"
local filters = require "pawl.cli.filters"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local function read(opts, name)
  local query = filters.read(opts)
  if not filters.any(query) then
    options.usage("%s needs ids, or filters as `pawl list` has them",
      ("--status failed, --workflow CODE; `pawl %s --help` lists them")
      :format(name), name)
  end
  if not opts.yes and not opts.dry_run and not sys.isatty(0) then
    options.usage("%s with filters changes all that they find",
      "--dry-run says how many, --yes does it", name)
  end
  return query
end

local function instances(n)
  return ("%d instance%s"):format(n, n == 1 and "" or "s")
end

--- On a terminal, how far it is, in a line of its own.
local function progress(opts, words)
  if opts.json or not sys.isatty(2) then return nil end
  local shown = core.mono()
  return function(so_far)
    if core.mono() - shown < 0.5 then return end
    shown = core.mono()
    io.stderr:write(("\r%s %d, refused %d "):format(words, so_far.done,
      so_far.refused))
  end
end

local function run(engine, name, query, given, tell)
  given.progress = tell
  local report = store.try(engine:bulk(name, query, given))
  if tell then io.stderr:write "\r\27[K" end
  return report
end

--- The first signal ends it behind the instance that it is at. What waits for
--- the store then fails, and says how far it was.
local function guarded(engine, ...)
  sys.catch_signals(false, store.stopping)
  sys.watch(engine)
  local result = table.pack(pcall(run, engine, ...))
  sys.watch(nil)
  if not result[1] then error(result[2], 0) end
  return result[2]
end

local function print_refusals(opts, report)
  for _, r in ipairs(report.refusals) do
    term.print(("refused %d%s: %s, such as %s: %s"):format(r.count,
      r.others and " for other reasons" or "", r.code, r.id,
      term.clean(r.message)))
    store.tell_hint(opts, r, term.print)
  end
end

--- A signal came before all were seen to.
local function print_stopped(report)
  term.warn(("stopped: %s seen to, there may be more"):format(
    report.matched == 1 and "1 instance was"
      or instances(report.matched) .. " were"))
  term.warn((" hint: the same again goes on, and with --request %s does "
    .. "nothing twice"):format(report.request))
end

local function print_report(opts, words, report)
  if report.dry_run then
    term.print(("%s would be %s"):format(instances(report.done), words))
  else
    term.print(("%s %s"):format(words, instances(report.done)))
  end
  if report.asked > 0 then
    term.print(("asked for it: %s; the worker that runs one does it before "
      .. "its next step"):format(instances(report.asked)))
  end
  if report.skipped > 0 then
    term.print(("passed by %s: gone, or changed by another meanwhile")
      :format(instances(report.skipped)))
  end
  print_refusals(opts, report)
end

local function is_wanted(opts, words, report)
  print_report(opts, words, report)
  if report.done == 0 then return false end
  io.stderr:write "go on? [y/N] "
  local answer = io.stdin:read() or ""
  return answer:lower():find "^%s*y" ~= nil
end

local function exit_of(report)
  local worst = 0
  for _, r in ipairs(report.refusals) do
    worst = math.max(worst, failure.exit(r))
  end
  return worst
end

---@param opts table    what the command line said
---@param name string   the engine's method
---@param words string  what was done: "resumed"
---@param given table   the method's options
---@return integer exit code
return function(opts, name, words, given)
  local query = read(opts, name)
  local engine <close> = store.look(opts)
  filters.found(engine, query)
  if not opts.yes and not opts.dry_run then
    given.dry_run = true
    local found = run(engine, name, query, given)
    if not is_wanted(opts, words, found) then return 0 end
    given.dry_run = nil
  end
  local report = guarded(engine, name, query, given, progress(opts, words))
  if opts.json then
    term.json(format.json(report))
  else
    print_report(opts, words, report)
  end
  if report.stopped and sys.caught() then
    print_stopped(report)
    return 128 + sys.caught()
  end
  return report.dry_run and 0 or exit_of(report)
end
