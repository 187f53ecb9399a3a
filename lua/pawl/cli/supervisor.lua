--- Several worker processes under one: `pawl worker --processes N`.
--
-- The supervisor opens no store and runs no handler. It starts this program
-- again for each worker, passes on what they write, line by line, and starts
-- another when one dies. The first one goes ahead: what keeps it from its
-- work - a wrong store, a broken file - is said once, not N times.
local core = require "pawl.core"
local format = require "pawl.cli.format"
local service = require "pawl.cli.service"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"

local supervisor = {}

local shortest_pause, longest_pause = 0.1, 30 -- seconds, before a restart
local healthy = 30 -- seconds at work that make earlier deaths forgotten
local patience = 5 -- deaths before work, in a row, with nobody at work
local longest_line = 1024 * 1024 -- bytes; then it is cut

--- Seconds before a worker that has died so often is started again.
---@param deaths integer  in a row, at least 1
function supervisor.pause(deaths)
  return math.min(shortest_pause * 2 ^ (deaths - 1), longest_pause)
end

---- what they write ---------------------------------------------------------

local function write_out(line) term.say(line) end
local function write_err(line) term.warn(line) end

--- Passes on whole lines; at the end what is left, too.
local function pass(stream, bytes)
  local text = stream.rest .. (bytes or "")
  local at = 1
  while true do
    local stop = text:find("\n", at, true)
    if not stop then break end
    stream.write(text:sub(at, stop - 1))
    at = stop + 1
  end
  stream.rest = text:sub(at)
  if stream.rest ~= "" and (not bytes or #stream.rest > longest_line) then
    stream.write(stream.rest)
    stream.rest = ""
  end
end

--- Reads what is there. False: nothing more will come.
local function drain(stream)
  while true do
    local bytes = sys.read(stream.fd)
    if bytes == false then return true end
    if not bytes then return false end
    pass(stream, bytes)
  end
end

local function close(stream)
  if not stream.fd then return end
  sys.close(stream.fd)
  stream.fd = nil
end

---- events ------------------------------------------------------------------

local function note(group, event, text, fields)
  if group.quiet and event == "started" then return end
  local time = core.time_format(math.floor(sys.time() * 1e6))
  if group.json then
    fields.event, fields.message, fields.time = event, text, time
    term.say(format.json(fields))
  else
    term.say(time:sub(1, 19), "Z ", text)
  end
end

---- one worker --------------------------------------------------------------

local function start(group, place)
  local pid, out, err, ready = sys.spawn()
  if not pid then
    error({ code = "internal", message = "cannot start a worker process: "
      .. out, hint = "is there a limit on processes or open files?" }, 0)
  end
  place.child = {
    pid = pid, began = core.mono(),
    out = { fd = out, rest = "", write = write_out },
    err = { fd = err, rest = "", write = write_err },
    ready = { fd = ready, rest = "", write = function() end },
  }
  group.alive = group.alive + 1
end

--- Its last words, which may have been held back by nothing but our pace.
local function bury(group, place)
  local child = place.child
  for _, stream in ipairs { child.out, child.err } do
    if stream.fd then drain(stream) end
    pass(stream)
    close(stream)
  end
  close(child.ready)
  place.child = nil
  group.alive = group.alive - 1
end

local function has_begun(group, child)
  child.at_work = true
  if not group.begun then service.ready() end
  group.begun, group.stillborn = true, 0
end

--- It has said that it is at work, or nothing and is at its end.
local function hear_ready(group, child)
  local fd = child.ready.fd
  if not fd then return end
  if sys.read(fd) then has_begun(group, child) end
  close(child.ready)
end

local store_gone = { [3] = true, [5] = true } -- exit codes

--- Did what ended a worker before its work end it for good? A store that
--- others of this group have worked on, and that is gone, is waited for.
local function is_hopeless(group, code, signal)
  if signal then return group.stillborn >= patience end
  return group.until_idle or not (group.begun and store_gone[code])
end

--- A worker has ended by itself. Answers with the exit code when that is the
--- end of all.
local function mourn(group, place, child, code, signal)
  -- what it could not do, another could not either
  if group.until_idle and not signal and (code == 0 or child.at_work) then
    place.done = true
    if code ~= 0 then group.failed = group.failed or code end
    return
  end
  if not child.at_work then
    group.stillborn = group.stillborn + 1
    if group.alive == 0 and is_hopeless(group, code, signal) then
      return code ~= 0 and code or 1
    end
  elseif core.mono() - child.began >= healthy then
    place.deaths = 0
  end
  place.deaths = place.deaths + 1
  local pause = supervisor.pause(place.deaths)
  place.due = core.mono() + pause
  note(group, "died", ("worker %d %s %d; another is started in %.1f s")
    :format(child.pid, signal and "was killed by signal" or "has ended with",
    signal or code, pause), { pid = child.pid, code = code, signal = signal })
end

---- all of them -------------------------------------------------------------

local function place_of(group, pid)
  for _, place in ipairs(group.places) do
    if place.child and place.child.pid == pid then return place end
  end
end

local function reap(group)
  while true do
    local pid, code, signal = sys.reap()
    if not pid then return end
    local place = place_of(group, pid)
    if place then
      local child = place.child
      hear_ready(group, child)
      bury(group, place)
      if group.stopping then
        if code ~= 0 then group.code = group.code or code end
      else
        group.code = mourn(group, place, child, code, signal)
        if group.code then group.stopping = true end
      end
    end
  end
end

local function stop_all(group, now)
  if not group.stopping then service.stopping() end
  group.stopping = true
  for _, place in ipairs(group.places) do
    if place.child then sys.stop(place.child.pid, now) end
  end
end

--- The first signal asks the workers to stop, the second ends them at once.
local function obey(group)
  local number, times = sys.caught()
  if not number then return end
  if not group.told then
    group.told = true
    stop_all(group)
  elseif times > 1 and not group.killed then
    group.killed = 128 + number
    stop_all(group, true)
  end
end

--- Starts whoever is due. Until one is at work there is only one.
local function start_due(group)
  for i, place in ipairs(group.places) do
    if not place.child and not place.done and place.due <= core.mono()
      and (group.begun or i == 1) then
      start(group, place)
    end
  end
end

local function streams(group)
  local fds, by_fd = {}, {}
  for _, place in ipairs(group.places) do
    local child = place.child
    for _, stream in ipairs(child and { child.out, child.err, child.ready }
      or {}) do
      if stream.fd then
        fds[#fds + 1] = stream.fd
        by_fd[stream.fd] = { stream = stream, child = child }
      end
    end
  end
  return fds, by_fd
end

local function listen(group)
  local fds, by_fd = streams(group)
  for _, fd in ipairs(sys.poll(fds, math.min(0.2, service.pace() or 1))) do
    local from = by_fd[fd]
    if from.stream == from.child.ready then
      hear_ready(group, from.child)
    elseif not drain(from.stream) then
      close(from.stream)
    end
  end
end

local function all_done(group)
  for _, place in ipairs(group.places) do
    if not place.done then return false end
  end
  return true
end

local function watch(group)
  repeat
    obey(group)
    if not group.stopping then start_due(group) end
    listen(group)
    reap(group)
    service.alive()
  until group.alive == 0 and (group.stopping or all_done(group))
end

--- Nobody reads us any more, or the like: the workers end first. What they
--- still say is lost.
local function end_all(group)
  stop_all(group)
  local function drop() end
  for _, place in ipairs(group.places) do
    local child = place.child
    if child then child.out.write, child.err.write = drop, drop end
  end
  while group.alive > 0 do
    obey(group)
    listen(group)
    reap(group)
  end
end

---@param opts table  what the command line said
---@param n integer   how many
---@return integer exit code
function supervisor.run(opts, n)
  local group = { places = {}, alive = 0, stillborn = 0, json = opts.json,
    quiet = opts.quiet, until_idle = opts.until_idle }
  for i = 1, n do group.places[i] = { deaths = 0, due = 0 } end
  sys.catch_signals(true, require("pawl.cli.store").stopping)
  note(group, "started", ("%d workers on %s, under %d"):format(n,
    require("pawl.cli.store").name(opts), sys.pid()),
    { pid = sys.pid(), processes = n })
  local ok, why = pcall(watch, group)
  if not ok then
    end_all(group)
    error(why, 0)
  end
  return group.killed or group.code or group.failed or 0
end

return supervisor
