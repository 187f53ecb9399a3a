--- What the specs of pruning run, and what they read in a report.
local pawl = require "pawl"

local pruning = {}

--- A workflow of one step that fails when its input says so.
function pruning.mixed(code, options)
  local given = { code = code, start = "a" }
  for name, value in pairs(options or {}) do given[name] = value end
  local flow = pawl.workflow(given)
  flow:step("a", { next = "z", retry = false, run = function(ctx)
    if ctx.input.fail then error "no" end
    ctx.attrs.colour = "red"
    if ctx.input.emit then ctx.emit("told", {}) end
  end })
  flow:finish "z"
  return flow
end

function pruning.run(engine, code, input, options)
  local id = assert(engine:start(code, input or {}, options))
  assert(engine:run())
  return id
end

--- What a report removed, by kind; only what is not 0. Executors that the
--- clock has left behind are told when they are asked for.
function pruning.removed(report, executors)
  local found = {}
  for kind, of in pairs(report) do
    if type(of) == "table" and of.removed > 0
      and (executors or kind ~= "executors") then
      found[kind] = of.removed
    end
  end
  return found
end

return pruning
