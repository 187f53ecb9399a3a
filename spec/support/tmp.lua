--- Temporary files and folders, removed when the Lua state closes.
--- ./dev sets TMPDIR to a folder it removes itself, so that a killed run
--- leaves nothing behind either.
local shell = require "spec.support.shell"

local tmp = {}
local root, made = nil, 0 -- the folder of them all, and how many there were

---@param name string?  last part of the path; a number when not given
---@return string  a path where nothing is yet
function tmp.path(name)
  if not root then
    local dir = os.getenv("TMPDIR") or "/tmp"
    root = shell.output { "mktemp", "-d", dir .. "/pawl-spec.XXXXXX" }
    root = root:gsub("\n$", "")
  end
  made = made + 1
  return ("%s/%d%s"):format(root, made, name and "-" .. name or "")
end

---@return string  a new empty folder
function tmp.dir()
  local path = tmp.path()
  shell.output { "mkdir", path }
  return path
end

--- Writes a new file.
---@param name string  last part of its path
---@param text string
---@return string path
function tmp.file(name, text)
  local path = tmp.path(name)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
  return path
end

---@param path string
---@return string? text  nil when there is no such file
function tmp.read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read("a")
end

return setmetatable(tmp, {
  __gc = function()
    if root then os.execute("rm -rf " .. shell.quote(root)) end
  end,
})
