-- Runs what its input says: statements are an activity, a sequence, or
-- branches side by side. A branch is an instance of this same workflow, so
-- they nest; when one fails, the others are cancelled.
--
--   { variables = { who = "Ada" }, root = { sequence = {
--     { activity = "greet", arguments = { "who" }, result = "greeting" },
--     { parallel = { { activity = ... }, { sequence = { ... } } } } } } }
--
-- Temporal, samples-go, dsl/workflow.go: 127 lines, and 33 in activities.go.
local pawl = require "pawl"

-- A program of more statements in a row is suspended: does it ever end?
local dsl = pawl.workflow { code = "peers.dsl", busy_limit = 1000 }

local activities = {
  greet = function(who) return "Hello, " .. who end,
  shout = function(text) return text:upper() .. "!" end,
  join = function(a, b) return a .. " " .. b end,
}

dsl:step("begin", {
  run = function(ctx)
    ctx.vars.bindings = ctx.input.variables
    ctx.vars.stack = pawl.array { ctx.input.root }
  end,
})

-- One activity at a time: each is stored before the next begins.
dsl:step("execute", {
  run = function(ctx)
    local stack, bindings = ctx.vars.stack, ctx.vars.bindings
    local statement = table.remove(stack)
    while statement and statement.sequence do
      for i = #statement.sequence, 1, -1 do
        table.insert(stack, statement.sequence[i])
      end
      statement = table.remove(stack)
    end
    if not statement then return "done" end
    ctx.vars.branches = statement.parallel
    if statement.parallel then return "parallel" end
    local arguments = {}
    for i, name in ipairs(statement.arguments) do
      arguments[i] = bindings[name]
    end
    local result = activities[statement.activity](table.unpack(arguments))
    if statement.result then bindings[statement.result] = result end
    return "more"
  end,
  next = { more = "execute", parallel = "parallel", done = "done" },
})

dsl:each("parallel", {
  items = function(ctx)
    local branches = pawl.array {}
    for i, branch in ipairs(ctx.vars.branches) do
      branches[i] = { variables = ctx.vars.bindings, root = branch }
    end
    return branches
  end,
  workflow = "peers.dsl",
  into = "branches",
})

dsl:step("merge", {
  run = function(ctx)
    for _, bindings in ipairs(ctx.vars.branches) do
      for name, value in pairs(bindings) do
        ctx.vars.bindings[name] = value
      end
    end
  end,
  next = "execute",
})

dsl:finish("done", { output = function(ctx) return ctx.vars.bindings end })

return dsl
