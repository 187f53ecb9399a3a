--- What changes one instance from outside: engine:suspend, engine:edit...
local args = require "pawl.args"
local core = require "pawl.core"

local changes = {}

-- What a method calls otherwise than the change that it asks for.
local own = {
  wake = { node = args.like("change", "nodes") },
  continue = { node = args.like("change", "nodes") },
  step = { node = args.like("change", "nodes") },
}

-- Asked for by other means.
local elsewhere = { transfer = true, shift = true }

--- The kinds that have a method.
---@type string[]
changes.kinds = {}
for _, kind in ipairs(args.kinds "change") do
  if not elsewhere[kind] then
    changes.kinds[#changes.kinds + 1] = kind
  end
end

--- What the method of a kind takes.
---@param kind string
---@return table shape
function changes.shape(kind)
  local shape = args.of("change", kind, own[kind])
  if kind ~= "cancel" then shape.source = nil end
  return shape
end

--- One method for each kind of change.
---@param methods table  of an engine; added to
function changes.add(methods)
  for _, kind in ipairs(changes.kinds) do
    local shape = changes.shape(kind)
    methods[kind] = function(self, id, options)
      args.text(kind, id)
      local given = args.read(kind, shape, options)
      given.kind = kind
      return core.change(self, id, given)
    end
  end

  --- The reason alone will do.
  local cancel = methods.cancel
  function methods:cancel(id, why)
    if type(why) == "string" then why = { reason = why } end
    return cancel(self, id, why)
  end
end

return changes
