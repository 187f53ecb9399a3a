-- W5 of the bench: what is due much later.
local pawl = require "pawl"

local flow = pawl.workflow { code = "bench.tomorrow", start = "later" }

flow:timer("later", { after = "1d", next = "done" })

flow:finish("done")

return flow
