--- pawl executors
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

--- "alive", "stopped", "dead": dead is who said no goodbye.
local function state(row)
  if row.alive then return "alive" end
  return type(row.stopped) == "string" and "stopped" or "dead"
end

local colors = { alive = "green", dead = "red" }

local function columns(now)
  return {
    { title = "ID", value = function(x) return x.shown end },
    { title = "STATE", value = state,
      color = function(x) return colors[state(x)] end },
    { title = "HOST", flex = true, value = function(x) return x.host end },
    { title = "PID", right = true, value = function(x) return x.pid end },
    { title = "GROUP", flex = true, value = function(x) return x.group end },
    { title = "STARTED", right = true, drop = 1, value = function(x)
      return format.since(x.started, now)
    end },
    { title = "BEAT", right = true, drop = 2, value = function(x)
      return format.since(x.active, now)
    end },
    { title = "HOLDS", right = true, value = function(x) return x.holds end },
  }
end

local function run(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("executor_list", opts)
  if opts.json then
    term.json((store.try(engine.executors:list(query, "json"))))
    return 0
  end
  local rows = store.try(engine.executors:list(query))
  if #rows == 0 then
    term.print(opts.all and "no executors" or "no executor is alive")
  else
    term.shorten(rows, "id")
    table_of(columns(engine:now()), rows)
  end
  return 0
end

return {
  name = "executors", max = 0,
  summary = "who works on this store, and how much each holds",
  about = "Lists the processes that may hold instances: their host and process "
    .. "id, the group that they serve, how long ago they were started and gave "
    .. "their last heartbeat, and how many instances they hold. --all also "
    .. "lists those that have stopped, and those that are dead: they said no "
    .. "goodbye, and what they held goes to others when its lease ends. They "
    .. "are known for a week.",
  options = {
    { long = "group", arg = "NAME", type = "name", help = "of this group" },
    { long = "all", help = "also those that have stopped or are dead" },
    { long = "limit", short = "n", arg = "N", type = "count",
      max = 10000, help = "at most so many; default 100" },
  },
  examples = {
    { "pawl executors", "who is alive" },
    { "pawl executors --json | jq '.[].holds'", "for programs" },
  },
  run = run,
}
