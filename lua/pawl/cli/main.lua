--- The command: finds the subcommand, reads its options, turns errors into
--- one line, a hint and an exit code.
local commands = require "pawl.cli.commands"
local failure = require "pawl.cli.failure"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local words = require "pawl.words"

local given = { from_env = {} } -- what the command line said

--- Anything that ended a command early.
local function ended_by(err)
  if type(err) == "table" and err.exit then return err.exit end
  if type(err) == "table" and err.code then
    return failure.report(given, err)
  end
  return failure.report(given, {
    code = "internal", message = tostring(err),
    hint = "this is a bug in pawl: please report it",
  })
end

--- `pawl --store x list` works as `pawl list --store x` does: leading options
--- are put behind the command's name.
local function split(argv)
  local takes_value = {}
  for _, option in ipairs(options.common) do
    if option.arg then
      takes_value["--" .. option.long] = true
      if option.short then takes_value["-" .. option.short] = true end
    end
  end
  local rest, i = {}, 1
  while argv[i] and argv[i]:sub(1, 1) == "-" do
    rest[#rest + 1] = argv[i]
    if takes_value[argv[i]] and argv[i + 1] then
      i = i + 1
      rest[#rest + 1] = argv[i]
    end
    i = i + 1
  end
  return argv[i], table.move(argv, i + 1, #argv, #rest + 1, rest)
end

--- `pawl`, `pawl --version`, `pawl --help`: options alone.
local none = { options = { { long = "version", short = "V", help = "" } } }

local function command_line(argv)
  local name, rest = split(argv)
  if name then
    local command = commands.find(options.word(name))
    return command, options.parse(command, rest)
  end
  local opts = options.parse(none, rest)
  opts.help = nil
  return commands.find(opts.version and "version" or "help"), opts, {}
end

--- What is asked for is to be said; a worker has its work to do, too.
local function check_output(command, opts)
  if command.is_daemon and not opts.help then return end
  error({ code = "output", message = "standard output is closed",
    hint = "give it somewhere to go: >/dev/null throws it away" }, 0)
end

local function dispatch(argv, is_mute)
  term.setup {}
  local command, opts, args = command_line(argv)
  given = opts
  term.setup { plain = opts.no_color }
  if is_mute then check_output(command, opts) end
  if opts.help then
    term.lines(options.help(command))
    -- what the store has to say comes behind, where there is one that can
    local ok, more = pcall(command.more_help or function() end, opts, args)
    if ok and more then term.lines("\n" .. more) end
    return 0
  end
  if not opts.json then words.clock = format.time end
  return command.run(opts, args) or 0
end

--- Ends a stream that may have been closed on us already.
local function finish(code)
  local ok, err = pcall(term.flush)
  if not ok and code == 0 then return ended_by(err) end
  return code
end

---@param argv string[]
---@param is_mute boolean  standard output was closed
---@return integer exit code
return function(argv, is_mute)
  local ok, result = xpcall(dispatch, function(err)
    if type(err) == "table" then return err end
    return debug.traceback(tostring(err), 2):gsub("%s*\n%s*", " | ")
  end, argv, is_mute)
  sys.watch(nil)
  return finish(ok and result or ended_by(result))
end
