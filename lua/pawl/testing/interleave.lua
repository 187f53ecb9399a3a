--- Several parties on one store, in every order in which they can take turns:
--- each has an engine of its own, as programs and workers have. They change
--- between calls, around handlers, at what is done outside, and behind commits:
--- never while one has a transaction open, for which the others would wait.
---
--- Each party is a coroutine. One whose engine is inside a call cannot be left
--- by it, as there is C in between, so who goes on then runs inside that call,
--- and it is gone on with before anything else below it: what two parties do
--- within one call each is nested, one in the other, never crosswise.
---
--- The orders are tried with the fewest changes first, that nothing but chance
--- makes: what needs one is found before what needs two, and told as such.
local caller = require "pawl.testing.caller"
local option = require "pawl.option"
local scenarios = require "pawl.testing.scenario"

local interleave = {}

local MAX <const> = 200       -- orders, where nothing is said
local CHANGES <const> = 2     -- that nothing but chance makes, likewise
local TURNS <const> = 2000    -- of a run; more is taken for no end
local HANGS <const> = 10      -- seconds that a party goes on by itself

---@class pawl.InterleaveOptions: pawl.TestEngineOptions
---@field parties pawl.ScenarioPart[]|table<string, pawl.ScenarioPart>
---@field setup? fun(engine: pawl.TestEngine, clock: pawl.Clock): any
---@field check? pawl.ScenarioPart
---@field max? integer       orders at most; 200
---@field changes? integer   by chance, in one order; 2
---@field schedule? string   that order alone, as a failure tells it
---@field ignore? string[]   variables that need not be the same
---@field store? string|fun(): string, table?  as for crash_everywhere
---@field hangs? number      seconds after which a party is said to hang; 10

---- a party ------------------------------------------------------------------

-- status: "ready"   it can go on
--         "within"  its engine is inside a call, below others
--         "waits"   for what others do
--         "done"
---@class pawl.Party
---@field name string
---@field turns pawl.Turns  of all
---@field status string
---@field busy integer   it cannot be left: a transaction is open
local Party = {}
Party.__index = Party

--- Notes what it does, for the story.
function Party:tell(text)
  local turns = self.turns
  if not turns.is_on then return end
  local last = turns.story[#turns.story]
  if last and last.party == self and last.text == text then
    last.times = last.times + 1
  else
    turns.story[#turns.story + 1] = { party = self, text = text, times = 1 }
  end
end

--- Others may go on here, while its engine is inside a call.
function Party:inside()
  local turns = self.turns
  if turns.current ~= self or self.busy > 0 or turns.hangs then return end
  self.status = "within"
  turns.stack[#turns.stack + 1] = self
  turns:go_until(self)
  turns.stack[#turns.stack] = nil
  self.status = "ready"
end

--- Others may go on here.
function Party:turn()
  local turns = self.turns
  if turns.current ~= self or self.busy > 0 then return end
  if turns.hangs then error(turns.hangs, 0) end
  if coroutine.running() == self.co and coroutine.isyieldable() then
    coroutine.yield()
  else
    self:inside()
  end
end

--- A commit was done, or is to be: the engine never dies.
function Party:commit(is_done)
  local turns = self.turns
  if is_done and turns.is_on then
    turns.commits = turns.commits + 1
    self.busy = self.asked
    self:tell "commits"
    self:inside()
  end
  return false
end

local HANDLERS <const> = { run = true, undo = true }

--- A handler begins, or has ended. One that has a transaction cannot be left,
--- until that is committed.
function Party:point(when, code, node, field)
  local turns = self.turns
  if not HANDLERS[field] or turns.current ~= self then return end
  local name = field == "run" and node or ("`undo` of %s"):format(node)
  if when == "before" then
    local known = self.state.flows[code].nodes[node]
    self.busy = self.asked + (known.transactional and 1 or 0)
    self:tell(("begins %s of %s"):format(name, code))
    turns:watch_over(coroutine.running())
  else
    self:tell(("ends %s"):format(name))
  end
  self:inside()
end

--- Something is to be done outside, by whoever is at it, as a double is of all
--- engines; what is covered by a key counts once.
function Party:effect(done)
  local turns = self.turns
  local by = turns.current
  if not by then return end
  by:inside()
  by:tell(("does '%s'"):format(done.name))
  turns.neffects = turns.neffects + 1
  turns.effects[("%s\0%s"):format(done.name, done.covered and done.key
    or turns.neffects)] = done.name
end

-- Calls that change nothing and see nothing of the others.
local ALONE <const> = { now = true, next_due = true, close = true }

--- Its program calls the engine.
function Party:call(name, what)
  if ALONE[name] or self.turns.current ~= self then return end
  self:turn()
  self:tell(name .. scenarios.shown(what))
end

--- It waits: true, others went on meanwhile; false, nobody else can.
function Party:wait(what)
  local turns = self.turns
  if turns.current ~= self or not coroutine.isyieldable() then
    return false
  end
  self.status, self.seen, self.is_last = "waits", turns.commits, false
  self:tell("waits: " .. what)
  coroutine.yield()
  return not self.is_last
end

--- A transaction of its program's: nobody else goes on until it is over.
function Party:transaction(state, fn)
  self:call "transaction"
  self.asked, self.busy = self.asked + 1, self.busy + 1
  local _ <close> = setmetatable({}, { __close = function()
    self.asked, self.busy = self.asked - 1, self.busy - 1
  end })
  return state.engine:transaction(fn)
end

--- Runs what is due, a round at a time, until nothing is due at this time.
function Party:run(state, options)
  if options and next(options) or not self.turns.is_on then
    return state.engine:run(options)
  end
  local totals = { claimed = 0, steps = 0, commits = 0, committed = 0,
    lost = 0, ended = 0 }
  while true do
    self:turn()
    self.busy = self.asked
    local stats, err = state.engine:tick(0)
    if not stats then return nil, err end
    for name, sum in pairs(totals) do totals[name] = sum + stats[name] end
    local due = stats.next_due
    if not due or due > state.engine:now()
      or stats.claimed + stats.steps + stats.committed == 0 then
      return totals
    end
  end
end

---- a run --------------------------------------------------------------------

---@class pawl.Turns
---@field parties pawl.Party[]
---@field prefix integer[]  who goes on, as long as it lasts
---@field taken table[]     { enabled =, chosen =, current = } of each choice
---@field stack pawl.Party[]  whose engines are inside a call, innermost last
---@field commits integer
local Turns = {}
Turns.__index = Turns

--- Those that can go on.
local function enabled(self)
  local list, top = {}, self.stack[#self.stack]
  for i, party in ipairs(self.parties) do
    if party == top or party.status == "ready"
      or party.status == "waits" and party.seen ~= self.commits then
      list[#list + 1] = i
    end
  end
  if #list > 0 then return list end
  for i, party in ipairs(self.parties) do
    if party.status == "waits" then
      party.is_last = true
      return { i }
    end
  end
  return list
end

local function holds(list, value)
  for _, one in ipairs(list) do if one == value then return true end end
  return false
end

--- Who goes on where nobody has said: whoever was at it, or who was left for
--- another, or the first.
local function by_itself(self, list)
  local top = self.stack[#self.stack]
  for _, party in ipairs { self.current or false, top or false } do
    if party and holds(list, party.at) then return party.at end
  end
  return list[1]
end

--- Who goes on; nil: all are done.
local function choose(self)
  local list = enabled(self)
  if #list < 2 then return self.parties[list[1]] end
  local current = self.current and holds(list, self.current.at)
    and self.current.at or nil
  local chosen = self.prefix[#self.taken + 1]
  if chosen and not holds(list, chosen) then
    self.is_other, chosen = true, nil
  end
  chosen = chosen or by_itself(self, list)
  self.taken[#self.taken + 1] = { enabled = list, chosen = chosen,
    current = current }
  if #self.taken > TURNS and not self.hangs then
    self.hangs = ("after %d turns there is no end of it"):format(TURNS)
  end
  return self.parties[chosen]
end

--- What runs by itself for so long is taken for hung.
function Turns:watch_over(co)
  if debug.gethook(co) then return end
  debug.sethook(co, function()
    if not self.is_on or os.clock() - self.since < self.given.hangs then
      return
    end
    self.hangs = ("it hangs: it has gone on for %g s without a turn"):format(
      self.given.hangs)
    self.failure = self.failure -- a handler's error would be nothing but that
      or ("%s fails: %s"):format(self.current.name, self.hangs)
    error(self.hangs, 0)
  end, "", 1000000)
end

--- Lets a party go on, until its next turn.
local function go(self, party)
  self.current, self.since = party, os.clock()
  if party.status == "waits" then party.status = "ready" end
  local ok, err = coroutine.resume(party.co)
  if coroutine.status(party.co) == "dead" then
    party.status = "done"
    if not ok then
      err = tostring(err)
      self.failure = self.failure or ("%s fails: %s"):format(party.name, err)
      party:tell("fails: " .. err:match "^[^\n]*")
    end
  end
end

--- Lets whoever is chosen go on, until it is that party's turn; nil: until all
--- are done.
function Turns:go_until(party)
  while true do
    local chosen = choose(self)
    if chosen == party then break end
    go(self, chosen)
  end
  self.current, self.since = party, os.clock()
end

--- All of them run until none has anything to do.
local function settle(parties)
  repeat
    local done = 0
    for _, party in ipairs(parties) do
      local totals = assert(party.state.engine:run())
      done = done + totals.committed
    end
  until done == 0
end

--- An engine for each party on one store. Their doubles are the same.
local function open_all(given, shared)
  local testing, engines = require "pawl.testing",
    require "pawl.testing.engine"
  local clock, list = testing.clock(), {}
  for i, name in ipairs(given.names) do
    local party = setmetatable({ name = name, at = i, status = "ready",
      busy = 0, asked = 0, turns = {} }, Party)
    local options = {}
    for key, value in pairs(shared) do options[key] = value end
    options.clock = clock
    options.seed = (given.engine.seed or 1) + (i - 1) * 1000
    options.commit = function(is_done) return party:commit(is_done) end
    party.engine = testing.engine(options)
    party.state = engines.state(party.engine, "interleave")
    list[i] = party
  end
  settle(list) -- who is new in a store has some things to write there
  local first, mates = list[1].state, {}
  for i = 2, #list do
    mates[#mates + 1] = list[i].engine
    list[i].state.doubles = first.doubles
    list[i].state.running = first.running
  end
  first.mates = mates
  return list, clock
end

--- The clock as one party has it: moving it runs that party's engine alone.
local function clock_of(party, clock)
  local own = { [party.engine] = true }
  return setmetatable({}, {
    __index = function(_, name)
      return name == "engines" and own or clock[name]
    end,
    __newindex = function(_, name, value) clock[name] = value end,
    __call = function() return clock:now() end,
  })
end

local function close_all(parties)
  for _, party in ipairs(parties) do party.engine:close() end
end

local function begin(self, given, clock, value)
  for i, party in ipairs(self.parties) do
    local fn, own = given.fns[i], clock_of(party, clock)
    party.turns = self
    party.state.watcher = party
    party.co = coroutine.create(function()
      fn(party.engine, own, value)
    end)
    self:watch_over(party.co)
  end
end

--- What was done outside is a part of what came of it.
local function add_effects(self)
  local counts = {}
  for _, name in pairs(self.effects) do
    counts[name] = (counts[name] or 0) + 1
  end
  for _, name in ipairs(require "pawl.keys"(counts)) do
    table.insert(self.outcomes, ("'%s' is done %d times"):format(name,
      counts[name]))
  end
end

--- What is not as it should be; nil: all is.
local function judged(self, given, clock, value)
  if self.failure then return self.failure end
  settle(self.parties)
  local engine = self.parties[1].engine
  if given.check then
    local ok, told, why = xpcall(given.check, tostring, engine, clock, value)
    if not ok then return "check: " .. tostring(told) end
    return told == false and "check: " .. tostring(why or "it says so") or nil
  end
  self.outcomes = scenarios.outcomes(engine, given.ignore)
  add_effects(self)
end

--- Plays one order: as the prefix says, and then by itself.
---@param given table
---@param prefix integer[]
---@return pawl.Turns
local function play(given, prefix)
  local options, file = scenarios.fresh(given, {})
  local _ <close> = file
  local parties, clock = open_all(given, options)
  local _ <close> = setmetatable({}, { __close = function()
    close_all(parties)
  end })
  local self = setmetatable({ given = given, parties = parties, story = {},
    prefix = prefix, taken = {}, stack = {}, effects = {}, commits = 0,
    neffects = 0 }, Turns)
  local value = given.setup and given.setup(parties[1].engine, clock)
  begin(self, given, clock, value)
  self.is_on = true
  while true do
    local party = choose(self)
    if not party then break end
    go(self, party)
  end
  self.is_on, self.current = false, nil
  self.what = judged(self, given, clock, value)
  return self
end

---- all of them --------------------------------------------------------------

--- Does going on with `chosen` there interrupt who could have gone on?
local function cost(turn, chosen)
  return turn.current and chosen ~= turn.current and 1 or 0
end

--- Adds each order that differs from this one in one choice behind its prefix,
--- to those with as many changes.
local function branch(run, orders, limit)
  local spent, chosen = 0, {}
  for i, turn in ipairs(run.taken) do
    for _, other in ipairs(turn.enabled) do
      local changes = spent + cost(turn, other)
      if i > #run.prefix and other ~= turn.chosen and changes <= limit then
        local prefix = table.move(chosen, 1, i - 1, 1, {})
        prefix[i] = other
        table.insert(orders[changes], prefix)
      end
    end
    chosen[i] = turn.chosen
    spent = spent + cost(turn, turn.chosen)
  end
  return spent
end

--- What comes of it where nobody is interrupted is right; of others, what comes
--- of one of those.
local function compare(run, rights, spent)
  if not run.outcomes then return nil end
  local text = table.concat(run.outcomes, "\n    ")
  if spent == 0 then
    rights[text] = true
    return nil
  end
  if rights[text] then return nil end
  return ("what comes of it comes of no order of the parties one after the "
    .. "other:\n    %s\n  but:\n    %s"):format(text,
    table.concat(require "pawl.keys"(rights), "\n  or:\n    "))
end

--- As people write it again: "1*4,2,1".
local function written(given, prefix)
  local out, i = {}, 1
  while i <= #prefix do
    local n = 1
    while prefix[i + n] == prefix[i] do n = n + 1 end
    out[#out + 1] = given.names[prefix[i]] .. (n > 1 and "*" .. n or "")
    i = i + n
  end
  return table.concat(out, ",")
end

--- Everything that was done, a column for each party.
local function told(run)
  local lines, wide = {}, 0
  for _, party in ipairs(run.parties) do wide = math.max(wide, #party.name) end
  for _, one in ipairs(run.story) do
    lines[#lines + 1] = ("  %s%s%s%s"):format(one.party.name,
      (" "):rep(wide - #one.party.name + 2 + 4 * (one.party.at - 1)), one.text,
      one.times > 1 and (" (%d times)"):format(one.times) or "")
  end
  return table.concat(lines, "\n")
end

local function report(given, run, what, spent, tried)
  return ("interleave: %s\nafter %d order%s, with %d change%s by chance:\n%s\n"
    .. "this order again: schedule = %q"):format(what, tried,
    tried == 1 and "" or "s", spent, spent == 1 and "" or "s", told(run),
    written(given, run.prefix))
end

--- Raises where no order makes a difference.
local function check_active(run)
  if #run.story > 0 or run.what then return end
  caller.fail("interleave: the parties do nothing with their engines, so that "
    .. "there is nothing to take turns at")
end

--- Plays the orders, those with the fewest changes first.
local function explore(given, rights, limit)
  local orders, tried, points = { [0] = { {} } }, 0, 0
  for changes = 1, limit do orders[changes] = {} end
  for changes = 0, limit do
    local i = 1
    while orders[changes][i] and tried < given.max do
      local run = play(given, orders[changes][i])
      orders[changes][i] = false
      if tried == 0 then check_active(run) end
      tried, i = tried + 1, i + 1
      if not run.is_other then -- else it went another way than before
        local spent = branch(run, orders, limit)
        local what = run.what or compare(run, rights, spent)
        if what then error(report(given, run, what, spent, tried), 0) end
        points = math.max(points, #run.taken)
      end
    end
    if orders[changes][i] then
      return { orders = tried, turns = points, all = false }
    end
  end
  return { orders = tried, turns = points, all = true }
end

--- Plays one order, as it was told.
local function play_one(given, rights)
  local run = play(given, given.schedule)
  if run.is_other or #run.taken < #given.schedule then
    error("interleave: it does not go as 'schedule' says: who is to go on "
      .. "there cannot, or nobody has to be chosen any more", 0)
  end
  local spent = branch(run, {}, -1)
  local what = run.what or compare(run, rights, spent)
  if what then error(report(given, run, what, spent, 1), 0) end
  return { orders = 1, turns = #run.taken, all = false, story = told(run) }
end

---- options ------------------------------------------------------------------

local function parties(value)
  if type(value) ~= "table" then return nil end
  local n = 0
  for name, fn in pairs(value) do
    if not option.check.callable(fn) then return nil end
    if type(name) == "string" and not name:find "^%a[%w_]*$" then return nil end
    n = n + 1
  end
  return n >= 2 and (#value == n or #value == 0) and value or nil
end

local function seconds(value)
  return type(value) == "number" and value > 0 and value or nil
end

local function whole(value)
  return math.type(value) == "integer" and value >= 0 and value or nil
end

local SHAPE <const> = {
  parties = { parties, wants = "a list of functions, or functions by names, "
    .. "two at least" },
  setup = { "callable" }, check = { "callable" }, store = scenarios.STORE,
  max = { "count" }, changes = { whole, wants = "an integer, 0 or more" },
  schedule = { "string" }, ignore = scenarios.NAMES,
  hangs = { seconds, wants = "seconds" },
}

local function number_of(given, name)
  for i, known in ipairs(given.names) do if known == name then return i end end
  caller.fail("interleave: 'schedule' names '%s' (%s)", name,
    require("pawl.nearest").hint(name, given.names))
end

local function read_schedule(given, text)
  local list = {}
  for part in text:gmatch "[^,%s]+" do
    local name, n = part:match "^([%w_]+)%*?(%d*)$"
    if not name then
      caller.fail("interleave: '%s' in 'schedule' is neither a party nor one "
        .. "so often, like 2*3", part)
    end
    local at = number_of(given, name)
    for _ = 1, tonumber(n) or 1 do list[#list + 1] = at end
  end
  return list
end

local function read(options)
  local given = scenarios.split("interleave", SHAPE, options)
  if not given.parties then
    caller.fail("interleave: it needs 'parties', a list of two functions or "
      .. "more")
  end
  given.names, given.fns = {}, {}
  local names = #given.parties > 0 and {} or require "pawl.keys"(given.parties)
  for i = 1, #given.parties do names[i] = i end
  for i, name in ipairs(names) do
    given.names[i], given.fns[i] = tostring(name), given.parties[name]
  end
  given.max, given.changes = given.max or MAX, given.changes or CHANGES
  given.ignore, given.hangs = given.ignore or {}, given.hangs or HANGS
  if given.schedule then
    given.schedule = read_schedule(given, given.schedule)
  end
  return given
end

--- Has the parties take turns in every order, up to a bound. Raises the first
--- order of which something comes that should not.
---@param options pawl.InterleaveOptions
---@return { orders: integer, turns: integer, all: boolean }
function interleave.run(options)
  local given = read(options)
  local rights = {}
  if not given.schedule then return explore(given, rights, given.changes) end
  if not given.check then explore(given, rights, 0) end
  return play_one(given, rights)
end

return interleave
