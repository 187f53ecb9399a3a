--- Power cuts: a program writes a store, and for points in what it wrote each
--- state is opened that the disk may then be in.
---
--- What must hold in each: it opens, SQLite finds nothing wrong with it, what
--- is stored of an instance fits together, what was acknowledged is there, as
--- its durability says, and all that is there can go on to its end.
local json = require("pawl").json
local pawl = require "pawl"
local powercut = require "spec.support.powercut"
local shell = require "spec.support.shell"
local tmp = require "spec.support.tmp"

local power = {}

--- Instances that take LAST steps, and say after each tick (a save) how far
--- each of them is known to be on disk.
local PROGRAM <const> = [[
local so, url, own, whole, budget, rounds, lies, helper = table.unpack(arg)
local mark = assert(package.loadlib(so, "powercut_mark"))
local pawl = require "pawl"
local system = require "system"
budget = tonumber(budget)
local flow = require("spec.support.torture.power").flow(whole, function()
  local over = system.monotime() + 0.0005 -- some, not all, in a tick
  while system.monotime() < over do end
end)
local engine = assert(pawl.open(url, { durability = own, flush = 0.003,
  sync_thread = helper == "thread", checkpoint_bytes = 150000 }))
assert(engine:load(flow))
local ids, steps = {}, {}
local function told(everything)
  for i, id in ipairs(ids) do
    local at = assert(engine:get(id))
    local n = at.variables.n or 0
    if n ~= steps[i] or everything then mark(id .. " " .. n) end
    steps[i] = n
  end
end
for round = 1, tonumber(rounds) do
  if round % 4 == 1 then
    local id = assert(engine:start("t.power"))
    ids[#ids + 1] = id
    if own == "every" or lies == "lies" then mark(id .. " 0") end
  end
  for _ = 1, 3 do
    local stats = assert(engine:tick(budget))
    if lies == "lies" or stats.unsaved == 0 then told() end
  end
  if round % 5 == 0 then
    assert(engine:save())
    told()
  end
end
if tonumber(rounds) % 2 == 0 then
  assert(engine:save())
  told(true)
  engine:close()
end
]]

power.LAST = 24

--- Each step counts itself in the variables, emits one event and says so in
--- an attribute.
---@param meanwhile? fun()  what a step does besides
function power.flow(durability, meanwhile)
  local flow = pawl.workflow { code = "t.power", start = "a",
    durability = durability ~= "" and durability or nil }
  flow:step("a", { run = function(ctx)
    ctx.vars.n = (ctx.vars.n or 0) + 1
    ctx.attrs.n = ctx.vars.n
    ctx.emit("power.step", { n = ctx.vars.n })
    if meanwhile then meanwhile() end
    return ctx.vars.n < power.LAST and "again" or "out"
  end, next = { again = "a", out = "z" } })
  flow:finish("z", { output = function(ctx) return ctx.vars.n end })
  return flow
end

local function expect(is_so, format, ...)
  if not is_so then error(format:format(...), 0) end
end

--- Nothing of one instance is there without the rest of it.
local function check_one(engine, id)
  local one = assert(engine:get(id))
  local n, seen = one.variables.n or 0, 0
  for seq, row in ipairs(assert(engine:history(id, { limit = 1000 }))) do
    expect(row.seq == seq, "row %d of %s is number %d", seq, id, row.seq)
    if row.type == "step" then seen = seen + 1 end
  end
  expect(seen == n, "%s has taken %d steps and counts %d", id, seen, n)
  expect((one.attributes.n or 0) == n, "%s counts %d, its attribute %s", id, n,
    tostring(one.attributes.n))
  expect((one.status == "completed") == (n == power.LAST),
    "%s is %s after %d steps", id, one.status, n)
  return n
end

--- Events, in order, as many as were counted.
local function check_events(engine, counted)
  local seen = {}
  for _, event in ipairs(assert(engine.outbox:list { limit = 1000 })) do
    local id = event.instance
    seen[id] = (seen[id] or 0) + 1
    expect(event.payload.n == seen[id], "event %d of %s tells of %s", seen[id],
      id, json.encode(event.payload))
  end
  for id, n in pairs(counted) do
    expect((seen[id] or 0) == n, "%s has taken %d steps, and emitted %d", id,
      n, seen[id] or 0)
  end
end

--- What a disk has left is a store, has what it was said to have, and goes on.
local function check(path, marks, own, whole)
  local engine <close> = assert(pawl.open(path, { durability = own }))
  local counted = {}
  for _, row in ipairs(assert(engine:list { limit = 1000 })) do
    counted[row.id] = check_one(engine, row.id)
  end
  check_events(engine, counted)
  for _, mark in ipairs(marks) do
    local id, n = mark:match "^(%S+) (%d+)$"
    expect(counted[id], "%s is not there, and was acknowledged", id)
    expect(counted[id] >= tonumber(n), "%s has taken %d steps, and %s were "
      .. "acknowledged", id, counted[id], n)
  end
  assert(engine:load(power.flow(whole)))
  for _ = 1, 200 do
    if assert(engine:tick(1)).next_due ~= 0 then break end
  end
  for id in pairs(counted) do
    expect(check_one(engine, id) == power.LAST, "%s does not go on", id)
  end
end

--- Of many files at a time: a client for each would cost more than all else.
local function check_files(paths)
  local script = {}
  for _, path in ipairs(paths) do
    script[#script + 1] = (".open %s\npragma integrity_check;"):format(path)
  end
  local out = shell.output { "sqlite3", "-batch", "-cmd",
    ".read " .. tmp.file("check.sql", table.concat(script, "\n")), ":memory:",
    "select 1" }
  local at = 0
  for line in out:gmatch "[^\n]+" do
    at = at + 1
    expect(line == "ok" or at > #paths, "%s: %s", paths[at], line)
  end
  expect(at == #paths + 1, "%d of %d files were looked at: %s", at - 1, #paths,
    out)
end

--- Ticks so short that commits are grouped; and of one round each.
local SHORT <const>, LONG <const> = 0.003, 0
power.cases = {
  { own = "every", whole = "", budget = LONG, rounds = 16 },
  { own = "grouped", whole = "", budget = SHORT, rounds = 20 },
  { own = "grouped", whole = "", budget = SHORT, rounds = 40, thread = true },
  { own = "grouped", whole = "", budget = LONG, rounds = 16 },
  { own = "save", whole = "", budget = SHORT, rounds = 25 },
  { own = "save", whole = "every", budget = SHORT, rounds = 20 },
  { own = "every", whole = "grouped", budget = LONG, rounds = 21 },
  { own = "every", whole = "save", budget = LONG, rounds = 31 },
}

function power.title(case)
  return ("%s, workflow %s, %s ticks%s"):format(case.own,
    case.whole == "" and "too" or case.whole,
    case.budget > 0 and "short" or "long", case.thread and ", a thread" or "")
end

---@class spec.PowerCase
---@field own string      the engine's durability
---@field whole string    its workflow's; "": as the engine says
---@field budget number   of a tick, seconds
---@field rounds integer
---@field thread? boolean  syncs are another's
---@field states integer  how many are opened
---@field lies? "program"|"disk"  acknowledges what is not there; or tells of a
---  sync that it is done, and does nothing

--- Returns how many states there were, and how many entries they are of.
---@param case spec.PowerCase
---@param seed integer
function power.run(case, seed)
  local folder = tmp.dir()
  local record = powercut.record(PROGRAM, { folder .. "/pawl.db", case.own,
    case.whole, tostring(case.budget), tostring(case.rounds),
    case.lies == "program" and "lies" or "", case.thread and "thread" or "" },
    folder)
  if case.lies == "disk" then record:forget_syncs() end
  local cuts, paths, dirs = record:cuts(), {}, {}
  -- in order, as then what was synced is found by going on
  local picked = {}
  for i = 1, case.states do
    picked[i] = cuts[math.random(#cuts)]
  end
  table.sort(picked)
  for i, cut in ipairs(picked) do
    local way = powercut.ways[i % #powercut.ways + 1]
    local dir = tmp.dir()
    record:rebuild(cut, way, math.random, dir)
    local ok, why = pcall(check, dir .. "/pawl.db", record:marks(cut), case.own,
      case.whole)
    if not ok then
      error(("seed %d, cut behind entry %d of %d, with %s of what was not "
        .. "synced: %s"):format(seed, cut, #record.entries, way, why), 0)
    end
    paths[#paths + 1], dirs[#dirs + 1] = dir .. "/pawl.db", dir
    if #paths == 50 or i == #picked then
      check_files(paths)
      shell.output { "rm", "-r", table.unpack(dirs) }
      paths, dirs = {}, {}
    end
  end
  local marks = record:marks(#record.entries)
  return #picked, #record.entries, #marks
end

return power
