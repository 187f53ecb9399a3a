--- pawl help [COMMAND | exit]
local commands = require "pawl.cli.commands"
local options = require "pawl.cli.options"
local term = require "pawl.cli.term"

local exit_codes = [[
Exit codes

  0    it worked; for `pawl run`: the workflow completed
  1    the workflow failed, was cancelled or suspended, or has not ended
       within --timeout; a file is drawn wrong; the store failed; the output
       cannot be written
  2    the command line is wrong, or gives more than may be stored
  3    there is no such file, workflow or instance
  4    something is in the way: it exists, is busy, has already finished, is
       not in the state for that
  5    the store cannot be reached or, where something is to be changed,
       written; it is not a store, or its schema is older (run
       `pawl migrate`) or newer than this program
  6    `pawl run`: only somebody outside can go on: who sends an event or
       does a task, resumes it, or runs a worker that knows its child
  130  stopped by Ctrl-C (SIGINT); 143 by SIGTERM. What was finished is kept.
       A worker that stops cleanly exits with 0
  141  nobody reads the output any more (a closed pipe)

Errors are plain text on stderr, with --json too: one line, `pawl: CODE:
message`, and where there is something to do about it ` hint: ...` below.]]

--- "ls, ps: list; logs: history", in the order of the aliases, on lines that
--- stand below each other.
local function aliases()
  local of, order, parts = {}, {}, {}
  for _, alias in ipairs(commands.aliases) do
    local name, command = alias[1], alias[2]
    if not of[command] then
      of[command] = {}
      order[#order + 1] = command
    end
    table.insert(of[command], name)
  end
  for i, command in ipairs(order) do
    parts[i] = table.concat(of[command], ", ") .. ": " .. command
  end
  parts[#parts + 1] = "-V: version"
  local lines, line = {}, nil
  for _, part in ipairs(parts) do
    if line and #line + #part > 60 then
      lines[#lines + 1], line = line, nil
    end
    line = line and line .. "; " .. part or part
  end
  lines[#lines + 1] = line
  return table.concat(lines, ";\n" .. (" "):rep(16))
end

local function overview()
  local out = {
    "usage: pawl COMMAND [options]", "",
    "Durable workflows written in Lua: a crash, a power cut or a redeploy",
    "never loses a finished step.", "", "Commands",
  }
  for _, name in ipairs(commands.names) do
    if name ~= "help" then
      out[#out + 1] = ("  %-10s %s"):format(name, commands.get(name).summary)
    end
  end
  out[#out + 1] = "\nBy other names  " .. aliases()
  out[#out + 1] = [[

Every command knows --store URL (or PAWL_STORE; default ./pawl.db), --json
and --help. Ids may be shortened to 4 characters or more of their beginning
or their end. Errors are plain text on stderr.

  pawl run order.lua --input '{"price":3,"count":10}'   run one, here and now
  pawl COMMAND --help                                    options and examples
  pawl help exit                                         exit codes]]
  return table.concat(out, "\n")
end

local function run(_, args)
  local topic = args[1]
  local command = topic and commands.get(topic)
  if not topic then
    term.lines(overview())
  elseif topic == "exit" then
    term.lines(exit_codes)
  elseif command then
    term.lines(options.help(command))
  else
    options.usage("no help about '%s'", "topics: exit, "
      .. table.concat(commands.names, ", "), topic)
  end
  return 0
end

return {
  name = "help", args = "[COMMAND|exit]", max = 1,
  summary = "what there is, and the exit codes",
  about = "Lists the commands, explains one of them, or the exit codes.",
  options = {}, exit_codes = exit_codes,
  examples = { { "pawl help run", "options of `pawl run`" } },
  run = run,
}
