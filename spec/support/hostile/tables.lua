--- Tables that are not what they say. Their metamethods are functions of Lua's
--- own, which no hook sees, and the length is another one each time.
local HEAD <const> = [[
local asked, once, then_ = 0, %s, %s
local t = setmetatable({}, { __index = type, __newindex = rawequal,
  __len = function()
    asked = asked + 1
    return asked == 1 and once or then_
  end })
%s
error("ended")]]

local function lying(what, once, body, said)
  return { what, HEAD:format(once, "1 << 60", body), said or "ended" }
end

return {
  lying("an insert", "3", "table.insert(t, 1, 1)"),
  lying("an insert at the end", "3", "table.insert(t, 1)"),
  lying("an insert of very many", "1 << 60", "table.insert(t, 1, 1)",
    "instructions"),
  lying("a removal", "3", "table.remove(t, 1)"),
  lying("a removal of very many", "1 << 60", "table.remove(t, 1)",
    "instructions"),
  lying("a sort", "3", "table.sort(t, math.ult)", ""),
  lying("a sort by itself", "3", "table.sort(t)"),
  lying("a sort of very many", "1 << 30", "table.sort(t)", "instructions"),
  lying("a sort of more than there can be", "1 << 60", "table.sort(t)",
    "too big"),
  lying("a join", "3", "table.concat(t)"),
  lying("a join of very many", "1 << 60", "table.concat(t)", "memory"),
  lying("results", "3", "table.unpack(t)"),
  lying("results without end", "1 << 60", "table.unpack(t)",
    "too many results"),
  lying("a move", "3", "table.move(t, 1, #t, 2)"),
  { "a comparator of Lua's own", [[
    local t = {}
    for i = 1, 200000 do t[i] = i * 7919 % 200003 end
    table.sort(t, math.ult)
    table.sort(t, math.ult)
    table.sort(t, math.ult)]], "instructions" },
  { "a sort of long texts that are nearly the same", [[
    local t = {}
    for i = 1, 40 do t[i] = ("x"):rep(100000) .. i end
    while true do table.sort(t, function(a, b) return a > b end)
      table.sort(t) end]], "instructions" },
  { "an order that is none", [[
    local t = {}
    for i = 1, 1000 do t[i] = i end
    table.sort(t, function() return true end)]], "invalid order" },
}
