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

local function add_files(left, path)
  for _, suffix in ipairs { "", "-wal", "-shm", "-pawl-lock" } do
    local file <close> = io.open(path .. suffix)
    if file then left[#left + 1] = path .. suffix end
  end
end

--- The files of stores that are there under these names, on disk or in memory.
local function files(names)
  local left = {}
  for _, name in ipairs(names) do
    add_files(left, name)
    add_files(left, "/dev/shm/pawl" .. name:gsub("[^%w]", "_"))
  end
  return left
end

--- Runs something that makes stores of the kit's own, some at least; what is
--- left of them then.
---@param backend spec.Backend
---@param store? string  the database
---@param fn fun()
---@return string[] left
function scenarios.left_by(backend, store, fn)
  local tmpname, names = os.tmpname, {}
  rawset(os, "tmpname", function()
    names[#names + 1] = tmpname()
    return names[#names]
  end)
  local ok, err = pcall(fn)
  rawset(os, "tmpname", tmpname)
  if not ok then error(err, 0) end
  if backend.name == "sqlite" then
    assert(#names > 0, "no store was made")
    return files(names)
  end
  local left = {}
  for i, row in ipairs(backend.sql(store, "select nspname from pg_namespace "
    .. "where nspname like 'pawl_spec_%'")) do
    left[i] = row.nspname or row[1]
  end
  return left
end

return scenarios
