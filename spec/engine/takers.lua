--- Instances that wait for jobs with the key "q", of which one takes each.
local pawl = require "pawl"

local takers = {}

--- One wait, for 30 days, whose output is the job's.
---@param more? table  options of the wait
---@param code? string
function takers.flow(more, code)
  local flow = pawl.workflow { code = code or "t.one" }
  local options = { event = "job", key = "queue", into = "job", take = "one",
    next = { received = "z", timeout = "late" }, timeout = "30d" }
  for name, value in pairs(more or {}) do options[name] = value end
  flow:wait("w", options)
  flow:finish "late"
  flow:finish("z", { output = function(ctx) return ctx.vars.job end })
  return flow
end

--- So many that wait.
local function begin(engine, n, code)
  local ids = {}
  for i = 1, n do
    ids[i] = assert(engine:start(code or "t.one", { queue = "q" }))
  end
  assert(engine:run())
  return ids
end

--- What those have got that have ended, in order.
local function got(engine, ids)
  local list = {}
  for _, id in ipairs(ids) do
    local instance = assert(engine:get(id))
    if instance.status == "completed" then
      list[#list + 1] = instance.output
    end
  end
  table.sort(list)
  return list
end

--- What specs of them do, by the engine that `current` gives; it is given a new
--- one, with its clock and its store's URL.
---   begun(n, flow, code)  so many that wait, in a store of their own unless
---                         `flow` is false: their ids
---   job(n, id)            sends one; how many it reached
---   got(ids)              what those have got that have ended, in order
---@param current fun(...): pawl.Engine
function takers.on(backend, current)
  return function(n, flow, code)
    if flow ~= false then
      current(backend.fresh())
      assert(current():load(flow or takers.flow()))
    end
    return begin(current(), n, code)
  end, function(n, id)
    return (assert(current():signal { name = "job", key = "q", data = n,
      id = id }))
  end, function(ids) return got(current(), ids) end
end

return takers
