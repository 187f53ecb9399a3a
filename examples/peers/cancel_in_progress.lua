-- Of each group the newest alone is run: a build, say, which a newer commit
-- makes needless. Who starts it says that it takes the place of what is there;
-- that hears of it where it waits, and cleans up.
--
--   engine:start("peers.cancel_in_progress", { group = "main" },
--     { key = "main", reuse = "ended", on_existing = "replace" })
--
-- Hatchet, examples/python/concurrency_cancel_in_progress/worker.py: 28 lines.
local pawl = require "pawl"

local build = pawl.workflow {
  code = "peers.cancel_in_progress",
  input = { group = "string" },
}

--- Five seconds of work, in small pieces.
local function work(ctx)
  for _ = 1, 50 do ctx.await(0.1) end
end

build:step("compile", { run = work })
build:step("test", { run = work })

return build
