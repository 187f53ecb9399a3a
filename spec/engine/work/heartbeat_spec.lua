-- Leases are kept by a helper thread while a handler blocks.
local kit = require "spec.engine.kit"
local system = require "system"

kit.describe("a lease while a handler blocks", function(backend)
  --- Real time passes; the handler looks until the lease was renewed, for at
  --- most so long.
  local function renewed(options, seconds)
    local url = backend.url()
    local engine = backend.open(url, options)
    local other = backend.open(url)
    local seen
    assert(engine:load(kit.one(function(ctx)
      local function ends()
        local lease = assert(other:get(ctx.id)).lease
        return lease and lease["until"]
      end
      local first, began = ends(), system.monotime()
      repeat
        system.sleep(0.02)
        seen = ends() ~= first
      until seen or system.monotime() - began > seconds
    end)))
    local id = assert(engine:start "t.one")
    assert(engine:run())
    return seen, kit.status(other, id)
  end

  it("is renewed", function()
    local seen, status = renewed({ heartbeat_thread = true, lease = 3,
      heartbeat = 0.1 }, 20)
    assert.is_true(seen)
    assert.equal("completed", status)
  end)

  it("is not, where no thread was asked for", function()
    local seen = renewed({ lease = 3, heartbeat = 0.1 }, 0.5)
    assert.is_false(seen)
  end)
end)
