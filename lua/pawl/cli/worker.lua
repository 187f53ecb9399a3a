--- pawl worker FILE|DIR...
local core = require "pawl.core"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local pause_after = require "pawl.cli.pause".after
local progress = require "pawl.cli.progress"
local store = require "pawl.cli.store"
local supervisor = require "pawl.cli.supervisor"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local workflow_files = require "pawl.cli.workflow_files"

local longest_wait = 1 -- seconds; then the store is looked at again
local patience = 6 -- failures in a row that end one that is to end when idle

---- events ------------------------------------------------------------------

--- The store's time, reckoned on from its last answer once it is closed;
--- before it is open, this machine's.
local function stamp(worker)
  local seconds = sys.time()
  if worker.engine then
    seconds = worker.engine:now()
    worker.ahead = seconds - core.mono()
  elseif worker.ahead then
    seconds = worker.ahead + core.mono()
  end
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
local function emit(worker, plain, fields)
  if worker.broken then return end
  fields.time = stamp(worker)
  local ok, err = pcall(function()
    if worker.json then
      term.say(format.json(cleaned(fields)))
    else
      term.say(fields.time:sub(1, 19), "Z ", plain)
    end
  end)
  if not ok then worker.broken = err end
end

local function on_trace(worker, t)
  store.note_handler(t)
  if not t.outcome or worker.quiet then return end
  emit(worker, ("%s %s %s"):format(t.workflow, t.instance,
    progress.line(t, t.at)), {
    event = t.kind, instance = t.instance, workflow = t.workflow,
    node = t.node, attempt = t.attempt, outcome = t.outcome,
    ended = t.ended, elapsed = t.elapsed, detail = t.detail, due = t.due,
  })
end

local function on_log(worker, level, message, fields)
  if level == "debug" or worker.quiet and level == "info" then return end
  local text = next(fields) and " " .. format.json(fields) or ""
  emit(worker, ("%s: %s%s"):format(level, term.clean(message),
    term.clean(store.point(worker.opts, text))), {
    event = "log", level = level, message = message, fields = fields,
  })
end

local function note(worker, event, text, fields)
  if worker.quiet and event ~= "error" then return end
  fields = fields or {}
  fields.event, fields.message = event, text
  emit(worker, text, fields)
end

---- trouble -----------------------------------------------------------------

--- Once the store has been at work, what says that it is gone - dropped,
--- deleted, locked to us, an older one in its place - is for its operator to
--- put right, and waited for. At the first open it is a mistyped option.
local gone = { notfound = true, auth = true, not_a_store = true,
  store_old = true, store_new = true }

local function is_waited_for(worker, err)
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
    sys.sleep(math.min(0.2, math.max(until_ - core.mono(), 0)))
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
  if err.hint and not worker.json then
    emit(worker, " hint: " .. store.point(worker.opts, err.hint), {})
  end
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

local function load_all(worker, engine, files)
  check_twice(engine, files)
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

local function loop(worker, engine)
  while not sys.caught() and not worker.broken do
    local stats = persist(worker, function() return engine:tick(1) end)
    if not stats then return end
    worker.steps = worker.steps + stats.steps
    worker.ended = worker.ended + stats.ended
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
      local ok, err = engine:wait(math.min(pause, longest_wait))
      if not ok and err.code ~= "interrupted" then back_off(worker, err) end
    end
  end
end

local function open(worker, opts)
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
    local ok, engine = pcall(store.open, opts, extra)
    if ok then return engine end
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
  note(worker, "started", ("worker %d on %s"):format(sys.pid(),
    store.name(opts)), { pid = sys.pid() })
  load_all(worker, engine, files)
  worker.at_work = true
  sys.ready()
  loop(worker, engine)
  if worker.until_idle and not sys.caught() and not worker.broken then
    worker.elsewhere = elsewhere(engine, opts.group or "default")
  end
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

local function run(opts, args)
  local is_child = sys.supervised()
  check_words(opts)
  local n = is_child and 1 or processes(opts)
  if n > 1 then return supervisor.run(opts, n) end
  local worker = { json = opts.json, quiet = opts.quiet, failures = 0,
    steps = 0, ended = 0, stuck = 0, own_code = opts.stored_code == "own",
    until_idle = opts.until_idle, opts = opts }
  local files = workflow_files(args)
  for _, path in ipairs(files) do store.check_source(path) end
  if opts.json then term.divert() else term.separate() end
  -- who supervises has said it
  sys.catch_signals(false, not is_child and store.stopping or "")
  local engine = open(worker, opts)
  if engine then
    worker.engine = engine
    store.guarded(engine, function() work(worker, engine, files, opts) end)
    worker.engine = nil -- closed: the last lines have this machine's time
  end
  if worker.broken then error(worker.broken, 0) end
  note(worker, "stopped", ("stopped: %d steps, %d instances ended%s"):format(
    worker.steps, worker.ended, tell_elsewhere(worker.elsewhere)), {
    steps = worker.steps, ended = worker.ended,
    elsewhere = worker.elsewhere })
  return 0
end

return {
  name = "worker", args = "[FILE|DIR...]", max = math.huge,
  is_daemon = true, -- runs with a closed standard output, too
  summary = "run what is due, until it is stopped",
  about = "Loads workflow files (of a folder: every *.lua) and runs "
    .. "whatever is due in the store, one line per event. As many workers as "
    .. "you like may share a store; each instance is run by one at a time, "
    .. "and what a dead worker held is taken over. Without files it runs the "
    .. "definitions that the store has. A file whose version is in use with "
    .. "other contents, or was hot-fixed, is not loaded: that is said, and "
    .. "the stored one runs. One version in two files that differ is an "
    .. "error.\n\n"
    .. "SIGTERM or Ctrl-C stops it cleanly: the handler that runs is "
    .. "finished and stored, what was not begun is given back, and it exits "
    .. "with 0. Handlers that wait in ctx.await are ended where they stand: "
    .. "the next worker runs them from their beginning. A second signal "
    .. "stops it at once; the next worker takes over then.\n\n"
    .. "A store that is busy or does not answer is waited for, from the "
    .. "start. So is, once the worker was at work, one that is gone: its "
    .. "file moved, deleted or replaced, its database or schema dropped, its "
    .. "user locked out. Each attempt says why, and the worker goes on with "
    .. "what is there then. At the start those are errors.\n\n"
    .. "With --processes it runs as several processes, each a worker of its "
    .. "own, and starts another when one has died: at once, then after longer "
    .. "and longer pauses, up to half a minute.",
  options = {
    { long = "prefix", arg = "LIST", env = "PAWL_PREFIXES",
      help = "serve only codes that begin so: billing.,media. "
        .. "(PAWL_PREFIXES)" },
    { long = "group", arg = "NAME", help = "executor group served" },
    { long = "until-idle",
      help = "stop when nothing is due now, nor held by any worker of the "
        .. "group; future timers do not count. Ends with an error when the "
        .. "store fails for some seconds" },
    { long = "stored-code", arg = "own|any",
      help = "own: never run a definition from the store" },
    { long = "unknown", arg = "defer|fail",
      help = "what nobody has loaded: waits for a worker that has "
        .. "(default), or fails" },
    { long = "processes", arg = "N", type = "count", max = 1000,
      help = "worker processes; default: one a core on PostgreSQL, else 1" },
    { long = "batch", arg = "N", type = "count",
      help = "instances claimed at once; default 128" },
    { long = "concurrency", arg = "N", type = "count",
      help = "handlers that may wait (ctx.await) at once; default 100" },
    { long = "lease", arg = "DURATION", type = "duration", above_zero = true,
      help = "how long a claim holds, to an hour; default 30s" },
    { long = "recoveries", arg = "N", type = "count",
      help = "takeovers before an instance is suspended; default 5" },
    { long = "retain", arg = "DURATION", type = "retain",
      help = "prune what ended so long ago, where its workflow does not say: "
        .. "30d, or completed=7d,failed=90d (`pawl prune --help`)" },
    { long = "quiet", short = "q", help = "only warnings and errors" },
  },
  examples = {
    { "pawl worker workflows/", "all files of a folder" },
    { "pawl worker --store postgres://db/app --prefix billing.",
      "stored definitions, one team's codes" },
    { "pawl worker order.lua --until-idle --json",
      "for scripts: drain the store, then stop" },
  },
  run = run,
}
