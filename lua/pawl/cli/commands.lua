--- The commands, as they are listed for people. Each is a file beside this one
--- that says all of itself: name, arguments, options, help, examples, and what
--- it does (pawl.cli.Command in options.lua).
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"

local commands = {}

commands.names = {
  "run", "dev", "start", "worker", "list", "show", "explain", "tokens",
  "history", "audit", "outbox", "relay", "signal", "ask", "complete",
  "task", "cancel", "suspend", "resume", "retry", "restart", "move", "kill",
  "wake", "break", "breaks", "step", "continue",
  "edit", "note", "delete", "undelete", "archive", "unarchive",
  "purge", "workflow", "executors", "stats", "problems", "top", "health",
  "doctor", "graph", "check", "test", "spec", "deploy", "prune", "migrate",
  "backup", "restore", "export", "import", "reclaim", "version",
  "completion", "man", "help",
}

--- What hands type that know other tools: each a command by another name.
commands.aliases = {
  { "ls", "list" }, { "ps", "list" }, { "get", "show" },
  { "inspect", "show" }, { "describe", "explain" }, { "logs", "history" },
  { "workers", "executors" },
}

local function unaliased(name)
  for _, alias in ipairs(commands.aliases) do
    if alias[1] == name then return alias[2] end
  end
  return name
end

--- One of them by its name; nil when there is none.
---@param name string
---@return pawl.cli.Command?
function commands.get(name)
  name = unaliased(name)
  for _, known in ipairs(commands.names) do
    if known == name then return require("pawl.cli." .. name) end
  end
end

--- The same, or an error of the command line.
---@param name string
---@return pawl.cli.Command
function commands.find(name)
  local command = commands.get(name)
  if command then return command end
  local near = nearest.find(name, commands.names)
  options.usage("unknown command '%s'",
    near and ("did you mean `pawl %s`?"):format(near)
    or "`pawl help` lists the commands", name)
end

return commands
