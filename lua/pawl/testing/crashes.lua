--- Specs under crashes: `pawl test --crash`. Each `it` of busted's runs as it
--- is, and then again for each place at which one of the engines that it makes
--- can die, or some of them. Its assertions have to hold each time.
---
--- What is in memory dies with its engine, so that engines of test.engine are
--- on a file then, from the first run on, and their leases are short. An engine
--- whose state is somewhere else, of which nobody knows how it was before, is
--- not run again; that is told.
local around = require "pawl.testing.busted"
local crash = require "pawl.testing.crash"
local keys = require "pawl.keys"
local Random = require "pawl.testing.random"
local scenarios = require "pawl.testing.scenario"

local crashes = {}

---@class pawl.SpecRun
---@field watcher pawl.Crash
---@field files table[]   to be closed behind it
---@field engines integer  that can die
---@field why? string     it cannot be run again

---@type pawl.SpecRun?
local current -- while an `it` runs

---@class pawl.SpecCrashes
---@field places? integer  of a spec, at most
---@field at? integer      this one alone
---@field seed? integer

---- engines ------------------------------------------------------------------

local function why_not(state, crash_option)
  if crash_option == false then return "it says crash = false" end
  if state.url == ":memory:" then return nil end
  return "its engine is on " .. require("pawl.sys").store_name(state.url)
end

--- An engine is to be opened; `state` is what is known of it, see
--- pawl.testing.engine.
---@param state table
---@param given pawl.TestEngineOptions
function crashes.opening(state, given)
  local run = current
  -- one that has a `commit` is a tool's that has it die by itself
  if not run or state.is_apart or given.commit then return end
  local why = why_not(state, given.crash)
  run.why = run.why or why
  if why then return end
  local options, file = scenarios.fresh({ engine = state.options }, {
    lease = scenarios.LEASE_US / 1e6,
    commit = function(is_done) return run.watcher:commit(is_done) end })
  state.url, options.store = options.store, nil
  state.options, state.watcher = options, run.watcher
  run.files[#run.files + 1] = file
  run.engines = run.engines + 1
end

--- It replays what was recorded, where nobody died.
function crashes.replays()
  if current then current.why = current.why or "it replays a recording" end
end

---- one spec -----------------------------------------------------------------

--- Runs it; its engine dies at that place, if any.
---@return pawl.SpecRun
local function run_once(executor, element, at)
  local run = { watcher = crash.watcher(at), files = {}, engines = 0 }
  local _ <close> = setmetatable({}, { __close = function()
    current = nil
    for _, file in ipairs(run.files) do local _ <close> = file end
  end })
  current = run
  executor(element)
  return run
end

--- So many of n, drawn by lot, in their order.
local function drawn(n, given)
  local left, list = {}, {}
  for at = 1, n do left[at] = at end
  local random = Random.new(given.seed or 1)
  for _ = 1, math.min(n, given.places) do
    list[#list + 1] = table.remove(left, random:upto(#left))
  end
  table.sort(list)
  return list
end

local function chosen(n, given)
  if not given.at then return drawn(n, given) end
  return given.at <= n and { given.at } or {}
end

local function full_name(busted, element)
  local names, file = {}, nil
  while element do
    if element.descriptor == "file" then file = element.name end
    if not file and element.name then table.insert(names, 1, element.name) end
    element = busted.context.parent(element)
  end
  return table.concat(names, " "), file
end

--- As a shell takes it; busted takes a filter as a pattern of Lua's.
local function again(file, name, at)
  local pattern = name:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0")
  return ("pawl test %s --filter='%s' --crash-at=%d"):format(file or "",
    pattern:gsub("'", "'\\''"), at)
end

--- Runs it again, once for each place that is tried.
local function run_again(told, busted, executor, element, places)
  local name, shown, file = element.name, full_name(busted, element)
  local only = told.given.at
  if only and only > #places then
    told.left[("%s: it has %d places, and no %d"):format(shown, #places,
      only)] = true
  end
  for _, at in ipairs(chosen(#places, told.given)) do
    if busted.skipAll then break end
    element.name = ("%s, dying at %d, %s"):format(name, at, places[at])
    local run = run_once(executor, element, at)
    if not run.watcher.died then
      told.left[("%s: it did not come by %d, %s, again"):format(shown, at,
        places[at])] = true
    end
    told.places = told.places + 1
    if told.status[element] ~= "success" then
      told.failed[#told.failed + 1] = again(file, shown, at)
    end
  end
  element.name = name
end

--- In place of what runs an `it`.
local function replaying(told, busted, executor)
  return function(element)
    local run = run_once(executor, element, nil)
    if told.status[element] ~= "success" then return end
    local why = run.why or run.engines == 0
      and "it makes no engine that could die" or #run.watcher.places == 0
      and "nothing runs in its engine"
    if why then
      told.left[("%s: %s"):format(full_name(busted, element), why)] = true
      return
    end
    told.specs = told.specs + 1
    run_again(told, busted, executor, element, run.watcher.places)
  end
end

---- all of them --------------------------------------------------------------

local function plural(n, what)
  return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

--- What was done, in lines.
local function lines_of(told)
  local lines = { ("crashes: %s died at %s in all"):format(
    plural(told.specs, "spec"), plural(told.places, "place")) }
  local left = keys(told.left)
  if #left > 0 then lines[2] = "not under crashes:" end
  for _, line in ipairs(left) do lines[#lines + 1] = "  " .. line end
  if #told.failed > 0 then lines[#lines + 1] = "to play one again:" end
  for _, line in ipairs(told.failed) do lines[#lines + 1] = "  " .. line end
  return lines
end

--- Has busted's `it` run under crashes, and tells at the end what was done; of
--- a busted that is to be made yet.
---@param given pawl.SpecCrashes
---@param tell fun(line: string)
function crashes.watch(given, tell)
  local told = { given = given, status = {}, left = {}, failed = {},
    specs = 0, places = 0 }
  around.wrap(function(descriptor, executor, core)
    return descriptor == "it" and replaying(told, core, executor) or nil
  end, function(core)
    core.subscribe({ "test", "end" }, function(element, _, status)
      told.status[element] = status
      return nil, true
    end)
    core.subscribe({ "exit" }, function()
      for _, line in ipairs(lines_of(told)) do tell(line) end
      return nil, true
    end)
  end)
end

return crashes
