-- Works on a resource while no other instance does: see mutex.lua.
local pawl = require "pawl"

local user = pawl.workflow { code = "peers.mutex_user" }

local function unlock(ctx)
  ctx.signal { name = "mutex.unlocked", key = ctx.id }
end

-- The first who wants a resource makes its mutex; others find that one by its
-- key. Who fails or is cancelled unlocks, even while he waits for his turn.
user:step("ask", {
  run = function(ctx)
    local resource = ctx.input.resource
    ctx.start("peers.mutex", { resource = resource },
      { key = resource, reuse = "ended", track = false })
    ctx.signal { name = "mutex.wanted", key = resource, data = ctx.id }
  end,
  undo = unlock,
})

user:wait("locked", { event = "mutex.locked" })

user:timer("work", { after = "10s" })

user:step("unlock", { run = unlock })

return user
