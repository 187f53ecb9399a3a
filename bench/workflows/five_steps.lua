-- W1 of the bench: what a step writes is what bench/raw.h writes, 200 bytes
-- of state and 75 of output. The handlers do next to nothing, so that what is
-- measured is pawl and the store.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.five_steps", start = "step_1" }

local NOTE = ("0"):rep(33) .. "7"
local STATE_NOTE = ("%075d"):format(0)

local function run(ctx)
  local vars = ctx.vars
  if not vars.order then
    for name, value in pairs(ctx.input) do vars[name] = value end
  end
  vars.step = vars.step + 1
  -- most of the state changes, not just a counter in it
  vars.note = STATE_NOTE .. vars.step % 10
  return nil, { ok = true, ref = ("r-%09d"):format(vars.step), note = NOTE }
end

for i = 1, 5 do
  flow:step("step_" .. i, {
    run = run,
    next = i < 5 and "step_" .. i + 1 or "done",
  })
end

flow:finish("done")

return flow
