--- engine.executors: the programs that may hold instances.
local args = require "pawl.args"
local core = require "pawl.core"

local executors = {}

local list_shape = args.of "executor_list"

---@param query? pawl.ExecutorQuery
---@param how? "table"|"json"
---@return table[]? rows
---@return pawl.Error? err
function executors:list(query, how)
  return core.executor_list(self[1], args.query("executors:list", list_shape,
    query), how)
end

return executors
