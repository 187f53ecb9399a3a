-- One instance that fans out over children, one for each item; the child is
-- one_step.lua's.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.children" }

flow:each("all", {
  items = function(ctx)
    local list = pawl.array {}
    for i = 1, ctx.input.items do list[i] = { n = i } end
    return list
  end,
  workflow = "bench.one_step",
  into = "results",
  next = "done",
})

flow:finish("done")

return flow
