--- Who calls whom, read from the symbols of object files.
local shell = require "spec.support.shell"

---@class arrow
---@field from string   source file, below src/
---@field to string     the one that defines it
---@field symbol string

local arrows = {}

--- What `nm` says of several objects. On some systems a symbol of C begins
--- with another underscore.
---@param text string  sections "path:", each with its lines
---@param source fun(path: string): string?  its source; nil: not to be read
---@return arrow[]
function arrows.read(text, source)
  local home, wants, list = {}, {}, {}
  local file
  for line in text:gmatch "[^\n]+" do
    local path = line:match "^(.*%.o):$"
    local kind, symbol = line:match "(%a) _?(pawl_[%w_]+)$"
    if path then
      file = source(path)
    elseif file and kind == "U" then
      wants[#wants + 1] = { from = file, symbol = symbol }
    elseif file and kind and kind:match "[TDRBCVW]" then
      home[symbol] = file
    end
  end
  for _, want in ipairs(wants) do
    want.to = home[want.symbol]
    if want.to and want.to ~= want.from then list[#list + 1] = want end
  end
  return list
end

--- Of a build's own objects; those whose source has gone since, or that
--- another target has built as well, are passed over.
---@param build string  its folder
---@return arrow[]
function arrows.of_build(build)
  local found = shell.output { "find", build .. "/CMakeFiles", "-path",
                               "*.dir/src/*.o" }
  local paths, source, seen = {}, {}, {}
  for path in found:gmatch "[^\n]+" do
    local at = path:match "%.dir/src/(.*)%.o$"
    local file = at and not seen[at] and io.open("src/" .. at)
    if file then
      file:close()
      seen[at], source[path] = true, at
      paths[#paths + 1] = path
    end
  end
  assert(#paths > 1, "no object files in " .. build)
  return arrows.read(shell.output { "nm", table.unpack(paths) },
                     function(path) return source[path] end)
end

--- Files that reach each other, the largest group first, each sorted.
---@param list arrow[]
---@return string[][]
function arrows.circles(list)
  local to, index, low, open, stack = {}, {}, {}, {}, {}
  local found, n = {}, 0
  for _, a in ipairs(list) do
    to[a.from], to[a.to] = to[a.from] or {}, to[a.to] or {}
    table.insert(to[a.from], a.to)
  end
  local function visit(file) -- Tarjan
    n = n + 1
    index[file], low[file], open[file] = n, n, true
    stack[#stack + 1] = file
    for _, other in ipairs(to[file]) do
      if not index[other] then visit(other) end
      if open[other] then low[file] = math.min(low[file], low[other]) end
    end
    if low[file] < index[file] then return end
    local group = {}
    repeat
      local last = table.remove(stack)
      open[last] = nil
      group[#group + 1] = last
    until last == file
    table.sort(group)
    if #group > 1 then found[#found + 1] = group end
  end
  for file in pairs(to) do
    if not index[file] then visit(file) end
  end
  table.sort(found, function(a, b)
    return #a > #b or (#a == #b and a[1] < b[1])
  end)
  return found
end

return arrows
