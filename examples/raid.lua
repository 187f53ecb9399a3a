-- A raid in a game: see raid_game.lua for the loop that drives it.
--
-- Three things go on at once: the fight, the clock that makes the boss furious,
-- and waves of helpers. What decides it first ends the raid.
local pawl = require "pawl"

local raid = pawl.workflow { code = "game.raid", start = "gather" }

raid:step("gather", {
  run = function(ctx)
    ctx.vars.log = pawl.array { "The gate opens." }
    ctx.vars.waves = 0
  end,
  next = "battle",
})

local function tell(ctx, text) table.insert(ctx.vars.log, text) end

raid:fork("battle", {
  next = { fight = "fight", fury = "fury", helpers = "wave" },
})

-- The game says so when the boss falls; the key is this raid's name.
raid:wait("fight", { event = "boss.dead", key = "raid", next = "win" })

raid:step("win", {
  run = function(ctx)
    ctx.vars.result = "won"
    tell(ctx, ("The boss falls to %s."):format(ctx.event.data.by))
  end,
  next = "over",
})

-- Sixty seconds of game time.
raid:timer("fury", { after = 60, next = "wipe" })

raid:step("wipe", {
  run = function(ctx)
    ctx.vars.result = "lost"
    tell(ctx, "The boss is furious. Nobody is left.")
  end,
  next = "over",
})

-- Helpers come every ten seconds, four times. This branch ends by itself and
-- never comes to the join, which does not wait for it.
raid:timer("wave", { after = 10, next = "helpers" })

raid:step("helpers", {
  run = function(ctx)
    ctx.vars.waves = ctx.vars.waves + 1
    tell(ctx, ("Wave %d of helpers."):format(ctx.vars.waves))
    return ctx.vars.waves < 4 and "more" or "enough"
  end,
  next = { more = "wave", enough = "quiet" },
})

raid:finish "quiet"

raid:join("over", { expect = "any", losers = "cancel", next = "ended" })

-- The waves cannot come to the join, so it does not call them off: `terminate`
-- ends the raid with whatever still goes on.
raid:finish("ended", {
  terminate = true,
  output = function(ctx)
    return { result = ctx.vars.result, waves = ctx.vars.waves,
      log = ctx.vars.log }
  end,
})

return raid
