-- One cup: heat, grind, pump, keep warm. What a power cut leaves is a machine
-- that goes on where it was: it never grinds twice for one cup.
--
-- heater, grinder and pump are the machine's (appliance.c). They get the key of
-- their call, and do nothing for one that they have obeyed.
local pawl = require "pawl"

local brew = pawl.workflow {
  code = "coffee.brew", version = 1, start = "heat",
  retry = { max = 5, base = 1, cap = 10 },
}

brew:step("heat", {
  run = function(ctx) ctx.host.heater { on = true } end,
  next = "grind",
})

brew:step("grind", {
  run = function(ctx) ctx.host.grinder { grams = ctx.input.grams } end,
  next = "pump",
})

-- Ten strokes, each a step: a power cut costs none, and repeats none.
brew:step("pump", {
  run = function(ctx)
    local n = (ctx.vars.strokes or 0) + 1
    ctx.host.pump { ml = ctx.input.ml // 10 }
    ctx.vars.strokes = n
    return n < 10 and "more" or "enough"
  end,
  next = { more = "drip", enough = "cool" },
})

brew:timer("drip", { after = 0.05, next = "pump" })

brew:step("cool", {
  run = function(ctx) ctx.host.heater { on = false } end,
  next = "done",
})

brew:finish("done", {
  output = function(ctx)
    return { ml = ctx.vars.strokes * (ctx.input.ml // 10) }
  end,
})

return brew
