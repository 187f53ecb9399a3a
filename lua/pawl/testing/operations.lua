--- What is done to an instance, in order, so that its rows come as they came:
---
---   wake   the clock is moved to a time, and what is due there runs
---   act    somebody does something to it, a row or a task's log says what
---
--- Between two of them all that can run runs. So whatever ran later than it
--- could is told apart by the operation in which it began:
---
---   a handler that ended in a later one waited for that (`waits`)
---   what was asked for while a handler ran is asked for before that ends
---   letters that were taken together are sent together (`joined`)
---   what a person did changes the row, and whoever was to go on by it went on
---     later, perhaps: then nothing runs behind it
local Operations = {}
Operations.__index = Operations

---@class pawl.Operation
---@field kind "wake"|"act"
---@field us integer
---@field n integer       its place
---@field row? table      of history, that tells of an act
---@field deed? table     of a task's log, that does
---@field runs? boolean   what can run behind it does
---@field joined? boolean nothing runs between it and the next one
---@field early? boolean  it is done before the time of its row
---@field is_held? boolean a handler ends then
---@field is_late? boolean letters are taken then that had come before

-- Acts behind which a worker runs what there is: it takes their letters, or
-- sees to what handlers leave behind. All others are taken at once.
local BY_WORKER <const> = { received = true, task = true, failed = true,
  rescheduled = true, cancelled = true, killed = true }

-- Acts whose letters wait for a worker.
local TAKEN_LATE <const> = { received = true, task = true, failed = true,
  rescheduled = true }

local SOON <const> = 1000000 -- microseconds

-- Behind these nothing stands any more where it stood.
local UPSETS <const> = { suspended = true, cancelled = true, killed = true,
  resumed = true, retried = true, restarted = true, moved = true }

---@param runs table<string, table[]>  rows of handlers, by the names of steps
function Operations.new(runs)
  return setmetatable({ list = {}, runs = runs, handled = {}, undoes = {},
    at_row = {}, of_token = {},
    base = nil, ready = {}, entries = {}, began = {}, newest = 0 }, Operations)
end

function Operations:last() return self.list[#self.list] end

function Operations:insert(op, n)
  table.insert(self.list, n, op)
  for i = n, #self.list do self.list[i].n = i end
  return op
end

--- The clock is moved there. Who acts at that time has been before.
function Operations:wake(us)
  local last = self:last()
  if not last or last.us < us then
    return self:insert({ kind = "wake", us = us, runs = true }, #self.list + 1)
  end
  last.runs = true
  return last
end

---- where a row belongs -------------------------------------------------------

local function later(a, b) return not a and b or b and b.n > a.n and b or a end

--- The operation that led to what ended by this row.
local function led_by(self, row)
  local by = later(self.base, self.of_token[row.token or 0])
  for _, seq in ipairs(type(row.previous) == "table" and row.previous or {}) do
    by = later(by, self.at_row[seq])
  end
  return by
end

--- The operation in which what ended by this row began.
function Operations:begun(row)
  local begun = later(led_by(self, row), self.began[row])
  if self.undoes[row] and self.last_row then -- one behind the other
    begun = later(begun, self.at_row[self.last_row.seq])
  end
  while begun and not begun.runs and begun.n < #self.list do
    begun = self.list[begun.n + 1]
  end
  return begun
end

--- Notes a row, once what came of it is in the list.
function Operations:note(row)
  local op = self:last()
  self.at_row[row.seq], self.of_token[row.token or 0] = op, op
  self.newest = math.max(self.newest, row.completed_at)
  if UPSETS[row.type] then self.ready = {} end
  for name in (row.path or ""):gmatch "[%w_]+" do
    if self.runs[name] then self.ready[name] = row end
  end
  self.last_row = row
end

--- It shows that something ran; where nothing has been said to, it did later.
function Operations:ran(us)
  local last = self:last()
  if last and not last.runs then self:wake(us) end
end

---- handlers ------------------------------------------------------------------

--- Did anything else happen between its begin and its end?
local function was_overtaken(self, row, begun)
  local began, before = row.started_at, self.last_run
  if begun and begun.n < #self.list then return true end
  if not began then return false end
  -- of one time: the other began behind it, and was the first to end
  return self.newest > began or before and before.token ~= row.token
    and row.completed_at > began and (before.started_at or 0) >= began
end

--- A handler's row.
---@param row table
---@param entry table  of what is replayed
---@param may_wait boolean
function Operations:handler(row, entry, may_wait)
  self.ready[row.node] = nil
  self:ran(row.started_at or row.completed_at)
  may_wait = may_wait and not entry.under_way
  if may_wait and was_overtaken(self, row, self:begun(row)) then
    entry.waits = true
    self:wake(row.completed_at)
  end
  self.entries[row] = may_wait and entry or nil
  self.last_run = row
  table.insert(self.handled, row)
  self:note(row)
end

---- acts ----------------------------------------------------------------------

--- Had the step begun by then that a row led to?
local function has_begun(self, name, by)
  for _, run in ipairs(self.runs[name]) do
    if run.seq > by.seq then
      local began = run.started_at or run.completed_at
      return began < by.completed_at
        or began == by.completed_at and run.completed_at > began
    end
  end
  return false
end

--- The newest row behind which a step could have begun, and has not.
local function newest_ready(self, by)
  local newest
  for name, row in pairs(self.ready) do
    local is_newer = not newest or row.seq > newest.seq
    if is_newer and not has_begun(self, name, by) then
      newest = row
    end
  end
  return newest
end

--- The handler that a request may have waited for: no other begins meanwhile.
local function was_waiting(self, row)
  local last = self.last_row
  if not TAKEN_LATE[row.type] and self.entries[last or false]
    and row.completed_at - last.completed_at < SOON then
    return last
  end
end

--- It ends in an operation of its own, behind that in which it began.
local function hold(self, row, entry)
  local op = self.at_row[row.seq]
  if entry.waits then return op end
  entry.waits, entry.at = true, row.completed_at
  local n = (op and op.n or 0) + 1
  while self.list[n] and self.list[n].is_held
    and self.list[n].us < row.completed_at do n = n + 1 end
  local next = self.list[n]
  if next and next.is_held and next.us == row.completed_at then
    op = next
  else
    op = self:insert({ kind = "wake", us = row.completed_at, runs = true,
      is_held = true }, n)
  end
  self.at_row[row.seq], self.of_token[row.token or 0] = op, op
  return op
end

--- The handler ends in an operation of its own, and so do those that ran beside
--- it, as else the clock would be moved on by them.
local function held_until(self, row, entry)
  local op = hold(self, row, entry)
  for i = #self.handled, 1, -1 do
    local other = self.handled[i]
    if other.completed_at <= row.started_at then break end
    if other ~= row and self.entries[other] then
      hold(self, other, self.entries[other])
    end
  end
  return op
end

--- Were both letters taken in one decision? Of one time they are; but where no
--- time passes, what one led to may have been answered by the other.
local function was_taken_with(self, last, row, before)
  if before == last.row then
    return (row.visit or 0) <= (before.visit or 0)
  end
  local by = led_by(self, row)
  return TAKEN_LATE[row.type] and TAKEN_LATE[last.row.type]
    and by ~= nil and by.n < last.n
end

--- Those at the end of the list that were taken in one decision with a row:
--- they had come before. They are taken out of it.
local function taken_before(self, row)
  local out = {}
  while true do
    local last = self:last()
    if not (last and last.row and TAKEN_LATE[last.row.type]
      and last.us == row.completed_at) then
      return out
    end
    table.insert(out, 1, table.remove(self.list))
  end
end

--- What had come in time and was taken late: in front of what came later.
local function put_in_time(self, op)
  local group = taken_before(self, op.row)
  group[#group + 1] = op
  for _, one in ipairs(group) do
    local n = #self.list + 1
    while n > 1 and self.list[n - 1].us > op.us do n = n - 1 end
    one.us, one.runs, one.joined = op.us, false, nil
    self:insert(one, n)
  end
  local taken = self:wake(op.row.completed_at)
  for _, one in ipairs(group) do
    self.at_row[one.row.seq] = taken
    self.of_token[one.row.token or 0] = taken
  end
  taken.is_late = true
end

--- Somebody did something.
---@param row table
---@param sent? integer  when, where it was taken late
function Operations:act(row, sent)
  local op = { kind = "act", us = sent or row.completed_at, row = row,
    runs = BY_WORKER[row.type] or false }
  if sent then
    put_in_time(self, op)
    return self:note(row)
  end
  local before, last = newest_ready(self, row), self:last()
  before = before or was_waiting(self, row)
  local entry = before and self.entries[before]
  if entry and before.completed_at > (before.started_at or math.huge) then
    op.early, op.runs = true, false
    self:insert(op, held_until(self, before, entry).n)
  else
    if last and last.row == self.last_row and last.us == op.us
      and was_taken_with(self, last, row, before) then
      last.joined = true
    end
    local by = led_by(self, row)
    local is_with = last and last.is_late and last.us == op.us
      and TAKEN_LATE[row.type] and by ~= nil and by.n < last.n
    if is_with then op.runs = false end
    self:insert(op, is_with and last.n or #self.list + 1)
  end
  if UPSETS[row.type] then self.base = self:last() end
  self:note(row)
end

--- Somebody did something that no history tells.
function Operations:deed(us, deed)
  self:insert({ kind = "act", us = us, deed = deed, runs = false },
    #self.list + 1)
end

return Operations
