--- Where the specs keep their state: in memory; where SHOP_STORE names a
--- database of PostgreSQL, there, each time in a schema of its own.
local test = require "pawl.testing"

local stores = {}

local url = os.getenv "SHOP_STORE"
local made = 0

--- An empty store.
---@return string url
---@return table options
local function new()
  made = made + 1
  return url, { schema = ("shop_%d_%d"):format(os.time(), made) }
end

-- For what runs a scenario many times; nil: it makes stores itself.
stores.new = url and new or nil

--- So many times, or fewer where an empty store takes a while.
function stores.times(n, fewer) return url and fewer or n end

--- An engine for a spec, and its clock.
function stores.engine(options)
  if url then
    local more
    options.store, more = new()
    options.schema = more.schema
  end
  return test.engine(options)
end

return stores
