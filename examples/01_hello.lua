-- The smallest workflow: two steps, one variable, one output.
--
--   pawl run examples/01_hello.lua --input '{"name":"Ada"}'
local pawl = require "pawl"

local hello = pawl.workflow { code = "example.hello", start = "greet" }

hello:step("greet", {
  run = function(ctx)
    ctx.vars.greeting = ("Hello, %s!"):format(ctx.input.name or "world")
  end,
  next = "shout",
})

hello:step("shout", {
  run = function(ctx) ctx.vars.greeting = ctx.vars.greeting:upper() end,
  next = "done",
})

hello:finish("done", {
  output = function(ctx) return { greeting = ctx.vars.greeting } end,
})

return hello
