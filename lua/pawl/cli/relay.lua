--- pawl relay --exec COMMAND | --http URL
local format = require "pawl.cli.format"
local options = require "pawl.cli.options"
local pause_after = require "pawl.cli.pause".after
local publish = require "pawl.publish"
local store = require "pawl.cli.store"
local sys = require "pawl.sys"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

local longest_wait = 1     -- seconds; then the outbox is looked at again
local shortest_wait = 0.05 -- doubled while nothing is there

local function say(relay, event, text, fields)
  if relay.opts.quiet and event == "stopped" then return end
  if relay.opts.json then
    fields.event = event
    term.say(format.json(fields))
  else
    term.say(text)
  end
end

--- What is not accepted is told as it happens; what is, by its number alone.
local function watched(relay, publisher)
  return function(text, id, attempt, again)
    local ok, why = publisher.publish(text, id, attempt, again)
    if not ok then
      local word = ok == nil and "failed" or "refused"
      say(relay, word, ("%s %s, attempt %d: %s"):format(word, id, attempt,
        term.clean(why)), { id = id, attempt = attempt, error = why })
    end
    return ok, why
  end
end

local function http_of(opts)
  if not opts.http:find "^https?://" then
    options.usage("--http takes a URL that begins with http:// or https://")
  end
  local publisher, why = publish.http(opts.http, opts.header or {},
    opts.timeout or 30)
  if not publisher then
    error({ code = "unsupported", message = "--http: " .. why }, 0)
  end
  return publisher
end

local function publisher_of(opts)
  if (opts.exec == nil) == (opts.http == nil) then
    options.usage(opts.exec and "give --exec or --http, not both"
      or "relay needs to know where to: --exec or --http",
      "--exec 'COMMAND' runs one for each event, --http URL posts it")
  end
  return opts.http and http_of(opts)
    or publish.exec(opts.exec, opts.timeout or 30)
end

---- the loop ------------------------------------------------------------------

local totals = { "published", "failed", "dead", "lost" }

local function add_up(relay, told)
  for _, name in ipairs(totals) do
    relay[name] = relay[name] + told[name]
  end
end

local function moves(told)
  return told.published + told.failed + told.dead + told.lost > 0
end

--- Tries again after a while what fails in passing, an outbox or a store that
--- cannot be reached: a relay waits for them, as a worker does; one that is to
--- end soon does not.
local function wait_out(relay, err)
  if relay.opts.once or not store.is_transient(err)
    or not relay.at_work and store.is_settled(relay.opts, err) then
    error(err, 0)
  end
  relay.failures = relay.failures + 1
  local pause = pause_after(relay.failures)
  term.warn(("%s: %s; trying again in %.1f s"):format(err.code,
    term.clean(err.message), pause))
  sys.sleep(pause)
end

local function open(relay)
  while true do
    local ok, engine = pcall(store.open, relay.opts, { create = false })
    if ok then
      relay.failures = 0
      return engine
    end
    wait_out(relay, engine)
  end
end

local function call(relay, engine, given)
  local told, err = engine.outbox:relay(given)
  if told then
    relay.failures, relay.at_work = 0, true
    return told
  end
  if err.code ~= "interrupted" then wait_out(relay, err) end
end

--- Nothing is under way: until something may be due.
local function rest(relay, engine, told)
  relay.pause = moves(told) and 0
    or math.min(math.max(relay.pause * 2, shortest_wait), longest_wait)
  if relay.pause == 0 then return end
  local due = told.next_due and told.next_due - engine:now() or longest_wait
  engine:wait(math.min(math.max(due, shortest_wait), relay.pause))
end

local function loop(relay, engine, publisher, given)
  while not sys.caught() do
    local told = call(relay, engine, given)
    if told then
      add_up(relay, told)
      if told.under_way > 0 then
        publisher.wait(0.2)
      elseif relay.opts.once and not moves(told) and not told.limited then
        return
      else
        rest(relay, engine, told)
      end
    end
  end
end

--- What is under way is waited for; nothing else is begun.
local function finish(relay, engine, publisher, given)
  given.finish = true
  while true do
    local told = engine.outbox:relay(given)
    if not told then return end
    add_up(relay, told)
    if told.under_way == 0 then return end
    publisher.wait(0.2)
  end
end

local function run(opts)
  local relay = { opts = opts, failures = 0, pause = 0 }
  for _, name in ipairs(totals) do relay[name] = 0 end
  local publisher = publisher_of(opts)
  if opts.json then term.divert() end
  local given = verb_args.among("outbox_relay", opts)
  given.publish, given.how = watched(relay, publisher), "json"
  given.budget, given.batch = 1, opts.batch or 16
  given.lease = opts.lease or (opts.timeout or 30) * 2 + 30
  store.check_lasts(opts)
  local engine = open(relay)
  store.guarded(engine, function()
    loop(relay, engine, publisher, given)
    finish(relay, engine, publisher, given)
  end)
  local fields = {}
  for _, name in ipairs(totals) do fields[name] = relay[name] end
  say(relay, "stopped", ("%d published, %d failed, %d set aside"):format(
    relay.published, relay.failed, relay.dead), fields)
  return opts.once and relay.failed + relay.dead > 0 and 1 or 0
end

return {
  name = "relay", max = 0,
  is_daemon = true, -- runs with a closed standard output, too
  summary = "hand over what workflows have emitted",
  about = "Hands each event that a handler gave to ctx.emit to a command, or "
    .. "posts it, as CloudEvents 1.0 (structured JSON): those of one instance "
    .. "in order, instances side by side. Each comes at least once, and when "
    .. "it comes again, by the same `id`. Any number of relays may share a "
    .. "store; what one that died had leased passes on when its lease "
    .. "ends.\n\n"
    .. "--exec runs the command once for each event, by /bin/sh, with the "
    .. "event as its standard input. Exit code 0: it was accepted. 65: it is "
    .. "refused, and set aside at once. Anything else: it is tried again "
    .. "later, and the last line of standard error is kept as the reason.\n\n"
    .. "--http posts each to a URL, with the type "
    .. "application/cloudevents+json. 2xx: it was accepted. 408, 425, 429, "
    .. "5xx, or no answer in time: it is tried again later. Anything else, a "
    .. "redirect too: it is refused. It needs libcurl (Debian: libcurl4).\n\n"
    .. "What fails holds up its instance's later events alone. After "
    .. "--max-attempts (with the pauses between them about an hour) it is set "
    .. "aside, and the next ones go on; `pawl outbox list --dead` shows it, "
    .. "`pawl outbox retry` has it tried again.\n\n"
    .. "SIGTERM or Ctrl-C stops it cleanly: what is under way is waited for "
    .. "and stored, what was not begun is given back. --once ends when nothing "
    .. "is due, with 1 when something was not accepted.",
  options = {
    { long = "exec", arg = "COMMAND", help = "run this once for each event" },
    { long = "http", arg = "URL", help = "post each event there" },
    { long = "header", arg = "TEXT", many = true,
      help = "http: one more, such as 'Authorization: Bearer ...'" },
    { long = "once", help = "stop when nothing is due" },
    { long = "max-attempts", arg = "N", type = "count", max = 1000000,
      help = "then it is set aside; default 20" },
    { long = "batch", arg = "N", type = "count", max = 1024,
      help = "instances at one time; default 16" },
    { long = "rate", arg = "N", type = "count", max = 1000000,
      help = "events a second at most, tried again or not; default: as fast "
        .. "as they are accepted" },
    { long = "timeout", arg = "DURATION", type = "duration",
      above_zero = true, help = "how long one event may take; default 30s" },
    { long = "lease", arg = "DURATION", type = "duration", above_zero = true,
      help = "how long a claim holds, to an hour; default: twice the timeout "
        .. "and 30s" },
    { long = "base", arg = "DURATION", type = "duration", above_zero = true,
      help = "the pause after a first failure; doubled each time; default 1s" },
    { long = "cap", arg = "DURATION", type = "duration", above_zero = true,
      help = "the longest pause; default 5m" },
    { long = "source", arg = "TEXT", type = "name",
      help = "how the events' source begins; default /pawl/" },
    { long = "quiet", short = "q", help = "only what is not accepted" },
  },
  examples = {
    { "pawl relay --exec 'logger -t shop'", "each event to the system's log" },
    { "pawl relay --exec cat --once", "print what there is, and end" },
    { "pawl relay --http https://shop.example/events", "to a web service" },
    { "pawl relay --http https://shop.example/events --rate 200",
      "a backlog floods nobody" },
  },
  run = run,
}
