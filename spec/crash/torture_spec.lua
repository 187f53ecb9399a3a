--- Everything at once: mixed workflows and impatient clients, while workers
--- are killed and stopped, connections cut, servers restarted. A short form of
--- ./dev torture, which runs for an hour.
local Cluster = require "spec.support.cluster"
local process = require "spec.support.process"
local stores = require "spec.support.torture.stores"
local Wave = require "spec.support.torture.wave"

local seed = tonumber(os.getenv "PAWL_SEED") or os.time() % 1000000

local function torture(name)
  local store = stores[name]()
  finally(function()
    process.stop_all()
    store.forget()
    store.stop()
  end)
  store.start()
  store.renew()
  local wave = Wave.new(store, { seed = seed, n = 70, span = 7 })
  local found = wave:run()
  assert.equal(0, #found, ("PAWL_SEED=%d on %s\n%s\n%s"):format(seed, name,
    table.concat(found, "\n"), wave:story()))
end

describe("tortured", function()
  it("SQLite loses and doubles nothing", function() torture "sqlite" end)

  if not Cluster.wanted then
    pending "PAWL_TEST_PG is not set"
    return
  end
  it("PostgreSQL loses and doubles nothing", function()
    torture "postgres"
  end)

  if not os.execute "command -v pgbouncer >/dev/null" then
    io.stderr:write "pgbouncer is not installed: POOLERS ARE NOT TESTED\n"
    pending "pgbouncer is not installed"
    return
  end
  it("PostgreSQL behind a pooler loses and doubles nothing", function()
    torture "pooler"
  end)
end)
