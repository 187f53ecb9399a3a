--- Workflows of an each over the branches, or children, of its items: what the
--- specs of it share.
local pawl = require "pawl"

local fans = {}

--- each, then z, which gives the variables; `nodes` are those of the branch,
--- each { kind, name, options }. The first is where an item begins.
function fans.fan(nodes, each, options)
  local given = { code = "t.each", start = "each" }
  for key, value in pairs(options or {}) do given[key] = value end
  local flow = pawl.workflow(given)
  local node = { items = function(ctx) return ctx.input.items end,
    branch = nodes[1] and nodes[1][2], into = "got", next = "z" }
  for key, value in pairs(each or {}) do node[key] = value end
  flow:each("each", node)
  for _, one in ipairs(nodes) do flow[one[1]](flow, one[2], one[3]) end
  flow:finish("z", { output = function(ctx) return ctx.vars end })
  return flow
end

--- A branch of one step that gives what `run` returns.
function fans.one(run, more)
  local options = { next = "each", run = function(ctx)
    return nil, run(ctx.token.data.item, ctx)
  end }
  for key, value in pairs(more or {}) do options[key] = value end
  return { "step", "item", options }
end

return fans
