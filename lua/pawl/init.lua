--- Durable workflows: a crash, a power cut or a redeploy never loses a
--- finished step.
---
---     local pawl = require "pawl"
---     local engine <close> = assert(pawl.open "pawl.db")
---     assert(engine:load "order.lua")
---     local id = assert(engine:start("order.fulfil", { price = 3 }))
---     engine:run { id = id, wait = true }
local core = require "pawl.core"
local nearest = require "pawl.nearest"

local pawl = {
  _VERSION = "pawl " .. core.version(),
  version = core.version,
  null = core.null,
  array = core.array,
  json = { encode = core.json_encode, decode = core.json_decode },
}

local function field(module, name)
  return function() return require(module)[name] end
end

--- What builds workflows is not loaded where instances are only started, and
--- what opens a store not in the file of a workflow.
local later = {
  decimal = field("pawl.typed", "decimal"),
  date = field("pawl.typed", "date"),
  binary = field("pawl.typed", "binary"),
  workflow = field("pawl.workflow", "new"),
  open = field("pawl.engine", "open"),
  migrate = field("pawl.engine", "migrate"),
}

return nearest.strict(pawl, "pawl has no '%s'", later)
