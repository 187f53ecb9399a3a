--- busted's plain output, and the totals in the file PAWL_TALLY for ./dev:
--- "passed failed skipped". No file means that busted did not get to its end.
local plain = require "busted.outputHandlers.plainTerminal"

return function(options)
  local busted = require "busted"
  local handler = plain(options)
  local passed, failed, skipped = 0, 0, 0

  local function add_run()
    passed = passed + handler.successesCount
    failed = failed + handler.failuresCount + handler.errorsCount
    skipped = skipped + handler.pendingsCount
    return nil, true
  end

  local function write_file()
    local path = os.getenv("PAWL_TALLY")
    if path then
      local file = assert(io.open(path, "w"))
      file:write(("%d %d %d\n"):format(passed, failed, skipped))
      file:close()
    end
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, add_run)
  busted.subscribe({ "exit" }, write_file)
  return handler
end
