--- Plays random workflows (spec/support/graphs.lua) to their end: two engines
--- take turns on one store under a virtual clock, people and events come when
--- they are waited for, and the case's story makes trouble. What must hold is
--- looked at whenever nothing moves by itself, and at the end (holds.lua).
---
--- A story is a list of { at = round, what = trouble, n = number }:
---   switch    the other engine goes on; what this one holds stays leased
---   overtake  while the next handler runs its lease passes, and the other
---             engine does the work
---   lose      the answer to one of the next commits does not arrive
---             (PostgreSQL; on SQLite there is no such thing, and it is a
---             switch)
---   reopen    the engine is closed, and another one opened
---   early     events that nobody may be waiting for yet
---   again     the last event comes a second time
---   crowd     neighbours begin whose steps each hold up everybody, so that
---             what is done is committed in the middle of a round
---   away      what has ended is deleted, or archived, and comes back
---   stop      a breakpoint at one of the nodes, which may hold all, some or
---             fail; the last one is removed by every fourth
---   step      one that has halted somewhere runs a node
---   misfit    events whose data is not what typed waits accept
---   ask       somebody asks it, and again in the end
---   suspend, wake, cancel, jump (of the clock)
local Random = require "pawl.testing.random"
local graphs = require "spec.support.graphs"
local holds = require "spec.support.holds"
local pawl = require "pawl"
local probe = require "spec.support.probe"
local socket = require "socket"

local LEASE = 30
local CROWD, SLOW = "crowd", 0.016
local IDLE, HELPED = 40, 1600
-- Items of items, each with handlers that wait for seconds, need thousands;
-- what was led astray may go round for ever.
local ROUNDS, WILD_ROUNDS = 12000, 3000

---@class spec.Stage
---@field backend spec.Backend
---@field url string
---@field clock pawl.Clock
---@field engines pawl.Engine[]
---@field store userdata      a connection of its own, for looking
---@field now integer         which engine is at work
---@field played integer
local Stage = {}
Stage.__index = Stage

---@class spec.Problem
---@field what string  the promise that was broken; the same when cut down
---@field text string

---- the store ---------------------------------------------------------------

local NIGHT <const> = 3 -- the engine that serves graphs.GROUP

local function options(self, i)
  return {
    group = i == NIGHT and graphs.GROUP or nil,
    clock = self.clock, lease = LEASE, recoveries = 1000000,
    trace = function(t) self:traced(i, t) end,
  }
end

--- A neighbour: no other may be committed with a step of its.
local function crowd()
  local flow = pawl.workflow { code = CROWD, start = "s1" }
  for i = 1, 6 do
    flow:step("s" .. i, { next = i < 6 and "s" .. i + 1 or "z",
      run = function() socket.sleep(SLOW) end })
  end
  flow:finish "z"
  return flow
end

local function open(self, i)
  local engine = assert(self.backend.open(self.url, options(self, i)))
  assert(engine:load(crowd()))
  for _, flow in ipairs(self.flows or {}) do assert(engine:load(flow)) end
  self.engines[i] = engine
end

--- A stage on a new store of this backend.
---@return spec.Stage
function Stage.new(backend)
  local engine, clock, url = backend.fresh()
  engine:close()
  local self = setmetatable({ backend = backend, clock = clock, url = url,
    engines = {}, now = 1, played = 0 }, Stage)
  self.store = assert(probe.open(url))
  probe.shorten(holds.KEPT) -- of those that have `keep_history`
  open(self, 1)
  open(self, 2)
  open(self, NIGHT)
  return self
end

function Stage:close()
  probe.shorten(0)
  for _, engine in pairs(self.engines) do engine:close() end
  self.store:close()
  self.backend.cleanup()
end

--- Rows of a select; tables are written as in PostgreSQL.
---@param text string
---@return table[]
function Stage:sql(text)
  if self.backend.name == "sqlite" then text = text:gsub("pawl%.", "pawl_") end
  assert(self.store:begin "open")
  local rows = assert(self.store:query(text))
  self.store:rollback()
  rows.changed = nil
  return rows
end

function Stage:engine() return self.engines[self.now] end

--- Asks the engine; a lost connection is asked again.
function Stage:ask(method, ...)
  local engine = self:engine()
  for _ = 1, 20 do
    local noun, verb = method:match "(%l+):(%l+)"
    local asked = noun and engine[noun] or engine
    local result = table.pack(asked[verb or method](asked, ...))
    if result[1] ~= nil then return table.unpack(result, 1, result.n) end
    local code = result[2] and result[2].code
    if code ~= "unreachable" and code ~= "busy" then
      return nil, result[2]
    end
  end
  error(method .. ": the store does not answer")
end

function Stage:must(method, ...)
  local result = table.pack(self:ask(method, ...))
  if result[1] == nil then
    error({ what = "an engine that answers",
      text = ("%s: %s"):format(method, tostring(result[2])) }, 0)
  end
  return table.unpack(result, 1, result.n)
end

---- instances ---------------------------------------------------------------

--- All instances of the case, as listed, oldest first.
function Stage:instances()
  local all = {}
  for i = 1, #self.case.flows do
    local list = self:must("list", { workflow = graphs.code(self.prefix, i),
      limit = 1000 })
    if self.is_thrown then
      local away = self:must("list", { limit = 1000, archived = true,
        workflow = graphs.code(self.prefix, i) })
      table.move(away, 1, #away, #list + 1, list)
    end
    for _, one in ipairs(list) do
      one.flow = i
      all[#all + 1] = one
    end
  end
  table.sort(all, function(a, b) return a.id < b.id end)
  return all
end

local ENDED = { completed = true, failed = true, cancelled = true }

function Stage:live()
  local live = {}
  for _, one in ipairs(self:instances()) do
    if not ENDED[one.status] then live[#live + 1] = one end
  end
  return live
end

---- people and events -------------------------------------------------------

-- Refusals that are no fault: what was acted upon has ended meanwhile.
local LATE = { already_finished = true, taken = true, notfound = true,
  invalid = true }

--- Nor is it one that a story suspends what is suspended.
local function is_late(method, err)
  return LATE[err.code] or method == "suspend" and err.code == "conflict"
    and err.message:find "[;:] it is suspended"
end

function Stage:try(method, ...)
  local ok, err = self:ask(method, ...)
  if ok == nil and not is_late(method, err) then
    error({ what = "an engine that answers",
      text = ("%s: %s"):format(method, tostring(err)) }, 0)
  end
  return ok, err
end

--- Sends an event in one of the ways there are.
---@param n? number  other data than how many were sent
function Stage:send(name, how, id, n)
  self.sent = self.sent + 1
  local signal = { name = name, data = { n = n or self.sent },
    id = ("%s-%d"):format(self.prefix, self.sent) }
  if how ~= "instance" then signal.key = self.prefix end
  if how ~= "key" then signal.instance = id end
  self.last_signal = signal
  return self:try("signal", signal)
end

--- What a wait waits for, in a way that it takes.
local function help_wait(self, id, node)
  if node.condition then
    self:try("edit", id, { set = { ["open_" .. node.name] = true } })
    return
  end
  if node.key == "token" then
    local variables = self:must("get", id).variables
    self.sent = self.sent + 1
    for _, token in ipairs(variables["all_" .. node.name] or {}) do
      for _ = 1, self.random:upto(2) do
        -- what its `match` and `answer` take: there is no second one
        self:try("complete", token, { n = 14 * self.sent })
      end
    end
    return
  end
  local how = node.key == "none" and "instance"
    or self.random:pick { "instance", "key", "both" }
  if node.typed and self.random:chance(40) then
    self:send(node.event, how, id, 0.5)
  end
  self:send(node.event, how, id)
end

local OUTCOMES = { approved = true, rejected = true }

local function outcome(self, node)
  local names = {}
  for _, one in ipairs(node.ways) do
    if OUTCOMES[one.name] then names[#names + 1] = one.name end
  end
  return #names > 0 and self.random:pick(names) or nil
end

--- Another output than it accepts.
local function refuse_untyped(self, task, node)
  local ok, err = self:ask("tasks:complete", task.id, { by = "ann",
    role = "boss", take = outcome(self, node), output = { by = 1 } })
  if ok or err.code ~= "value" and not LATE[err.code] then
    error({ what = "a task takes what it accepts", text = tostring(err) }, 0)
  end
end

--- Completed by one person while another tries the same.
local function help_task(self, id, node, token)
  local tasks = self:must("tasks:list", { instance = id, limit = 1000,
    status = { "pending", "running" } })
  for _, task in ipairs(tasks) do
    if task.token == token.no and task.visit == token.visit then
      if self.random:chance(40) then
        self:try("tasks:claim", task.id, { by = "ann", role = "boss" })
      end
      local ok
      if node.person_fails and self.random:chance(40) then
        ok = self:try("tasks:fail", task.id, { by = "ann", role = "boss",
          error = "no" })
      else
        if node.typed then refuse_untyped(self, task, node) end
        ok = self:try("tasks:complete", task.id, { by = "ann", role = "boss",
          take = outcome(self, node), output = { by = "ann" } })
      end
      if ok and self.random:chance(30) then
        local twice, err = self:ask("tasks:complete", task.id, { by = "bob",
          take = outcome(self, node), output = { by = "bob" } })
        if twice or err.code ~= "already_finished" and err.code ~= "taken" then
          error({ what = "a task is completed once", text = ("by ann and by "
            .. "bob: %s"):format(tostring(twice or err)) }, 0)
        end
      end
      return true
    end
  end
  return false
end

--- What has halted goes on, mostly; or by one node.
local function let_go(self)
  local found = self:must("list", { halted = true, limit = 1000 })
  for _, one in ipairs(found) do
    local method = self.random:chance(70) and "continue" or "step"
    local ok, err = self:ask(method, one.id, { by = "spec" })
    if ok == nil and err.code ~= "conflict" and not LATE[err.code] then
      error({ what = "what has halted goes on", text = tostring(err) }, 0)
    end
  end
  return #found
end

--- 1: something was done from outside.
local function help(self)
  local done = let_go(self)
  for _, one in ipairs(self:live()) do
    if one.status == "suspended" then
      self:try("resume", one.id, { by = "spec",
        shift = self.random:chance(50) })
      done = done + 1
    else
      local nodes = self.nodes[one.flow]
      for _, token in ipairs(self:must("tokens", one.id)) do
        local node = nodes[token.node]
        if node and token.state == "waiting" and not node.ignored then
          -- what waits beside others would be helped for ever
          if node.kind == "wait"
            and not (node.is_beside and self.random:chance(75)) then
            help_wait(self, one.id, node)
            done = done + 1
          elseif node.kind == "task" and help_task(self, one.id, node, token)
          then
            done = done + 1
          end
        end
      end
    end
  end
  return done > 0
end

---- trouble -----------------------------------------------------------------

local trouble = {}

function trouble.switch(self) self.now = 3 - self.now end

function trouble.overtake(self) self.overtakes = true end

function trouble.lose(self, one)
  if self.backend.name == "sqlite" then
    trouble.switch(self)
  else
    probe.fault(("commit.%s=drop@%d"):format(
      one.n % 2 == 0 and "sent" or "before_send", one.n % 5 + 1))
  end
end

function trouble.reopen(self)
  probe.fault(nil) -- a store that cannot be opened is no use to anybody
  self:engine():close()
  open(self, self.now)
end

function trouble.early(self, one)
  local events = { "pay.card", "pay.cash", "sent", "seen" }
  local how = { "instance", "key", "both" }
  self:send(events[one.n % 4 + 1], how[one.n % 3 + 1], self.main)
end

function trouble.misfit(self, one)
  local events = { "pay.card", "pay.cash", "sent", "seen" }
  local how = { "instance", "key", "both" }
  self:send(events[one.n % 4 + 1], how[one.n % 3 + 1], self.main, 0.5)
end

-- How a question may be refused, by who has it or as nobody has.
local UNANSWERED = { timeout = true, not_now = true, value = true,
  already_finished = true }

local function ask_again(self, question)
  local answer, err = self:ask("ask", self.main, question.name, question.data,
    { event = question.event, timeout = 0 })
  if answer == nil and not UNANSWERED[err.code] then
    error({ what = "a question is answered", text = tostring(err) }, 0)
  end
  return answer == nil and err.code or answer
end

--- Of what its waits answer, if there are such.
function trouble.ask(self, one)
  local names = {}
  for _, node in ipairs(self.case.flows[1].nodes) do
    if node.event and node.into then names[#names + 1] = node.event end
  end
  if #names == 0 then names[1] = "seen" end
  self.sent = self.sent + 1
  local question = { name = names[one.n % #names + 1],
    data = { n = one.n % 3 == 0 and 0.5 or self.sent },
    event = ("%s-%d"):format(self.prefix, self.sent) }
  question.told = ask_again(self, question)
  self.asked[#self.asked + 1] = question
end

--- In the end each has been told something, and is told the same again.
local function hear_all(self)
  for _, question in ipairs(self.asked) do
    local told = ask_again(self, question)
    if told == "timeout" or question.told ~= "timeout"
      and question.told ~= told or ask_again(self, question) ~= told then
      error({ what = "a question is answered once", text = ("%s: %s, then %s")
        :format(question.event, tostring(question.told), tostring(told)) }, 0)
    end
  end
end

function trouble.again(self)
  if self.last_signal then self:try("signal", self.last_signal) end
end

function trouble.crowd(self, one)
  for _ = 0, one.n % 3 do self:must("start", CROWD) end
end

local function some_live(self, one)
  local live = self:live()
  return #live > 0 and live[one.n % #live + 1].id or self.main
end

function trouble.suspend(self, one)
  self:try("suspend", some_live(self, one), { by = "spec" })
end

function trouble.wake(self, one)
  self:try("wake", some_live(self, one), { by = "spec" })
end

function trouble.cancel(self, one)
  if one.n % 2 == 0 then
    self:try("cancel", some_live(self, one), { by = "spec", reason = "story" })
  else
    self:send("stop", "key", self.main)
  end
end

--- One that has ended is hidden, or put out of the way, and comes back, beside
--- those that go on; others may need it still, and then it stays.
function trouble.away(self, one)
  local ended = {}
  for _, each in ipairs(self:instances()) do
    if ENDED[each.status] then ended[#ended + 1] = each.id end
  end
  local id = ended[one.n % math.max(#ended, 1) + 1]
  if not id then return end
  local there, back = "archive", "unarchive"
  if one.n % 2 == 0 then there, back = "delete", "undelete" end
  local ok, err = self:ask(there, id, { by = "spec" })
  if ok then
    self:must(back, id, { by = "spec" })
  elseif err.code ~= "conflict" then
    error({ what = "what has ended can be put away",
      text = ("%s: %s"):format(there, tostring(err)) }, 0)
  end
end

function trouble.jump(self, one)
  self.clock:advance(({ 1, 40, 700, 100000 })[one.n % 4 + 1])
end

local CONDITIONS = { false, "attempt > 1", "vars.n ~= nil", "absent.total > 1" }

function trouble.stop(self, one)
  if one.n % 4 == 3 then
    self:must("breakpoints:remove", { all = true, by = "spec" })
    return
  end
  local flow = one.n % #self.case.flows + 1
  local nodes = self.case.flows[flow].nodes
  self:must("breakpoints:set", { workflow = graphs.code(self.prefix, flow),
    node = nodes[one.n % #nodes + 1].name, lasts = one.n % 900 + 100,
    when = CONDITIONS[one.n % #CONDITIONS + 1] or nil, by = "spec" })
end

function trouble.step(self, one)
  local found = self:must("list", { halted = true, limit = 1000 })
  if #found == 0 then return end
  local id = found[one.n % #found + 1].id
  local ok, err = self:ask("step", id, { by = "spec" })
  if ok == nil and err.code ~= "conflict" and not LATE[err.code] then
    error({ what = "what has halted steps", text = tostring(err) }, 0)
  end
end

--- A handler begins.
function Stage:traced(i, t)
  if t.outcome or not self.overtakes or i ~= self.now or i == NIGHT then
    return
  end
  local flow = self.flow_of[t.workflow]
  local node = flow and self.nodes[flow][t.node]
  if not node or node.transactional then return end
  self.overtakes = false
  self.now = 3 - i
  self.clock:advance(LEASE + 1)
  local rival = self:engine()
  local ok, err = pcall(rival.tick, rival, 1)
  if not ok then self.broken = err end
end

---- from beginning to end ---------------------------------------------------

--- When something is due by itself: seconds; nil: never. 0: now.
local function next_due(self)
  local at = self.backend.name == "sqlite" and "min(due_at)"
    or "(extract(epoch from min(due_at)) * 1000000)::bigint"
  local row = self:sql("select " .. at .. " as at, (select count(*) from \
    pawl.message) as messages from pawl.agenda")[1]
  if row.messages > 0 then return 0 end
  return row.at and row.at / 1e6
end

--- One round: 1 something may still move by itself; 0 nothing does.
local function work(self)
  local budget = self.random:chance(40) and 0 or 1
  local stats = self:must("tick", budget)
  local now = self.now
  self.now = NIGHT
  for name, n in pairs(self:must("tick", budget)) do
    if math.type(n) == "integer" then stats[name] = (stats[name] or 0) + n end
  end
  self.now = now
  if stats.claimed > 0 or stats.held > stats.waiting
    or stats.committed > 0 then
    self.idle = 0
    return true
  end
  if stats.waiting > 0 then -- for some time, and others may do what they do
    self.idle = 0
    self.clock:advance(0.1)
    return true
  end
  local due = next_due(self)
  if not due or due > self.clock:now() then return false end
  self.idle = self.idle + 1
  if self.idle % 10 == 0 then trouble.switch(self) end
  if self.idle > IDLE then
    error({ what = "what is due is done",
      text = "something is due, and no engine does it" }, 0)
  end
  return true
end

--- What was led astray may never end by itself.
local function end_all(self)
  for _, one in ipairs(self:live()) do
    self:try("kill", one.id, { by = "spec", reason = "round and round" })
  end
end

--- Nothing moves: help from outside, or time.
local function go_on(self)
  holds.alive(self)
  self.helped = self.helped + 1
  if self.case.is_wild and self.helped > 60 or self.helped > HELPED then
    if not self.case.is_wild then
      error({ what = "it comes to an end", text = "it goes round and round" },
        0)
    end
    end_all(self)
    return
  end
  if self.random:chance(85) and help(self) then return end
  local due = next_due(self)
  if due then
    self.clock.us = math.max(self.clock.us, math.ceil(due * 1e6))
  elseif not help(self) then
    error({ what = "nothing is stuck", text = "nothing is due, and nothing "
      .. "outside would help" }, 0)
  end
end

--- Nothing begins with what is not declared.
local function refuse_input(self)
  local code = graphs.code(self.prefix, 1)
  for _, input in ipairs { { order = 7 }, { order = "x", item = 0 },
    { order = "x", other = 1 } } do
    local id, err = self:ask("start", code, input)
    if id or err.code ~= "value" then
      error({ what = "an input is as it is declared",
        text = tostring(id or err) }, 0)
    end
  end
  if #self:must("list", { workflow = code }) > 0 then
    error({ what = "what is refused leaves nothing", text = code }, 0)
  end
end

local function start(self, case)
  self.case = case
  self.played = self.played + 1
  self.prefix = "p" .. self.played
  self.flows = graphs.build(case, self.prefix)
  self.random = Random.new(case.seed)
  self.sent, self.idle, self.helped, self.is_thrown = 0, 0, 0, false
  self.overtakes, self.last_signal, self.broken = false, nil, nil
  self.asked = {}
  self.nodes, self.flow_of = {}, {}
  for i, flow in ipairs(case.flows) do
    self.nodes[i] = graphs.with_boundaries(flow)
    self.flow_of[graphs.code(self.prefix, i)] = i
  end
  for _, engine in ipairs(self.engines) do
    for _, flow in ipairs(self.flows) do
      local ok, err = engine:load(flow)
      if not ok then
        error({ what = "the checker agrees", text = tostring(err),
          refused = err }, 0)
      end
    end
  end
  if case.flows[1].options.typed then refuse_input(self) end
  self.main = self:must("start", graphs.code(self.prefix, 1),
    { order = self.prefix }, case.starts)
end

--- Every third case goes in the end: into the archive, where it is read as
--- before, but what nobody has published; then for good, and some by their
--- attributes are found still.
local function throw_away(self)
  if self.case.seed % 3 > 0 then return end
  local all = self:instances()
  for _, one in ipairs(all) do
    local ok, err = self:ask("archive", one.id, { by = "spec" })
    if not ok and not err.message:find "has emitted" then
      error({ what = "what has ended can be put away", text = tostring(err) },
        0)
    end
  end
  self.is_thrown = true
  holds.ended(self)
  for i, one in ipairs(all) do
    self:must("purge", one.id, { by = "spec", force = true,
      keep_attributes = i % 2 == 0 })
  end
  holds.gone(self, all)
end

local function play(self, case)
  start(self, case)
  local at = 1
  local rounds = case.is_wild and WILD_ROUNDS or ROUNDS
  for round = 1, rounds do
    while case.story[at] and case.story[at].at <= round do
      trouble[case.story[at].what](self, case.story[at])
      at = at + 1
    end
    if self.broken then error(self.broken, 0) end
    if case.is_wild and round > rounds // 2 then end_all(self) end
    if not work(self) then
      if #self:live() == 0 and not next_due(self) then break end
      go_on(self)
    end
    if round == rounds then
      error({ what = "it comes to an end", text = "it goes round and round" },
        0)
    end
  end
  probe.fault(nil)
  holds.ended(self)
  hear_all(self)
  throw_away(self)
end

local function describe(err)
  if type(err) == "table" and err.what then return err end
  return { what = "nothing is raised", text = tostring(err) }
end

--- Plays one case. nil: all held.
---@param case spec.Case
---@return spec.Problem?
function Stage:play(case)
  local ok, err = xpcall(play, function(err)
    if type(err) == "table" and err.what then return err end
    return debug.traceback(tostring(err), 2)
  end, self, case)
  probe.fault(nil)
  if ok then return nil end
  local problem = describe(err)
  local told, trails = pcall(holds.trails, self)
  problem.trails = told and trails or tostring(trails)
  return problem
end

--- Why the checker, or the builder, refuses a case; nil: it does not. Nothing
--- is stored.
function Stage.why(case)
  local engine <close> = assert(pawl.open ":memory:")
  local built, flows = pcall(graphs.build, case, "p")
  if not built then return flows end
  for _, flow in ipairs(flows) do
    local ok, err = engine:load(flow)
    if not ok then return err end
  end
end

--- As a spec shows it: how to repeat it, the workflows as Lua files, what
--- happened to them, and what was recorded.
---@param case spec.Case
---@param problem spec.Problem
---@return string
function Stage.report(case, problem)
  local parts = {}
  local function put(format, ...) parts[#parts + 1] = format:format(...) end
  put("seed %d: %s: %s", case.seed, problem.what, problem.text)
  put("again: PAWL_SEED=%d ./dev test spec/engine/property_spec.lua",
    case.seed)
  for i = 1, #case.flows do
    put("\n-- file %s.lua\n%s", graphs.code("p", i),
      graphs.text(case, i, "p"))
  end
  for _, one in ipairs(case.story) do
    put("-- round %d: %s (%d)", one.at, one.what, one.n)
  end
  put("\n%s", problem.trails or "")
  return table.concat(parts, "\n")
end

return Stage
