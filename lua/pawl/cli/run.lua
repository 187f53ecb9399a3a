--- pawl run FILE
local core = require "pawl.core"
local duration = require "pawl.duration"
local family = require "pawl.cli.family"
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local progress = require "pawl.cli.progress"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local words = require "pawl.words"

local unfinished = { "created", "running", "waiting", "suspended" }

---- showing progress --------------------------------------------------------

---@class pawl.cli.Run
---@field engine pawl.Engine
---@field id string
---@field quiet boolean    only the output
---@field show boolean     progress, for people
---@field live boolean     a terminal: the running line is replaced
---@field family table<string, boolean>  ids of its descendants
---@field seen integer     entries of the history dealt with
---@field ended boolean    this process has seen it end
---@field told table<string, boolean>  what it waits for and was shown
---@field outside? pawl.cli.Told[]  only somebody outside can move it
---@field broken any       what went wrong with the output

--- Callbacks may not raise: a broken output stops the engine instead.
local function say(run, text)
  local ok, err = pcall(term.say, text)
  if not ok then
    run.broken = err
    run.engine:interrupt()
  end
end

local function set_live(run, text)
  if run.live then
    text = text and term.cut(term.clean(text), math.min(term.width() - 1, 200))
    sys.live(text, text and term.columns(text))
  end
end

local function on_trace(run, t)
  store.note_handler(t)
  local own = not run.id or t.instance == run.id
  if run.broken or not own and not run.family[t.instance] then return end
  run.ended = run.ended or own and t.ended ~= nil
  if not run.show then return end
  local whose = own and "" or t.workflow .. " "
  if not t.outcome then
    set_live(run, ("%s %s%s"):format(term.mark("…", "..."), whose,
      term.clean(t.node)))
    return
  end
  set_live(run, nil)
  local shape = run.live and progress.pretty or progress.line
  say(run, whose .. shape(t, run.engine:now()))
end

--- What a handler tells by ctx.log; of the engine's own words only trouble.
local function on_log(run, level, message, fields)
  local trouble = level == "warn" or level == "error"
  local node = type(fields.node) == "string" and fields.node or nil
  if run.broken or not trouble and not (run.show and node) then return end
  if level == "debug" then return end
  local text = term.clean(message)
  if node and type(fields.fields) == "table" and next(fields.fields) then
    text = text .. " " .. term.clean(format.json(fields.fields))
  end
  set_live(run, nil)
  if trouble then
    term.warn(("%s: %s"):format(level, text))
  else
    say(run, ("log %s %s: %s"):format(term.clean(node), level, text))
  end
end

--- Says once what is waited for; a timer's line is replaced by what comes.
---@param told pawl.cli.Told[]
---@param stays boolean  this process waits on
local function show_waits(run, told, stays)
  local anew = false
  for _, one in ipairs(told) do
    if run.show and not run.told[one.key] then
      run.told[one.key] = true
      local text = term.clean(store.point(run.opts, one.text))
      if run.live and not one.outside then
        set_live(run, term.mark("…", "...") .. " " .. text)
      else
        anew = anew or one.outside
        set_live(run, nil)
        say(run, text)
      end
    end
  end
  if anew and stays then
    say(run, "waiting for that; Ctrl-C lets go, the same command goes on")
  end
end

---- driving -----------------------------------------------------------------

local function note_following(run)
  if run.following then return end
  run.following = true
  if not run.quiet then
    term.warn("another worker runs this instance; following it")
  end
end

--- Shows what other processes have recorded of the instance.
local function follow(run)
  local entries = store.try(run.engine:history(run.id))
  for i = run.seen + 1, #entries do
    local entry = entries[i]
    if run.show and entry.executor ~= run.executor then
      if progress.is_deed(entry) then note_following(run) end
      say(run, progress.entry(entry))
    end
  end
  run.seen = #entries
end

local function wait(run, seconds)
  if run.deadline then
    seconds = math.min(seconds, run.deadline - core.mono())
  end
  local ok, err = run.engine:wait(math.max(0.001, math.min(seconds, 1)))
  if not ok and err.code ~= "interrupted" and not store.is_transient(err) then
    error(err, 0)
  end
end

--- The store hiccuped; what was begun is safe. Says so once, then waits a
--- little longer each time.
local function ride_out(run, err)
  if not store.is_transient(err) then error(err, 0) end
  if run.trouble == 0 then
    term.warn(("%s: %s; trying again"):format(err.code, err.message))
  end
  run.trouble = run.trouble + 1
  sys.sleep(math.min(0.1 * 2 ^ run.trouble, 5))
end

--- The instance itself can do nothing now: its descendants are run. True when
--- only somebody outside can go on.
local function idle(run, stats)
  local round, err = family.run(run.engine, run.id, function(row)
    run.family[row.id] = true
  end)
  if not round then
    if err.code ~= "interrupted" then ride_out(run, err) end
    return false
  end
  if round.moved then
    run.idle_rounds = 0
    return false
  end
  local told, alone, held = family.waits(run.engine, run.id, round)
  local due = stats.next_due
  if round.due then due = math.min(due or math.huge, round.due) end
  -- whoever suspended it has to resume it; a handler that waits here goes on
  if held and stats.waiting == 0 and not round.waiting then due = nil end
  local stays = due ~= nil or run.deadline ~= nil or round.held
    or next(round.stranded) ~= nil and not alone
  run.idle_rounds = run.idle_rounds + 1
  if not stays and run.idle_rounds < 2 then
    wait(run, 0.05) -- what others have sent may be on its way
    return false
  end
  show_waits(run, told, stays)
  if not stays then
    run.outside = told
    return true
  end
  wait(run, round.held and 0.2 or due and due - run.engine:now() or 1)
  return false
end

local finished = { completed = true, failed = true, cancelled = true }

--- Ended, or suspended: until somebody has dealt with that it cannot go on.
local function is_over(run)
  local status = store.try(run.engine:get(run.id)).status
  return finished[status] or status == "suspended"
end

--- One turn. True when there is nothing more to do here.
local function turn(run)
  local status, stats = run.engine:tick_instance(run.id, 1)
  if not status then
    if stats.code ~= "interrupted" then ride_out(run, stats) end
    return false
  end
  run.trouble = 0
  if status == "now" or status == "leased" then run.idle_rounds = 0 end
  if run.following and status ~= "leased" then
    follow(run)
    run.following = nil
  end
  if status == "leased" then
    note_following(run)
    follow(run)
    wait(run, 0.2)
  elseif status == "now" then
    if stats.claimed == 0 then wait(run, 0.05) end
  elseif status == "later" or not is_over(run) then
    return idle(run, stats)
  else
    if run.show and not run.ended then follow(run) end
    return true
  end
  return false
end

--- Until the instance has ended, a signal, the deadline, or a broken pipe.
---@return string? why  "signal" or "timeout" when it did not end
local function drive(run)
  repeat
    local over = turn(run)
    if run.broken then error(run.broken, 0) end
    if over then return nil end
    if sys.caught() then return "signal" end
    if run.deadline and core.mono() >= run.deadline then return "timeout" end
  until false
end

---- which instance ----------------------------------------------------------

--- Of the work, or of that in one of the statuses.
local function newest(run, code, business_key, status)
  return store.try(run.engine:list {
    workflow = code, business_key = business_key, status = status, limit = 1,
  })[1]
end

--- The same file with the same input is the same work: an unfinished instance
--- is gone on with. --key names the work instead, so that nothing without it
--- is the same; --new makes another one.
local function begin(run, code, opts)
  local input = opts.input and opts.input.value
  local text = opts.input and format.json(input) or "{}"
  local business_key = "run:" .. core.sha256(text)
  local key = opts.key
  if not key and not opts.new then
    -- Two that begin the same work at once get the same instance: the key
    -- names the one before, as it was when it was looked for an unfinished
    -- one. Work that has ended may be done once more.
    local last = newest(run, code, business_key)
    local old = newest(run, code, business_key, unfinished)
    if old then return old.id, old end
    key = last and business_key .. ":" .. last.id or business_key
  end
  local id, created = store.try(run.engine:start(code, input, {
    key = key, business_key = not opts.key and business_key or nil,
  }))
  if created then return id end
  if opts.input then store.compare_input(run.engine, id, input) end
  return id, store.try(run.engine:get(id))
end

local function announce(old, opts)
  local since = format.time(old.updated or old.times.updated)
  if old.status == "suspended" then
    term.warn(("%s is suspended since %s"):format(old.id, since))
    return -- what to do about it comes at the end
  end
  local what = finished[old.status] and "already ended" or "resuming"
  local hint = opts.key and "" or " (--new starts another one)"
  term.warn(("%s %s, %s since %s%s"):format(what, old.id, old.status, since,
    hint))
end

---- the end -----------------------------------------------------------------

local function again(opts, args)
  local line = { "pawl run", words.word(args[1]) .. store.flags(opts) }
  if opts.key then line[#line + 1] = "--key " .. words.word(opts.key) end
  if opts.input and not opts.key then
    line[#line + 1] = "with the same --input"
  end
  return table.concat(line, " ")
end

local function stopped(run, why, opts, args)
  set_live(run, nil)
  if why == "timeout" then
    error({ code = "timeout",
      message = ("instance %s has not ended in time"):format(run.id),
      hint = "every finished step is stored; go on with: "
        .. again(opts, args) }, 0)
  end
  term.warn("stopped; every finished step is stored")
  store.hint(opts, "go on with: " .. again(opts, args))
  error({ exit = 128 + sys.caught() }, 0)
end

local function hint_of(run, instance, args)
  local opts = run.opts
  local flags = store.flags(opts)
  if run.outside then
    return ("when it can go on: %s; or leave it to: pawl worker %s%s"):format(
      again(opts, args), words.word(args[1]), flags)
  end
  if instance.status ~= "suspended" then
    return ("pawl show %s%s"):format(instance.id, flags)
  end
  return ("start another one with %s, or end this one: pawl cancel %s%s")
    :format(opts.key and "another --key" or "--new", instance.id, flags)
end

--- What it waits for, where standard output is for programs.
local function warn_waits(run)
  for _, one in ipairs(run.outside or {}) do
    term.warn(" " .. term.clean(store.point(run.opts, one.text)))
  end
end

--- Only the output; what kept it from coming goes to standard error.
local function show_output(run, instance, args)
  local completed = instance.status == "completed"
  if completed or instance.output ~= nil then
    local output = instance.output
    term.print(format.json(output == nil and core.null or output))
  end
  if completed then return end
  local why = format.error(instance.error)
  term.warn(("pawl: %s%s"):format(instance.status, why and ": " .. why
    or " " .. instance.id))
  warn_waits(run)
  store.hint(run.opts, hint_of(run, instance, args))
end

local function show_end(run, instance, args, took)
  local has_output = instance.output ~= nil
  term.print(("%s %s %s"):format(format.status(instance.status),
    run.outside and "after" or "in", duration.show(took)))
  if instance.error and instance.status ~= "completed" then
    term.print("error   ", format.error(instance.error) or "-")
    if type(instance.error.hint) == "string" then
      term.print("        ", store.point(run.opts, instance.error.hint))
    end
  end
  if has_output then term.print("output  ", format.json(instance.output)) end
  term.print("id      ", instance.id)
  term.print(term.paint("dim", "hint: " .. hint_of(run, instance, args)))
end

local waits_outside = 6 -- exit code: only somebody outside can go on

local function report(run, opts, args, took)
  set_live(run, nil)
  local instance = store.try(run.engine:get(run.id))
  if opts.json then
    term.json((store.try(run.engine:get(run.id, "json"))))
    warn_waits(run)
  elseif opts.quiet then
    show_output(run, instance, args)
  else
    show_end(run, instance, args, took)
  end
  if run.outside then return waits_outside end
  return instance.status == "completed" and 0 or 1
end

local function run(opts, args)
  local state = { trouble = 0, quiet = opts.quiet, family = {}, seen = 0,
    told = {}, idle_rounds = 0, opts = opts,
    show = not opts.quiet and not opts.json }
  if opts.key and opts.new then
    options.usage("--key and --new exclude each other",
      "another --key starts another instance")
  end
  store.check_source(opts, args[1])
  if not state.show then
    term.divert()
  elseif term.tty and state.show then
    state.live = true
    sys.own_output() -- before the engine makes the handlers' state
    io.stdout:setvbuf("line")
  end
  state.engine = store.try(store.open_for(opts, function(engine)
    return engine:check(args[1])
  end, {
    heartbeat_thread = true, -- a long handler keeps its lease
    trace = function(t) on_trace(state, t) end,
    log = function(...) on_log(state, ...) end,
  }))
  return store.guarded(state.engine, function(engine)
    local info = store.try(engine:load(args[1]))
    state.executor = engine:executor_id()
    local began = core.mono()
    state.deadline = opts.timeout and began + opts.timeout
    local id, old = begin(state, info.workflow, opts)
    state.id = id
    if old then
      state.seen = #store.try(engine:history(id))
      if not opts.quiet then announce(old, opts) end
    end
    local why = drive(state)
    if why then stopped(state, why, opts, args) end
    return report(state, opts, args, core.mono() - began)
  end)
end

return {
  name = "run", args = "FILE", min = 1, max = 1,
  summary = "run a workflow file here and now",
  about = "Loads a workflow file, starts an instance of it and runs it in "
    .. "this process, one line per step. Every finished step is stored: "
    .. "when the machine dies, or you press Ctrl-C, the same command goes on "
    .. "where it stopped and does not repeat what was finished.\n\n"
    .. "The work is known by the workflow and its input, also to two "
    .. "commands that begin it at once. To run it again "
    .. "from the start although one is unfinished, use --new; to name it "
    .. "yourself, use --key: the same key is the same instance, also when it "
    .. "has ended.\n\n"
    .. "Ctrl-C is lost while a handler waits in os.execute: libc ignores it "
    .. "there. Press it again, or send SIGTERM. What handlers print goes to "
    .. "standard error under --json and --quiet.\n\n"
    .. "Where it waits for a time it stays until then. Where it waits for an "
    .. "event or a person it says so, with the command that would move it; "
    .. "it stays as long as some time is due that moves it too, or until "
    .. "--timeout, and otherwise ends with 6: the same command goes on "
    .. "afterwards. Children are run too, if their workflows are in this "
    .. "file or known to the store; others need a worker.\n\n"
    .. "Exits with 0 when the workflow completed, with 1 when it failed, was "
    .. "cancelled or suspended or has not ended within --timeout, and with 6 "
    .. "when only somebody outside can go on.",
  options = {
    options.trust,
    { long = "input", short = "i", arg = "JSON", type = "json",
      help = "the instance's input; @FILE reads a file, - standard input" },
    { long = "key", short = "k", arg = "TEXT",
      help = "idempotency key: one instance per key and workflow" },
    { long = "new", help = "do not resume: start another instance" },
    { long = "timeout", arg = "DURATION", type = "duration",
      help = "give up waiting after 90, 15m, 2h; the instance stays" },
    { long = "quiet", short = "q",
      help = "no progress, only the workflow's output as JSON" },
  },
  examples = {
    { "pawl run examples/order.lua", "with progress, in ./pawl.db" },
    { "pawl run order.lua --input '{\"price\":3,\"count\":10}' --json",
      "for programs: one JSON object with status and output" },
    { "pawl run order.lua --input @order.json --key order-4711",
      "safe to repeat" },
  },
  run = run,
}
