--- `require`, put off until the module is needed, where it is inside the
--- program. Files are loaded at once: package.path may be another one by then.
---@param name string
---@return fun(): table
return function(name)
  if package.preload[name] then
    return function() return require(name) end
  end
  local module = require(name)
  return function() return module end
end
