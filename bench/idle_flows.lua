--- Workflows for latency.lua and idle.lua, with a step that tells when it is
--- done.
local pawl = require "pawl"

local flows = {}

--- bench.idle: one step.
---@param done fun()
function flows.step(done)
  local flow = pawl.workflow { code = "bench.idle", start = "only" }
  flow:step("only", { run = done, next = "done" })
  flow:finish "done"
  return flow
end

--- bench.signal: a wait for bench.go, then one step.
---@param done fun()
function flows.signal(done)
  local flow = pawl.workflow { code = "bench.signal", start = "wait" }
  flow:wait("wait", { event = "bench.go", next = "then" })
  flow:step("then", { run = done, next = "done" })
  flow:finish "done"
  return flow
end

--- bench.branches: so many steps beside each other, each of which waits that
--- long.
---@param n integer
---@param seconds number
function flows.branches(n, seconds)
  local flow = pawl.workflow { code = "bench.branches", start = "fork" }
  local next = {}
  for i = 1, n do next[i] = "step_" .. i end
  flow:fork("fork", { next = next })
  for _, name in ipairs(next) do
    flow:step(name, { next = "join", run = function(ctx)
      ctx.await(seconds)
      ctx.vars[name] = true
    end })
  end
  flow:join("join", { next = "done" })
  flow:finish "done"
  return flow
end

return flows
