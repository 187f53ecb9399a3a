--- A worker with nothing to do but wait, for latency.lua:
---
---   idle.lua BUILD URL N
---
--- Serves bench.idle (one step) and bench.signal (a wait, then a step), in
--- the way `pawl worker` does, but one round a tick, so that it can tell when
--- a commit was answered, not when it has looked for more. Prints "ready"; then
--- for each instance that ends, when its step was done and when that was on
--- disk; ends after N.
local build, url, n = table.unpack(arg)
package.path = ("%s/?.lua;%s/lua/?.lua;%s/lua/?/init.lua"):format(
  arg[0]:match "^(.*)/", build, build)
package.cpath = build .. "/lua/?.so"

local flows = require "idle_flows"
local pawl = require "pawl"
local mono = require("pawl.core").mono

local done_at
local function run() done_at = mono() end

local engine <close> = assert(pawl.open(url))
assert(engine:load(flows.step(run)))
assert(engine:load(flows.signal(run)))
engine:wait(0.001) -- from now on it is told of what comes
print "ready"
io.flush()

local ended = 0
while ended < tonumber(n) do
  local stats = assert(engine:tick(0))
  if stats.ended > 0 then
    ended = ended + stats.ended
    print(("%.6f %.6f"):format(done_at, mono()))
    io.flush()
  elseif stats.claimed == 0 then
    engine:wait(1)
  end
end
