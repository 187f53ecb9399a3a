--- How long a worker waits between attempts while its store is out of reach.
--- Not long, so that work goes on soon after the store is back, and not in step
--- with others, who have lost it in the same instant.
local pause = {}

local first, longest = 0.2, 2 -- seconds

---@param failures integer  in a row, at least 1
---@param random? number    0 to 1; drawn
---@return number seconds   between half of what it may be and all of it
function pause.after(failures, random)
  local most = math.min(first * 2.0 ^ (failures - 1), longest)
  return most * (1 + (random or math.random())) / 2
end

return pause
