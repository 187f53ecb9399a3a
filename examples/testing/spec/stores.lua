--- Where the specs keep their state: in memory; where SHOP_STORE names a
--- database of PostgreSQL, there, each time in a schema of its own.
local test = require "pawl.testing"

local stores = {}

local url = os.getenv "SHOP_STORE"

-- For what runs a scenario many times: nil is its own choice.
stores.url = url

--- So many times, or fewer on a server.
function stores.times(n, fewer) return url and fewer or n end

--- An engine for a spec, and its clock.
function stores.engine(options)
  if url then
    options.store = url -- each file of specs has a `stores` of its own
    options.schema = ("shop_%d_%d"):format(os.time(),
      math.floor(os.clock() * 1e6))
  end
  return test.engine(options)
end

return stores
