--- Processes beside that of the bench, which all begin at one time.
local mono = require("pawl.core").mono
local system = require "system_calls"

local others = {}

local OPENING = 60 -- seconds that one may take

---@class bench.Other
---@field pipe file*
---@field out string  where it writes what it has to tell

--- One that ends without a word, for whatever reason, leaves this one.
local function command(before, out, ...)
  local to = system.line(out)
  -- moved there: a file that is empty yet is one who has begun
  return ("%s %s || { echo failed >%s.new; mv %s.new %s; exit 1; }"):format(
    before, system.line("lua5.4", ...), to, to, to)
end

local function wait_until_open(one)
  local deadline = mono() + OPENING
  repeat
    system.sleep(0.002)
  until system.read(one.out) or mono() > deadline
  assert(system.read(one.out) == "", "a process beside has not begun")
end

--- Starts one for each job: { job, word }, see bench/other.lua. They wait.
---@param jobs string[][]
---@param before? string  words of a command that runs each
---@return bench.Other[]
function others.start(bench, store, jobs, before)
  local started = {}
  for i, job in ipairs(jobs) do
    local out = ("%s/other.%d"):format(bench.dir, i)
    os.remove(out)
    started[i] = { out = out, pipe = assert(io.popen(command(before or "", out,
      bench.here .. "/other.lua", bench.build, store.url, out,
      table.unpack(job)), "w")) }
  end
  for _, one in ipairs(started) do wait_until_open(one) end
  return started
end

---@param started bench.Other[]
function others.go(started)
  for _, one in ipairs(started) do one.pipe:write "go\n" one.pipe:flush() end
end

--- How many have ended, also by failing: finish tells.
local function over(started)
  local n = 0
  for _, one in ipairs(started) do
    if system.read(one.out) ~= "" then n = n + 1 end
  end
  return n
end

---@param started bench.Other[]
function others.all_at_work(started) return over(started) == 0 end

---@param started bench.Other[]
function others.all_over(started) return over(started) == #started end

--- Waits for all of them.
---@param started bench.Other[]
---@return table<string, number>[] told
function others.finish(started)
  local told = {}
  for i, one in ipairs(started) do
    assert(one.pipe:close(), "a process beside has failed")
    told[i] = {}
    for name, value in assert(system.read(one.out)):gmatch "(%S+) (%S+)" do
      told[i][name] = tonumber(value)
    end
  end
  return told
end

return others
