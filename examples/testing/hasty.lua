-- The same payment in a hurry, with a mistake that no ordinary spec finds: the
-- bank is told of each attempt by another key, and charges twice when a worker
-- dies at the wrong time.
local pawl = require "pawl"
local bank = require "bank"

local flow = pawl.workflow {
  code = "shop.hasty",
  input = { price = "number > 0" },
}

flow:step("charge", {
  run = function(ctx)
    return bank.charge(ctx.input.price, ctx.id .. "@" .. ctx.now())
  end,
  into = "receipt",
})
flow:finish "done"

return flow
