--- engine.outbox: what workflows have emitted and nobody has published yet.
local core = require "pawl.core"
local args = require "pawl.args"

local outbox = {}

local list_shape = args.of "outbox_list"

---@param query? pawl.OutboxQuery
---@param how? "table"|"json"
---@return table[]? rows
---@return pawl.Error? err
function outbox:list(query, how)
  return core.outbox_list(self[1], args.query("outbox:list", list_shape,
    query), how)
end

return outbox
