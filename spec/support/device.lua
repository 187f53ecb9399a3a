--- A device as somebody would build one, for specs that let it run for years:
--- four sensors that are read for ever, cups that are brewed and paid, or not,
--- work for people, updates in pieces, a report to a server each day, a plug
--- that is pulled now and then. All time is the clock's.
---
---     local device = Device.new(function(options) return ... end, clock)
---     device:hour()
local pawl = require "pawl"
local Random = require "pawl.testing.random"
local tmp = require "spec.support.tmp"

local Device = {}
Device.__index = Device

-- As a device keeps it: a day of what is over, a hundred rows of what is not.
Device.RETAIN = { retain = "1d", failed = "3d", published = "1d",
  tasks = "1d", audit = "1d", revisions = "1d", executors = "1d" }
Device.KEEP = 100
Device.LOG = 1 << 20
Device.SENSORS, Device.CUPS = 4, 14

-- A file, since it is put right in the field.
local SENSOR = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "device.sensor", start = "read",
  keep_history = %d }
flow:step("read", { next = { go = "pause", stop = "z" }, run = function(ctx)
  local vars = ctx.vars -- build %d
  vars.n = (vars.n or 0) + 1
  vars.last = (vars.n * 7919 + ctx.input.no) %% 1009
  vars.most = math.max(vars.most or 0, vars.last)
  ctx.attrs.last = vars.last
  if vars.n %% 24 == 0 then
    ctx.emit("sensor.report", { no = ctx.input.no, n = vars.n })
  end
  if vars.n %% 100 == 0 then ctx.note("another hundred") end
  return ctx.input.stop and "stop" or "go"
end })
flow:timer("pause", { after = "5m", next = "read" })
flow:finish "z"
return flow
]]

--- Its content is another one with each release.
local function cup(version)
  local flow = pawl.workflow { code = "device.cup", start = "heat",
    version = version, retain = { completed = "12h" } }
  flow:step("heat", { next = "pump", retry = { max = 2, base = 5 },
    run = function(ctx)
      if ctx.input.cold and ctx.attempt == 1 then
        error { code = "cold", message = "the water is cold" }
      end
      if ctx.input.broken then
        error { code = "heater_" .. ctx.input.broken, message = "no heat" }
      end
      ctx.vars.taste = ("so and so, "):rep(ctx.input.long and 900 or 3)
      ctx.attrs.strength = ctx.input.strength
    end })
  flow:step("pump", { next = { again = "pump", full = "fork" },
    run = function(ctx)
      ctx.vars.strokes = (ctx.vars.strokes or 0) + 1
      return ctx.vars.strokes < 3 and "again" or "full"
    end })
  flow:fork("fork", { next = { "paid", "served" } })
  flow:wait("paid", { event = "coin", timeout = "20m",
    key = function(ctx) return ctx.input.key end,
    next = { received = "both", timeout = "both" } })
  flow:step("served", { next = "both", run = function(ctx)
    ctx.emit("cup.served", { key = ctx.input.key })
  end })
  flow:join("both", { next = "z" })
  flow:finish("z", { output = function(ctx)
    return { paid = ctx.event ~= nil, strokes = ctx.vars.strokes }
  end })
  return flow
end

--- For ever: somebody is asked to descale it, and does.
local function care()
  local flow = pawl.workflow { code = "device.care", start = "sleep",
    keep_history = Device.KEEP }
  flow:timer("sleep", { after = "6h", next = "descale" })
  flow:task("descale", { title = "Descale it", role = "service",
    due = "1d", next = { done = "count", scrapped = "z" } })
  flow:step("count", { next = "sleep", run = function(ctx)
    ctx.vars.n = (ctx.vars.n or 0) + 1
  end })
  flow:finish "z"
  return flow
end

--- Twelve pieces, each fetched by a child of its own.
local function update()
  local flow = pawl.workflow { code = "device.update", start = "pieces" }
  flow:each("pieces", { into = "read", window = 4, workflow = "device.piece",
    items = function() return { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 } end,
    next = "z" })
  flow:finish("z", { output = function(ctx) return #ctx.vars.read end })
  local piece = pawl.workflow { code = "device.piece", start = "get" }
  piece:step("get", { next = "z", run = function() return nil, "bytes" end })
  piece:finish "z"
  return flow, piece
end

---@param open fun(options: pawl.OpenOptions): pawl.Engine
---@param clock pawl.Clock
function Device.new(open, clock)
  local self = setmetatable({ open = open, clock = clock,
    random = Random.new(1), hours = 0, steps = 0, version = 1, reported = 0,
    -- one is broken, one is not wanted
    served_an_hour = Device.CUPS - 2 }, Device)
  self:boot()
  for no = 1, Device.SENSORS do
    assert(self.engine:start("device.sensor", { no = no },
      { key = "sensor-" .. no }))
  end
  assert(self.engine:start("device.care", {}, { key = "care" }))
  return self
end

--- The plug is in: what it runs is loaded, as always.
function Device:boot()
  local options = { clock = self.clock, retain = Device.RETAIN,
    durability = "grouped", checkpoint_bytes = Device.LOG }
  self.engine = self.open(options)
  self.sensor = self.sensor or tmp.file("sensor.lua", SENSOR:format(
    Device.KEEP, 1))
  assert(self.engine:load(self.sensor))
  local big, piece = update()
  for _, flow in ipairs { cup(self.version), care(), big, piece } do
    assert(self.engine:load(flow))
  end
end

--- What lives under this key.
function Device:of(code, key)
  local one = assert(self.engine:list { workflow = code, key = key })[1]
  return assert(self.engine:get(one.id))
end

function Device:run()
  local stats = assert(self.engine:run())
  self.steps = self.steps + stats.steps
  assert(stats.steps < 10000, "it goes round")
end

--- Some minutes, in which timers fire.
function Device:pass(minutes)
  self.clock:jump(minutes * 60)
  self:run()
end

function Device:brew(i)
  local engine, random = self.engine, self.random
  local key = ("%d-%d"):format(self.hours, i)
  local early = i == 1
  if early then assert(engine:signal { name = "coin", key = key }) end
  local id = assert(engine:start("device.cup", { key = key,
    strength = random:upto(5), cold = i == 2 or nil,
    broken = i == 3 and self.hours % 50 or nil,
    long = i == 4 or nil }, { key = key }))
  if i == 5 then assert(engine:cancel(id, "not thirsty")) end
  return not early and i < 6 and key
end

function Device:tasks()
  local tasks = self.engine.tasks
  for _, task in ipairs(assert(tasks:list { status = "pending" })) do
    assert(tasks:claim(task.id, { by = "ann", role = "service" }))
    assert(tasks:complete(task.id, { by = "ann", role = "service",
      take = "done" }))
  end
  self:run()
end

function Device:report()
  local told = assert(self.engine.outbox:relay {
    publish = function() return true end })
  self.reported = self.reported + told.published
end

function Device:day()
  local engine = self.engine
  assert(engine:start "device.update")
  self:run()
  self:tasks()
  self:report()
  local days = self.hours // 24
  do -- its source changes each day, its release four times a year
    local file <close> = assert(io.open(self.sensor, "w"))
    assert(file:write(SENSOR:format(Device.KEEP, days + 1)))
  end
  assert(engine.workflows:hotfix(self.sensor))
  if days % 90 == 0 then
    self.version = self.version + 1
    assert(engine:load(cup(self.version)))
  end
  assert(engine:prune { share = 100 })
  if days % 3 == 0 then -- it is restarted
    engine:close()
    self:boot()
  end
end

--- About a hundred steps.
function Device:hour()
  local keys = {}
  for i = 1, Device.CUPS do keys[#keys + 1] = self:brew(i) or nil end
  self:run()
  for _, key in ipairs(keys) do
    assert(self.engine:signal { name = "coin", key = key })
  end
  for _ = 1, 12 do self:pass(5) end
  self.hours = self.hours + 1
  if self.hours % 24 == 0 then self:day() end
end

return Device
