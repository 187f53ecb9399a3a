--- What specs of breakpoints share: a workflow, and what has halted.
local kit = require "spec.engine.kit"
local pawl = require "pawl"

local halts = { ran = {} }

--- a, b, c, then z; each notes that it ran.
function halts.chain()
  local runs = {}
  for i, name in ipairs { "a", "b", "c" } do
    runs[i] = function(ctx)
      halts.ran[#halts.ran + 1] = name
      ctx.vars.total = (ctx.input.total or 0) + i
    end
  end
  return kit.chain(runs)
end

--- Two branches: of steps, and of a timer and a step.
function halts.forked()
  local flow = pawl.workflow { code = "t.chain" }
  local function noted(name)
    return function() halts.ran[#halts.ran + 1] = name end
  end
  flow:fork("f", { next = { "a", "t" } })
  flow:step("a", { run = noted "a", next = "b" })
  flow:step("b", { run = noted "b", next = "j" })
  flow:timer("t", { after = "10m", next = "c" })
  flow:step("c", { run = noted "c", next = "j" })
  flow:join("j", { next = "z" })
  flow:finish "z"
  return flow
end

--- A breakpoint of ann's.
function halts.set(engine, node, more)
  local options = { workflow = "t.chain", node = node, by = "ann" }
  for name, value in pairs(more or {}) do options[name] = value end
  return assert(engine.breakpoints:set(options))
end

--- One that was begun, and has gone as far as it goes.
function halts.begun(engine, input, options)
  local id = assert(engine:start("t.chain", input or {}, options))
  assert(engine:run())
  return id
end

--- The nodes where it has halted: "a b".
function halts.at(engine, id)
  local nodes = {}
  for _, token in ipairs(assert(engine:explain(id)).tokens) do
    if token.waiting_for.what == "breakpoint" then
      nodes[#nodes + 1] = token.node
    end
  end
  table.sort(nodes)
  return table.concat(nodes, " ")
end

--- The first token that has halted.
function halts.token(engine, id)
  for _, token in ipairs(assert(engine:explain(id)).tokens) do
    if token.waiting_for.what == "breakpoint" then return token.no end
  end
end

return halts
