--- Durable workflows: a crash, a power cut or a redeploy never loses a
--- finished step.
---
---     local pawl = require "pawl"
---     local engine <close> = assert(pawl.open "pawl.db")
---     assert(engine:load "order.lua")
---     local id = assert(engine:start("order.fulfil", { price = 3 }))
---     engine:run { id = id, wait = true }
local core = require "pawl.core"
local engine = require "pawl.engine"
local nearest = require "pawl.nearest"
local typed = require "pawl.typed"
local workflow = require "pawl.workflow"

local pawl = {
  _VERSION = "pawl " .. core.version(),
  version = core.version,
  null = core.null,
  array = core.array,
  json = { encode = core.json_encode, decode = core.json_decode },
  decimal = typed.decimal,
  date = typed.date,
  binary = typed.binary,
  workflow = workflow.new,
  open = engine.open,
  migrate = engine.migrate,
}

return nearest.strict(pawl, "pawl has no '%s'")
