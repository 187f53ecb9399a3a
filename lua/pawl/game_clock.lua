--- Game time, for the option `clock` of pawl.open: it stands, passes slower or
--- faster than the system's, and is what it was set to.
---
---     local clock = pawl.game_clock(0)
---     local engine = assert(pawl.open("save.db", { clock = clock }))
---     clock:set(clock:now(), 0)  -- a pause
local core = require "pawl.core"

local game_clock = {}

---@class pawl.GameClock
---@field speed number  game seconds in one of the system's
---@operator call: number
local GameClock = {}
GameClock.__name = "pawl.game_clock"

--- `speed` is asked for, and set, as if it were a field.
function GameClock:__index(name)
  if name == "speed" then return self.rate end
  return GameClock[name]
end

function GameClock:__newindex(name, value)
  if name ~= "speed" then
    error(("a game clock has no field %q (set its time by :set)"):format(
      tostring(name)), 2)
  end
  self:set(self:now(), value)
end

local function check(i, value, least, fn)
  if type(value) ~= "number" or not (value >= least and value < math.huge) then
    error(("bad argument #%d to '%s' (a number, %d or more, expected)"):format(
      i, fn, least), 3)
  end
  return value
end

--- What time it is.
---@return number seconds  since 1970
function GameClock:now()
  return self.at + (core.mono() - self.since) * self.rate
end

GameClock.__call = GameClock.now

function GameClock:__tostring()
  return ("pawl.game_clock at %.6f s, %g times as fast"):format(self:now(),
    self.speed)
end

--- How much time has passed by it, of which only differences mean anything:
--- nothing of what it was set by. By that handlers wait.
---@return number seconds
function GameClock:passed()
  return self.ran + (core.mono() - self.since) * self.rate
end

--- Sets it. What is due by a later time is due with the next tick, each thing
--- once; set back, nothing is undone, and what was to come comes at its time.
--- Handlers that wait have waited no longer for it.
---@param now number     seconds since 1970
---@param speed? number  0 pauses; as it was
function GameClock:set(now, speed)
  check(1, now, 0, "set")
  if speed ~= nil then check(2, speed, 0, "set") end
  self.ran = self:passed()
  self.at, self.since, self.rate = now, core.mono(), speed or self.rate
end

---@param now? number    seconds since 1970; 0
---@param speed? number  game seconds in one of the system's; 1
---@return pawl.GameClock
function game_clock.new(now, speed)
  if now ~= nil then check(1, now, 0, "game_clock") end
  if speed ~= nil then check(2, speed, 0, "game_clock") end
  return setmetatable({ at = now or 0, ran = 0, since = core.mono(),
    rate = speed or 1 }, GameClock)
end

--- For the option `passed` of pawl.open; nil: it is no such clock.
---@param clock any
---@return (fun(): number)?
function game_clock.passed_of(clock)
  if getmetatable(clock) ~= GameClock then return nil end
  return function() return clock:passed() end
end

return game_clock
