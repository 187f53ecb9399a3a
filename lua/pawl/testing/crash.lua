--- A scenario that is run once as it is, and then again for each place at which
--- its engine can die: before and after each commit, before and after each
--- handler. What comes of it has to be the same, and what it does outside has
--- to be done again under the same key, or not at all.
---
--- The engine dies while it runs (run, run_until_..., what moves the clock);
--- what the scenario asks of it meanwhile is another program's. Another engine
--- on the same store goes on, once the lease of the dead one has ended.
local core = require "pawl.core"
local option = require "pawl.option"

local crash = {}

local LEASE_US <const> = 1000000 -- the shorter, the less what follows is late

---@class pawl.CrashOptions: pawl.TestEngineOptions
---@field store? fun(): string  an empty store for each run; a SQLite file
---@field ignore? string[]      variables that need not be the same
---@field only? integer         one place alone
---@field every? integer        every so many, the first and the last among them

---- a place to die at --------------------------------------------------------

---@class pawl.Crash
---@field at integer?      the place at which it dies; nil: nowhere
---@field places string[]  that it has come by, as they are told
---@field effects table[]  what was done outside
---@field armed boolean    it may die now
---@field dead string?     the place, until another engine goes on
---@field died string?     the same, for good
---@field handler string?  that ran last
local Crash = {}
Crash.__index = Crash

local function new(at)
  return setmetatable({ at = at, places = {}, effects = {}, armed = false },
    Crash)
end

--- Comes by one; true: dies there.
function Crash:pass(place)
  if not self.armed then return false end
  self.places[#self.places + 1] = place
  if #self.places ~= self.at then return false end
  self.dead, self.died = place, place
  return true
end

--- A commit is asked for, or was done. Whoever is dead commits nothing.
function Crash:commit(is_done)
  if self.dead then return true end
  return self:pass(("%s the commit behind %s"):format(
    is_done and "after" or "before", self.handler or "its beginning"))
end

--- A handler begins, or has ended. What is dead runs nothing.
function Crash:point(when, code, node, field)
  local handler = ("%s of %s"):format(node, code)
  if field ~= "run" then handler = ("`%s` of %s"):format(field, handler) end
  self.handler = handler
  if self.dead or self:pass(("%s the handler %s"):format(when, handler)) then
    error({ code = "killed", message = "the engine died in a spec" }, 0)
  end
end

--- Something was done outside. `covered`: under that key.
function Crash:effect(name, key, code, node, covered)
  if self.dead or not self.armed then return end
  self.effects[#self.effects + 1] = { name = name, key = key,
    covered = covered, by = ("%s of %s"):format(node or "?", code or "?") }
end

--- Runs the engine behind it, and when that dies another one in its place.
---@param state table  see pawl.testing.engine
---@param revive fun()
function Crash:run(state, revive, options)
  while true do
    self.armed = true
    local results = table.pack(pcall(state.engine.run, state.engine, options))
    self.armed = false
    if not self.dead then
      if not results[1] then error(results[2], 0) end
      return table.unpack(results, 2, results.n)
    end
    self.dead = nil
    self.handler = nil
    revive()
    state.clock.us = state.clock.us + 2 * LEASE_US
  end
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
local function outcomes(engine, ignore)
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

--- How often each effect was done: what is covered by a key counts once for
--- each key.
local function counted(effects)
  local counts, seen = {}, {}
  for _, one in ipairs(effects) do
    local name = one.name .. "\0" .. one.by
    local key = one.covered and name .. "\0" .. one.key
    if not key or not seen[key] then
      counts[name] = (counts[name] or 0) + 1
    end
    if key then seen[key] = true end
  end
  return counts
end

---- one run ------------------------------------------------------------------

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

--- An empty store: the caller's, or a file, which goes as the second is closed.
local function fresh(given)
  if given.store then return given.store(), nil end
  local path = new_path()
  return path, setmetatable({}, { __close = function() remove(path) end })
end

---@class pawl.CrashRun
---@field crash pawl.Crash
---@field outcomes string[]
---@field failure string?  what the scenario raised

--- Runs the scenario on a fresh store; it dies at that place, if any.
---@return pawl.CrashRun
local function play(scenario, given, at)
  local testing, engines = require "pawl.testing",
    require "pawl.testing.engine"
  local url, file = fresh(given)
  local _ <close> = file
  local dying, options = new(at), {}
  for name, value in pairs(given.engine) do options[name] = value end
  options.store, options.lease = url, LEASE_US / 1e6
  options.commit = function(is_done) return dying:commit(is_done) end
  local engine <close>, clock = testing.engine(options)
  engines.state(engine, "crash_everywhere").crash = dying
  local ok, err = xpcall(scenario, tostring, engine, clock)
  return { crash = dying, failure = not ok and err or nil,
    outcomes = ok and outcomes(engine, given.ignore) }
end

---- comparing ----------------------------------------------------------------

--- The first text of `a` that `b` has not.
local function first_missing(a, b)
  local left = {}
  for _, text in ipairs(b) do left[text] = (left[text] or 0) + 1 end
  for _, text in ipairs(a) do
    if (left[text] or 0) == 0 then return text end
    left[text] = left[text] - 1
  end
end

local function differ(base, run)
  local was, is = first_missing(base.outcomes, run.outcomes),
    first_missing(run.outcomes, base.outcomes)
  if not was and not is then return nil end
  return ("what comes of it differs\n    undisturbed: %s\n    then: %s")
    :format(was or "nothing more", is or "nothing")
end

--- What would be done more often than it is undisturbed.
local function repeated(base, run)
  local expected = counted(base.crash.effects)
  for name, times in pairs(counted(run.crash.effects)) do
    if times > (expected[name] or 0) then
      local what, by = name:match "^(.-)%z(.*)$"
      local covered = true
      for _, one in ipairs(run.crash.effects) do
        if one.name == what and one.by == by then covered = one.covered end
      end
      return ("'%s' is done %d times in place of %d by the handler %s: %s")
        :format(what, times, expected[name] or 0, by, covered
        and "its key is another one each time"
        or "it is given no key; give it ctx.idempotency_key()")
    end
  end
end

local function judge(base, run)
  if run.failure then return "the scenario fails: " .. run.failure end
  return repeated(base, run) or differ(base, run)
end

---- all of it ----------------------------------------------------------------

local function names(value)
  if type(value) ~= "table" then return nil end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
  end
  return value
end

local OWN <const> = { ignore = { names, wants = "a list of variables' names" },
  only = { "count" }, every = { "count" }, store = { "callable" } }

--- What is for the kit, and what is for its engines.
local function split(options)
  local own, rest = {}, {}
  for name, value in pairs(options or {}) do
    if OWN[name] then own[name] = value else rest[name] = value end
  end
  local given, why = option.read("crash_everywhere", OWN, own)
  if not given then error(why, 4) end
  given.engine, given.ignore = rest, given.ignore or {}
  return given
end

local function report(found, places)
  local shown = { ("a crash is not covered at %d of %d places"):format(#found,
    places) }
  for i = 1, math.min(#found, 5) do
    local one = found[i]
    shown[#shown + 1] = ("  %d, dying %s:\n    %s"):format(one.at, one.place,
      one.what)
  end
  if #found > 5 then
    shown[#shown + 1] = ("  and %d more; only = %d runs one again"):format(
      #found - 5, found[6].at)
  end
  return table.concat(shown, "\n")
end

--- The places that are tried, of n.
local function chosen(given, n)
  if given.only then return { given.only } end
  local list = {}
  for at = 1, n, given.every or 1 do list[#list + 1] = at end
  if list[#list] ~= n then list[#list + 1] = n end
  return list
end

--- Runs the scenario, then once for each place at which its engine can die.
--- Raises what is not covered.
---@param scenario fun(engine: pawl.TestEngine, clock: pawl.Clock)
---@param options? pawl.CrashOptions
---@return { places: integer, effects: integer }
function crash.everywhere(scenario, options)
  if not option.check.callable(scenario) then
    error(("bad argument #1 to 'crash_everywhere' (function expected, got %s)")
      :format(type(scenario)), 3)
  end
  local given = split(options)
  local base = play(scenario, given, nil)
  if base.failure then
    error("the scenario fails by itself: " .. base.failure, 0)
  end
  local n, found = #base.crash.places, {}
  for _, at in ipairs(chosen(given, n)) do
    local run = play(scenario, given, at)
    local what = judge(base, run)
    if what then
      found[#found + 1] = { at = at, what = what,
        place = run.crash.died or "nowhere" }
    end
  end
  if #found > 0 then error(report(found, n), 0) end
  return { places = n, effects = #base.crash.effects }
end

return crash
