-- A game loop in plain Lua 5.4 that gives Pawl two milliseconds of each frame.
--
--   lua5.4 examples/quest_game.lua [SAVE_FILE]
--
-- Frames are simulated: sixty to the second of game time, as fast as they go.
-- With a save file, stop it anywhere and start it again: the quests go on,
-- at the game time that is saved beside it.
local pawl = require "pawl"

local FRAME = 1 / 60
local BUDGET = 0.002

local folder = arg[0]:match("^(.*)[/\\]") or "."
local store = arg[1] or ":memory:"

-- The game's clock. It stands still while the game is paused or not running.
local game_time = 0

local function clock_file(mode)
  return arg[1] and io.open(arg[1] .. ".time", mode)
end

local saved <close> = clock_file "r"
if saved then game_time = saved:read "n" or 0 end

local function save_clock()
  local file <close> = clock_file "w"
  if file then file:write(game_time) end
end

local engine <close> = assert(pawl.open(store, {
  clock = function() return game_time end,
}))
assert(engine:load(dofile(folder .. "/quest.lua")))

local quests = {}
local heroes = { { name = "Ada", coins = 1 }, { name = "Bob", coins = 0 } }
for i, hero in ipairs(heroes) do
  quests[i] = assert(engine:start("game.ferryman", { coins = hero.coins }, {
    key = hero.name, -- one quest per hero, however often the game is started
  }))
end

local ended = { completed = true, failed = true, cancelled = true }
local frames, shown = 0, {}

local function draw()
  local open = 0
  for i, hero in ipairs(heroes) do
    local quest = assert(engine:get(quests[i]))
    local log = quest.variables.log or {}
    for line = (shown[i] or 0) + 1, #log do
      print(("%6.2f s  %s: %s"):format(game_time, hero.name, log[line]))
    end
    shown[i] = #log
    if not ended[quest.status] then open = open + 1 end
  end
  return open
end

repeat
  game_time = game_time + FRAME -- input, physics, rendering happen here
  frames = frames + 1
  assert(engine:tick(BUDGET))
  local open
  if frames % 15 == 0 then
    open = draw()
    save_clock()
  end
until open == 0

print(("all quests done after %.1f s of game time"):format(game_time))
