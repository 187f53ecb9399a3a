--- A scenario that is gone through with what may go wrong, and with what others
--- do at whatever time, drawn from a seed; what fails is cut down to the
--- smallest story that still does.
---
--- A run passes places at which something may happen: a handler begins or has
--- ended, a commit, a moment at which nothing is due. A story says what happens
--- at which of them, by name ("before charge of shop.pay 2", "moment 5");
--- elsewhere all goes as it should. It is drawn while it is first gone through,
--- and then gone through again with less in it.
local Random = require "pawl.testing.random"
local caller = require "pawl.testing.caller"
local keys = require "pawl.keys"
local nearest = require "pawl.nearest"
local option = require "pawl.option"
local scenarios = require "pawl.testing.scenario"

local simulate = {}

local SEEDS <const> = 100    -- runs, where nothing is said
local MOMENTS <const> = 60   -- of a run, likewise
local TRIES <const> = 200    -- to cut a story down

---@class pawl.SimulateOptions: pawl.TestEngineOptions
---@field scenario fun(engine: pawl.TestEngine, clock: pawl.Clock): any
---@field seeds? integer       so many runs; 100
---@field seed? integer        of the first; 1, or what `pawl test --seed` says
---@field events? table<string, any>  those that others send, and their data, or
---                            functions that give it; all that are waited for
---@field calls? pawl.ScenarioPart[]  what others do besides, each once
---@field errors? table<string, string[]>  codes of a step's; those it routes,
---                            and one that it does not
---@field troubles? string[]   what may go wrong; all of it
---@field moments? integer     of a run at most; 60
---@field always? pawl.ScenarioPart  raises, or gives false, when it is not so
---@field check? pawl.ScenarioPart   the same, when nothing is left to come
---@field store? string|fun(): string, table?  as for crash_everywhere

---@class pawl.Simulated
---@field seeds integer
---@field through integer  runs in which nothing was left to come at last
---@field moments integer  at which nothing was due
---@field happened table<string, integer>  how often what went wrong

---- what happens -------------------------------------------------------------

---@class pawl.Simulation
---@field story table<string, table>  what happens, by its place
---@field places string[]     of the story, in order
---@field random? pawl.Random  nil: the story is gone through again
---@field passed table<string, integer>  how often a place was come by
---@field log string[]        for people
---@field armed boolean       it runs
---@field dead boolean?
local Simulation = {}
Simulation.__index = Simulation

function Simulation:tell(format, ...)
  self.log[#self.log + 1] = format:format(...)
end

--- What happens at a place; nil: nothing.
local function happens(self, place, draw, ...)
  local n = (self.passed[place] or 0) + 1
  self.passed[place] = n
  place = ("%s %d"):format(place, n)
  local action = self.story[place]
  if self.random then
    action = draw(self, ...)
    if action then self.story[place] = action end
  end
  if action then self.places[#self.places + 1] = place end
  return action
end

local function may(self, trouble, percent)
  return self.given.troubles[trouble] and self.random:chance(percent)
end

--- Codes that a step may fail with.
local function codes_of(self, code, node)
  local said = self.given.errors and self.given.errors[node]
  if said then return said end
  local list, known = { "simulated" }, self.state.flows[code].nodes[node]
  for _, name in ipairs(keys(known.on_error or {})) do
    if name ~= "*" then list[#list + 1] = name end
  end
  return list
end

local function draw_kill(self)
  return may(self, "kill", 3) and { what = "kill" } or nil
end

local function draw_at_handler(self, trouble, percent, code, node, field)
  if field == "run" and may(self, trouble, percent) then
    return { what = trouble, code = self.random:pick(
      codes_of(self, code, node)) }
  end
  return draw_kill(self)
end

local function die(self, where)
  self.dead = true
  self:tell("the engine dies %s; another one goes on", where)
end

-- Handlers that do something; others only say what they find.
local TOLD <const> = { run = true, undo = true }

--- A handler begins, or has ended. It may fail in place of it, or behind it,
--- as when an answer gets lost.
function Simulation:point(when, code, node, field)
  local name = field == "run" and node or ("`%s` of %s"):format(field, node)
  name = ("%s of %s"):format(name, code)
  self.handler = name
  if self.dead then
    error({ code = "killed", message = "the engine died in a spec" }, 0)
  end
  if not self.armed then return end
  local action = happens(self, when .. " " .. name, draw_at_handler,
    when == "before" and "fail" or "lose", when == "before" and 20 or 8, code,
    node, field)
  if not action then
    if when == "before" and TOLD[field] then self:tell("%s runs", name) end
    return
  end
  if action.what == "kill" then
    die(self, when .. " the handler " .. name)
    error({ code = "killed", message = "the engine died in a spec" }, 0)
  end
  self:tell("%s %s with '%s'", name, when == "before" and "fails"
    or "has done its work, and fails", action.code)
  error({ code = action.code, message = "it is simulated" }, 0)
end

--- A commit is asked for, or was done. Whoever is dead commits nothing.
function Simulation:commit(is_done)
  if self.dead then return true end
  if not self.armed then return false end
  local place = ("%s the commit behind %s"):format(is_done and "after"
    or "before", self.handler or "the beginning")
  if not happens(self, place, draw_kill) then return false end
  die(self, place)
  return true
end

--- Done in an earlier run of the visit, too, but under another key? One run may
--- do it several times, each under its own, and may have ended in between: what
--- no run before has come to is new, and no repetition.
---@param done pawl.EffectDone
local function other_key(self, done)
  local at = done.name .. "\0" .. done.visit
  local known = self.keys[at] or { n = 0, most = 0, texts = {} }
  self.keys[at] = known
  if known.run ~= done.run then
    known.run, known.most, known.n = done.run, math.max(known.most, known.n), 0
  end
  known.n = known.n + 1
  if known.texts[done.key] then return nil end
  known.texts[done.key], known.first = true, known.first or done.key
  return known.n <= known.most and known.first or nil
end

--- Why what is done again is not known by a key; nil: it is, or it is new.
---@param done pawl.EffectDone
local function unknown(self, done)
  if done.covered then
    local other = done.visit and other_key(self, done)
    return other and ("its key is another one: %s, and then %s"):format(other,
      done.key)
  end
  local at = done.name .. "\0" .. (done.key or "")
  local before = self.done[at]
  self.done[at] = done.run
  return done.key and before and before ~= done.run
    and "is given no key; give it ctx.idempotency_key()" or nil
end

--- Something was done outside: another time in one visit it has to be known by
--- the key.
---@param done pawl.EffectDone
function Simulation:effect(done)
  local why = not self.dead and unknown(self, done)
  if not why or self.failure then return end
  self.failure = { what = "twice", text = ("'%s' is done again in one visit of "
    .. "%s of %s, and %s"):format(done.name, done.node, done.workflow, why) }
end

--- Its program, or others, call the engine.
function Simulation:call(name, what)
  if self.is_asking and scenarios.CHANGES[name] then
    self:tell("%s%s", name, scenarios.shown(what))
  end
end

function Simulation.wait() end

Simulation.run = scenarios.run

---- where nothing is due -----------------------------------------------------

local function fail(what, format, ...)
  error({ what = what, text = format:format(...) }, 0)
end

local function must(result, err)
  if result == nil then error(tostring(err), 0) end
  return result
end

local ENDED <const> = { completed = true, failed = true, cancelled = true }

--- All instances, in the order in which they came; and by their labels.
local function instances(self)
  local list, numbers, known = must(self.behind:list { limit = 1000 }), {}, {}
  table.sort(list, function(a, b) return a.id < b.id end)
  for _, one in ipairs(list) do
    numbers[one.workflow] = (numbers[one.workflow] or 0) + 1
    one.label = ("%s %d"):format(one.workflow, numbers[one.workflow])
    known[one.label] = one
  end
  return list, known
end

--- A name that a pattern takes.
local function name_of(pattern) return (pattern:gsub("%*", "some")) end

--- Data of an event, which does not hang on what was drawn before.
local function data_of(self, name)
  local data = (self.given.events or {})[name]
  if option.check.callable(data) then
    return data(Random.new(self.seed * 1000003 + self.moment))
  end
  return data ~= true and data or nil
end

local function send(self, name, id, again)
  local signal = again or { name = name, instance = id,
    id = ("sim-%d"):format(self.moment), data = data_of(self, name) }
  self.last = signal
  local ok, err = self.behind:signal(signal)
  -- what has ended takes no events, and an event's data may be refused
  if not ok and not scenarios.LATE[err.code] then error(tostring(err), 0) end
end

local function complete(self, task, take)
  local _, err = self.behind.tasks:complete(task.id, { take = take,
    by = task.assignee or task.users[1] or "somebody", roles = task.roles[1],
    groups = task.groups[1] })
  if err and not scenarios.LATE[err.code] then error(tostring(err), 0) end
end

--- Adds what others can do for an instance.
local function add_help(self, choices, one)
  local flow = self.state.flows[one.workflow]
  for _, token in ipairs(flow and must(self.behind:tokens(one.id)) or {}) do
    local node = flow.nodes[token.node]
    local event = node and node.event and name_of(node.event)
    local events = self.given.events
    if event and token.state == "waiting"
      and (not events or events[event] ~= nil) then
      choices[#choices + 1] = { text = ('"%s" comes to %s'):format(event,
        one.label), run = function() send(self, event, one.id) end }
    end
  end
end

local NO_OUTCOME <const> = { overdue = true, timeout = true, failed = true }

local function add_tasks(self, choices, one)
  local flow = self.state.flows[one.workflow]
  local tasks = flow and must(self.behind.tasks:list { instance = one.id,
    status = { "pending", "running" } }) or {}
  for _, task in ipairs(tasks) do
    local ways = (flow.nodes[task.node] or {}).next
    local takes = {}
    for _, name in ipairs(type(ways) == "table" and keys(ways) or {}) do
      if not NO_OUTCOME[name] then takes[#takes + 1] = name end
    end
    for i = 1, math.max(#takes, 1) do
      choices[#choices + 1] = { text = ("the task '%s' of %s is completed%s")
        :format(task.node, one.label, takes[i] and ": " .. takes[i] or ""),
        run = function() complete(self, task, takes[i]) end }
    end
  end
end

local UNITS <const> = { { 86400, "d" }, { 3600, "h" }, { 60, "m" } }

local function spoken(seconds)
  for _, unit in ipairs(UNITS) do
    if seconds >= unit[1] and seconds % unit[1] == 0 then
      return ("%d%s"):format(seconds // unit[1], unit[2])
    end
  end
  return ("%.3gs"):format(seconds)
end

local function add_time(self, choices)
  local due, clock = self.behind:next_due(), self.state.clock
  local us = due and math.floor(due * 1e6 + 0.5)
  if not us or us <= clock.us and self.stuck == us then return end
  choices[#choices + 1] = { is_time = true, text = "time goes on",
    run = function()
      self.stuck = us
      local left = math.max(us - clock.us, 0) / 1e6
      self.log[#self.log] = ("%s pass"):format(spoken(left))
      clock.us = math.max(clock.us, us)
    end }
end

local function add_calls(self, choices)
  for i, fn in ipairs(self.given.calls or {}) do
    if not self.called[i] then
      choices[#choices + 1] = { text = ("call %d is made"):format(i),
        run = function()
          self.called[i], self.is_asking = true, true
          fn(self.engine, self.state.clock, self.value)
          self.is_asking = false
        end }
    end
  end
end

--- What can happen next; the first is what does, where no story says
--- otherwise.
local function choices_of(self, list)
  local choices = {}
  add_calls(self, choices)
  for _, one in ipairs(list) do
    if not ENDED[one.status] then
      add_help(self, choices, one)
      add_tasks(self, choices, one)
    end
  end
  add_time(self, choices)
  return choices
end

---- trouble from outside -----------------------------------------------------

--- All names of events that nodes wait for.
local function awaited(self)
  local set = {}
  for _, flow in pairs(self.state.flows) do
    for _, node in pairs(flow.nodes) do
      if node.event then set[name_of(node.event)] = true end
    end
  end
  return set
end

--- All names of events that somebody might send.
local function known_events(self)
  return keys(self.given.events or awaited(self))
end

local JUMPS <const> = { "1m", "1h", "1d", "30d" }
local PLAYS, DRAWS = {}, {}

function DRAWS.jump(self)
  return { what = "jump", by = self.random:pick(JUMPS) }
end

function PLAYS.jump(self, action)
  self:tell("nothing runs for %s", action.by)
  self.state.clock:jump(action.by)
end

function DRAWS.again(self) return self.last and { what = "again" } end

function PLAYS.again(self)
  if not self.last then return end
  self:tell('"%s" comes again', self.last.name)
  send(self, nil, nil, self.last)
end

function DRAWS.stray(self, list)
  local events = known_events(self)
  if #events == 0 or #list == 0 then return nil end
  return { what = "stray", event = self.random:pick(events),
    label = self.random:pick(list).label }
end

function PLAYS.stray(self, action, known)
  local one = known[action.label]
  if not one then return end
  self:tell('"%s" comes to %s, whether it waits or not', action.event,
    action.label)
  send(self, action.event, one.id)
end

function DRAWS.cancel(self, list)
  return #list > 0 and { what = "cancel",
    label = self.random:pick(list).label } or nil
end

function PLAYS.cancel(self, action, known)
  local one = known[action.label]
  if not one then return end
  self:tell("%s is cancelled", action.label)
  local ok, err = self.behind:cancel(one.id, { by = "somebody" })
  if not ok and not scenarios.LATE[err.code] then error(tostring(err), 0) end
end

local OUTSIDE <const> = { "jump", "again", "stray", "cancel" }

local function draw_moment(self, list, choices)
  for _, trouble in ipairs(OUTSIDE) do
    local action = may(self, trouble, 6) and DRAWS[trouble](self, list)
    if action then return action end
  end
  if #choices < 2 then return nil end
  local i = self.random:upto(#choices)
  return i > 1 and { what = "choose", text = choices[i].text } or nil
end

---- a run --------------------------------------------------------------------

local function asked(self, what)
  local fn = self.given[what]
  if not fn then return end
  local told, why = fn(self.engine, self.state.clock, self.value)
  if told == false then error(tostring(why or "it says so"), 0) end
end

--- Somebody has not ended, and nothing can come to it.
local function check_stuck(self, list)
  for _, one in ipairs(list) do
    if not ENDED[one.status] and one.status ~= "suspended" then
      local told = self.behind:explain(one.id)
      fail("stuck", "%s is stuck: nothing that is to come helps it\n    %s",
        one.label, table.concat(told and told.sentences or {}, "\n    "))
    end
  end
end

--- What happens where nothing is due; false: nothing can any more.
local function pass_moment(self)
  local list, known = instances(self)
  self.has_started = self.has_started or #list > 0
  local choices = choices_of(self, list)
  local action = happens(self, "moment", draw_moment, list, choices)
  if action and action.what ~= "choose" then
    PLAYS[action.what](self, action, known)
    return true
  end
  local chosen = choices[1]
  for _, one in ipairs(choices) do
    if action and one.text == action.text then chosen = one end
  end
  if not chosen then
    check_stuck(self, list)
    return false
  end
  self:tell("%s", chosen.text)
  if not chosen.is_time then self.stuck = nil end
  chosen.run()
  return true
end

local function go_through(self)
  self.is_asking = true
  self.value = self.given.scenario(self.engine, self.state.clock)
  self.is_asking = false
  for moment = 1, self.given.moments do
    self.moment = moment
    must(self.engine:run())
    self.behind = self.state.engine -- another one, where that has died
    if self.failure then error(self.failure, 0) end
    self.what = "always"
    asked(self, "always")
    self.what = "scenario"
    if not pass_moment(self) then
      self.what, self.is_through = "check", true
      return asked(self, "check")
    end
  end
end

local function caught(self)
  return function(err)
    if type(err) == "table" and err.text and err.what then return err end
    return { what = self.what, text = self.what .. ": " .. tostring(err) }
  end
end

--- Goes through a story, or draws one.
---@return pawl.Simulation
local function play(given, seed, story)
  local testing, engines = require "pawl.testing",
    require "pawl.testing.engine"
  local self = setmetatable({ given = given, seed = seed, log = {},
    random = not story and Random.new(seed) or nil, story = story or {},
    places = {}, passed = {}, done = {}, keys = {}, called = {}, moment = 0,
    armed = false, what = "scenario" }, Simulation)
  local options, file = scenarios.fresh(given, { seed = seed,
    lease = scenarios.LEASE_US / 1e6,
    commit = function(is_done) return self:commit(is_done) end })
  local _ <close> = file
  local engine <close> = testing.engine(options)
  self.engine, self.state = engine, engines.state(engine, "simulate")
  self.state.watcher, self.behind = self, self.state.engine
  local ok, err = xpcall(go_through, caught(self), self)
  if not ok then self.failure = err end
  return self
end

---- smaller ------------------------------------------------------------------

--- The story without `size` of its places, from the i-th on.
local function without(run, i, size)
  local story = {}
  for at, place in ipairs(run.places) do
    if at < i or at >= i + size then story[place] = run.story[place] end
  end
  return story
end

--- Cuts a run's story down as long as the same goes wrong. What the last run
--- did not come by is gone with that.
local function shrink(given, run)
  local tries, size = 0, math.max(#run.places // 2, 1)
  while size >= 1 do
    local i, grown = 1, false
    while i <= #run.places and tries < TRIES do
      tries = tries + 1
      local again = play(given, run.seed, without(run, i, size))
      if again.failure and again.failure.what == run.failure.what
        and #again.places < #run.places then
        run, grown = again, true
      else
        i = i + size
      end
    end
    if size == 1 and not (grown and tries < TRIES) then break end
    size = math.max(size // 2, 1)
  end
  return run, tries
end

local function report(given, run)
  local drawn = #run.places
  local smallest, tries = shrink(given, run)
  return ("simulate: seed %d: %s\nthe smallest story that does it, with %d of "
    .. "%d things that were drawn (tries: %d):\n  %s\nplay it again: simulate "
    .. "{ seed = %d, seeds = 1, ... }, or pawl test --seed %d"):format(
    run.seed, smallest.failure.text, #smallest.places, drawn, tries,
    table.concat(smallest.log, "\n  "), run.seed, run.seed)
end

---- all of it ----------------------------------------------------------------

local TROUBLES <const> = { fail = true, lose = true, kill = true, jump = true,
  again = true, stray = true, cancel = true }

local function troubles(value)
  if type(value) ~= "table" then return nil end
  local set = {}
  for _, name in ipairs(value) do
    if not TROUBLES[name] then return nil end
    set[name] = true
  end
  return set
end

local function functions(value)
  if type(value) ~= "table" or #value == 0 then return nil end
  for _, fn in ipairs(value) do
    if not option.check.callable(fn) then return nil end
  end
  return value
end

local SHAPE <const> = {
  scenario = { "callable" }, check = { "callable" }, always = { "callable" },
  store = scenarios.STORE, seeds = { "count" }, seed = { "positive" },
  moments = { "count" }, events = { "table" }, errors = { "table" },
  calls = { functions, wants = "a list of functions" },
  troubles = { troubles, wants = 'a list of "fail", "lose", "kill", "jump", '
    .. '"again", "stray", "cancel"' },
}

-- To be cancelled is in few stories what nobody wants: it is asked for.
local USUAL <const> = { fail = true, lose = true, kill = true, jump = true,
  again = true, stray = true }

local function read(options)
  local given = scenarios.split("simulate", SHAPE, options)
  if not given.scenario then
    caller.fail("simulate: it needs a 'scenario', a function that starts what "
      .. "there is")
  end
  given.seeds, given.moments = given.seeds or SEEDS, given.moments or MOMENTS
  given.seed = given.seed or require("pawl.testing.seed").first or 1
  given.troubles = given.troubles or USUAL
  return given
end

--- Raises where `errors` names a step that nobody has loaded.
local function check_errors(given, run)
  local known = {}
  for _, flow in pairs(run.state.flows) do
    for name, node in pairs(flow.nodes) do
      if node.kind == "step" then known[name] = true end
    end
  end
  for _, name in ipairs(next(known) and keys(given.errors or {}) or {}) do
    if not known[name] then
      caller.fail("simulate: 'errors' names '%s', which is no step (%s)", name,
        nearest.key_hint(name, known))
    end
  end
end

--- Raises where `events` has a name that is nearly one that is waited for. Any
--- other may be sent to whom it means nothing.
local function check_events(given, run)
  local known = awaited(run)
  for _, name in ipairs(keys(given.events or {})) do
    if not known[name] and nearest.find(name, keys(known)) then
      caller.fail("simulate: 'events' names '%s', which nobody waits for (%s)",
        name, nearest.key_hint(name, known))
    end
  end
end

--- Raises where nothing was gone through.
local function check_started(has_started)
  if has_started then return end
  caller.fail("simulate: the scenario starts nothing: no instance was there "
    .. "in any run")
end

--- Goes through the scenario with what may go wrong, once for each seed. Raises
--- the smallest story of the first that fails.
---@param options pawl.SimulateOptions
---@return pawl.Simulated
function simulate.run(options)
  local given = read(options)
  local moments, through, happened, has_started = 0, 0, {}, false
  for seed = given.seed, given.seed + given.seeds - 1 do
    local run = play(given, seed)
    check_errors(given, run)
    check_events(given, run)
    if run.failure then error(report(given, run), 0) end
    has_started = has_started or run.has_started
    moments = moments + run.moment
    through = through + (run.is_through and 1 or 0)
    for _, place in ipairs(run.places) do
      local what = run.story[place].what
      happened[what] = (happened[what] or 0) + 1
    end
  end
  check_started(has_started)
  if given.check and through == 0 then
    caller.fail("simulate: in none of %d runs was nothing left to come within "
      .. "%d moments, so that 'check' was never asked: say more 'moments', "
      .. "data for 'events', or 'always' in its place", given.seeds,
      given.moments)
  end
  return { seeds = given.seeds, through = through, moments = moments,
    happened = happened }
end

return simulate
