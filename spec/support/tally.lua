--- busted's plain output, and for ./dev the file PAWL_TALLY: the totals, as
--- "passed failed skipped", and below them what failed, each with the beginning
--- of its message. No file means that busted did not get to its end.
local plain = require "busted.outputHandlers.plainTerminal"

local MESSAGE = 600 -- bytes of one that are repeated

return function(options)
  local busted = require "busted"
  local handler = plain(options)
  local passed, failed, skipped = 0, 0, 0
  local reports = {}

  local function add_reports(list)
    for _, report in ipairs(list) do
      local trace = report.trace or report.element.trace or {}
      local message = type(report.message) == "string" and report.message
        or require "pl.pretty".write(report.message)
      reports[#reports + 1] = ("%s @ %s: %s\n  %s\n"):format(trace.short_src
        or "?", trace.currentline or "?", report.name or "?",
        message:sub(1, MESSAGE):gsub("\n", "\n  "))
    end
  end

  local function add_run()
    passed = passed + handler.successesCount
    failed = failed + handler.failuresCount + handler.errorsCount
    skipped = skipped + handler.pendingsCount
    add_reports(handler.failures)
    add_reports(handler.errors)
    return nil, true
  end

  local function write_file()
    local path = os.getenv("PAWL_TALLY")
    if path then
      local file = assert(io.open(path, "w"))
      file:write(("%d %d %d\n"):format(passed, failed, skipped))
      file:write(table.concat(reports))
      file:close()
    end
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, add_run)
  busted.subscribe({ "exit" }, write_file)
  return handler
end
