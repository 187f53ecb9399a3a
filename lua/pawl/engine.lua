--- pawl.open and the engine's methods that take options.
--
-- The C part (pawl.core) takes plain values: microseconds, JSON-ready tables.
-- What people write - "2h", a list of prefixes, pawl.decimal "9.90" - is
-- checked and turned into those here. A wrong option is the caller's bug and
-- raises, naming the option; what the store says comes back as nil, err.
local args = require "pawl.args"
local attribute = require "pawl.attribute"
local changes = require "pawl.changes"
local core = require "pawl.core"
local later = require "pawl.later"
local nearest = require "pawl.nearest"
local option = require "pawl.option"
local words = require "pawl.words"

local explain = later "pawl.explain"

local engine = {}
local methods = core.engine or {}

---- options ----------------------------------------------------------------

local read = args.read

---- open -------------------------------------------------------------------

-- Clocks that only move when they are told to, of pawl.testing: who waits moves
-- them.
local virtual = setmetatable({}, { __mode = "k" })

local function is_virtual(clock)
  return type(clock) == "table" and type(clock.us) == "number"
end

local game_clock = later "pawl.game_clock"

local function passed_of(clock)
  return type(clock) == "table" and game_clock().passed_of(clock) or nil
end

--- A noun's methods, which are asked of the noun: engine.tasks:find(...).
local function noun_of(name, methods_of)
  local meta = { __name = "pawl." .. name }
  local found = {}
  for method, run in pairs(methods_of) do
    found[method] = function(self, ...)
      if getmetatable(self) ~= meta then
        error(("calling '%s:%s' on a %s: write engine.%s:%s(...)"):format(name,
          method, type(self), name, method), 2)
      end
      return run(self, ...)
    end
  end
  meta.__index = nearest.strict(found, "engine." .. name .. " has no '%s'")
  function meta.__call()
    error(("engine.%s is no function: write engine.%s:list(...)"):format(name,
      name), 2)
  end
  return meta
end

-- What has a word of its own: engine.tasks, each made when first asked for.
local nouns = {}
for _, name in ipairs { "tasks", "workflows", "outbox", "executors",
  "breakpoints" } do
  local module, meta = later("pawl.nouns." .. name), nil
  nouns[name] = function()
    meta = meta or noun_of(name, module())
    return meta
  end
end

--- A slip in a name shows where it was made: behind the core's own __index.
local function unknown(name)
  local known = {}
  for _, list in ipairs { methods, nouns } do
    for key in pairs(list) do known[#known + 1] = key end
  end
  table.sort(known)
  name = tostring(name)
  error(("an engine has no '%s' (%s)"):format(name,
    nearest.hint(name, known)), 4)
end

local function nouns_of(opened)
  return setmetatable({}, { __index = function(self, name)
    self[name] = setmetatable({ opened }, (nouns[name] or unknown(name))())
    return self[name]
  end })
end

local prune_shape = args.of "prune"
local retain_shape = args.of("prune", nil, { limit = false, dry_run = false,
  share = false, by = false })

--- How long what has ended is kept: one time, or one for each kind.
local function retain(value)
  if type(value) ~= "table" then
    local us = option.check.duration(value)
    return us and ('{"retain_us":%d}'):format(us)
  end
  return next(value)
    and core.json_encode(args.read("pawl.open, retain", retain_shape, value))
end

--- Functions that handlers call by ctx.host.
local function host(value)
  if type(value) ~= "table" then return nil end
  for name, fn in pairs(value) do
    if type(name) ~= "string" or not option.check.callable(fn) then
      return nil
    end
  end
  return value
end

-- As in pawl.h: PAWL_DURABLE_...
local DURABLE = { every = 0, grouped = 1, save = 2 }
local trust_shape = {
  level = option.choice("level", "trusted", "limited", "isolated"),
  author = { "string" },
  codes = { args.names, wants = "a code or a list of them" },
  takes = { args.names, wants = "a code or a list of them" },
  may = { args.object, wants = "a table with names" },
  memory = { "positive" }, instructions = { "positive" },
  time = { "duration", "time_us" }, wait = { "duration", "wait_us" },
  effects = { "integer" },
  per_minute = { args.object, wants = "a table with names" },
  per_instance = { args.object, wants = "a table with names" },
  helper = { "string" },
}

--- How far workflows are trusted: a word, or a table of what they may. As text
--- it is what the C library takes.
local function trust(value)
  if type(value) == "string" then return value end
  if type(value) ~= "table" then return nil end
  return core.json_encode(args.read("trust", trust_shape, value))
end
local TRUST = { trust, wants = '"trusted", "limited", "isolated", or a table' }

local open_shape = {
  trust = TRUST,
  clock = { "callable" }, passed = { "callable" }, log = { "callable" },
  trace = { "callable" }, commit = { "callable" },
  host = { host, wants = "a table of functions by their names" },
  group = { "string" }, tenant = { "string" }, prefixes = { "prefixes" },
  schema = { "string" },
  lease = { "duration", "lease_us" },
  heartbeat = { "duration", "heartbeat_us" },
  busy = { "duration", "busy_us" }, flush = { "duration", "flush_us" },
  durability = option.choice("durability", "every", "grouped", "save"),
  checkpoint_bytes = { "positive" }, memory_bytes = { "positive" },
  max_bytes = { "positive" }, batch = { "count" },
  concurrency = { "count" }, recoveries = { "count" }, shards = { "shards" },
  retain = { retain, wants = 'a duration like "30d", or a table of them' },
  pooler = { "boolean" }, create = { "boolean" }, seed = { "positive" },
  heartbeat_thread = { "boolean" }, sync_thread = { "boolean" },
  stored_code = option.choice("stored_code", "any", "own"),
  unknown = option.choice("unknown", "defer", "fail"),
  state = option.choice("state", "host", "private"),
  copy = { "string" },
}

---@param url? string
---@param options? pawl.OpenOptions
---@return pawl.Engine? engine
---@return pawl.Error? err
function engine.open(url, options)
  if not core.open then
    error("pawl.open is not there inside a workflow file: handlers reach the "
      .. "engine through ctx (ctx.emit, ctx.start, ctx.db)", 2)
  end
  args.url("open", url)
  local config = read("pawl.open", open_shape, options)
  config.stored_code_own = config.stored_code == "own"
  config.unknown_fail = config.unknown == "fail"
  config.durability = DURABLE[config.durability]
  config.private = config.state == "private"
  if config.busy_us == 0 then config.busy_us = -1 end -- never; C's 0 is unsaid
  config.create = config.create == false and -1 or 0
  config.passed = config.passed or passed_of(config.clock)
  local opened, err = core.open(url, config)
  if not opened then return nil, err end
  if is_virtual(config.clock) then virtual[opened] = config.clock end
  core.set_nouns(opened, nouns_of(opened))
  return opened
end

---- migrate ----------------------------------------------------------------

local migrate_shape = { shards = { "shards" }, pooler = { "boolean" },
                        schema = { "string" } }

local function migrate_by(name, url, options)
  if not core[name] then
    error(("pawl.%s is not there inside a workflow file"):format(name), 3)
  end
  args.url(name, url)
  local given = read("pawl." .. name, migrate_shape, options)
  local report, err = core[name](url, given.shards, given.pooler,
    given.schema)
  if report and given.shards and report.shards ~= given.shards then
    return nil, core.error {
      code = "invalid",
      message = ("the store has %d shard%s, not %d"):format(report.shards,
        report.shards == 1 and "" or "s", given.shards),
      hint = "the number is fixed when a store is made; for another one make "
        .. "another store",
    }
  end
  return report, err
end

--- Brings a store's schema up to this program's version. The number of shards
--- is settled when the store is made: another one is an error.
---@param url? string
---@param options? { shards?: integer, pooler?: boolean, schema?: string }
---@return { from: integer, to: integer, shards: integer }? report
---@return pawl.Error? err
function engine.migrate(url, options)
  return migrate_by("migrate", url, options)
end

--- What `migrate` would do, for somebody else to do by hand: changes nothing.
---@param url? string
---@param options? { shards?: integer, pooler?: boolean, schema?: string }
---@return pawl.Migrations? found
---@return pawl.Error? err
function engine.migrations(url, options)
  return migrate_by("migrations", url, options)
end

local doctor_shape = { pooler = { "boolean" }, schema = { "string" } }

--- What is known to be wrong with the libraries that run, and with a store's
--- server.
---@param url? string
---@param options? { pooler?: boolean, schema?: string }
---@return pawl.Doctor? report
---@return pawl.Error? err
function engine.doctor(url, options)
  if not core.doctor then
    error("pawl.doctor is not there inside a workflow file", 2)
  end
  args.url("doctor", url)
  local given = read("pawl.doctor", doctor_shape, options)
  return core.doctor(url, given.pooler, given.schema)
end

---- start -------------------------------------------------------------------

local start_shape = args.of "start"
local item_shape = args.of("item", nil, { version = false })

local function attributes_json(where, attributes)
  local out = {}
  for name, value in pairs(attributes) do
    if type(name) ~= "string" then
      error(("%s: attribute names are strings, got %s"):format(where,
        type(name)), 3)
    end
    local entry, why = attribute.to_json(value)
    if not entry then
      error(("%s: attribute '%s': %s"):format(where, name, why), 3)
    end
    out[name] = entry
  end
  return out
end

---@param code string
---@param input? any
---@param options? pawl.StartOptions
---@return string? id
---@return boolean|pawl.Error created
function methods:start(code, input, options)
  if type(code) ~= "string" then
    error(("bad argument #1 to 'start' (string expected, got %s)"):format(
      type(code)), 2)
  end
  local given = read("start", start_shape, options)
  if given.attributes then
    given.attributes = attributes_json("start", given.attributes)
  end
  if given.delay_us and given.at_us then
    error("start: options 'delay' and 'at' exclude each other", 2)
  end
  return core.start(self, code, input, next(given) and given or nil)
end

--- Options of a start as the core takes them. Raises at the caller's caller's
--- caller.
local function start_options(where, shape, options)
  local given, why = option.read(where, shape, options)
  if not given then error(why, 4) end
  if given.delay_us and given.at_us then
    error(where .. ": options 'delay' and 'at' exclude each other", 4)
  end
  return given
end

--- Most items have an input and nothing else, and are taken as they are.
local function is_plain(item)
  local key = type(item) == "table" and next(item)
  return key == "input" and next(item, key) == nil
end

local function start_item(i, item, shared)
  if is_plain(item) then return item end
  local where = "start_many: item " .. i
  if type(item) ~= "table" then
    error(("%s: must be a table, got %s"):format(where, type(item)), 3)
  end
  local given = start_options(where, item_shape, item)
  if given.delay_us and shared.at_us
    or given.at_us and shared.delay_us then
    error(where .. ": options 'delay' and 'at' exclude each other", 3)
  end
  if given.attributes then
    given.attributes = attributes_json(where, given.attributes)
  end
  return given
end

--- One item in place of a list of them would start nothing.
local function check_list(items)
  local n = #items
  for key in pairs(items) do
    if math.type(key) ~= "integer" or key < 1 or key > n then
      error(("bad argument #2 to 'start_many' (a list of items expected, got "
        .. "a table with the key '%s')"):format(tostring(key)), 3)
    end
  end
end

--- Stores many instances of one workflow, in batches.
---@param code string
---@param items pawl.StartItem[]
---@param options? pawl.StartOptions  of all of them
---@return string[]? ids
---@return boolean[]|pawl.Error created
function methods:start_many(code, items, options)
  if type(code) ~= "string" then
    error(("bad argument #1 to 'start_many' (string expected, got %s)")
      :format(type(code)), 2)
  elseif type(items) ~= "table" then
    error(("bad argument #2 to 'start_many' (table expected, got %s)")
      :format(type(items)), 2)
  end
  local shared = read("start_many", start_shape, options)
  if shared.delay_us and shared.at_us then
    error("start_many: options 'delay' and 'at' exclude each other", 2)
  end
  if shared.attributes then
    shared.attributes = attributes_json("start_many", shared.attributes)
  end
  check_list(items)
  local list = {}
  for i = 1, #items do list[i] = start_item(i, items[i], shared) end
  local answer, err = core.start_many(self, code, core.array(list),
    next(shared) and shared or nil)
  if not answer then return nil, err end
  return answer.ids, answer.created
end

---- signal ------------------------------------------------------------------

--- Keys are text; numbers count as they print exactly, as they do where a wait
--- finds its key in a variable.
local function event_key(value)
  if type(value) == "number" or type(value) == "boolean" then
    return (core.json_encode(value))
  end
  return option.check.word(value)
end

local signal_shape = args.of("signal", nil, { key = { event_key,
  wants = "a string of 1 to 255 bytes, a number or a boolean" } })

--- Sends an event: to all that wait for it, to one instance, or to one that it
--- starts.
---@param signal pawl.Signal
---@return integer? reached
---@return pawl.SignalInfo|pawl.Error info
function methods:signal(signal)
  local given = read("signal", signal_shape, signal)
  if not given.name then error("signal: the event needs a 'name'", 2) end
  local start = given.start
  if start then
    local rest = {}
    for name, value in pairs(start) do
      if name ~= "workflow" and name ~= "input" then rest[name] = value end
    end
    local options = read("signal: start", start_shape, rest)
    if type(start.workflow) ~= "string" then
      error("signal: 'start' needs a 'workflow'", 2)
    end
    if options.attributes then
      options.attributes = attributes_json("signal: start", options.attributes)
    end
    given.start = { workflow = start.workflow, input = start.input,
      options = options }
  end
  return core.signal(self, given)
end

---- list --------------------------------------------------------------------

--- An instance's error reads as one line, as those do that are raised.
local Told = { __tostring = words.error }

--- One instance; its attributes are as they went in.
---@param id string
---@param how? "table"|"json"
---@return pawl.Instance? instance
---@return pawl.Error? err
function methods:get(id, how)
  args.text("get", id)
  local instance, err = core.get(self, id, how)
  if not instance or how == "json" then return instance, err end
  for name, entry in pairs(instance.attributes) do
    instance.attributes[name] = attribute.from_json(entry)
  end
  if type(instance.error) == "table" then setmetatable(instance.error, Told) end
  return instance
end

local history_shape = args.of "history"

--- What is recorded of an instance, oldest first: all, or what fits.
---@param id string
---@param query? pawl.HistoryQuery
---@param how? "table"|"json"
---@return table[]? entries
---@return pawl.Error? err
function methods:history(id, query, how)
  args.text("history", id)
  return core.history(self, id, args.query("history", history_shape, query),
    how)
end

local variable_shape = args.of "history"
variable_shape.variable, variable_shape.attribute = nil, nil

--- What a variable was, when, and who set it: the rows that changed it.
---@param id string
---@param name string
---@param query? pawl.HistoryQuery  neither variable nor attribute
---@param how? "table"|"json"
---@return table[]? entries
---@return pawl.Error? err
function methods:variable_history(id, name, query, how)
  args.text("variable_history", id)
  args.text("variable_history", name, 2)
  local asked = args.read("variable_history", variable_shape, query)
  asked.variable = name
  return core.history(self, id, asked, how)
end

local audit_shape = args.of "audit"

--- Who did what, when, over all instances; newest first.
---@param query? pawl.AuditQuery
---@param how? "table"|"json"
---@return pawl.AuditEntry[]? entries
---@return pawl.Error? err
function methods:audit(query, how)
  return core.audit(self, args.query("audit", audit_shape, query), how)
end

local export_shape, import_shape = args.of "export", args.of "import"

--- An instance with all its rows, as lines of JSON for another store.
---@param id string
---@param options? pawl.ExportOptions
---@return string? lines
---@return pawl.Error? err
function methods:export(id, options)
  args.text("export", id)
  return core.export(self, id, args.query("export", export_shape, options))
end

--- Stores what export gave, as copies unless they are released.
---@param lines string
---@param options? pawl.ImportOptions
---@return { imported: string[], there: string[] }? report
---@return pawl.Error? err
function methods:import(lines, options)
  args.text("import", lines)
  return core.import(self, lines, args.query("import", import_shape, options))
end

local list_shape = args.of "list"

--- What an attribute is compared with, as C takes it: a list begins with how.
local function condition_json(where, name, value)
  if type(value) == "table" and getmetatable(value) == nil then
    local list = core.array {}
    for i, one in ipairs(value) do
      list[i] = condition_json(where, name, one)
    end
    return list
  end
  local entry, why = attribute.to_json(value)
  if not entry then
    error(("%s: attribute '%s': %s"):format(where, name, why), 0)
  end
  return type(value) == "table" and entry or value
end

--- A query as C takes it; a wrong one raises at the caller's caller.
local function instance_query(where, query)
  local given, why = option.read(where, list_shape, query)
  if not given then error(why, 3) end
  local conditions = given.attributes and {}
  for name, value in pairs(given.attributes or {}) do
    local ok, json = pcall(condition_json, where, name, value)
    if not ok then error(json, 3) end
    conditions[name] = json
  end
  given.attributes = conditions
  return given
end

---@param query? pawl.Query
---@return pawl.ListedInstance[]? instances
---@return pawl.Error? err
function methods:list(query, how)
  return core.list(self, instance_query("list", query), how)
end

--- How many a list would have, up to its limit, which is 10,000 here; with
--- `group_by` how many of each.
---@param query? pawl.Query
---@return integer|pawl.Groups? count
---@return boolean|pawl.Error more  there are more
function methods:tally(query)
  local given = instance_query("tally", query)
  if not given.group_by then return core.tally(self, given) end
  local groups, err = core.tally_groups(self, given)
  if not groups then return nil, err end
  return groups, groups.more
end

--- The children of one instance, newest first.
---@param id string
---@param query? pawl.Query  further filters
---@return pawl.ListedInstance[]? instances
---@return pawl.Error? err
function methods:children(id, query, how)
  if type(id) ~= "string" then
    error(("bad argument #1 to 'children' (string expected, got %s)"):format(
      type(id)), 2)
  end
  local given = instance_query("children", query)
  given.parent = id
  return core.list(self, given, how)
end

---- where it stands ---------------------------------------------------------

local tokens_shape = { all = { "boolean" } }

---@param id string
---@param options? { all?: boolean }
---@return table[]? tokens
---@return pawl.Error? err
function methods:tokens(id, options, how)
  local given = read("tokens", tokens_shape, options)
  return core.tokens(self, id, given.all, how)
end

--- Null stands for "none", as in the engine's other records.
local function without_nulls(value)
  if type(value) ~= "table" then return value end
  for key, inner in pairs(value) do
    if inner == core.null then
      value[key] = nil
    else
      without_nulls(inner)
    end
  end
  return value
end

---@param id string
---@return pawl.Explanation? explanation
---@return pawl.Error? err
function methods:explain(id, how)
  local text, err = core.explain(self, id)
  if not text then return nil, err end
  local data = without_nulls(core.json_decode(text))
  data.sentences = core.array(explain().sentences(data))
  if how ~= "json" then return data end
  return ('%s,"sentences":%s}'):format(text:sub(1, -2),
    core.json_encode(data.sentences))
end

changes.add(methods)

---- many at once ------------------------------------------------------------

--- What a method that changes one takes, and what only many have.
local function bulk_shape(verb)
  for _, kind in ipairs(changes.kinds) do
    if kind == verb then
      local shape = changes.shape(kind)
      shape.limit, shape.progress = { "count" }, { "callable" }
      return shape
    end
  end
  error(("bulk: there is no change '%s' (%s)"):format(verb,
    nearest.hint(verb, changes.kinds)), 3)
end

--- Changes all instances that a list would have, each by itself.
---@param verb string  "cancel", "retry": a method that changes one
---@param query pawl.Query  with a filter at least
---@param options? pawl.BulkOptions  and those of the method
---@return pawl.BulkReport? report
---@return pawl.Error? err
function methods:bulk(verb, query, options)
  args.text("bulk", verb)
  local change = args.read("bulk: " .. verb, bulk_shape(verb), options)
  local limit, progress = change.limit, change.progress
  change.limit, change.progress, change.kind = nil, nil, verb
  local asked = instance_query("bulk", query)
  asked.limit = limit or asked.limit
  return core.bulk(self, asked, change, progress)
end

---- a transaction of one's own ----------------------------------------------

--- A typed value goes as its text, as in ctx.db.
local function param_of(i, value)
  if type(value) ~= "table" then return value end
  if type(value.value) == "string" and type(value.type) == "string" then
    return value.value
  end
  error(("bad argument #%d to 'query' (a table cannot be a parameter: give "
    .. "its parts, or its text as JSON)"):format(i + 1), 3)
end

local function params_of(...)
  local params = core.array {}
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    params[i] = value == nil and core.null or param_of(i, value)
  end
  return params
end

--- What fn is given: the engine's methods, and `query`.
local function transaction_of(engine_of)
  local state = { open = true }
  local function check()
    if not state.open then error("the transaction has ended", 3) end
  end
  local own = {}
  function own.query(_, sql, ...)
    check()
    return core.transaction_query(engine_of, sql, params_of(...))
  end
  return setmetatable(own, { __index = function(_, name)
    check()
    local found = engine_of[name]
    if type(found) ~= "function" then return found end
    return function(_, ...) check() return found(engine_of, ...) end
  end }), state
end

--- pcall, of a function that cannot yield: what other coroutines do meanwhile
--- would be in its transaction, and one that is never resumed would leave that
--- open. Lua's own gsub calls it where nothing can.
local function pcall_whole(fn, arg)
  local results
  string.gsub("x", "x", function() results = table.pack(pcall(fn, arg)) end)
  return results
end

--- Calls fn, all that it does with the engine being one transaction: committed
--- when it returns, rolled back when it raises; it cannot yield. Inside another
--- one it is a savepoint.
---@param fn fun(tx: pawl.Transaction): ...
---@return any ...  what fn returns, or true
function methods:transaction(fn)
  if type(fn) ~= "function" then
    error(("bad argument #1 to 'transaction' (function expected, got %s)")
      :format(fn == nil and "no value" or type(fn)), 2)
  end
  local ok, err = core.transaction_begin(self)
  if not ok then return nil, err end
  local tx, state = transaction_of(self)
  local results = pcall_whole(fn, tx)
  state.open = false
  if not results[1] then
    core.transaction_abort(self)
    error(results[2], 0)
  end
  ok, err = core.transaction_commit(self)
  if not ok then return nil, err end
  if results.n == 1 then return true end
  return table.unpack(results, 2, results.n)
end

---- how the store stands ---------------------------------------------------

local stats_shape = args.of "stats"
local problems_shape = args.of "problems"

---@param query? pawl.StatsQuery
---@param how? "json"
function methods:stats(query, how)
  return core.stats(self, args.query("stats", stats_shape, query), how)
end

---@param query? pawl.ProblemQuery
---@param how? "json"
function methods:problems(query, how)
  return core.problems(self, args.query("problems", problems_shape, query),
    how)
end

---- health ------------------------------------------------------------------

local health_shape = { repair = { "boolean" } }

function methods:health(options, how)
  local given = read("health", health_shape, options)
  return core.health(self, given.repair, how)
end

---- prune -------------------------------------------------------------------

function methods:prune(options, how)
  return core.prune(self, args.query("prune", prune_shape, options), how)
end

---- copies ------------------------------------------------------------------

local backup_shape = args.of "backup"

function methods:backup(path, options)
  return core.backup(self, path, read("backup", backup_shape, options))
end

local load_shape = { trust = { function(value)
  if type(value) == "string" then value = { level = value } end
  return type(value) == "table" and args.read("trust", trust_shape, value)
end, wants = TRUST.wants } }

---@param flow string|pawl.Workflow  a file, or a workflow built here
---@param options? { trust?: string|pawl.Trust }
function methods:load(flow, options)
  for key in pairs(type(options) == "table" and options or {}) do
    if key ~= "trust" then
      error("load takes `trust` alone: engine.workflows:hotfix replaces a "
        .. "version that is in use", 2)
    end
  end
  local given = read("load", load_shape, options)
  if given.trust and given.trust.level ~= "trusted"
    and type(flow) ~= "string" then
    error("load: a workflow object runs in this program's own state, and "
      .. "cannot be limited: load its file", 2)
  end
  return core.load(self, flow, given.trust)
end

---- deploy ------------------------------------------------------------------

local deploy_shape = args.of("deploy", nil, { files = false })

local function list_of_files(files)
  if type(files) == "string" then files = { files } end
  local ok = type(files) == "table" and #files > 0
  for _, path in ipairs(ok and files or {}) do
    ok = ok and type(path) == "string"
  end
  if not ok then
    error("bad argument #1 to 'deploy' (a file or a list of files expected)",
      3)
  end
  return core.array(table.move(files, 1, #files, 1, {}))
end

--- The first of the files that is wrong, for all.
local function not_deployed(files)
  local first, n = nil, 0
  for _, one in ipairs(files) do
    if one.error then first, n = first or one, n + 1 end
  end
  return core.error { code = first.error.code,
    hint = first.error.hint, message = ("nothing is deployed: %s: %s%s")
      :format(first.file, first.error.message,
      n > 1 and (" (and %d more)"):format(n - 1) or "") }
end

--- Registers files without running them here: all of them, or none.
---@param files string|string[]
---@param options? { by?: string }
---@return pawl.DeployedFile[]? deployed
---@return pawl.Error? err
---@return pawl.DeployedFile[]? wrong  with what is wrong of each
function methods:deploy(files, options)
  local list = list_of_files(files)
  local given = read("deploy", deploy_shape, options)
  given.files = list
  local report, err = core.deploy(self, given)
  if not report then return nil, err end
  if report.stored then return report.files end
  return nil, not_deployed(report.files), report.files
end

---- result ------------------------------------------------------------------

local result_shape = { timeout = { "duration", "timeout_us" } }

--- What is stored of an error, as errors of this module look.
local function as_error(stored)
  return setmetatable(stored, getmetatable(core.error { code = "internal",
    message = "" }))
end

--- Why it gave nothing: the error that it failed with, as it is stored.
local function why_not(outcome)
  local err = outcome.error or { code = "internal",
    message = ("instance %s does not say why"):format(outcome.id) }
  if outcome.status == "cancelled" then
    local said = outcome.cancellation or {}
    err = { code = "cancelled", message = ("instance %s was cancelled%s")
      :format(outcome.id, words.who_why(said.by, said.reason)) }
  end
  err.instance = outcome.id
  return as_error(err)
end

--- Waits until the instance has ended, whoever runs it: this engine runs
--- nothing meanwhile (`run` with its id does). Its output, pawl.null for none;
--- nil and the error that it failed with; with code "timeout" it goes on.
---@param id string
---@param options? { timeout?: number|string }  none: without an end
---@return any? output
---@return pawl.Error? err
---@return pawl.Outcome? outcome  once it has ended
function methods:result(id, options)
  local given = read("result", result_shape, options)
  local outcome, err = core.result(self, id, given.timeout_us or -1)
  if not outcome then return nil, err end
  if outcome.status ~= "completed" then
    return nil, why_not(outcome), outcome
  end
  local output = outcome.output
  return output == nil and core.null or output, nil, outcome
end

---- asking ------------------------------------------------------------------

local ask_shape = args.of("ask", nil, { name = false, data = false })

--- Sends an instance an event, and waits for what it answers; what it was asked
--- before with the same `event` is not sent again. pawl.null: it answered with
--- nothing. nil and the error by which it was refused; with code "timeout" the
--- event is stored, and the hint has its id.
---@param id string
---@param name string  of the event
---@param data? any
---@param options? { timeout?: number|string, event?: string, by?: string }
---@return any? answer
---@return pawl.Error? err
function methods:ask(id, name, data, options)
  args.text("ask", id)
  local given = read("ask", ask_shape, options)
  given.name, given.data = name, data
  local told, err = core.ask(self, id, given)
  if not told then return nil, err end
  if told.error then
    told.error.instance, told.error.event = told.id, told.event
    return nil, as_error(told.error)
  end
  return told.value == nil and core.null or told.value
end

local complete_shape = args.of("complete", nil, { data = false })

--- Completes what ctx.callback gave the token for: its event goes to its
--- instance, once. true: it does now; false: that was done before.
---@param token string
---@param data? any
---@param options? { by?: string }
---@return boolean? done
---@return pawl.Error? err
function methods:complete(token, data, options)
  args.text("complete", token)
  local given = read("complete", complete_shape, options)
  given.data = data
  local told, err = core.complete(self, token, given)
  if not told then return nil, err end
  return not told.repeated
end

--- What handlers show of an instance by ctx.publish: all by their names, or the
--- value of one, nil where nothing is shown by that name.
---@param id string
---@param name? string
---@return any? values
---@return pawl.Error? err
function methods:published(id, name)
  args.text("published", id)
  local shown, err = core.published(self, id)
  if not shown then return nil, err end
  if name then return shown[name] and shown[name].value end
  local values = {}
  for key, one in pairs(shown) do values[key] = one.value end
  return values
end

---- run ---------------------------------------------------------------------

local run_shape = {
  id = { "string" }, wait = { "boolean" },
  timeout = { "duration", "timeout_us" },
}

local function timed_out(id)
  return nil, core.error {
    code = "timeout",
    message = id and ("instance %s has not ended in time"):format(id)
      or "not everything has ended in time",
    hint = "what was begun is stored: run again to go on",
  }
end

--- When to give up: by the machine's time, and by that of a virtual clock.
local function limit(self, us)
  if not us then return nil end
  local clock = virtual[self]
  return { mono = core.mono() + us / 1e6, us = clock and clock.us + us }
end

local function is_late(self, deadline)
  if not deadline then return false end
  local clock = virtual[self]
  return core.mono() >= deadline.mono or clock and clock.us >= deadline.us
end

--- Waits until `due`, at most a second, so that what other processes do is
--- seen; a virtual clock is moved there, unless handlers wait for something
--- that takes its real time.
local function pause(self, due, deadline, stats)
  local clock = virtual[self]
  if clock and stats.outside == 0 then
    local us = math.floor(due * 1e6 + 0.5)
    if deadline then us = math.min(us, deadline.us) end
    clock.us = math.max(clock.us, us)
    return true
  end
  local seconds = math.min(due - self:now(), 1)
  if deadline then seconds = math.min(seconds, deadline.mono - core.mono()) end
  return self:wait(math.max(seconds, 0.001))
end

local function run_one(self, id, wait, deadline)
  while true do
    local status, stats = self:tick_instance(id, 1)
    if not status then return nil, stats end
    if status == "done" or status ~= "now" and not wait then
      return self:get(id)
    end
    if is_late(self, deadline) then return timed_out(id) end
    if status ~= "now" then
      local soon = self:now() + 0.05 -- for what another executor holds
      local ok, err = pause(self, status == "later" and stats.next_due
        or soon, deadline, stats)
      if not ok then return nil, err end
    end
  end
end

local function run_all(self, wait, deadline)
  local totals = { claimed = 0, steps = 0, commits = 0, committed = 0,
    lost = 0, ended = 0 }
  while true do
    local stats, err = self:tick(1)
    if not stats then return nil, err end
    for name, sum in pairs(totals) do totals[name] = sum + stats[name] end
    local due, now = stats.next_due, self:now()
    -- due, but not for this executor to run, nor because others hold the file
    local stuck = stats.claimed + stats.committed == 0
      and stats.spent.wait == 0
    if not due or not wait and (due > now or stuck) then return totals end
    -- time does not help it, and nobody else runs while this clock stands
    if stuck and due <= now and virtual[self] and stats.outside == 0 then
      return totals
    end
    if is_late(self, deadline) then return timed_out() end
    if due > now or stuck then
      local ok
      ok, err = pause(self, math.max(due, now + 0.05), deadline, stats)
      if not ok then return nil, err end
    end
  end
end

--- Runs until nothing is due; with `wait`, until everything has ended. A clock
--- of pawl.testing is moved as far as that takes, at most by `timeout`.
---@param options? pawl.RunOptions
---@return table? totals  or the instance, when `id` was given
---@return pawl.Error? err
function methods:run(options)
  local given = read("run", run_shape, options)
  local deadline = limit(self, given.timeout_us)
  if given.id then
    return run_one(self, given.id, given.wait, deadline)
  end
  return run_all(self, given.wait, deadline)
end

return engine
