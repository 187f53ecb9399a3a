--- The workflow files that a command was given: of a folder its *.lua.
local options = require "pawl.cli.options"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"

---@param args string[]
---@return string[]
return function(args)
  local files = {}
  for _, path in ipairs(args) do
    local kind, why = sys.kind(path)
    if not kind then
      error({ code = "notfound", message = ("%s: %s"):format(path, why) }, 0)
    end
    if kind ~= "directory" then
      files[#files + 1] = path
    else
      local names = store.try(sys.scan(path))
      table.sort(names)
      local before = #files
      for _, name in ipairs(names) do
        if name:find("%.lua$") and name:sub(1, 1) ~= "." then
          files[#files + 1] = path:gsub("/$", "") .. "/" .. name
        end
      end
      if #files == before then
        options.usage("no .lua files in %s", nil, path)
      end
    end
  end
  return files
end
