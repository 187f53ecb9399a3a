--- pawl start CODE
local act = require "pawl.cli.act"
local attributes = require "pawl.cli.attributes"
local core = require "pawl.core"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local pawl = require "pawl"
local store = require "pawl.cli.store"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"
local words = require "pawl.words"

local function attributes_of(list)
  if not list then return nil end
  local out = {}
  for _, text in ipairs(list) do
    local name, as_text, how, value = attributes.split(text)
    if how ~= "=" then
      options.usage("--attr takes NAME=VALUE, got '%s'",
        "--attr region=eu --attr amount=12.50 --attr day=@2026-01-31", text)
    end
    if out[name] ~= nil then
      options.usage("--attr gives '%s' twice", nil, name)
    end
    out[name] = as_text and value or attributes.value(value)
  end
  return out
end

local function warn_there(engine, id, opts)
  if not opts.json then
    term.warn("already there: an earlier start had this key")
  end
  if opts.input then store.compare_input(engine, id, opts.input.value) end
end

---- what it takes -----------------------------------------------------------

--- What the version that is to be started declares, as JSON; nil: nothing, or
--- nobody has loaded it yet.
local function declared(engine, code, version)
  local flow = engine.workflows:get(code, version)
  local input = flow and flow.graph.input
  return input and core.json_encode(input)
end

--- Of one that is in the store: its input, a line for each member.
local function more_help(opts, args)
  if not args[1] then return nil end
  local engine <close> = store.look(opts)
  local flow = engine.workflows:get(args[1], opts.version)
  local input = flow and flow.graph.input
  if not input then return nil end
  local lines = {}
  if type(input) ~= "table" or input[1] then
    lines[1] = "  " .. words.types(input)
  else
    for name, types in pairs(input) do
      lines[#lines + 1] = ("  %-24s  %s"):format(name, words.types(types))
    end
    table.sort(lines)
  end
  return ("Input of %s, version %d\n%s"):format(flow.workflow, flow.version,
    table.concat(lines, "\n"))
end

--- Raises what the engine says of one that it has loaded itself.
local function check_input(code, types, input, whose)
  if not types then return end
  local ok, err = core.types_fit(types, core.json_encode(input or core.null)
    or "null", "input")
  if ok then return end
  err.message = ('%sworkflow "%s": %s'):format(whose or "", code, err.message)
  error(err, 0)
end

---- many --------------------------------------------------------------------

local function open_lines(path)
  if path == "-" then return io.stdin end
  local file, why = io.open(path, "rb")
  if file then return file end
  options.usage("cannot read %s for --many: %s", nil, path,
    why:match(": (.*)") or why)
end

--- What JSON has of them is one of them each.
local function read_attributes(given, n)
  if type(given) ~= "table" then return given end -- the engine refuses it
  local out = {}
  for name, value in pairs(given) do
    local found, why = attributes.of_json(value)
    if found == nil then
      options.usage("--many: line %d: attribute '%s': %s", "a text, a number, "
        .. "true, false, or such as {\"type\":\"date\",\"value\":"
        .. "\"2026-01-31\"}", n, name, why)
    end
    out[name] = found
  end
  return out
end

--- One JSON object a line; empty lines are nothing. Also: the line of each.
local function read_items(path)
  local items, lines, n = {}, {}, 0
  for line in open_lines(path):lines() do
    n = n + 1
    if line:find "%S" then
      local item, err = pawl.json.decode(line)
      if type(item) ~= "table" or not line:find "^%s*{" then
        options.usage("--many: line %d is no JSON object%s",
          "a line is {\"input\":..., \"key\":...}", n,
          err and ": " .. tostring(err.message) or "")
      end
      item.attributes = read_attributes(item.attributes, n)
      items[#items + 1], lines[#items + 1] = item, n
    end
  end
  return items, lines
end

--- What is wrong with an item is wrong with a line.
local function to_lines(text, lines)
  return (text:gsub("item (%d+)", function(i)
    local n = lines[math.tointeger(tonumber(i))]
    return n and "line " .. n or nil
  end, 1))
end

local function start_many(engine, code, items, lines, shared)
  local ok, ids, created = pcall(engine.start_many, engine, code, items,
    shared)
  if not ok then
    local why = tostring(ids):gsub("^.-start_many: ", "")
    options.usage("--many: %s", nil, to_lines(why, lines))
  elseif not ids then
    created.message = to_lines(created.message, lines)
    error(created, 0)
  end
  return ids, created
end

local most_compared = 1000 -- of those that were there; one look each

--- Which items asked for something else than what their key had started, by
--- their index; false: not looked at. How many were there.
local function conflicts(engine, items, ids, created)
  local out, n = {}, 0
  for i, id in ipairs(ids) do
    if not created[i] then
      n = n + 1
      out[i] = n <= most_compared and items[i].input ~= nil
        and store.is_other_input(engine, id, items[i].input)
    end
  end
  return out, n
end

local function tell_uncompared(n)
  if n <= most_compared then return end
  term.warn(("the inputs of %d were not compared"):format(n - most_compared))
end

local function tell_there(there, n, lines)
  local other = {}
  for i in pairs(there) do
    if there[i] then other[#other + 1] = lines[i] end
  end
  table.sort(other)
  term.warn(("%d of them were there already: their keys had started them")
    :format(n))
  if #other > 0 then
    term.warn(("warning: conflict: %d of those were started with another "
      .. "input, which is kept: line%s %s"):format(#other,
      #other > 1 and "s" or "", table.concat(other, ", ", 1,
      math.min(#other, 20)) .. (#other > 20 and ", ..." or "")))
  end
  tell_uncompared(n)
end

local function run_many(opts, code, shared)
  local items, lines = read_items(opts.many)
  opts.flag_of = nil -- what is wrong with a line is wrong with its members
  local engine <close> = store.leave(opts)
  local types = declared(engine, code, opts.version)
  for i, item in ipairs(items) do
    check_input(code, types, item.input == nil and {} or item.input,
      ("line %d: "):format(lines[i]))
  end
  local ids, created = start_many(engine, code, items, lines, shared)
  store.warn_unknown(engine, code, opts.version)
  local there, n = conflicts(engine, items, ids, created)
  if opts.json then
    local list = pawl.array {}
    for i, id in ipairs(ids) do
      list[i] = { id = id, created = created[i],
        conflict = there[i] or nil }
    end
    term.print(format.json(list))
    tell_uncompared(n)
  else
    for _, id in ipairs(ids) do term.print(id) end
    if n > 0 then tell_there(there, n, lines) end
  end
  return 0
end

---- waiting for what comes of it --------------------------------------------

--- Only the output, for programs; what kept it from coming goes to standard
--- error.
local function show_outcome(opts, id, created, outcome, err)
  if opts.json then
    term.print(format.json { id = id, created = created,
      status = outcome.status, output = outcome.output,
      error = outcome.error })
  elseif outcome.status == "completed" then
    term.print(format.json(outcome.output == nil and core.null
      or outcome.output))
  end
  if outcome.status == "completed" then return 0 end
  if not opts.json then
    term.warn("pawl: " .. format.under(outcome.status, err))
    store.hint(opts, "pawl show " .. id .. store.flags(opts))
  end
  return 1
end

--- It is stored: whatever ends the waiting, the instance goes on.
local function wait_for(engine, opts, id, created)
  if not opts.json then term.warn(id) end
  local _, err, outcome = engine:result(id, { timeout = opts.timeout })
  if outcome then return show_outcome(opts, id, created, outcome, err) end
  store.end_if_stopped(("stopped waiting; instance %s goes on"):format(id))
  if err.code == "timeout" then
    if opts.json then
      term.print(format.json { id = id, created = created, error = err })
    end
    err.hint = "it goes on: pawl show " .. id .. store.flags(opts)
  end
  error(err, 0)
end

local function check_wait(opts)
  if opts.timeout and not opts.wait then
    options.usage("--timeout is how long --wait waits", "give both")
  elseif opts.many and opts.wait then
    options.usage("--wait is for one instance, not for --many", nil)
  end
end

local function run(opts, args)
  check_wait(opts)
  local given = verb_args.among("start", opts)
  given.attributes, given.by = attributes_of(opts.attr), act.user(opts)
  if opts.delay and opts.at then
    options.usage("--delay and --at exclude each other", nil)
  end
  if opts.many then
    if opts.key or opts.input then
      options.usage("--%s is one instance's: give it in the lines of --many",
        nil, opts.key and "key" or "input")
    end
    return run_many(opts, args[1], given)
  end
  local engine <close> = store.leave(opts)
  check_input(args[1], declared(engine, args[1], opts.version),
    opts.input and opts.input.value or {})
  local id, created = store.try(engine:start(args[1],
    opts.input and opts.input.value, given))
  store.warn_unknown(engine, args[1], opts.version)
  if opts.wait then
    if not created then warn_there(engine, id, opts) end
    return store.guarded(engine, function()
      return wait_for(engine, opts, id, created)
    end)
  end
  if opts.json then
    term.print(format.json { id = id, created = created })
  else
    term.print(id)
  end
  if not created then warn_there(engine, id, opts) end
  return 0
end

local flags = {
  { long = "input", short = "i", arg = "JSON", type = "json",
    help = "the instance's input; @FILE reads a file, - standard input" },
  { long = "many", arg = "FILE",
    help = "one instance a line, {\"input\":...}; - reads standard input" },
  { long = "key", arg = "TEXT",
    help = "idempotency key: one instance per key and workflow" },
  { long = "on-existing", arg = "HOW",
    help = "when the key is in use: return that instance, which is the "
      .. "default, fail, or replace it, which cancels it" },
  { long = "reuse", arg = "WHEN",
    help = "begin again with the key of one that has ended, or failed; "
      .. "default: never" },
  { long = "version", arg = "N", type = "count",
    help = "of the workflow; default: the newest" },
  { long = "priority", arg = "N", type = "integer",
    help = "higher runs first; default 0" },
  { long = "delay", arg = "DURATION", type = "duration",
    help = "begin later: 90, 15m, 2h" },
  { long = "at", arg = "TIME", type = "ahead",
    help = "begin at this time, or in 2d" },
  { long = "deadline", arg = "DURATION", type = "duration",
    above_zero = true,
    help = "it fails when it has not ended so long after it began; default: "
      .. "its workflow's" },
  { long = "max-bytes", arg = "N", type = "count",
    help = "that its variables may have, as JSON: fewer than the engine's" },
  { long = "group", arg = "NAME", help = "executor group that runs it" },
  { long = "correlation", arg = "ID",
    help = "business id that ties instances together" },
  { long = "by", arg = "WHO", type = "name",
    help = "who starts it; default: the user's name" },
  { long = "wait", help = "until it has ended, and print its output" },
  { long = "timeout", arg = "DURATION", type = "duration",
    help = "how long --wait waits: 90, 15m, 2h; the instance goes on" },
  { long = "business-key", arg = "KEY", help = "what `pawl list` asks by" },
  { long = "attr", arg = "NAME=VALUE", many = true,
    help = "an attribute, by which `pawl list --attr` finds it: an integer, a "
      .. "decimal such as 12.50, exactly, true or false, @2026-01-31 or "
      .. "@2026-01-31T10:00:00Z for a date, else text; in double quotes, or as "
      .. "NAME:=TEXT, it is text whatever it looks like" },
}

local function names_of_item()
  local list = {}
  for name in pairs(verb_args.of "item") do
    -- one version for all: --version
    if name ~= "input" and name ~= "version" then list[#list + 1] = name end
  end
  table.sort(list)
  return table.concat(list, ", ")
end

--- What nothing is said of above, but may be given: texts and objects.
local function add_others(list)
  local has = { attributes = true, tenant = true } -- --attr, every command's
  for _, flag in ipairs(list) do has[flag.long:gsub("-", "_")] = true end
  for _, shape in ipairs { "text", "object" } do
    for _, name in ipairs(verb_args.shaped("start", shape)) do
      if not has[name] then
        list[#list + 1] = { long = name:gsub("_", "-"), type = shape,
          arg = shape == "object" and "JSON" or "TEXT",
          help = "its " .. name:gsub("_", " ")
            .. (shape == "object" and ", an object" or "") }
      end
    end
  end
  return list
end

return {
  name = "start", args = "CODE", min = 1, max = 1,
  summary = "store a new instance for the workers to run",
  about = "Stores a new instance of a workflow and prints its id. When the "
    .. "command returns the instance is stored and will be run by the "
    .. "workers, whatever dies next. A workflow that no worker has loaded "
    .. "yet is run once one has; the command warns of it. A store that is "
    .. "not there yet is made. An input that is not what the workflow declares "
    .. "is refused; `pawl start CODE --help` shows that behind this text.\n\n"
    .. "With --key the start may be repeated safely: the second one prints "
    .. "the first one's id. With --reuse ended a key may begin again when "
    .. "its instance has ended; with --on-existing replace the one that is "
    .. "under way is cancelled, and the new one has its key at once.\n\n"
    .. "With --wait it stays until a worker has run the instance to its end, "
    .. "prints the output and exits with 0; when it failed or was cancelled, "
    .. "or has not ended within --timeout, it says why and exits with 1. The "
    .. "id goes to standard error. The same command with the same --key waits "
    .. "for the same instance.\n\n"
    .. "With --many it starts an instance for every line of a file, a JSON "
    .. "object with the `input` and the options of that one: "
    .. names_of_item() .. "; attributes are an object, where the command line "
    .. "has --attr: {\"region\":\"eu\"}, and what JSON has no values for as "
    .. "`pawl show --json` tells it, {\"type\":\"date\",\"value\":"
    .. "\"2026-01-31\"}. What the command line says holds for those that do "
    .. "not say it, --version for all. It prints their ids in that order. All "
    .. "lines are checked before anything is stored; they are stored in "
    .. "batches of 1,000. With a key in every line it is safe to repeat: what "
    .. "was there already is counted, and a line whose key had been used with "
    .. "another input is named as a conflict.",
  options = add_others(flags),
  examples = {
    { "pawl start order.fulfil --input '{\"count\":3}' --key order-4711",
      "safe to repeat" },
    { "pawl start shop.cart --key cart-7 --reuse ended",
      "a new cart once that one was checked out" },
    { "pawl start report.daily --delay 2h", "in two hours" },
    { "pawl start price.ask -i '{\"item\":7}' --wait --timeout 10s",
      "and have its answer" },
    { "pawl start order.fulfil --many orders.jsonl", "one a line" },
  },
  run = run, more_help = more_help,
}
