--- What runs what is due until it is stopped: pawl worker, and pawl dev, which
--- has a way of its own to load files and looks at them between ticks.
local core = require "pawl.core"
local format = require "pawl.cli.format"
local later = require "pawl.later"
local options = require "pawl.cli.options"
local pause_after = require "pawl.cli.pause".after
local progress = require "pawl.cli.progress"
local screen = later "pawl.cli.screen" -- where there is a terminal
local service = require "pawl.cli.service"
local store = require "pawl.cli.store"
local supervisor = require "pawl.cli.supervisor"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local workflow_files = require "pawl.cli.workflow_files"

local working = {}

local longest_wait = 1 -- seconds; then the store is looked at again, and a
-- sign of life is given: more often where one is waited for
local function round(worker)
  return math.min(worker.how.pace or longest_wait, service.pace() or 1)
end
local patience = 6 -- failures in a row that end one that is to end when idle

---- events ------------------------------------------------------------------

--- The store's time, reckoned on from its last answer once it is closed;
--- before it is open, this machine's.
local function seconds_of(worker)
  local seconds = sys.time()
  if worker.engine then
    seconds = worker.engine:now()
    worker.ahead = seconds - core.mono()
  elseif worker.ahead then
    seconds = worker.ahead + core.mono()
  end
  return seconds
end

local function stamp(seconds)
  return core.time_format(math.floor(seconds * 1e6))
end

--- What a handler says may hold bytes that JSON cannot.
local function cleaned(fields)
  local out = {}
  for key, value in pairs(fields) do
    local stray = type(value) == "string" and not utf8.len(value)
    out[key] = stray and term.clean(value) or value
  end
  return out
end

--- Raising inside a callback would be lost: what breaks is kept for the loop.
local function guarded(worker, fn)
  if worker.broken then return end
  local ok, err = pcall(fn)
  if not ok then worker.broken = err end
end

--- In a pipe or a file, or as JSON.
---@param plain string  what it is for people
---@param fields table  what it is for programs
local function emit(worker, plain, fields)
  local time = stamp(seconds_of(worker))
  guarded(worker, function()
    if worker.json then
      fields.time = time
      term.say(format.json(cleaned(fields)))
    else
      term.say(time:sub(1, 19), "Z ", plain)
    end
  end)
end

local function on_trace(worker, t)
  store.note_handler(t)
  if worker.screen then
    return guarded(worker, function()
      worker.screen:event(seconds_of(worker), t)
    end)
  end
  if not t.outcome or worker.quiet then return end
  emit(worker, ("%s %s %s"):format(t.workflow, t.instance,
    progress.line(t, t.at)), {
    event = t.kind, instance = t.instance, workflow = t.workflow,
    node = t.node, attempt = t.attempt, outcome = t.outcome,
    ended = t.ended, elapsed = t.elapsed, detail = t.detail, due = t.due,
  })
end

--- Words for people: a line of the screen, or of a log. `whole`: though it
--- takes several rows, as what to do about it may stand at its end.
local function tell(worker, text, fields, color, whole)
  if not worker.screen then return emit(worker, text, fields) end
  guarded(worker, function()
    worker.screen:line(seconds_of(worker), text, color, whole)
  end)
end

local log_colors = { warn = "yellow", error = "red" }

local function on_log(worker, level, message, fields)
  if level == "debug" or worker.quiet and level == "info" then return end
  local told
  guarded(worker, function()
    told = worker.screen and worker.screen:log(seconds_of(worker), level,
      message, fields)
  end)
  if told then return end
  local text = next(fields) and " " .. format.json(fields) or ""
  tell(worker, ("%s: %s%s"):format(level, term.clean(message),
    term.clean(store.point(worker.opts, text))), {
    event = "log", level = level, message = message, fields = fields,
  }, log_colors[level])
end

--- A line of its own; an event with these fields where programs read.
function working.note(worker, event, text, fields)
  if worker.quiet and event ~= "error" then return end
  fields = fields or {}
  fields.event, fields.message = event, text
  tell(worker, text, fields, log_colors[event], event == "error")
end
local note = working.note

--- What to do about an error that was noted.
function working.hint(worker, err)
  if worker.json then return end
  store.tell_hint(worker.opts, err, function(text)
    tell(worker, text, {}, nil, true)
  end)
end

---- trouble -----------------------------------------------------------------

--- Once the store has been at work, what says that it is gone - dropped,
--- deleted, locked to us, an older one in its place - is for its operator to
--- put right, and waited for. At the first open it is a mistyped option.
local gone = { notfound = true, auth = true, not_a_store = true,
  store_old = true, store_new = true }

local function is_waited_for(worker, err)
  if not worker.at_work and store.is_settled(worker.opts, err) then
    return false
  end
  return store.is_transient(err) or worker.at_work and type(err) == "table"
    and gone[err.code]
end

--- Waits a little longer after each failure in a row; signals end it.
local function back_off(worker, err)
  if not is_waited_for(worker, err) then error(err, 0) end
  worker.failures = worker.failures + 1
  if worker.until_idle and worker.failures > patience then error(err, 0) end
  local pause = pause_after(worker.failures)
  note(worker, "error", ("%s: %s; trying again in %.1f s"):format(err.code,
    term.clean(err.message), pause), { code = err.code })
  local until_ = core.mono() + pause
  while not sys.caught() and not worker.broken and core.mono() < until_ do
    service.alive() -- another process would meet the same store
    sys.sleep(math.min(0.2, round(worker), math.max(until_ - core.mono(), 0)))
  end
end

--- Calls until it works. nil after a signal.
local function persist(worker, fn)
  while not sys.caught() and not worker.broken do
    local result, err = fn()
    if result ~= nil then
      worker.failures = 0
      return result
    end
    if err.code ~= "interrupted" then back_off(worker, err) end
  end
end

---- loading -----------------------------------------------------------------

--- Who runs a file's version, when that is not the file's: a version that a
--- program has built is not in the store.
local function who_runs(worker, stored)
  if worker.own_code then return "it is left to others" end
  if stored and stored.inline then
    return "it is left to the programs that build it"
  end
  return "the stored one runs"
end

--- Other contents than the version that is stored, and must not change now:
--- no reason to leave all others unserved.
local function refuse(worker, engine, path, err)
  local graph = engine:check(path) or {}
  local version = math.type(graph.version) == "integer" and graph.version
  local stored = graph.code and engine.workflows:get(graph.code,
    version or nil)
  note(worker, "error", ("%s is not loaded: %s; %s"):format(path, err.message,
    who_runs(worker, stored)), { code = err.code, file = path,
    hint = err.hint, workflow = graph.code,
    version = stored and stored.version or version or nil })
  working.hint(worker, err)
end

local function load_one(worker, engine, path)
  local info = persist(worker, function()
    local loaded, err = engine:load(path)
    if not loaded and err.code == "exists" then
      refuse(worker, engine, path, err)
      return false
    end
    return loaded, err
  end)
  if not info then return info end
  note(worker, "loaded", ("loaded %s %d from %s"):format(info.workflow,
    info.version, path), { workflow = info.workflow,
    version = info.version, file = path, sha256 = info.sha256 })
  return true
end

--- One version in two files: which of them would win is nobody's choice. Seen
--- before anything is stored.
local function check_twice(engine, files)
  local seen = {}
  for _, path in ipairs(#files > 1 and files or {}) do
    local graph = store.try(engine:check(path))
    local key = ("%s %s"):format(graph.code, graph.version)
    local file <close> = assert(io.open(path, "rb"))
    local text = file:read "a"
    local before = seen[key]
    if before and before.text ~= text then
      error({ code = "definition",
        message = ("workflow \"%s\" version %s is in two files that differ: "
        .. "%s and %s"):format(graph.code, graph.version, before.path, path),
        hint = graph.version == "auto" and "leave one of them out"
        or ("give one of them version = %d, or leave one out"):format(
        graph.version + 1) }, 0)
    end
    seen[key] = before or { path = path, text = text }
  end
end

--- Where there is no store yet: none is made for one that is wrong.
local function check_all(worker, engine, files)
  check_twice(engine, files)
  worker.is_checked = true
  if #files ~= 1 then return true end
  return engine:check(files[1])
end

local function load_all(worker, engine, files)
  if not worker.is_checked then check_twice(engine, files) end
  for _, path in ipairs(files) do
    if load_one(worker, engine, path) == nil then return end -- a signal
  end
end

---- the loop ----------------------------------------------------------------

local function moves(stats)
  return stats.claimed > 0 or stats.committed > 0 or stats.held > 0
end

--- Nothing is due, or what is due is for others to run; and nobody holds what
--- may be due next, this worker and those of its group.
local function is_idle(worker, engine, stats, now)
  worker.stuck = moves(stats) and 0 or worker.stuck + 1
  if moves(stats) or stats.waiting > 0 then return false end
  if stats.next_due and stats.next_due <= now and worker.stuck < 20 then
    return false
  end
  return persist(worker, function() return engine:busy() end) == false
end

local function show(worker, stats)
  if not worker.screen then return end
  guarded(worker, function()
    worker.screen:count(worker.steps, worker.ended, stats.waiting)
    worker.screen:draw()
  end)
end

local function loop(worker, engine)
  while not sys.caught() and not worker.broken do
    local stats = persist(worker, function()
      return engine:tick(round(worker))
    end)
    if not stats then return end
    service.alive()
    if worker.how.between then worker.how.between(worker, engine) end
    worker.steps = worker.steps + stats.steps
    worker.ended = worker.ended + stats.ended
    show(worker, stats)
    local now = engine:now()
    if worker.until_idle and is_idle(worker, engine, stats, now) then return end
    local pause = stats.next_due and stats.next_due - now or longest_wait
    -- what is due later is not waited for: is there anything now?
    if worker.until_idle and moves(stats) and stats.waiting == 0 then
      pause = 0
    end
    if stats.claimed + stats.steps == 0 then pause = math.max(pause, 0.05) end
    if pause > 0 and not sys.caught() then
      -- not again and again: it is the next tick that connects anew
      local ok, err = engine:wait(math.min(pause, round(worker)))
      if not ok and err.code ~= "interrupted" then back_off(worker, err) end
    end
  end
end

local function open(worker, files, opts)
  local extra = {
    trace = function(t) on_trace(worker, t) end,
    log = function(...) on_log(worker, ...) end,
    group = opts.group, prefixes = opts.prefix,
    lease = opts.lease, batch = opts.batch, concurrency = opts.concurrency,
    recoveries = opts.recoveries, retain = opts.retain,
    stored_code = opts.stored_code, unknown = opts.unknown,
    heartbeat_thread = true,
  }
  return persist(worker, function()
    local ok, engine, err = pcall(store.open_for, opts, function(aside)
      return check_all(worker, aside, files)
    end, extra)
    if ok then return engine, err end
    if type(engine) ~= "table" then error(engine, 0) end
    return nil, engine
  end)
end

local function check_words(opts)
  local function one_of(name, value, ...)
    for _, word in ipairs { ... } do if value == word then return end end
    if value then
      options.usage("--%s takes %s, got '%s'", nil, name,
        table.concat({ ... }, " or "), value)
    end
  end
  one_of("stored-code", opts.stored_code, "own", "any")
  one_of("unknown", opts.unknown, "defer", "fail")
end

local most_listed = 1000

--- Idle is one's own group alone: how many of others are on their way, by
--- group. nil: none, or the store does not say.
local function elsewhere(engine, own)
  local rows = engine:list { status = { "created", "running" },
    limit = most_listed }
  local by, any = {}, false
  for _, row in ipairs(rows or {}) do
    if row.group ~= own then
      by[row.group], any = (by[row.group] or 0) + 1, true
    end
  end
  return any and by or nil
end

local function tell_elsewhere(by)
  local parts = {}
  for group, n in pairs(by or {}) do
    parts[#parts + 1] = ("%d of group %s"):format(n, term.clean(group))
  end
  table.sort(parts)
  return #parts > 0 and "; not this worker's to run: "
    .. table.concat(parts, ", ") or ""
end

local function work(worker, engine, files, opts)
  note(worker, "started", ("worker %d on %s%s"):format(sys.pid(),
    engine:is_new() and "the new store " or "",
    store.name(opts) .. (worker.screen and os.date ", times in %Z" or "")),
    { pid = sys.pid() })
  worker.how.load(worker, engine, files)
  worker.at_work = true
  sys.ready()
  service.ready()
  loop(worker, engine)
  service.stopping()
  if worker.until_idle and not sys.caught() and not worker.broken then
    worker.elsewhere = elsewhere(engine, opts.group or "default")
  end
end

local function serve(worker, files, opts)
  local engine = open(worker, files, opts)
  if not engine then return end
  worker.engine = engine
  store.guarded(engine, function() work(worker, engine, files, opts) end)
  worker.engine = nil -- closed: the last lines have this machine's time
end

--- As many as cores where writers do not wait for each other.
local function processes(opts)
  local url = opts.store or ""
  if opts.processes and opts.processes > 1 and url == ":memory:" then
    options.usage("--processes: a store in memory is one process's",
      "--store FILE keeps it in a file")
  end
  if opts.processes then return opts.processes end
  return url:find "^postgres" and url:find ":" and sys.cores() or 1
end

---@class pawl.cli.How
---@field load? fun(worker: table, engine: pawl.Engine, files: string[])
---@field between? fun(worker: table, engine: pawl.Engine)  behind each tick
---@field pace? number   seconds from one of those to the next, at most
---@field files? fun(args: string[]): string[]
---@field alone? boolean  one process

---@param how? pawl.cli.How
function working.run(opts, args, how)
  how = how or { load = load_all }
  local is_child = sys.supervised()
  if is_child then service.leave() end
  check_words(opts)
  local n = (is_child or how.alone) and 1 or processes(opts)
  if n > 1 then return supervisor.run(opts, n) end
  local worker = { json = opts.json, quiet = opts.quiet, failures = 0,
    steps = 0, ended = 0, stuck = 0, own_code = opts.stored_code == "own",
    until_idle = opts.until_idle, opts = opts, how = how }
  local files = how.files and how.files(args) or workflow_files(args)
  for _, path in ipairs(how.files and {} or files) do
    store.check_source(opts, path)
  end
  if opts.json then
    term.divert()
  elseif term.tty and not opts.quiet then
    worker.screen = screen().open(sys.time())
  else
    term.separate()
  end
  -- who supervises has said it
  sys.catch_signals(false, not is_child and store.stopping or "")
  local ok, err = pcall(serve, worker, files, opts)
  if worker.screen then worker.screen:close() end
  if not ok then error(err, 0) end
  if worker.broken then error(worker.broken, 0) end
  note(worker, "stopped", ("stopped: %d steps, %d instances ended%s"):format(
    worker.steps, worker.ended, tell_elsewhere(worker.elsewhere)), {
    steps = worker.steps, ended = worker.ended,
    elsewhere = worker.elsewhere })
  return 0
end

return working
