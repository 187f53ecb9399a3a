--- Whether what a history tells of how visits were entered (`transition_in`)
--- can be true: known are the graph and the rows before, nothing else.
local pawl = require "pawl"

local ways = {}

local function given(value)
  if value == pawl.null then return nil end
  return value
end

---- the graph -----------------------------------------------------------------

local function lead(into, to, from, name)
  into[to] = into[to] or {}
  table.insert(into[to], { from = from, name = name })
end

local function lead_all(into, from, next)
  if type(next) == "string" then lead(into, next, from) end
  if type(next) ~= "table" then return end
  for name, to in pairs(next) do lead(into, to, from, name) end
end

--- What leads to each node, of all versions that an instance was in.
---@param graphs table[]  as `workflows:graph` gives them
function ways.of(graphs)
  local known = { into = {}, begins = {} }
  for _, graph in ipairs(graphs) do
    known.begins[graph.start] = true
    if graph.on_cancel then known.begins[graph.on_cancel] = true end
    for _, node in ipairs(graph.nodes) do
      lead_all(known.into, node.name, node.next)
      lead_all(known.into, node.name, node.on_error)
      if node.on then known.begins[node.name] = true end
      if node.branch then lead(known.into, node.branch, node.name) end
    end
  end
  return known
end

---- what rows before tell -----------------------------------------------------

--- Does a path name the node? With what it has chosen: "c=yes".
local function names(path, node)
  path = " " .. path .. " "
  for from, to in path:gmatch("()" .. node:gsub("%p", "%%%0") .. "()") do
    if path:sub(from - 1, from - 1):find "[ (]"
      and path:sub(to, to):find "[ ,;)=]" then
      return true
    end
  end
  return false
end

local function has_left(row, way)
  local path = given(row.path)
  if not path then return false end
  if way.name and names(path, way.from .. "=" .. way.name) then return true end
  if names(path, way.from) then return true end
  if row.node ~= way.from then return false end
  return way.name == "*" or way.name == given(row.transition)
    or row.type == "started" or row.type == "routed"
end

--- Is it a name that the way may have? On_error's "*" is any code.
local function is_called(way, name)
  return way.name == name or way.name == "*" and name ~= nil
end

local UNDO <const> = { undone = true, undo_failed = true }

--- Where nothing leads: there it began, or somebody has put it.
local function was_put(rows, i, known)
  local row = rows[i]
  if known.begins[row.node] or UNDO[row.type] or row.text == "undoing"
    or not given(row.token) then
    return true
  end
  for k = 1, i - 1 do
    local type = rows[k].type
    if (type == "moved" or type == "restarted")
      and rows[k].path == row.node then
      return true
    end
  end
  return false
end

--- Some node from which such a transition leads there was left before.
local function may_be(rows, i, known)
  local name = given(rows[i].transition_in)
  if not name and was_put(rows, i, known) then return true end
  for _, way in ipairs(known.into[rows[i].node] or {}) do
    -- who begins with a choice says so in its own row
    for k = 1, is_called(way, name) and i or 0 do
      if has_left(rows[k], way) then return true end
    end
  end
  return false
end

--- What cannot be true; nil: all may be. And how many rows tell it.
---@param rows table[]  a whole history with null for what is none, in order
---@param known table
---@return string?, integer
function ways.wrong(rows, known)
  local told, of_visit = 0, {}
  for i, row in ipairs(rows) do
    if row.transition_in ~= nil and given(row.node) then
      told = told + 1
      local says = ("row %d, %s at %s, was entered by %s"):format(row.seq,
        row.type, row.node, tostring(given(row.transition_in)))
      if not may_be(rows, i, known) then return says, told end
      local key = given(row.visit) and not UNDO[row.type]
        and row.text ~= "undoing" and row.node .. row.visit
      if key and of_visit[key] ~= nil
        and of_visit[key] ~= row.transition_in then
        return says .. ", a row before by another", told
      end
      if key then of_visit[key] = row.transition_in end
    end
  end
  return nil, told
end

return ways
