--- pawl history ID...
local duration = require "pawl.duration"
local format = require "pawl.cli.format"
local progress = require "pawl.cli.progress"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

--- "order.paid E-10 from shop": the event as it was sent.
local function event(entry)
  local sent = type(entry.changes) == "table" and entry.changes.event
  if not sent then return nil end
  return term.clean(("%s%s"):format(sent.id,
    sent.source and " from " .. sent.source or ""))
end

--- "via go -> c=big > b": by which transition it came there, and where it went.
local function way(entry)
  local parts = {}
  if entry.transition_in then parts[1] = "via " .. entry.transition_in end
  if entry.path then parts[#parts + 1] = "-> " .. entry.path end
  return table.concat(parts, " ")
end

local function detail(entry)
  if entry.trimmed then
    return ("rows are gone up to here, %d in all (keep_history = %d)"):format(
      entry.trimmed.rows, entry.trimmed.keep)
  end
  local parts = {}
  local function add(text)
    if type(text) == "string" and text ~= "" then parts[#parts + 1] = text end
  end
  add(way(entry))
  if type(entry.by) == "string" and entry.by ~= "" then
    add("by " .. entry.by)
    -- what a node itself changed is in --json
    if not progress.is_deed(entry) then add(format.changes(entry.changes)) end
  end
  add(format.error(entry.error))
  if not entry.error or entry.text ~= entry.error.message then
    add(entry.text) -- an ending's reason is its error's message
  end
  add(event(entry))
  if entry.output ~= nil then add("output " .. format.json(entry.output)) end
  if entry.due and entry.type ~= "timer" then
    add("due " .. format.time(entry.due))
  end
  return table.concat(parts, "; ")
end

local columns = {
  { title = "SEQ", right = true, value = function(e) return e.seq end },
  { title = "TIME", value = function(e)
    return format.time(e.completed or e.started)
  end },
  { title = "TYPE", value = function(e) return e.type end },
  { title = "NODE", value = function(e) return e.node end },
  { title = "ATTEMPT", right = true, value = function(e)
    return e.attempt ~= 0 and e.attempt or nil
  end },
  { title = "TOOK", right = true, value = function(e)
    local seconds = format.between(e.started, e.completed)
    return seconds and duration.show(seconds)
  end },
  { title = "DETAIL", flex = true, value = detail },
}

--- Of a variable or attribute: its value instead of what else the row says.
local function columns_of(opts)
  if not opts.variable and not opts.attribute then return columns end
  local list = table.move(columns, 1, 4, 1, {})
  list[#list + 1] = { title = "BY", value = function(e) return e.by end }
  list[#list + 1] = { title = "VALUE", flex = true, value = function(e)
    if e.trimmed then return detail(e) end
    if e.value == nil then return "(removed)" end
    if opts.attribute then return format.json(e.value.value) end
    return format.json(e.value)
  end }
  return list
end

local function tell_nothing(opts, page)
  for name in pairs(page) do
    if name ~= "limit" and name ~= "after" and name ~= "last" then
      term.print "nothing like that is recorded"
      return
    end
  end
  term.print(opts.after and "nothing is recorded behind row " .. opts.after
    or "nothing recorded yet")
end

local function run(opts, args)
  local page = verb_args.among("history", opts)
  return several(opts, args, function(engine, id)
    if opts.json then return (store.try(engine:history(id, page, "json"))) end
    local entries = store.try(engine:history(id, page))
    if #entries == 0 then
      tell_nothing(opts, page)
    else
      table_of(columns_of(opts), entries)
    end
  end, true)
end

return {
  name = "history", args = "ID...", min = 1, max = math.huge,
  summary = "everything recorded of an instance, oldest first",
  about = "The record of an instance: each step, failure and "
    .. "timer in the order they were stored, with attempts, durations and "
    .. "outputs, by which transition each visit was entered (via) and where "
    .. "that led (->), and who asked for what was done from outside. --json "
    .. "also has the changes of variables that the nodes made.",
  options = {
    { long = "limit", short = "n", arg = "N", type = "count",
      help = "at most so many; default: all" },
    { long = "after", arg = "SEQ", type = "count",
      help = "the page behind this row" },
    { long = "last", arg = "N", type = "count",
      help = "the newest so many, oldest first" },
    { long = "type", arg = "TYPE", help = "rows of a type: step, note, ..." },
    { long = "node", arg = "NODE", help = "rows of a node" },
    { long = "by", arg = "WHO", help = "what somebody asked for" },
    { long = "completed-after", arg = "TIME", type = "since",
      help = "since then" },
    { long = "completed-before", arg = "TIME", type = "since",
      help = "before then" },
    { long = "variable", arg = "NAME",
      help = "what a variable was, when, and by whom" },
    { long = "attribute", arg = "NAME",
      help = "what an attribute became, and when" },
  },
  examples = {
    { "pawl history 019aa1f2", "an id may be shortened" },
    { "pawl history 019aa1f2 --last 20", "how it went lately" },
    { "pawl history 019aa1f2 --limit 50 --after 200", "a page of a long one" },
    { "pawl history 019aa1f2 --variable total", "its values, oldest first" },
  },
  run = run,
}
