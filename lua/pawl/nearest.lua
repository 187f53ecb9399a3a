--- Which known word was meant: edit distance for "did you mean".
--- The same rule as pawl_nearest in src/base/nearest.c.
---
---   nearest("nxt", { "next", "run" })       --> "next"
---   nearest.hint("nxt", { "next", "run" })  --> "did you mean 'next'?"
local nearest = {}

--- Words longer than this are nobody's slip, and cost time to compare.
local LONGEST = 64

--- Edits (insert, delete, replace, swap of two neighbours) from a to b.
---@param a string
---@param b string
---@return integer
function nearest.distance(a, b)
  local before, last = nil, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same)
      if before and j > 1 and a:byte(i) == b:byte(j - 1)
         and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b]
end

--- The name nearest to `word`, or nil when none is near: at most a third of
--- the word's letters may differ, but always one; case does not count. Of
--- equals, the first.
---@param word string
---@param names string[]
---@return string?
function nearest.find(word, names)
  local limit, best, best_distance = math.max(1, #word // 3), nil, nil
  if #word > LONGEST then return nil end
  for _, name in ipairs(names) do
    if math.abs(#name - #word) <= limit then
      local d = nearest.distance(word:lower(), name:lower())
      if d <= limit and (not best or d < best_distance) then
        best, best_distance = name, d
      end
    end
  end
  return best
end

--- A hint for an error: "did you mean 'next'?", else the words there are.
---@param word string
---@param names string[]
---@return string
function nearest.hint(word, names)
  local name = nearest.find(word, names)
  if name then return ("did you mean '%s'?"):format(name) end
  return "known: " .. table.concat(names, ", ")
end

--- The same, of a table's keys.
---@param word string
---@param t table<string, any>
---@return string
function nearest.key_hint(word, t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return nearest.hint(word, names)
end

--- Makes reading a field that is not there an error that names the nearest
--- one: a slip in a method's name shows where it was made.
---@param t table
---@param message string  with %s for the name
---@param later? table<string, fun(): any>  fields made when first read
---@return table t
function nearest.strict(t, message, later)
  later = later or {}
  local function make(name)
    t[name], later[name] = later[name](), nil
    return t[name]
  end
  local function make_all()
    for name in pairs(later) do make(name) end
  end
  return setmetatable(t, {
    __pairs = function()
      make_all()
      return next, t
    end,
    __index = function(_, key)
      if later[key] then return make(key) end
      make_all()
      key = tostring(key)
      error(("%s (%s)"):format(message:format(key),
        nearest.key_hint(key, t)), 2)
    end,
  })
end

return setmetatable(nearest, {
  __call = function(_, word, names) return nearest.find(word, names) end,
})
