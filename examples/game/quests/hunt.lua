-- A quest: a wolf comes, the hero has twenty seconds of game time to kill it.
--
-- spawn, say and give are the game's own functions (game.c, game.cc). What
-- spawn has made once, under the key of its call, it never makes again: so a
-- quest that goes on from a save has one wolf.
local pawl = require "pawl"

local hunt = pawl.workflow { code = "quest.hunt", version = 1, start = "dusk" }

hunt:step("dusk", {
  run = function(ctx) ctx.host.say("Dusk falls over " .. ctx.input.place) end,
  next = "wait_for_night",
})

hunt:timer("wait_for_night", { after = 1, next = "spawn" })

-- The game reads a model first: until then the handler stands still.
hunt:step("spawn", {
  run = function(ctx)
    ctx.vars.wolf = ctx.host.spawn { kind = "wolf", hp = ctx.input.hp }
  end,
  next = "fight",
})

hunt:wait("fight", {
  event = "monster.dead",
  key = "wolf",
  into = "death",
  timeout = 20,
  next = { received = "reward", timeout = "flee" },
})

hunt:step("reward", {
  run = function(ctx)
    local gold = 3 * ctx.input.hp
    ctx.host.give { gold = gold }
    ctx.vars.gold = gold
  end,
  next = "won",
})

hunt:step("flee", {
  run = function(ctx) ctx.host.say "The wolf drags a sheep away" end,
  next = "lost",
})

hunt:finish("won", {
  output = function(ctx) return { gold = ctx.vars.gold } end,
})
hunt:finish("lost", { status = "failed" })

return hunt
