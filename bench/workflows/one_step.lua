-- W2 of the bench: an instance that is one step.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.one_step", start = "only" }

local NOTE = ("0"):rep(33) .. "7"

flow:step("only", {
  run = function(ctx)
    for name, value in pairs(ctx.input) do ctx.vars[name] = value end
    return nil, { ok = true, ref = "r-000000001", note = NOTE }
  end,
  next = "done",
})

flow:finish("done")

return flow
