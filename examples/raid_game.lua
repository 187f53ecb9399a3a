-- A game loop that gives Pawl two milliseconds of each frame, and tells it what
-- happens in the game by events.
--
--   lua5.4 examples/raid_game.lua
--
-- Frames are simulated: sixty to the second of game time, as fast as they go.
-- Two raids run at once; only the first one's boss is beaten in time.
local pawl = require "pawl"

local FRAME = 1 / 60
local BUDGET = 0.002

local folder = arg[0]:match("^(.*)[/\\]") or "."
local game_time = 0

local engine <close> = assert(pawl.open(":memory:", {
  clock = function() return game_time end,
}))
assert(engine:load(dofile(folder .. "/raid.lua")))

local raids = {
  { name = "north", boss_falls_at = 37 },
  { name = "south", boss_falls_at = 99 },
}
for _, raid in ipairs(raids) do
  raid.id = assert(engine:start("game.raid", { raid = raid.name },
    { key = raid.name }))
end

local function play(raid)
  if not raid.told and game_time >= raid.boss_falls_at then
    raid.told = true
    -- The id makes telling it twice harmless.
    assert(engine:signal { name = "boss.dead", key = raid.name,
      id = raid.name .. "/boss", data = { by = "Ada" } })
  end
end

local function draw(raid)
  local state = assert(engine:get(raid.id))
  local log = state.variables.log or {}
  for line = (raid.shown or 0) + 1, #log do
    print(("%6.2f s  %s: %s"):format(game_time, raid.name, log[line]))
  end
  raid.shown = #log
  raid.result = state.output and state.output.result
end

local frames = 0
repeat
  game_time = game_time + FRAME -- input, physics, rendering happen here
  frames = frames + 1
  for _, raid in ipairs(raids) do play(raid) end
  assert(engine:tick(BUDGET))
  local open = false
  if frames % 15 == 0 then
    for _, raid in ipairs(raids) do
      draw(raid)
      open = open or not raid.result
    end
  else
    open = true
  end
until not open

for _, raid in ipairs(raids) do
  print(("%s: %s"):format(raid.name, raid.result))
end
