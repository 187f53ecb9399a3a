--- One handler by itself: a step, or a choice, in a workflow in which nothing
--- else is done. It runs in a real engine, so that its ctx is what it is.
local caller = require "pawl.testing.caller"
local core = require "pawl.core"
local workflow = require "pawl.workflow"

local handler = {}

---@class pawl.HandlerOptions
---@field vars? table   the variables that it finds
---@field input? any    what its instance was started with
---@field host? table<string, pawl.HostFunction>  see pawl.OpenOptions
---@field clock? pawl.Clock
---@field seed? integer

---@class pawl.HandlerResult
---@field transition? string   that it leaves by
---@field to? string           the node where that leads
---@field output? any
---@field error? pawl.Caught   that it ended with
---@field vars table           as they are then
---@field changes { set: table, unset: string[] }
---@field effects pawl.HandlerEffects

--- What it asked of others, in its order.
---@class pawl.HandlerEffects
---@field emitted { type: string, payload: any }[]
---@field started { code: string, input: any, options: table? }[]
---@field signalled pawl.SentEvent[]
---@field escalated { name: string, data: any }[]
---@field published table<string, any>
---@field notes { text: string, data: any }[]
---@field logged { level: string, message: string, fields: table? }[]

local ALONE <const> = { step = true, choice = true } -- kinds that can be
local GIVEN <const> = "pawl_given" -- the step that sets the variables

---- the workflow around it ---------------------------------------------------

--- Where a node leads: names of nodes.
local function targets_of(node)
  local found = {}
  for _, field in ipairs { "next", "on_error" } do
    local value = node[field]
    for _, to in pairs(type(value) == "table" and value or { value }) do
      found[to] = true
    end
  end
  return found
end

--- Its transitions lead to finishes, one for each, under other names.
local function led_away(node, away)
  local out = {}
  for name, value in pairs(node) do out[name] = value end
  for _, field in ipairs { "next", "on_error" } do
    local value = node[field]
    if type(value) == "string" then
      out[field] = away[value]
    elseif value then
      out[field] = {}
      for name, to in pairs(value) do out[field][name] = away[to] end
    end
  end
  return out
end

local function graph_around(graph, node, line)
  local away, nodes = {}, {
    { name = GIVEN, kind = "step", run = true, next = node.name, line = line },
  }
  for to in pairs(targets_of(node)) do away[to] = "to_" .. to end
  nodes[2] = led_away(node, away)
  for _, to in pairs(away) do
    nodes[#nodes + 1] = { name = to, kind = "finish", line = line }
  end
  return { code = graph.code, version = 1, start = GIVEN, nodes = nodes,
    line = graph.line, input = graph.input, compensate = false }
end

--- ctx, with a note of what is asked of others.
local function noting(ctx, effects)
  local function note(list, make, call)
    return function(...)
      local result = call(...) -- what is wrong is told by it
      list[#list + 1] = make(...)
      return result
    end
  end
  local own = {
    emit = note(effects.emitted, function(type, payload)
      return { type = type, payload = payload }
    end, ctx.emit),
    start = note(effects.started, function(code, input, options)
      return { code = code, input = input, options = options }
    end, ctx.start),
    signal = note(effects.signalled, function(event) return event end,
      ctx.signal),
    escalate = note(effects.escalated, function(name, data)
      return { name = name, data = data }
    end, ctx.escalate),
    note = note(effects.notes, function(text, data)
      return { text = text, data = data }
    end, ctx.note),
    log = note(effects.logged, function(level, message, fields)
      return { level = level, message = message, fields = fields }
    end, ctx.log),
    publish = function(name, value)
      ctx.publish(name, value)
      effects.published[name] = value
    end,
  }
  return setmetatable({}, {
    __index = function(_, name) return own[name] or ctx[name] end,
    __newindex = function(_, name, value) ctx[name] = value end,
  })
end

--- What pawl.workflow gives, made of a graph and handlers as they are.
local function as_workflow(graph, handlers)
  return setmetatable({}, { __name = "pawl.workflow",
    definition = function() return graph, handlers, {}, "handler" end })
end

--- Those of the node, noted, and of the step in front of it.
local function handlers_around(name, fields, vars, effects)
  local own = {}
  for field, fn in pairs(fields) do
    own[field] = function(ctx) return fn(noting(ctx, effects)) end
  end
  return { [name] = own, [GIVEN] = { run = function(ctx)
    for key, value in pairs(vars) do ctx.vars[key] = value end
  end } }
end

---- what came of it ----------------------------------------------------------

local function changes_of(before, after)
  local changes = { set = {}, unset = {} }
  for name, value in pairs(after) do
    if core.json_encode(before[name]) ~= core.json_encode(value) then
      changes.set[name] = value
    end
  end
  for name in pairs(before) do
    if after[name] == nil then changes.unset[#changes.unset + 1] = name end
  end
  table.sort(changes.unset)
  return changes
end

local function result_of(engine, id, node, given, effects)
  local last = {}
  for _, row in ipairs(assert(engine:history(id))) do
    if row.node == node.name then last = row end
  end
  local vars = assert(engine:get(id)).variables
  local transition = last.transition
  local leads = last.error and node.on_error or node.next
  if type(leads) == "table" then leads = leads[transition] end
  return { transition = transition, to = leads, output = last.output,
    error = last.error, vars = vars, changes = changes_of(given, vars),
    effects = effects }
end

local shape = { vars = { "table" },
  input = { function(value) return value end }, host = { "table" },
  clock = { "callable" }, seed = { "positive" } }

--- The graph and the handlers of a workflow, or a file.
local function definition_of(flow)
  if workflow.is(flow) then return workflow.definition(flow) end
  local opened <close> = require("pawl.testing").engine { load = { flow },
    is_apart = true }
  local state = require("pawl.testing.engine").state(opened, "handler")
  local _, found = next(state.flows)
  return found.graph, found.handlers
end

local function node_of(graph, name)
  local known = {}
  for _, node in ipairs(graph.nodes) do
    known[node.name] = true
    if node.name == name then return node end
  end
  caller.no_node("handler", name, known)
end

local function choice_rows(engine, id, result, node)
  if not node.choose then return end
  local path = assert(engine:history(id))[1].path or ""
  result.transition = path:match(node.name .. "=([%w_]+)")
  result.to = node.next[result.transition]
end

--- Runs the handler of a step or a choice by itself, once.
---@param flow string|pawl.Workflow  a file, or a workflow
---@param name string  of the node
---@param options? pawl.HandlerOptions
---@return pawl.HandlerResult
function handler.run(flow, name, options)
  caller.check("handler", 1, "flow", flow)
  caller.check("handler", 2, "node", name)
  local given = caller.read("handler", shape, options)
  local graph, handlers = definition_of(flow)
  local node = node_of(graph, name)
  if not ALONE[node.kind] then
    caller.fail("handler: '%s' is a %s: a step or a choice is run by itself",
      name, node.kind)
  end
  local effects = { emitted = {}, started = {}, signalled = {},
    escalated = {}, published = {}, notes = {}, logged = {} }
  local vars = given.vars or {}
  local around = as_workflow(graph_around(graph, node, graph.line),
    handlers_around(name, handlers[name], vars, effects))
  local engine <close>, clock = require("pawl.testing").engine {
    host = given.host, clock = given.clock, seed = given.seed,
    is_apart = true }
  clock.engines[engine] = nil
  assert(engine:load(around))
  local id, err = engine:start(graph.code, given.input)
  if not id then caller.fail("handler: %s", tostring(err)) end
  assert(engine:run())
  local result = result_of(engine, id, node, vars, effects)
  choice_rows(engine, id, result, node)
  return result
end

return handler
