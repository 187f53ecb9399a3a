--- pawl tokens ID...
local format = require "pawl.cli.format"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"

local columns = {
  { title = "TOKEN", right = true, value = function(t) return t.no end },
  { title = "FROM", right = true, value = function(t) return t.parent end },
  { title = "FORK", value = function(t)
    return t.fork and (t.branch and t.branch ~= t.fork
      and t.fork .. "/" .. t.branch or t.fork)
  end },
  { title = "NODE", flex = true, value = function(t) return t.node end },
  { title = "STATE", value = function(t) return t.state end },
  { title = "FAILED", right = true, value = function(t)
    return t.attempt
  end },
  { title = "ENTERED", value = function(t)
    return format.time(t.entered)
  end },
  { title = "DUE", value = function(t) return format.time(t.due) end },
}

local function show(engine, id, what)
  local tokens = store.try(engine:tokens(id, what))
  if #tokens > 0 then return table_of(columns, tokens) end
  local times = what.all and store.try(engine:get(id)).times or {}
  term.print(times.completed
    and "it had one token alone: `pawl history` tells where that was"
    or "no tokens: it has not begun, or has ended")
end

local function run(opts, args)
  local what = { all = opts.all }
  return several(opts, args, function(engine, id)
    if opts.json then return (store.try(engine:tokens(id, what, "json"))) end
    show(engine, id, what)
  end, true)
end

return {
  name = "tokens", args = "ID...", min = 1, max = math.huge,
  summary = "where an instance stands, token by token",
  about = "Lists the live tokens of an instance: their node, the fork and "
    .. "branch they are in, and the token that forked. --all also lists "
    .. "those that were consumed (they reached an end or a join) and dropped "
    .. "(they came too late, or were not wanted any more). Where nothing "
    .. "was forked and the instance has ended, no token is kept.",
  options = { { long = "all", help = "also consumed and dropped ones" } },
  examples = {
    { "pawl tokens 019aa1f2", "an id may be shortened" },
    { "pawl tokens 019aa1f2 --all --json", "everything about all of them" },
  },
  run = run,
}
