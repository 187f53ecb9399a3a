-- A round of measurements on an appliance: as many branches as there are
-- sensors, four at a time, the results in order. A power cut in the middle
-- costs the readings under way, not those that are stored.
--
--   pawl run examples/sensors.lua --input '{"sensors":12,"broken":[3]}'
local pawl = require "pawl"

local sensors = pawl.workflow { code = "example.sensors", start = "look" }

-- What is connected is known only now.
sensors:step("look", {
  run = function(ctx)
    ctx.vars.ports = pawl.array {}
    for port = 1, ctx.input.sensors or 8 do
      ctx.vars.ports[port] = ("/dev/sensor%d"):format(port)
    end
  end,
  next = "measure",
})

sensors:each("measure", {
  items = function(ctx) return ctx.vars.ports end,
  branch = "read",
  window = 4,
  on_failure = "collect", -- one that does not answer spoils nothing
  into = "readings",
  next = "summary",
})

local function is_broken(ctx, number)
  for _, broken in ipairs(ctx.input.broken or {}) do
    if broken == number then return true end
  end
end

-- Runs once an item; its output is the item's result.
sensors:step("read", {
  retry = { max = 2, base = 0.05, jitter = 0 },
  run = function(ctx)
    local number = ctx.token.data.index
    if is_broken(ctx, number) then
      error { code = "no_answer",
        message = ctx.token.data.item .. " does not answer" }
    end
    return nil, { port = ctx.token.data.item, celsius = 20.0 + number / 2 }
  end,
  next = "measure",
})

sensors:step("summary", {
  run = function(ctx)
    local sum, good = 0, 0
    ctx.vars.silent = pawl.array {}
    for i, reading in ipairs(ctx.vars.readings) do
      if reading.error then
        table.insert(ctx.vars.silent, ctx.vars.ports[i])
      else
        sum, good = sum + reading.celsius, good + 1
      end
    end
    if good > 0 then ctx.vars.mean = sum / good end
  end,
  next = "done",
})

sensors:finish("done", {
  output = function(ctx)
    return { mean = ctx.vars.mean, count = #ctx.vars.readings,
      silent = ctx.vars.silent }
  end,
})

return sensors
