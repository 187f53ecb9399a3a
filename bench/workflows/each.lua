-- W4 of the bench: one instance that fans out over a list, one step an item,
-- in the default window. Its cost has to be linear in the items.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.each", start = "all" }

flow:each("all", {
  items = function(ctx)
    local list = pawl.array {}
    for i = 1, ctx.input.items do list[i] = i end
    return list
  end,
  branch = "item",
  into = "results",
  next = "done",
})

flow:step("item", {
  run = function(ctx) return nil, ctx.token.data.item end,
  next = "all",
})

flow:finish("done")

return flow
