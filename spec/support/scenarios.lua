--- Stores for what runs a scenario many times.
local scenarios = {}

--- nil: the kit's own.
---@param backend spec.Backend
---@return string?
function scenarios.of(backend)
  return backend.name ~= "sqlite" and backend.url() or nil
end

--- A function that gives an empty one each time.
---@param backend spec.Backend
---@return (fun(): string)?
function scenarios.each(backend)
  if backend.name == "sqlite" then return nil end
  return function()
    backend.cleanup()
    local engine, _, url = backend.fresh()
    engine:close()
    return url
  end
end

return scenarios
