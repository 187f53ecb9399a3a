--- Workflow files for specs of the command, as text.
local flows = {}

flows.hello = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.hello", start = "greet" }
flow:step("greet", {
  run = function(ctx)
    ctx.vars.greeting = "hello " .. (ctx.input.name or "world")
  end,
  next = "done",
})
flow:finish("done", {
  output = function(ctx) return { greeting = ctx.vars.greeting } end,
})
return flow
]]

flows.timer = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.timer", start = "before" }
flow:step("before", { run = function() end, next = "pause" })
flow:timer("pause", { after = 3600, next = "done" })
flow:finish "done"
return flow
]]

flows.fails = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.fails", start = "a" }
flow:step("a", {
  retry = { max = 2, base = 0.05, jitter = 0 },
  run = function() error { code = "no_luck", message = "not today" } end,
  next = "done",
})
flow:finish "done"
return flow
]]

flows.waits = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.waits", start = "w" }
flow:wait("w", { event = "go", key = "order", next = "z" })
flow:finish "z"
return flow
]]

-- Its child is an instance of flows.hello.
flows.calls = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.calls", start = "kid" }
flow:call("kid", { workflow = "t.hello", into = "kid", next = "z" })
flow:finish("z", { output = function(ctx) return ctx.vars.kid end })
return flow
]]

-- Of four items one fails twice; then what was done first is undone.
flows.undoes = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.undoes", start = "first" }
flow:step("first", { run = function() end, undo = function() end,
  next = "all" })
flow:each("all", { items = function() return { 1, 2, 3, 4 } end,
  window = 2, branch = "one", next = "z" })
flow:step("one", { retry = { max = 2, base = 0.05, jitter = 0 },
  run = function(ctx)
    if ctx.token.data.item == 3 then error "no" end
  end, next = "all" })
flow:finish "z"
return flow
]]

-- Each run of a step leaves a line in the file `ran`.
flows.counted = [[
local pawl = require "pawl"
local function note(text)
  local file <close> = assert(io.open("ran", "a"))
  file:write(text, "\n")
end
local flow = pawl.workflow { code = "t.counted", start = "first" }
flow:step("first", { run = function() note "first" end, next = "slow" })
flow:step("slow", {
  run = function()
    note "slow"
    -- not os.execute: while that runs, SIGINT is ignored
    local until_ = os.clock() + 0.4
    while os.clock() < until_ do end
  end,
  next = "last",
})
flow:step("last", { run = function() note "last" end, next = "done" })
flow:finish "done"
return flow
]]

--- Three hundred steps, of whose history a hundred rows are kept.
flows.long = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.long", start = "a",
  keep_history = 100 }
flow:step("a", { run = function(ctx)
  ctx.vars.n = (ctx.vars.n or 0) + 1
  return ctx.vars.n < 300 and "again" or "out"
end, next = { again = "a", out = "done" } })
flow:finish "done"
return flow
]]

flows.broken = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.broken", start = "one" }
flow:step("one", { run = function() end, next = "twoo" })
flow:finish "two"
return flow
]]

flows.branches = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "t.branches", start = "a" }
flow:step("a", {
  run = function() end, on_error = { bad = "z" }, next = "c",
})
flow:choice("c", {
  choose = function() return "yes" end,
  next = { yes = "t", ['no "way"'] = "z" },
})
flow:timer("t", { after = 0, next = "z" })
flow:finish "z"
return flow
]]

return flows
