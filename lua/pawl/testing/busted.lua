--- What busted runs, for who is to see all of it.
local busted = {}

--- Has `put` say what runs in an executor's place, of a busted that is to be
--- made yet; several may, each around those before it.
---@param put fun(descriptor: string, executor: function, core: table):
---           function?  nil: the executor itself
---@param begin? fun(core: table)
function busted.wrap(put, begin)
  local make = require "busted.core"
  package.loaded["busted.core"] = function()
    local core = make()
    local register = core.register
    function core.register(descriptor, executor, attributes)
      if type(executor) == "function" then
        executor = put(descriptor, executor, core) or executor
      end
      return register(descriptor, executor, attributes)
    end
    if begin then begin(core) end
    return core
  end
end

return busted
