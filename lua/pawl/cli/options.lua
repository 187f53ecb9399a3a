--- Options of the command line, from tables: one table per subcommand makes
--- the parser, the errors and the help.
local core = require "pawl.core"
local duration = require "pawl.duration"
local later = require "pawl.later"
local nearest = require "pawl.nearest"
local verb_args = later "pawl.args"

local options = {}

---@class pawl.cli.Option
---@field long string        "store"
---@field short? string      "s"
---@field arg? string        what stands for the value in help; none: a flag
---@field type? string       text (default), name (1 to 255 bytes), code (of a
---                          workflow, all its versions), integer, count (1 or
---                          more), duration, retain, since (a time or how long
---                          ago), ahead (a time or in how long), json,
---                          object (JSON, too)
---@field max? integer       of a count
---@field above_zero? boolean  of a duration
---@field one_of? string[]   of a name: the only ones
---@field help string
---@field env? string        environment variable that stands in for it
---@field may_be_empty? boolean  of a text: '' says something
---@field many? boolean      may be given several times; the value is a list
---@field key? string        name in the result; default: long with "_"

---@class pawl.cli.Command
---@field name string
---@field args? string       "FILE", "ID", "FILE|DIR..."
---@field min? integer       positional arguments
---@field max? integer
---@field summary string     one line
---@field about string       paragraphs that teach
---@field more_help? fun(opts: table, args: string[]): string?  behind its help;
---                          what it raises is not told
---@field options pawl.cli.Option[]
---@field examples string[][]  { command line, what it does }
---@field run fun(opts: table, args: string[]): integer?

--- Options that every command has.
---@type pawl.cli.Option[]
options.common = {
  { long = "store", short = "s", arg = "URL", env = "PAWL_STORE",
    help = "where instances live: a SQLite file, or postgres://... "
      .. "(PAWL_STORE; default ./pawl.db)" },
  { long = "tenant", arg = "ID", type = "name", env = "PAWL_TENANT",
    help = "only what is this tenant's: seen, started, signalled "
      .. "(PAWL_TENANT)" },
  { long = "json", help = "write JSON for programs" },
  { long = "pooler", env = "PAWL_POOLER",
    help = "the store is behind a pooler in transaction mode (PAWL_POOLER; "
      .. "0: behind none; default: find out)" },
  { long = "schema", arg = "NAME", env = "PAWL_SCHEMA",
    help = "the schema of a PostgreSQL database where the store is "
      .. "(PAWL_SCHEMA; default pawl)" },
  { long = "no-color", help = "plain text (also NO_COLOR)" },
  { long = "help", short = "h", help = "this text" },
}

--- Of commands that load workflows, or run what is stored.
---@type pawl.cli.Option
options.trust = { long = "trust", arg = "LEVEL",
  help = "trusted (the default), or limited, or isolated: of workflows that "
    .. "others wrote; or a JSON object of what they may" }

---@param message string
---@param hint? string
function options.usage(message, hint, ...)
  error({ code = "usage", message = message:format(...), hint = hint }, 0)
end

local usage = options.usage

--- A word that is not an option's. A URL that stands where something else
--- belongs is not repeated by what is said of that: it may hold a password.
function options.word(word)
  if word:find "^%s*%a[%w+.-]*:?/?/?[^%s/@=]*:[^%s@]*@" then
    usage("an argument looks like a URL with a login, and is not shown",
      "a store is named by --store URL or by PAWL_STORE; what is meant as it "
      .. "stands comes behind --")
  end
  return word
end

local function read_whole(from, name)
  local file, why = io.stdin, nil
  if from ~= "-" then file, why = io.open(from, "rb") end
  if not file then
    usage("cannot read %s for --%s: %s", nil, from, name,
      why:match(": (.*)") or why)
  end
  local text, read_why = file:read("a")
  if from ~= "-" then file:close() end
  if not text then usage("cannot read %s: %s", nil, from, read_why) end
  return text
end

local convert = {}

function convert.text(_, text) return text end

--- What keys and names are stored as.
function convert.name(name, text, option)
  if text == "" or #text > 255 then
    usage("--%s takes 1 to 255 bytes, got %d", nil, name, #text)
  end
  for _, word in ipairs(option.one_of or {}) do
    if word == text then return text end
  end
  if option.one_of then
    usage("--%s takes %s, got '%s'", nearest.hint(text, option.one_of), name,
      table.concat(option.one_of, ", "), text)
  end
  return text
end

--- No code has an @: what lists show of an instance's version is not meant.
function convert.code(name, text)
  local code = text:match "^(.-)@"
  if code then
    usage("--%s takes a workflow's code and no version, got '%s'",
      ("--%s %s means all its versions"):format(name, code), name, text)
  end
  return text
end

function convert.integer(name, text)
  local n = text:match("^[+-]?%d+$") and math.tointeger(tonumber(text))
  if not n then
    usage("--%s takes an integer, got '%s'", nil, name, text)
  end
  return n
end

function convert.count(name, text, option)
  local n = convert.integer(name, text)
  if n < 1 then usage("--%s must be 1 or more, got %d", nil, name, n) end
  local max = option.max or 0x7fffffff
  if n > max then usage("--%s is at most %d, got %d", nil, name, max, n) end
  return n
end

--- Seconds.
function convert.duration(name, text, option)
  local us, problem, hint = duration.parse(text)
  if not us then usage("--%s: %s", hint, name, problem) end
  if us == 0 and option.above_zero then
    usage("--%s must be longer than 0, got '%s'", nil, name, text)
  end
  return us / 1e6
end

local retain_words = { archive = true, keep_attributes = true }

--- One duration, or some by name, and words: what engine:prune takes.
function convert.retain(name, text)
  if not text:find "[=,]" and not retain_words[text] then
    return convert.duration(name, text, {})
  end
  local known, given = {}, {}
  for _, kind in ipairs(verb_args().shaped("prune", "span")) do
    known[kind] = true
  end
  for word in pairs(retain_words) do known[word] = true end
  for part in (text .. ","):gmatch "([^,]*)," do
    if retain_words[part] then
      given[part] = true
      goto next
    end
    local kind, span = part:match "^([%l_]+)=(.*)$"
    if not kind and duration.parse(part) then kind, span = "retain", part end
    if retain_words[kind] then
      usage("--%s takes '%s' as it is, without a value",
        ("completed=7d,%s"):format(kind), name, kind)
    elseif not kind then
      usage("--%s takes 30d, or completed=7d,failed=90d, and more of these "
        .. "(30d,archive), got '%s'", nil, name, text)
    end
    if not known[kind] then
      usage("--%s knows no '%s'", nearest.key_hint(kind, known), name, kind)
    end
    if given[kind] then usage("--%s gives '%s' twice", nil, name, kind) end
    given[kind] = convert.duration(name, span, {})
    ::next::
  end
  return given
end

-- What is said of it where it is taken.
local SPANS <const> = { since = "how long ago: 90m, 30d",
  ahead = "in how long: 90m, 2d" }

--- Seconds since 1970.
local function time_of(name, text, option)
  if text == "now" then return os.time() end
  local us = core.time_parse(text)
  if not us then
    usage("--%s: '%s' is not a time",
      'write UTC: "2026-01-31" or "2026-01-31T10:00:00Z"'
      .. ", or " .. SPANS[option.type], name, text)
  end
  if us < 1 then usage("--%s: '%s' is before 1970", nil, name, text) end
  return us / 1e6
end

--- Of what has been: the same, or how long ago that was.
function convert.since(name, text, option)
  local us = duration.parse(text)
  if us then return os.time() - us / 1e6 end
  return time_of(name, text, option)
end

--- Of what is to come: the same, or how long it is until then.
function convert.ahead(name, text, option)
  local us = duration.parse(text)
  if us then return os.time() + us / 1e6 end
  return time_of(name, text, option)
end

--- The value itself is boxed, since it may be null or false.
function convert.json(name, text)
  local from = "--" .. name
  local hint = [[quote it for the shell: %s '{"count":3}', or give @FILE or -]]
  hint = hint:format(from)
  if text == "-" or text:sub(1, 1) == "@" then
    from = text == "-" and "standard input" or text:sub(2)
    hint = ("--%s wants one JSON value there, such as {\"count\":3}")
      :format(name)
    text = read_whole(text == "-" and "-" or text:sub(2), name)
  end
  local value, err = core.json_decode(text)
  if value == nil then
    usage("%s is not JSON: %s", hint, from,
      err.message .. (err.where and " at " .. err.where or ""))
  end
  return { value = value }
end

--- A list is none, and would be taken for one that is empty.
function convert.object(name, text)
  local value = convert.json(name, text).value
  if type(value) == "table" and (next(value) == nil or #value == 0) then
    return value
  end
  usage("--%s takes an object: {\"name\":...}", nil, name)
end

local function index(list)
  local by = { names = {} }
  for _, option in ipairs(list) do
    by["--" .. option.long] = option
    by.names[#by.names + 1] = "--" .. option.long
    if option.short then by["-" .. option.short] = option end
  end
  return by
end

local function key_of(option)
  return option.key or option.long:gsub("-", "_")
end

--- A word that a shell made of nothing is a slip: it never stands for the
--- default.
local function check_word(option, text)
  if text == "" and not option.may_be_empty then
    usage("--%s is empty", ("--%s %s"):format(option.long, option.arg),
      option.long)
  end
end

local function store(opts, option, text)
  local key = key_of(option)
  local value = true
  if option.arg then
    check_word(option, text)
    value = convert[option.type or "text"](option.long, text, option)
  end
  if option.many then
    opts[key] = opts[key] or {}
    table.insert(opts[key], value)
  else
    opts[key] = value
  end
end

local switches = { ["1"] = true, yes = true, ["true"] = true, on = true,
  ["0"] = false, no = false, ["false"] = false, off = false }

--- A flag's variable: "" says nothing.
local function switch(option, text)
  local on = switches[text:lower()]
  if on == nil then
    usage("%s is 1 or 0 (yes, no, true, false, on, off), not '%s'", nil,
      option.env, text)
  end
  return on
end

--- Fills in what the environment says.
local function from_environment(opts, list)
  opts.from_env = {} -- which ones
  for _, option in ipairs(list) do
    local key = key_of(option)
    local text = option.env and os.getenv(option.env)
    if text and text ~= "" and opts[key] == nil then
      if option.arg or switch(option, text) then
        store(opts, option, text)
        opts.from_env[key] = true
      else
        opts[key] = false
      end
    end
  end
end

local function unknown(name, by, command)
  local near = nearest.find(name, by.names)
  usage("unknown option %s%s", near and ("did you mean %s?"):format(near)
    or command.name and ("`pawl %s --help` lists them"):format(command.name)
    or "`pawl help` lists the commands", name,
    command.name and (" of `pawl %s`"):format(command.name) or "")
end

--- "--limit=5" and "-n5" as the option's name and its value. "-limit" is a
--- slip rather than -l with the value "imit".
local function split_word(word, by)
  local name, value = word:match("^(%-%-[^=]+)=(.*)$")
  if name then return name, value end
  if word:find("^%-%w.") and not by["-" .. word] then
    local short = word:sub(1, 2)
    if by[short] and by[short].arg then return short, word:sub(3) end
  end
  return word, nil
end

--- One value is taken, and which of two was meant nobody knows.
local function check_once(given, option)
  if option.many or not option.arg then return end
  local before = given[key_of(option)]
  if before == option.long then
    usage("--%s is given twice", "it takes one value", before)
  elseif before then
    usage("--%s and --%s say the same", "leave one of them out", before,
      option.long)
  end
  given[key_of(option)] = option.long
end

--- What the engine calls an option, and how it is written here.
local function flags_of(list)
  local flags = {}
  for _, option in ipairs(list) do
    flags[key_of(option)] = "--" .. option.long
  end
  return flags
end

local function usage_line(command)
  return ("pawl %s %s[options]"):format(command.name,
    command.args and command.args .. " " or "")
end

local function usage_hint(command)
  return command.name and "usage: " .. usage_line(command) or nil
end

---@param command pawl.cli.Command
---@param argv string[]
---@return table opts
---@return string[] args  positional
function options.parse(command, argv)
  local list = table.move(options.common, 1, #options.common,
    #command.options + 1, table.move(command.options, 1, #command.options,
      1, {}))
  local by, args, given = index(list), {}, {}
  local opts = { flag_of = flags_of(list) }
  local i = 1
  while i <= #argv do
    local word = argv[i]
    i = i + 1
    local name, value = split_word(word, by)
    if word == "--" then
      table.move(argv, i, #argv, #args + 1, args)
      break
    elseif word:sub(1, 1) ~= "-" or word == "-" then
      if word == "" then usage("an argument is empty", usage_hint(command)) end
      args[#args + 1] = options.word(word)
    else
      local option = by[name]
      if not option then unknown(name, by, command) end
      if option.arg and not value then
        value = argv[i]
        i = i + 1
        if not value then
          usage("%s needs a value: %s %s", nil, word, word, option.arg)
        end
      elseif value and not option.arg then
        usage("%s takes no value", nil, name)
      end
      check_once(given, option)
      store(opts, option, value)
    end
  end
  from_environment(opts, list)
  if command.name and not opts.help then options.count_args(command, args) end
  return opts, args
end

function options.count_args(command, args)
  local hint = usage_hint(command)
  if #args < (command.min or 0) then
    usage("%s needs %s", hint, command.name, command.args)
  end
  if #args > (command.max or 0) then
    usage("unexpected argument '%s'", hint, args[(command.max or 0) + 1])
  end
end

---- help --------------------------------------------------------------------

local function wrap(text, indent, width)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #line + #word + 1 > width - #indent and line ~= "" then
      lines[#lines + 1] = indent .. line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = indent .. line
  return lines
end

local function add_options(out, title, list)
  if #list == 0 then return end
  out[#out + 1] = ""
  out[#out + 1] = title
  for _, option in ipairs(list) do
    local head = ("  %s--%s%s"):format(
      option.short and "-" .. option.short .. ", " or "    ", option.long,
      option.arg and " " .. option.arg or "")
    local lines = wrap(option.help, (" "):rep(28), 80)
    if #head < 27 then
      lines[1] = head .. lines[1]:sub(#head + 1)
    else
      out[#out + 1] = head
    end
    table.move(lines, 1, #lines, #out + 1, out)
  end
end

--- What a command's options take for times, in words; nil: it has none.
---@param command pawl.cli.Command
---@return string?
function options.times(command)
  local has = {}
  for _, option in ipairs(command.options) do
    if option.type then has[option.type] = option end
  end
  if not has.since and not has.ahead then return nil end
  return "A TIME is UTC, 2026-01-31 or 2026-01-31T10:00:00Z, or now, or a span "
    .. "such as 90m or 2d" .. (has.since and has.ahead
      and ": so long ago where it is of what has been, so long from now where "
        .. "it is of what is due." or has.since and ": so long ago."
      or ": so long from now.")
end

---@param command pawl.cli.Command
---@return string
function options.help(command)
  local out = wrap("usage: " .. usage_line(command), (" "):rep(7), 80)
  out[1] = out[1]:sub(8)
  out[#out + 1] = ""
  local first = #out
  local about = command.about
  local times = options.times(command)
  if times then about = about .. "\n\n" .. times end
  for paragraph in (about .. "\n\n"):gmatch("(.-)\n%s*\n") do
    if #out > first then out[#out + 1] = "" end
    local lines = wrap(paragraph, "", 78)
    table.move(lines, 1, #lines, #out + 1, out)
  end
  add_options(out, "Options", command.options)
  add_options(out, "Options of every command", options.common)
  if #command.examples > 0 then
    out[#out + 1] = ""
    out[#out + 1] = "Examples"
    for _, example in ipairs(command.examples) do
      out[#out + 1] = "  " .. example[1]
      table.move(wrap(example[2], "      ", 80), 1, 99, #out + 1, out)
    end
  end
  return table.concat(out, "\n")
end

return options
