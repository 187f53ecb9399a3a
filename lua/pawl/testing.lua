--- For specs of workflows: a clock that only moves when told to, and a store
--- in memory.
---
---     local engine, clock = testing.open()
---     assert(engine:load "order.lua")
---     local id = engine:start "order.fulfil"
---     clock:advance "2h"
---     assert.equal("completed", engine:get(id).status)
---
--- Advancing goes from due time to due time, and has the engine run at each: a
--- daily timer fires thirty times in thirty days. `clock:jump` moves the time
--- at once, as it passes for a program that is down.
local duration = require "pawl.duration"
local nearest = require "pawl.nearest"

local testing = {}

--- A part of it, loaded when it is asked for: programs that have the module
--- inside have no files of these.
local function kit(name) return require("pawl.testing." .. name) end

---@class pawl.Clock
---@field us integer  microseconds since 1970
---@field engines table<pawl.Engine, true>  that testing.open made for it
---@operator call: number
local Clock = {}
Clock.__index = Clock
Clock.__name = "pawl.clock"

--- Seconds since 1970.
---@return number seconds
function Clock:now() return self.us / 1e6 end

Clock.__call = Clock.now

function Clock:__tostring()
  return ("pawl.clock at %.6f s"):format(self:now())
end

local function parse(name, by)
  local us, problem, hint = duration.parse(by)
  if us then return us end
  error(("%s: %s (%s)"):format(name, problem, hint or "seconds or words"), 3)
end

--- Moves time forward at once, as if nothing ran meanwhile; what has become due
--- is done at the engine's next tick.
---@param by number|string  seconds, or words like "2h"
---@return number seconds  the new time
function Clock:jump(by)
  self.us = self.us + parse("jump", by)
  return self:now()
end

--- The same, to a time. It does not go back: where that has been it stays.
---@param time pawl.Time  "2026-11-21T07:38:00Z", or seconds since 1970
---@return number seconds  the new time
function Clock:jump_to(time)
  self.us = math.max(self.us, kit "replay".time("jump_to", time))
  return self:now()
end

--- The engine that has something to do first, and when. An engine that cannot
--- be asked, as one of its handlers advances the clock, or it is closed, is
--- passed over.
local function first_due(engines)
  local first, when
  for engine in pairs(engines) do
    local ok, due = pcall(engine.next_due, engine)
    due = ok and due and math.floor(due * 1e6 + 0.5)
    if due and (not when or due < when) then first, when = engine, due end
  end
  return first, when
end

--- Moves time forward, from due time to due time: engines of testing.open run
--- at each, so that what repeats does so as often as it should. Other engines
--- under this clock do what has become due at their next tick.
---@param by number|string  seconds, or words like "2h"
---@return number seconds  the new time
function Clock:advance(by)
  local to = self.us + parse("advance", by)
  local idle -- the engine ran at this time, and is due all the same
  while true do
    local engine, due = first_due(self.engines)
    if not engine or due > to or idle == engine and due <= self.us then
      break
    end
    self.us = math.max(self.us, due)
    local ok, err = engine:run()
    if not ok then error(err, 2) end
    idle = engine
  end
  self.us = math.max(self.us, to) -- in a crash the engine is late
  return self:now()
end

--- Moves to the next time at which something is due, and runs the engines
--- there.
---@return number? seconds  the new time; nil: nothing is to come
function Clock:next()
  local engine, due = first_due(self.engines)
  if not engine then return nil end
  return self:advance(math.max(due - self.us, 0) / 1e6)
end

-- One called by a dot has something else in front. Others than these have their
-- methods: pawl.testing.interleave gives each party one.
for _, name in ipairs { "now", "jump", "jump_to", "advance", "next" } do
  local method = Clock[name]
  Clock[name] = function(self, ...)
    if type(self) ~= "table" or not self.us then
      error(("clock.%s is a method: call it by a colon, clock:%s(...)"):format(
        name, name), 2)
    end
    return method(self, ...)
  end
end

--- Of a time as answers tell it: "2026-11-21T07:38:00Z".
local function seconds_of(text)
  local us = require("pawl.core").time_parse(text)
  if not us then
    error(("clock: '%s' is not a time: \"2026-11-21T07:38:00Z\", or seconds "
      .. "since 1970"):format(text), 3)
  end
  return us / 1e6
end

--- A clock that stands at `start` until it is advanced. Counts in whole
--- microseconds, so that many small steps add up exactly.
---@param start? pawl.Time  2026-01-01 when left out
---@return pawl.Clock
function testing.clock(start)
  if type(start) == "string" then start = seconds_of(start) end
  if start ~= nil and type(start) ~= "number" then
    error(("bad argument #1 to 'clock' (time expected, got %s)"):format(
      type(start)), 2)
  end
  local us = math.floor((start or 1767225600) * 1e6 + 0.5)
  return setmetatable({ us = us, engines = setmetatable({},
    { __mode = "k" }) }, Clock)
end

--- An engine on a store in memory, under a virtual clock, which runs it as
--- time is advanced.
---@param options? pawl.OpenOptions  as for pawl.open; `clock` may be given
---@return pawl.Engine? engine
---@return pawl.Clock|pawl.Error clock  or what went wrong
function testing.open(options)
  if options ~= nil and type(options) ~= "table" then
    error(("bad argument #1 to 'test.open' (table of options expected, got %s)")
      :format(type(options)), 2)
  end
  local given = {}
  for key, value in pairs(options or {}) do given[key] = value end
  given.clock = given.clock or testing.clock()
  local engine, err = require("pawl").open(":memory:", given)
  if not engine then return nil, err end
  if getmetatable(given.clock) == Clock then
    given.clock.engines[engine] = true
  end
  return engine, given.clock
end

--- An engine for a spec: the real one, under a clock that stands, with a seed
--- of its ids and jitter, so that the same spec runs the same each time. Raises
--- what goes wrong.
---
---     local engine, clock = testing.engine { load = { "order.lua" } }
---
---@param options? pawl.TestEngineOptions
---@return pawl.TestEngine engine
---@return pawl.Clock clock
function testing.engine(options)
  local given = kit "engine".options(options)
  given.clock = given.clock or testing.clock()
  return kit "engine".open(given), given.clock
end

--- Runs the handler of a step or a choice by itself, once.
---@param flow string|pawl.Workflow  a file, or a workflow
---@param name string  of the node
---@param options? pawl.HandlerOptions
---@return pawl.HandlerResult
function testing.handler(flow, name, options)
  return kit "handler".run(flow, name, options)
end

--- Runs a scenario, then once for each place at which its engine can die:
--- before and after each commit and each handler. Raises, with the place, where
--- what comes of it is not the same, or where something outside is done twice.
---@param scenario fun(engine: pawl.TestEngine, clock: pawl.Clock)
---@param options? pawl.CrashOptions
---@return { places: integer, effects: integer } report
function testing.crash_everywhere(scenario, options)
  return kit "crash".everywhere(scenario, options)
end

--- Has several parties, each with an engine on one store, take turns in every
--- order, up to a bound. Raises the first of which something comes that should
--- not, as a story, and how to play it again.
---@param options pawl.InterleaveOptions
---@return { orders: integer, turns: integer, all: boolean, story?: string }
function testing.interleave(options)
  return kit "interleave".run(options)
end

--- Goes through a scenario with steps that fail, engines that die, events that
--- come twice, late or not at all, once for each seed. Raises the smallest
--- story that does what should not be.
---@param options pawl.SimulateOptions
---@return pawl.Simulated
function testing.simulate(options)
  return kit "simulate".run(options)
end

--- What of their workflows the specs of this process have gone through, from
--- the first call on.
---@return pawl.Coverage
function testing.coverage() return kit "coverage".report() end

--- What an instance went through, as a spec: what its handlers gave is
--- replayed, where it went is asserted. Raises what is wrong.
---@param from pawl.Engine|string  an engine, or lines as engine:export gives
---@param id? string
---@param options? pawl.SpecOptions
---@return string text
function testing.spec(from, id, options)
  return kit "spec".write(from, id, options)
end

--- The rows of its history and what it holds, without ids and times: what
--- assert.history compares.
---@param engine pawl.Engine
---@param id string
---@return string
function testing.history(engine, id) return kit "snapshot".text(engine, id) end

--- What has become of an instance, in lines: where it went, what it holds, what
--- it waits for.
---@param engine pawl.Engine
---@param id string
---@return string
function testing.story(engine, id) return kit "asserts".story(engine, id) end

--- The nodes that it has passed, in order: what did something or waited, and
--- choices; neither forks nor joins.
---@param engine pawl.Engine
---@param id string
---@return string[]
function testing.path(engine, id) return kit "asserts".path(engine, id) end

-- A spec of busted's has loaded it before.
local luassert = package.loaded.luassert
if luassert then kit "asserts".register(luassert) end

return nearest.strict(testing, "pawl.testing has no '%s'")
