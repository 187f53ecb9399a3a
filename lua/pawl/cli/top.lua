--- pawl top
local format = require "pawl.cli.format"
local standing = require "pawl.cli.standing"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local watch = require "pawl.cli.watch"

local MOST = 8 -- of each kind, so that a screen has room for all

local function held_columns(now, executors)
  return {
    { title = "RUNS", value = function(x) return x.shown end },
    { title = "WORKFLOW", flex = true, value = function(x)
      return format.workflow(x.workflow, x.version)
    end },
    { title = "NODE", flex = true, value = function(x) return x.node end },
    { title = "EXECUTOR", flex = true, tail = true, value = function(x)
      return executors.names[x.executor] or x.executor
    end },
    { title = "SINCE", right = true, value = function(x)
      return format.since(x.since, now)
    end },
    { title = "TAKEN OVER", right = true, drop = 1, sparse = true,
      value = function(x) return x.takeovers > 0 and x.takeovers or nil end },
  }
end

local function problem_columns(now)
  return {
    { title = "FAILED", right = true, color = function() return "red" end,
      value = function(x)
        return ("%d%s"):format(x.count, x.more and "+" or "")
      end },
    { title = "WHERE", flex = true, value = function(x)
      return ("%s %s"):format(x.workflow, x.node)
    end },
    { title = "CODE", flex = true, value = function(x) return x.code end },
    { title = "LAST", right = true, value = function(x)
      return format.since(x.last, now)
    end },
    { title = "MESSAGE", flex = true, drop = 1, value = function(x)
      return x.message
    end },
  }
end

local function tell(engine)
  local now = engine:now()
  local stats = store.try(engine:stats { held = MOST })
  local report = store.try(engine:problems { limit = MOST })
  local executors = standing.executors(engine)
  standing.tell(stats, now, MOST, executors)
  if #stats.held.instances > 0 then
    term.print ""
    term.shorten(stats.held.instances, "instance")
    table_of(held_columns(now, executors), stats.held.instances)
  end
  if #report.problems > 0 then
    term.print ""
    table_of(problem_columns(now), report.problems)
  end
end

local function run(opts)
  local engine <close> = store.look(opts)
  opts.watch = term.tty and not opts.once and not opts.json
  return watch.run(opts, function()
    if opts.json then
      term.json(('{"stats":%s,"problems":%s}'):format(
        store.try(engine:stats({ held = MOST }, "json")),
        store.try(engine:problems({ limit = MOST }, "json"))))
    else
      tell(engine)
    end
    return 0
  end)
end

return {
  name = "top", max = 0,
  summary = "a screen of what runs, what is due and what fails",
  about = "Shows on a terminal, again and again until Ctrl-C, what "
    .. "`pawl stats` and `pawl problems` tell, and which instances are being "
    .. "run. With --once, or outside a terminal, it is told once.",
  options = {
    { long = "once", help = "once, and no more" },
  },
  examples = {
    { "pawl top", "look at a store at work" },
    { "pawl top --once", "how it is now" },
  },
  run = run,
}
