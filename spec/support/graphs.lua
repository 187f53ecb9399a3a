--- Random workflows of every kind of node, as data that can be cut down and
--- written out as Lua.
---
--- A case is what a seed stands for:
---   flows   the workflow, and those that it calls: start, nodes, options
---   story   what happens to it meanwhile; see spec/support/play.lua
--- A node has a name, a kind, `ways` (a list of { name, to }; the name is ""
--- where there is a single `next`), by need `errors` (the same, of on_error)
--- and `branch`, and what its handlers and options are made of.
---
--- A wait for a condition is opened by the variable "open_NAME", or by the step
--- that it `sees`.
---
--- Graphs are drawn from their end to their start: each part is given the node
--- that it leads to. So all of them are well formed, which the checker is
--- asked to agree with.
local Random = require "pawl.testing.random"

-- GROUP: of executors that some children are given to.
local graphs = { GROUP = "night" }

---@class spec.Way
---@field name string
---@field to string

---@class spec.Node
---@field name string
---@field kind string
---@field ways spec.Way[]
---@field errors spec.Way[]?
---@field branch string?
---@field beside spec.Beside[]?

--- A boundary: named "NODE.on_timer" or "NODE.on_event", a second one of those
--- "NODE.on_timer_2".
---@class spec.Beside
---@field field "on_timer"|"on_event"
---@field event string?
---@field after integer?
---@field every integer?
---@field is_lane boolean?  it does not interrupt
---@field ways spec.Way[]  none: its lane is a `run`

---@class spec.DrawnFlow
---@field start string
---@field nodes spec.Node[]
---@field options table

---@class spec.Case
---@field seed integer
---@field flows spec.DrawnFlow[]
---@field story table[]
---@field starts table      options that the main instance is started with
---@field is_wild boolean?  its graph was changed at random and may not end

---- drawing -----------------------------------------------------------------

---@class spec.Pen
---@field random pawl.Random
---@field nodes spec.Node[]
---@field left integer      nodes that may still be drawn
---@field depth integer     of forks
---@field in_each boolean?   within a branch of an each
---@field nflows integer    that may be called, from 2 on
---@field made integer

local EVENTS = { "pay.card", "pay.cash", "sent", "seen" }
local PATTERNS = { ["pay.card"] = "pay.*", ["pay.cash"] = "pay.*" }

local function add(pen, kind, fields)
  pen.made = pen.made + 1
  pen.left = pen.left - 1
  fields.name, fields.kind = kind .. pen.made, kind
  fields.ways = fields.ways or {}
  pen.nodes[#pen.nodes + 1] = fields
  return fields
end

local function single(to) return { { name = "", to = to } } end

local function way(ways, name, to)
  ways[#ways + 1] = { name = name, to = to }
end

local function draw_finish(pen, how)
  local random = pen.random
  return add(pen, "finish", {
    failed = how == "failed" or nil,
    terminate = how == "terminate" or nil,
    output = random:chance(50) or nil,
  }).name
end

--- Some end of a side way: mostly the one that the main way has.
local function side(pen, to)
  local random = pen.random
  if random:chance(55) then return to end
  local how = random:weighted { plain = 10, failed = 6, terminate = 2 }
  return draw_finish(pen, how)
end

--- What may go wrong at a node, and what follows.
local function draw_failing(pen, node, to, code)
  local random = pen.random
  if random:chance(50) then
    node.errors = { { name = random:chance(70) and code or "*",
      to = side(pen, to) } }
  end
end

local function draw_undo(pen, node)
  local random = pen.random
  if not random:chance(45) then return end
  node.undo = true
  if random:chance(25) then node.undo_fails = random:upto(4) end
  if random:chance(25) then node.undo_awaits = 0.01 end
end

local draw_chain

local function draw_boundary(pen, to)
  local random = pen.random
  local one = { field = random:pick { "on_timer", "on_event" }, ways = {} }
  if one.field == "on_event" then
    one.event = random:pick(EVENTS)
    one.key = random:chance(60) or nil
    one.typed = random:chance(20) or nil
    one.match = random:chance(20) or nil
    one.into = random:chance(30) or nil
  else
    one.after = random:pick { 3, 700, 9000 }
  end
  if random:chance(50) then
    one.ways = single(side(pen, to))
    return one
  end
  one.is_lane = true
  if one.after and random:chance(50) then
    one.every = random:pick { 900, 7200 }
  elseif pen.left > 2 and random:chance(40) then
    one.ways = single(draw_chain(pen, draw_finish(pen, "plain"), 2))
  end
  return one
end

--- What is on a node while a token stands there.
local function draw_beside(pen, node, to)
  local random = pen.random
  if not random:chance(18) then return end
  node.beside = { draw_boundary(pen, to) }
  while #node.beside < 3 and random:chance(30) do
    node.beside[#node.beside + 1] = draw_boundary(pen, to)
  end
end

local function draw_step(pen, to)
  local random = pen.random
  local node = add(pen, "step", { ways = single(to) })
  if random:chance(25) then
    node.fails = random:upto(3)
    node.attempts = random:chance(85) and node.fails + 1
      or random:upto(node.fails)
    node.never = random:chance(15) or nil
    if random:chance(10) then node.on_exhausted = "suspend" end
    node.tells = random:chance(40) or nil
    draw_failing(pen, node, to, "oops")
    draw_beside(pen, node, to)
  elseif pen.in_each and random:chance(15) then
    node.item_fails = random:upto(3)
    draw_failing(pen, node, to, "bad_item")
  end
  draw_undo(pen, node)
  if random:chance(10) then
    node.transactional = true
  elseif random:chance(35) then
    node.awaits = random:pick { 0.01, 0.3, 5 }
  end
  if random:chance(15) then node.emits = true end
  if random:chance(20) then node.into = true end
  node.reads = random:chance(40) or nil -- settle_reads
  if pen.nflows > 1 and random:chance(5) then
    node.starts = random:between(2, pen.nflows)
    node.parent_end = random:pick { "cancel", "leave" }
  end
  return node.name
end

local function draw_choice(pen, to)
  local random, ways = pen.random, {}
  for i = 1, random:between(2, 3) do
    way(ways, "way" .. i, i == 1 and to or draw_chain(pen, side(pen, to), 2))
  end
  return add(pen, "choice", { ways = ways, turn = random:upto(6) }).name
end

--- Back to its first step, until that has run so many times. Items that share
--- the count may each see what the other made of it, so patience ends.
local function draw_loop(pen, to)
  local again = add(pen, "choice", { every = pen.random:between(2, 3) })
  local first = add(pen, "step",
    { ways = single(draw_chain(pen, again.name, 3)) })
  again.count = first.name
  again.ways = { { name = "on", to = to }, { name = "again", to = first.name } }
  return first.name
end

local function draw_timer(pen, to)
  return add(pen, "timer", { ways = single(to),
    after = pen.random:pick { 0, 1, 60, 7200 },
    at = pen.random:chance(25) or nil,
    computed = pen.random:chance(30) or nil,
    moved = pen.random:chance(20) and pen.random:pick(EVENTS) or nil }).name
end

--- A time that it gives up at, and what follows. `met`: the other way's name.
local function draw_limit(pen, node, to, met)
  local random = pen.random
  if not random:chance(40) then return end
  node.timeout = random:pick { 5, 600, 90000 }
  node.computed = random:chance(30) or nil
  node.moved = random:chance(25) and random:pick(EVENTS) or nil
  node.ignored = random:chance(50) or nil
  if random:chance(70) then
    node.ways = { { name = met, to = to },
      { name = "timeout", to = side(pen, to) } }
  else
    node.errors = { { name = "timeout", to = side(pen, to) } }
  end
end

--- Until it is opened from outside, or some step, perhaps behind it, has run so
--- many times.
local function draw_condition(pen, to)
  local random = pen.random
  local step = random:pick(pen.nodes)
  local node = add(pen, "wait", { condition = true, ways = single(to),
    sees = step.kind == "step" and step.name or nil,
    least = random:upto(2) })
  draw_limit(pen, node, to, "met")
  draw_beside(pen, node, to)
  return node.name
end

--- The checker refuses one that surely takes what is to move its time.
local function takes_its_mover(node)
  return node.moved == (node.pattern or node.event) and node.key == "order"
    and not (node.match or node.into or node.typed or node.takes_one)
end

local function draw_wait(pen, to)
  local random = pen.random
  if random:chance(25) then return draw_condition(pen, to) end
  local event = random:pick(EVENTS)
  local node = add(pen, "wait", { event = event, ways = single(to),
    pattern = random:chance(30) and PATTERNS[event] or nil,
    key = random:weighted { order = 4, handler = 1, none = 2, token = 1 },
    match = random:chance(20) or nil, into = random:chance(30) or nil })
  node.takes_one = node.key ~= "none" and random:chance(25) or nil
  node.typed = random:chance(30) or nil
  draw_limit(pen, node, to, "received")
  if takes_its_mover(node) then node.moved = nil end
  draw_undo(pen, node)
  draw_beside(pen, node, to)
  if node.key ~= "token" then return node.name end
  return add(pen, "step", { ways = single(node.name),
    token = { event = event, at = node.name } }).name
end

local function draw_task(pen, to)
  local random = pen.random
  local node = add(pen, "task", { into = random:chance(30) or nil,
    prepare = random:chance(20) or nil, signal = random:chance(20) or nil,
    assignee = random:chance(20) or nil, typed = random:chance(30) or nil })
  if random:chance(50) then
    node.ways = single(to)
  else
    way(node.ways, "approved", to)
    way(node.ways, "rejected", side(pen, to))
  end
  if random:chance(40) then
    node.due = random:pick { 30, 4000 }
    if #node.ways > 1 and random:chance(50) then
      way(node.ways, "overdue", side(pen, to))
      node.ignored = random:chance(50) or nil
    elseif random:chance(50) then
      node.escalate = true
    end
  end
  if random:chance(30) then
    node.timeout = random:pick { 60, 5000 }
    node.moved = node.timeout >= 5000 and EVENTS[1] or nil
    node.computed = random:chance(30) or nil
    node.ignored = random:chance(50) or nil
    if #node.ways > 1 then
      way(node.ways, "timeout", side(pen, to))
    else
      node.errors = { { name = "timeout", to = side(pen, to) } }
    end
  end
  if #node.ways > 1 and random:chance(30) then
    way(node.ways, "failed", side(pen, to))
    node.person_fails = true
  end
  draw_undo(pen, node)
  draw_beside(pen, node, to)
  return node.name
end

--- The branches meet in one join, or the first two meet first. Some end on
--- their own.
local function draw_fork(pen, to)
  local random = pen.random
  local after = add(pen, "step", { ways = single(to) })
  local join = add(pen, "join", { ways = single(after.name) })
  local fork = add(pen, "fork", {})
  local n, part = random:between(2, 4), nil
  pen.depth = pen.depth + 1
  if n > 2 and random:chance(30) then
    part = add(pen, "join", {
      ways = single(draw_step(pen, join.name)) }).name
  end
  local coming = part and n - 1 or n
  for i = 1, n do
    local target = part and i <= 2 and part or join.name
    if not part and coming > 2 and random:chance(15) then
      target, coming = draw_finish(pen, "plain"), coming - 1
    end
    way(fork.ways, "b" .. i, random:chance(90)
      and draw_chain(pen, target, 3) or target)
  end
  pen.depth = pen.depth - 1
  draw_beside(pen, fork, to)
  if random:chance(40) then
    join.expect = random:chance(50) and "any" or random:upto(coming)
    join.losers = random:pick { "run", "cancel" }
  end
  local before = add(pen, "step", { ways = single(fork.name) })
  join.before, join.after, join.whole = before.name, after.name, fork.name
  return before.name
end

local function draw_call(pen, to)
  local random = pen.random
  local node = add(pen, "call", { flow = random:between(2, pen.nflows),
    ways = single(to), into = random:chance(30) or nil,
    input = random:chance(30) and "handler" or nil,
    parent_end = random:pick { "cancel", "leave" },
    group = random:chance(15) and graphs.GROUP or nil,
    priority = random:chance(20) and random:between(-3, 3) or nil })
  if random:chance(50) then
    node.ways = { { name = "completed", to = to },
      { name = "failed", to = side(pen, to) },
      { name = "cancelled", to = side(pen, to) } }
    if random:chance(30) then
      node.timeout = random:pick { 20, 10000 }
      node.moved = node.timeout >= 5000 and EVENTS[1] or nil
      node.computed = random:chance(30) or nil
      way(node.ways, "timeout", side(pen, to))
    end
  elseif random:chance(60) then
    node.errors = { { name = "*", to = side(pen, to) } }
  end
  draw_undo(pen, node)
  draw_beside(pen, node, to)
  return node.name
end

local function draw_each(pen, to)
  local random = pen.random
  local node = add(pen, "each", { ways = single(to),
    items = random:between(0, 5), window = random:upto(3),
    on_failure = random:pick { "stop", "collect" },
    into = random:chance(60) or nil })
  if random:chance(25) then
    node.on_failure, node.tolerate = nil, random:pick { 1, 2, "25%", "60%" }
  end
  if random:chance(25) then node.enough = random:between(1, 3) end
  if pen.nflows > 1 and random:chance(40) then
    node.flow = random:between(2, pen.nflows)
    node.parent_end = random:pick { "cancel", "leave" }
    node.group = random:chance(15) and graphs.GROUP or nil
    node.priority = random:chance(20) and random:between(-3, 3) or nil
  else
    local outer = pen.in_each
    pen.depth, pen.in_each = pen.depth + 1, true
    node.branch = draw_chain(pen, node.name, 3)
    pen.depth, pen.in_each = pen.depth - 1, outer
  end
  if random:chance(15) then
    node.timeout = random:pick { 100, 20000 }
    node.moved = node.timeout >= 5000 and EVENTS[1] or nil
    node.computed = random:chance(30) or nil
  end
  if random:chance(60) then
    node.errors = { { name = "*", to = side(pen, to) } }
  end
  draw_beside(pen, node, to)
  return node.name
end

--- What it names is drawn when all are: `settle_undos`.
local function draw_undo_node(pen, to)
  local node = add(pen, "undo", { ways = single(to) })
  if pen.random:chance(50) then
    node.errors = { { name = "undo_failed", to = side(pen, to) } }
  end
  return node.name
end

--- Heard by whoever is around, in this workflow or in one that has called it.
local function draw_escalate(pen, to)
  local node = add(pen, "escalate", { ways = single(to) })
  node.event = pen.random:pick(EVENTS)
  return node.name
end

local PARTS = {
  step = draw_step, choice = draw_choice, loop = draw_loop,
  timer = draw_timer, wait = draw_wait, task = draw_task, fork = draw_fork,
  call = draw_call, each = draw_each, undo = draw_undo_node,
  escalate = draw_escalate,
}

local WEIGHTS = { step = 10, choice = 3, loop = 2, timer = 3, wait = 5,
  task = 4, fork = 6, call = 3, each = 4, undo = 2, escalate = 1 }

local function draw_part(pen, to)
  local weights = {}
  for name, weight in pairs(WEIGHTS) do weights[name] = weight end
  if pen.nflows < 2 then weights.call = nil end
  if pen.in_each then weights.undo = nil end
  if pen.depth >= 3 then weights.fork, weights.each = nil, nil end
  if pen.left < 3 then
    weights.fork, weights.each, weights.loop, weights.choice = nil, nil, nil,
      nil
  end
  return PARTS[pen.random:weighted(weights)](pen, to)
end

--- At least one node, and up to `most` parts, that lead to a node.
function draw_chain(pen, to, most)
  local n = pen.left > 0 and pen.random:upto(most) or 1
  for _ = 1, n do to = draw_part(pen, to) end
  return to
end

--- Whose outputs they look for, when all nodes are drawn.
local function settle_reads(flow, random)
  local able = {}
  for _, node in ipairs(flow.nodes) do
    if node.kind == "step" then able[#able + 1] = node.name end
  end
  for _, node in ipairs(flow.nodes) do
    node.reads = node.reads and random:pick(able)
  end
end

--- Is it undone with all that is inside?
function graphs.is_scope(node)
  return node.kind == "fork" or node.kind == "each" and node.branch ~= nil
end

--- What they undo, when all nodes are drawn.
local function settle_undos(flow, random)
  local able, scopes = {}, {}
  for _, node in ipairs(flow.nodes) do
    if node.undo then able[#able + 1] = node.name end
    if graphs.is_scope(node) then scopes[#scopes + 1] = node.name end
  end
  for _, node in ipairs(flow.nodes) do
    if node.kind == "undo" and #able > 0 and random:chance(50) then
      node.of = { random:pick(able) }
      if #scopes > 0 and random:chance(40) then
        node.of[2] = random:pick(scopes)
      end
    end
  end
  graphs.prune(flow)
end

local function draw_flow(random, size, nflows)
  local pen = { random = random, nodes = {}, left = size, depth = 0, made = 0,
    nflows = nflows }
  local flow = { nodes = pen.nodes, options = {} }
  local done = draw_finish(pen, "plain")
  flow.start = draw_chain(pen, done, 4)
  if random:chance(20) then
    pen.left = 3
    flow.options.on_cancel = draw_chain(pen, done, 2)
  end
  settle_reads(flow, random)
  settle_undos(flow, random)
  flow.options.typed = random:chance(35) or nil
  if random:chance(10) then flow.options.compensate = false end
  if random:chance(10) then flow.options.deadline = 100000 end
  if random:chance(20) then flow.options.cancel_on = true end
  return flow
end

-- What happens meanwhile; play.lua knows how.
local TROUBLES = { switch = 5, overtake = 9, lose = 5, reopen = 3, early = 6,
  again = 4, suspend = 3, wake = 2, jump = 3, cancel = 2, crowd = 6,
  away = 5, stop = 5, step = 3, misfit = 4, ask = 9 }

---@param random pawl.Random
---@return table[]
local function draw_story(random)
  local story = {}
  for _ = 1, random:between(0, 8) do
    story[#story + 1] = { at = random:upto(16),
      what = random:weighted(TROUBLES), n = random:upto(1000) }
  end
  table.sort(story, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.n < b.n
  end)
  return story
end

--- Its history is trimmed: then nothing of it can be undone, nor looked for.
local function keep_short(flow)
  flow.options.keep_history = 100
  for _, node in ipairs(flow.nodes) do
    node.undo, node.undo_fails, node.undo_awaits = nil, nil, nil
    node.reads = nil
  end
  graphs.prune(flow)
end

---@param seed integer
---@return spec.Case
function graphs.draw(seed)
  local random = Random.new(seed)
  local flows, n = { false }, random:between(1, 3)
  for i = 2, n do flows[i] = draw_flow(random, random:between(1, 5), 1) end
  flows[1] = draw_flow(random, random:between(2, 22), n)
  if seed % 3 == 0 then
    for _, flow in ipairs(flows) do keep_short(flow) end
  end
  return { seed = seed, flows = flows, story = draw_story(random), starts = {
    deadline = random:chance(15) and 200000 or nil,
    max_bytes = random:chance(20) and 500000 or nil,
    group = random:chance(15) and graphs.GROUP or nil } }
end

---- going through a flow ----------------------------------------------------

--- Goes through all that a node leads to.
---@param node spec.Node
---@param fn fun(to: string): string?  a new target; nil: it stays
function graphs.retarget(node, fn)
  local lists = { node.ways, node.errors or {} }
  for _, one in ipairs(node.beside or {}) do lists[#lists + 1] = one.ways end
  for _, list in ipairs(lists) do
    for _, one in ipairs(list) do one.to = fn(one.to) or one.to end
  end
  if node.branch then node.branch = fn(node.branch) or node.branch end
end

---@return table<string, spec.Node>
function graphs.by_name(flow)
  local nodes = {}
  for _, node in ipairs(flow.nodes) do nodes[node.name] = node end
  return nodes
end

--- The same, with the nodes that the builder makes of boundaries.
---@return table<string, spec.Node>
function graphs.with_boundaries(flow)
  local nodes = graphs.by_name(flow)
  for _, node in ipairs(flow.nodes) do
    local count = {}
    for _, one in ipairs(node.beside or {}) do
      local n = (count[one.field] or 0) + 1
      count[one.field] = n
      local name = node.name .. "." .. one.field .. (n > 1 and "_" .. n or "")
      nodes[name] = { name = name, ways = one.ways, is_beside = true,
        kind = one.event and "wait" or "timer", event = one.event,
        key = one.key and "order" or "none", typed = one.typed }
      nodes[name .. ".run"] = { kind = "step", ways = {} }
      nodes[name .. ".end"] = { kind = "finish", ways = {} }
    end
  end
  return nodes
end

--- Is there something to undo on the way from a fork, or from an each, to
--- where it first comes together?
local function holds_undo(nodes, scope)
  local seen, left = { [scope.name] = true }, { scope.branch }
  if scope.kind == "fork" then
    for _, one in ipairs(scope.ways) do left[#left + 1] = one.to end
  end
  while #left > 0 do
    local node = nodes[table.remove(left)]
    if node and not seen[node.name] and node.kind ~= "join" then
      seen[node.name] = true
      if node.undo then return true end
      for _, one in ipairs(node.ways) do left[#left + 1] = one.to end
    end
  end
  return false
end

--- Undo nodes name what there is still; where nothing can be undone a step
--- stands in their place. true: what one of them led to may be left alone.
local function mend_undos(flow)
  local nodes, is_able, changed = graphs.by_name(flow), false, false
  for _, node in ipairs(flow.nodes) do is_able = is_able or node.undo end
  for _, node in ipairs(flow.nodes) do
    local of = node.of or {}
    for i = #of, 1, -1 do
      local one = nodes[of[i]]
      if not one or not (one.undo
        or graphs.is_scope(one) and holds_undo(nodes, one)) then
        table.remove(of, i)
      end
    end
    if #of == 0 then node.of = nil end
    if node.kind == "undo" and not is_able then
      changed = changed or node.errors ~= nil
      node.kind, node.errors = "step", nil
    end
  end
  return changed
end

--- Takes out what nothing leads to.
function graphs.prune(flow)
  local nodes, reached, left = graphs.by_name(flow), {}, { flow.start }
  left[2] = flow.options.on_cancel
  while #left > 0 do
    local name = table.remove(left)
    if not reached[name] and nodes[name] then
      reached[name] = true
      graphs.retarget(nodes[name], function(to)
        left[#left + 1] = to
        return nil
      end)
    end
  end
  for i = #flow.nodes, 1, -1 do
    if not reached[flow.nodes[i].name] then table.remove(flow.nodes, i) end
  end
  if mend_undos(flow) then graphs.prune(flow) end
end

---- writing it down ---------------------------------------------------------

local render = {}

local function q(text) return ("%q"):format(text) end

local function lines(...) return table.concat({ ... }, "\n") end

function render.step(node, code)
  local body = { ("    ctx.vars.%s = (ctx.vars.%s or 0) + 1")
    :format(node.name, node.name) }
  local function put(format, ...) body[#body + 1] = format:format(...) end
  if node.emits then
    put('    ctx.emit("t.ran", { node = ctx.node })')
    put('    ctx.note("ran", { no = "result" })')
    put('    ctx.signal { name = "t.ran", key = ctx.id, data = 1 }')
    put("    if ctx.parent then\n      ctx.signal { name = %q, "
      .. "instance = ctx.parent, data = { n = 2 } }\n    end", EVENTS[3])
    put("    ctx.escalate(%q, { n = 3 })", EVENTS[2])
    put('    ctx.publish("ran", { ctx.node, ctx.vars.%s })', node.name)
    put("    if ctx.event then ctx.answer(ctx.node) end")
  end
  if node.starts then
    put("    ctx.start(%q, { order = ctx.input.order }, {\n"
      .. "      parent_end = %q })", code(node.starts), node.parent_end)
  end
  if node.token then
    -- items of an each share the variable: all of them are to be known
    put("    local token = ctx.callback(%q)\n    local all = ctx.vars.all_%s "
      .. "or {}\n    all[#all + 1] = token\n    ctx.vars.all_%s, "
      .. "ctx.vars.token_%s = all, token", node.token.event, node.token.at,
      node.token.at, node.token.at)
  end
  if node.reads then
    put("    local given = ctx.output[%q]\n    if given then\n"
      .. "      ctx.vars.saw_%s = given.n\n    end", node.reads,
      node.name)
  end
  put("    if ctx.error and ctx.error.node then\n"
    .. "      ctx.vars.caught_%s = ctx.error.node\n    end", node.name)
  if node.tells then
    put("    local told = ctx.progress\n"
      .. "    if told and told[1] ~= ctx.visit then\n"
      .. '      error { code = "not_mine", retry = false,\n'
      .. '        message = told[1] .. " told " .. ctx.visit }\n    end\n'
      .. "    ctx.heartbeat { ctx.visit, ctx.attempt }")
  end
  if node.awaits then put("    ctx.await(%g)", node.awaits) end
  if node.fails then
    put('    if ctx.attempt <= %d then\n      error { code = "oops" }\n    end',
      node.fails)
  end
  if node.item_fails then
    put("    if ctx.token.data.index == %d then\n"
      .. '      error { code = "bad_item", retry = false }\n    end',
      node.item_fails)
  end
  -- where only one way leads on
  put("    return %s{ index = ctx.token.data.index, n = ctx.vars.%s }",
    node.into and "" or "nil, ", node.name)
  return {
    run = lines("function(ctx)", table.concat(body, "\n"), "  end"),
    -- half of them are tried again though their error has a route
    retry = node.attempts and ("{ max = %d, %s%s }"):format(node.attempts,
      node.attempts % 3 == 0 and "delay = function(_, n) return n end"
      or "jitter = 0", node.never and ', never = "oops"'
      or node.attempts % 2 == 0 and ', on = "oops"' or "") or nil,
    timeout = node.attempts and 'function(ctx) return ctx.id and "9m" end',
    on_exhausted = node.on_exhausted and q(node.on_exhausted),
    transactional = node.transactional and "true",
    into = node.into and q("got_" .. node.name),
  }
end

function render.choice(node)
  if node.every then
    return { choose = ("function(ctx)\n    local n = ctx.vars.%s\n"
      .. '    return (n %% %d == 0 or n > 6) and "on" or "again"\n  end')
      :format(node.count, node.every) }
  end
  local names = {}
  for i, one in ipairs(node.ways) do names[i] = q(one.name) end
  return { choose = ("function(ctx)\n    local ways = { %s }\n"
    .. "    return ways[(ctx.visit + %d) %% #ways + 1]\n  end")
    :format(table.concat(names, ", "), node.turn or 0) }
end

--- So many seconds, or a handler that says so.
local function duration(node, seconds)
  if not node.computed then return ("%d"):format(seconds) end
  return ('function(ctx) return ctx.id and "%ds" end'):format(seconds)
end

local KEYS = { order = q "order", handler =
  "function(ctx) return ctx.input.order end" }

local function reschedule(node)
  return node.moved and ("{ event = %q, key = %s, into = %q }"):format(
    node.moved, KEYS[node.kind == "wait" and "order" or "handler"],
    "moved_" .. node.name)
end

function render.timer(node)
  if node.at then
    return { reschedule = reschedule(node),
      at = ("function(ctx) return ctx.now() + %d end"):format(node.after) }
  end
  return { after = duration(node, node.after), reschedule = reschedule(node) }
end

local function render_condition(node)
  local sees = node.sees and (" or (ctx.vars.%s or 0) >= %d"):format(node.sees,
    node.least) or ""
  return { reschedule = node.timeout and reschedule(node),
    condition = ("function(ctx)\n    return ctx.vars.open_%s%s\n  end"):format(
      node.name, sees) }
end

function render.wait(node)
  if node.condition then return render_condition(node) end
  return {
    event = q(node.pattern or node.event),
    key = node.key == "token" and q("token_" .. node.name) or KEYS[node.key],
    match = node.match
      and "function(event) return event.data.n % 2 == 0 end",
    into = node.into and q("got_" .. node.name),
    reschedule = node.timeout and reschedule(node),
    take = node.takes_one and node.key ~= "none" and q "one",
    accepts = node.typed and '{ n = "integer" }',
    answer = node.into and "function(event, ctx)\n"
      .. '    if event.data.n % 7 == 6 then error { code = "not_now" } end\n'
      .. "    return ctx.node\n  end",
  }
end

function render.task(node)
  return {
    title = q("do " .. node.name), due = node.due and duration(node, node.due),
    signal = node.signal and q "seen",
    assignee = node.assignee and q "ann",
    accepts = node.typed and '{ by = "string" }',
    prepare = node.prepare
      and 'function(ctx) return { description = ctx.id } end',
    escalate = node.escalate and '{ role = "boss", priority = "urgent" }',
    into = node.into and q("got_" .. node.name),
  }
end

function render.undo(node)
  return { of = node.of
    and ('{ "%s" }'):format(table.concat(node.of, '", "')) }
end

function render.escalate(node)
  return { event = q(node.event),
    data = "function(ctx) return { n = ctx.input.order } end" }
end

function render.fork() return {} end

function render.join(node)
  return {
    expect = node.expect and (type(node.expect) == "string" and q(node.expect)
      or ("%d"):format(node.expect)),
    losers = node.losers and q(node.losers),
  }
end

function render.call(node, code)
  return {
    workflow = q(code(node.flow)),
    parent_end = node.parent_end and q(node.parent_end),
    group = node.group and q(node.group),
    priority = node.priority and ("%d"):format(node.priority),
    input = "function(ctx) return { order = ctx.input.order } end",
    into = node.into and q("got_" .. node.name),
  }
end

function render.each(node, code)
  return {
    items = ("function(ctx)\n    local items = pawl.array {}\n"
      .. "    for i = 1, %d do\n"
      .. "      items[i] = { order = ctx.input.order, item = i }\n    end\n"
      .. "    return items\n  end"):format(node.items),
    branch = node.branch and q(node.branch),
    workflow = node.flow and q(code(node.flow)),
    parent_end = node.parent_end and q(node.parent_end),
    group = node.group and q(node.group),
    priority = node.priority and ("%d"):format(node.priority),
    window = ("%d"):format(node.window),
    on_failure = node.on_failure and q(node.on_failure),
    tolerate = node.tolerate and (type(node.tolerate) == "string"
      and q(node.tolerate) or ("%d"):format(node.tolerate)),
    enough = node.enough and ([[function(_, so_far)
    local sum = so_far.sum or { done = 0 }
    if not so_far.error then sum.done = sum.done + 1 end
    return sum.done >= %d, sum
  end]]):format(node.enough),
    into = node.into and q("got_" .. node.name),
  }
end

function render.finish(node)
  return {
    status = node.failed and q "failed", terminate = node.terminate and "true",
    output = node.output
      and "function(ctx) return { item = ctx.input.item } end",
  }
end

local function render_ways(ways)
  if #ways == 1 and ways[1].name == "" then return q(ways[1].to) end
  local parts = {}
  for i, one in ipairs(ways) do
    parts[i] = ("[%q] = %q"):format(one.name, one.to)
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function render_undo(node)
  local fails = node.undo_fails
    and ('    if ctx.attempt <= %d then error "stuck" end\n')
      :format(node.undo_fails) or ""
  if node.undo_awaits then
    fails = ("    ctx.await(%g)\n"):format(node.undo_awaits) .. fails
  end
  return "function(ctx)\n" .. fails
    .. '    ctx.vars.undone = (ctx.vars.undone or "") .. ctx.node .. " "\n'
    .. "  end"
end

--- A lane counts itself, as steps do.
local function render_boundary(one, name)
  local parts = { one.event and ("event = %q"):format(one.event)
    or ("after = %d"):format(one.after) }
  if one.key then parts[#parts + 1] = 'key = "order"' end
  if one.typed then parts[#parts + 1] = 'accepts = { n = "integer" }' end
  if one.into then parts[#parts + 1] = ("into = %q"):format(name) end
  if one.match then -- what is escalated may have a text there
    parts[#parts + 1] = "match = function(event)\n"
      .. "    return (tonumber(event.data.n) or 0) % 2 == 0\n  end"
  end
  if one.every == 7200 then
    parts[#parts + 1] = "every = function(ctx) return ctx.id and 7200 end"
    parts[#parts + 1] = "on_error = false"
  elseif one.every then
    parts[#parts + 1] = ("every = %d"):format(one.every)
  end
  if one.is_lane then parts[#parts + 1] = "interrupt = false" end
  if #one.ways > 0 then
    parts[#parts + 1] = ("next = %q"):format(one.ways[1].to)
  else
    parts[#parts + 1] = "run = function(ctx)\n"
      .. "    ctx.vars[ctx.node] = (ctx.vars[ctx.node] or 0) + 1\n  end"
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

--- One as it is, several as a list.
local function render_beside(node, fields)
  local lists = {}
  for i, one in ipairs(node.beside or {}) do
    lists[one.field] = lists[one.field] or {}
    table.insert(lists[one.field], render_boundary(one, "heard" .. i .. "_"
      .. node.name))
  end
  for field, list in pairs(lists) do
    fields[field] = #list == 1 and list[1]
      or "{\n" .. table.concat(list, ",\n") .. " }"
  end
end

--- `behind`: the node that is written next, which need not be named.
local function render_node(node, code, behind)
  local fields = render[node.kind](node, code)
  local only = #node.ways == 1 and node.ways[1]
  if #node.ways > 0 and not (behind and only and only.name == ""
    and only.to == behind.name) then
    fields.next = render_ways(node.ways)
  end
  if node.errors then fields.on_error = render_ways(node.errors) end
  if node.undo then fields.undo = render_undo(node) end
  render_beside(node, fields)
  if node.timeout then
    fields.timeout = duration(node, node.timeout)
    fields.reschedule = reschedule(node)
  end
  local names, parts = {}, {}
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    parts[i] = ("  %s = %s,"):format(name, fields[name])
  end
  return ("flow:%s(%q, {\n%s\n})"):format(node.kind, node.name,
    table.concat(parts, "\n"))
end

--- One flow of a case as a Lua file.
---@param case spec.Case
---@param i integer       which flow
---@param prefix string   of the workflows' codes
---@return string
function graphs.text(case, i, prefix)
  local flow, forward = case.flows[i], case.seed % 2 == 0
  local function code(k) return graphs.code(prefix, k) end
  local options = { ("code = %q, start = %q"):format(code(i), flow.start) }
  if flow.options.compensate == false then
    options[#options + 1] = "compensate = false"
  end
  if flow.options.keep_history then
    options[#options + 1] = "keep_history = " .. flow.options.keep_history
  end
  if flow.options.deadline then
    local asked = #flow.nodes % 2 == 0 -- a function says it
    options[#options + 1] = (asked
      and "deadline = function() return %d end" or "deadline = %d")
      :format(flow.options.deadline)
  end
  if flow.options.typed then
    options[#options + 1] = 'input = { order = "string", ["item?"] = '
      .. '"integer > 0" }, variables = { ["undone?"] = "string", '
      .. '["*"] = "any" }'
  end
  if flow.options.on_cancel then
    options[#options + 1] = ("on_cancel = %q"):format(flow.options.on_cancel)
  end
  if flow.options.cancel_on then
    options[#options + 1] = 'cancel_on = { event = "stop", key = "order" }'
  end
  if case.is_wild then options[#options + 1] = "busy_limit = 300" end
  local parts = { 'local pawl = require "pawl"',
    "local flow = pawl.workflow { " .. table.concat(options, ", ") .. " }" }
  for k = 1, #flow.nodes do -- they are drawn from the end on
    local at = forward and #flow.nodes + 1 - k or k
    parts[#parts + 1] = render_node(flow.nodes[at], code,
      forward and flow.nodes[at - 1])
  end
  parts[#parts + 1] = "return flow\n"
  return table.concat(parts, "\n")
end

function graphs.code(prefix, i)
  return i == 1 and prefix .. ".main" or prefix .. ".child" .. i - 1
end

--- The workflows of a case, made here. Errors of the builder are raised.
---@return pawl.Workflow[]
function graphs.build(case, prefix)
  local flows = {}
  for i = 1, #case.flows do
    local text = graphs.text(case, i, prefix)
    flows[i] = assert(load(text, "=" .. graphs.code(prefix, i)))()
  end
  return flows
end

---- graphs that are not well formed -----------------------------------------

--- Leads one way of the main workflow to another node, anywhere. What comes of
--- it the checker has to tell; it may go round and round.
---@param case spec.Case
---@return spec.Case case
function graphs.lead_astray(case)
  local random = Random.new(~case.seed)
  local flow, ways = case.flows[1], {}
  for _, node in ipairs(flow.nodes) do
    for _, one in ipairs(node.ways) do ways[#ways + 1] = one end
    for _, one in ipairs(node.errors or {}) do ways[#ways + 1] = one end
  end
  random:pick(ways).to = random:pick(flow.nodes).name
  case.is_wild = true
  return case
end

local function nodes_of(flow, kind)
  local found = {}
  for _, node in ipairs(flow.nodes) do
    if node.kind == kind then found[#found + 1] = node end
  end
  return found
end

local function some_of(flow, random, kind)
  local found = nodes_of(flow, kind)
  return #found > 0 and random:pick(found) or nil
end

local function put_step(flow, name, to)
  table.insert(flow.nodes, { name = name, kind = "step", ways = single(to) })
end

--- By what is wrong with them then: functions that spoil a flow and give a
--- pattern of the message; nil: this one cannot be spoilt so.
---@type table<string, fun(flow: spec.DrawnFlow, random: pawl.Random): string?>
graphs.spoil = {}

graphs.spoil["a way to a node that is not there"] = function(flow, random)
  local node = random:pick(flow.nodes)
  if #node.ways == 0 then return nil end
  random:pick(node.ways).to = "nowhere"
  return "nowhere"
end

graphs.spoil["a node that nobody leads to"] = function(flow)
  put_step(flow, "stray", flow.start)
  return "stray"
end

graphs.spoil["a step that leads to no end"] = function(flow)
  put_step(flow, "round", "round")
  put_step(flow, "once", "round")
  local first = flow.start
  table.insert(flow.nodes, { name = "either", kind = "choice",
    ways = { { name = "a", to = first }, { name = "b", to = "once" } } })
  flow.start = "either"
  return 'step "%l+": no way from it to a finish' -- "round", "once"
end

graphs.spoil["a join without a fork"] = function(flow)
  table.insert(flow.nodes, { name = "lonely", kind = "join",
    ways = single(flow.start) })
  flow.start = "lonely"
  return 'join "lonely": has no fork before it'
end

graphs.spoil["a join that expects too many"] = function(flow, random)
  local join = some_of(flow, random, "join")
  if not join then return nil end
  join.expect = 100
  return 'join "' .. join.name .. '": expects 100'
end

graphs.spoil["a branch that leads back to its fork"] = function(flow, random)
  local fork = some_of(flow, random, "fork")
  if not fork then return nil end
  put_step(flow, "back", fork.name)
  way(fork.ways, "again", "back")
  return "is entered again from its own branch"
end

graphs.spoil["an each whose branch never comes back"] = function(flow, random)
  local each = some_of(flow, random, "each")
  if not each or each.flow then return nil end
  table.insert(flow.nodes, { name = "out", kind = "finish", ways = {} })
  put_step(flow, "lost", "out")
  each.branch = "lost"
  graphs.prune(flow)
  return "cannot come back to it"
end

graphs.spoil["a start that is not there"] = function(flow)
  flow.start = "nowhere"
  return "nowhere"
end

return graphs
