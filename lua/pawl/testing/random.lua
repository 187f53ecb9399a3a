--- Numbers that look random and follow from a seed: the same on every machine,
--- whatever else draws numbers.
---@class pawl.Random
local Random = {}
Random.__index = Random

---@param seed integer
---@return pawl.Random
function Random.new(seed)
  return setmetatable({ state = seed }, Random)
end

-- splitmix64
local function next_bits(self)
  self.state = self.state + 0x9e3779b97f4a7c15
  local z = self.state
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return (z ~ (z >> 31)) >> 1
end

--- 1 to n.
---@param n integer
function Random:upto(n) return next_bits(self) % n + 1 end

--- From low to high, both included.
function Random:between(low, high)
  return low + next_bits(self) % (high - low + 1)
end

--- True so many times in a hundred.
function Random:chance(percent) return next_bits(self) % 100 < percent end

--- One of a list.
function Random:pick(list) return list[self:upto(#list)] end

--- One of the keys of { key = weight }, in the order of their names.
function Random:weighted(weights)
  local names, sum = {}, 0
  for name, weight in pairs(weights) do
    names[#names + 1] = name
    sum = sum + weight
  end
  table.sort(names)
  local left = self:upto(sum)
  for _, name in ipairs(names) do
    left = left - weights[name]
    if left <= 0 then return name end
  end
end

return Random
