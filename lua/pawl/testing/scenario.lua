--- What those share that run a scenario again and again, each time on an empty
--- store: crash_everywhere, interleave, simulate.
local core = require "pawl.core"
local caller = require "pawl.testing.caller"
local option = require "pawl.option"

local scenario = {}

--- What a program does, or what is asked of it; `given` is what the first part
--- of the scenario gave.
---@alias pawl.ScenarioPart fun(engine: table, clock: table, given: any): any

--- The lease of engines that die: a short one, as what follows is so late.
scenario.LEASE_US = 1000000

---- dying --------------------------------------------------------------------

--- Runs an engine that may die meanwhile, and when it does another one in its
--- place, once its lease has ended. `armed` of its watcher says that it may
--- die, `dead` that it has.
---@param watcher table
---@param state table  see pawl.testing.engine
function scenario.run(watcher, state, options)
  while true do
    watcher.armed = true
    local results = table.pack(pcall(state.engine.run, state.engine, options))
    watcher.armed = false
    if not watcher.dead then
      if not results[1] then error(results[2], 0) end
      return table.unpack(results, 2, results.n)
    end
    watcher.dead, watcher.handler = nil, nil
    require("pawl.testing.engine").revive(state)
    state.clock.us = state.clock.us + 2 * scenario.LEASE_US
    state.late_us = (state.late_us or 0) + 2 * scenario.LEASE_US
  end
end

---- calls, as a story tells them ---------------------------------------------

--- Calls that change something.
scenario.CHANGES = { start = true, start_many = true, signal = true,
  complete = true, cancel = true, kill = true, suspend = true, resume = true,
  retry = true, restart = true, move = true, edit = true, wake = true,
  transaction = true, ["tasks:claim"] = true, ["tasks:unclaim"] = true,
  ["tasks:complete"] = true, ["tasks:fail"] = true }

--- Refusals of what comes too late, or is not taken: no fault of anybody's.
scenario.LATE = { already_finished = true, taken = true, notfound = true,
  invalid = true, conflict = true }

local UUID <const> = "^%x+%-%x+%-%x+%-%x+%-%x+$"

--- What a call is about, where that is told in a word.
function scenario.shown(value)
  if type(value) == "table" then value = value.name end
  if type(value) ~= "string" or value:find(UUID) then return "" end
  return (" %q"):format(value)
end

---- stores -------------------------------------------------------------------

local function remove(path)
  for _, suffix in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
    os.remove(path .. suffix)
  end
end

--- Where files are kept in memory, if there is such a place: nobody waits for a
--- disk then.
local function new_path()
  local path = os.tmpname()
  local quick = "/dev/shm/pawl" .. path:gsub("[^%w]", "_")
  local file = io.open(quick, "w")
  if not file then return path end
  file:close()
  os.remove(path)
  return quick
end

-- An empty store as a file has it, once there was one: to make the tables takes
-- longer than most scenarios.
local empty

--- Do these options say nothing of which tables there are?
---@param options pawl.OpenOptions
function scenario.is_plain(options)
  return options.shards == nil and options.schema == nil
    and options.create == nil and options.copy == nil
end

local function read_all(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

--- Puts an empty store there.
local function make(path)
  if not empty then
    assert(require("pawl").open(path)):close()
    -- what a journal would still have is not in the file
    empty = not read_all(path .. "-wal") and read_all(path) or nil
    return
  end
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(empty))
end

local made, prefix = 0, nil

--- A name for a schema that nobody has.
local function new_schema()
  if not prefix then
    local chance <close> = io.open("/dev/urandom", "rb")
    local bytes = chance and chance:read(6) or tostring(os.time())
    prefix = "pawl_spec_" .. bytes:gsub(".", function(byte)
      return ("%02x"):format(byte:byte())
    end) .. "_"
  end
  made = made + 1
  return prefix .. made
end

-- By a function of the session's, as an engine lets no statement touch its own
-- tables by mistake; this schema was made here, for one run.
local DROP <const> = { "create function pg_temp.pawl_drop() returns void "
  .. "language sql as 'drop schema %s cascade'",
  "select pg_temp.pawl_drop()", "drop function pg_temp.pawl_drop()" }

--- Drops a schema that was made here, with all that is in it; its engines are
--- closed. nil and why: it is there still.
local function drop_schema(url, options, schema)
  local engine, err = require("pawl").open(url, { schema = schema,
    create = false, pooler = options.pooler })
  if not engine then return err.code == "notfound" or nil, err end
  local _ <close> = engine
  return engine:transaction(function(tx)
    for _, sql in ipairs(DROP) do tx:query(sql:format(schema)) end
    return true
  end)
end

--- Takes it away as it is closed. What has failed before is told, and not that
--- this has, too.
local function closes_schema(options)
  return setmetatable({}, { __close = function(_, failure)
    local ok, err = drop_schema(options.store, options, options.schema)
    if not ok and failure == nil then
      error(("the schema %s of a run could not be dropped: %s"):format(
        options.schema, tostring(err)), 0)
    end
  end })
end

--- Options of an engine on an empty store: the caller's, who may give further
--- options with its URL, or a file or a schema, which goes as the second is
--- closed, behind its engines.
---@param tool table  its options, as read
---@param own table   options of its own
---@return table options
---@return table? closes
function scenario.fresh(tool, own)
  local options = {}
  for name, value in pairs(tool.engine) do options[name] = value end
  for name, value in pairs(own) do options[name] = value end
  if type(tool.store) == "string" and tool.store ~= "memory" then
    options.store, options.schema = tool.store, new_schema()
    return options, closes_schema(options)
  elseif option.check.callable(tool.store) then
    local more
    options.store, more = tool.store()
    for name, value in pairs(more or {}) do options[name] = value end
    return options, nil
  end
  local path = new_path()
  options.store = path
  if scenario.is_plain(options) then make(path) end
  return options, setmetatable({}, { __close = function() remove(path) end })
end

---- what came of it ----------------------------------------------------------

local function without(names, variables)
  for _, name in ipairs(names) do variables[name] = nil end
  return variables
end

local function emitted(engine, id)
  local out = core.array {}
  for _, row in ipairs(assert(engine.outbox:list { instance = id,
    limit = 10000 })) do
    out[#out + 1] = { type = row.type, payload = row.payload }
  end
  return out
end

--- An instance as text, without what two runs need not have in common: ids,
--- times.
local function outcome_of(engine, id, ignore)
  local one = assert(engine:get(id))
  return { workflow = one.workflow, status = one.status, output = one.output,
    variables = without(ignore, one.variables), emitted = emitted(engine, id),
    error = one.error and one.error.code, node = one.node }
end

--- What all instances have come to, as sorted texts; ids are told as the
--- workflow of the instance that they are of.
---@param ignore string[]  variables that are left out
---@return string[]
function scenario.outcomes(engine, ignore)
  local list, codes = {}, {}
  for _, one in ipairs(assert(engine:list { limit = 10000 })) do
    codes[one.id] = one.workflow
    list[#list + 1] = one.id
  end
  for i, id in ipairs(list) do
    list[i] = assert(core.json_encode(outcome_of(engine, id, ignore)))
      :gsub("%x+%-%x+%-%x+%-%x+%-%x+", codes)
  end
  table.sort(list)
  return list
end

--- The first text of `a` that `b` has not.
---@param a string[]
---@param b string[]
---@return string?
function scenario.first_missing(a, b)
  local left = {}
  for _, text in ipairs(b) do left[text] = (left[text] or 0) + 1 end
  for _, text in ipairs(a) do
    if (left[text] or 0) == 0 then return text end
    left[text] = left[text] - 1
  end
end

---- options ------------------------------------------------------------------

local function names(value)
  if type(value) ~= "table" then return nil end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
  end
  return value
end

local function store(value)
  if value == "memory" or option.check.callable(value)
    or type(value) == "string" and value:find "^postgres" then
    return value
  end
end

--- A rule for where a scenario is run.
scenario.STORE = { store, wants = "a URL of PostgreSQL, or a function that "
  .. "gives an empty store" }

--- A rule for a list of variables' names.
scenario.NAMES = { names, wants = "a list of variables' names" }

--- What pawl.open takes.
scenario.OPENS = {}
for name in ("seed host log trace group prefixes lease heartbeat tenant "
  .. "max_bytes checkpoint_bytes memory_bytes batch concurrency recoveries "
  .. "retain durability flush busy shards pooler schema heartbeat_thread "
  .. "sync_thread create stored_code unknown state trust clock passed commit "
  .. "copy")
  :gmatch "[%w_]+" do
  table.insert(scenario.OPENS, name)
end

-- What is for the engines of a scenario; the store, and what it begins with,
-- clock and commit are the tool's.
local ENGINES <const> = { load = { function(value) return value end } }
for _, name in ipairs(scenario.OPENS) do ENGINES[name] = ENGINES.load end
ENGINES.clock, ENGINES.passed = nil, nil
ENGINES.commit, ENGINES.copy = nil, nil

--- What is for the tool, by its shape, and what is for its engines, in
--- `engine`.
---@param who string
---@param shape table  see pawl.option
---@param options? table
---@return table
function scenario.split(who, shape, options)
  local known = {}
  for name, rule in pairs(ENGINES) do known[name] = rule end
  for name, rule in pairs(shape) do known[name] = rule end
  local read = { engine = {} }
  for name, value in pairs(caller.read(who, known, options)) do
    local of = ENGINES[name] and not shape[name] and read.engine or read
    of[name] = value
  end
  return read
end

return scenario
