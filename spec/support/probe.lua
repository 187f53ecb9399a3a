--- pawl.probe, the window into the core that only testing builds have. It
--- lives in pawl/core.so, because a second module would hold a second core.
local path = assert(package.searchpath("pawl.core", package.cpath))
local open, message = package.loadlib(path, "luaopen_pawl_probe")
if not open then
  error(path .. " was built without PAWL_TESTING: " .. message)
end
return open("pawl.probe", path)
