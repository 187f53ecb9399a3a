--- One wave of the torture: draws cases, has clients and workers deal with
--- them while faults happen, lets all come to rest, and has it checked.
local checker = require "spec.support.torture.checker"
local command = require "spec.support.command"
local build = require "spec.support.build"
local Crew = require "spec.support.torture.crew"
local faults = require "spec.support.torture.faults"
local model = require "spec.support.torture.model"
local pawl = require "pawl"
local process = require "spec.support.process"
local Random = require "pawl.testing.random"
local shell = require "spec.support.shell"
local system = require "system"

local here = os.getenv("PWD")
local flows = here .. "/spec/support/torture/flows"

---@class torture.Options
---@field seed integer
---@field n integer        cases
---@field span number      seconds of faults
---@field workers integer?
---@field clients integer?
---@field lease number?    seconds
---@field patience number? seconds in which something must move, until all
---                          are at rest
---@field is_calm boolean?  no faults at all

---@class torture.Wave
---@field found string[]  what should not be
local Wave = {}
Wave.__index = Wave

---@param store table  one of stores.lua, renewed
---@param options torture.Options
function Wave.new(store, options)
  local self = setmetatable({ store = store, seed = options.seed, found = {},
    random = Random.new(options.seed * 7919), lease = options.lease or 2,
    span = options.span, patience = options.patience or 90,
    folder = command.folder(), log = {}, n = options.n,
    is_calm = options.is_calm, is_safe = options.is_calm,
    count = { kill = 0, cut = 0, restart = 0 } }, Wave)
  self.n_clients = options.clients or 3
  self.n_workers = options.workers or 4
  self.name = ("s%d"):format(options.seed)
  self.cases = model.draw(options.seed, { n = options.n, name = self.name,
    span = options.span, clients = self.n_clients })
  return self
end

function Wave:note(format, ...)
  self.log[#self.log + 1] = ("%6.2f %s"):format(
    system.gettime() - (self.begun or system.gettime()), format:format(...))
end

function Wave:find(format, ...)
  self.found[#self.found + 1] = format:format(...)
  self:note("FOUND " .. format, ...)
end

---- those who take part -------------------------------------------------------

-- While nothing is broken on purpose, all go the safe way.
function Wave:way()
  if self.is_safe then return self.store.ways[1] end
  return self.random:pick(self.store.ways)
end

function Wave:start_worker(no)
  local way, random = self:way(), self.random
  local words = { "worker", flows, "--quiet", "--processes", "1", "--lease",
    self.lease .. "s", "--recoveries", "1000", "--store", way.url }
  if way.pooler then words[#words + 1] = "--pooler" end
  if random:chance(30) then
    words[#words + 1] = "--batch"
    words[#words + 1] = tostring(random:pick { 1, 4, 20 })
  end
  if random:chance(30) then
    words[#words + 1] = "--concurrency"
    words[#words + 1] = tostring(random:pick { 1, 3, 10 })
  end
  local fault = self.is_safe and "" or faults.inside(random, self.store)
  words[#words + 1] = { env = { PAWL_FAULT = fault,
    LUA_PATH = here .. "/?.lua;;" } }
  local child = self.folder:start(table.unpack(words))
  self:note("worker %d is %d%s %s", no, child.pid,
    way.breaks and ", by a wire that breaks" or "", fault)
  return child
end

--- Hands what was emitted to a file. Its attempts have no end here: that a
--- lease passes on is none of the receiver's doing.
function Wave:start_relay()
  local way = self:way()
  local words = { "relay", "--exec", "cat >> received", "--quiet",
    "--timeout", self.lease .. "s", "--lease", 2 * self.lease .. "s",
    "--base", "0.1s", "--cap", "1s", "--max-attempts", "1000",
    "--store", way.url }
  if way.pooler then words[#words + 1] = "--pooler" end
  local fault = self.is_safe and "" or faults.inside_relay(self.random)
  words[#words + 1] = { env = { PAWL_FAULT = fault } }
  local child = self.folder:start(table.unpack(words))
  self:note("a relay is %d %s", child.pid, fault)
  return child
end

local trouble = { "internal", "a bug in pawl", "Assertion", "corrupt",
  "Sanitizer" }

--- What a worker may say is a lot; not this.
function Wave:listen(who, child)
  local said = child:output() .. child:errors()
  for _, word in ipairs(trouble) do
    local at = said:find(word, 1, true)
    if at then
      return self:find("%s said: %s", who,
        said:sub(math.max(1, at - 200), at + 400))
    end
  end
end

--- Takes away what is past its time, again and again.
function Wave:start_pruner()
  local way = self:way()
  local words = { "prune", "--store", way.url }
  if way.pooler then words[#words + 1] = "--pooler" end
  local fault = self.is_safe and "" or faults.inside_pruner(self.random)
  words[#words + 1] = { env = { PAWL_FAULT = fault } }
  return self.folder:start(table.unpack(words))
end

--- It ends by itself, and where things break on purpose it may give up.
function Wave:pruner_ended(one, code)
  self:listen("a pruner", one.child)
  if code == 137 then
    self:note "a pruner ended with 137"
    self.count.kill = self.count.kill + 1
  elseif code ~= 0 and self.is_safe and not one.told then
    self:find("a pruner ended with %d: %s", code,
      one.child:output() .. one.child:errors())
  end
end

function Wave:ended(what, one, code)
  local who = ("%s %d (%d)"):format(what, one.no, one.child.pid)
  self:note("%s ended with %d", who, code)
  self:listen(who, one.child)
  if code == 137 then self.count.kill = self.count.kill + 1 end
  local is_fine = code == 137 or one.told == "TERM"
    and (code == 0 or code == 143 and not one.is_ready)
  if not is_fine then
    self:find("%s ended with %d%s: %s", who, code,
      one.told and " when told " .. one.told or "",
      (one.child:output() .. one.child:errors()):sub(-600))
  end
end

function Wave:write_plans()
  local cases = {}
  for _, case in ipairs(self.cases) do
    cases[case.key] = { workflow = case.workflow, key = case.key,
      version = case.version, input = case.input, by_event = case.by_event,
      id = case.id, heir = case.heir }
  end
  for no = 1, self.n_clients do
    local threads = {}
    for _, case in ipairs(self.cases) do
      for _, thread in ipairs(case.threads) do
        if thread.client == no then
          threads[#threads + 1] = { actions = thread.actions,
            is_last = thread.is_last }
        end
      end
    end
    self.folder:write(("plan%d"):format(no), assert(pawl.json.encode {
      cases = cases, threads = pawl.array(threads), begun = self.begun,
      limit = self.span + self.patience }))
  end
end

function Wave:start_client(no)
  local way, dir = self:way(), self.folder.dir
  local env = { LUA_PATH = here .. "/?.lua;" .. build.env.LUA_PATH,
    LUA_CPATH = build.env.LUA_CPATH,
    PAWL_FAULT = self.is_safe and "" or faults.inside_client(self.random) }
  return process.start({ "lua5.4", here .. "/spec/support/torture/client.lua",
    ("%s/plan%d"):format(dir, no), ("%s/journal%d"):format(dir, no), way.url,
    way.pooler and "pooler" or nil }, { env = env })
end

--- libpq itself says these, of a session that is ended in the moment it begins,
--- before anybody can tell it not to.
local of_libpq = {
  "FATAL:  terminating connection due to administrator command\n+",
  "WARNING:  terminating connection due to immediate shutdown command\n+",
}

function Wave:client_ended(one, code)
  local said = one.child:output() .. one.child:errors()
  for _, line in ipairs(of_libpq) do said = said:gsub(line, "") end
  if said ~= "" then self:find("client %d said: %s", one.no, said) end
  if code ~= 0 and code ~= 137 then
    self:find("client %d ended with %d", one.no, code)
  end
  return code == 0
end

---- the course of it ----------------------------------------------------------

local function load_all(engine)
  local find = { "find", flows, "-name", "*.lua" }
  for path in shell.output(find):gmatch "[^\n]+" do
    assert(engine:load(path))
  end
end

--- The end of an id is its key's: a store that is none says which it is.
function Wave:finish_ids()
  local engine <close> = assert(pawl.open ":memory:")
  load_all(engine)
  local function finish(case, id)
    return id and assert(engine:start(case.workflow, case.input,
      { key = case.key, id = id, version = case.version, reuse = "ended",
        on_existing = "replace" }))
  end
  for _, case in ipairs(self.cases) do
    case.id, case.heir = finish(case, case.id), finish(case, case.heir)
  end
end

--- All definitions, before anybody needs one.
function Wave:load()
  local engine <close> = assert(pawl.open(self.store.url))
  load_all(engine)
  self:finish_ids()
end

--- SQL of the driver's own, through whatever happens to the server.
function Wave:sql(text)
  local ok, rows
  for _ = 1, 50 do
    ok, rows = pcall(self.store.sql, text)
    if ok then return rows end
    system.sleep(0.2)
  end
  error(rows)
end

function Wave:number(text)
  local row = assert(self:sql(text)[1], text)
  local _, value = next(row)
  return (assert(math.tointeger(tonumber(value)), text))
end

function Wave:tend()
  local function pause() return self.random:between(0, 5) / 10 end
  self.workers:tend(pause)
  self.clients:tend(pause)
  self.relays:tend(pause)
  self.pruners:tend(pause)
end

function Wave:strike(can)
  local name = self.random:weighted(can)
  local ok, told = pcall(faults[name], self)
  if ok and told then
    self:note("%s %s", name, told)
    if name:find "^restart" then
      self.count.restart = self.count.restart + 1
    elseif name == "terminate" then
      self.count.cut = self.count.cut + 1
    end
  end
end

function Wave:suffer()
  local can, due = faults.of(self.store), 0.5
  local until_ = self.begun + self.span
  while system.gettime() < until_ do
    self:tend()
    if not self.is_calm and system.gettime() - self.begun > due then
      self:strike(can)
      due = system.gettime() - self.begun + self.random:between(2, 12) / 10
    end
    system.sleep(0.03)
  end
end

local UNFINISHED = [[select count(*) as n from pawl.instance
  where status not in ('completed', 'failed', 'cancelled')]]

local INSTANCES = "select count(*) as n from pawl.instance"

-- A message, a lease, what is ready, an event that its sender has not brought
-- to all: somebody still has work.
local BUSY = [[select (select count(*) from pawl.agenda)
  + (select count(*) from pawl.message)
  + (select count(*) from pawl.event where not posted) as n]]

local UNPUBLISHED = [[select count(*) as n from pawl.outbox
  where published_at is null]]

-- What is past its time, and what a purge or an archive has left.
local UNSWEPT = [[select
  (select count(*) from pawl.instance
    where workflow in ('t.gone', 't.put', 't.mark', 't.lost')
       or purge_at is not null)
  + (select count(*) from pawl.archive where rest) as n]]

local RECORDED = [[select (select count(*) from pawl.history)
  + (select count(*) from pawl.outbox where published_at is not null) as n]]

--- How many wait for ever.
function Wave:forever()
  local n = 0
  for _, cases in ipairs { self.earlier, self.cases } do
    for _, case in ipairs(cases) do
      if case.expect.status[1] == "waiting" then n = n + 1 end
    end
  end
  return n
end

--- All of a crew end when they are told to.
function Wave:dismiss(what, crew)
  if not crew:dismiss("TERM", 20) then
    self:find("a %s did not end within 20 s of SIGTERM", what)
  end
end

--- No more faults: two workers, and clients that get their answers.
function Wave:calm()
  self.is_safe = true
  self:dismiss("worker", self.workers)
  self:dismiss("relay", self.relays)
  self:dismiss("pruner", self.pruners)
  for _, one in ipairs(self.is_calm and {} or self.clients:alive()) do
    self.clients:tell(one, "KILL")
  end
  if self.store.calm then self.store.calm() end
  self:note "no more faults"
  while #self.workers.members > 2 do table.remove(self.workers.members) end
end

function Wave:clients_done()
  for _, one in ipairs(self.clients.members) do
    if not one.is_done then return false end
  end
  return true
end

-- A machine that is full takes its time: it is a fault when nothing moves, or
-- when there is no end of it.
local LONGEST = 10 -- times the patience

function Wave:rest()
  local last = system.gettime()
  local stop = last + LONGEST * self.patience
  local waiting, moved = self:forever(), -1
  local is_done
  repeat
    self:tend()
    is_done = self:clients_done() and self:number(UNFINISHED) <= waiting
      and self:number(BUSY) == 0 and self:number(UNPUBLISHED) == 0
      and self:number(UNSWEPT) == 0
    local now = self:number(RECORDED)
    if now ~= moved then moved, last = now, system.gettime() end
    if not is_done then system.sleep(0.3) end
  until is_done or system.gettime() > math.min(last + self.patience, stop)
  self:note(is_done and "at rest" or "not at rest in time")
  if not is_done then
    self:find("not at rest, and nothing recorded for %.0f s: %d unfinished, "
      .. "%d of them as they should; clients are%s done",
      system.gettime() - last, self:number(UNFINISHED), waiting,
      self:clients_done() and "" or " not")
  end
  self.clients:dismiss("KILL", 10)
  self:dismiss("worker", self.workers)
  self:dismiss("relay", self.relays)
  self:dismiss("pruner", self.pruners)
end

---- what it comes to ----------------------------------------------------------

function Wave:check(cases, only)
  for _, text in ipairs(checker.check(self.store.sql, cases,
    self.store.dialect, self.store.heard, only)) do
    self:find("%s", text)
  end
end

--- The checker reads tables: what is archived comes back for that.
function Wave:bring_back(cases)
  local engine <close> = assert(pawl.open(self.store.url))
  for _, case in ipairs(cases) do
    if case.place == "archive" then
      local ok, err = engine:unarchive(case.id, { by = "torture" })
      if not ok then self:find("%s: %s", case.key, tostring(err)) end
      case.place = "hot"
    end
  end
end

--- What waits to be archived by whoever prunes is, in each wave on this store.
local function is_archived(cases)
  for _, case in ipairs(cases) do
    if case.workflow == "t.put" then case.place = "archive" end
  end
end

--- What came, behind what came of earlier waves on this store. A line that was
--- not written to its end is that of a client which was killed.
function Wave:hear(kind, name)
  local file <close> = io.open(self.folder.dir .. "/" .. name)
  for line in file and file:lines "L" or function() end do
    if line:sub(-1) == "\n" then
      table.insert(self.store.heard[kind], line)
    end
  end
end

function Wave:hear_all()
  self:hear("received", "received")
  for no = 1, self.n_clients do self:hear("answers", "answers" .. no) end
end

--- Runs it.
---@param earlier torture.Case[]?  of earlier waves on this store; this wave's
---                                are added
---@return string[] found
function Wave:run(earlier)
  self.earlier = earlier or {}
  self:load()
  local before = self:number(INSTANCES)
  if before == 0 then
    self.store.heard = { received = {}, answers = {} }
  end
  local cuts_before = self.store.cuts and self.store.cuts() or 0
  self.begun = system.gettime()
  self:write_plans()
  self.workers = Crew.new(self.n_workers, function(no)
    return self:start_worker(no)
  end, function(one, code) self:ended("worker", one, code) end)
  self.relays = Crew.new(2, function() return self:start_relay() end,
    function(one, code) self:ended("relay", one, code) end)
  self.pruners = Crew.new(1, function() return self:start_pruner() end,
    function(one, code) self:pruner_ended(one, code) end)
  self.clients = Crew.new(self.n_clients, function(no)
    return self:start_client(no)
  end, function(one, code) return self:client_ended(one, code) end)
  self:suffer()
  self:calm()
  self:rest()
  self:hear_all()
  local cases = table.move(self.cases, 1, #self.cases, #self.earlier + 1,
    self.earlier)
  is_archived(cases)
  self:check(cases, "each is where it was put")
  self:bring_back(cases)
  self:check(cases)
  self.count.instances = self:number(INSTANCES) - before
  self.count.cut = self.count.cut
    + (self.store.cuts and self.store.cuts() or 0) - cuts_before
  return self.found
end

--- What happened, for people.
function Wave:story() return table.concat(self.log, "\n") .. "\n" end

--- Keeps what is needed to look into it: the story, the clients' plans and
--- journals, all cases, the store.
---@param dir string  a folder that is made
function Wave:keep(dir)
  shell.output { "mkdir", "-p", dir }
  shell.output { "cp", "-r", self.folder.dir .. "/.", dir }
  local file <close> = assert(io.open(dir .. "/story", "w"))
  file:write(self:story())
  self.store.keep(dir)
end

return Wave
