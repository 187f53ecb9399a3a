--- A host that draws sixty frames a second and gives each tick two
--- milliseconds: ten thousand instances live, four of them are due in a frame.
---
--- In a file and in memory, and with each kind of durability. How long a tick
--- took is what the host saw of it, by the clock that it draws by; the engine's
--- time is the game's, which goes on by a sixtieth of a second with each frame,
--- so that a frame which was late makes none of the later ones due sooner.
local mono = require("pawl.core").mono
local pawl = require "pawl"
local stores = require "stores"
local system = require "system_calls"

local frame = {}

local FRAME, BUDGET, DUE = 1 / 60, 0.002, 4
local ROUNDS = 20 -- of the old ones: so often each has its turn

--- By name: how an engine is opened.
frame.kinds = {
  every = { durability = "every" }, grouped = { durability = "grouped" },
  threaded = { durability = "grouped", sync_thread = true },
  rarely = { durability = "grouped", flush = 4 },
  save = { durability = "save" },
}

--- Each wakes when its time has come, takes a step, and sleeps as long again.
local function quest()
  local flow = pawl.workflow { code = "bench.quest", start = "first" }
  flow:timer("first", { at = function(ctx)
    return ctx.input.first
  end, next = "woke" })
  flow:step("woke", { run = function(ctx)
    ctx.vars.n = (ctx.vars.n or 0) + 1
    ctx.vars.at = ctx.now()
    return ctx.vars.n < 1000000 and "again" or "enough"
  end, next = { again = "sleep", enough = "done" } })
  flow:timer("sleep", { at = function(ctx)
    return ctx.vars.at + ctx.input.every
  end, next = "woke" })
  flow:finish "done"
  return flow
end

--- Due at times that lie evenly, four in a frame, from `now` on.
local function fill(engine, n, now)
  local every = n / DUE * FRAME
  for from = 1, n, 1000 do
    local items = {}
    for i = from, math.min(from + 999, n) do
      items[#items + 1] = { input = { every = every,
        first = now + 1 + (i - 1) * every / n } }
    end
    assert(engine:start_many("bench.quest", items))
  end
  assert(engine:run())
end

local function percentile(sorted, share)
  return sorted[math.max(1, math.ceil(#sorted * share))] * 1e6
end

local function sum_up(times, over)
  local late = 0
  for _, took in ipairs(times) do
    if took > BUDGET + 0.001 then late = late + 1 end
  end
  local sorted = table.move(times, 1, #times, 1, {})
  table.sort(sorted)
  return { frames = #times, p50_us = percentile(sorted, 0.5),
    p99_us = percentile(sorted, 0.99), p999_us = percentile(sorted, 0.999),
    max_us = sorted[#sorted] * 1e6, over_1ms = late / #times,
    over_budget = over / #times }
end

--- What the median of many such calls takes, in microseconds.
local function median(n, call)
  local times = {}
  for i = 1, n do
    local began = mono()
    call()
    times[i] = mono() - began
  end
  table.sort(times)
  return percentile(times, 0.5)
end

local function draw(engine, game, size)
  local times, steps, claimed, over, next_frame = {}, 0, 0, 0, mono()
  local why = {}
  for i = 1, size.frames do
    next_frame = next_frame + FRAME
    game.now = game.now + FRAME
    local began = mono()
    local stats = assert(engine:tick(BUDGET))
    times[i] = mono() - began
    steps, claimed = steps + stats.steps, claimed + stats.claimed
    if stats.over > 0 then over = over + 1 end
    for part, took in pairs(stats.spent) do
      why[part] = (why[part] or 0) + took
    end
    local left = next_frame - mono()
    if size.paced and left > 0 then
      system.sleep(left)
    else
      next_frame = mono()
    end
  end
  local out = sum_up(times, over)
  out.steps, out.claims_per_step = steps, claimed / math.max(steps, 1)
  out.spent_us = {}
  for part, took in pairs(why) do
    out.spent_us[part] = took / size.frames * 1e6
  end
  return out
end

--- An engine in which so many sleep, and its game.
local function opened(url, options, live)
  local game = { now = 1800000000.0 }
  local all = { busy = 0, clock = function() return game.now end,
    state = "host" }
  for name, value in pairs(options) do all[name] = value end
  local engine = assert(pawl.open(url, all))
  assert(engine:load(quest()))
  fill(engine, live, game.now)
  assert(engine:save())
  game.now = game.now + 1
  return engine, game
end

--- What a step writes where each instance has ROUNDS turns and sixty frames are
--- saved together. Of fewer, and not paced, as bytes do not go by the clock.
local function old(url, size)
  local live = size.live // 10
  local engine <close>, game = opened(url, { durability = "save" }, live)
  local before, steps = stores.written(), 0
  for i = 1, live / DUE * ROUNDS do
    game.now = game.now + FRAME
    steps = steps + assert(engine:tick(BUDGET)).steps
    if i % 60 == 0 then assert(engine:save()) end
  end
  assert(engine:save())
  return (stores.written() - before) / math.max(steps, 1)
end

local function measure(url, options, size)
  local engine <close>, game = opened(url, options, size.live)
  local before = stores.written()
  local out = draw(engine, game, size)
  assert(engine:save()) -- what is grouped is written, too
  out.bytes_per_step = (stores.written() - before) / math.max(out.steps, 1)
  while assert(engine:tick(1)).next_due == 0 do end -- nothing is due any more
  out.idle_us = median(size.frames, function() engine:tick(BUDGET) end)
  out.next_due_us = median(size.frames, function() engine:next_due() end)
  return out
end

--- Of SQLite alone: who draws frames has no server.
function frame.measure(_, store, size)
  if store.name ~= "sqlite" then return end
  local out = { file = {}, memory = {} }
  for kind, options in pairs(frame.kinds) do
    local file <close> = store:another("frame-" .. kind)
    out.file[kind] = measure(file.url, options, size)
    out.memory[kind] = measure(":memory:", options, size)
  end
  local file <close> = store:another "frame-old"
  out.old = { bytes_per_step = old(file.url, size) }
  return out
end

return frame
