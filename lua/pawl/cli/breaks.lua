--- pawl breaks
local format = require "pawl.cli.format"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

local columns = {
  { title = "WORKFLOW", flex = true, least = 10,
    value = function(b) return b.workflow end },
  { title = "NODE", flex = true, least = 6,
    value = function(b) return b.node end },
  { title = "WHEN", flex = true, sparse = true, least = 8,
    value = function(b) return b.when end },
  { title = "TENANT", sparse = true, value = function(b) return b.tenant end },
  { title = "BY", sparse = true, value = function(b) return b.by end },
  { title = "UNTIL", value = function(b) return b.shown end },
  { title = "HALTED", right = true, value = function(b) return b.halted end },
}

--- "3", or "1000+".
local function halted(engine, one)
  local n, more = engine:tally { workflow = one.workflow, node = one.node,
    halted = true, limit = 1000 }
  store.try(n, more)
  return more == true and n .. "+" or tostring(n)
end

local function run(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("breakpoint_list", opts)
  query.tenant = nil -- whose the engine is
  if opts.json then
    term.json((store.try(engine.breakpoints:list(query, "json"))))
    return 0
  end
  local rows, now = store.try(engine.breakpoints:list(query)), engine:now()
  for _, row in ipairs(rows) do
    row.shown = format.when(row.expires, now)
    row.halted = halted(engine, row)
  end
  if #rows == 0 then
    term.print "no breakpoint is set"
  else
    table_of(columns, rows)
  end
  return 0
end

return {
  name = "breaks", args = "", max = 0,
  summary = "the breakpoints that are set",
  about = "Lists the breakpoints that `pawl break` has set and that still "
    .. "count: where, when, by whom, until when, and how many instances have "
    .. "halted there. `pawl list --halted` lists these.",
  options = {
    { long = "workflow", short = "w", arg = "CODE", help = "of this workflow" },
    { long = "node", arg = "NODE", help = "before this node" },
  },
  examples = {
    { "pawl breaks", "all of them" },
  },
  run = run,
}
