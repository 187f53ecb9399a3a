--- Durable workflows: a crash, a power cut or a redeploy never loses a
--- finished step.
---
---     local pawl = require "pawl"
---     local engine <close> = assert(pawl.open "pawl.db")
---     assert(engine:load "order.lua")
---     local id = assert(engine:start("order.fulfil", { price = 3 }))
---     engine:run { id = id, wait = true }
if _VERSION ~= "Lua 5.4" then
  error("pawl needs Lua 5.4, and this is " .. _VERSION
    .. ": run specs by `pawl test`", 0)
end

local core = require "pawl.core"
local later = require "pawl.later"
local nearest = require "pawl.nearest"

local pawl = {
  _VERSION = "pawl " .. core.version(),
  version = core.version,
  null = core.null,
  array = core.array,
  json = { encode = core.json_encode, decode = core.json_decode },
}

--- What builds workflows is not loaded where instances are only started, and
--- what opens a store not in the file of a workflow.
local typed, workflow, engine, game_clock = later "pawl.typed",
  later "pawl.workflow", later "pawl.engine", later "pawl.game_clock"

local function field(module, name)
  return function() return module()[name] end
end

return nearest.strict(pawl, "pawl has no '%s'", {
  decimal = field(typed, "decimal"),
  date = field(typed, "date"),
  binary = field(typed, "binary"),
  time = field(typed, "time"),
  workflow = field(workflow, "new"),
  open = field(engine, "open"),
  game_clock = field(game_clock, "new"),
  migrate = field(engine, "migrate"),
  migrations = field(engine, "migrations"),
  doctor = field(engine, "doctor"),
})
