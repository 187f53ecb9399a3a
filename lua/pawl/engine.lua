--- pawl.open and the engine's methods that take options.
--
-- The C part (pawl.core) takes plain values: microseconds, JSON-ready tables.
-- What people write - "2h", a list of prefixes, pawl.decimal "9.90" - is
-- checked and turned into those here. A wrong option is the caller's bug and
-- raises, naming the option; what the store says comes back as nil, err.
local attribute = require "pawl.attribute"
local core = require "pawl.core"
local duration = require "pawl.duration"
local nearest = require "pawl.nearest"

local engine = {}
local methods = core.engine or {}

---- checking options --------------------------------------------------------

local check = {}

function check.string(value)
  if type(value) == "string" then return value end
end

function check.boolean(value)
  if type(value) == "boolean" then return value end
end

function check.integer(value)
  return type(value) == "number" and math.tointeger(value) or nil
end

function check.positive(value)
  value = check.integer(value)
  if value and value > 0 then return value end
end

function check.count(value)
  value = check.positive(value)
  if value and value <= 0x7fffffff then return value end
end

function check.shards(value)
  value = check.positive(value)
  if value and value <= 0x7fff then return value end
end

function check.table(value)
  if type(value) == "table" then return value end
end

function check.callable(value)
  local mt = getmetatable(value)
  if type(value) == "function" or type(mt) == "table" and mt.__call then
    return value
  end
end

function check.duration(value) return (duration.parse(value)) end

--- Seconds since 1970 to microseconds.
function check.instant(value)
  if type(value) == "number" and value >= 0 and value < 9e12 then
    if math.type(value) == "integer" then return value * 1000000 end
    return math.floor(value * 1e6 + 0.5)
  end
end

function check.prefixes(value)
  if type(value) == "string" then return value end
  if type(value) ~= "table" then return nil end
  for _, prefix in ipairs(value) do
    if type(prefix) ~= "string" then return nil end
  end
  return table.concat(value, ",")
end

function check.names(value)
  if type(value) == "string" then return value end
  if type(value) ~= "table" or #value == 0 then return nil end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
  end
  return core.array(table.move(value, 1, #value, 1, {}))
end

local wants = {
  string = "a string", boolean = "a boolean", integer = "an integer",
  positive = "an integer above 0", table = "a table",
  count = "an integer above 0", shards = "an integer from 1 to 32767",
  callable = "a function", instant = "seconds since 1970",
  duration = 'seconds or words like "30s"',
  prefixes = 'a list of strings, or text like "billing.,media."',
  names = "a string or a list of strings",
}

local function one_of(...)
  local names = { ... }
  return function(value)
    for _, name in ipairs(names) do if name == value then return value end end
  end, '"' .. table.concat(names, '" or "') .. '"'
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

--- Reads `options` by `shape` ({ name = { check, stored name } }) into a new
--- table. Raises at the caller's caller, naming function and option.
local function read(where, shape, options)
  local out = {}
  if options == nil then return out end
  if type(options) ~= "table" then
    error(("%s: options must be a table, got %s"):format(where,
      type(options)), 3)
  end
  for key, value in pairs(options) do
    local rule = shape[key]
    if not rule then
      error(("%s: unknown option '%s' (%s)"):format(where, tostring(key),
        nearest.hint(tostring(key), sorted_keys(shape))), 3)
    end
    local kind = rule[1]
    local test = type(kind) == "string" and check[kind] or kind
    local good = test(value)
    if good == nil then
      error(("%s: option '%s' must be %s, got %s"):format(where, key,
        rule.wants or wants[kind],
        type(value) == "string" and ("%q"):format(value)
        or type(value) == "number" and tostring(value) or type(value)), 3)
    end
    out[rule[2] or key] = good
  end
  return out
end

local function choice(stored, ...)
  local test, text = one_of(...)
  return { test, stored, wants = text }
end

---- open -------------------------------------------------------------------

local open_shape = {
  clock = { "callable" }, log = { "callable" }, trace = { "callable" },
  group = { "string" }, prefixes = { "prefixes" },
  lease = { "duration", "lease_us" },
  heartbeat = { "duration", "heartbeat_us" },
  max_bytes = { "positive" }, batch = { "count" },
  recoveries = { "count" }, shards = { "shards" },
  pooler = { "boolean" }, create = { "boolean" }, pulse = { "boolean" },
  stored_code = choice("stored_code", "any", "own"),
  unknown = choice("unknown", "fail", "defer"),
  state = choice("state", "host", "private"),
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
  if url ~= nil and type(url) ~= "string" then
    error(("bad argument #1 to 'open' (string expected, got %s)"):format(
      type(url)), 2)
  end
  local config = read("pawl.open", open_shape, options)
  config.stored_code_own = config.stored_code == "own"
  config.unknown_defer = config.unknown == "defer"
  config.private = config.state == "private"
  config.create = config.create == false and -1 or 0
  return core.open(url, config)
end

---- migrate ----------------------------------------------------------------

local migrate_shape = { shards = { "shards" }, pooler = { "boolean" } }

--- Brings a store's schema up to this program's version. The number of shards
--- is settled when the store is made: another one is an error.
---@param url? string
---@param options? { shards?: integer, pooler?: boolean }
---@return { from: integer, to: integer, shards: integer }? report
---@return pawl.Error? err
function engine.migrate(url, options)
  if not core.migrate then
    error("pawl.migrate is not there inside a workflow file", 2)
  end
  local given = read("pawl.migrate", migrate_shape, options)
  local report, err = core.migrate(url, given.shards, given.pooler)
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

---- start -------------------------------------------------------------------

local start_shape = {
  key = { "string" }, version = { "positive" }, priority = { "integer" },
  delay = { "duration" }, at = { "instant" }, tenant = { "string" },
  group = { "string" }, correlation = { "string" },
  business_key = { "string" }, metadata = { "table" },
  attributes = { "table" }, id = { "string" },
}

local function attributes_json(attributes)
  local out = {}
  for name, value in pairs(attributes) do
    if type(name) ~= "string" then
      error(("start: attribute names are strings, got %s"):format(
        type(name)), 3)
    end
    local entry, why = attribute.to_json(value)
    if not entry then
      error(("start: attribute '%s': %s"):format(name, why), 3)
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
    given.attributes = attributes_json(given.attributes)
  end
  if given.delay and given.at then
    error("start: options 'delay' and 'at' exclude each other", 2)
  end
  return core.engine_start(self, code, input, next(given) and given or nil)
end

---- list --------------------------------------------------------------------

local list_shape = {
  workflow = { "string" }, version = { "positive" }, status = { "names" },
  tenant = { "string" }, correlation = { "string" },
  business_key = { "string" }, key = { "string" }, limit = { "positive" },
  before = { "string" },
}

---@param query? pawl.Query
---@return pawl.ListedInstance[]? instances
---@return pawl.Error? err
function methods:list(query, how)
  local given = read("list", list_shape, query)
  return core.engine_list(self, next(given) and given or nil, how)
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

--- Waits until `due`, at most a second, so that what other processes do is
--- seen. `deadline` counts in the machine's time: a virtual clock may stand.
local function pause(self, due, deadline)
  local seconds = math.min(due - self:now(), 1)
  if deadline then seconds = math.min(seconds, deadline - core.mono()) end
  return self:wait(math.max(seconds, 0.001))
end

local function run_one(self, id, wait, deadline)
  while true do
    local status, stats = self:tick_instance(id, 1)
    if not status then return nil, stats end
    if status == "done" or status ~= "now" and not wait then
      return self:get(id)
    end
    if deadline and core.mono() >= deadline then return timed_out(id) end
    if status ~= "now" then
      local soon = self:now() + 0.05 -- for what another executor holds
      local ok, err = pause(self, status == "later" and stats.next_due
        or soon, deadline)
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
    local stuck = stats.claimed == 0 -- due, but not for this executor to run
    if not due or not wait and (due > now or stuck) then return totals end
    if deadline and core.mono() >= deadline then return timed_out() end
    if due > now or stuck then
      local ok
      ok, err = pause(self, math.max(due, now + 0.05), deadline)
      if not ok then return nil, err end
    end
  end
end

--- Runs until nothing is due; with `wait`, until everything has ended.
---@param options? pawl.RunOptions
---@return table? totals  or the instance, when `id` was given
---@return pawl.Error? err
function methods:run(options)
  local given = read("run", run_shape, options)
  local deadline = given.timeout_us and core.mono() + given.timeout_us / 1e6
  if given.id then
    return run_one(self, given.id, given.wait, deadline)
  end
  return run_all(self, given.wait, deadline)
end

nearest.strict(methods, "an engine has no '%s'")

return engine
