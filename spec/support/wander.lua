--- Instances that go somewhere by lot, for specs of what is told of them: a
--- workflow of all kinds of pieces, and what happens to an instance of it.
local Random = require "pawl.testing.random"

local wander = {}

local HEAD <const> = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "%s", start = "%s"%s }
]]

--- The child of its calls: fails, waits or ends, as its input says.
wander.child = [[
local pawl = require "pawl"
local flow = pawl.workflow { code = "w.child" }
flow:timer("nap", { after = function(ctx) return ctx.input.nap or 0 end })
flow:step("work", { retry = false, run = function(ctx)
  if ctx.input.bad then error { code = "no_child", message = "it is bad" } end
end })
flow:finish("end", { output = function(ctx) return { n = ctx.input.n } end })
return flow
]]

-- Each piece: fn(random, name, next) -> lines of the workflow.
local PIECES <const> = {}

local UNDO <const> =
  " undo = function(ctx) ctx.vars.undone_%s = true end,"

function PIECES.step(random, name, to)
  local fails = random:between(0, 2)
  return { ([[
flow:step("%s", { retry = { max = 4, base = 3, jitter = 0.5 },%s
  into = "%s", next = "%s", run = function(ctx)
  if ctx.attempt <= %d then error { code = "busy", message = "so it is" } end
  ctx.vars.last = "%s"
  if ctx.vars.gone then ctx.vars.gone = nil else ctx.vars.gone = 1 end
  return { n = ctx.attempt, list = {}, text = "a\nb\0c\"\195\164" }
end })]]):format(name, random:chance(50) and UNDO:format(name) or "",
    name, to, fails, name) }
end

function PIECES.await(random, name, to)
  return { ([[
flow:step("%s", { next = "%s", run = function(ctx)
  ctx.await(%d)
  ctx.vars["%s"] = ctx.now() > 0
end })]]):format(name, to, 1 + random:between(0, 8), name) }
end

function PIECES.routed(random, name, to)
  return { ([[
flow:step("%s", { retry = { max = 2, base = 1, jitter = 0.5 },
  on_error = { declined = "%s_no" }, next = { good = "%s", bad = "%s_no" },
  run = function()
    local way = %d
    if way == 0 then
      error { code = "declined", message = "no", details = { 1 } }
    end
    return way == 1 and "good" or "bad", { way = way }
  end })
flow:step("%s_no", { next = "%s", run = function(ctx)
  ctx.vars["%s_no"] = ctx.error and ctx.error.code or "none"
end })]]):format(name, name, to, name, random:between(0, 2), name, to, name) }
end

function PIECES.choice(_, name, to)
  return { ([[
flow:choice("%s", { next = { yes = "%s_yes", no = "%s" },
  choose = function(ctx) return ctx.vars.gone and "yes" or "no" end })
flow:step("%s_yes", { next = "%s", run = function() end })]]):format(name,
    name, to, name, to) }
end

function PIECES.wait(_, name, to)
  return { ([[
flow:wait("%s", { event = "go.%s", into = "%s", timeout = "1h",
  match = function(event) return event.data ~= "not" end,
  next = { received = "%s", timeout = "%s" } })]]):format(name, name, name, to,
    to) }
end

function PIECES.keyed(_, name, to)
  return { ([[
flow:step("%s", { next = "%s_w", run = function(ctx)
  ctx.vars.order = "K-1"
end })
flow:wait("%s_w", { event = "go.%s_w", key = "order", next = "%s" })]]):format(
    name, name, name, name, to) }
end

function PIECES.task(_, name, to)
  return { ([[
flow:task("%s", { title = "Look at %s", roles = { "clerk" }, into = "%s",
  due = "1d", next = { yes = "%s", no = "%s", overdue = "%s" } })]]):format(
    name, name, name, to, to, to) }
end

function PIECES.timer(random, name, to)
  return { ('flow:timer("%s", { after = "%dm", next = "%s" })'):format(name,
    1 + random:between(0, 99), to) }
end

function PIECES.call(random, name, to)
  return { ([[
flow:call("%s", { workflow = "w.child", into = "%s", next = "%s",
  input = function() return { n = 1, nap = %d, bad = %s } end,
  on_error = { no_child = "%s" } })]]):format(name, name, to,
    random:between(0, 59), random:chance(30), to) }
end

function PIECES.items(_, name, to)
  return { ([[
flow:each("%s", { items = function()
  return { { n = 1, nap = 9 }, { n = 2 }, { n = 3, nap = 4 } }
end, into = "%s", workflow = "w.child", next = "%s" })]]):format(name, name,
    to) }
end

function PIECES.each(random, name, to)
  return { ([[
flow:each("%s", { items = function() return { 3, 1, 2 } end, into = "%s",
  branch = "%s_one", next = "%s" })
flow:step("%s_one", { next = "%s", run = function(ctx)
  local n = ctx.token.data.item
  if %s then ctx.await(n * 4) end
  return { double = 2 * n }
end })]]):format(name, name, name, to, name, name, random:between(0, 1) == 0) }
end

function PIECES.fork(random, name, to)
  local lines, branches = {}, {}
  local kinds = { "step", "await", "timer", "wait", "call", "task" }
  for i = 1, 2 + random:between(0, 1) do
    local branch = ("%s_%d"):format(name, i)
    branches[i] = ('"%s"'):format(branch)
    local made = PIECES[random:pick(kinds)](random, branch, name .. "_join")
    table.move(made, 1, #made, #lines + 1, lines)
  end
  table.insert(lines, 1, ('flow:fork("%s", { next = { %s } })'):format(name,
    table.concat(branches, ", ")))
  lines[#lines + 1] = ('flow:join("%s_join", { next = "%s" })'):format(name, to)
  return lines
end

local NAMES <const> = { "step", "await", "routed", "choice", "wait", "keyed",
  "task", "timer", "call", "each", "items", "fork", "fork", "fork" }

--- A workflow's file.
---@param seed integer
---@return string text
---@return string code
function wander.draw(seed)
  local random = Random.new(seed)
  local n, lines, code = 3 + random:between(0, 4), {}, "w.way" .. seed
  for i = 1, n do
    local made = PIECES[random:pick(NAMES)](random, "n" .. i,
      i < n and "n" .. i + 1 or "z")
    table.move(made, 1, #made, #lines + 1, lines)
  end
  table.insert(lines, 1, (HEAD:format(code, "n1",
    ", deadline = \"20d\"")))
  lines[#lines + 1] = [[
flow:finish("z", { output = function(ctx) return { last = ctx.vars.last } end })
return flow
]]
  return table.concat(lines, "\n"), code
end

---- what happens --------------------------------------------------------------

local ENDED <const> = { completed = true, failed = true, cancelled = true }

local DEEDS <const> = {}

--- No two things happen at one time, as it is outside of specs.
local function pass(clock, random)
  clock:jump(random:between(1, 9999) / 1e6)
end

function DEEDS.signal(engine, clock, id, token, random)
  pass(clock, random)
  local name = "go." .. token.node
  if random:between(0, 2) == 0 then
    engine:signal { name = name, instance = id, data = "not" }
  end
  engine:signal { name = name, data = { n = random:between(0, 8) },
    key = token.node:find "_w$" and "K-1" or nil,
    instance = not token.node:find "_w$" and id or nil }
end

function DEEDS.task(engine, clock, id, token, random)
  for _, task in ipairs(engine.tasks:list { instance = id }) do
    if task.node == token.node and not task.completed then
      local by = { by = "ann", roles = { "clerk" } }
      if random:between(0, 1) == 0 then
        assert(engine.tasks:claim(task.id, by))
      end
      pass(clock, random)
      assert(engine.tasks:complete(task.id, { by = "ann", roles = { "clerk" },
        take = random:between(0, 1) == 0 and "yes" or "no",
        output = { ok = true } }))
    end
  end
end

--- Somebody interferes.
local function meddle(engine, clock, id, random)
  pass(clock, random)
  local what = random:between(0, 11)
  if what == 0 then
    engine:edit(id, { set = { gone = 7, extra = { random:upto(999999) } },
      by = "ann", reason = "a slip" })
  elseif what == 1 then
    engine:suspend(id, { by = "ann" })
    engine:run()
  elseif what == 2 then
    engine:wake(id, { by = "ann" })
  elseif what == 3 and random:between(0, 2) == 0 then
    engine:cancel(id, { by = "ann", reason = "no more" })
  end
end

local function stand(engine, clock, id, random)
  pass(clock, random)
  local one = assert(engine:get(id))
  if one.status == "suspended" then
    assert(engine:resume(id, { by = "bob" }))
  elseif one.status == "failed" then
    engine:retry(id, { by = "bob" })
  end
  for _, token in ipairs(assert(engine:tokens(id))) do
    local kind = token.node:match "^n%d+" and token.state == "waiting"
    if kind and random:between(0, 1) == 0 then
      DEEDS.signal(engine, clock, id, token, random)
      DEEDS.task(engine, clock, id, token, random)
    end
  end
end

--- Has an instance go on, for so many rounds or to its end.
---@param engine pawl.Engine
---@param clock pawl.Clock
---@param id string
---@param seed integer
---@param rounds? integer
function wander.play(engine, clock, id, seed, rounds)
  local random = Random.new(seed)
  for _ = 1, rounds or 60 do
    assert(engine:run())
    local status = assert(engine:get(id)).status
    if ENDED[status] and (status ~= "failed" or random:between(0, 1) == 0) then
      return
    end
    stand(engine, clock, id, random)
    meddle(engine, clock, id, random)
    local by = random:between(0, 899) / 7
    if random:between(0, 3) == 0 then clock:jump(by) else clock:advance(by) end
  end
  assert(engine:run())
end

return wander
