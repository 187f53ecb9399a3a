--- An engine for specs: the real one, opened so that a run can be repeated,
--- with what a spec wants besides. Its methods are those of any engine, and
--- those here; what cannot be, a spec is told by an error.
local doubles = require "pawl.testing.doubles"
local caller = require "pawl.testing.caller"
local option = require "pawl.option"
local replay = require "pawl.testing.replay"
local scenario = require "pawl.testing.scenario"
local workflow = require "pawl.workflow"

local engine = {}

---@class pawl.TestEngine: pawl.Engine
local methods = {}

---@class pawl.TestEngineOptions: pawl.OpenOptions
---@field load? string|pawl.Workflow|(string|pawl.Workflow)[]  files, or flows
---@field store? string  "memory", or where one is: as for pawl.open; "memory"
---@field seed? integer  of ids and jitter; 1, or as `pawl test --seed` says
---@field crash? boolean  false: it does not die by `pawl test --crash`

-- What belongs to each; the object itself is an empty table:
--   engine, clock, url, options   the real one, and how it was opened
--   loaded    what was loaded, in order: { flow, options }
--   flows     by code: { graph =, nodes =, handlers = }
--   has_unseen  one was loaded that is not among these, as it has limits
--   host      functions that were given, by name
--   doubles   lists of them, by "code/node"; one of a function or a workflow,
--             by "host NAME" and "workflow CODE"
--   running   by coroutine, what runs in it: { ctx = }, another one each time
--   watcher   is told of what runs, and may have it end there, or others go
--             on first: see pawl.testing.crash, interleave and simulate
--   late_us   that what follows is late, as it has died
--   mates     other engines, which load what it loads
--   is_apart  what it runs is no workflow of anybody's: pawl.testing.handler
local states = setmetatable({}, { __mode = "k" })

---- opening ------------------------------------------------------------------

--- Functions of the program, through the doubles; `true` only names one.
local function lent(state)
  local host = {}
  for name in pairs(state.host) do
    host[name] = function(value, call)
      return doubles.host(state, name, value, call)
    end
  end
  return next(host) and host
end

-- An empty store in memory, once there was one: to make its tables takes longer
-- than most specs.
local empty

--- What a store in memory begins with; nil: with nothing.
local function empty_store(state)
  if state.url ~= ":memory:" or not scenario.is_plain(state.options) then
    return nil
  end
  if not empty then
    local made <close> = assert(require("pawl").open(":memory:"))
    empty = made:backup_bytes() -- nil where SQLite cannot do that
  end
  return empty
end

--- Opens the engine that is behind `self`.
local function open(state)
  local options = {}
  for name, value in pairs(state.options) do options[name] = value end
  options.clock, options.host = state.clock, lent(state)
  options.copy = options.copy or empty_store(state)
  local is, opened, err = pcall(require("pawl").open, state.url, options)
  if not is then caller.pass_on(opened, "pawl.open", "test.engine") end
  if not opened then caller.fail("%s", tostring(err)) end
  state.engine = opened
end

--- Loads by the engine, so that its handlers go through the doubles. Nothing
--- else loads meanwhile.
local function load_by(state, flow, options)
  local is_seen = false
  workflow.seen = function(graph, handlers)
    is_seen = true
    return doubles.watch(state, graph, handlers)
  end
  local results = table.pack(pcall(state.engine.load, state.engine, flow,
    options))
  workflow.seen = nil
  state.has_unseen = state.has_unseen or not is_seen
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

local function list_of(load)
  if type(load) == "string" or workflow.is(load) then return { load } end
  return type(load) == "table" and load or nil
end

local function is_host(host)
  if type(host) ~= "table" then return nil end
  for name, fn in pairs(host) do
    if type(name) ~= "string"
      or fn ~= true and not option.check.callable(fn) then
      return nil
    end
  end
  return host
end

-- What it takes: of the rest pawl.open says what is wrong.
local SHAPE <const> = { store = { "string" }, crash = { "boolean" },
  is_apart = { "boolean" },
  host = { is_host, wants = "a table of functions, or of `true`, by their "
    .. "names" },
  load = { list_of, wants = "a file, a workflow, or a list of them" } }
for _, name in ipairs(scenario.OPENS) do
  SHAPE[name] = SHAPE[name] or { function(value) return value end }
end

--- Options, read as those of test.engine.
---@param options? pawl.TestEngineOptions
---@return table
function engine.options(options)
  caller.check("test.engine", 1, "options?", options,
    'test.engine { load = "order.lua" }')
  return caller.read("test.engine", SHAPE, options)
end

--- What looks on, where it is loaded: pawl.testing.coverage.
local function tell(what, state)
  local coverage = package.loaded["pawl.testing.coverage"]
  if coverage then coverage[what](state) end
end

--- It may be one that is to die: pawl.testing.crashes, where that is loaded.
local function give_to_crashes(state, given)
  local crashes = package.loaded["pawl.testing.crashes"]
  if crashes then crashes.opening(state, given) end
end

local function split(given)
  local state = { options = {}, loaded = {}, flows = {}, doubles = {},
    host = {}, running = setmetatable({}, { __mode = "k" }) }
  for name, value in pairs(given) do state.options[name] = value end
  state.clock = given.clock
  state.url = (given.store == nil or given.store == "memory") and ":memory:"
    or given.store
  for name, fn in pairs(given.host or {}) do state.host[name] = fn end
  state.options.load, state.options.store = nil, nil
  state.options.clock, state.options.host = nil, nil
  state.options.crash, state.options.is_apart = nil, nil
  state.is_apart = given.is_apart
  state.options.seed = given.seed or require("pawl.testing.seed").first or 1
  return state
end

local mt = { __name = "pawl.engine" }

--- Opens one; raises when that fails.
---@param given pawl.TestEngineOptions  with a clock
---@return pawl.TestEngine
function engine.open(given)
  local state = split(given)
  local self = setmetatable({}, mt)
  states[self] = state
  give_to_crashes(state, given)
  open(state)
  tell("opened", state)
  state.clock.engines[self] = true
  for _, flow in ipairs(given.load or {}) do
    local ok, err = pcall(methods.load, self, flow)
    if not ok then
      state.engine:close()
      error(err, 0)
    end
  end
  return self
end

--- What belongs to an engine of this kit.
function engine.state(self, who)
  return states[self]
    or caller.fail("%s: an engine of test.engine is wanted", who)
end

--- The nodes of a workflow, by their names, as an engine of this kit has loaded
--- it last; nil: it has not, or is another engine.
function engine.nodes(self, code)
  return states[self] and doubles.nodes(states[self], code)
end

--- By how much what it runs may be late, as it has died; of any engine.
---@return integer us
function engine.late_us(self)
  return states[self] and states[self].late_us or 0
end

---- the object ---------------------------------------------------------------

--- A method of the engine behind it, whichever that is by then.
local function forward(name)
  return caller.method(states, name, function(self, ...)
    local state = states[self]
    if state.watcher then state.watcher:call(name, ...) end
    local behind = state.engine
    return behind[name](behind, ...)
  end)
end

--- The methods of engine.tasks and the like, told to whoever watches.
local function noun_of(state, noun, found)
  return setmetatable({}, { __index = function(_, verb)
    return function(_, ...)
      local watcher = state.watcher
      if watcher then watcher:call(noun .. ":" .. verb, ...) end
      return found[verb](found, ...)
    end
  end })
end

local forwards = {}

function mt.__index(self, name)
  if methods[name] then return methods[name] end
  local ok, found = pcall(function() return states[self].engine[name] end)
  if not ok then error(tostring(found):gsub("^%S-:%d+: ", ""), 2) end
  if type(found) == "table" and states[self].watcher then
    return noun_of(states[self], name, found)
  elseif type(found) ~= "function" then
    return found
  end
  forwards[name] = forwards[name] or forward(name)
  return forwards[name]
end

function mt.__tostring(self)
  return tostring(states[self].engine) .. " of a spec"
end

function mt.__close(self) methods.close(self) end

--- Closes it.
function methods:close()
  local state = states[self]
  tell("closing", state)
  state.clock.engines[self] = nil
  return state.engine:close()
end

--- As engine:load; steps can be given doubles. Raises what is wrong.
---@param flow string|pawl.Workflow
---@param options? { trust?: string|pawl.Trust }
function methods:load(flow, options)
  caller.check("load", 1, "flow", flow)
  local state = states[self]
  local loaded, err = load_by(state, flow, options)
  if not loaded then caller.fail("%s", tostring(err)) end
  state.loaded[#state.loaded + 1] = { flow, options }
  for _, mate in ipairs(state.mates or {}) do
    methods.load(mate, flow, options)
  end
  return loaded
end

--- As engine:transaction; nobody else goes on until it is over.
---@param fn fun(tx: pawl.Transaction): any
function methods:transaction(fn)
  local state = states[self]
  if not (state.watcher and state.watcher.transaction) then
    return state.engine:transaction(fn)
  end
  return state.watcher:transaction(state, fn)
end

--- Another engine in place of one that has died, on the same store.
function engine.revive(state)
  state.engine:close()
  state.options.seed = state.options.seed + 1 -- it draws other ids
  open(state)
  for _, one in ipairs(state.loaded) do
    local ok, err = load_by(state, table.unpack(one, 1, 2))
    if not ok then error(tostring(err), 0) end
  end
end

---- running ------------------------------------------------------------------

local function must(result, err)
  if result == nil then caller.fail("%s", tostring(err)) end
  return result
end

--- As engine:run.
---@param options? pawl.RunOptions
function methods:run(options)
  local state = states[self]
  if not state.watcher then return state.engine:run(options) end
  return state.watcher:run(state, options)
end

--- Runs what is due, and what follows from it, until nothing is due at this
--- time.
---@return table totals
function methods:run_until_idle()
  return must(self:run())
end

--- Moves the clock to a time at once, and runs what is due there, one time
--- after the other: as it was run when that was recorded, late or not.
---@param ... pawl.Time
---@return table totals  of the last
function methods:run_at(...)
  local clock, totals = states[self].clock, nil
  for _, time in ipairs { ... } do
    clock.us = math.max(clock.us, replay.time("run_at", time))
    totals = must(self:run())
  end
  return totals or must(self:run())
end

--- The open task at a node, the oldest one, or that of a visit. Raises when
--- there is none.
---@param id string
---@param node string
---@param visit? integer
---@return string id
function methods:task_at(id, node, visit)
  caller.check("task_at", 1, "instance", id)
  caller.check("task_at", 2, "node", node)
  local found
  for _, task in ipairs(must(self.tasks:list { instance = id })) do
    if task.node == node and not task.completed
      and (not visit or task.visit == visit)
      and (not found or task.visit < found.visit) then
      found = task
    end
  end
  if found then return found.id end
  caller.fail("task_at \"%s\": no task is open there\n%s", node,
    require("pawl.testing.asserts").story(self, id))
end

--- Of all that has not ended, what it waits for.
local function standing(self)
  local lines = {}
  for _, one in ipairs(self:list { status = { "created", "running", "waiting",
    "suspended" }, limit = 5 }) do
    local told = self:explain(one.id)
    for _, line in ipairs(told and told.sentences or {}) do
      lines[#lines + 1] = "  " .. line
    end
  end
  return #lines > 0 and table.concat(lines, "\n") or "  everything has ended"
end

--- Moves the clock to the next due time, which it gives. Raises when there is
--- none, or it was there before.
local function move_on(self, before, what)
  local clock = states[self].clock
  local due = self:next_due()
  local us = due and math.floor(due * 1e6 + 0.5)
  if not us or us <= clock.us and before == us then
    caller.fail("%s: nothing is left to come\n%s", what, standing(self))
  end
  clock.us = math.max(clock.us, us)
  return us
end

--- Runs, and moves the clock from due time to due time, until `is_so` gives
--- something true. Raises when nothing is left to come.
local function until_so(self, is_so, what)
  local watcher, before = states[self].watcher, nil
  while true do
    must(self:run())
    local found = is_so(self)
    if found then return found end
    if not (watcher and watcher:wait(what)) then
      before = move_on(self, before, what)
    end
  end
end

--- Runs until the condition holds: it is asked whenever nothing is due at a
--- time, and the clock goes on to the next due time.
---@param condition fun(engine: pawl.TestEngine): any
---@return any value  what it gave
function methods:run_until(condition)
  caller.check("run_until", 1, "callable", condition)
  return until_so(self, condition, "run_until")
end

--- Is one of its tokens there? Raises when it has ended without that.
local function stands_at(self, id, node)
  for _, token in ipairs(must(self:tokens(id))) do
    if token.node == node and token.state == "waiting" then return token end
  end
  local instance = must(self:get(id))
  if not instance.times.completed then return false end
  caller.fail("run_until_waiting: it has not come to \"%s\"\n%s", node,
    require("pawl.testing.asserts").story(self, id))
end

--- Runs until the instance waits at the node, moving the clock as far as that
--- takes.
---@param id string
---@param node string
---@return table token  that waits there
function methods:run_until_waiting(id, node)
  caller.check("run_until_waiting", 1, "instance", id)
  caller.check("run_until_waiting", 2, "node", node)
  local known = doubles.nodes(states[self], must(self:get(id)).workflow)
  if known and not known[node] then
    caller.no_node("run_until_waiting", node, known)
  end
  return until_so(self, function() return stands_at(self, id, node) end,
    ("run_until_waiting \"%s\""):format(node))
end

for name, method in pairs(methods) do
  methods[name] = caller.method(states, name, method)
end
doubles.add(methods, states)

return engine
