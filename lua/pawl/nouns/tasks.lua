--- engine.tasks: the work of people.
local core = require "pawl.core"
local args = require "pawl.args"

local tasks = {}

local list_shape = args.of "task_list"

---@param query? pawl.TaskQuery
---@param how? "table"|"json"
---@return pawl.Task[]? tasks
---@return pawl.Error? err
function tasks:list(query, how)
  return core.task_list(self[1], args.query("tasks:list", list_shape, query),
    how)
end

--- How many a list would have, up to its limit: 10,000 unless it is less.
---@param query? pawl.TaskQuery
---@return integer? count
---@return boolean|pawl.Error more
function tasks:tally(query)
  return core.task_tally(self[1], args.query("tasks:tally", list_shape, query))
end

---@param id string  may be shortened
---@param how? "table"|"json"
---@return pawl.Task? task
---@return pawl.Error? err
function tasks:get(id, how) return core.task_get(self[1], id, how) end

---@param text string  the id's beginning or end
---@return string? id
---@return pawl.Error? err
function tasks:find(text) return core.task_find(self[1], text) end

local ERROR = { function(value)
  if type(value) == "string" or type(value) == "table" then return value end
end, wants = "text, or a table with code and message" }

for _, kind in ipairs(args.kinds "task_change") do
  local shape = args.of("task_change", kind)
  if kind == "fail" then shape.error = ERROR end
  local name = "tasks:" .. kind
  tasks[kind] = function(self, id, options)
    args.text(name, id)
    local change = args.read(name, shape, options)
    change.kind = kind
    return core.task_change(self[1], id, change)
  end
end

return tasks
