-- A number that changes beside 100 KB of variables that do not, and that no
-- store can make much smaller.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.small_change", start = "fill" }

--- The same 1,000 letters and digits for the same number.
local function noise(number)
  local bytes = {}
  for i = 1, 1000 do
    number = (number * 1103515245 + 12345) % 2147483648
    bytes[i] = string.char(48 + number // 65536 % 75)
  end
  return (table.concat(bytes):gsub("\\", "-"))
end

flow:step("fill", {
  run = function(ctx)
    ctx.vars.times = 0
    for i = 1, 100 do
      ctx.vars["part_" .. i] = noise(i)
    end
  end,
  next = "change",
})

flow:step("change", {
  run = function(ctx)
    ctx.vars.times = ctx.vars.times + 1
    return ctx.vars.times < ctx.input.times and "again" or "done"
  end,
  next = { again = "change", done = "done" },
})

flow:finish("done")

return flow
