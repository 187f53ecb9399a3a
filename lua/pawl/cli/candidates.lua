--- What may stand next in a command line, for shells that complete it: from the
--- tables that make the parser and the help, and from the store.
local commands = require "pawl.cli.commands"
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local verb_args = require "pawl.args"

---@class pawl.cli.Line
---@field opts table                what reaches the store
---@field command? pawl.cli.Command
---@field values table<string, string>  of options given so far, by `long`
---@field args string[]             positional ones given so far
---@field option? pawl.cli.Option   whose value is next
---@field current string            the word that is being typed

---@alias pawl.cli.Candidate { [1]: string, [2]: string? }  word, what it is

local most = 100 -- ids that are offered

-- A line that is no candidate: the shell is to look for files.
local FILES = ":files"

---- reading the line --------------------------------------------------------

--- bash hands over "--to=a" and "host:1" in pieces.
local function rejoined(words)
  local out, glue = {}, false
  for i, word in ipairs(words) do
    if word == "=" and i > 1 and out[#out]:find "^%-%-" then
      glue = false -- the value is a word of its own, as the parser takes it
      if i == #words then out[#out + 1] = "" end
    elseif glue or word == ":" and #out > 0 then
      out[#out] = out[#out] .. word
      glue = word == ":"
    else
      out[#out + 1] = word
    end
  end
  return out
end

local function option_named(command, word)
  for _, list in ipairs { options.common, command and command.options or {} } do
    for _, option in ipairs(list) do
      if word == "--" .. option.long
        or option.short and word == "-" .. option.short then
        return option
      end
    end
  end
end

---@return pawl.cli.Line
local function read(words, opts)
  words = rejoined(words)
  local line = { opts = opts, values = {}, args = {},
    current = table.remove(words) or "" }
  for _, word in ipairs(words) do
    local name, value = word:match "^(%-%-[^=]+)=(.*)$"
    local option = option_named(line.command, name or word)
    if line.option then
      line.values[line.option.long], line.option = word, nil
    elseif option and value then
      line.values[option.long] = value
    elseif option then
      line.option = option.arg and option or nil
    elseif word:sub(1, 1) ~= "-" then
      if line.command then
        line.args[#line.args + 1] = word
      else
        line.command = commands.get(word)
        if not line.command then return nil end
      end
    end
  end
  opts.store = line.values.store or opts.store
  return line
end

---- what the store has ------------------------------------------------------

local live = { "created", "running", "waiting", "suspended" }

-- Whom a command can do something for; the others take any.
local suits = { resume = { "suspended" }, retry = { "failed", "suspended" },
  cancel = live, kill = live, suspend = live, move = live, edit = live,
  wake = live }

local from_store = {}

--- Ends, as lists show them; the whole one where its beginning was typed.
function from_store.ID(engine, line)
  local out = {}
  local query = { limit = most, status = suits[line.command.name] }
  for _, row in ipairs(engine:list(query) or {}) do
    local about = ("%s %s%s"):format(row.workflow, row.status,
      type(row.node) == "string" and " " .. row.node or "")
    out[#out + 1] = { row.id:sub(-8), about }
    if line.current ~= "" then out[#out + 1] = { row.id, about } end
  end
  return out
end

local function task_ids(engine)
  local out = {}
  for _, task in ipairs(engine.tasks:list { limit = most } or {}) do
    out[#out + 1] = { task.id, task.title }
  end
  return out
end

function from_store.CODE(engine)
  local out, seen = {}, {}
  for _, row in ipairs(engine.workflows:list {} or {}) do
    if not seen[row.workflow] then
      seen[row.workflow] = true
      out[#out + 1] = { row.workflow }
    end
  end
  return out
end

local function add_nodes(out, graph)
  for _, node in ipairs(graph and graph.nodes or {}) do
    out[#out + 1] = { node.name, node.kind }
  end
end

--- Of the instance that is named; else of the workflow, or of all.
function from_store.NODE(engine, line)
  local out = {}
  local instance = line.args[1] and engine:get(line.args[1])
  if instance then
    add_nodes(out, engine.workflows:graph(instance.workflow,
      instance.version > 0 and instance.version or nil))
    return out
  end
  local code = line.values.workflow
  for _, found in ipairs(code and { { code } } or from_store.CODE(engine)) do
    add_nodes(out, engine.workflows:graph(found[1]))
  end
  return out
end

--- Nothing where the store cannot be asked: a key press is no place for errors.
local function ask(line, kind)
  local ok, found = pcall(function()
    local engine <close> = store.look(line.opts)
    if kind == "ID" and line.command.name == "task" then
      return task_ids(engine)
    end
    return from_store[kind](engine, line)
  end)
  return ok and found or {}
end

---- what the tables have ----------------------------------------------------

local function words_of(list)
  local out = {}
  for i, word in ipairs(list) do out[i] = { word } end
  return out
end

local function command_names()
  local out = {}
  for i, name in ipairs(commands.names) do
    out[i] = { name, commands.get(name).summary }
  end
  return out
end

local function option_names(command)
  local out = {}
  for _, list in ipairs { command and command.options or {},
    options.common } do
    for _, option in ipairs(list) do
      out[#out + 1] = { "--" .. option.long, option.help }
    end
  end
  return out
end

--- What stands for a value in the help says what it may be.
local function by_name(line, name)
  if from_store[name] then return ask(line, name) end
  if name == "FILE" or name == "DIR" or name == "URL" then
    return { { FILES } }
  end
  if name == "COMMAND" then return command_names() end
  return name:find "^%l+$" and { { name } } or {}
end

local function alternatives(line, text)
  local out = {}
  for name in text:gmatch "[^|]+" do
    for _, found in ipairs(by_name(line, name)) do out[#out + 1] = found end
  end
  return out
end

local function values(line)
  local option = line.option
  if option.one_of then return words_of(option.one_of) end
  local verb = line.command and line.command.name == "task" and "task_list"
    or "list"
  if option.long == "status" then
    return words_of(verb_args.words(verb, "status"))
  end
  return alternatives(line, option.arg)
end

--- The word of `args` that the next positional argument is for:
--- "ID...", "[list|show] [ID...]", "FILE|CODE[@VERSION]|ID".
local function next_arg(line)
  local slots = {}
  for slot in (line.command.args or ""):gmatch "%S+" do
    slots[#slots + 1] = slot:gsub("%[@VERSION%]", ""):gsub("[%[%]]", "")
  end
  local last = slots[#slots]
  local slot = slots[#line.args + 1]
    or last and last:find("...", 1, true) and last
  return slot and slot:gsub("%.%.%.", "")
end

local function possible(line)
  if line.option then return values(line) end
  if line.current:sub(1, 1) == "-" then return option_names(line.command) end
  if not line.command then return command_names() end
  local slot = next_arg(line)
  return slot and alternatives(line, slot) or {}
end

--- Those that begin as the word does. What a shell would not read back as it
--- stands is left out: it might do something else there.
---@param words string[]  the line behind `pawl`, its last word unfinished
---@param opts table
---@return pawl.cli.Candidate[]
return function(words, opts)
  local line, out, seen = read(words, opts), {}, {}
  if not line then return out end
  local flag, typed = line.current:match "^(%-%-[^=]+)=(.*)$"
  if flag then -- of zsh and fish: they replace the whole word
    line.option = option_named(line.command, flag)
    if not line.option or not line.option.arg then return out end
    line.current = typed
  end
  for _, found in ipairs(possible(line)) do
    local word = found[1]
    local fits = word:sub(1, #line.current) == line.current
      and word:find "^[%w@%%+,./_-]+$"
    if (fits or word == FILES) and not seen[word] then
      seen[word] = true
      out[#out + 1] = { flag and word ~= FILES and flag .. "=" .. word or word,
        found[2] }
    end
  end
  return out
end
