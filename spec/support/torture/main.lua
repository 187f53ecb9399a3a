--- ./dev torture: wave after wave, for as long as is wanted, on each store.
---
---     lua main.lua [SECONDS] [sqlite|postgres|pooler|power]...
---
--- `power` is no wave: a SQLite file is written once, and opened in states that
--- a power cut may have left (power.lua), with other seeds as long as it lasts.
--- PAWL_SEED=N begins with the wave of that seed; PAWL_KEEP names the folder
--- for what was found.
local power = require "spec.support.torture.power"
local process = require "spec.support.process"
local stores = require "spec.support.torture.stores"
local system = require "system"
local Wave = require "spec.support.torture.wave"

local cases_a_wave, span = 250, 35
local waves_a_store = 6 -- then a new one: the old has grown
local states_a_case = 200
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
    elseif stores[word] or word == "power" then
      names[#names + 1] = word
    else
      io.stderr:write("no store \"", word,
        "\": sqlite, postgres, pooler, power\n")
      os.exit(2)
    end
  end
  if #names == 0 then names = { "sqlite", "postgres", "pooler", "power" } end
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

--- Each kind of durability in turn, until the time is up. Returns how many runs
--- found something: their seeds are in what is said.
local function cut_power(seconds, seed)
  local until_, states, found, i = system.gettime() + seconds, 0, 0, 0
  repeat
    local case = power.cases[i % #power.cases + 1]
    math.randomseed(seed)
    case.states = states_a_case
    local ok, why = pcall(power.run, case, seed)
    states = states + states_a_case
    if not ok then
      found = found + 1
      say("FOUND %s: %s", power.title(case), why)
    end
    i, seed = i + 1, seed + 1
    say("power, %s, seed %d: %d states, %d runs found something",
      power.title(case), seed - 1, states, found)
  until system.gettime() > until_ or found == most_finds
  return found
end

local function torture_store(name, seconds, seed)
  if name == "power" then return cut_power(seconds, seed) end
  local store = stores[name]()
  store.start()
  local ok, result = xpcall(torture, debug.traceback, store, seconds, seed)
  process.stop_all()
  store.stop()
  if not ok then error(result, 0) end
  return result
end

io.stdout:setvbuf "line"
local seconds, names = read_arguments()
local seed = tonumber(os.getenv "PAWL_SEED") or os.time() % 1000000
local found = 0
for _, name in ipairs(names) do
  found = found + torture_store(name, seconds, seed)
end
say(found == 0 and "nothing was found" or "%d waves found something", found)
os.exit(found == 0 and 0 or 1, true)
