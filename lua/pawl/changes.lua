--- What changes one instance from outside: engine:suspend, engine:edit...
local args = require "pawl.args"
local core = require "pawl.core"

-- What a method calls otherwise than the change that it asks for.
local own = {
  wake = { node = args.like("change", "nodes") },
}

--- One method for each kind of change, but those that are asked for by other
--- means.
---@param methods table  of an engine; added to
return function(methods)
  for _, kind in ipairs(args.kinds "change") do
    local shape = args.of("change", kind, own[kind])
    if kind ~= "cancel" then shape.source = nil end
    methods[kind] = function(self, id, options)
      args.text(kind, id)
      local given = args.read(kind, shape, options)
      given.kind = kind
      return core.change(self, id, given)
    end
  end
  methods.transfer, methods.shift = nil, nil

  --- The reason alone will do.
  local cancel = methods.cancel
  function methods:cancel(id, why)
    if type(why) == "string" then why = { reason = why } end
    return cancel(self, id, why)
  end
end
