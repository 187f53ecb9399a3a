--- The keys of a table, all of them texts, in order.
---@param t table<string, any>
---@return string[]
return function(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end
