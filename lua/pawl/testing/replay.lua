--- Doubles that do again what a history tells: a step's attempts, a workflow's
--- instances, one after the other. What `pawl spec` writes is made of these.
---
--- A handler took its time, and others may have gone on meanwhile. So an
--- attempt knows when it ended: the clock is moved there, or, where others went
--- on beside it, it waits for that.
local caller = require "pawl.testing.caller"
local core = require "pawl.core"

local replay = {}

---@class pawl.Recorded
---@field at? pawl.Time      when it ended
---@field returns? any       its output
---@field goes? string       the transition, where there are several
---@field vars? table        variables that it set
---@field unset? string[]    those that it took away
---@field attrs? table       attributes that it set; pawl.null: took away
---@field code? string       it failed with this
---@field message? string
---@field retry? number|string|false  it was tried again so much later; or not
---@field details? any
---@field again? boolean     of the same visit as the one before it
---@field waits? boolean     others went on beside it
---@field under_way? boolean it had not ended

---@class pawl.RecordedChild
---@field at? pawl.Time      when it ended
---@field output? any
---@field code? string       it failed with this
---@field message? string
---@field cancelled? boolean
---@field under_way? boolean it had not ended

local FOREVER <const> = 1e9 -- seconds: longer than any spec

--- Microseconds since 1970, of a time as answers tell it, or of seconds.
---@param who string
---@param time pawl.Time
---@return integer
function replay.time(who, time)
  if type(time) == "number" then return math.floor(time * 1e6 + 0.5) end
  local us = type(time) == "string" and core.time_parse(time)
  return us or caller.fail("%s: %s is not a time (\"2026-11-21T07:38:00Z\", "
    .. "or seconds since 1970)", who, tostring(time))
end

--- A value of its own, as it was.
function replay.copy(value)
  if type(value) ~= "table" then return value end
  return core.json_decode((core.json_encode(value)))
end

local copy = replay.copy

---- what is told -------------------------------------------------------------

local function any(value) return value end

local function delay(value)
  if value == false or type(value) == "number" or type(value) == "string" then
    return { value }
  end
end

local ATTEMPT <const> = { at = { any }, returns = { any },
  goes = { "string" }, vars = { "table" }, unset = { "table" },
  attrs = { "table" }, code = { "string" }, message = { "string" },
  retry = { delay, wants = "a time, or false" }, details = { any },
  again = { "boolean" }, waits = { "boolean" }, under_way = { "boolean" } }
local CHILD <const> = { at = { any }, output = { any }, code = { "string" },
  message = { "string" }, cancelled = { "boolean" },
  under_way = { "boolean" } }

--- The list that it was given, checked; raises what is wrong with it.
local function read(who, shape, list)
  if type(list) ~= "table" or #list == 0 and next(list) then
    caller.fail("%s: a list of what was recorded is wanted: { { ... } }", who)
  end
  local out = {}
  for i, one in ipairs(list) do
    local given = caller.read(("%s[%d]"):format(who, i), shape, one)
    if given.at then given.us = replay.time(who, given.at) end
    out[i] = given
  end
  return out
end

--- Attempts by visits.
---@param who string
---@param list pawl.Recorded[]
---@return table[][]
function replay.visits(who, list)
  local visits = {}
  for _, one in ipairs(read(who, ATTEMPT, list)) do
    if one.again and #visits > 0 then
      table.insert(visits[#visits], one)
    else
      visits[#visits + 1] = { one }
    end
  end
  return visits
end

---- an attempt ---------------------------------------------------------------

--- What was recorded of this attempt: visits come in the order in which they
--- did then.
local function next_attempt(double, ctx)
  local key = ctx.idempotency_key()
  local visit = double.by_key[key]
  if not visit then
    double.nvisits = double.nvisits + 1
    visit = { of = double.visits[double.nvisits] or {}, n = 0 }
    double.by_key[key] = visit
  end
  visit.n = visit.n + 1
  return visit.of[visit.n]
end

local function set(ctx, one)
  for name, value in pairs(one.vars or {}) do ctx.vars[name] = copy(value) end
  for _, name in ipairs(one.unset or {}) do ctx.vars[name] = nil end
  for name, value in pairs(one.attrs or {}) do
    if value == core.null then value = nil end
    ctx.attrs[name] = value
  end
end

--- It took so long, whatever it was told meanwhile.
local function wait_until(clock, ctx, us)
  local ok, err = pcall(ctx.await, (us - clock.us) / 1e6)
  if ok then return end
  if err.code ~= "cancelled" then error(err, 0) end
  if us > clock.us then ctx.await((us - clock.us) / 1e6) end
end

local function pass_time(double, ctx, one)
  local clock = double.clock
  if one.under_way then ctx.await(FOREVER) end
  if not one.us or one.us <= clock.us then return end
  if one.waits then
    wait_until(clock, ctx, one.us)
  else
    clock.us = one.us
  end
end

--- Of a handler that did not run, or not so often, when this was recorded.
function replay.unknown(name)
  error({ code = "not_recorded", retry = false, message = ("'%s' was not run "
    .. "so often as this was recorded"):format(name) }, 0)
end

--- In place of a handler.
function replay.run(double, ctx)
  local one = next_attempt(double, ctx)
  if not one then replay.unknown(double.name) end
  pass_time(double, ctx, one)
  set(ctx, one)
  if one.code then
    error({ code = one.code, message = one.message or one.code,
      retry = one.retry and one.retry[1], details = one.details }, 0)
  end
  if double.leads_on then return copy(one.returns) end
  return one.goes, copy(one.returns)
end

---- a workflow in place of another -------------------------------------------

local CANCEL <const> = "pawl.recorded.cancelled"

--- Waits until the time at which it ended, and ends as it did.
---@param code string
---@param version integer
---@param list pawl.RecordedChild[]
---@param note fun(ctx: pawl.Ctx): table  takes down a call
---@return pawl.Workflow
function replay.workflow(code, version, list, note)
  local outcomes, n = read("replay_workflow", CHILD, list), 0
  local flow = require("pawl").workflow { code = code, version = version,
    cancel_on = { event = CANCEL } }
  local function of(ctx) return outcomes[ctx.vars.n] or {} end

  flow:step("recorded", { retry = false, run = function(ctx)
    note(ctx)
    n = n + 1
    ctx.vars.n = n
    if not outcomes[n] then
      error({ code = "not_recorded", message = ("%s was not started so often "
        .. "as this was recorded"):format(code) }, 0)
    end
  end })
  flow:timer("ends", { at = function(ctx)
    local one = of(ctx)
    if one.under_way then return ctx.now() + FOREVER end
    return (one.us or 0) / 1e6
  end })
  flow:step("outcome", { retry = false, run = function(ctx)
    local one = of(ctx)
    if one.code then
      error({ code = one.code, message = one.message or one.code }, 0)
    end
    if not one.cancelled then return "ended" end
    ctx.signal { name = CANCEL, instance = ctx.id }
    return "cancelled"
  end, next = { ended = "over", cancelled = "gone" } })
  flow:wait("gone", { event = CANCEL, next = "over" })
  flow:finish("over", {
    output = function(ctx) return copy(of(ctx).output) end,
  })
  return flow
end

return replay
