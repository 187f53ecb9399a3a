--- For specs of workflows: a clock that only moves when told to, and a store
--- in memory.
---
---     local engine, clock = testing.open()
---     assert(engine:load "order.lua")
---     local id = engine:start "order.fulfil"
---     engine:run()
---     clock:advance "2h"
---     engine:run()
---     assert.equal("completed", engine:get(id).status)
local duration = require "pawl.duration"

local testing = {}

---@class pawl.Clock
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

--- Moves time forward; due timers fire at the engine's next tick.
---@param by number|string  seconds, or words like "2h"
---@return number seconds  the new time
function Clock:advance(by)
  local us, problem, hint = duration.parse(by)
  if not us then
    error(("advance: %s (%s)"):format(problem, hint or "seconds or words"), 2)
  end
  self.us = self.us + us
  return self:now()
end

--- A clock that stands at `start` until it is advanced. Counts in whole
--- microseconds, so that many small steps add up exactly.
---@param start? number  seconds since 1970; 2026-01-01 when left out
---@return pawl.Clock
function testing.clock(start)
  if start ~= nil and type(start) ~= "number" then
    error(("bad argument #1 to 'clock' (number expected, got %s)"):format(
      type(start)), 2)
  end
  local us = math.floor((start or 1767225600) * 1e6 + 0.5)
  return setmetatable({ us = us }, Clock)
end

--- An engine on a store in memory, under a virtual clock.
---@param options? pawl.OpenOptions  as for pawl.open; `clock` may be given
---@return pawl.Engine? engine
---@return pawl.Clock|pawl.Error clock  or what went wrong
function testing.open(options)
  local given = {}
  for key, value in pairs(options or {}) do given[key] = value end
  given.clock = given.clock or testing.clock()
  local engine, err = require("pawl").open(":memory:", given)
  if not engine then return nil, err end
  return engine, given.clock
end

return testing
