--- What an instance makes of things that happened while nobody ran it is what
--- it would have made of them in time: random forks, eachs, waits for events
--- and for what variables say, tasks, calls, timers and boundaries are played
--- by a worker that is always there, by one that comes at the end, and by one
--- that comes now and then. Which steps ran, in what order, and where the
--- instance stands then must be the same.
---
--- PAWL_GRAPHS: how many on each store (60). PAWL_SEED: the first, or, when
--- PAWL_GRAPHS is not set, the only one.
local pawl = require "pawl"
local kit = require "spec.engine.kit"
local Random = require "pawl.testing.random"

local wanted, seed = os.getenv "PAWL_GRAPHS", os.getenv "PAWL_SEED"
local first = math.tointeger(tonumber(seed or 1))
local count = math.tointeger(tonumber(wanted or seed and 1 or 60))
assert(first and count, "PAWL_SEED and PAWL_GRAPHS are whole numbers")

local LASTS <const> = 60 -- seconds in which something happens
local DEEPEST <const> = 3

---- drawing -----------------------------------------------------------------

--- An event, to the instance or to the child of a call; what else happens to
--- one: it is run; or a task is completed.
---@class spec.LateEvent
---@field at number
---@field name? string
---@field key? string
---@field kid? string   the code of the child
---@field task? string  its node

---@class spec.LatePen
---@field random pawl.Random
---@field flow pawl.Workflow
---@field n integer        nodes so far
---@field kids pawl.Workflow[]
---@field events spec.LateEvent[]
---@field taken table<number, true>  no two things happen at once
local Pen = {}
Pen.__index = Pen

function Pen:name(kind)
  self.n = self.n + 1
  return kind .. self.n
end

function Pen:chance(percent) return self.random:chance(percent) end

--- A second of its own: events have whole ones, times halves.
function Pen:at(shift)
  local at
  repeat at = self.random:between(1, LASTS) + shift until not self.taken[at]
  self.taken[at] = true
  return at
end

local function ran(name)
  return function(ctx)
    local item = ctx.token.data.item
    ctx.vars.ran = (ctx.vars.ran or "") .. name
      .. (item and "#" .. item or "") .. " "
  end
end

--- The name of an event that comes once, twice or never; one of two names that
--- several may wait for.
function Pen:event()
  local name = self:chance(30) and "shared" .. self.random:between(1, 2)
    or self:name "event"
  for _ = 1, self.random:between(0, 2) do
    self.events[#self.events + 1] = { at = self:at(0), name = name }
  end
  return name
end

--- One of the variables that conditions are about, now and then.
function Pen:variable() return "v" .. self.random:between(1, 2) end

function Pen:into() return self:chance(50) and self:variable() or nil end

function Pen:step(to)
  local name = self:name "step"
  local variable = self:chance(10) and self:variable()
  local note = ran(name)
  self.flow:step(name, { next = to, run = function(ctx)
    note(ctx)
    if variable then ctx.vars[variable] = ctx.visit end
  end })
  return name
end

--- Its first attempt fails, and the next is at a time of its own.
function Pen:retried(to)
  local name = self:name "retried"
  local note, at = ran(name), self:at(0.75)
  self.flow:step(name, { next = to, run = function(ctx)
    if ctx.attempt == 1 then error "not yet" end
    note(ctx)
  end, retry = { max = 2, delay = function() return at end } })
  return name
end

--- `on_time`: it begins with the instance, so that its times are the same
--- whenever it is looked at.
function Pen:beside(options, on_time, to)
  local timers, events = {}, {}
  local function lane(list, rule)
    rule.name = self:name "lane"
    rule.interrupt, rule.run = false, ran(rule.name)
    list[#list + 1] = rule
  end
  if on_time and self:chance(30) then
    timers[1] = { name = self:name "out", after = self:at(0.5),
      next = self:step(to) }
  end
  if on_time and self:chance(30) then lane(timers, { after = self:at(0.5) }) end
  if self:chance(30) then
    events[1] = { name = self:name "out", event = self:event(),
      next = self:step(to) }
  end
  if self:chance(30) then lane(events, { event = self:event() }) end
  options.on_timer = timers[1] and timers
  options.on_event = events[1] and events
  return options
end

function Pen:fork(to, on_time, depth)
  local name, join, behind = self:name "fork", self:name "join", self:step(to)
  local branches = {}
  for i = 1, self.random:between(2, 3) do
    branches[i] = self:line(join, on_time, depth + 1)
  end
  self.flow:join(join, { next = behind,
    expect = self.random:pick { "all", "all", "any", 2 },
    losers = self.random:pick { "cancel", "run" } })
  self.flow:fork(name, self:beside({ next = branches }, on_time, behind))
  return name
end

function Pen:each(to, on_time)
  local name, item, behind = self:name "each", self:name "item", self:step(to)
  local wait, n = self:name "wait", self.random:between(1, 3)
  local event, items = self:name "event", {}
  for i = 1, n do
    items[i] = i
    if self:chance(70) then
      self.events[#self.events + 1] = { at = self:at(0), name = event,
        key = "k" .. i }
    end
  end
  self.flow:step(item, { run = ran(item), next = name })
  self.flow:wait(wait, { event = event, next = item,
    key = function(ctx) return "k" .. ctx.token.data.item end })
  local enough = self.random:between(1, n)
  self.flow:each(name, self:beside({ branch = wait, next = behind,
    into = self:variable(),
    items = function() return items end,
    enough = self:chance(40)
      and function(_, so_far) return so_far.done >= enough end or nil },
    on_time, behind))
  return name
end

--- What it waits for may take too long.
function Pen:limit(options, on_time, to)
  if on_time and self:chance(60) then
    options.timeout, options.next.timeout = self:at(0.5), self:step(to)
  end
  return options
end

function Pen:around(options, on_time, to)
  return self:chance(20) and self:beside(options, on_time, to) or options
end

function Pen:wait(to, on_time)
  local name = self:name "wait"
  self.flow:wait(name, self:around(self:limit({ event = self:event(),
    into = self:into(), next = { received = self:step(to) } }, on_time, to),
    on_time, to))
  return name
end

function Pen:condition(to, on_time)
  local name, variable = self:name "until", self:variable()
  self.flow:wait(name, self:around(self:limit({ next = { met = self:step(to) },
    condition = function(ctx) return ctx.vars[variable] ~= nil end },
    on_time, to), on_time, to))
  return name
end

--- Nothing can be done for what somebody else does before that has begun; and
--- what is done counts, if nobody has seen by then that its time was over. So
--- such a node comes first in its branch, and has a time or an end.
---@param happens spec.LateEvent
function Pen:ends(happens)
  if not self:chance(40) then return false end
  self.events[#self.events + 1] = happens
  return true
end

function Pen:task(to)
  local name = self:name "task"
  local options = { title = name, into = self:into(),
    next = { done = self:step(to) } }
  if not self:ends { at = self:at(0), task = name } then
    options.due = self:chance(80) and self:at(0.5) or nil
    options.next.overdue = options.due and self:chance(70) and self:step(to)
      or nil
    self:limit(options, true, to)
  end
  self.flow:task(name, options)
  return name
end

function Pen:call(to)
  local name, kid = self:name "call", self:name "kid"
  local child = pawl.workflow { code = self.flow.code .. "." .. kid,
    start = "w" }
  local options = { workflow = child.code, into = self:into(),
    next = { completed = self:step(to) } }
  local happens = { at = self:at(0), kid = child.code }
  if self:chance(50) then
    child:timer("w", { after = happens.at, next = "z" })
    self.events[#self.events + 1] = happens
  else
    happens.name = "go"
    child:wait("w", { event = "go", next = "z" })
    if not self:ends(happens) then self:limit(options, true, to) end
  end
  child:finish("z", { output = function() return kid end })
  self.kids[#self.kids + 1] = child
  self.flow:call(name, options)
  return name
end

function Pen:timer(to)
  local name = self:name "timer"
  self.flow:timer(name, { after = self:at(0.5), next = self:step(to) })
  return name
end

--- What happens there has a time that counts from when it is come to, or wants
--- it to be there by then.
local BEGINS_ON_TIME <const> = { timer = true, task = true, call = true,
  retried = true }

--- A few nodes one behind the other, the first of which it returns.
function Pen:line(to, on_time, depth)
  local kinds = {}
  for i = 1, self.random:between(1, 3) do
    local kind = self.random:pick { "wait", "wait", "timer", "fork", "each",
      "each", "step", "condition", "condition", "task", "task", "call",
      "retried" }
    if (BEGINS_ON_TIME[kind] and not on_time)
      or (kind == "fork" and depth >= DEEPEST) then
      kind = "step"
    end
    kinds[i] = { kind, on_time }
    on_time = on_time and kind == "step"
  end
  for i = #kinds, 1, -1 do
    to = self[kinds[i][1]](self, to, kinds[i][2], depth)
  end
  return to
end

--- The workflow, and what happens meanwhile.
local function draw(i)
  local pen = setmetatable({ random = Random.new(i), n = 0, kids = {},
    events = {}, taken = {} }, Pen)
  local options = pen:ends_all()
  options.code, options.start = "t.late" .. i, "begin"
  local flow = pawl.workflow(options)
  pen.flow = flow
  flow:finish("end", { output = function(ctx) return ctx.vars.ran end })
  local top = pen:chance(70) and pen:fork("end", true, 1)
    or pen:line("end", true, 0)
  flow:step("begin", { run = function() end, next = top })
  table.sort(pen.events, function(a, b) return a.at < b.at end)
  return flow, pen
end

--- What ends all of it, whatever stands where: seldom, or little else is seen.
function Pen:ends_all()
  local options = {}
  if self:chance(20) then options.deadline = self:at(0.25) end
  if self:chance(20) then options.cancel_on = { { event = self:event() } } end
  return options
end

---- playing -----------------------------------------------------------------

local function standing(engine, id)
  local seen = assert(engine:get(id))
  return ("%s; ran %s; stands at %s"):format(seen.status,
    seen.variables.ran or "nothing", kit.standing(engine, id))
end

--- What it is about may have ended.
local function happen(engine, id, event, n)
  if event.task then
    for _, task in ipairs(assert(engine.tasks:list { instance = id })) do
      if task.node == event.task then
        engine.tasks:complete(task.id, { by = "ann", output = n })
      end
    end
  elseif event.kid then
    for _, kid in ipairs(assert(engine:children(id))) do
      if kid.workflow == event.kid then
        if event.name then
          engine:signal { name = event.name, instance = kid.id }
        end
        assert(engine:run { id = kid.id })
      end
    end
  else
    engine:signal { name = event.name, key = event.key, instance = id,
      id = "e" .. n }
  end
end

--- What becomes of it in the engine, which has nothing else to do. `comes`: is
--- there a worker when so many things have happened?
local function played(engine, clock, flow, events, comes)
  local id = assert(engine:start(flow.code))
  assert(engine:run())
  local began = clock:now()
  for n, event in ipairs(events) do
    local at = began + event.at
    if comes(n) then
      clock:advance(at - clock:now())
      assert(engine:run())
    else
      clock:jump_to(at)
    end
    happen(engine, id, event, n)
    if comes(n) then assert(engine:run()) end
  end
  clock:advance(began + 2 * LASTS - clock:now())
  assert(engine:run())
  return standing(engine, id)
end

local WORKERS <const> = {
  ["that comes at the end"] = function() return false end,
  ["that is there every other time"] = function(n) return n % 2 == 0 end,
  ["that is there at first"] = function(n) return n < 4 end,
}

local function always() return true end

kit.describe("an instance, by a worker", function(backend)
  for name, comes in pairs(WORKERS) do
    it(name .. ", goes as it would have gone in time", function()
      local engine, clock = backend.fresh()
      for i = first, first + count - 1 do
        local flow, pen = draw(i)
        for _, kid in ipairs(pen.kids) do assert(engine:load(kid)) end
        assert(engine:load(flow))
        local live = played(engine, clock, flow, pen.events, always)
        local late = played(engine, clock, flow, pen.events, comes)
        assert(live == late, ("seed %d\n  in time: %s\n  late:    %s"):format(i,
          live, late))
      end
    end)
  end
end)
