--- What the specs of the outbox share: workflows that emit, and who receives.
local kit = require "spec.engine.kit"

local emitted = {}

--- A workflow whose step emits e1, e2... `n` of them, or as its input says.
function emitted.emitter(n, options)
  return kit.one(function(ctx)
    for i = 1, ctx.input.n or n or 1 do
      ctx.emit("e" .. i, { i = i })
    end
  end, options)
end

--- An engine with `instances` that have emitted `n` events each.
function emitted.filled(backend, instances, n, options)
  local engine, clock, url = backend.fresh(options)
  assert(engine:load(emitted.emitter(n)))
  local ids = {}
  for i = 1, instances do ids[i] = assert(engine:start "t.one") end
  assert(engine:run())
  return engine, clock, ids, url
end

--- A receiver: takes what it is given, as `answer` says.
function emitted.receiver(answer)
  local got = { list = {} }
  got.publish = function(event, id, attempt, again)
    got.list[#got.list + 1] = event
    got[#got + 1] = id
    if answer then return answer(event, id, attempt, again) end
    return true
  end

  function got.types()
    local names = {}
    for i, event in ipairs(got.list) do names[i] = event.type end
    return table.concat(names, " ")
  end
  return got
end

function emitted.relay(engine, publish, options)
  local given = { publish = publish }
  for key, value in pairs(options or {}) do given[key] = value end
  return assert(engine.outbox:relay(given))
end

--- "1:dead 2:waiting", in the order of the list.
function emitted.states(engine, query)
  local words = {}
  for i, row in ipairs(assert(engine.outbox:list(query))) do
    words[i] = ("%d:%s"):format(row.seq, row.state)
  end
  return table.concat(words, " ")
end

return emitted
