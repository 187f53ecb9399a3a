--- engine.breakpoints: nodes before which tokens halt.
local args = require "pawl.args"
local core = require "pawl.core"

local breakpoints = {}

local list_shape = args.of "breakpoint_list"

--- Those that are set. What has halted is engine:list { halted = true }.
---@param query? pawl.BreakpointQuery
---@param how? "table"|"json"
---@return pawl.Breakpoint[]? breakpoints
---@return pawl.Error? err
function breakpoints:list(query, how)
  return core.breakpoint_list(self[1], args.query("breakpoints:list",
    list_shape, query), how)
end

for _, kind in ipairs(args.kinds "breakpoint_change") do
  local name = "breakpoints:" .. kind
  local shape = args.of("breakpoint_change", kind)
  breakpoints[kind] = function(self, options)
    local given = args.read(name, shape, options)
    given.kind = kind
    return core.breakpoint_change(self[1], given)
  end
end

return breakpoints
