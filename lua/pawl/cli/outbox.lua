--- pawl outbox [list] | retry | drop
local act = require "pawl.cli.act"
local format = require "pawl.cli.format"
local nearest = require "pawl.nearest"
local options = require "pawl.cli.options"
local several = require "pawl.cli.several"
local store = require "pawl.cli.store"
local table_of = require "pawl.cli.table"
local term = require "pawl.cli.term"
local verb_args = require "pawl.args"

---- list ----------------------------------------------------------------------

--- When it is tried next, or why not.
local function state(row)
  if row.state ~= "waiting" or row.attempts == 0 then return row.state end
  return "retry " .. format.time(row.due)
end

local colors = { dead = "red", leased = "green" }

local columns = {
  { title = "CREATED", value = function(r) return format.time(r.created) end },
  { title = "TYPE", value = function(r) return r.type end },
  { title = "INSTANCE", value = function(r) return r.shown end },
  { title = "SEQ", right = true, value = function(r) return r.seq end },
  { title = "STATE", value = state,
    color = function(r) return colors[r.state] end },
  { title = "TRIES", right = true, drop = 1,
    value = function(r) return r.attempts end },
  { title = "PAYLOAD", flex = true, value = function(r)
    if r.error then return r.error end
    return r.payload ~= nil and format.json(r.payload) or nil
  end },
}

local function list(opts)
  local engine <close> = store.look(opts)
  local query = verb_args.among("outbox_list", opts)
  query.instance = opts.instance and store.try(engine:find(opts.instance))
  if opts.json then
    term.json((store.try(engine.outbox:list(query, "json"))))
    return 0
  end
  local rows = store.try(engine.outbox:list(query))
  if #rows == 0 then
    term.print(opts.dead and "nothing was set aside"
      or "nothing waits to be published")
  else
    term.shorten(rows, "instance")
    table_of(columns, rows)
    if #rows == (opts.limit or 100) then
      term.warn(("the first %d; the next page: --after %s"):format(#rows,
        rows[#rows].place))
    end
  end
  return 0
end

---- retry, drop ---------------------------------------------------------------

local said = { retry = "due again:", drop = "dropped:" }

local function tell(opts, kind, changed, more)
  if opts.json then
    return format.json { changed = changed, more = more }
  end
  term.print(("%s %d%s"):format(said[kind], changed,
    more and "; there may be more" or ""))
end

--- ID, or ID/SEQ as an event's `id` has it: they are counted from 1.
local function read_place(word)
  local id, seq = word:match "^([^/]+)/(%d+)$"
  seq = seq and math.tointeger(tonumber(seq))
  if word:find("/", 1, true) and (not seq or seq < 1) then
    options.usage("'%s' is no event", "write INSTANCE/SEQ, as its id has it",
      word)
  end
  return id or word, seq
end

local function change_asked(kind, opts, engine, id, seq)
  local given = verb_args.among("outbox_change", opts)
  given.instance, given.seq = id and store.try(engine:find(id)), seq
  return tell(opts, kind, store.try(engine.outbox[kind](engine.outbox,
    act.asked(opts, given))))
end

local function change_named(kind, opts, words)
  for _, word in ipairs(words) do read_place(word) end
  return several(opts, words, function(engine, word)
    return change_asked(kind, opts, engine, read_place(word))
  end)
end

local function change(kind, opts, words)
  if #words > 0 then return change_named(kind, opts, words) end
  if not opts.dead then
    options.usage("outbox %s needs INSTANCE or INSTANCE/SEQ, or --dead",
      "`pawl outbox list --dead` shows what was set aside", kind)
  end
  local engine <close> = store.look(opts)
  local text = change_asked(kind, opts, engine, opts.instance)
  if text then term.json(text) end
  return 0
end

---- the command ---------------------------------------------------------------

local order = { "list", "retry", "drop" }

local function run(opts, args)
  local action = args[1] or "list"
  if action == "list" then
    if args[2] then
      options.usage("unexpected argument '%s'", nil, args[2])
    end
    return list(opts)
  elseif said[action] then
    return change(action, opts, table.move(args, 2, #args, 1, {}))
  end
  options.usage("outbox cannot '%s'", nearest.hint(action, order), action)
end

return {
  name = "outbox", args = "[list|retry|drop] [INSTANCE[/SEQ]...]",
  max = math.huge,
  summary = "what workflows have emitted and nobody has published yet",
  about = "Lists what handlers have given to ctx.emit and nobody has "
    .. "published yet, in the order in which it is due. A row is stored in "
    .. "the same transaction as the step that emitted it; `pawl relay` "
    .. "publishes it. It waits, is "
    .. "leased by a relay, stands behind another of its instance, or is dead: "
    .. "nobody accepted it, and it was set aside.\n\n"
    .. "retry has what is dead tried again, as if it were new; drop says that "
    .. "it will not be published. Those of an instance, one (INSTANCE/SEQ, as "
    .. "its id has it), or all, with --dead. One that is named need not be "
    .. "dead: it is tried now, or, if it is the first of its instance, "
    .. "dropped.",
  options = act.with({
    { long = "type", arg = "NAME", help = "of this type" },
    { long = "instance", arg = "ID", help = "emitted by this instance" },
    { long = "emitted-before", arg = "TIME", type = "since",
      help = "emitted before that time" },
    { long = "dead", help = "those that were set aside" },
    { long = "limit", short = "n", arg = "N", type = "count",
      help = "at most so many; default 100, of a change 10000" },
    { long = "after", arg = "PLACE",
      help = "list: the page behind a row; its place is in --json" },
  }, act.audited),
  examples = {
    { "pawl outbox list", "what waits, as it is due" },
    { "pawl outbox list --type order.shipped --json", "one type, as JSON" },
    { "pawl outbox retry --dead --reason 'receiver mended'",
      "all that was set aside, again" },
    { "pawl outbox drop 019aa1f2/3", "one event of an instance, for good" },
  },
  run = run,
}
