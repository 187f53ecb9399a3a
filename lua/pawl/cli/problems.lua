--- pawl problems
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

local function columns(now)
  return {
    { title = "COUNT", right = true, color = function() return "red" end,
      value = function(x)
        return ("%d%s"):format(x.count, x.more and "+" or "")
      end },
    { title = "WORKFLOW", flex = true, value = function(x)
      return x.workflow
    end },
    { title = "NODE", flex = true, value = function(x) return x.node end },
    { title = "CODE", flex = true, value = function(x) return x.code end },
    { title = "FIRST", right = true, drop = 1, value = function(x)
      return format.since(x.first, now)
    end },
    { title = "LAST", right = true, value = function(x)
      return format.since(x.last, now)
    end },
    { title = "EXAMPLE", value = function(x) return x.shown end },
    { title = "MESSAGE", flex = true, value = function(x)
      return x.message
    end },
  }
end

local function tell(report, now)
  if #report.problems == 0 then
    term.print "nothing has failed"
    return
  end
  term.shorten(report.problems, "example")
  table_of(columns(now), report.problems)
  if report.more then term.print "and others: --limit shows more" end
end

local function run(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("problems", opts)
  store.check_workflow(engine, opts.workflow)
  if opts.json then
    term.json((store.try(engine:problems(query, "json"))))
  else
    tell(store.try(engine:problems(query)), engine:now())
  end
  return 0
end

return {
  name = "problems", max = 0,
  summary = "what has failed, by workflow, node and error",
  about = "Groups the instances that have failed, or were suspended by an "
    .. "error, by workflow, node and the error's code: how many, since when, "
    .. "and the one that failed last with its message. Those with the most "
    .. "come first. Of each kind 10,000 are counted at most, shown as 10000+.",
  options = {
    { long = "workflow", arg = "CODE", type = "code", help = "of this one" },
    { long = "limit", short = "n", arg = "N", type = "count", max = 1000,
      help = "at most so many kinds; default 20" },
  },
  examples = {
    { "pawl problems", "what goes wrong most" },
    { "pawl problems --json | jq '.problems[0].example'", "for programs" },
  },
  run = run,
}
