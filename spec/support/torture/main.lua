--- ./dev torture: wave after wave, for as long as is wanted, on each store.
---
---     lua main.lua [SECONDS] [sqlite|postgres|pooler]...
---
--- PAWL_SEED=N begins with the wave of that seed; PAWL_KEEP names the folder
--- for what was found.
local process = require "spec.support.process"
local stores = require "spec.support.torture.stores"
local system = require "system"
local Wave = require "spec.support.torture.wave"

local cases_a_wave, span = 250, 35
local waves_a_store = 6 -- then a new one: the old has grown
local most_finds = 5 -- waves; there is enough to look at then

local keep_in = os.getenv "PAWL_KEEP" or "build/torture"

local function say(format, ...)
  print(os.date "!%H:%M:%S " .. format:format(...))
end

local function read_arguments()
  local seconds, names = 3600, {}
  for _, word in ipairs(arg) do
    if tonumber(word) then
      seconds = tonumber(word)
    elseif stores[word] then
      names[#names + 1] = word
    else
      io.stderr:write("no store \"", word, "\": sqlite, postgres, pooler\n")
      os.exit(2)
    end
  end
  if #names == 0 then names = { "sqlite", "postgres", "pooler" } end
  return seconds, names
end

--- Waves until the time is up. Returns how many of them found something.
local function torture(store, seconds, seed)
  local until_, cases, waves, found = system.gettime() + seconds, nil, 0, 0
  local total = { instances = 0, kill = 0, cut = 0, restart = 0 }
  repeat
    if waves % waves_a_store == 0 or not cases then
      store.forget()
      store.renew()
      cases = {}
    end
    local wave = Wave.new(store, { seed = seed, n = cases_a_wave,
      span = math.max(2, math.min(span, until_ - system.gettime())) })
    local ok, why = xpcall(wave.run, debug.traceback, wave, cases)
    waves = waves + 1
    if not ok then wave:find("the torture itself: %s", why) end
    for name, n in pairs(wave.count) do total[name] = total[name] + n end
    if #wave.found > 0 then
      found, cases = found + 1, nil
      local dir = ("%s/%s-%d"):format(keep_in, store.name, seed)
      for _, text in ipairs(wave.found) do say("FOUND %s", text) end
      wave:keep(dir)
      say("kept in %s", dir)
    end
    say("%s, seed %d: %d instances, %d kills, %d cuts, %d restarts, "
      .. "%d waves found something", store.name, seed, total.instances,
      total.kill, total.cut, total.restart, found)
    seed = seed + 1
    if not ok then break end -- whoever still runs is not ours to guess
  until system.gettime() > until_ or found == most_finds
  return found
end

io.stdout:setvbuf "line"
local seconds, names = read_arguments()
local seed = tonumber(os.getenv "PAWL_SEED") or os.time() % 1000000
local found = 0
for _, name in ipairs(names) do
  local store = stores[name]()
  store.start()
  local ok, result = xpcall(torture, debug.traceback, store, seconds, seed)
  process.stop_all()
  store.stop()
  if not ok then error(result, 0) end
  found = found + result
end
say(found == 0 and "nothing was found" or "%d waves found something", found)
os.exit(found == 0 and 0 or 1, true)
