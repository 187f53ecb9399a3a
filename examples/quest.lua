-- A quest for a game: see quest_game.lua for the loop that drives it.
--
-- Times are game time: the game gives the engine its own clock, so a pause
-- pauses the quest, and fast-forward speeds it up.
local pawl = require "pawl"

local quest = pawl.workflow { code = "game.ferryman", start = "offer" }

quest:step("offer", {
  run = function(ctx)
    ctx.vars.log = pawl.array { "The ferryman asks for a coin." }
  end,
  next = "ponder",
})

-- The player has three seconds to find a coin.
quest:timer("ponder", { after = 3, next = "has_coin" })

quest:choice("has_coin", {
  choose = function(ctx) return ctx.input.coins > 0 and "pay" or "swim" end,
  next = { pay = "pay", swim = "swim" },
})

quest:step("pay", {
  run = function(ctx)
    table.insert(ctx.vars.log, "You pay and sit down in the boat.")
  end,
  next = "crossing",
})

quest:timer("crossing", { after = 5, next = "arrive" })

quest:step("swim", {
  run = function(ctx) table.insert(ctx.vars.log, "You swim. It is cold.") end,
  next = "shivering",
})

quest:timer("shivering", { after = 9, next = "arrive" })

quest:step("arrive", {
  run = function(ctx) table.insert(ctx.vars.log, "The other shore!") end,
  next = "done",
})

quest:finish("done", {
  output = function(ctx) return { log = ctx.vars.log } end,
})

return quest
