--- Processes of one kind, workers or clients: so many, each started again
--- when it has died. What one wrote before it died is looked at once.
local system = require "system"

---@class torture.Crew
---@field members table[]  { no, child?, due?, told?, is_ready?, is_done?,
---                         stopped_until? }
local Crew = {}
Crew.__index = Crew

---@param n integer
---@param start fun(no: integer): spec.Process
---@param on_end fun(member: table, code: integer): boolean?  true: no more
function Crew.new(n, start, on_end)
  local self = setmetatable({ members = {}, start = start, on_end = on_end,
    started = 0 }, Crew)
  for no = 1, n do self.members[no] = { no = no } end
  return self
end

--- Starts whom it lacks, wakes who has slept, buries who has died.
---@param pause fun(): number  seconds until a dead one is started again
function Crew:tend(pause)
  local now = system.gettime()
  for _, one in ipairs(self.members) do
    if one.stopped_until and now > one.stopped_until then self:wake(one) end
    local code = one.child and one.child:code()
    if code then
      local is_done = self.on_end(one, code)
      one.child, one.told, one.stopped_until = nil, nil, nil
      one.is_done, one.due = is_done, now + pause()
    elseif not one.child and not one.is_done and now > (one.due or 0) then
      one.child = self.start(one.no)
      self.started = self.started + 1
    end
  end
end

--- Those that run, and may be hit.
function Crew:alive()
  local alive = {}
  for _, one in ipairs(self.members) do
    if one.child and not one.told then alive[#alive + 1] = one end
  end
  return alive
end

-- Has it come so far that it catches SIGTERM? As the system knows it.
local function catches_term(pid)
  local file <close> = io.open(("/proc/%d/status"):format(pid))
  local caught = file and file:read "a":match "SigCgt:%s*(%x+)"
  return caught and tonumber(caught, 16) & (1 << 14) ~= 0
end

--- Tells one to end, by a signal; it may take a while.
function Crew:tell(one, signal)
  one.told = signal
  one.is_ready = catches_term(one.child.pid)
  one.child:kill(signal)
  if one.stopped_until then self:wake(one) end
end

--- Stops one for a while: whatever it holds may pass on.
function Crew.stop(_, one, seconds)
  one.stopped_until = system.gettime() + seconds
  one.child:kill "STOP"
end

function Crew.wake(_, one)
  one.stopped_until = nil
  one.child:kill "CONT"
end

--- Ends all, and waits for it; false when one does not.
function Crew:dismiss(signal, timeout)
  for _, one in ipairs(self.members) do
    if one.child and not one.told then self:tell(one, signal) end
    if one.stopped_until then self:wake(one) end
  end
  local all_ended = true
  for _, one in ipairs(self.members) do
    if one.child then
      local code = one.child:wait(timeout)
      if code then
        self.on_end(one, code)
      else
        one.child:kill "KILL"
        all_ended = false
      end
      one.child, one.told = nil, nil
    end
  end
  return all_ended
end

return Crew
