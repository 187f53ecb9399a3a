--- A scenario that is run once as it is, and then again for each place at which
--- its engine can die: before and after each commit, before and after each
--- handler. What comes of it has to be the same, and what it does outside has
--- to be done again under the same key, or not at all.
---
--- The engine dies while it runs (run, run_until_..., what moves the clock);
--- what the scenario asks of it meanwhile is another program's. Another engine
--- on the same store goes on, once the lease of the dead one has ended.
local caller = require "pawl.testing.caller"
local scenarios = require "pawl.testing.scenario"

local crash = {}

---@class pawl.CrashOptions: pawl.TestEngineOptions
---@field store? string|fun(): string, table?  a database of PostgreSQL, in
---                             which each run has a schema of its own; or what
---                             gives an empty store for each, and its options;
---                             a SQLite file
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

--- What watches over engines, of which one dies at a place.
---@param at? integer  nil: none does
---@return pawl.Crash
function crash.watcher(at)
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

--- Something was done outside.
---@param done pawl.EffectDone
function Crash:effect(done)
  if self.dead or not self.armed then return end
  self.effects[#self.effects + 1] = { name = done.name, key = done.key,
    covered = done.covered,
    by = ("%s of %s"):format(done.node or "?", done.workflow or "?") }
end

-- What is asked of the engine meanwhile is another program's.
function Crash.call() end
function Crash.wait() end

Crash.run = scenarios.run

---- what was done outside -----------------------------------------------------

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

---@class pawl.CrashRun
---@field crash pawl.Crash
---@field outcomes string[]
---@field failure string?  what the scenario raised

--- Runs the scenario on a fresh store; it dies at that place, if any.
---@return pawl.CrashRun
local function play(scenario, given, at)
  local testing, engines = require "pawl.testing",
    require "pawl.testing.engine"
  local dying = crash.watcher(at)
  local options, file = scenarios.fresh(given, {
    lease = scenarios.LEASE_US / 1e6,
    commit = function(is_done) return dying:commit(is_done) end })
  local _ <close> = file
  local engine <close>, clock = testing.engine(options)
  engines.state(engine, "crash_everywhere").watcher = dying
  local ok, err = xpcall(scenario, tostring, engine, clock)
  return { crash = dying, failure = not ok and err or nil,
    outcomes = ok and scenarios.outcomes(engine, given.ignore) }
end

---- comparing ----------------------------------------------------------------

local function differ(base, run)
  local was, is = scenarios.first_missing(base.outcomes, run.outcomes),
    scenarios.first_missing(run.outcomes, base.outcomes)
  if not was and not is then return nil end
  return ("what comes of it differs\n    undisturbed: %s\n    then: %s")
    :format(was or "nothing more", is or "nothing")
end

--- Why it is not known to be done again: under which keys it was done last.
local function unknown(effects, what, by)
  local covered, keys = true, {}
  for _, one in ipairs(effects) do
    if one.name == what and one.by == by then
      covered = one.covered
      keys[#keys + 1] = one.key
    end
  end
  if not covered then
    return "it is given no key; give it ctx.idempotency_key()"
  end
  return ("its key is another one each time: %s"):format(
    table.concat(keys, ", ", math.max(#keys - 1, 1)))
end

--- What would be done more often than it is undisturbed.
local function repeated(base, run)
  local expected = counted(base.crash.effects)
  for name, times in pairs(counted(run.crash.effects)) do
    if times > (expected[name] or 0) then
      local what, by = name:match "^(.-)%z(.*)$"
      return ("'%s' is done %d times in place of %d by the handler %s: %s")
        :format(what, times, expected[name] or 0, by,
        unknown(run.crash.effects, what, by))
    end
  end
end

local function judge(base, run)
  if run.failure then return "the scenario fails: " .. run.failure end
  return repeated(base, run) or differ(base, run)
end

---- all of it ----------------------------------------------------------------

local OWN <const> = { ignore = scenarios.NAMES, only = { "count" },
  every = { "count" }, store = scenarios.STORE }

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
  if given.only and given.only > n then
    caller.fail("crash_everywhere: only = %d, but there are %d places",
      given.only, n)
  elseif given.only then
    return { given.only }
  end
  local list = {}
  for at = 1, n, given.every or 1 do list[#list + 1] = at end
  if list[#list] ~= n then list[#list + 1] = n end
  return list
end

--- Raises where there is nothing that a crash could harm.
---@param base pawl.CrashRun
local function check_done(base)
  if #base.crash.places == 0 then
    caller.fail("crash_everywhere: the scenario runs nothing, so that there is "
      .. "no place to die at: have its engine run, as by run_until_idle")
  elseif #base.outcomes == 0 and #base.crash.effects == 0 then
    caller.fail("crash_everywhere: the scenario starts nothing: no instance is "
      .. "there at its end")
  end
end

--- Runs the scenario, then once for each place at which its engine can die.
--- Raises what is not covered.
---@param scenario fun(engine: pawl.TestEngine, clock: pawl.Clock)
---@param options? pawl.CrashOptions
---@return { places: integer, effects: integer }
function crash.everywhere(scenario, options)
  caller.check("crash_everywhere", 1, "callable", scenario)
  local given = scenarios.split("crash_everywhere", OWN, options)
  given.ignore = given.ignore or {}
  local base = play(scenario, given, nil)
  if base.failure then
    error("the scenario fails by itself: " .. base.failure, 0)
  end
  check_done(base)
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
