--- The torture's model: draws cases from a seed, and says how each must end.
--- It knows what the workflows in flows/ mean, and nothing of how Pawl works.
---
--- A case is one instance, found by its key, with
---   threads  what clients do about it: lists of actions, in order, each not
---            before its time; which client does one is drawn too
---   expect   how it must end, for the checker:
---     status    the statuses it may end in
---     steps     how often each node is recorded as a step: n or { low, high }
---     vars      variables with just these values
---     children  how many it has
---     rows      how many rows of history of a type: n or { low, high }
---     also      what else must hold: a function of { status, steps, vars }
---   place    where it must be in the end: "hot" (or nil), "deleted",
---            "archive", "kept" (purged but for its attributes), "none"
--- Who is thrown away has an id that the model has drawn, and by need an heir:
--- the id of another one, that has its key then.
local Random = require "pawl.testing.random"

---@class torture.Action
---@field op string       a function of actions in client.lua
---@field at number       seconds after the wave began
---@field to string?      key of the case it is about

---@class torture.Thread
---@field client integer
---@field actions torture.Action[]
---@field is_last boolean?  when all other threads of its case are done

---@class torture.Case
---@field key string
---@field workflow string
---@field kind string
---@field version integer?
---@field input table
---@field by_event boolean?  it is started by its events
---@field threads torture.Thread[]
---@field expect table
---@field id string?
---@field place string?
---@field heir string?
---@field is_swept boolean?  by whoever prunes, and by nobody else
---@field way table         what is not left to chance, by its name

local model = {}

-- What draws a case: the numbers, the time there is, how many clients.
local Draw = {}
Draw.__index = Draw

function Draw:at(from, to)
  local low, high = from or 0, to or 1
  local part = self.random:between(0, 1000) / 1000
  return self.span * (low + (high - low) * part)
end

--- A thread of actions at these times or later.
function Draw:thread(case, actions)
  for _, action in ipairs(actions) do
    action.to = action.to or case.key
    action.at = action.at or 0
  end
  local thread = { client = self.random:upto(self.clients),
    actions = actions }
  case.threads[#case.threads + 1] = thread
  return thread
end

--- Starts it; a third of them twice, by whoever.
function Draw:start(case, from, to)
  for _ = 1, self.random:chance(30) and 2 or 1 do
    self:thread(case, { { op = "start", at = self:at(from, to) } })
  end
end

--- Sends an event, half of them twice, under one id.
function Draw:event(case, event, from, to)
  event.op = "signal"
  event.id = case.key .. "/" .. event.id
  for _ = 1, self.random:chance(50) and 2 or 1 do
    local copy = { at = self:at(from, to) }
    for name, value in pairs(event) do copy[name] = value end
    self:thread(case, { copy })
  end
end

--- So many times in a hundred, unless the case's way says it.
function Draw:is(case, name, percent)
  local wanted = case.way[name]
  if wanted ~= nil then return wanted end
  return self.random:chance(percent)
end

function Draw:pace()
  return self.random:weighted { none = 4, wait = 4, block = 1 }
end

--- Some nodes fail at first.
function Draw:fails(input, nodes)
  local attempts = 0
  for _, node in ipairs(nodes) do
    if self.random:chance(15) then
      input.fails = input.fails or {}
      input.fails[node] = self.random:upto(3)
      attempts = attempts + input.fails[node]
    end
  end
  return attempts
end

local function once(...)
  local steps = {}
  for _, node in ipairs { ... } do steps[node] = 1 end
  return steps
end

local function at_most_once(...)
  local steps = {}
  for _, node in ipairs { ... } do steps[node] = { 0, 1 } end
  return steps
end

---- kinds of cases ------------------------------------------------------------

local kinds = {}

function kinds.seq(draw, case)
  local nodes = { "a", "b", "c", "d", "e" }
  local failed = draw:fails(case.input, nodes)
  if draw:is(case, "is_big", 25) then
    case.input.big = draw.random:between(case.way.is_big and 8000 or 100,
      20000)
  end
  draw:start(case)
  case.expect = { status = { "completed" }, steps = once(table.unpack(nodes)),
    rows = { failed = failed } }
  if draw:is(case, "is_cancelled", 20) then
    draw:thread(case, { { op = "cancel", at = draw:at() } })
    case.expect = { status = { "completed", "cancelled" },
      steps = at_most_once(table.unpack(nodes)) }
  end
end

function kinds.slow(draw, case)
  case.input.pace = "block"
  draw:start(case)
  case.expect = { status = { "completed" }, steps = { step = 20 } }
  if draw.random:chance(20) then -- nothing of this workflow runs for a while
    draw:thread(case, {
      { op = "suspend_all", at = draw:at(0, 0.6), workflow = "t.slow" },
      { op = "resume_all", at = draw:at(0.3, 0.9), workflow = "t.slow" },
    })
  end
end

local function fork(steps, also)
  return function(draw, case)
    draw:start(case)
    draw:event(case, { name = "t.answer", key = case.key, id = "answer",
      data = { is = case.key } })
    case.expect = { status = { "completed" }, steps = steps, also = also }
  end
end

local every_branch = once("before", "left", "middle", "right", "after")
kinds.all = fork(every_branch)
kinds.any = fork(every_branch)
kinds.two = fork({ before = 1, after = 1, left = { 0, 1 },
  middle = { 0, 1 }, right = { 0, 1 } }, function(seen)
    local n = 0
    for _, node in ipairs { "left", "middle", "right" } do
      n = n + (seen.steps[node] or 0)
    end
    return n < 2 and ("%d branches have decided, not 2"):format(n)
  end)

local function items(case, n)
  case.input.items = {}
  for i = 1, n do case.input.items[i] = i end
  case.expect = { status = { "completed" }, steps = { item = n, sum = 1 },
    vars = { sum = n * (n + 1), failed = 0 } }
end

function kinds.each(draw, case)
  items(case, draw.random:upto(40))
  draw:fails(case.input, { "item" })
  draw:start(case)
end

function kinds.few(draw, case)
  local n = draw.random:upto(30)
  items(case, n)
  case.input.enough = draw.random:upto(n)
  case.expect.steps.item = { case.input.enough, n }
  case.expect.vars = { counted = case.input.enough, failed = 0 }
  draw:fails(case.input, { "item" })
  draw:start(case)
end

--- A quarter of them may fail for good; with more it is sorry.
function kinds.some(draw, case)
  local n = draw.random:between(4, 30)
  local most, is_sorry = n // 4, draw:is(case, "is_sorry", 30)
  items(case, n)
  local bad = is_sorry and most + 1 or draw.random:between(0, most)
  case.input.bad = bad
  case.expect.steps.item = is_sorry and { 0, n - bad } or n - bad
  case.expect.vars = { failed = bad,
    sum = n * (n + 1) - bad * (bad + 1) }
  if is_sorry then
    case.expect.vars, case.expect.steps.sum = nil, nil
    case.expect.steps.sorry = 1
  end
  draw:fails(case.input, { "item" })
  draw:start(case)
end

--- Each attempt but the last fails at a page of its own, as far as workers that
--- died have left any.
function kinds.pages(draw, case)
  case.input.pages = draw.random:between(4, 12)
  local failed = draw:fails(case.input, { "read", "last" })
  draw:start(case)
  case.expect = { status = { "completed" }, steps = once("read", "last"),
    rows = { failed = { 0, failed } } }
end

function kinds.nest(draw, case)
  local n = draw.random:upto(6)
  items(case, n)
  case.expect.steps.inner, case.expect.children = n, n
  draw:fails(case.input, { "inner" })
  draw:start(case)
end

function kinds.asked(draw, case)
  items(case, draw.random:upto(12))
  draw:start(case)
  for i in ipairs(case.input.items) do
    draw:event(case, { name = "t.reply", key = case.key .. ":" .. i,
      id = "reply" .. i })
  end
end

function kinds.kids(draw, case)
  local kids, sum, failed = {}, 0, 0
  for i = 1, draw.random:upto(12) do
    kids[i] = { n = i, pace = draw:pace(), bad = draw.random:chance(20) }
    if kids[i].bad then failed = failed + 1 else sum = sum + 2 * i end
  end
  case.input.kids = kids
  draw:start(case)
  case.expect = { status = { "completed" }, steps = { sum = 1 },
    vars = { sum = sum, failed = failed }, children = #kids }
  if draw:is(case, "is_cancelled", 20) then
    draw:thread(case, { { op = "cancel", at = draw:at() } })
    case.expect = { status = { "completed", "cancelled" },
      steps = { sum = { 0, 1 } }, children = { 0, #kids } }
  end
end

function kinds.call(draw, case)
  local bad = draw.random:chance(30)
  case.input.kid = { n = 7, pace = draw:pace(), bad = bad }
  draw:start(case)
  case.expect = { status = { "completed" }, children = 1,
    steps = { before = 1, [bad and "sorry" or "after"] = 1 },
    vars = not bad and { answer = 14 } or nil }
end

function kinds.event(draw, case)
  draw:start(case)
  draw:event(case, { name = "t.first", key = case.key, id = "first",
    data = { n = 1 } })
  draw:event(case, { name = "t.second.word", is_addressed = true,
    id = "second", data = { n = 2 } })
  case.expect = { status = { "completed" },
    steps = once("begin", "between", "last"),
    vars = { first = { n = 1 }, second = { n = 2 } }, rows = { received = 2 } }
end

local function many(draw, case, n)
  case.input.count = n
  local sum = 0
  for i = 1, n do
    sum = sum + i
    draw:event(case, { name = "t.item", id = "item" .. i, data = { n = i },
      is_addressed = not case.by_event })
  end
  case.expect = { status = { "completed" }, steps = { add = n },
    vars = { sum = sum }, rows = { received = n } }
end

function kinds.many(draw, case)
  draw:start(case)
  many(draw, case, draw.random:between(10, 60))
end

--- Signal with start: whichever event is first starts it.
function kinds.begun(draw, case)
  case.workflow, case.by_event = "t.many", true
  many(draw, case, draw.random:between(2, 8))
end

function kinds.late(draw, case)
  local begin = draw:at(0, 0.7)
  draw:thread(case, { { op = "start", at = begin } })
  local is_sent = draw.random:chance(70)
  if is_sent then
    draw:thread(case, { { op = "signal", name = "t.hope", key = case.key,
      id = case.key .. "/hope", at = begin + draw.random:between(0, 16) / 10,
      data = { n = 5 } } })
  end
  case.expect = { status = { "completed" },
    steps = { glad = { 0, is_sent and 1 or 0 }, sad = { 0, 1 } },
    also = function(seen)
      local glad = seen.steps.glad == 1
      if glad == (seen.steps.sad == 1) then
        return "it is both glad and sad, or neither"
      elseif glad ~= (seen.vars.hope ~= nil) then
        return "the event's data does not fit how it went on"
      end
    end }
end

function kinds.timer(draw, case)
  local failed = draw:fails(case.input, { "a" })
  draw:start(case)
  case.expect = { status = { "completed" }, steps = once("a", "b"),
    rows = { timer = 2, failed = failed } }
end

--- Each event moves it that comes while it stands, the last one may be too
--- late.
function kinds.moved(draw, case)
  local n = draw.random:upto(3)
  draw:start(case, 0, 0.6)
  for i = 1, n do
    draw:event(case, { name = "t.moved", id = "moved" .. i,
      is_addressed = true, data = draw.random:upto(4) / 10 })
  end
  case.expect = { status = { "completed" }, steps = once("a", "b"),
    rows = { timer = 1, rescheduled = { 1, n } } }
end

--- The second condition may hold as it is come to: then no row tells of it.
function kinds.met(draw, case)
  local n = draw.random:upto(5)
  case.input.count, case.input.enough = n, draw.random:upto(n)
  draw:fails(case.input, { "add" })
  draw:start(case, 0, 0.4)
  for i = 1, n do
    draw:event(case, { name = "t.offer", id = "offer" .. i,
      is_addressed = true })
  end
  draw:thread(case, { { op = "edit", at = draw:at(),
    set = { is_told = true } } })
  case.expect = { status = { "completed" },
    steps = { add = n, b = 1, c = 1 },
    rows = { received = n, condition = { 1, 2 } } }
end

--- Two are after it: which of them counts is who was told so.
function kinds.token(draw, case)
  local failed = draw:fails(case.input, { "ask" })
  draw:start(case, 0, 0.6)
  for _, who in ipairs { "ann", "bob" } do
    draw:thread(case, { { op = "complete", by = who, at = draw:at() } })
  end
  case.expect = { status = { "completed" }, steps = once("ask", "last"),
    rows = { received = 1, failed = failed },
    also = function(seen)
      local by = (seen.vars.result or {}).by
      return by ~= "ann" and by ~= "bob" and "nobody has completed it"
    end }
end

--- Jobs of one queue, for children that are there by then: each job is one's.
function kinds.queue(draw, case)
  local kids, jobs, sum = {}, 0, 0
  for i = 1, draw.random:upto(6) do
    kids[i] = { queue = case.key, count = draw.random:upto(4),
      pace = draw:pace() }
    jobs = jobs + kids[i].count
  end
  case.input.kids = kids
  draw:start(case, 0, 0.5)
  for i = 1, jobs do
    sum = sum + i
    for _ = 1, draw.random:chance(50) and 2 or 1 do
      draw:thread(case, { { op = "gather", n = #kids },
        { op = "signal", name = "t.job", key = case.key,
          id = case.key .. "/job" .. i, data = { n = i }, at = draw:at() } })
    end
  end
  case.expect = { status = { "completed" }, steps = { sum = 1 },
    vars = { sum = sum, failed = 0 }, children = #kids }
end

--- Who asks twice, under one id, is told the same. Of an odd number the last
--- is for the wait that refuses what is bad: some ask it only behind that, so
--- that one is surely refused.
function kinds.desk(draw, case)
  local function ask(id, data)
    return { op = "ask", name = "t.ask", data = data,
      id = case.key .. "/" .. id, at = draw:at() }
  end
  local function by_some(id, data)
    for _ = 1, draw.random:chance(60) and 2 or 1 do
      draw:thread(case, { ask(id, data) })
    end
  end
  local is_sure = draw:is(case, "is_refused", 30)
  local n = is_sure and 1 + 2 * draw.random:upto(3)
    or draw.random:between(2, 8)
  local bad = draw.random:between(is_sure and 1 or 0, 2)
  case.input.count = n
  draw:fails(case.input, { "add" })
  draw:start(case, 0, 0.5)
  for i = 1, is_sure and n - 1 or n do by_some("ask" .. i, { n = i }) end
  for i = 1, bad do by_some("bad" .. i, { bad = true }) end
  if is_sure then
    draw:thread(case, { ask("bad1", { bad = true }),
      ask("ask" .. n, { n = n }) })
  end
  case.expect = { status = { "completed" }, steps = { add = n },
    rows = { received = n, refused = { is_sure and 1 or 0, bad } } }
end

function kinds.task(draw, case)
  draw:start(case, 0, 0.6)
  for _, rival in ipairs { { "ann", "approved" }, { "bob", "rejected" } } do
    draw:thread(case, { { op = "task", user = rival[1], take = rival[2],
      at = draw:at(0.1) } })
  end
  case.expect = { status = { "completed" }, rows = { task = 1 },
    steps = { ask = 1, yes = { 0, 1 }, no = { 0, 1 } },
    also = function(seen)
      local by = (seen.vars.answer or {}).by
      local node = by == "ann" and "yes" or "no"
      if (seen.steps.yes or 0) + (seen.steps.no or 0) ~= 1
        or seen.steps[node] ~= 1 then
        return "it did not go the way that " .. tostring(by) .. " took"
      end
    end }
end

--- Notes that come before it stands there, or behind that, are not taken; each
--- that is begins one lane.
function kinds.beside(draw, case)
  local n = draw.random:upto(4)
  draw:start(case, 0, 0.4)
  for i = 1, n do
    draw:event(case, { name = "t.note", id = "note" .. i,
      is_addressed = true })
  end
  draw:thread(case, { { op = "task", user = "ann", take = "approved",
    at = draw:at(0.3) } })
  local is_withdrawn = draw.random:chance(50)
  if is_withdrawn then
    draw:event(case, { name = "t.withdraw", id = "withdraw",
      key = case.key }, 0.2, 0.9)
  end
  case.expect = { status = { "completed" },
    rows = { received = { 0, n + 1 }, task = { 0, 1 } },
    steps = { ask = 1, yes = { 0, 1 }, gone = { 0, is_withdrawn and 1 or 0 },
      ["note.run"] = { 0, n }, ["remind.run"] = { 0, 10000 } },
    also = function(seen)
      if (seen.steps.yes or 0) + (seen.steps.gone or 0) ~= 1 then
        return "it was approved and called off, or neither"
      end
    end }
end

local function undone(seen)
  local done = ""
  for _, node in ipairs { "c", "child", "b", "a" } do
    if seen.done[node] then done = done .. node end
  end
  local told = seen.vars.undone or ""
  return told ~= done
    and ("undone is '%s', done was '%s'"):format(told, done) or nil
end

function kinds.saga(draw, case)
  draw:start(case, 0, 0.5)
  local steps = at_most_once("a", "b", "c")
  if draw:is(case, "is_let_go", 50) then
    draw:event(case, { name = "t.go", id = "go", is_addressed = true })
    case.expect = { status = { "failed" }, steps = once("a", "b", "c"),
      children = 1, also = undone }
  else
    for _ = 1, draw.random:upto(2) do
      draw:thread(case, { { op = "cancel", at = draw:at() } })
    end
    case.expect = { status = { "cancelled" }, steps = steps,
      children = { 0, 1 }, also = undone }
  end
end

function kinds.recalled(draw, case)
  draw:start(case, 0, 0.5)
  -- after it has begun: what came before a start does not count
  draw:thread(case, {
    { op = "start", at = draw:at(0.5) },
    { op = "signal", name = "t.recall", key = case.key,
      id = case.key .. "/recall" },
  })
  case.expect = { status = { "cancelled" }, steps = { a = { 0, 1 } },
    also = undone }
end

-- By the node what was done until then, and when it is cancelled what was not
-- undone yet; then it tidies up, if it had begun.
local function back_and_tidy(seen)
  local wanted = (seen.done.b and "b" or "") .. (seen.done.a and "a" or "")
  if seen.status == "cancelled" then
    wanted = wanted .. (seen.done.c and "c" or "")
      .. (seen.done.tidy and "!" or "")
    if seen.done.a and not seen.done.tidy then return "it has not tidied up" end
  end
  local told = seen.vars.undone or ""
  return told ~= wanted
    and ("undone is '%s', not '%s'"):format(told, wanted) or nil
end

function kinds.back(draw, case)
  local failed = draw:fails(case.input, { "a", "b", "c" })
  draw:start(case, 0, 0.7)
  case.expect = { status = { "completed" }, steps = once("a", "b", "c"),
    rows = { failed = failed, compensated = 1 }, also = back_and_tidy }
  local is_held = draw:is(case, "is_held", 30)
  if not is_held and draw:is(case, "is_cancelled", 50) then
    for _ = 1, draw.random:upto(2) do
      draw:thread(case, { { op = "cancel", at = draw:at() } })
    end
    case.expect = { status = { "completed", "cancelled" },
      steps = at_most_once("a", "b", "c", "tidy"), also = back_and_tidy }
  elseif is_held then
    case.input.is_held = true
    draw:thread(case, { { op = "reach", node = "hold" },
      { op = "cancel", at = draw:at() } })
    case.expect.status, case.expect.steps.tidy = { "cancelled" }, 1
    case.expect.rows = nil
  end
end

function kinds.book(draw, case)
  local failed = draw:fails(case.input, { "book1", "book2" })
  draw:start(case)
  case.expect = { status = { "completed" },
    steps = once("book1", "between", "book2"), rows = { failed = failed } }
end

function kinds.hold(draw, case)
  draw:start(case, 0, 0.3)
  local steps, note = once("a", "b", "c"), draw.random:upto(1000)
  case.expect = { status = { "completed" }, steps = steps,
    vars = { note = note } }
  local actions = { { op = "edit", at = draw:at(0, 0.6),
    set = { note = note } } }
  if draw.random:chance(70) then
    actions[2] = { op = "suspend", at = draw:at(0.2, 0.7) }
    actions[3] = { op = "resume", at = draw:at(0.5, 0.8) }
  end
  -- some wait for ever, and are to rest as they wait
  if draw:is(case, "is_left", 15) then
    case.expect.status, case.expect.steps = { "waiting" }, { a = 1 }
  else
    actions[#actions + 1] = { op = "signal", name = "t.go",
      is_addressed = true, at = draw:at(0.5), id = case.key .. "/go" }
  end
  draw:thread(case, actions)
end

function kinds.move(draw, case)
  case.version = 1
  draw:start(case, 0, 0.5)
  draw:event(case, { name = "t.go", id = "go", is_addressed = true }, 0.2)
  draw:thread(case, { { op = "move", workflow = "t.move", at = draw:at(0.2),
    from = 1, into = 2, map = { b = "b2" } } })
  case.expect = { status = { "completed" }, rows = { migrated = { 0, 1 } },
    steps = { a = 1, b = 1, b2 = { 0, 1 }, c = 1 } }
end

-- Who prunes does so as soon as it has ended.
local function swept(place)
  return function(draw, case)
    case.place, case.is_swept = place, true
    draw:start(case, 0, 0.8)
    case.expect = { status = { "completed" }, steps = once("a", "b") }
  end
end

kinds.gone, kinds.put, kinds.mark = swept "none", swept "archive",
  swept "kept"

-- The event comes with the start: one that has failed keeps it.
function kinds.lost(draw, case)
  case.place, case.is_swept = "none", true
  draw:thread(case, { { op = "send", name = "t.lost", at = draw:at(0.8),
    id = case.key .. "/lost" } })
  case.expect = { status = { "failed" }, steps = once "a" }
end

---- thrown away ---------------------------------------------------------------

--- A UUIDv7: when it was drawn, and the rest by the seed.
function Draw:uuid()
  local function part(n) return self.random:between(0, n) end
  local ms = os.time() * 1000
  return ("%08x-%04x-7%03x-%04x-%04x%08x"):format(ms >> 16, ms & 0xffff,
    part(0xfff), 0x8000 + part(0x3fff), part(0xffff), part(0x7fffffff))
end

-- What is done to those that have ended, and where they are then.
local fates = {
  { "deleted", { "delete" } },
  { "hot", { "delete", "undelete" } },
  { "hot", { "archive", "unarchive" } },
  { "archive", { "archive" } },
  { "archive", { "delete", "undelete", "archive" } },
  { "archive", { "archive", "unarchive", "archive" } },
  { "none", { "purge" } },
  { "none", { "delete", "purge" } },
  { "none", { "archive", "purge" } },
  { "none", { "archive", "unarchive", "purge" } },
  { "kept", { "purge" } },
  { "kept", { "archive", "purge" } },
}

-- Those that end by themselves: nobody has to help an heir.
local alone = { seq = true, timer = true, book = true, each = true,
  nest = true, slow = true, call = true, kids = true }

local key_is_free = { deleted = true, none = true, kept = true }

--- Behind all else one client does this, action by action; then whoever starts
--- with its key meets it, or begins anew.
function Draw:fate(case, fate)
  local actions = {}
  case.place = fate[1]
  for i, op in ipairs(fate[2]) do
    actions[i] = { op = op, bulk = self.aside.random:chance(40) or nil,
      keep = op == "purge" and case.place == "kept" or nil }
  end
  if not key_is_free[case.place] then
    actions[#actions + 1] = { op = "meet" }
  elseif alone[case.kind] and self:is(case, "has_heir", 60) then
    case.heir = self:uuid()
    actions[#actions + 1] = { op = "inherit" }
  end
  local thread = self:thread(case, actions)
  thread.is_last = true
  for _, one in ipairs(case.threads) do one.client = thread.client end
end

--- Who was started by an event has no id that could be told before.
local function may_be_thrown_away(case)
  return not case.by_event and not case.place
    and case.expect.status[1] ~= "waiting"
end

local weights = { gone = 3, put = 3, mark = 3, lost = 3, seq = 10, slow = 2,
  all = 4, any = 4, two = 4, each = 4,
  few = 3, some = 4, pages = 3, nest = 3, asked = 4, kids = 3, call = 4,
  event = 6, many = 2, begun = 3,
  late = 4, timer = 4, task = 5, beside = 5, queue = 4, desk = 5, back = 6,
  moved = 4, met = 4, token = 4,
  saga = 6, recalled = 3, book = 5, hold = 6,
  move = 5 }

-- How each wave begins: what chance brings now and then, and the checker must
-- meet, is in every one.
local ways = {
  seq = { { is_big = true, is_cancelled = false } },
  kids = { { is_cancelled = false } },
  some = { { is_sorry = true }, { is_sorry = false } },
  desk = { { is_refused = true } },
  saga = { { is_let_go = true }, { is_let_go = false } },
  hold = { { is_left = true }, { is_left = false } },
  back = { { is_held = true }, { is_held = false, is_cancelled = false },
    { is_held = false, is_cancelled = true } },
  timer = { {}, { fate = { "deleted", { "delete" } }, has_heir = false },
    { fate = { "archive", { "archive" } } },
    { fate = { "none", { "purge" } }, has_heir = false },
    { fate = { "kept", { "purge" } }, has_heir = false } },
}

--- One of each way of each kind; those of which nothing is said are thrown
--- away by nobody.
local function opening()
  local names, first = {}, {}
  for name in pairs(weights) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, way in ipairs(ways[name] or { {} }) do
      first[#first + 1] = { kind = name, way = way }
    end
  end
  return first
end

--- Beside everything else all of a workflow are noted at once.
function Draw:notes(case)
  self:thread(case, { { op = "note_all", workflow = case.workflow,
    request = self:uuid(), at = self:at(0, 0.9) } })
end

--- One case, and what becomes of it when it has ended.
function Draw:case(name, kind, way)
  local case = { key = name, workflow = "t." .. kind, kind = kind,
    threads = {}, way = way or {} }
  case.input = { key = case.key, pace = self:pace() }
  kinds[kind](self, case)
  if self.aside.random:chance(15) then self.aside:notes(case) end
  local fate = case.way.fate
  if not way and may_be_thrown_away(case) and self.random:chance(35) then
    fate = self.random:pick(fates)
  end
  if fate or case.place then case.id = self:uuid() end
  if fate then self:fate(case, fate) end
  return case
end

--- The cases of one wave: those that it begins with, then as the weights say.
---@param seed integer
---@param options { n: integer, span: number, clients: integer, name: string }
---@return torture.Case[]
function model.draw(seed, options)
  local function new(random)
    return setmetatable({ random = random, span = options.span,
      clients = options.clients }, Draw)
  end
  local draw = new(Random.new(seed))
  draw.aside = new(Random.new(seed + 1)) -- what leaves all others as they are
  local cases, first = {}, opening()
  assert(options.n >= #first, #first .. " cases are the least")
  for i = 1, options.n do
    local kind = first[i] and first[i].kind or draw.random:weighted(weights)
    cases[i] = draw:case(("%s-%d-%s"):format(options.name, i, kind), kind,
      first[i] and first[i].way)
  end
  return cases
end

return model
