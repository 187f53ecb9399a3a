--- What stands in for handlers in a spec: stubs, failures that come as they
--- are told to, and spies. They belong to an engine, and are gone with it.
---
--- While an engine of the kit loads a workflow, each of its handlers is
--- replaced by one that asks the engine's doubles first. So they may come and
--- go while instances run.
local core = require "pawl.core"
local caller = require "pawl.testing.caller"
local keys = require "pawl.keys"
local nearest = require "pawl.nearest"
local replay = require "pawl.testing.replay"

local doubles = {}

---@class pawl.Double
---@field calls pawl.DoubleCall[]  oldest first
---@field name string  of its node, workflow or function

---@class pawl.DoubleCall
---@field instance string
---@field workflow string
---@field node string
---@field attempt integer
---@field key string       the idempotency key of this visit, or call
---@field at number        seconds since 1970
---@field input? any       of the instance; of a function, what it was given
---@field vars? table      as they were before
---@field transition? string
---@field output? any
---@field error? any       that it ended with

---@class pawl.EffectCall
---@field arguments table    what it was given, with `n`
---@field covered boolean    the key is among that
---@field key? string        of the handler's visit
---@field instance? string
---@field workflow? string
---@field node? string
---@field at number

---@class pawl.Effect
---@field name string
---@field calls pawl.EffectCall[]
---@operator call: any

---@class pawl.StubOptions
---@field returns? any      its output
---@field goes? string      the transition, where there are several
---@field vars? table       variables that it sets
---@field run? fun(ctx: pawl.Ctx): any, any  in place of all that
---@field workflow? string  whose step it is, where several have one of the name

---@class pawl.FailOptions
---@field code string
---@field times? integer    so often; always
---@field message? string
---@field retry? boolean    false: it is not tried again
---@field details? any
---@field workflow? string

---@class pawl.HostStubOptions
---@field returns? any
---@field run? pawl.HostFunction
---@field code? string      it fails with this
---@field times? integer    so often; then what the engine was given is called
---@field message? string
---@field retry? boolean

---@class pawl.WorkflowStubOptions
---@field output? any
---@field code? string      it fails with this
---@field message? string

---- handlers that are watched ------------------------------------------------

-- Handlers that get an event before the ctx.
local EVENT_FIRST <const> = { match = true, answer = true }

-- Those that may have doubles, and what stands in their lists' names between
-- workflow and node.
local DOUBLED <const> = { run = "/", undo = "/undo/" }

local function watched(state, code, node, field, handler)
  return function(...)
    local ctx = select(EVENT_FIRST[field] and 2 or 1, ...)
    local watcher = state.watcher
    if watcher then watcher:point("before", code, node, field) end
    state.running[coroutine.running()] = { ctx = ctx }
    local results
    if DOUBLED[field] then
      results = table.pack(doubles.run(state, code, DOUBLED[field] .. node,
        handler, ctx))
    else
      results = table.pack(handler(...))
    end
    if watcher then watcher:point("after", code, node, field) end
    return table.unpack(results, 1, results.n)
  end
end

--- Handlers in place of a workflow's own; notes what it is made of.
---@param graph table  see pawl.workflow
---@param handlers table<string, table<string, function>>
---@return table<string, table<string, function>>
function doubles.watch(state, graph, handlers)
  local nodes, out = {}, {}
  for _, node in ipairs(graph.nodes) do nodes[node.name] = node end
  for name, fields in pairs(handlers) do
    out[name] = {}
    for field, handler in pairs(fields) do
      out[name][field] = watched(state, graph.code, name, field, handler)
    end
  end
  state.flows[graph.code] = { graph = graph, nodes = nodes,
    handlers = handlers }
  return out
end

--- The nodes of a workflow that was loaded, by their names; nil: it was not.
function doubles.nodes(state, code)
  return state.flows[code] and state.flows[code].nodes
end

---- what they do -------------------------------------------------------------

local copy = replay.copy

local function recorded(double, ctx)
  local call = { instance = ctx.id, workflow = ctx.workflow, node = ctx.node,
    attempt = ctx.attempt, key = ctx.idempotency_key(), at = ctx.now(),
    input = copy(ctx.input), vars = copy(ctx.vars) }
  double.calls[#double.calls + 1] = call
  return call
end

--- A stub stands for what its step does outside, under the key of the visit.
local function note_effect(state, double, ctx)
  if state.watcher and double.kind == "stub" then
    state.watcher:effect { name = double.name, key = ctx.idempotency_key(),
      workflow = ctx.workflow, node = ctx.node, covered = true }
  end
end

--- Raises an error as a handler would.
local function raise(options)
  error({ code = options.code, message = options.message or options.code,
    retry = options.retry, details = options.details }, 0)
end

local BEHAVIOURS <const> = {}

function BEHAVIOURS.stub(double, ctx)
  local o = double.options
  for name, value in pairs(o.vars or {}) do ctx.vars[name] = copy(value) end
  if o.run then return o.run(ctx) end
  if double.leads_on then return copy(o.returns) end
  return o.goes, copy(o.returns)
end

function BEHAVIOURS.fail(double, ctx, below)
  local o = double.options
  if not o.times then raise(o) end
  if double.failed < o.times then
    double.failed = double.failed + 1
    raise(o)
  end
  return below(ctx)
end

function BEHAVIOURS.spy(_, ctx, below) return below(ctx) end

function BEHAVIOURS.replay(double, ctx) return replay.run(double, ctx) end

--- Runs the double on top of the list, which may go on to those below it, and
--- to the handler at last.
local function run_from(state, list, i, handler, ctx)
  local double = list[i]
  if not double then return handler(ctx) end
  local call = recorded(double, ctx)
  note_effect(state, double, ctx)
  -- no pcall: an error is to be told of where it was raised
  local _ <close> = setmetatable({}, { __close = function(_, err)
    call.error = err
  end })
  local results = table.pack(BEHAVIOURS[double.kind](double, ctx,
    function(given)
      return run_from(state, list, i - 1, handler, given)
    end))
  if double.leads_on then
    call.output = results[1]
  else
    call.transition, call.output = results[1], results[2]
  end
  return table.unpack(results, 1, results.n)
end

--- Runs a handler, or what stands in for it.
function doubles.run(state, code, at, handler, ctx)
  local list = state.doubles[code .. at]
  if not list or #list == 0 then
    if state.is_replayed and not state.doubles["workflow " .. code] then
      replay.unknown(ctx.node)
    end
    return handler(ctx)
  end
  return run_from(state, list, #list, handler, ctx)
end

---- functions of the program -------------------------------------------------

--- What a handler's ctx.host is answered.
function doubles.host(state, name, value, call)
  local double = state.doubles["host " .. name]
  local fn = state.host[name]
  local watcher = state.watcher
  if watcher and not call.again then
    watcher:effect { name = name, key = call.key, workflow = call.workflow,
      node = call.node, covered = true }
  end
  if double then
    double.calls[#double.calls + 1] = { instance = call.instance,
      workflow = call.workflow, node = call.node, attempt = call.attempt,
      key = call.key, at = state.clock:now(), input = value }
    local o = double.options
    if o.run then return o.run(value, call) end
    if not o.code then return copy(o.returns) end
    if not o.times or double.failed < o.times then
      double.failed = double.failed + 1
      return nil, { code = o.code, message = o.message or o.code,
        retry = o.retry }
    end
  end
  if type(fn) == "function" then return fn(value, call) end
  return nil, { code = "no_double", retry = false, message = ("host function "
    .. "'%s' has neither a function nor a double in this spec"):format(name) }
end

---- what code calls by itself ------------------------------------------------

--- What was done outside, as it is told to whoever watches.
---@class pawl.EffectDone
---@field name string
---@field key? string       that it was done under; nil: by no handler
---@field covered boolean   that is the visit's, or made of it
---@field visit? string     the visit's own key, where that is to be compared
---@field run? table        the handler's run: another one each time
---@field workflow? string
---@field node? string

-- A text that holds the visit's key and at most so many bytes besides is what
-- the other side knows it by; in a longer one the key is a part among others.
local AROUND <const> = 64

local add_keys

--- Adds what a text has: in one of JSON each text counts for itself.
local function add_text(found, text, key, depth)
  if not text:find(key, 1, true) then return end
  local inner = text:find "^%s*[{%[]" and core.json_decode(text)
  local before = #found
  if type(inner) == "table" then add_keys(found, inner, key, depth) end
  if #found > before then return end
  found.is_in_long = found.is_in_long or #text > #key + AROUND
  if #text <= #key + AROUND then found[#found + 1] = text end
end

--- Adds the texts that hold the key, of a value and of tables in it.
function add_keys(found, value, key, depth)
  if type(value) == "string" then
    add_text(found, value, key, depth)
  elseif type(value) == "table" and depth > 0 then
    for _, inner in pairs(value) do add_keys(found, inner, key, depth - 1) end
  end
end

--- The text that is given as the key; of several the shortest, as that has the
--- least besides. nil: none holds it.
local function passed_key(arguments, key)
  local found = {}
  add_keys(found, arguments, key, 5)
  table.sort(found, function(a, b)
    if #a ~= #b then return #a < #b end
    return a < b
  end)
  return found[1] or found.is_in_long and key or nil
end

local function key_of(ctx)
  local ok, key = pcall(function() return ctx.idempotency_key() end)
  return ok and key or nil
end

--- Is called by a handler: notes it, and does what it was told to.
local function effect(state, double, ...)
  local run = state.running[coroutine.running()]
  local ctx = run and run.ctx
  local key, arguments = ctx and key_of(ctx), table.pack(...)
  local passed = key and passed_key(arguments, key) or nil
  local covered = passed ~= nil
  double.calls[#double.calls + 1] = { arguments = arguments, key = key,
    covered = covered, instance = ctx and ctx.id, node = ctx and ctx.node,
    workflow = ctx and ctx.workflow, at = state.clock:now() }
  local o = double.options
  if state.watcher then
    state.watcher:effect { name = double.name, run = run,
      key = not o.reads and passed or key or o.reads and "" or nil,
      visit = not o.reads and covered and key or nil,
      covered = covered or o.reads or false,
      workflow = ctx and ctx.workflow, node = ctx and ctx.node }
  end
  if o.run then return o.run(...) end
  return copy(o.returns)
end

---- asking for one -----------------------------------------------------------

local function any(value) return value end

local STUB <const> = { returns = { any }, goes = { "string" },
  vars = { "table" }, run = { "callable" }, workflow = { "string" } }
local FAIL <const> = { times = { "count" }, code = { "string" },
  message = { "string" }, retry = { "boolean" }, details = { any },
  workflow = { "string" } }
local SPY <const> = { workflow = { "string" } }
local EFFECT <const> = { returns = { any }, run = { "callable" },
  reads = { "boolean" } }
local HOST <const> = { returns = { any }, run = { "callable" },
  times = { "count" }, code = { "string" }, message = { "string" },
  retry = { "boolean" } }

--- The node of that name, and its workflow's code. Raises where there is none,
--- or several.
local function find(state, who, name, code)
  local found, all = nil, {}
  for _, one in ipairs(keys(state.flows)) do
    for node, fields in pairs(state.flows[one].nodes) do
      all[node] = true
      if node == name and (not code or one == code) then
        if found then
          caller.fail("%s: several workflows have a node '%s': say which, "
            .. "workflow = \"%s\"", who, name, one)
        end
        found = { code = one, fields = fields }
      end
    end
  end
  if code and not state.flows[code] then
    caller.fail("%s: no workflow '%s' is loaded (%s)", who, code,
      nearest.key_hint(code, state.flows))
  end
  if found then return found.fields, found.code end
  caller.no_node(who, name, code and state.flows[code].nodes or all)
end

--- One node behind it: a handler gives the output alone.
local function leads_on(node)
  return type(node.next) == "string"
end

--- Is `goes` a way of the node's? Behind one that has a single one it says
--- nothing, but that.
local function check_goes(who, node, options)
  local goes = options.goes
  if leads_on(node) then
    if goes and goes ~= node.next then
      caller.fail("%s: '%s' has no transition '%s': it leads to '%s', whatever "
        .. "it gives", who, node.name, goes, node.next)
    end
    return
  elseif options.run then
    return
  end
  local names = keys(node.next or {})
  for _, name in ipairs(names) do if name == goes then return end end
  if not goes then
    caller.fail("%s: '%s' has several transitions: say which, goes = \"%s\"",
      who, node.name, names[1] or "?")
  end
  caller.fail("%s: '%s' has no transition '%s' (%s)", who, node.name, goes,
    nearest.hint(goes, names))
end

local function put(state, at, double)
  local list = state.doubles[at] or {}
  state.doubles[at] = list
  list[#list + 1] = double
  return double
end

local function of_step(state, kind, name, shape, options)
  caller.check(kind, 1, "node", name)
  local said = caller.read(kind, shape, options)
  local node, code = find(state, kind, name, said.workflow)
  if node.kind ~= "step" then
    caller.fail("%s: '%s' is a %s: a step can be given a double", kind, name,
      node.kind)
  end
  if kind == "stub" then check_goes(kind, node, said) end
  return put(state, code .. DOUBLED.run .. name, { kind = kind, name = name,
    options = said, calls = {}, failed = 0, leads_on = leads_on(node) })
end

--- What was not run then is unknown from now on, and so is what a crash does.
local function set_replayed(state)
  state.is_replayed = true
  local crashes = package.loaded["pawl.testing.crashes"]
  if crashes then crashes.replays() end
end

local WHOSE <const> = { workflow = { "string" } }

--- What a history tells of a handler, one attempt after the other.
local function recorded_of(state, who, field, name, list, options)
  caller.check(who, 1, "node", name)
  local said = caller.read(who, WHOSE, options)
  local node, code = find(state, who, name, said.workflow)
  if not state.flows[code].handlers[name]
    or not state.flows[code].handlers[name][field] then
    caller.fail("%s: '%s' has no `%s`", who, name, field)
  end
  set_replayed(state)
  return put(state, code .. DOUBLED[field] .. name, { kind = "replay",
    name = name, calls = {}, clock = state.clock, nvisits = 0, by_key = {},
    visits = replay.visits(who, list),
    leads_on = field == "undo" or leads_on(node) })
end

---- a workflow in place of another -------------------------------------------

local CHILD <const> = { output = { any }, code = { "string" },
  message = { "string" } }

--- A workflow of that code that ends at once, as it is told to.
local function stand_in(code, version, said, double)
  local flow = require("pawl").workflow { code = code, version = version }
  flow:step("stub", { retry = false, run = function(ctx)
    local call = recorded(double, ctx)
    if said.code then
      call.error = { code = said.code }
      raise(said)
    end
    call.output = said.output
  end })
  flow:finish("end", { output = function() return copy(said.output) end })
  return flow
end

--- It completes, or it fails.
local function check_outcome(said)
  if said.code and said.output ~= nil then
    caller.fail("stub_workflow: it fails with `code`, or completes with "
      .. "`output`: say one")
  elseif said.message and not said.code then
    caller.fail("stub_workflow: `message` is of one that fails: say its `code`")
  end
end

--- Can a handler start some by itself? What is not to be read might.
---@param sources table<string, true>  chunk names of handlers
local function starts_some(sources)
  for source in pairs(sources) do
    local path = source:match "^@(.*)"
    local file <close> = path and io.open(path, "rb")
    if not file or file:read "a":find "ctx%s*%.%s*start%f[%W]" then
      return true
    end
  end
  return false
end

--- Adds the codes that one calls, and where its handlers are written.
local function add_called(known, sources, flow)
  for _, node in pairs(flow.nodes) do
    if node.workflow then known[node.workflow] = true end
  end
  for _, fields in pairs(flow.handlers) do
    for _, handler in pairs(fields) do
      sources[debug.getinfo(handler, "S").source] = true
    end
  end
end

--- The codes that the graphs of those that are loaded call, and their own. nil:
--- one of them may start any.
local function called(state)
  if state.has_unseen then return nil end
  local known, sources = {}, {}
  for code, flow in pairs(state.flows) do
    known[code] = true
    if not state.doubles["workflow " .. code] then
      add_called(known, sources, flow)
    end
  end
  return next(known) and not starts_some(sources) and known or nil
end

--- Raises where nobody would ever start it: by a slip in its code the real one
--- would run.
local function check_called(state, code)
  local known = called(state)
  if not known or known[code] then return end
  caller.fail("stub_workflow: no workflow that is loaded calls '%s', nor is it "
    .. "one (%s)", code, nearest.key_hint(code, known))
end

---- methods ------------------------------------------------------------------

---@class pawl.TestEngine
local own = {}

-- Those of pawl.testing.engine, by object.
local states

--- In place of a step's handler.
---@param name string  the step's
---@param options? pawl.StubOptions
---@return pawl.Double
function own:stub(name, options)
  return of_step(states[self], "stub", name, STUB, options)
end

--- A step fails so often, or always; then what is below it runs.
---@param name string
---@param options pawl.FailOptions
---@return pawl.Double
function own:fail(name, options)
  if type(options) ~= "table" or not options.code then
    caller.fail "fail: it needs a code: { code = \"card_declined\" }"
  end
  return of_step(states[self], "fail", name, FAIL, options)
end

--- Notes a step's calls, and lets it run.
---@param name string
---@param options? { workflow?: string }
---@return pawl.Double
function own:spy(name, options)
  return of_step(states[self], "spy", name, SPY, options)
end

--- In place of a step's handler: what was recorded of it, as `pawl spec` writes
--- that, each visit's attempts one after the other. From then on no handler of
--- a step or an undo runs in this engine that has no double.
---@param name string
---@param list pawl.Recorded[]
---@param options? { workflow?: string }
---@return pawl.Double
function own:replay(name, list, options)
  return recorded_of(states[self], "replay", "run", name, list, options)
end

--- The same in place of a node's `undo`.
---@param name string
---@param list pawl.Recorded[]
---@param options? { workflow?: string }
---@return pawl.Double
function own:replay_undo(name, list, options)
  return recorded_of(states[self], "replay_undo", "undo", name, list, options)
end

--- In place of a function that handlers call by ctx.host.
---@param name string
---@param options pawl.HostStubOptions
---@return pawl.Double
function own:stub_host(name, options)
  local state = states[self]
  caller.check("stub_host", 1, "string", name)
  if not state.host[name] then
    caller.fail("stub_host: name it as the engine is opened: test.engine { "
      .. "host = { %s = true } }", name)
  end
  local double = { kind = "host", name = name, calls = {}, failed = 0,
    options = caller.read("stub_host", HOST, options) }
  state.doubles["host " .. name] = double
  return double
end

--- A function for handlers to call in place of what does something outside;
--- it knows which handler calls, and whether the visit's idempotency key is
--- among what it is given. One that only reads does no harm when it is done
--- again, under whatever key.
---@param name string
---@param options? { returns?: any, run?: function, reads?: boolean }
---@return pawl.Effect
function own:effect(name, options)
  caller.check("effect", 1, "string", name)
  local state = states[self]
  return setmetatable({ name = name, calls = {},
    options = caller.read("effect", EFFECT, options) }, {
    __call = function(double, ...) return effect(state, double, ...) end })
end

--- Loads it as the newest version.
local function put_workflow(self, code, make)
  local state = states[self]
  local double = { kind = "workflow", name = code, calls = {} }
  local known = state.flows[code]
  local version = known and known.graph.version
  local flow = make(math.type(version) and version + 1 or 1, double)
  self:load(flow)
  state.doubles["workflow " .. code] = double
  return double
end

--- In place of a whole workflow, as it is called or started from now on.
---@param code string
---@param options? pawl.WorkflowStubOptions
---@return pawl.Double
function own:stub_workflow(code, options)
  caller.check("stub_workflow", 1, "string", code)
  local said = caller.read("stub_workflow", CHILD, options)
  check_outcome(said)
  check_called(states[self], code)
  return put_workflow(self, code, function(version, double)
    return stand_in(code, version, said, double)
  end)
end

--- In place of a whole workflow: its instances end as those did that were
--- recorded, in the order in which they are started, and when they did.
---@param code string
---@param list pawl.RecordedChild[]
---@return pawl.Double
function own:replay_workflow(code, list)
  caller.check("replay_workflow", 1, "string", code)
  set_replayed(states[self])
  return put_workflow(self, code, function(version, double)
    return replay.workflow(code, version, list, function(ctx)
      return recorded(double, ctx)
    end)
  end)
end

--- Adds the methods by which an engine is given doubles.
---@param methods pawl.TestEngine
---@param known table  the state of each engine
function doubles.add(methods, known)
  states = known
  for name, method in pairs(own) do
    methods[name] = caller.method(known, name, method)
  end
end

return doubles
