--- A worker that drains a store, alone or with others, for throughput.lua and
--- counts.lua:
---
---   drain.lua BUILD URL FILE OUT
---
--- Opens the store, loads FILE and makes OUT; then waits for a line on its
--- standard input, runs what is due, and writes to OUT, a name and a number a
--- line: began, ended, steps, trips, statements, transactions.
local build, url, file, out = table.unpack(arg)
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

local engine <close> = assert(pawl.open(url))
assert(engine:load(file))
write ""
io.read "l"
local before = engine:count()
local began = mono()
local done = assert(engine:run {})
local text = ("began %.6f\nended %.6f\nsteps %d\n"):format(began, mono(),
  done.steps)
for name, number in pairs(engine:count()) do
  text = text .. ("%s %d\n"):format(name, number - before[name])
end
write(text)
