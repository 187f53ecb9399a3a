--- One of several workers that drain a store together, for bench.lua:
---
---   drain.lua BUILD URL FILE OUT
---
--- Opens the store, loads FILE and makes OUT; then waits for a line on its
--- standard input, runs what is due, and writes "BEGAN ENDED STEPS" to OUT.
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
local began = mono()
local done = assert(engine:run {})
write(("%.6f %.6f %d"):format(began, mono(), done.steps))
