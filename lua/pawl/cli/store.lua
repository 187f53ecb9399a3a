--- Opening the store that the options name, and giving up on errors.
local format = require "pawl.cli.format"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local words = require "pawl.words"

local store = {}

--- Returns what it was given, or ends the command with the error.
function store.try(value, err, ...)
  if value == nil then error(err, 0) end
  return value, err, ...
end

local function open(opts, extra)
  local given = { state = "private", pooler = opts.pooler,
    tenant = opts.tenant, schema = opts.schema, trust = opts.trust }
  for key, value in pairs(extra or {}) do given[key] = value end
  return pawl.open(opts.store, given)
end

---@param opts table                what the command line said
---@param extra? pawl.OpenOptions
---@return pawl.Engine
function store.open(opts, extra) return store.try(open(opts, extra)) end

--- One that was made by this command is told of: whoever meant another path
--- would look for it there.
---@param engine pawl.Engine
function store.tell_new(opts, engine)
  if engine:is_new() and opts.store ~= ":memory:" then
    term.warn(("made a new store: %s"):format(term.clean(store.name(opts))))
  end
end

--- For commands that leave something in it: one that was not there is made.
---@return pawl.Engine
function store.leave(opts)
  local engine = store.open(opts)
  store.tell_new(opts, engine)
  return engine
end

--- To look at workflow files with: nothing of it stays.
---@return pawl.Engine
function store.aside(opts)
  return store.try(pawl.open(":memory:", { state = "private",
    trust = opts.trust, tenant = opts.tenant }))
end

--- For those that do something else where it is not there: `notfound`.
---@param extra? pawl.OpenOptions
---@return pawl.Engine?, pawl.Error?
function store.find(opts, extra)
  local given = { create = false }
  for key, value in pairs(extra or {}) do given[key] = value end
  return open(opts, given)
end

--- Is it a server's? It may be starting, or come to be written again.
local function is_server(url)
  return (url or ""):find "^postgres%l*:" ~= nil
end

--- The store, if there is one; nothing where opening it would make it. A file
--- is only looked for: with `create = false` one that may not be written would
--- be opened to ask, and be of no use to who works.
local function find_for(opts, extra)
  if not is_server(opts.store) then
    local there = opts.store == ":memory:" or sys.kind(store.name(opts))
    return there and store.open(opts, extra)
  end
  local there, err = store.find(opts, extra)
  if not there and err.code ~= "notfound" then error(err, 0) end
  return there
end

--- For commands that load files: where there is no store yet, none is made for
--- what is wrong. `check` meets the files first, in one aside; what it returns
--- of them is returned when that is nil and an error.
---@param check fun(engine: pawl.Engine): any, any, any
---@param extra? pawl.OpenOptions
---@return pawl.Engine?, pawl.Error?, any
function store.open_for(opts, check, extra)
  local there = find_for(opts, extra)
  if there then return there end
  do
    local engine <close> = store.aside(opts)
    local ok, why, more = check(engine)
    if not ok then return nil, why, more end
  end
  return store.open(opts, extra)
end

--- One in memory begins empty and ends with the command: who asks it, or
--- changes what is there, has meant another.
function store.check_lasts(opts)
  if opts.store ~= ":memory:" then return end
  options.usage("a store in memory has nothing in it, and is gone when this "
    .. "command ends", "--store FILE, or PAWL_STORE, names one that stays")
end

--- For commands that look, or change what is there: a missing store is not
--- made, so that a typo in --store is an error rather than an empty list.
function store.look(opts)
  store.check_lasts(opts)
  return store.open(opts, { create = false })
end

--- The path of the FILE that a command takes for a SQLite store.
---@param text string  the argument: a path, or sqlite:PATH
function store.file(text)
  local path = text:match "^sqlite:(.*)$"
  if path and path ~= "" then return path end
  if path or text == ":memory:" or text:find "^%a[%w+.-]*://"
    or text:find "^postgres%l*:" then
    options.usage("FILE is the path of a file%s",
      "or sqlite:PATH, for a file whose name looks like something else",
      text == ":memory:" and ", got ':memory:'" or "")
  end
  return text
end

--- The store's name for people, built from what can be read in its URL:
--- however a password is written there, it is not taken along.
function store.name(opts) return sys.store_name(opts.store) end

--- What a command line needs to reach the same store: "" when it is the
--- default one or PAWL_STORE names it.
function store.flags(opts)
  local text = ""
  if opts.store and not opts.from_env.store then
    text = " --store " .. words.word(store.name(opts))
  end
  if opts.pooler and not opts.from_env.pooler then
    text = text .. " --pooler"
  end
  if opts.tenant and not opts.from_env.tenant then
    text = text .. " --tenant " .. words.word(opts.tenant)
  end
  if opts.schema and not opts.from_env.schema then
    text = text .. " --schema " .. opts.schema
  end
  return text
end

-- What is wrong with a file names fields of nodes, which are no options.
local names_fields = { definition = true, script = true, value = true }

local storeless = { help = true, check = true, version = true }

--- Commands in a text for people, written `pawl list`, with what they need to
--- reach the same store: they are there to be pasted.
function store.point(opts, text)
  return (text:gsub("`pawl (%l+)([^`]*)`", function(name, rest)
    if storeless[name] or rest:find(" --store ", 1, true) then return nil end
    return ("`pawl %s%s%s`"):format(name, rest, store.flags(opts))
  end))
end

--- How an option that an error of the engine's names is written here, if it is.
---@return string?
function store.flag_of(opts, err, name)
  return not names_fields[err.code] and opts.flag_of and opts.flag_of[name]
    or nil
end

--- What the engine says in a library's words, for who has a command line: an
--- option that it names, as `replace`, is a flag here, `--replace`.
---@param err pawl.Error
---@param text string  of it
function store.in_flags(opts, err, text)
  return (text:gsub("`([%l_]+)`", function(name)
    local flag = store.flag_of(opts, err, name)
    return flag and "`" .. flag .. "`"
  end))
end

--- The hint of an error, if it has one, where people read it.
---@return string?
function store.hint_of(opts, err)
  return err.hint and store.point(opts, store.in_flags(opts, err, err.hint))
end

--- What to do about an error, if that is known, below what was said of it.
---@param say? fun(text: string)  where it was said; on standard error
function store.tell_hint(opts, err, say)
  local hint = store.hint_of(opts, err)
  if hint then (say or term.warn)(" hint: " .. hint) end
end

--- The same, of what is no error.
function store.hint(opts, text) store.tell_hint(opts, { hint = text }) end

--- Was the instance of a key started with another input?
function store.is_other_input(engine, id, input)
  local instance = engine:get(id)
  return instance ~= nil
    and format.json(instance.input) ~= format.json(input)
end

--- Says so.
function store.compare_input(engine, id, input)
  if not store.is_other_input(engine, id, input) then return end
  term.warn(("warning: %s was started with another input; the one given now "
    .. "is not used"):format(id))
end

--- Is what it loads trusted? A word, or an object, that asks for less is read
--- by who opens the engine.
local function is_trusted(opts)
  return opts.trust == nil or opts.trust == "trusted"
end

--- Fails when a workflow file cannot be read or is not Lua. Asked before a
--- store is made for it. What is not trusted is not so much as compiled here:
--- that is for the state, or the process, that holds it up.
function store.check_source(opts, path)
  local kind, size = sys.kind(path)
  local is_readable = kind == "file" and size <= sys.max_source
  if is_readable and (not is_trusted(opts) or loadfile(path, "t")) then
    return
  end
  local engine <close> = store.aside(opts)
  store.try(engine:check(path)) -- knows how to say it
end

--- The codes of the newest instances: what a slip may have meant.
local function codes_in_use(engine)
  local codes, seen = {}, {}
  for _, instance in ipairs(engine:list { limit = 1000 } or {}) do
    if not seen[instance.workflow] then
      seen[instance.workflow] = true
      codes[#codes + 1] = instance.workflow
    end
  end
  return codes
end

--- Fails when there is no such workflow, nor an instance of one: what is told
--- of it would be nothing, and a slip would look like a store without trouble.
---@param code? string
function store.check_workflow(engine, code)
  if not code then return end
  local _, err = engine.workflows:graph(code)
  if not err or err.code ~= "notfound" then return end
  for _, query in ipairs { {}, { deleted = true }, { archived = true } } do
    query.workflow, query.limit = code, 1
    if #store.try(engine:list(query)) > 0 then return end
  end
  local codes = {}
  for i, known in ipairs(store.try(engine.workflows:list())) do
    codes[i] = known.workflow
  end
  local near = nearest.find(code, codes)
  error({ code = "notfound", message = err.message,
    hint = near and ("did you mean '%s'?"):format(near)
      or "`pawl workflow list` has those there are" }, 0)
end

--- Says so when nobody has loaded the workflow of an instance just started.
function store.warn_unknown(engine, code, version)
  local _, err = engine.workflows:graph(code, version)
  if not err or err.code ~= "notfound" then return end
  local meant = (err.hint or ""):match("^did you mean .*")
  if not meant then
    local codes = {}
    for _, known in ipairs(codes_in_use(engine)) do
      if known ~= code then codes[#codes + 1] = known end
    end
    local near = nearest.find(code, codes)
    meant = near and ("did you mean '%s'?"):format(near)
  end
  term.warn(("warning: no worker has loaded workflow %s yet"):format(
    term.clean(code)))
  if meant then term.warn(" hint: ", term.clean(meant)) end
end

local running = {} -- ids of instances whose handlers run

--- Keeps what a trace tells: is there a handler to be waited for?
---@param t pawl.Trace
function store.note_handler(t)
  running[t.instance] = not t.outcome or nil
  sys.handler_runs(next(running) ~= nil)
end

--- Said as soon as a signal comes while one runs: it may take long to end.
store.stopping = "stopping: a handler that runs is finished first, one in "
  .. "ctx.await begins anew later; press Ctrl-C again to stop at once\n"

local transient = { busy = true, unreachable = true, lease_lost = true,
  timeout = true, nomem = true, full = true, readonly = true, store = true }

--- Nobody is about to have a file be written that may not be.
function store.is_settled(opts, err)
  return err.code == "readonly" and not is_server(opts.store)
end

--- May the same call succeed in a while? A worker waits for that.
function store.is_transient(err)
  return type(err) == "table" and transient[err.code] or false
end

--- Where a signal has ended what was waited for: says so, and ends the command
--- as that signal would.
function store.end_if_stopped(text)
  if not sys.caught() then return end
  term.warn(text)
  error({ exit = 128 + sys.caught() }, 0)
end

--- Runs `fn(engine)` with signals stopping that engine cleanly.
function store.guarded(engine, fn)
  sys.catch_signals(false, store.stopping)
  sys.watch(engine)
  local result = table.pack(pcall(fn, engine))
  sys.watch(nil)
  engine:close()
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

return store
