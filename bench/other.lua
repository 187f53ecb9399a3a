--- A process beside that of the bench, for others.lua:
---
---   other.lua BUILD URL OUT JOB [WORD]
---
---   drain FILE     runs what is due, of that workflow
---   prune RETAIN   takes away what ended so long ago, and was published
---   relay RATE     hands over all that nobody has published, so many a second
---
--- Opens the store and makes OUT; then waits for a line on its standard input,
--- does its job, and writes to OUT, a name and a number a line: began, ended,
--- trips, statements, transactions, and what its job tells.
local build, url, out, job, word = table.unpack(arg)
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua"):format(build, build)
package.cpath = build .. "/lua/?.so"

local pawl = require "pawl"
local mono = require("pawl.core").mono

local function write(text)
  local to <close> = assert(io.open(out .. ".new", "w"))
  to:write(text)
  to:close()
  assert(os.rename(out .. ".new", out))
end

local jobs = {}

function jobs.drain(engine) return { steps = assert(engine:run {}).steps } end

function jobs.prune(engine)
  local done = assert(engine:prune { retain = word, published = word })
  return { instances = done.instances.removed, longest_us = done.longest_us,
    rested_us = done.rested_us }
end

local function accept() return true end

function jobs.relay(engine)
  local done = assert(engine.outbox:relay { publish = accept, how = "json",
    rate = tonumber(word) })
  return { events = done.published }
end

local engine <close> = assert(pawl.open(url))
if job == "drain" then assert(engine:load(word)) end
write ""
if not io.read "l" then os.exit(1) end -- the bench is gone
local before = engine:count()
local began = mono()
local told = jobs[job](engine)
told.began, told.ended = began, mono()
for name, number in pairs(engine:count()) do
  told[name] = number - before[name]
end
local lines = {}
for name, number in pairs(told) do
  lines[#lines + 1] = ("%s %s\n"):format(name, number)
end
write(table.concat(lines))
