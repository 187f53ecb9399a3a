-- Five steps in a row.
local pawl = require "pawl"
local work = require "spec.support.torture.work"

local flow = pawl.workflow { code = "t.seq", start = "a" }
local nodes = { "a", "b", "c", "d", "e", "done" }
for i = 1, #nodes - 1 do
  flow:step(nodes[i], { run = work.step, retry = work.retry,
    next = nodes[i + 1] })
end
flow:finish "done"
return flow
