--- A workflow that takes event after event, and what it has taken: for the
--- specs of very many events.
local pawl = require "pawl"

local box = {}

--- Takes `input.n` events "put", noting each one's `seq`. With a timeout it
--- notes that too. `wait` and `flow` are more of the wait's, of the workflow's.
function box.flow(code, wait, flow)
  local given, node = { code = code, start = "next" },
    { event = "put", next = "apply" }
  for key, value in pairs(flow or {}) do given[key] = value end
  for key, value in pairs(wait or {}) do node[key] = value end
  local made = pawl.workflow(given)
  made:wait("next", node)
  made:step("apply", {
    run = function(ctx)
      local got = ctx.vars.got or pawl.array {}
      got[#got + 1] = ctx.event.data.seq
      ctx.vars.got = got
      return #got < ctx.input.n and "more" or "no"
    end,
    next = { more = "next", no = "z" },
  })
  if node.timeout then
    made:step("late", { run = function(ctx) ctx.vars.late = true end,
      next = "z" })
  end
  made:finish("z", { output = function(ctx) return ctx.vars end })
  return made
end

--- What an instance of it has noted, in order.
function box.got(engine, id)
  local list = {}
  for i, n in ipairs(assert(engine:get(id)).variables.got or {}) do
    list[i] = n
  end
  return list
end

--- What it notes when it misses none: the numbers from one to another.
function box.numbers(from, to)
  local list = {}
  for i = from, to do list[#list + 1] = i end
  return list
end

return box
