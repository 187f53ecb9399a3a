-- Very many records, so many at once: as soon as one is done the next begins.
-- Each is an instance of its own (sliding_window_record.lua), which any worker
-- may take. `pawl explain ID` tells how far it is.
--
-- Temporal, samples-go, batch-sliding-window, batch_workflow.go,
-- sliding_window_workflow.go and record_processor_workflow.go: 285 lines.
local pawl = require "pawl"

local batch = pawl.workflow {
  code = "peers.sliding_window",
  input = { records = "integer 1..10000" },
}

batch:each("records", {
  items = function(ctx)
    local records = pawl.array {}
    for i = 1, ctx.input.records do records[i] = { record = i } end
    return records
  end,
  workflow = "peers.sliding_window_record",
  window = 20,
  into = "results",
})

batch:finish("done", {
  output = function(ctx)
    local sum = 0
    for _, seconds in ipairs(ctx.vars.results) do sum = sum + seconds end
    return { records = #ctx.vars.results, seconds = sum }
  end,
})

return batch
